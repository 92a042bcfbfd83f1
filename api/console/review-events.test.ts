import { get } from 'node:http';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { CONSOLE_HOST, type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { ASK_LIMITS } from './ask-limits.js';
import { eventually } from '../../test/support/waiting.js';

/** More than the places of one session. */
const READERS = 10;

let fixture: ConsoleFixture;
let logged: string[];
let port: number;
beforeEach(async () => {
  logged = [];
  const log = new Writable({
    write(line: Buffer, _encoding, done) {
      logged.push(line.toString());
      done();
    },
  });
  fixture = await openConsole(undefined, {
    logger: pino({ level: 'debug' }, log),
    limits: { ...ASK_LIMITS, drainMs: 1_000 },
  });
  ({ port } = await fixture.service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
  logged.length = 0;
});
afterEach(() => fixture.close());

/** A page that begins to follow; its status, or `null` where it was left without an answer. */
function follow(cookie: string, more: Readonly<Record<string, string>> = {}) {
  const headers = {
    host: CONSOLE_HOST,
    accept: 'text/event-stream',
    cookie: `gate_console_session=${cookie}`,
    ...more,
  };
  const request = get({ host: '127.0.0.1', port, path: '/stream/hil', headers });
  const status = new Promise<number | null>((resolve) => {
    request.on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? null);
    });
    request.on('error', () => resolve(null));
  });
  return { status, leave: () => request.destroy() };
}

/** A page that follows, once its stream said something. */
const reading = (cookie: string) =>
  new Promise<{ said: () => string; ended: Promise<void>; leave: () => void }>((resolve, reject) => {
    const headers = { host: CONSOLE_HOST, accept: 'text/event-stream', cookie: `gate_console_session=${cookie}` };
    const request = get({ host: '127.0.0.1', port, path: '/stream/hil', headers, agent: false }, (answer) => {
      let said = '';
      const ended = new Promise<void>((done) => answer.on('close', done));
      answer.on('error', () => undefined);
      answer.on('data', (part: Buffer) => {
        said += part.toString();
        resolve({ said: () => said, ended, leave: () => request.destroy() });
      });
    }).on('error', reject);
  });

describe('a page that comes again', () => {
  it('is told what it missed: the review service gets the last event that it names, and none of a page that is new', async () => {
    const { cookie } = await fixture.browser();
    const asked: Readonly<Record<string, string>>[] = [];
    fixture.streamed = (signal, headers) => {
      asked.push(headers);
      return Promise.resolve({ status: 200, body: events(() => 'retry: 3000\n\n', signal) });
    };
    const pages = [follow(cookie, { 'last-event-id': '41' }), follow(cookie)];
    for (const page of pages) expect(await page.status).toBe(200);
    expect(asked).toHaveLength(2);
    expect(new Set(asked.map((headers) => headers['last-event-id']))).toEqual(new Set(['41', undefined]));
    for (const page of pages) page.leave();
  });
});

describe('a page that is closed before the review service answered its stream', () => {
  it('is no failure: nothing is logged or counted, what was asked is ended, and its place is free', async () => {
    const { cookie } = await fixture.browser();
    const before = await fixture.counted();
    let asked = 0;
    let ended = 0;
    fixture.streamed = (signal) => {
      asked += 1;
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          ended += 1;
          reject(signal.reason as Error);
        }),
      );
    };
    for (let reader = 1; reader <= READERS; reader += 1) {
      const page = follow(cookie);
      await eventually('the review service is asked', () => asked === reader);
      page.leave();
      expect(await page.status).toBe(null);
      await eventually('the question is ended', () => ended === reader);
    }
    fixture.streamed = () => null;
    fixture.away.add('hil');
    // Who stays is told, and that is logged: once, for this page alone.
    expect(await follow(cookie).status).toBe(503);
    const failures = logged.map((line) => JSON.parse(line) as { msg: string; level: number });
    expect(failures.map(({ level, msg }) => [level, msg])).toEqual([[50, 'a page of the console failed']]);
    expect(await fixture.counted()).toBe(before);
  });
});

describe('pages that follow whose network is lost', () => {
  it('leave their places to new ones: the oldest stream of the session ends, and no other', async () => {
    const { cookie } = await fixture.browser();
    const streams: AbortSignal[] = [];
    fixture.streamed = (signal) => {
      streams.push(signal);
      return Promise.resolve({ status: 200, body: events(() => 'data: x\n\n', signal) });
    };
    const pages: ReturnType<typeof follow>[] = [];
    for (let reader = 1; reader <= READERS; reader += 1) {
      pages.push(follow(cookie));
      expect(await pages.at(-1)?.status).toBe(200);
    }
    expect(streams.map(({ aborted }) => aborted)).toEqual([true, true, ...Array<boolean>(8).fill(false)]);
    for (const page of pages) page.leave();
    await eventually('every stream ends', () => streams.every(({ aborted }) => aborted));
  });

  it('leave them also to those of other sessions of their person, and are told to come again later', async () => {
    fixture.streamed = (signal) => Promise.resolve({ status: 200, body: events(() => 'retry: 3000\n\n', signal) });
    const readers: Awaited<ReturnType<typeof reading>>[] = [];
    for (let session = 0; session < 3; session += 1) {
      const { cookie } = await fixture.browser();
      for (let page = 0; page < 5; page += 1) readers.push(await reading(cookie));
    }
    const other = await reading((await fixture.browser({ subject: 'operator:glx', tenant: 'globex' })).cookie);
    await Promise.all(readers.slice(0, 3).map(({ ended }) => ended));
    expect([...readers, other].map(({ said }) => said())).toEqual([
      ...Array<string>(3).fill('retry: 3000\n\nretry: 30000\n\n'),
      ...Array<string>(13).fill('retry: 3000\n\n'),
    ]);
    for (const { leave } of [...readers, other]) leave();
  });

  it('end when nothing of what they have to say is taken for a while', async () => {
    const { cookie } = await fixture.browser();
    let stream: AbortSignal | undefined;
    fixture.streamed = (signal) => {
      stream = signal;
      return Promise.resolve({ status: 200, body: events(() => 'x'.repeat(1_048_576), signal, Infinity) });
    };
    const request = get({
      host: '127.0.0.1',
      port,
      path: '/stream/hil',
      headers: { host: CONSOLE_HOST, accept: 'text/event-stream', cookie: `gate_console_session=${cookie}` },
    });
    const cut = new Promise<void>((resolve) => {
      request.on('response', (answer) => answer.on('error', () => resolve()).pause());
    });
    await eventually('the stream ends', () => stream?.aborted === true);
    request.on('error', () => undefined).destroy();
    await cut;
  });
});

/** Says so many times the same, and then nothing until it is ended. */
async function* events(say: () => string, signal: AbortSignal, times = 1): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < times && !signal.aborted; n += 1) yield Buffer.from(say());
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
}
