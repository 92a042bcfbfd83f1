import { certificateFault, CONSOLE_SETTINGS, consoleAddressFault } from '../../config/console.js';
import { SIGN_IN_SETTINGS, signInFaults } from '../../config/console-sign-in.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { LEDGER } from '../ledger/service.js';
import { declareService } from '../plugins/declaration.js';
import { POLICY_ENGINE } from '../policy/service.js';
import type { NeighbourName } from './neighbour.js';
import { PROXY } from '../proxy/service.js';
import { SANDBOX } from '../sandbox/service.js';

/** The services that pages ask, by the names under which the console has them. */
export const ASKED = { hil: HIL, ledger: LEDGER, brain: BRAIN, policy: POLICY_ENGINE } as const satisfies Record<
  NeighbourName,
  object
>;
/** What no page asks, and without which the console is not ready. */
export const NEEDED_BESIDE = { sandbox: SANDBOX } as const;
/** What the page of health tells of as well, and no page needs. */
export const SEEN = { proxy: PROXY } as const;

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
  async metrics(registry) {
    (await import('./metrics.js')).consoleMetrics(registry);
  },
  open: () => import('./open.js'),
});
