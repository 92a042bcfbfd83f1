import { certificateFault, CONSOLE_SETTINGS, consoleAddressFault } from '../../config/console.js';
import { SIGN_IN_SETTINGS, signInFaults } from '../../config/console-sign-in.js';
import { declareService } from '../plugins/declaration.js';
import { ASKED, NEEDED_BESIDE, SEEN } from './services-asked.js';

/** Where people look and decide. It has no powers of its own: it asks the other services, as the person who is signed in. */
export const CONSOLE = declareService({
  name: 'console',
  title: 'Console',
  prefix: 'GATE_CONSOLE',
  calledBy: 'people',
  settings: { own: CONSOLE_SETTINGS, signIn: SIGN_IN_SETTINGS },
  faults: ({ own, signIn }) => [certificateFault(own), consoleAddressFault(own), ...signInFaults(signIn, own)],
  stores: ['console'],
  neighbours: Object.values({ ...ASKED, ...NEEDED_BESIDE, ...SEEN }),
  tellsOfAll: true,
  async metrics(registry) {
    (await import('./metrics.js')).consoleMetrics(registry);
  },
  open: () => import('./open.js'),
});
