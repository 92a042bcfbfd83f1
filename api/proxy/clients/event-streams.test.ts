import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import type { RevocationContent } from '../../../contracts/identity.js';
import { createRevocationMirror, type RevocationMirror } from '../../../domain/identity/revocation-mirror.js';
import type { Listener } from '../../../domain/upstream/call-talks.js';
import { type CallStreamsOptions, type ClientCall, createCallStreams } from './call-streams.js';
import { createEventStreams, type EventStreams, saidToTheEnd } from './event-streams.js';

const LAST = ': the certificate or token that opened this stream has ended; come back with the next one\n\n';

const BOT = { tenant: 'acme', agent: 'bot' };
const STOPPED = ': an operator stopped this agent\n\n';

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

async function* until(signal: AbortSignal): AsyncGenerator<string> {
  yield 'first';
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

describe('a stream whose client came with a certificate or a token', () => {
  it('ends with that, and says why', async () => {
    const held = streams.begin({ ...BOT, validToMs: Date.now() + 5_000 });
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
    const held = streams.begin({ ...BOT, validToMs: Date.now() + 5_000 });
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

describe('an answer that comes at once', () => {
  it.each([200, 403, 502, 504])('comes after what its tool said last, whatever it is: %i', async (status) => {
    let heard: Listener | undefined;
    const options = {
      handler: { handle: async () => ({ status, headers: {}, body: Buffer.from('{"said":"the answer"}') }) },
      talks: {
        listen: (_id: string, listener: Listener) => {
          heard = listener;
          return () => undefined;
        },
        caughtUp: async () => heard?.told('notifications/message', '{"level":"error","data":"the last words"}'),
      },
      streams,
      onDisk: () => async () => undefined,
      unknownAfterMs: 60_000,
    };
    const { answered } = createCallStreams(options as unknown as CallStreamsOptions);
    const asked = {
      call: { caller: BOT },
      form: { id: 1, tool: true, admitted: true },
      leastLevel: async () => 'debug',
    };
    const request = { correlationId: 'c', headers: { accept: 'application/json, text/event-stream' } };
    const answer = await answered(request as unknown as FastifyRequest, asked as unknown as ClientCall);
    if (!('events' in answer)) throw new Error('no stream');
    const said = await allOf(answer.events);
    expect(said.findIndex((text) => text.includes('the last words'))).toBeGreaterThan(-1);
    expect(said.at(-1)).toContain('the answer');
  });

  it('waits for no look at what its tool said, where its call was given to none', async () => {
    let looks = 0;
    const handle = async () => ({ status: 403, unsent: true, headers: {}, body: Buffer.from('{"said":"no"}') });
    const options = {
      handler: { handle },
      talks: { listen: () => () => undefined, caughtUp: async () => void (looks += 1) },
      streams,
      onDisk: () => async () => undefined,
      unknownAfterMs: 60_000,
    };
    const { answered } = createCallStreams(options as unknown as CallStreamsOptions);
    const asked = { call: { caller: BOT }, form: { id: 1, tool: true, admitted: true }, leastLevel: async () => null };
    const request = { correlationId: 'c', headers: { accept: 'application/json, text/event-stream' } };
    const answer = await answered(request as unknown as FastifyRequest, asked as unknown as ClientCall);
    expect(['events' in answer, looks]).toEqual([false, 0]);
  });
});

describe('a stream of an agent that is stopped', () => {
  let known: RevocationMirror;
  const heard = (over: Partial<RevocationContent>): void => {
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const generation = known.position() + 1;
    const history = (number: number) => String(number).repeat(64);
    known.take({
      trust_domain: 'gate.local',
      after: known.position(),
      after_history: history(known.position()),
      generation,
      history: history(generation),
      latest: generation,
      generated_at: at(0),
      expires_at: at(300_000),
      agents: [],
      standings: [],
      stops: [],
      svids: [],
      ...over,
    });
  };
  const stands = (state: RevocationContent['standings'][number]['state'], agent = 'bot'): void =>
    heard({
      standings: [
        {
          tenant: 'acme',
          agent_name: agent,
          state,
          force_hil_until: null,
          changed_at: new Date(Date.now() + known.position()).toISOString(),
        },
      ],
    });
  beforeEach(() => {
    known = createRevocationMirror({ trustDomain: 'gate.local' });
    streams = createEventStreams(0, known);
  });

  it.each(['suspended', 'decommissioned'] as const)(
    'ends when that is heard (%s), and says why; no other one ends',
    async (state) => {
      const [held, others] = [streams.begin(BOT), streams.begin({ ...BOT, tenant: 'other' })];
      const all = allOf(saidToTheEnd(until(held.signal), held.signal));
      stands('active');
      stands('suspended', 'another');
      expect(held.signal.aborted).toBe(false);
      stands(state);
      expect(held.signal.aborted).toBe(true);
      expect(await all).toEqual(['first', STOPPED]);
      expect(others.signal.aborted).toBe(false);
    },
  );

  it('ends where its tenant is stopped whole, and none is begun until it is let go', async () => {
    const tenantIs = (state: 'suspended' | 'active') =>
      heard({
        stops: [
          { tenant: 'acme', tool: null, state, changed_at: new Date(Date.now() + known.position()).toISOString() },
        ],
      });
    const [held, another, others] = [
      streams.begin(BOT),
      streams.begin({ ...BOT, agent: 'another' }),
      streams.begin({ ...BOT, tenant: 'acme2' }),
    ];
    heard({ stops: [{ tenant: 'acme', tool: 'x', state: 'suspended', changed_at: new Date().toISOString() }] });
    expect(held.signal.aborted).toBe(false);
    tenantIs('suspended');
    expect([held, another, others].map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
    expect(streams.begin(BOT).signal.aborted).toBe(true);
    tenantIs('active');
    expect(streams.begin(BOT).signal.aborted).toBe(false);
  });

  it('that was let in right before ends at once', async () => {
    stands('suspended');
    const { signal } = streams.begin(BOT);
    expect(signal.aborted).toBe(true);
    expect(await allOf(saidToTheEnd(until(signal), signal))).toEqual(['first', STOPPED]);
    stands('active');
    expect(streams.begin(BOT).signal.aborted).toBe(false);
  });

  it('goes on where certificates of the agent were taken back, and it came with a token', () => {
    const { signal } = streams.begin(BOT);
    heard({ agents: [{ tenant: 'acme', agent_name: 'bot', revoked_at: new Date().toISOString() }] });
    expect(signal.aborted).toBe(false);
  });
});
