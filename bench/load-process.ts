import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { answerQuestions } from './child.js';
import { press, type Pressed, type Pressure } from './load.js';

/** One listener and the certificate it is called with, as file paths. */
export interface Target {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** One kind of call. The idempotency id and the JSON-RPC id are new at every call. */
export interface CallKind {
  readonly target: Target;
  readonly contract: 'gate.decision/v1' | 'gate.server-execution/v1';
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An agent that calls through the proxy, or an operator who decides: mutual TLS on kept-alive connections, as many as callers. */
const answers = {
  async press({ kind, ...pressure }: Pressure & { kind: CallKind }): Promise<Pressed> {
    const pool = poolOf(kind.target, pressure.concurrency);
    const selector =
      kind.contract === 'gate.decision/v1' ? 'X-Gate-Decision-Contract' : 'X-Gate-Server-Execution-Contract';
    let id = 0;
    return press(pressure, async () => {
      id += 1;
      const reply = await pool.request({
        path: '/mcp',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [selector]: kind.contract,
          'X-Gate-Idempotency-Id': randomUUID(),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: kind.tool, arguments: kind.arguments },
        }),
      });
      const body = (await reply.body.json()) as { error?: unknown; pending_id?: unknown };
      if (typeof body.pending_id === 'string') undecided.push(body.pending_id);
      return typeof body.error === 'string' ? `${reply.statusCode} ${body.error}` : String(reply.statusCode);
    });
  },

  /** Denies calls that this process parked, one after the other from the oldest on, as an operator at the console does. */
  async decide({ target, bearer, ...pressure }: Pressure & { target: Target; bearer: string }): Promise<Pressed> {
    const pool = poolOf(target, pressure.concurrency);
    return press({ ...pressure, maxCalls: Math.min(pressure.maxCalls, undecided.length) }, async () => {
      const reply = await pool.request({
        path: `/decide/${undecided.shift()}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: JSON.stringify({ decision: 'deny', reason: 'measured', decided_via: 'console' }),
      });
      await reply.body.dump();
      return String(reply.statusCode);
    });
  },

  /** Reads one address again and again, its whole answer. */
  async read({
    target,
    bearer,
    path,
    ...pressure
  }: Pressure & { target: Target; bearer: string; path: string }): Promise<Pressed> {
    const pool = poolOf(target, pressure.concurrency);
    return press(pressure, async () => {
      const reply = await pool.request({ path, method: 'GET', headers: { authorization: `Bearer ${bearer}` } });
      await reply.body.text();
      return String(reply.statusCode);
    });
  },
};
export type LoadQuestions = typeof answers;

/** Review rows of calls that were parked and not decided since, oldest first. */
const undecided: string[] = [];

const pools = new Map<string, Pool>();

/** Connections stay open between rounds: what is measured is a call, not a handshake. */
function poolOf(target: Target, connections: number): Pool {
  const key = `${target.url} ${target.cert} ${connections}`;
  const known = pools.get(key);
  if (known) return known;
  const pool = new Pool(target.url, {
    connections,
    pipelining: 1,
    keepAliveTimeout: 120_000,
    connect: {
      ca: readFileSync(target.ca),
      cert: readFileSync(target.cert),
      key: readFileSync(target.key),
    },
  });
  pools.set(key, pool);
  return pool;
}

answerQuestions(answers, async () => {
  await Promise.all([...pools.values()].map((pool) => pool.close()));
});
