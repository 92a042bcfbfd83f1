import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type LiteFixture, openLite } from '../support/lite.js';

const CHILD = fileURLToPath(new URL('../support/stdio-tools.mjs', import.meta.url));
const TOKENS = { alice: 'alice-token-of-thirty-two-characters', bob: 'bob-token-of-thirty-two-characters-x' } as const;
type Who = keyof typeof TOKENS;

let gate: LiteFixture;
beforeAll(async () => {
  gate = await openLite(
    { GATE_LITE_AGENTS: `acme/alice:${TOKENS.alice},acme/bob:${TOKENS.bob}` },
    { child: { command: process.execPath, args: [CHILD], env: {} } },
  );
});
afterAll(() => gate.close());

const send = (who: Who, body: JsonObject, headers: Record<string, string> = {}) =>
  gate.send('POST', '/mcp', { body, headers: { authorization: `Bearer ${TOKENS[who]}`, ...headers } });
const call = (who: Who, given: JsonObject, id: number | string = 1) =>
  send(
    who,
    { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'read_file', arguments: given } },
    { 'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1', 'X-Gate-Idempotency-Id': randomUUID() },
  );
const textOf = ({ body }: { body: JsonObject }) =>
  (body as { result: { content: { text: string }[] } }).result.content[0]?.text;

describe('a stdio child that several agents share', () => {
  it("does not hear of one agent's cancellation, whichever id it names: the other's call goes on", async () => {
    const running = call('alice', { path: 'slow', who: 'alice' });
    for (let requestId = 0; requestId < 12; requestId += 1)
      expect(
        await send('bob', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }),
      ).toMatchObject({ status: 204 });
    // Aliases and spellings of the same are no way around it.
    for (const method of [
      'notifications/Cancelled',
      'notifications/cancelled ',
      'cancelled',
      'notifications//cancelled',
    ])
      expect(await send('bob', { jsonrpc: '2.0', method, params: { requestId: 1 } })).toMatchObject({ status: 400 });
    expect(
      await send('bob', { jsonrpc: '2.0', id: 1, method: 'notifications/cancelled', params: { requestId: 1 } }),
    ).toMatchObject({ status: 400 });
    const reply = await running;
    expect({ status: reply.status, text: textOf(reply) }).toEqual({ status: 200, text: 'alice' });
    expect(textOf(await call('bob', { path: 'seen' }))).not.toContain('notifications/cancelled');
  });

  it('hands each agent the reply to its own request, under its own id, also where both use the same one', async () => {
    const [alice, bob] = await Promise.all([
      call('alice', { path: 'slow', who: 'alice' }, 'same'),
      call('bob', { path: 'slow', who: 'bob' }, 'same'),
    ]);
    expect([alice.body['id'], textOf(alice), bob.body['id'], textOf(bob)]).toEqual(['same', 'alice', 'same', 'bob']);
  });
});
