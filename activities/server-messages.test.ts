import { describe, expect, it } from '@jest/globals';
import { TooLong } from '../adapters/outbound/body.js';
import { methodOf, serverMessagesIn } from './server-messages.js';

const LOG = 'data: {"method":"notifications/message","params":{}}\n\n';
const PROGRESS = 'data: {"method":"notifications/progress","params":{}}\n\n';
const REPLY = 'data: {"id":"1","result":{}}\n\n';
const logOf = (bytes: number) => {
  const empty = LOG.replace('{}}', '{"data":""}}');
  return empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`);
};
const LIMIT = 1_000_000;

let nowMs = 0;
/** How long the stream was not read, in all, and what was heard of it. */
async function heard(chunks: readonly string[]) {
  const heardOf = { logs: 0, others: 0, pausedMs: 0 };
  const pieces = async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  };
  const pause = async (ms: number) => void (heardOf.pausedMs += ms);
  for await (const message of serverMessagesIn(pieces(), { maxBytes: LIMIT, now: () => nowMs, pause }))
    if (message && methodOf(message) === 'notifications/message') heardOf.logs += 1;
    else heardOf.others += 1;
  return heardOf;
}

describe('log messages in the stream of a server', () => {
  it('are read as they come up to 10,000 in a minute, and 10 MB', async () => {
    expect(await heard([LOG.repeat(10_000), REPLY])).toEqual({ logs: 10_000, others: 1, pausedMs: 0 });
    const large = Array.from({ length: 100 }, () => logOf(100_000));
    expect(await heard([...large, REPLY])).toEqual({ logs: 100, others: 1, pausedMs: 0 });
  });

  it('beyond 10,000 are dropped, and read at 2,000 a second; what comes behind them is heard', async () => {
    const chunks = Array.from({ length: 120 }, () => LOG.repeat(100));
    expect(await heard([...chunks, REPLY])).toEqual({ logs: 10_000, others: 1, pausedMs: 1_000 });
  });

  it('beyond 10 MB are handed on, and read at a megabyte a second', async () => {
    const chunks = Array.from({ length: 120 }, () => logOf(100_000));
    expect(await heard([...chunks, REPLY])).toEqual({ logs: 120, others: 1, pausedMs: 2_000 });
  });

  it('are read as they come again a minute later', async () => {
    nowMs = 0;
    const chunks = async function* () {
      yield Buffer.from(LOG.repeat(10_100));
      nowMs = 60_000;
      yield Buffer.from(LOG.repeat(10_000));
    };
    const paused: number[] = [];
    const pause = async (ms: number) => void paused.push(ms);
    let logs = 0;
    for await (const message of serverMessagesIn(chunks(), { maxBytes: LIMIT, now: () => nowMs, pause }))
      if (message) logs += 1;
    expect([logs, paused]).toEqual([20_000, [50]]);
  });

  it('that come one by one cost no pause each', async () => {
    const one = Array.from({ length: 10_040 }, () => LOG);
    expect(await heard(one)).toMatchObject({ logs: 10_000, pausedMs: 20 });
  });

  it('are not waited for once the signal ends the stream', async () => {
    const over = new AbortController();
    const chunks = async function* () {
      yield Buffer.from(LOG.repeat(12_000));
      throw new Error('was read on');
    };
    const reading = serverMessagesIn(chunks(), { maxBytes: LIMIT, signal: over.signal, now: () => nowMs });
    for (let read = 0; read < 10_000; read += 1) await reading.next();
    const next = reading.next();
    over.abort();
    await expect(next).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('are none of the limit of an answer; all else is', async () => {
    expect(await heard(Array.from({ length: 30 }, () => LOG.repeat(1_000)))).toMatchObject({ logs: 10_000 });
    await expect(heard(Array.from({ length: 30 }, () => PROGRESS.repeat(1_000)))).rejects.toBeInstanceOf(TooLong);
  });
});
