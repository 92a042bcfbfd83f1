import { batchRequest } from '../support/batch-request.js';
import type { Answered, EchoTools, LiteFixture } from '../support/lite.js';

/** The keys that every kept file is sealed with. */
export const KEYS = `test:${'0123456789abcdef'.repeat(4)}`;
/** Calls are known by their idempotency id, and have the same number in each file. */
export const idempotency = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
export const transfer = (amount: number) => ({ from: 'operating', to: 'vendor', amount });

/** What the tools list, by what each says of itself. */
export type Listed = Readonly<Record<string, string>>;
export const LISTED = { read_file: 'reads', wire_transfer: 'pays' } as const satisfies Listed;

export function listTools(tools: EchoTools, descriptions: Listed): void {
  const { answer } = tools;
  const listed = Object.entries(descriptions).map(([name, description]) => ({
    name,
    description,
    inputSchema: { type: 'object' },
  }));
  tools.answer = (request) =>
    request['method'] === 'tools/list'
      ? { jsonrpc: '2.0', id: request['id'] ?? null, result: { tools: listed } }
      : answer(request);
}

const BATCH = batchRequest([
  { id: 'a', name: 'read_file', arguments: { path: 'a.txt' } },
  { id: 'b', name: 'wire_transfer', arguments: transfer(28) },
]);
const batchOf = (gate: LiteFixture, n: number, contract: Readonly<Record<string, string>>): Promise<Answered> =>
  gate.send('POST', '/mcp', { body: BATCH, headers: { ...contract, 'X-Gate-Idempotency-Id': idempotency(n) } });

/** The calls that wait in files: asked for when a file is made, and again when it is opened. */
export const WAITING: Readonly<Record<number, (gate: LiteFixture) => Promise<Answered>>> = {
  4: (gate) => gate.call('wire_transfer', { id: idempotency(4), arguments: transfer(26) }),
  5: (gate) => gate.call('wire_transfer', { id: idempotency(5), arguments: transfer(27), decision: true }),
  6: (gate) => batchOf(gate, 6, { 'X-Gate-Decision-Contract': 'gate.decision/v1' }),
  7: (gate) => batchOf(gate, 7, { 'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1' }),
};
