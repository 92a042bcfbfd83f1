import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { type CallStreamsOptions, type ClientCall, createCallStreams } from './call-streams.js';
import { createEventStreams, type EventStreams, saidToTheEnd } from './event-streams.js';

const LAST = ': the certificate or token that opened this stream has ended; come back with the next one\n\n';

let streams: EventStreams;
beforeEach(() => {
  jest.useFakeTimers();
  streams = createEventStreams(0);
});
afterEach(() => {
  jest.useRealTimers();
});

async function allOf(events: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('a stream whose client came with a certificate or a token', () => {
  async function* until(signal: AbortSignal): AsyncGenerator<string> {
    yield 'first';
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  it('ends with that, and says why', async () => {
    const held = streams.begin('acme/bot', Date.now() + 5_000);
    const all = allOf(saidToTheEnd(until(held.signal), held.signal));
    await jest.advanceTimersByTimeAsync(4_999);
    expect(held.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(await all).toEqual(['first', LAST]);
  });

  it.each<[string, (held: ReturnType<EventStreams['begin']>) => void]>([
    ['its client goes away', (held) => held.end()],
    ['Gate ends', () => streams.close()],
  ])('says nothing of that where %s before', async (_what, act) => {
    const held = streams.begin('acme/bot', Date.now() + 5_000);
    const all = allOf(saidToTheEnd(until(held.signal), held.signal));
    await jest.advanceTimersByTimeAsync(1);
    act(held);
    expect(await all).toEqual(['first']);
    await jest.advanceTimersByTimeAsync(5_000);
  });

  it('is the stream of a call too; the call goes on', async () => {
    let given: ((answer: { status: number; headers: object; body: null }) => void) | undefined;
    const options = {
      handler: { handle: () => new Promise((resolve) => (given = resolve)), settled: async () => undefined },
      streams,
      onDisk: async () => undefined,
      unknownAfterMs: 60_000,
    };
    const { answered } = createCallStreams(options as unknown as CallStreamsOptions);
    const caller = { tenant: 'acme', agent: 'bot', validToMs: Date.now() + 5_000 };
    const asked = { call: { caller }, form: { id: 1, tool: true, admitted: true }, leastLevel: async () => 'off' };
    const request = { correlationId: 'c', headers: { accept: 'application/json, text/event-stream' } };
    const answer = answered(request as unknown as FastifyRequest, asked as unknown as ClientCall);
    await jest.advanceTimersByTimeAsync(1_000);
    const streamed = await answer;
    if (!('events' in streamed)) throw new Error('no stream');
    const all = allOf(saidToTheEnd(streamed.events, streamed.signal));
    await jest.advanceTimersByTimeAsync(4_000);
    expect((await all).at(-1)).toBe(LAST);
    expect(given).toBeDefined();
  });
});
