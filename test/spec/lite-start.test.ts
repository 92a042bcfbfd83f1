import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { commandLine } from '../support/command.js';
import { liteFolder } from '../support/lite.js';

let folder: string;
// The compiled modules: of the files that the build makes of them, none says which modules it holds.
const commands = commandLine(() => folder, { program: join(PROJECT_ROOT, 'dist', 'cli', 'main.js') });
beforeEach(async () => {
  folder = await liteFolder();
});
afterEach(async () => {
  await commands.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Writes down every module that is asked for, from a thread of its own; works on every Node that Gate runs on. */
const RECORDER = `
import { appendFileSync } from 'node:fs';
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  appendFileSync(process.env.MODULES_SEEN, found.url + '\\n');
  return found;
}`;

describe('gate lite is ready in under a second', () => {
  it('because its start loads nothing that only other commands, a callback, a decision or an upstream need', async () => {
    const seen = join(folder, 'modules.txt');
    await writeFile(join(folder, 'recorder.mjs'), RECORDER);
    await writeFile(
      join(folder, 'register.mjs'),
      `import { register } from 'node:module'; register(${JSON.stringify(pathToFileURL(join(folder, 'recorder.mjs')).href)});`,
    );
    await commands.lite([], {
      MODULES_SEEN: seen,
      NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'register.mjs')).href}`,
    });
    const loaded = (await readFile(seen, 'utf8')).split('\n');
    expect(loaded.filter((url) => url.includes('/fastify/'))).not.toEqual([]);
    const packages = [
      '@temporalio/',
      '@peculiar/',
      '@modelcontextprotocol/client/',
      'undici/',
      'jose/',
      'pg/',
      'ajv/',
      'cli-table3/',
    ];
    expect(loaded.filter((url) => packages.some((name) => url.includes(`/node_modules/${name}`)))).toEqual([]);
  }, 60_000);
});
