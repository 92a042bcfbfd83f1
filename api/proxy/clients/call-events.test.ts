import { describe, expect, it } from '@jest/globals';
import type { GateError } from '../../../domain/errors.js';
import type { LeastLevel } from '../../../domain/mcp/log-levels.js';
import type { Answer } from '../answers.js';
import { callEvents, type CallEventsOptions, placeIn, placeOf } from './call-events.js';

const ID = '5f0a1a9c-26a5-4ec5-9d0c-2f8f1f5f2c11';
const CALLER = { kind: 'agent', tenant: 'acme', agent: 'one' } as unknown as CallEventsOptions['caller'];
const PARKED: Answer = { status: 202, headers: {}, body: {} };
const DONE: Answer = { status: 200, headers: {}, body: Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}') };

/** The methods of what a client hears of a call that waits, until its answer. */
const heard = async (client: Partial<CallEventsOptions>): Promise<string[]> =>
  (await messagesOf(client)).map(({ method }) => method ?? 'the answer');
async function messagesOf(client: Partial<CallEventsOptions>) {
  const events = callEvents({
    handler: { settled: async () => ({ method: 'tools/call', answer: DONE }) },
    caller: CALLER,
    correlationId: ID,
    form: { id: 1, tool: true, admitted: true },
    signal: new AbortController().signal,
    first: Promise.resolve(PARKED),
    unknownAfterMs: 60_000,
    onDisk: () => () => Promise.resolve(),
    caughtUp: async () => undefined,
    asGateError: (error) => error as GateError,
    ...client,
  });
  const messages: { readonly method?: string; readonly params?: { readonly progress?: number } }[] = [];
  for await (const event of events) {
    const data = /^data: (.+)$/m.exec(event)?.[1];
    if (data !== undefined) messages.push(JSON.parse(data) as (typeof messages)[number]);
  }
  return messages;
}
const hears = (least: LeastLevel) => ({ leastLevel: async () => least });
/** An upstream that told its progress, or says this last. */
function talking(progressed: boolean, last?: string): Partial<CallEventsOptions> {
  const queue: string[] = [];
  const talk = {
    take: async () => queue.splice(0),
    heard: () => new Promise<void>(() => undefined),
    progressed: () => progressed,
  } as unknown as NonNullable<CallEventsOptions['talk']>;
  const caughtUp = async () => void (last !== undefined && queue.push(JSON.stringify({ method: last })));
  return { talk, caughtUp };
}
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
    [
      'is told nothing as progress beside that of its tool, which would go backwards',
      { ...hears(null), progressToken: 7, ...talking(true) },
      [],
    ],
    [
      'is told what its tool said last before its answer',
      { ...hears('off'), ...talking(false, 'notifications/message') },
      ['notifications/message'],
    ],
  ])('%s', async (_what, client, methods) => {
    expect(await heard(client)).toEqual([...methods, 'the answer']);
  });

  it('is told progress below what its tool begins with, which would go backwards', async () => {
    const [first] = await messagesOf({ ...hears(null), progressToken: 7 });
    expect(first?.params?.progress).toBeGreaterThan(0);
    expect(first?.params?.progress).toBeLessThan(0.001);
  });
});

it('is not told that its call never began where the clock is set ahead before it is recorded', async () => {
  const { now } = Date;
  const settled = async () => {
    if (Date.now !== now) return { method: 'tools/call', answer: DONE };
    Date.now = () => now() + 3_600_000;
    return undefined;
  };
  try {
    expect((await messagesOf({ first: undefined, handler: { settled } } as never)).at(-1)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
  } finally {
    Date.now = now;
  }
});

describe('the place of a call in its stream', () => {
  it.each([
    [7, undefined],
    ['a', 'token'],
    ['a', 0],
  ])('says under which id and token its client goes on: %j, %j', (id, progressToken) => {
    const place = placeIn(placeOf(ID, id, progressToken));
    expect(place).toEqual({ correlationId: ID, id, ...(progressToken !== undefined && { progressToken }) });
  });

  it('leaves out a token that is too long for a header, and is read without an invalid one', () => {
    expect(placeIn(placeOf(ID, 1, 'x'.repeat(257)))).toEqual({ correlationId: ID, id: 1 });
    const forged = Buffer.from(JSON.stringify([ID, 1, { a: 1 }])).toString('base64url');
    expect(placeIn(forged)).toEqual({ correlationId: ID, id: 1 });
    for (const [id, at] of [
      ['not-an-id', 1],
      [ID, 1.5],
      [ID, null],
    ])
      expect(placeIn(Buffer.from(JSON.stringify([id, at])).toString('base64url'))).toBeNull();
  });
});
