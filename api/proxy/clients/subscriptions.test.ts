import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import type { ControlReply } from './control-replies.js';
import { createEventStreams, type EventStreams } from './event-streams.js';
import type { Holder } from './held-subscriptions.js';
import { createSubscriptions, type SubscriptionsOptions } from './subscriptions.js';

const MINUTE = 60_000;
const caller = { tenant: 'acme', agent: 'bot', validToMs: undefined };
const INTRODUCED: ControlReply = {
  status: 200,
  text: '{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"resources":{"subscribe":true}},"serverInfo":{}}}',
  failed: false,
};
const REFUSED: ControlReply = { status: 200, text: '{"jsonrpc":"2.0","id":1,"error":{}}', failed: true };
const TAKEN: ControlReply = { status: 200, text: '{"jsonrpc":"2.0","id":1,"result":{}}', failed: false };

/** A stream is its process's: what it holds is held as long as that renews it. */
describe('what a stream of notifications holds', () => {
  let streams: EventStreams;
  let now: number;
  let given: string[];
  let renewed: [string, number][];
  let counts: boolean;
  let holder: Holder | undefined;
  let watch: () => Promise<ControlReply>;
  let opened: Promise<void>;
  beforeEach(() => {
    jest.useFakeTimers();
    streams = createEventStreams(0);
    now = 1_000;
    given = [];
    renewed = [];
    counts = true;
    holder = undefined;
    watch = async () => TAKEN;
    opened = Promise.resolve();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  function listening(introduced = INTRODUCED) {
    const controls = {
      admit: async () => undefined,
      forward: async () => introduced,
      watch: (_caller: unknown, by: Holder) => {
        holder = by;
        return watch();
      },
      listen: () => opened,
      held: {
        giveUp: async (_caller: unknown, id: string) => void given.push(id),
        renew: async (id: string, untilMs: number) => {
          renewed.push([id, untilMs]);
          return counts;
        },
      },
    };
    const options = { controls, streams, answers: {}, tasks: {}, statelessTasks: {}, news: {}, now: () => now };
    const body = { params: { notifications: { resourceSubscriptions: ['test://a'] } } };
    const asked = { asker: { caller }, id: 1, body, form: { id: 1, finish: (text: string) => text } };
    return createSubscriptions(options as unknown as SubscriptionsOptions)(
      { correlationId: 'c' } as FastifyRequest,
      asked as never,
    ) as unknown as Promise<{ end: () => void; events: AsyncIterable<string> }>;
  }

  it('begins once the upstream is heard, or is not within two seconds', async () => {
    let isOpen: () => void = () => undefined;
    opened = new Promise((resolve) => (isOpen = resolve));
    let begun = 0;
    const begins = () => void listening().then(() => (begun += 1));
    begins();
    await jest.advanceTimersByTimeAsync(1_900);
    expect(begun).toBe(0);
    isOpen();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toBe(1);
    opened = new Promise(() => undefined);
    begins();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(begun).toBe(2);
  });

  it('is renewed each minute for ten more, and given up with the stream', async () => {
    const { end } = await listening();
    const id = holder?.id as string;
    expect([holder?.untilMs, renewed]).toEqual([1_000 + 10 * MINUTE, []]);
    now += MINUTE;
    jest.advanceTimersByTime(MINUTE);
    expect(renewed).toEqual([[id, now + 10 * MINUTE]]);
    expect(holder?.isOver()).toBe(false);
    end();
    expect([holder?.isOver(), given, streams.count()]).toEqual([true, [id], 0]);
    jest.advanceTimersByTime(5 * MINUTE);
    expect(renewed).toHaveLength(1);
  });

  it('is over where it counts no more, and so is the stream, which would hear of nothing', async () => {
    const stream = await listening();
    counts = false;
    await jest.advanceTimersByTimeAsync(MINUTE);
    expect([holder?.isOver(), streams.count(), given]).toEqual([true, 0, [holder?.id]]);
    const said: string[] = [];
    for await (const event of stream.events) said.push(event);
    expect(said.at(-1)).toContain('"resultType":"complete"');
    await jest.advanceTimersByTimeAsync(5 * MINUTE);
    expect(renewed).toHaveLength(1);
  });

  it('is given up, with its place, where the stream cannot be prepared', async () => {
    watch = () => Promise.reject(new Error('the store is away'));
    await expect(listening()).rejects.toThrow('away');
    expect([given, streams.count()]).toEqual([[holder?.id], 0]);
  });

  it('is given up where the stream has to end while it is prepared', async () => {
    watch = async () => {
      streams.close();
      return TAKEN;
    };
    await listening();
    expect(given).toEqual([holder?.id]);
  });

  it('is nothing where the upstream is not introduced: the place is free again', async () => {
    await listening(REFUSED);
    expect([holder, given, streams.count()]).toEqual([undefined, [], 0]);
  });
});
