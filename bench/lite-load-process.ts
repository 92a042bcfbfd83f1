import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { answerQuestions } from './child.js';
import { press, type Pressed, type Pressure } from './load.js';

/** One kind of call to a lite process. */
export interface LiteCall {
  readonly url: string;
  readonly contract: 'gate.decision/v1' | 'gate.server-execution/v1';
  readonly tool: string;
}

const pools = new Map<string, Pool>();

/** An agent that calls lite over plain HTTP on kept-alive connections, as many as callers. */
const answers = {
  async press({ call: { url, contract, tool }, ...pressure }: Pressure & { call: LiteCall }): Promise<Pressed> {
    const key = `${url} ${pressure.concurrency}`;
    const pool =
      pools.get(key) ?? new Pool(url, { connections: pressure.concurrency, pipelining: 1, keepAliveTimeout: 120_000 });
    pools.set(key, pool);
    const selector = contract === 'gate.decision/v1' ? 'X-Gate-Decision-Contract' : 'X-Gate-Server-Execution-Contract';
    let id = 0;
    return press(pressure, async () => {
      id += 1;
      const reply = await pool.request({
        path: '/mcp',
        method: 'POST',
        headers: { 'content-type': 'application/json', [selector]: contract, 'X-Gate-Idempotency-Id': randomUUID() },
        body: `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${tool}","arguments":{"path":"reports/${id}.txt","lines":40}}}`,
      });
      await reply.body.text();
      return String(reply.statusCode);
    });
  },
};
export type LiteLoadQuestions = typeof answers;

answerQuestions(answers, async () => {
  await Promise.all([...pools.values()].map((pool) => pool.close()));
});
