import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { answerQuestions } from './child.js';
import type { Pressed } from './load.js';

const CALLERS = 4;
/** Between an answer and the next question of a caller: the engine is asked all the time and is not full. */
const PAUSE_MS = 8;

let pool: Pool | undefined;
let stopped = false;
let running: Promise<Pressed> | undefined;

/** Workers that ask the policy engine until they are told to end. */
const answers = {
  async begin({ url, calls }: { url: string; calls: readonly string[] }): Promise<void> {
    pool ??= new Pool(url, { connections: CALLERS, pipelining: 1, keepAliveTimeout: 120_000 });
    stopped = false;
    running = asked(pool, calls);
  },
  async end(): Promise<Pressed> {
    stopped = true;
    if (!running) throw new Error('nothing was begun');
    return running;
  },
};
export type PolicyLoadQuestions = typeof answers;

async function asked(to: Pool, calls: readonly string[]): Promise<Pressed> {
  const latencies: number[] = [];
  const counts: Record<string, number> = {};
  const begun = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (!stopped) {
      const body = calls[next++ % calls.length] as string;
      const started = performance.now();
      const answer = await to
        .request({ path: '/evaluate', method: 'POST', headers: { 'content-type': 'application/json' }, body })
        .then(async (reply) => {
          await reply.body.text();
          return String(reply.statusCode);
        })
        .catch((error: unknown) => String(error).slice(0, 160));
      latencies.push(performance.now() - started);
      counts[answer] = (counts[answer] ?? 0) + 1;
      await pause(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { latencies, tookMs: performance.now() - begun, answers: counts };
}

answerQuestions(answers, async () => {
  await pool?.close();
});
