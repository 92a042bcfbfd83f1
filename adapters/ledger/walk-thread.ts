import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { assertGoesOn } from '../threads/end-thread.js';
import { postgresPool } from '../store/postgres-pool.js';
import type { ChainReader } from '../../domain/ledger/chain-store.js';
import { postgresChain } from './postgres-chain.js';
import { sqliteChainReader } from './sqlite-chain.js';
import { walkRange } from '../../domain/ledger/verify.js';
import type { WalkThreadInput } from './walk-thread-input.js';

/** One thread of a walk: reads its range over its own connection, answers once, and ends. */
const { target, keys, range, ending } = workerData as WalkThreadInput;
const ring = keyRing(new Map(keys.map(([id, key]) => [id, Buffer.from(key)])));

function open(): { reader: ChainReader; close(): void | Promise<void> } {
  if ('file' in target) {
    const connection = new DatabaseSync(target.file, { readOnly: true });
    return { reader: sqliteChainReader(connection), close: () => connection.close() };
  }
  const pool = postgresPool(target, 2);
  return { reader: postgresChain(pool, ring), close: () => pool.end() };
}

/** A reader that throws once the thread is asked to end. */
const untilEnded = (from: ChainReader): ChainReader => ({
  ...from,
  page(first, last) {
    assertGoesOn(ending);
    return from.page(first, last);
  },
  ...(from.rendered && {
    rendered(first: number, last: number) {
      assertGoesOn(ending);
      return (from.rendered as NonNullable<ChainReader['rendered']>)(first, last);
    },
  }),
});

const { reader, close } = open();
try {
  parentPort?.postMessage(await walkRange(untilEnded(reader), ring, range));
} finally {
  await close();
}
