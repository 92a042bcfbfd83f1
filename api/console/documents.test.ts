import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CONSOLE_HOST, CONSOLE_ORIGIN, type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { eventually } from '../../test/support/waiting.js';
import { ASK_LIMITS } from './ask-limits.js';

let fixture: ConsoleFixture;
let port: number;
beforeEach(async () => {
  fixture = await openConsole(undefined, { limits: { ...ASK_LIMITS, drainMs: 1_000 } });
  ({ port } = await fixture.service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
});
afterEach(() => fixture.close());

/** Somebody who looks for rules in what people decided, and what came of that page. */
async function mining() {
  const browser = await fixture.browser();
  const page = { cookie: browser.cookie, said: '', isWhole: false, isCut: false };
  const csrf = await browser.csrf();
  const headers = {
    host: CONSOLE_HOST,
    origin: CONSOLE_ORIGIN,
    accept: 'text/html',
    'content-type': 'application/x-www-form-urlencoded',
    cookie: `gate_console_session=${browser.cookie}`,
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const to = { host: '127.0.0.1', port, path: '/policies/suggestions/mine', method: 'POST', headers, agent: false };
    request(to, resolve).on('error', reject).end(new URLSearchParams({ csrf }).toString());
  });
  answer.on('end', () => (page.isWhole = true)).on('close', () => (page.isCut = !page.isWhole));
  answer.on('error', () => undefined);
  return { page, answer };
}

/** An engine that says so many lines, as long as somebody asks. */
const saying = (line: object, times: number): AbortSignal[] => {
  const asked: AbortSignal[] = [];
  fixture.streamed = (signal) => {
    asked.push(signal);
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < times && !signal.aborted; at += 1) yield Buffer.from(`${JSON.stringify(line)}\n`);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    return Promise.resolve({ status: 200, body: body() });
  };
  return asked;
};

describe('a page whose end is still being found out', () => {
  it('ends, and says so, where its person is signed out', async () => {
    saying({ progress: { decisions: 17, at: '2026-11-25T12:00:00.000Z' } }, 1);
    const { page, answer } = await mining();
    answer.on('data', (part: Buffer) => (page.said += part.toString()));
    await eventually('the page tells how far it is', () => page.said.includes('17 '));
    expect(page.said).not.toContain('you are not signed in any more');
    await fixture.sessions.end((await fixture.sessions.of(page.cookie))?.id ?? '');
    await eventually('the page ends', () => page.isWhole);
    expect(page.said).toContain('you are not signed in any more, or your role was taken away');
    expect(page.said.endsWith('</html>')).toBe(true);
  });

  it('goes on where its person is signed in, and ends at the engine where he leaves', async () => {
    const asked = saying({ progress: { decisions: 17, at: '2026-11-25T12:00:00.000Z' } }, 1);
    const { page, answer } = await mining();
    answer.on('data', (part: Buffer) => (page.said += part.toString()));
    await eventually('the page tells how far it is', () => page.said.includes('17 '));
    answer.destroy();
    await eventually('the engine is not asked any more', () => asked[0]?.aborted === true);
  });

  it('is cut where its reader takes nothing', async () => {
    const asked = saying({ progress: { decisions: 17, at: '2026-11-25T12:00:00.000Z' } }, Infinity);
    const { page, answer } = await mining();
    answer.pause();
    await eventually('the engine is not asked any more', () => asked[0]?.aborted === true);
    answer.resume();
    await eventually('the page is cut', () => page.isCut);
  });
});
