import { certificateFault, CONSOLE_SETTINGS, consoleAddressFault } from '../../config/console.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { LEDGER } from '../ledger/service.js';
import { declareService } from '../plugins/declaration.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { SANDBOX } from '../sandbox/service.js';

/** Where people look and decide. It has no powers of its own: it asks the other services, as the person who is signed in. */
export const CONSOLE = declareService({
  name: 'console',
  title: 'Console',
  prefix: 'GATE_CONSOLE',
  calledBy: 'people',
  settings: { own: CONSOLE_SETTINGS },
  faults: ({ own }) => [certificateFault(own), consoleAddressFault(own)],
  stores: ['console'],
  neighbours: [HIL, LEDGER, BRAIN, POLICY_ENGINE, SANDBOX],
  async metrics(registry) {
    (await import('./metrics.js')).consoleMetrics(registry);
  },
  open: () => import('./open.js'),
});
