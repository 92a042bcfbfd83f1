import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { callMigrations } from '../../migrations/calls.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { askOf, jobsInFile, jobsOver } from '../store/jobs.js';
import { storeClock } from '../store/store-clock.js';
import type { AgentLimits, FlowOwner, FlowSettings } from '../../domain/information-flow/flow.js';
import type { LocalFile } from '../store/local-file.js';
import { handedCalls, keptCalls } from '../../domain/call/kept-calls.js';
import { emptyLog, overwriteDeleted } from '../store/overwriting.js';
import { sealCalls } from './seal-calls.js';
import type { SetbackTables } from './setbacks.js';
import { storedCalls, type StoredCallsOptions } from './stored-calls.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { CallTables } from './tables.js';

export interface CallStoreOptions {
  readonly target: StoreTarget;
  readonly keys: KeyRing;
  readonly now?: () => number;
  /** This deployment's name for the replica that wrote a history event. */
  readonly replica?: string;
  /** The ledger, whose rows reveal that an older record was put back. Without it only a process that saw the newer record notices. */
  readonly ledger?: HeldRows | undefined;
  /** What is trusted of what agents read; without it nothing is. */
  readonly flows?: FlowSettings | undefined;
  /** Told of an agent who had more answers than are kept, at most once an hour. */
  readonly onTooManyAnswers?: ((owner: FlowOwner) => void) | undefined;
  /** How many answers and values of an agent count. */
  readonly flowLimits?: AgentLimits | undefined;
}

export async function openCallStore({ target, ...options }: CallStoreOptions): Promise<CallStore> {
  const store = await openStore<CallTables>(target, callMigrations);
  try {
    await sealCalls(store, options.keys, options.now);
  } catch (error) {
    await store.close();
    throw error;
  }
  return callStoreOver(store, options);
}

/** The call records over an open, migrated store that other processes may also write. Takes ownership: `close` closes the store. */
export const callStoreOver = (
  store: Store<CallTables>,
  { replica = 'gate-0', ...options }: Omit<CallStoreOptions, 'target'>,
): CallStore =>
  storedCalls({
    ...options,
    ...overwriting(store.sqlite),
    replica,
    jobs: jobsOver(store),
    setbacks: store as unknown as Store<SetbackTables>,
    kept: handedCalls(),
    vouchedMs: VOUCHED_MS,
    clockMs: storeClock({ ask: askOf(store), kind: store.kind }),
  });

export interface FileCallStoreOptions
  extends Pick<CallStoreOptions, 'keys' | 'now' | 'replica' | 'flows' | 'flowLimits' | 'onTooManyAnswers'> {
  /** The ledger in the same file: whether it has a row with this id. */
  readonly ledger?: { holds(id: string): boolean };
}

/**
 * The call records inside a file that this process alone writes, in the file's open transaction. A returned record is valid in this
 * process; `durable()` of the file says when it is on disk.
 */
export function callStoreInFile(
  file: LocalFile,
  { replica = 'gate-lite', ledger, ...options }: FileCallStoreOptions,
): CallStore {
  return storedCalls({
    ...options,
    ...overwriting(file.connection),
    replica,
    jobs: jobsInFile(file),
    setbacks: file.store<SetbackTables>(),
    kept: keptCalls(),
    ledger: ledger && { held: async (ids) => new Set(ids.filter((id) => ledger.holds(id))) },
    onUndone: (forget) => file.onUndone(forget),
  });
}

/** What is purged is gone from the file too. Where its log cannot be emptied at once, the next purge that deletes something does it. */
function overwriting(connection: DatabaseSyncInstance | null): Pick<StoredCallsOptions, 'onPurged'> {
  if (!connection) return {};
  overwriteDeleted(connection);
  return { onPurged: () => emptyLog(connection) };
}

/** How long the ledger's answer about an open call is valid: another replica may move the call meanwhile. */
const VOUCHED_MS = 60_000;
