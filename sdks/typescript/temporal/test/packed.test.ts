import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));
const TSC = join(MODULES, 'typescript/bin/tsc');
const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = [fileURLToPath(new URL('../../agent-sdk', import.meta.url)), PACKAGE];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-temporal-packed-'));
  const files: string[] = [];
  for (const cwd of PACKAGES) {
    await run(process.execPath, [TSC, '-p', cwd]);
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd });
    files.push(`./${(JSON.parse(stdout) as [{ filename: string }])[0].filename}`);
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
  const flags = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
  await run('npm', ['install', ...flags, ...files], { cwd: folder });
  // The SDK of Temporal is the project's own.
  for (const name of ['@temporalio', '@types'])
    await symlink(join(MODULES, name), join(folder, 'node_modules', name), 'dir');
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The pieces of code of a page, by what they begin with. */
async function pieces(): Promise<string[]> {
  const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
  return [...readme.matchAll(/(?:^|\n\n)((?: {4}[^\n]*\n|\n(?= {4}))+)/g)].map(([, piece = '']) => piece);
}

describe('the package in a project with Temporal', () => {
  it('brings itself alone', async () => {
    const files = await readdir(join(folder, 'node_modules/@gate/temporal'), { recursive: true });
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/workflow.d.ts']));
    expect(files.filter((file) => /test|tsbuildinfo|\.ts$/.test(file) && !file.endsWith('.d.ts'))).toEqual([]);
    expect(JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
  });

  it('is imported by its names', async () => {
    const text =
      "console.log(Object.keys(await import('@gate/temporal')).join(), Object.keys(await import('@gate/temporal/workflow')).join())";
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', text], { cwd: folder });
    expect(stdout.trim()).toBe('currentAuthorization,gateActivities,gateActivityInterceptor decided,gateInterceptors');
  });

  it('has types by which the code of its README is right', async () => {
    const [workflow = '', worker = '', signal = ''] = await pieces();
    await writeFile(join(folder, 'gate.ts'), workflow);
    await writeFile(
      join(folder, 'worker.ts'),
      `import { fileURLToPath } from 'node:url';
       import { Worker } from '@temporalio/worker';
       const [workflowsPath, taskQueue, activities] = ['w.js', 'q', {}];
       ${worker}
       await worker.run();`,
    );
    await writeFile(
      join(folder, 'signal.ts'),
      `import type { Client } from '@temporalio/client';
       export async function tell(client: Client, workflowId: string, runId: string, correlation_id: string): Promise<void> {
         ${signal.replace(/import .*;/, '')}
       }
       ${/import .*;/.exec(signal)?.[0]}`,
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
    const files = ['gate.ts', 'worker.ts', 'signal.ts'];
    await run(process.execPath, [TSC, ...flags, '--types', 'node', '--skipLibCheck', ...files], { cwd: folder }).catch(
      (error: { stdout: string }) => {
        throw new Error(error.stdout);
      },
    );
  });
});
