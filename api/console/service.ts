import { certificateFault, CONSOLE_SETTINGS, consoleAddressFault } from '../../config/console.js';
import { SIGN_IN_SETTINGS, signInFaults } from '../../config/console-sign-in.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { LEDGER } from '../ledger/service.js';
import { declareService } from '../plugins/declaration.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { PROXY } from '../proxy/service.js';
import { SANDBOX } from '../sandbox/service.js';

/** Where people look and decide. It has no powers of its own: it asks the other services, as the person who is signed in. */
export const CONSOLE = declareService({
  name: 'console',
  title: 'Console',
  prefix: 'GATE_CONSOLE',
  calledBy: 'people',
  settings: { own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS },
  faults: ({ own, signIn }) => [certificateFault(own), consoleAddressFault(own), ...signInFaults(signIn, own)],
  stores: ['console'],
  neighbours: [HIL, LEDGER, BRAIN, POLICY_ENGINE, SANDBOX, PROXY],
  async metrics(registry) {
    (await import('./metrics.js')).consoleMetrics(registry);
  },
  open: () => import('./open.js'),
});
