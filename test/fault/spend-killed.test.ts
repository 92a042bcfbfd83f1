import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { openCallStore } from '../../adapters/call/call-store.js';
import type { CallStore } from '../../domain/call/ports.js';
import { NotAsStaged } from '../../domain/call/record.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { costOf, ONLY_PAID } from '../../domain/call/cost.js';
import { monthOf } from '../../domain/spend/spend.js';
import { callMigrations } from '../../migrations/calls.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../support/ledger.js';
import { seededRandom } from '../support/random.js';

const SPENDER = fileURLToPath(new URL('../../dist/test/support/spender.js', import.meta.url));
const BUDGET = 4_000;
/** Calls that a process ends before it is killed, in the first round, and in the one where the budget comes to its end. */
const ROUNDS = [60, 60, 400];

/** Two processes over one store, killed in the middle of what they do. */
describe.each(STORES)('the budget of a tenant, where processes that spend of it are killed, on %s', (kind) => {
  it('is never overspent, and what they had reserved is given back, to the last micro-unit', async () => {
    if (!existsSync(SPENDER)) throw new Error('dist is missing: run `npm run build` first');
    const random = seededRandom('spenders are killed');
    const place = await ledgerPlace(kind, { durable: true, migrated: callMigrations });
    const key = randomBytes(32);
    const store = await openCallStore({ target: place.target, keys: keyRing(new Map([['test', key]])) });
    const month = monthOf(Date.now());
    const stands = async () => {
      const { spentMicros, reservedMicros } = await store.spend.of('acme', null, month);
      return spentMicros + reservedMicros;
    };
    const said: string[] = [];
    for (const ended of ROUNDS) {
      const lines = await Promise.all(
        [0, 1].map(() => {
          const seed = String(Math.floor(random.next() * 2 ** 32));
          const args = [SPENDER, JSON.stringify(place.target), key.toString('hex'), String(BUDGET), seed];
          const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
          return killedAfter(child, ended + Math.floor(random.next() * 40), async () => {
            expect(await stands()).toBeLessThanOrEqual(BUDGET);
          });
        }),
      );
      said.push(...lines.flat());
    }
    expect(said).toEqual(expect.arrayContaining(['refused', 'denied', 'completed', 'unended']));
    expect(await stands()).toBeLessThanOrEqual(BUDGET);
    expect((await store.spend.of('acme', null, month)).spentMicros).toBeGreaterThan(BUDGET / 2);

    // What reconciliation does with calls that nobody runs any more, and with those that have no record.
    const at = new Date().toISOString();
    const lost = { status_code: null, duration_ms: null, result_sha256: null, error: 'its process died', at };
    for (const { correlation_id: id } of await store.openCalls(Date.now() + 1_000, 10_000)) {
      await store.move(id, 'lose', { outcome: { stage: 'uncertain', ...lost } });
      await store.move(id, 'abort', { outcome: { stage: 'aborted', ...lost } });
    }
    await store.spend.settleLost(Date.now() + 120_000, 500);
    const { spentMicros, reservedMicros } = await store.spend.of('acme', null, month);
    const agents = await store.spend.byAgent('acme', month, 10);
    expect(reservedMicros).toBe(0);
    expect(spentMicros).toBeLessThanOrEqual(BUDGET);
    expect(agents.reduce((sum, one) => sum + one.spentMicros, 0)).toBe(spentMicros);
    for (const one of agents) expect(one.spentMicros).toBeLessThanOrEqual(BUDGET / 2);
    expect(spentMicros).toBe(await costOfAll(place, store));
    await store.close();
    await place.remove();
  }, 300_000);
});

/** What the calls cost by their records, and by what was paid for their inspections. */
async function costOfAll(place: TestLedgerPlace, store: CallStore): Promise<number> {
  const paid = new Map<string, number>();
  for (const row of await place.sql('select correlation_id, paid from spend_calls'))
    paid.set(String(row['correlation_id']), Number(row['paid']));
  let sum = 0;
  for (const row of await place.sql('select correlation_id, digest from call_requests')) {
    const [id, digest] = [String(row['correlation_id']), String(row['digest'])];
    const record = await store.find(id);
    const kept = await store.inspection(id, digest);
    if (kept instanceof NotAsStaged) throw kept;
    const { inspectedMicros, ranMicros } = (record && costOf(record)) ?? ONLY_PAID;
    // It is paid once, also where the call comes again.
    expect(paid.get(id) ?? 0).toBe(kept?.inspection.cost_micros ?? 0);
    sum += Math.max(paid.get(id) ?? 0, inspectedMicros) + ranMicros;
  }
  return sum;
}

/** What the process said until it was killed, and `look` whenever it said something. */
function killedAfter(child: ChildProcess, lines: number, look: () => Promise<void>): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    let looking = Promise.resolve();
    child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      looking = looking.then(look);
      looking.catch(() => child.kill('SIGKILL'));
      if (output.split('\n').length > lines) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`the spender ended by itself (${code}): ${errors}`));
      looking.then(() => resolve(output.split('\n').slice(0, -1)), reject);
    });
  });
}
