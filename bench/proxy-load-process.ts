import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { answerQuestions } from './child.js';
import { press, type Pressed, type Pressure } from './load.js';

/** Who is called: the tools themselves, or a Gate before them. */
export interface Door {
  /** The address of its MCP endpoint. */
  readonly url: string;
  /** Certificate files, where it asks for a client certificate. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
  /** The contract that a tool call selects; absent where the tools are called themselves. */
  readonly contract?: 'gate.server-execution/v1';
}

/** One JSON-RPC request. Its ids are new each time. */
export interface Ask {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Calls that begin at a rate, whether or not earlier ones were answered. */
export interface Pace {
  readonly perSecond: number;
  readonly forMs: number;
  readonly connections: number;
}

const pools = new Map<string, Pool>();
function poolOf({ url, tls }: Door, connections: number): Pool {
  const { origin } = new URL(url);
  const key = `${origin} ${connections}`;
  const known = pools.get(key);
  if (known) return known;
  const pool = new Pool(origin, {
    connections,
    pipelining: 1,
    keepAliveTimeout: 120_000,
    ...(tls && { connect: { ca: readFileSync(tls.ca), cert: readFileSync(tls.cert), key: readFileSync(tls.key) } }),
  });
  pools.set(key, pool);
  return pool;
}

let id = 0;
async function send(pool: Pool, { url, contract }: Door, { method, params }: Ask): Promise<string> {
  id += 1;
  const selects = contract !== undefined && method === 'tools/call';
  const reply = await pool.request({
    path: new URL(url).pathname,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(selects && { 'X-Gate-Server-Execution-Contract': contract, 'X-Gate-Idempotency-Id': randomUUID() }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  });
  await reply.body.text();
  return String(reply.statusCode);
}

const answers = {
  press({ door, ask, ...pressure }: Pressure & { door: Door; ask: Ask }): Promise<Pressed> {
    const pool = poolOf(door, pressure.concurrency);
    return press(pressure, () => send(pool, door, ask));
  },

  /** Requests of a mix, in turns. A call that could not begin in time because all connections were taken waits, and its wait counts. */
  async pace({
    door,
    mix,
    perSecond,
    forMs,
    connections,
  }: Pace & { door: Door; mix: readonly Ask[] }): Promise<Pressed> {
    const pool = poolOf(door, connections);
    const latencies: number[] = [];
    const told: Record<string, number> = {};
    const open = new Set<Promise<void>>();
    const begun = performance.now();
    for (let sent = 0; ; sent += 1) {
      const dueMs = begun + (sent * 1000) / perSecond;
      if (dueMs - begun >= forMs) break;
      const waitMs = dueMs - performance.now();
      if (waitMs > 1) await sleep(waitMs);
      const call = send(pool, door, mix[sent % mix.length] as Ask)
        .catch((error: unknown) => String(error).slice(0, 160))
        .then((answer) => {
          latencies.push(performance.now() - dueMs);
          told[answer] = (told[answer] ?? 0) + 1;
        })
        .finally(() => open.delete(call));
      open.add(call);
    }
    await Promise.all(open);
    return { latencies, tookMs: performance.now() - begun, answers: told };
  },
};
export type ProxyLoadQuestions = typeof answers;

answerQuestions(answers, async () => {
  await Promise.all([...pools.values()].map((pool) => pool.close()));
});
