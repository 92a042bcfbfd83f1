import { describe, expect, it } from '@jest/globals';
import type { GateError } from '../../domain/errors.js';
import type { LeastLevel } from '../../domain/mcp/log-levels.js';
import type { Answer } from './answers.js';
import { callEvents, type CallEventsOptions } from './call-events.js';

const ID = '5f0a1a9c-26a5-4ec5-9d0c-2f8f1f5f2c11';
const CALLER = { kind: 'agent', tenant: 'acme', agent: 'one' } as unknown as CallEventsOptions['caller'];
const PARKED: Answer = { status: 202, headers: {}, body: {} };
const DONE: Answer = { status: 200, headers: {}, body: Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}') };

/** The methods of what a client hears of a call that waits, until its answer. */
async function heard(client: Partial<CallEventsOptions>): Promise<string[]> {
  const events = callEvents({
    handler: { settled: async () => ({ method: 'tools/call', answer: DONE }) },
    caller: CALLER,
    correlationId: ID,
    form: { id: 1, tool: true, admitted: true },
    signal: new AbortController().signal,
    first: Promise.resolve(PARKED),
    unknownAfterMs: 60_000,
    onDisk: () => () => Promise.resolve(),
    asGateError: (error) => error as GateError,
    ...client,
  });
  const methods: string[] = [];
  for await (const event of events) {
    const data = /^data: (.+)$/m.exec(event)?.[1];
    if (data !== undefined) methods.push((JSON.parse(data) as { method?: string }).method ?? 'the answer');
  }
  return methods;
}
const hears = (least: LeastLevel) => ({ leastLevel: async () => least });
const page = (url: string | null) => ({ opens: { urlOf: async () => url } });

describe('whoever asked for a call that waits', () => {
  it.each<[string, Partial<CallEventsOptions>, string[]]>([
    ['is told in a log message', hears(null), ['notifications/message']],
    ['is told nothing, where it wants to hear of errors alone', hears('error'), []],
    ['is told as progress, where it asked for that', { ...hears(null), progressToken: 7 }, ['notifications/progress']],
    [
      'is asked to open the page, which says that it waits',
      { ...hears('warning'), ...page('https://console/hil/1') },
      ['elicitation/create', 'notifications/elicitation/complete'],
    ],
    [
      'is told in a log message, where it could open a page and there is none',
      { ...hears('debug'), ...page(null) },
      ['notifications/message'],
    ],
  ])('%s', async (_what, client, methods) => {
    expect(await heard(client)).toEqual([...methods, 'the answer']);
  });
});
