import type { MessagePort } from 'node:worker_threads';
import type { StoreTarget } from '../store/database.js';
import type { EndFlag } from '../threads/end-thread.js';
import type { ColdPlace } from './cold-tier/cold-place.js';

/** Milliseconds since the epoch, for a thread whose time somebody else keeps; without it the thread reads the machine's clock. */
export type SharedTime = Float64Array<SharedArrayBuffer>;

/** What the thread of the reports is started with. */
export interface DerivedThreadInput {
  readonly target: StoreTarget;
  readonly readOnly: boolean;
  readonly keys: readonly (readonly [string, Uint8Array])[];
  readonly coldPlace: ColdPlace | null;
  readonly legalHold: boolean;
  /** Whether the ledger's thread can sign bundles; without it there are none. */
  readonly signs: boolean;
  readonly ending: EndFlag;
  readonly scratch: string | undefined;
  readonly time: SharedTime | null;
  /** The thread calls the ledger over this port. */
  readonly ledger: MessagePort;
}
