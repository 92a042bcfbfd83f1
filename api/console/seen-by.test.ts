import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { reviewsSeenBy } from './review-events.js';
import { type ConsoleFixture, CONSOLE_HOST, openConsole } from '../../test/support/console-over-hil.js';
import { eventually } from '../../test/support/waiting.js';
import { wordsIn } from '../../test/support/html.js';

/** Account numbers and the number of a card. */
const PAYS = ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432', '4111 1111 1111 1111'];

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole();
});
afterEach(() => fixture.close());

describe('the arguments of a call under review', () => {
  it.each([
    ['viewer', false],
    ['approver', true],
    ['admin', true],
  ] as const)('are shown to a %s with secrets: %s', async (role, isWhole) => {
    const { id } = await fixture.hil.park(1, {
      request_payload: {
        params: {
          name: 'create_user',
          arguments: { user: 'ann', password: 'hunter2-hunter2', mail: 'ann@acme.example', pays: PAYS },
        },
      },
    });
    const browser = await fixture.browser({ role });
    for (const path of [`/hil/${id}`, `/hil/${id}?part=detail`, '/hil']) {
      const { text } = await browser.get(path);
      expect([path, text.includes('create_user')]).toEqual([path, true]);
      for (const secret of ['hunter2-hunter2', 'ann@acme.example', ...PAYS])
        expect([path, secret, text.includes(secret)]).toEqual([path, secret, isWhole]);
    }
  });

  it.each([
    ['viewer', false],
    ['approver', true],
  ] as const)('are so for the command line of a %s too', async (role, isWhole) => {
    const { id, correlation_id } = await fixture.hil.park(1, {
      request_payload: { params: { name: 'create_user', arguments: { password: 'hunter2-hunter2' } } },
    });
    const token = await fixture.token({ role });
    for (const path of [`/pending/${id}`, `/pending/by-correlation/${correlation_id}`]) {
      const { status, text } = await fixture
        .stranger()
        .get(`/command-line/hil${path}`, { authorization: `Bearer ${token}` });
      expect([path, status, text.includes('create_user')]).toEqual([path, 200, true]);
      expect([path, text.includes('hunter2-hunter2')]).toEqual([path, isWhole]);
    }
  });
});

describe('what was made of the arguments of a call under review', () => {
  const SECRETS = { password: 'blue-horse-one', pin: 4711, notes: { secret: 'walnut' } };
  const park = async (n: number, given: object) => {
    const call = { name: 'send_payment', arguments: given };
    const over = {
      request_payload: { params: call },
      sandbox_report: (await loadAnalyzer())('tools/call', call as never),
    };
    return fixture.hil.park(n, over as never);
  };
  const told = async (id: string, role: 'viewer' | 'approver') => {
    const page = await (await fixture.browser({ role })).get(`/hil/${id}`);
    const authorization = `Bearer ${await fixture.token({ role })}`;
    const line = await fixture.stranger().get(`/command-line/hil/pending/${id}`, { authorization });
    return [page.text, line.text];
  };

  it.each([
    [
      'a name that says it is a secret, for whom it is',
      { recipient: { token: 'tango-seven' }, amount: 5 },
      'tango-seven',
    ],
    ['a name outside', { password: { payee: 'walnut-nine' } }, 'walnut-nine'],
    [
      'a card in a text that the prediction cuts',
      { payee: `${'A'.repeat(101)} 4111 1111 1111 1111`, amount: 7 },
      '4111 1111 1111',
    ],
  ])('is told to a viewer without what is masked among them: %s', async (_case, given, secret) => {
    const { id } = await park(1, given);
    for (const text of await told(id, 'approver')) expect(text).toContain(secret);
    for (const text of await told(id, 'viewer')) {
      expect(text).not.toContain(secret);
      expect(text).toContain('risky');
    }
    expect((await told(id, 'viewer'))[0]).toContain('is shown to who may decide');
  });

  it('is told whole to a viewer where nothing is masked', async () => {
    const { id } = await park(1, { payee: 'vendor', amount: 7 });
    for (const text of await told(id, 'viewer'))
      expect(wordsIn(text).replaceAll('`', '')).toContain('move 7 to vendor');
  });

  it('says to a viewer where a call differs from the one before, and no value', async () => {
    await park(1, { ...SECRETS, 'ann@acme.example': 1, amount: 2 });
    const { id } = await park(2, { password: 'red-horse-two', pin: 4712, notes: { secret: 'pecan' }, amount: 3 });
    const [approvers = ''] = await told(id, 'approver');
    expect(approvers).toContain('changed /password: &quot;blue-horse-one&quot; -> &quot;red-horse-two&quot;');
    for (const text of await told(id, 'viewer')) {
      for (const secret of ['blue-horse-one', 'red-horse-two', '4711', '4712', 'walnut', 'pecan', 'ann@acme.example'])
        expect([secret, text.includes(secret)]).toEqual([secret, false]);
      for (const place of ['/password', '/notes/secret', '/amount', '/[EMAIL]']) expect(text).toContain(place);
    }
  });

  it('has no name that is masked among them', async () => {
    const given = { 'ann.doe@mail.example.org': 'a', '078-05-1120': { inner: 1 } };
    const call = { name: 'wire_transfer_ann.doe@mail.example.org', arguments: given };
    const { id } = await fixture.hil.park(1, { request_payload: { params: call } });
    const authorization = `Bearer ${await fixture.token({ role: 'viewer' })}`;
    const list = await fixture.stranger().get('/command-line/hil/pending/summaries', { authorization });
    for (const text of [...(await told(id, 'viewer')), list.text])
      for (const secret of ['ann.doe@', '078-05-1120'])
        expect([secret, text.includes(secret)]).toEqual([secret, false]);
  });

  it('is not masked where that would take others their time: it is not shown', async () => {
    const { id } = await park(1, { payee: 'vendor', memo: `${'a.'.repeat(9_000)}@`, name: 'small-thing' });
    for (const text of await told(id, 'viewer')) {
      expect(text).toContain('[MASKED: too large to be masked here]');
      expect(text).toContain('send_payment');
      expect(text).not.toContain('small-thing');
    }
  });
});

