import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { goProgram } from '../support/go-program.js';
import type { History } from './history.js';

const SOURCES = join(PROJECT_ROOT, 'test', 'linearizability', 'checker');

/** `Ok`: some order of the operations explains every answer. `Illegal`: none does. `Unknown`: not found out in time. */
export type Verdict = 'Ok' | 'Illegal' | 'Unknown';

export async function checkHistories(histories: readonly History[]): Promise<ReadonlyMap<string, Verdict>> {
  const child = spawn(await goProgram('linearizability', SOURCES), { stdio: ['pipe', 'pipe', 'inherit'] });
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
