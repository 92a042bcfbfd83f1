import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { openCallStore } from '../../adapters/call/call-store.js';
import { createDecoyReporter } from '../../api/proxy/decoy-reporter.js';
import type { DecoyHitsTold } from '../../contracts/decoys.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { callMigrations } from '../../migrations/calls.js';
import { ledgerPlace, STORES } from '../support/ledger.js';
import { seededRandom } from '../support/random.js';

const TOUCHER = fileURLToPath(new URL('../../dist/test/support/decoy-toucher.js', import.meta.url));
const ROUNDS = 4;

describe.each(STORES)(
  'who touched a decoy, where the proxy is killed between its count and what it tells, on %s',
  (kind) => {
    it('is told by the next process: each call once, and no more than there were', async () => {
      if (!existsSync(TOUCHER)) throw new Error('dist is missing: run `npm run build` first');
      const random = seededRandom('proxies are killed');
      const folder = mkdtempSync(join(tmpdir(), 'gate-decoys-'));
      const file = join(folder, 'told');
      const place = await ledgerPlace(kind, { durable: true, migrated: callMigrations });
      const [key, decoy] = [randomBytes(32), randomUUID()];
      for (let round = 0; round < ROUNDS; round += 1) {
        const args = [TOUCHER, JSON.stringify(place.target), key.toString('hex'), decoy, file];
        await killedAfter(args, 20 + Math.floor(random.next() * 20));
      }
      const store = await openCallStore({ target: place.target, keys: keyRing(new Map([['test', key]])) });
      const last: DecoyHitsTold['hits'][number][] = [];
      const reporter = createDecoyReporter({
        identity: () =>
          Promise.resolve({
            tellDecoyHits: ({ hits }) => {
              last.push(...hits);
              return Promise.resolve();
            },
          }),
        calls: store,
        isGone: () => false,
        onFault: (reason) => expect(reason).toBeNull(),
      });
      await reporter.once();
      expect(await store.decoyHitsUntold(10)).toEqual([]);
      const told = [
        ...readFileSync(file, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as (typeof last)[number]),
        ...last,
      ];
      const staged = Number((await place.sql('select count(*) as n from call_requests'))[0]?.['n']);
      const most = new Map<string, number>();
      for (const { agent_name: agent, hits } of told) most.set(agent, Math.max(most.get(agent) ?? 0, hits));
      expect([...most.values()].reduce((sum, hits) => sum + hits, 0)).toBe(staged);
      expect(staged).toBeGreaterThan(ROUNDS * 19);
      await store.close();
      await place.remove();
      rmSync(folder, { recursive: true });
    }, 120_000);
  },
);

/** Kills the process once it said so many lines. */
const killedAfter = (args: readonly string[], lines: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, errors] = ['', ''];
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split('\n').length > lines) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', (code, signal) =>
      signal === 'SIGKILL' ? resolve() : reject(new Error(`it ended by itself (${code}): ${errors}`)),
    );
  });
