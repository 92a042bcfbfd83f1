import { parentPort, workerData } from 'node:worker_threads';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { keyRing } from '../crypto/key-ring.js';
import { createLedgerReader } from '../ledger/ledger-reader.js';
import type { LedgerTables } from '../ledger/tables.js';
import { openStore } from '../store/database.js';
import { answerCalls, callsOver, streamOf } from '../thread-calls.js';
import { coldSinkAt } from './cold-tier/cold-place.js';
import { derivedOver, type EvidenceLedger } from './derived.js';
import type { DerivedThreadInput } from './derived-in-thread.js';

/** The thread of the reports: reads over a connection of its own, and asks the ledger's thread for what only that one may do. */
const { target, keys, coldPlace, legalHold, signs, ledger: port } = workerData as DerivedThreadInput;
const sidecarKeys = keyRing(new Map(keys.map(([id, key]) => [id, Buffer.from(key)])));
const asks = callsOver(port);
const ask =
  (name: string) =>
  (...args: readonly unknown[]) =>
    asks.call(name, ...args);

const ledger = {
  append: ask('append'),
  head: ask('head'),
  verifyAssured: ask('verifyAssured'),
  trustedKey: ask('trustedKey'),
  sealThrough: ask('sealThrough'),
  tombstoneTenant: ask('tombstoneTenant'),
  anchorLines: (seqLo: number, seqHi: number) => streamOf<readonly string[]>(asks.call('anchorLines', seqLo, seqHi)),
  signer: signs ? { sign: ask('sign') } : null,
  flagged: ask('flagged'),
} as EvidenceLedger;
const store = await openStore<LedgerTables>(target, ledgerMigrations);
const reader = createLedgerReader(store, sidecarKeys);
const derived = derivedOver(store, reader, ledger, {
  clock: Date.now,
  coldSink: coldPlace && coldSinkAt(coldPlace),
  legalHold,
});
// A bundle's prose arrives as plain bytes.
const exportRegulatory: typeof derived.exportRegulatory = ({ documentation, ...request }) =>
  derived.exportRegulatory({ ...request, ...(documentation && { documentation: Buffer.from(documentation) }) });
if (parentPort) answerCalls(parentPort, { ...derived, exportRegulatory });
