import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type LiteFixture, openLite } from '../../../../test/support/lite.js';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url));

let folder: string;
let gate: LiteFixture;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-control-plane-'));
  gate = await openLite();
  await run(process.execPath, [TSC, '-p', PACKAGE]);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: PACKAGE });
  const [packed] = JSON.parse(stdout) as [{ filename: string }];
  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', `./${packed.filename}`], {
    cwd: folder,
  });
}, 120_000);
afterAll(async () => {
  await gate?.close();
  await rm(folder, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  GATE_LITE_URL: gate.lite.url,
  GATE_LITE_DECIDE_TOKEN: gate.lite.ownDecideToken?.token,
});

describe('the package in an empty project', () => {
  it('brings nothing but itself', async () => {
    expect((await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual(['@gate']);
    const files = await readdir(join(folder, 'node_modules/@gate/control-plane'), { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/generated/hil.d.ts']));
    expect(files.filter((file) => /test|tsbuildinfo|\.ts$/.test(file) && !file.endsWith('.d.ts'))).toEqual([]);
  });

  it('runs what its README says', async () => {
    const { body } = await gate.call('wire_transfer', { decision: true });
    const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
    const [, snippet = ''] = /\n\n((?: {4}.*\n|\n)+)/.exec(readme) ?? [];
    expect(snippet).toContain('connect');
    await writeFile(join(folder, 'readme.mjs'), snippet);
    await run(process.execPath, ['readme.mjs'], { cwd: folder, env: environment() });
    const { body: rows } = await gate.send('GET', '/pending?status=denied');
    expect(rows).toEqual([expect.objectContaining({ correlation_id: body['correlation_id'], status: 'denied' })]);
  });

  it('runs its example', async () => {
    await cp(join(PACKAGE, 'examples/waiting.mjs'), join(folder, 'waiting.mjs'));
    await gate.call('wire_transfer', { decision: true });
    const child = spawn(process.execPath, ['waiting.mjs'], { cwd: folder, env: environment() });
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      expect((await lines.next()).value).toMatch(/^waits \S+ wire_transfer /);
      await gate.call('wire_transfer', { decision: true });
      expect((await lines.next()).value).toMatch(/ wire_transfer pending$/);
      child.kill('SIGINT');
      const [code] = (await once(child, 'exit')) as [number];
      expect(code).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('has types that a strict project takes', async () => {
    await writeFile(
      join(folder, 'operator.ts'),
      `import { connect, type AnswerOf, type OperationAt, type RowOf, type Services } from '@gate/control-plane';
       const hil = connect('hil', { url: 'https://gate' });
       export const status: Promise<'pending' | 'approved' | 'denied' | 'expired' | 'aborted' | 'withdrawn' | 'tampered'> =
         hil.get('/pending/{id}', { path: { id: 'a' } }).then((row) => row.status);
       export type Row = AnswerOf<OperationAt<Services['hil'], 'get', '/pending/{id}'>>;
       export async function* rows(): AsyncGenerator<RowOf<'hil', '/pending'>> { yield* hil.each('/pending', { query: { limit: 5 } }); }
       export const nothing: Promise<undefined> = hil.get('/tenants/{tenant}/standing', { path: { tenant: 'a' } });
       export const keyed = connect('identity', { url: 'https://gate' }).post('/tenants/{tenant}/offboard',
         { path: { tenant: 'a' }, body: { reason: 'r' } as never, idempotencyKey: 'k' });
       // @ts-expect-error a path that there is not
       export const a = hil.get('/nothing');
       // @ts-expect-error a part of the path is missing
       export const b = hil.get('/pending/{id}');
       // @ts-expect-error an unknown word
       export const c = hil.post('/decide/{id}', { path: { id: 'a' }, body: { decision: 'perhaps' } });
       // @ts-expect-error the body is missing
       export const d = hil.post('/decide/{id}', { path: { id: 'a' } });
       // @ts-expect-error a parameter that there is not
       export const e = hil.get('/pending', { query: { limits: 5 } });
       // @ts-expect-error no list with pages
       export const f = hil.each('/approvals/stats');
       // @ts-expect-error no key is kept there
       export const g = hil.post('/decide/{id}', { path: { id: 'a' }, body: { decision: 'deny' }, idempotencyKey: 'k' });`,
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2022',
    ];
    await run(
      process.execPath,
      [TSC, ...flags, '--lib', 'es2022,dom,dom.iterable', '--types', '', '--skipLibCheck', 'false', 'operator.ts'],
      { cwd: folder },
    ).catch((error: { stdout: string }) => {
      throw new Error(error.stdout);
    });
  });
});
