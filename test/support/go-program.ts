import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from '../../stack/file-lock.js';
import { cacheFolder } from '../../stack/programs/find-program.js';

const run = promisify(execFile);

export const hasGo = (): Promise<boolean> =>
  run('go', ['version']).then(
    () => true,
    () => false,
  );

const LIMIT_MS = 8 * 60_000;

/** The program of a folder with `main.go`, built once for its sources. */
export async function goProgram(name: string, sources: string, timeout = LIMIT_MS): Promise<string> {
  const digest = createHash('sha256');
  for (const file of readdirSync(sources)
    .filter((each) => /\.go$|^go\./.test(each))
    .sort())
    digest.update(readFileSync(join(sources, file)));
  const folder = cacheFolder(process.env);
  const target = join(folder, `${name}-${digest.digest('hex').slice(0, 16)}`);
  if (existsSync(target)) return target;
  // Test files beside each other want the same program: one of them builds it.
  return withFileLock(`${target}.lock`, { timeoutMs: 2 * timeout }, async () => {
    if (existsSync(target)) return target;
    const built = `${target}.${process.pid}`;
    await run('go', ['build', '-trimpath', '-o', built, '.'], { cwd: sources, timeout });
    renameSync(built, target);
    return target;
  });
}
