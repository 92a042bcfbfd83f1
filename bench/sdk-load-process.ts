import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { inspectToolUse } from '../sdks/typescript/agent-sdk/src/index.js';
import { answerQuestions, ownCpuMs } from './child.js';
import { press, type Pressed, type Pressure } from './load.js';

/** An agent that asks lite about calls: through the SDK, or by requests of the same bytes that nobody reads. */
const pools = new Map<number, Pool>();
let asked = 0;
const answers = {
  async press({
    url,
    tool,
    through,
    ...pressure
  }: Pressure & { url: string; tool: string; through: 'sdk' | 'bare' }): Promise<Pressed> {
    if (through === 'sdk')
      return press(pressure, async () => {
        const call = { id: `call_${(asked += 1)}`, name: tool, input: { path: `reports/${asked}.txt`, lines: 40 } };
        return (await inspectToolUse(call, { endpoint: url })).kind;
      });
    const { concurrency } = pressure;
    const pool = pools.get(concurrency) ?? new Pool(url, { connections: concurrency, pipelining: 1 });
    pools.set(concurrency, pool);
    return press(pressure, async () => {
      asked += 1;
      const reply = await pool.request({
        path: '/mcp',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'X-Gate-Decision-Contract': 'gate.decision/v1',
          'X-Gate-Idempotency-Id': randomUUID(),
        },
        body: `{"jsonrpc":"2.0","id":${asked},"method":"tools/call","params":{"name":"${tool}","arguments":{"path":"reports/${asked}.txt","lines":40}}}`,
      });
      await reply.body.text();
      return String(reply.statusCode);
    });
  },
  cpuMs: async (): Promise<number> => ownCpuMs(),
};
export type SdkLoadQuestions = typeof answers;

answerQuestions(answers, async () => {
  await Promise.all([...pools.values()].map((pool) => pool.close()));
});
