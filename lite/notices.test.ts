import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { Registry } from 'prom-client';
import type { PendingRequest } from '../contracts/review.js';
import { liteMetrics } from './metrics.js';
import { createNotices, plain } from './notices.js';
import { eventually } from '../test/support/waiting.js';

describe('text of an agent in a chat', () => {
  it.each([
    ['a `code` mark', "a 'code' mark"],
    ['two\nlines\r\nand\u2028three', 'two\\nlines\\u{d}\\nand\\u{2028}three'],
    ['wire https://evil.example/approve now', 'wire https[:]//evil.example/approve now'],
    ['@here look', '＠here look'],
    ['<!channel> <https://evil.example|click>', '&lt;!channel&gt; &lt;https[:]//evil.example|click&gt;'],
    ['a & b', 'a &amp; b'],
    ['right\u202eto left', 'right\\u{202e}to left'],
    ['*bold* _italic_ ~struck~', "'bold' 'italic' 'struck'"],
    ['x'.repeat(400), `${'x'.repeat(300)}…`],
  ])('%j is one line without a mark', (text, shown) => {
    expect(plain(text)).toBe(shown);
  });
});

describe('notices under way', () => {
  it('is 32 at most; what is more is dropped and counted', async () => {
    let received = 0;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const server = createServer((_request, response) => {
      received += 1;
      void held.then(() => response.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const registry = new Registry();
    const notices = createNotices({
      webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      slackWebhookUrl: undefined,
      logger: pino({ level: 'silent' }),
      noticed: liteMetrics(registry).noticed,
      endpoint: () => 'http://127.0.0.1:8088',
      now: () => 0,
    });
    const row = { status: 'approved', request_payload: { params: { name: 'x' } } } as unknown as PendingRequest;
    for (let index = 0; index < 40; index += 1) notices.decided(row, 'enforce');
    await eventually('as many as are sent at once', () => received >= 32);
    release();
    await notices.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const text = await registry.metrics();
    expect(text).toContain('gate_lite_notification_total{kind="webhook",outcome="dropped"} 8');
    expect(received).toBe(32);
  });
});
