import { describe, expect, it } from '@jest/globals';
import type { Listener } from '../../../domain/upstream/call-talks.js';
import type { UpstreamCaller } from '../../../domain/upstream/upstream.js';
import { sharedListening } from './shared-listening.js';

const BOT: UpstreamCaller = { tenant: 'acme', agent: 'bot' };

function upstream() {
  const streams: { caller: UpstreamCaller; listener: Listener; signal: AbortSignal }[] = [];
  const listen = sharedListening(async (caller, listener, signal) => {
    streams.push({ caller, listener, signal });
  });
  const client = (caller: UpstreamCaller = BOT, answer = '{}') => {
    const heard: string[] = [];
    const gone = new AbortController();
    const listener: Listener = {
      progress: false,
      told: (method) => void heard.push(method),
      asked: () => Promise.resolve(['result', answer]),
    };
    let isHeard = false;
    void listen(caller, listener, gone.signal).then(() => (isHeard = true));
    return { heard, leave: () => gone.abort(), isHeard: () => isHeard };
  };
  return { streams, client };
}

describe('the stream of an upstream, for the clients of one agent', () => {
  it('is one for all of them, and each is told', () => {
    const { streams, client } = upstream();
    const [one, other] = [client(), client()];
    expect(streams).toHaveLength(1);
    streams[0]?.listener.told('notifications/tools/list_changed', '{}');
    expect([one.heard, other.heard]).toEqual([
      ['notifications/tools/list_changed'],
      ['notifications/tools/list_changed'],
    ]);
  });

  it('is waited for until it stands, and no longer by whoever comes then', async () => {
    const { streams, client } = upstream();
    const [one, other] = [client(), client()];
    await new Promise((resolve) => setImmediate(resolve));
    expect([one.isHeard(), other.isHeard()]).toEqual([false, false]);
    streams[0]?.listener.opened?.();
    const late = client();
    await new Promise((resolve) => setImmediate(resolve));
    expect([one.isHeard(), other.isHeard(), late.isHeard()]).toEqual([true, true, true]);
  });

  it('is another one for another agent, and for clients that can be asked other things', () => {
    const { streams, client } = upstream();
    client();
    client({ ...BOT, agent: 'other' });
    client({ ...BOT, tenant: 'other' });
    client({ ...BOT, client_can: ['sampling'] });
    expect(streams).toHaveLength(4);
  });

  it('asks one of them, and the next where that has gone', async () => {
    const { streams, client } = upstream();
    const one = client(BOT, '"one"');
    client(BOT, '"other"');
    expect(await streams[0]?.listener.asked('sampling/createMessage', '{}', 1)).toEqual(['result', '"one"']);
    one.leave();
    expect(await streams[0]?.listener.asked('sampling/createMessage', '{}', 1)).toEqual(['result', '"other"']);
  });

  it('ends with the last of them, and begins anew with the next', () => {
    const { streams, client } = upstream();
    const [one, other] = [client(), client()];
    one.leave();
    expect(streams[0]?.signal.aborted).toBe(false);
    other.leave();
    expect(streams[0]?.signal.aborted).toBe(true);
    client();
    expect(streams).toHaveLength(2);
  });
});
