import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { IDENTITY } from '../identity/service.js';
import { LEDGER } from '../ledger/service.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { PROXY } from '../proxy/service.js';
import { SANDBOX } from '../sandbox/service.js';
import type { NeighbourName } from './neighbour.js';

/** The services that pages ask, by the names under which the console has them. */
export const ASKED = { hil: HIL, ledger: LEDGER, brain: BRAIN, policy: POLICY_ENGINE } as const satisfies Record<
  Exclude<NeighbourName, 'proxy' | 'identity'>,
  object
>;
/** What no page asks, and without which the console is not ready. */
export const NEEDED_BESIDE = { sandbox: SANDBOX } as const;
/** What the page of health asks what stands behind it, and nothing else does. */
export const ASKED_FOR_HEALTH = { proxy: PROXY } as const;
/** What pages ask, and without which the console is ready all the same: who is stopped is a part of pages that have others. */
export const ASKED_WHERE_THERE = { identity: IDENTITY } as const;
/** What the page of health tells of as well, and without which the console is ready. */
export const SEEN = { ...ASKED_FOR_HEALTH, ...ASKED_WHERE_THERE } as const;
