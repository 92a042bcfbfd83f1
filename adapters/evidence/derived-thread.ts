import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { assertGoesOn } from '../threads/end-thread.js';
import { createLedgerReader } from '../ledger/ledger-reader.js';
import type { BlobSignature } from '../../domain/ledger/signatures/blob-signer.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { openStore, openToRead, type StatementHooks } from '../store/database.js';
import { answerCalls, callsOver, type ThreadStream } from '../threads/thread-calls.js';
import { heapRoom } from './heap-room.js';
import { coldSinkAt } from './cold-tier/cold-place.js';
import { derivedOver, type EvidenceLedger } from './derived.js';
import type { DerivedThreadInput } from './derived-thread-input.js';
import { type BundleRequest, sweepLeftBundles } from './regulatory/bundle.js';

/** The thread for reports. It reads over its own connection and asks the ledger's thread for anything that only the writer may do. */
const {
  target,
  readOnly,
  keys,
  coldPlace,
  legalHold,
  signs,
  ending,
  scratch,
  time,
  ledger: port,
} = workerData as DerivedThreadInput;
const clock = (): number => time?.[0] ?? Date.now();
const sidecarKeys = keyRing(new Map(keys.map(([id, key]) => [id, Buffer.from(key)])));
const asks = callsOver(port);
/** Calls the function of the same name in the ledger's thread. */
const ask =
  <Name extends keyof EvidenceLedger>(name: Name) =>
  (...args: readonly unknown[]) =>
    asks.call(name, ...args) as never as ReturnType<Extract<EvidenceLedger[Name], (...given: never[]) => unknown>>;

const ledger: EvidenceLedger = {
  append: ask('append'),
  head: ask('head'),
  verifyAssured: ask('verifyAssured'),
  trustedKey: ask('trustedKey'),
  sealThrough: ask('sealThrough'),
  tombstoneTenant: ask('tombstoneTenant'),
  async *anchorLines(seqLo, seqHi) {
    yield* (await asks.call('anchorLines', seqLo, seqHi)) as ThreadStream<readonly string[]>;
  },
  signer: signs ? { sign: (...asked) => asks.call('sign', ...asked) as Promise<BlobSignature> } : null,
  flagged: ask('flagged'),
};
/** No statement runs after the end was asked for, nor one whose answer has no room. */
function hooks(): StatementHooks {
  const assertRoom = heapRoom();
  return {
    beforeStatement() {
      assertGoesOn(ending);
      assertRoom();
    },
  };
}

async function serve(parent: MessagePort): Promise<void> {
  const store =
    readOnly && 'file' in target
      ? openToRead<LedgerTables>(target.file, hooks())
      : await openStore<LedgerTables>(target, ledgerMigrations, {}, hooks());
  const derived = derivedOver(store, createLedgerReader(store, sidecarKeys), ledger, {
    clock,
    coldSink: coldPlace && coldSinkAt(coldPlace),
    legalHold,
    scratch,
  });
  void sweepLeftBundles(clock(), scratch);

  /** The stream exists from the start: the receiver reads it or ends it, and both delete the bundle's temporary files. */
  const exportRegulatory = async ({ documentation, ...request }: BundleRequest) => {
    const { manifest, manifestSha256, stream } = await derived.exportRegulatory({
      ...request,
      // A buffer arrives as a plain Uint8Array.
      ...(documentation && { documentation: Buffer.from(documentation) }),
    });
    return { manifest, manifestSha256, bytes: stream() };
  };
  /** Closes the store and ends the thread. The end flag was set before, so no statement runs any more and no new one starts. */
  async function end(): Promise<void> {
    await store.close();
    setImmediate(() => process.exit(0));
  }
  answerCalls(parent, { ...derived, exportRegulatory, end });
}

// In a function, because a bundle for one executable awaits nothing at its top. What is thrown ends the thread.
if (parentPort) void serve(parentPort);