describe('what a list says of a call under review', () => {
  const TO = 'ann@acme.example';
  const REASON = `Review: ${TO} is paid for the first time.`;
  const park = async (n: number) => {
    const call = { name: 'wire_transfer', arguments: { from: 'operating', to: TO, amount: 25 } };
    return fixture.hil.park(n, {
      request_payload: { params: call },
      sandbox_report: (await loadAnalyzer())('tools/call', call),
      risk_summary: REASON,
      review_reasons: [REASON],
    });
  };
  const ROLES = [
    ['viewer', false],
    ['approver', true],
  ] as const;

  it.each(ROLES)('is told to a %s with secrets: %s', async (role, isWhole) => {
    const { id } = await park(1);
    const browser = await fixture.browser({ role });
    for (const path of ['/hil', '/hil?part=rows', `/hil?q=${id}`]) {
      const { text } = await browser.get(path);
      expect([path, text.includes('is paid'), text.includes('move 25 to'), text.includes(TO)]).toEqual([
        path,
        true,
        isWhole,
        isWhole,
      ]);
    }
    const token = await fixture.token({ role });
    const { text } = await fixture
      .stranger()
      .get('/command-line/hil/pending/summaries', { authorization: `Bearer ${token}` });
    expect([text.includes('is paid'), text.includes('move 25 to'), text.includes(TO)]).toEqual([
      true,
      isWhole,
      isWhole,
    ]);
  });

  it.each(ROLES)('is found by a %s with what is masked: %s', async (role, isWhole) => {
    const { id } = await park(1);
    const browser = await fixture.browser({ role });
    const authorization = `Bearer ${await fixture.token({ role })}`;
    const found = async (q: string) => {
      const asked = `?q=${encodeURIComponent(q)}`;
      const [page, short] = await Promise.all([
        browser.get(`/hil${asked}`),
        fixture.stranger().get(`/command-line/hil/pending/summaries${asked}`, { authorization }),
      ]);
      return [page, short].map(({ text }) => text.includes(id));
    };
    for (const guess of [TO, 'ANN@', '@acme']) expect([guess, await found(guess)]).toEqual([guess, [isWhole, isWhole]]);
    for (const shown of ['wire_', 'for the first time', id.slice(0, 8)])
      expect([shown, await found(shown)]).toEqual([shown, [true, true]]);
  });

  it('tells a viewer by no cursor, and by nothing else of a page, whether somebody guessed right', async () => {
    for (const n of [1, 2, 3]) await park(n);
    const authorization = `Bearer ${await fixture.token({ role: 'viewer' })}`;
    const page = async (q: string) =>
      (await fixture.stranger().get(`/command-line/hil/pending/summaries?limit=1&q=${q}`, { authorization })).text;
    expect(await page(encodeURIComponent(TO))).toBe(await page('bob%40elsewhere'));
    expect(JSON.parse(await page('wire_'))).toMatchObject({ items: [{}], next_cursor: expect.any(String) });
  });

  it.each(ROLES)('is told to a %s by both streams with secrets: %s', async (role, isWhole) => {
    const at = await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    const { cookie } = await fixture.browser({ role });
    const token = await fixture.token({ role });
    const ended = new AbortController();
    const read = async (path: string, headers: Record<string, string>) => {
      const answer = await fetch(at + path, { headers: { host: CONSOLE_HOST, ...headers }, signal: ended.signal });
      const told = { text: '' };
      void (async () => {
        for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>)
          told.text += Buffer.from(part).toString();
      })().catch(() => undefined);
      return told;
    };
    const streams = await Promise.all([
      read('/stream/hil', { cookie: `gate_console_session=${cookie}` }),
      read('/command-line/hil/pending/stream', { authorization: `Bearer ${token}` }),
    ]);
    const { id } = await park(1);
    for (const told of streams) {
      await eventually('the call is told', () => told.text.includes(id) && told.text.endsWith('\n\n'));
      expect(['is paid', 'move 25 to', TO].map((text) => told.text.includes(text))).toEqual([true, isWhole, isWhole]);
    }
    ended.abort();
  });

  it('says that its connection carries something, and whether all is stopped, to a page, which hears no comments, and to nobody else', async () => {
    const at = await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    fixture.streamed = () => {
      const body = async function* () {
        yield Buffer.from(': keep-alive\n\n');
      };
      return Promise.resolve({ status: 200, body: body() });
    };
    const read = async (path: string, headers: Record<string, string>) =>
      (await fetch(at + path, { headers: { host: CONSOLE_HOST, ...headers } })).text();
    const { cookie } = await fixture.browser();
    const page = { cookie: `gate_console_session=${cookie}` };
    for (const path of ['/stream/hil', '/stream/audit'])
      expect([path, await read(path, page)]).toEqual([
        path,
        ': keep-alive\n\nevent: alive\ndata: {"stopped":false}\n\n',
      ]);
    const line = { authorization: `Bearer ${await fixture.token()}` };
    expect(await read('/command-line/hil/pending/stream', line)).toBe(': keep-alive\n\n');
  });

  it('is masked however the stream comes in pieces, and all of it comes', async () => {
    const event = `id: 7\nevent: created\ndata: ${JSON.stringify({ type: 'created', pending: { id: 'é', risk_summary: 'x', predicted: `to ${TO}` } })}\n\n`;
    const reset = 'id: 8\nevent: reset\ndata: {}\n\n: keep-alive\n\n';
    const bytes = Buffer.from(event + reset);
    for (const size of [1, 7, bytes.length]) {
      async function* pieces() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      }
      const told: Uint8Array[] = [];
      for await (const part of reviewsSeenBy('viewer', pieces())) told.push(part);
      expect(Buffer.concat(told).toString()).toBe(event.replace(`"to ${TO}"`, 'null') + reset);
    }
  });

  it.each([
    ['one line', 'x'.repeat(65_536)],
    ['many lines', `:${'x'.repeat(65_534)}\n`],
  ])('is ended where an event of %s goes on and on, before it fills the memory', async (_case, piece) => {
    let sent = 0;
    async function* endless() {
      for (; sent < 1_000; sent += 1) yield Buffer.from(piece);
    }
    const read = async () => {
      for await (const _part of reviewsSeenBy('viewer', endless())) throw new Error('no event was whole');
    };
    await expect(read()).rejects.toThrow('has more than 4194304 bytes');
    expect(sent).toBe(64);
  });
});
