import { describe, expect, it } from '@jest/globals';
import { GateError } from '../../../domain/errors.js';
import { placeOf } from './call-events.js';
import { createEventStreams } from './event-streams.js';
import { createMcpClients, type McpClientsOptions } from './mcp-clients.js';

const CALLER = { tenant: 'acme', agent: 'one' };
const CALL = '00000000-0000-4000-8000-000000000001';

describe('a client that comes back to the stream of its call', () => {
  const comesBack = (standing: () => Promise<null>) => {
    const streams = createEventStreams(1);
    const clients = createMcpClients({
      handler: { standing },
      controls: { admit: async () => undefined },
      sessions: { find: async () => ({ id: 'a-session', can: [], protocolVersion: '2025-11-25' }) },
      streams,
      callerOf: () => CALLER,
      callDeadlineMs: 1_000,
    } as unknown as McpClientsOptions);
    clients.close();
    const request = { headers: { 'last-event-id': placeOf(CALL, 7) }, correlationId: 'this-request' };
    return { streams, stream: clients.listen(request as never, 'sealed') };
  };

  it('is told that the store cannot be asked, so that it comes back again, and holds no place meanwhile', async () => {
    const { streams, stream } = comesBack(() => Promise.reject(new GateError('store_unavailable')));
    await expect(stream).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(streams.count()).toBe(0);
  });

  it('has the stream of a call that is not its own, which says so', async () => {
    const { streams, stream } = comesBack(() => Promise.reject(new GateError('not_found')));
    expect((await stream).events).toBeDefined();
    expect(streams.count()).toBe(1);
    (await stream).end();
  });
});

describe('an answer of a client to a question of another process', () => {
  it.each([
    [
      'counts once, where it was taken',
      { correlationId: CALL, method: 'elicitation/create' },
      ['elicitation/create true'],
    ],
    ['counts for nothing where it came too late, or to no question', null, []],
  ])('%s', async (_, counts, noted) => {
    const handedOn: string[] = [];
    const given: unknown[] = [];
    const clients = createMcpClients({
      handler: {},
      controls: {
        admit: async () => undefined,
        handedOn: (_caller: object, method: string, of: string, answered: boolean) =>
          void handedOn.push(...(of === CALL ? [`${method} ${answered}`] : [])),
      },
      sessions: { find: async () => ({ id: 'a-session', can: ['elicitation'], protocolVersion: '2025-11-25' }) },
      streams: createEventStreams(1),
      callerOf: () => CALLER,
      callDeadlineMs: 1_000,
      talks: {
        kept: {
          giveIn: async (...all: unknown[]) => {
            given.push(all);
            return counts;
          },
        },
      },
    } as unknown as McpClientsOptions);
    clients.close();
    const body = Buffer.from('{"jsonrpc":"2.0","id":"gate-1","result":{"action":"accept"}}');
    const headers = { 'mcp-session-id': 'sealed', 'content-type': 'application/json' };
    expect(await clients.answer({ headers, body, correlationId: 'this-request' } as never)).toMatchObject({
      status: 202,
    });
    expect([handedOn, given]).toEqual([noted, [['a-session', 'gate-1', ['result', '{"action":"accept"}']]]]);
  });
});
