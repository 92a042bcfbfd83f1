import { createHash, createPublicKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConsistencyProof, InclusionProof } from '../contracts/ledger-proof.js';
import { type Checkpoint, parseCheckpoint } from '../domain/ledger/tlog/checkpoint.js';
import { noteKey, verifiedSignatures } from '../domain/ledger/tlog/note.js';
import { testRow } from '../test/support/ledger.js';
import { liteLedger, type LiteLedgerKeys, newKeys, type TestLiteLedger } from '../test/support/lite-ledger.js';
import { LOG_ORIGIN } from './ledger-transparency.js';

let folder: string;
let keys: LiteLedgerKeys;
let lite: TestLiteLedger;
/** The commit that fails, counted from now; none when it is zero. */
let failing: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-lite-log-'));
  keys = newKeys();
  await open();
});
afterEach(async () => {
  failing = 0;
  await lite.close();
  await rm(folder, { recursive: true, force: true });
});

let nowMs = Date.now();
async function open(): Promise<void> {
  failing = 0;
  // A second apart, so that each checkpoint is made anew.
  lite = await liteLedger(join(folder, 'gate-lite.db'), { keys, now: () => (nowMs += 1_001) });
  lite.file.beforeCommit(() => {
    if (failing > 0 && (failing -= 1) === 0) throw new Error('the disk is full');
  });
}
const append = async (count: number) => void (await lite.ledger.append(Array.from({ length: count }, () => testRow())));

async function checkpoint(): Promise<Checkpoint> {
  const answer = await lite.ask('/checkpoint');
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  const read = parseCheckpoint(await answer.text());
  expect(read.origin).toBe(LOG_ORIGIN);
  expect(verifiedSignatures(read.note, [noteKey(LOG_ORIGIN, createPublicKey(keys.checkpointKey))])).toHaveLength(1);
  return read;
}
const json = async <Body>(path: string) => (await (await lite.ask(path)).json()) as Body;

const sha256 = (...parts: readonly Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
/** The root over leaves, word for word from RFC 6962, section 2.1. */
function rootOf(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0] as Buffer);
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return sha256(Buffer.of(1), rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half)));
}
async function chain(): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  for await (const page of lite.ledger.pages({}))
    for (const row of page) hashes.push(Buffer.from(row.entry_hash, 'hex'));
  return hashes;
}

describe('lite’s ledger as a transparency log', () => {
  it('signs the whole chain, and after a restart that the log only grew', async () => {
    await append(700);
    const first = await checkpoint();
    expect(first).toMatchObject({ size: 700, root: rootOf(await chain()) });
    await lite.close();
    await open();
    await append(100);
    const grown = await json<ConsistencyProof>('/proof/consistency?from=700');
    expect(grown).toMatchObject({ from: 700, to: 800, from_root: first.root.toString('hex') });
    expect(grown.to_root).toBe(rootOf(await chain()).toString('hex'));
    const row = await json<InclusionProof>('/proof/inclusion?seq=700');
    expect(row).toMatchObject({ seq: 700, tree_size: 800, entry: { seq: 700 } });
    expect(parseCheckpoint(row.checkpoint).root.toString('hex')).toBe(grown.to_root);
  });

  it('signs one history only, whichever commit fails, with whatever is asked meanwhile', async () => {
    const signed: Checkpoint[] = [];
    await append(600);
    for (let fails = 1; fails <= 9; fails += 1) {
      await append(90);
      await lite.file.durable();
      failing = fails;
      const asked = [
        ...Array.from({ length: 3 }, () => checkpoint().then((read) => signed.push(read))),
        json('/proof/consistency?from=1'),
        ...Array.from({ length: 12 }, async () => {
          await append(7);
          await lite.file.durable();
        }),
      ];
      await Promise.allSettled(asked);
      failing = 0;
      signed.push(await checkpoint());
    }
    const leaves = await chain();
    for (const { size, root } of signed) expect([size, root]).toEqual([size, rootOf(leaves.slice(0, size))]);
    expect(new Set(signed.map(({ size }) => size)).size).toBeGreaterThan(8);
    expect(await json('/verify')).toMatchObject({ valid: true, entries_checked: leaves.length });
  });

  it('is refused where the file does not take it, and signs the same when it is asked again', async () => {
    await append(3);
    await lite.file.durable();
    failing = 1;
    expect((await lite.ask('/checkpoint')).status).toBe(503);
    expect(await checkpoint()).toMatchObject({ size: 3, root: rootOf(await chain()) });
  });

  it('is missed by a walk where the chain is shorter than what was signed', async () => {
    await append(3);
    await checkpoint();
    expect(await json('/verify')).toMatchObject({ valid: true });
    lite.file.connection.exec(`insert into ledger_checkpoints values (4, 'a note over four', '2026-01-01T00:00:00Z')`);
    expect(await json('/verify')).toMatchObject({ valid: false, first_invalid_seq: 4, first_invalid_reason: 'head' });
    expect((await lite.ask('/checkpoint')).status).toBe(503);
  });
});
