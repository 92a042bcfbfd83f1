import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  folder = await mkdtemp(join(tmpdir(), 'gate-agent-sdk-'));
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

describe('the package in an empty project', () => {
  it('brings nothing but itself', async () => {
    expect(await readdir(join(folder, 'node_modules'))).toEqual(expect.arrayContaining(['@gate']));
    expect((await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'))).toEqual(['@gate']);
    const files = await readdir(join(folder, 'node_modules/@gate/agent-sdk'), { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts']));
    expect(files.filter((file) => /test|tsbuildinfo|\.ts$/.test(file) && !file.endsWith('.d.ts'))).toEqual([]);
  });

  it('runs what its README says', async () => {
    const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
    const [, snippet = ''] = /## When a call may not run\n\n((?: {4}.*\n|\n)+)/.exec(readme) ?? [];
    expect(snippet).toContain('guardToolCall');
    const allowed = snippet.replace('wire_transfer', 'list_files');
    const denied = snippet.replace('wire_transfer', 'delete_file');
    const env = { ...process.env, GATE_ENDPOINT: gate.lite.url };
    for (const [name, text, said] of [
      ['allowed.mjs', allowed, ''],
      ['denied.mjs', denied, 'policy_denied'],
    ] as const) {
      await writeFile(join(folder, name), text);
      const { stdout } = await run(process.execPath, [name], { cwd: folder, env });
      expect(stdout).toContain(said);
      if (said === '') expect(stdout).toBe('');
    }
  });

  it('has types that a strict project takes', async () => {
    await writeFile(
      join(folder, 'agent.ts'),
      `import { gateWrap, guardToolCall, type Verdict, inspectToolUse } from '@gate/agent-sdk';
       const client = { messages: { create: (given: { model: string }): Promise<{ id: string }> => Promise.resolve({ id: given.model }) } };
       export const id: Promise<{ id: string }> = gateWrap(client, { endpoint: 'https://gate' }).messages.create({ model: 'm' });
       export const verdict: Promise<Verdict> = inspectToolUse({ id: 'a', name: 'b', input: {} });
       // @ts-expect-error an option that there is not
       export const wrong = guardToolCall({ name: 'b', input: {} }, { tokne: 't' });`,
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--types',
      '',
    ];
    await run(process.execPath, [TSC, ...flags, '--skipLibCheck', 'false', 'agent.ts'], { cwd: folder });
  });
});
