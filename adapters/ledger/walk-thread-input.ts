import type { Range } from '../../domain/ledger/verify.js';
import type { StoreTarget } from '../store/database.js';
import type { EndFlag } from '../threads/end-thread.js';

/** What a thread of the walk is started with. */
export interface WalkThreadInput {
  readonly target: StoreTarget;
  readonly keys: readonly (readonly [string, Uint8Array])[];
  readonly range: Range;
  readonly ending: EndFlag;
}
