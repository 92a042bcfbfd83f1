import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { ledgerPlace, STORES, testRow } from '../../../test/support/ledger.js';
import { seededRandom } from '../../../test/support/random.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { keyRing } from '../../../domain/crypto/key-ring.js';
import { openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { folderFiles } from '../../evidence/cold-tier/folder.js';
import { eventually, timePasses } from '../../../test/support/waiting.js';

const VACUUMER = fileURLToPath(new URL('../../../dist/test/support/ledger-vacuumer.js', import.meta.url));
const START = Date.parse('2026-01-02T03:04:05.006Z');
const OLD = 3_000;
const ROUNDS = 3;
const id = (index: number) => uuidFromDigest('vacuum-crash', String(index));

describe.each(STORES)('kill -9 in the middle of a vacuum, on %s', (kind) => {
  it('leaves a chain that holds, every old row in it or among those that went, and the next pass goes on', async () => {
    if (!existsSync(VACUUMER)) throw new Error('dist is missing: run `npm run build` first');
    const { next: random } = seededRandom(`kill -9 of a vacuum on ${kind}`);
    const place = await ledgerPlace(kind, { durable: true });
    const folder = mkdtempSync(join(tmpdir(), 'gate-vacuum-crash-'));
    const key = randomBytes(32);
    const { privateKey } = generateKeyPairSync('ed25519');
    let now = START;
    const open = () =>
      openEvidencedLedger({
        target: place.target,
        sidecarKeys: keyRing(new Map([['test', key]])),
        clock: () => now,
        coldSink: { files: folderFiles({ directory: folder }), retentionMs: 0 },
        checkpoints: { origin: 'gate.test/ledger', privateKey, witnesses: [] },
      });
    let ledger = await open();
    for (let from = 1; from <= OLD; from += 500)
      await ledger.append(Array.from({ length: 500 }, (_, index) => testRow({ id: id(from + index) })));
    now += 86_400_000;
    await ledger.append([testRow()]);
    await ledger.coldTier.export();
    await ledger.close();

    const reached: number[] = [0];
    for (let round = 0; round < ROUNDS; round++) {
      await killedVacuum(
        [
          JSON.stringify(place.target),
          key.toString('hex'),
          folder,
          privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
          String(now),
        ],
        async () => {
          // This process finished some batches; how many more is left to chance.
          const before = reached.at(-1) as number;
          await eventually('a batch of this process', async () => {
            const [newest] = await place.sql('select max(seq) as seq from ledger_vacuum_cursors');
            return Number(newest?.['seq'] ?? 0) > before;
          });
          await timePasses(random() * 60, 'the kill comes at any moment');
        },
      );
      ledger = await open();
      const { length } = await ledger.head();
      const result = await ledger.verify();
      const [newest] = await place.sql('select max(seq) as seq from ledger_vacuum_cursors');
      const cursor = Number(newest?.['seq']);
      expect(cursor).toBeGreaterThan(reached.at(-1) as number);
      reached.push(cursor);
      expect(result).toMatchObject({ valid: true, entries_checked: length - cursor, commitment: { length } });
      const [gone] = await place.sql('select count(*) as rows, max(seq) as last from ledger_vacuumed_rows');
      expect([Number(gone?.['rows']), Number(gone?.['last'])]).toEqual([cursor, cursor]);
      for (const index of [1, cursor, cursor + 1])
        if (index <= OLD)
          expect(await ledger.append([testRow({ id: id(index) })])).toMatchObject([{ seq: index, status: 'retained' }]);
      await ledger.transparency?.checkpoint();
      await ledger.close();
    }
    ledger = await open();
    const last = reached.at(-1) as number;
    expect(await ledger.vacuum({ retentionMs: 1 })).toBe(OLD - last);
    const { length } = await ledger.head();
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: length - OLD });
    await ledger.close();
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);
});

/** Runs the process until `far` resolves, then kills it. Throws when it ended on its own. */
async function killedVacuum(args: readonly string[], far: () => Promise<void>): Promise<void> {
  const vacuumer = spawn(process.execPath, [VACUUMER, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  vacuumer.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<string>((resolve) => {
    vacuumer.on('close', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  const how = await Promise.race([far().then(() => null), ended]);
  if (how !== null) throw new Error(`the process ended by itself (${how}): ${errors}`);
  vacuumer.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
}
