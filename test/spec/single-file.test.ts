import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { browserAt } from '../support/lite-browser.js';
import { needs } from '../support/needs.js';
import { timePasses } from '../support/waiting.js';

const run = promisify(execFile);
const BUILDER = fileURLToPath(new URL('../../dist/scripts/build-lite.js', import.meta.url));
const LIMIT_MS = 240_000;
/** Only a Node with the fuse can take a program in; some distributions build theirs without. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const embeds = (await readFile(process.execPath)).includes(FUSE);
const withFuse = embeds ? describe : describe.skip;

withFuse(`lite as one executable${needs('single-executable', embeds)}`, () => {
  let folder: string;
  let gate: string;
  let env: { PATH: string; TMPDIR: string };
  let started: ChildProcess | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-single-file-'));
    gate = join(folder, 'bin', 'gate');
    // No PATH: neither node nor anything else of this machine is to be found.
    env = { PATH: '', TMPDIR: join(folder, 'tmp') };
    await mkdir(env.TMPDIR);
    await mkdir(join(folder, 'empty'));
    await run(process.execPath, [BUILDER, '--output', gate], { timeout: LIMIT_MS });
  }, LIMIT_MS);
  afterAll(async () => {
    started?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const inEmpty = (args: readonly string[]) => run(gate, args, { cwd: join(folder, 'empty'), env, timeout: LIMIT_MS });

  it(
    'says what it can do',
    async () => {
      expect((await inEmpty(['--help'])).stdout).toMatch(/\blite\b[^]*\breplay\b/);
      await expect(inEmpty(['start'])).rejects.toMatchObject({ code: 2 });
    },
    LIMIT_MS,
  );

  it(
    'judges calls from an empty folder, stops tidily, and its file verifies',
    async () => {
      const child = spawn(gate, ['lite', '--port', '0'], {
        cwd: join(folder, 'empty'),
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      started = child;
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
      const limit = Date.now() + LIMIT_MS / 2;
      let url: string | undefined;
      while (url === undefined) {
        url = /ready at (\S+)/.exec(said)?.[1];
        if (child.exitCode !== null || Date.now() > limit) throw new Error(said);
        await timePasses(25, 'until the next look');
      }
      const answers: JsonObject[] = [];
      const given: [string, JsonObject][] = [
        ['read_file', {}],
        ['delete_file', {}],
        ['wire_transfer', {}],
        ['query_database', { sql: 'with gone as (delete from users returning *) select * from gone' }],
        // Inspected in a thread.
        ['read_file', { path: 'a'.repeat(20_000) }],
      ];
      for (const [name, args] of given) {
        const answer = await fetch(`${url}/mcp`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'X-Gate-Decision-Contract': 'gate.decision/v1',
            'X-Gate-Idempotency-Id': randomUUID(),
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
        });
        answers.push((await answer.json()) as JsonObject);
      }
      expect(answers).toMatchObject([
        { decision: 'allow' },
        { verdict: 'denied' },
        { status: 'pending' },
        { verdict: 'denied', reasons: [expect.stringContaining('DELETE without a condition')] },
        { decision: 'allow' },
      ]);
      expect((await inEmpty(['pending', '--endpoint', url])).stdout).toContain('wire_transfer');
      // Read in a thread, with a connection of its own.
      const token = (await readFile(join(folder, 'empty', 'gate-lite.db.decide-token'), 'utf8')).trim();
      const asOperator = (path: string, accept = 'application/json') =>
        fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}`, accept } });
      expect(await (await asOperator('/audit/hunt?authorized=false')).json()).toMatchObject({ returned: 1 });
      const window = await asOperator(
        '/export/iceberg?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z',
        'application/vnd.apache.parquet',
      );
      expect(Buffer.from(await window.arrayBuffer()).toString('latin1', 0, 4)).toBe('PAR1');
      expect((await asOperator('/checkpoint')).status).toBe(200);
      // The console, with what its pages load.
      const link = /console +(\S+\/login\?link=\S+)/.exec(said)?.[1] ?? '';
      const browser = browserAt(url);
      expect((await browser.get(link)).location).toBe('/');
      const { text: queue } = await browser.get('/');
      expect(queue).toContain('wire_transfer');
      const assets = [...queue.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g)].map(([, path = '']) => path);
      expect(await Promise.all(assets.map(async (path) => (await browser.get(path)).status))).toEqual([200, 200]);
      for (const path of ['/audit', '/agents', '/policies', '/health-of-services'])
        expect([path, (await browser.get(path)).text]).toEqual([path, expect.not.stringContaining('is away')]);
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
      expect((await inEmpty(['verify', '--ledger', 'gate-lite.db'])).stdout).toContain('the chain holds: 16 entries');
      expect((await inEmpty(['replay', answers[1]?.correlation_id as string])).stdout).toContain('the same: deny');
      expect((await readdir(join(folder, 'empty'))).sort()).toEqual([
        'gate-lite.db',
        'gate-lite.db.decide-token',
        'gate-lite.db.keys',
      ]);
      expect(await readdir(env.TMPDIR)).toEqual([]);
    },
    LIMIT_MS,
  );
});
