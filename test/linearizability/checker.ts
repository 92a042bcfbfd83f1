import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../stack/programs/find-program.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { History } from './history.js';

const SOURCES = join(PROJECT_ROOT, 'test', 'linearizability', 'checker');
const run = promisify(execFile);

export const hasGo = (): Promise<boolean> =>
  run('go', ['version']).then(
    () => true,
    () => false,
  );

/** The checker, built once for its sources. */
async function program(): Promise<string> {
  const digest = createHash('sha256');
  for (const file of ['main.go', 'go.mod', 'go.sum']) digest.update(readFileSync(join(SOURCES, file)));
  const folder = cacheFolder(process.env);
  const target = join(folder, `linearizability-${digest.digest('hex').slice(0, 16)}`);
  if (existsSync(target)) return target;
  mkdirSync(folder, { recursive: true });
  const built = `${target}.${process.pid}`;
  await run('go', ['build', '-trimpath', '-o', built, '.'], { cwd: SOURCES, timeout: 8 * 60_000 });
  renameSync(built, target);
  return target;
}

/** `Ok`: some order of the operations explains every answer. `Illegal`: none does. `Unknown`: not found out in time. */
export type Verdict = 'Ok' | 'Illegal' | 'Unknown';

export async function checkHistories(histories: readonly History[]): Promise<ReadonlyMap<string, Verdict>> {
  const child = spawn(await program(), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  child.stdin.end(histories.map((history) => `${JSON.stringify(history)}\n`).join(''));
  const code = await ended;
  if (code !== 0) throw new Error(`the checker ended with ${code}`);
  const answers = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; result: Verdict });
  return new Map(answers.map(({ id, result }) => [id, result]));
}
