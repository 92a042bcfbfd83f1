import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { PendingRequest, PendingSummary } from '../../../contracts/review.js';
import { vouchingText } from '../../../domain/review/vouching.js';
import { type HilFixture, openHil, OPERATOR, OTHER_OPERATOR } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';
import { eventually } from '../../../test/support/waiting.js';
import { openReviewStore } from '../../../test/support/whole-reviews.js';

interface Event {
  readonly event: string;
  readonly id: number;
  readonly data: { readonly type?: string; readonly pending?: PendingSummary; readonly at?: string };
}
/** What a test is after: which call, and what happened to it. */
const short = ({ event, data }: Event) => [event, Number(data.pending?.correlation_id.slice(-12))];

describe.each(STORES)('GET /pending/stream on %s', (kind) => {
  let hil: HilFixture;
  let port: number;
  const open: IncomingMessage[] = [];
  const listen = async (fixture: HilFixture): Promise<number> =>
    (await fixture.service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 })).port;
  beforeEach(async () => {
    hil = await openHil(kind);
    port = await listen(hil);
  }, 60_000);
  afterEach(async () => {
    for (const response of open.splice(0)) response.destroy();
    await hil.close();
  });

  async function connect(headers: Record<string, string> = {}, path = '/pending/stream'): Promise<IncomingMessage> {
    const request = httpGet({
      host: '127.0.0.1',
      port,
      path,
      headers: { 'x-test-caller': 'console', 'x-gate-tenant-scope': 'acme', ...headers },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => {
      // The test, or the service, closed the connection.
    });
    open.push(response);
    return response;
  }

  /** What a client of the event stream has: its events, and the number of the last one it knows of. */
  function client(response: IncomingMessage) {
    const events: Event[] = [];
    const known = { id: 0, ended: false };
    const reading = (async () => {
      let text = '';
      for await (const chunk of response) {
        text += String(chunk);
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const field = (name: string) => new RegExp(`^${name}: ([^\n]*)$`, 'm').exec(block)?.[1];
          const [event, id, data] = [field('event'), field('id'), field('data')];
          if (id !== undefined) known.id = Number(id);
          if (event !== undefined)
            events.push({ event, id: Number(id), data: JSON.parse(data ?? '') as Event['data'] });
        }
      }
      known.ended = true;
    })();
    reading.catch(() => undefined);
    return {
      known,
      events,
      /** Resolves with the events once there are so many. */
      first: (count: number) => eventually(`${count} events`, () => events.length >= count && events.slice(0, count)),
      opened: () => eventually('the number of the stream', () => known.id > 0),
      leave: () => response.destroy(),
    };
  }
  const follow = async (headers: Record<string, string> = {}) => {
    const following = client(await connect(headers));
    await following.opened();
    return following;
  };
  const refused = async (headers: Record<string, string>, path?: string) => {
    const response = await connect(headers, path);
    let text = '';
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode, body: JSON.parse(text) as unknown };
  };

  it('tells of a row that is created, changed, decided or expired, as a list shows it', async () => {
    const response = await connect();
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const following = client(response);
    await following.opened();
    const row = await hil.park(1);
    const [created] = await following.first(1);
    const listed = (await hil.ask('/pending/summaries')).body['items'] as PendingSummary[];
    expect(created).toMatchObject({ event: 'created', data: { type: 'created', pending: listed[0] } });
    expect(Date.parse(created?.data.at ?? '')).toBeGreaterThan(0);
    await hil.reviews.note(row.id, 'acme', () => ({ assigned_to: 'ada' }));
    await following.first(2);
    await hil.settle(row, { status: 'denied' });
    await following.first(3);
    const late = await hil.park(2);
    await following.first(4);
    await hil.settle(late, { status: 'expired', by: 'system:ttl-sweep' });
    await following.first(5);
    await hil.reviews.note(late.id, 'acme', () => ({ incident_summary: 'nobody was there' }));
    await following.first(6);
    const gone = await hil.park(3);
    await following.first(7);
    await hil.reviews.withdraw(gone.correlation_id);
    await following.first(8);
    const closed = await hil.park(4);
    await following.first(9);
    await hil.settle(closed, { status: 'aborted', by: 'system:reconciliation' });
    await following.first(10);
    const takenBack = await hil.park(5);
    await following.first(11);
    await hil.settle(takenBack, { status: 'denied', by: 'system:withdrawn-by-agent' });
    const all = await following.first(12);
    expect(all.map(short)).toEqual([
      ['created', 1],
      ['updated', 1],
      ['decided', 1],
      ['created', 2],
      ['expired', 2],
      ['updated', 2],
      ['created', 3],
      ['withdrawn', 3],
      ['created', 4],
      ['aborted', 4],
      ['created', 5],
      ['withdrawn', 5],
    ]);
    expect(all[11]?.data.pending).toMatchObject({ status: 'withdrawn' });
    expect(all[1]?.data.pending).toMatchObject({ assigned_to: 'ada', status: 'pending' });
    expect(all[2]?.data.pending).toMatchObject({ status: 'denied', decided_by: 'operator:dev' });
    expect(all.map(({ id }) => id)).toEqual(all.map((_, index) => (all[0]?.id ?? 0) + index));
  }, 60_000);

  it('holds nothing of a payload', async () => {
    const response = await connect();
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await eventually('the stream', () => text.includes('retry: 3000'));
    await hil.park(1);
    await eventually('the event', () => text.includes('event: created'));
    expect(text).not.toContain('SECRET');
  });

  it('tells what another process changed', async () => {
    const following = await follow();
    const other = await openReviewStore({
      target: hil.place.target,
      payloadKeys: hil.place.keys,
      clock: () => hil.now,
    });
    try {
      const { row } = await other.createOnce({
        agent_id: 'bot',
        correlation_id: '00000000-0000-4000-8000-000000000007',
        method: 'tools/call',
        request_payload: {},
        risk_summary: 'money',
        state_namespace: 'operator',
        ttl_seconds: 600,
        review_reasons: [],
        tenant: 'acme',
      });
      expect((await following.first(1)).map(short)).toEqual([['created', 7]]);
      await hil.reviews.note(row.id, 'acme', () => ({ assigned_to: 'ada' }));
      expect((await following.first(2)).map(short)[1]).toEqual(['updated', 7]);
    } finally {
      await other.close();
    }
  });

  it('tells a row that Gate did not write as that, once it was seen', async () => {
    const row = await hil.park(1);
    const following = await follow();
    await hil.place.sql(`update reviews set risk_summary = 'harmless' returning id`);
    await expect(hil.reviews.get(row.id)).rejects.toMatchObject({ code: 'review_tampered' });
    const [event] = await following.first(1);
    expect(event).toMatchObject({
      event: 'updated',
      data: { pending: { id: row.id, status: 'tampered', agent_id: 'unknown' } },
    });
  });

  it('goes on behind Last-Event-ID: over any number of broken connections nothing is missed, and nothing comes twice', async () => {
    const first = await follow();
    first.leave();
    const writing = (async () => {
      for (let n = 1; n <= 60; n += 1) await hil.park(n);
    })();
    const seen: number[] = [];
    let last = first.known.id;
    while (seen.length < 60) {
      const following = await follow({ 'last-event-id': String(last) });
      await following.first(1);
      following.leave();
      seen.push(...following.events.map((event) => Number(short(event)[1])));
      last = following.known.id;
    }
    await writing;
    expect(seen).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  }, 60_000);

  it('what happened while nobody followed is told to who comes back', async () => {
    const before = await follow();
    before.leave();
    const row = await hil.park(1);
    await hil.settle(row);
    await hil.park(2);
    const after = await follow({ 'last-event-id': String(before.known.id) });
    // Changes of one row between two looks are one event.
    expect((await after.first(2)).map(short)).toEqual([
      ['decided', 1],
      ['created', 2],
    ]);
  });

  it.each([
    ['is older than what is kept', (id: number) => id - 1],
    ['was never given', (id: number) => id + 1],
    ['is of another life of the process', () => 1],
  ])('a number that %s is answered with reset, and the stream goes on from there', async (_what, other) => {
    const { known, leave } = await follow();
    leave();
    const following = await follow({ 'last-event-id': String(other(known.id)) });
    const [reset] = await following.first(1);
    expect(reset).toEqual({ event: 'reset', id: known.id, data: {} });
    await hil.park(1);
    expect((await following.first(2)).map(short)[1]).toEqual(['created', 1]);
  });

  it('the next life of the process begins behind the numbers of this one', async () => {
    const before = await follow();
    await hil.park(1);
    await before.first(1);
    await hil.service.close();
    const next = await openHil(kind, { reviews: hil.reviews });
    port = await listen(next);
    try {
      const after = await follow({ 'last-event-id': String(before.known.id) });
      const [reset] = await after.first(1);
      expect(reset?.event).toBe('reset');
      expect(reset?.id).toBeGreaterThan(before.known.id);
    } finally {
      for (const response of open.splice(0)) response.destroy();
      await next.service.close();
      await next.place.remove();
    }
  });

  it('tells each tenant of its own rows only', async () => {
    const [acme, globex, proxy, simulator] = [
      await follow(),
      await follow({ 'x-gate-tenant-scope': 'globex' }),
      await follow({ 'x-test-caller': 'proxy' }),
      client(await simulated()),
    ];
    await simulator.opened();
    await hil.park(1, { tenant: 'globex' });
    await hil.park(2);
    for (const following of [acme, proxy, simulator])
      expect((await following.first(1)).map(short)).toEqual([['created', 2]]);
    expect((await globex.first(1)).map(short)).toEqual([['created', 1]]);
    const again = await follow({ 'last-event-id': String(acme.events[0]?.id ?? 0), 'x-gate-tenant-scope': 'globex' });
    await hil.park(3, { tenant: 'globex' });
    expect((await again.first(1)).map(short)).toEqual([['created', 3]]);
  });
  /** The simulator has one fixed tenant and names none. */
  async function simulated(): Promise<IncomingMessage> {
    const request = httpGet({
      host: '127.0.0.1',
      port,
      path: '/pending/stream',
      headers: { 'x-test-caller': 'simulator' },
    });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    open.push(response);
    return response;
  }

  if (kind === 'postgres')
    it('misses no change whose transaction ends after a later one', async () => {
      const slow = await hil.park(1);
      const following = await follow();
      const { url, schema } = hil.place.target as { url: string; schema: string };
      const other = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
      await other.connect();
      try {
        await other.query('begin');
        await other.query(
          `update reviews set version = version + 1, change_seq = case when pg_current_xact_id() is not null then nextval('review_changes') end where id = $1`,
          [slow.id],
        );
        for (let n = 2; n <= 4; n += 1) {
          await hil.park(n);
          await following.first(n - 1);
        }
        await other.query('commit');
      } finally {
        await other.end();
      }
      const events = await following.first(4);
      expect(events.slice(0, 3).map(short)).toEqual([
        ['created', 2],
        ['created', 3],
        ['created', 4],
      ]);
      expect(events[3]).toMatchObject({ event: 'updated', data: { pending: { id: slow.id } } });
    });

  it('ends when the service closes, though its readers do not', async () => {
    const [following, silent] = [await follow(), await connect()];
    silent.pause();
    await hil.service.close();
    await eventually('the end', () => following.known.ended);
  }, 30_000);

  it('ends the connection of a reader that does not read once too much waits for it, and another reader has everything', async () => {
    const connected = once(hil.service.app.server, 'connection') as Promise<[Socket]>;
    const silent = await connect();
    silent.pause();
    const [socket] = await connected;
    const following = await follow();
    // Long, so that what the connection itself holds is soon full.
    const rows: PendingRequest[] = [];
    for (let n = 1; n <= 64; n += 1) rows.push(await hil.park(n, { risk_summary: 'x'.repeat(65_536) }));
    const numbers = rows.map((_, index) => index + 1);
    const told: (readonly [string, number])[] = numbers.map((n) => ['created', n]);
    await following.first(told.length);
    for (let round = 1; !socket.destroyed; round += 1) {
      for (const { id } of rows) await hil.reviews.note(id, 'acme', () => ({ assigned_to: `ada ${round}` }));
      told.push(...numbers.map((n) => ['updated', n] as const));
      await following.first(told.length);
    }
    expect(told.length).toBeGreaterThan(256);
    expect(following.events.map(short)).toEqual(told);
    expect(following.events.map(({ id }) => id)).toEqual(
      told.map((_, index) => (following.events[0]?.id ?? 0) + index),
    );
    const end = new Promise((resolve) => silent.once('close', resolve));
    silent.resume();
    await end;
    expect(silent.complete).toBe(false);
    await hil.park(65);
    expect((await following.first(told.length + 1)).map(short).at(-1)).toEqual(['created', 65]);
  }, 120_000);

  it('keeps operators from taking all places of their tenant, and a tenant from those of other tenants', async () => {
    const tokens = Array.from({ length: 5 }, (_, n) => `op${n}-token-0123456789abcdefghijklmnop`);
    const operators = tokens.map((token, n) => ({ name: `op${n}`, tenant: 'acme', token }));
    await hil.serve({ operators: [...operators, { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR }] });
    port = await listen(hil);
    const as = (token = '') => ({ authorization: `Bearer ${token}` });
    const full = async (token: string | undefined, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => connect(as(token))));
      expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
      return answers;
    };
    const [one] = await full(tokens[0], 16);
    let said = '';
    one?.on('data', (part: Buffer) => (said += part.toString()));
    for (const token of tokens.slice(1, 4)) await full(token, 16);
    // Who has most of them gives way to who has fewer, and is told.
    await full(tokens[4], 1);
    await eventually('the oldest is told when to come again', () => said.endsWith('retry: 30000\n\n'));
    expect((await connect({ ...as(OTHER_OPERATOR), 'x-gate-tenant-scope': 'globex' })).statusCode).toBe(200);
  }, 60_000);

  it('ends the oldest stream of an operator for a newer one of his, whether anybody reads it or not', async () => {
    const own = { authorization: `Bearer ${OPERATOR}` };
    const first = await connect(own);
    let said = '';
    first.on('data', (part: Buffer) => (said += part.toString()));
    const unread = await connect(own);
    unread.pause();
    const others = [];
    for (let n = 0; n < 14; n += 1) others.push(client(await connect(own)));
    for (let n = 0; n < 2; n += 1) expect((await connect(own)).statusCode).toBe(200);
    await eventually('the oldest is told when to come again', () => said.endsWith('retry: 30000\n\n'));
    await eventually('it has ended', () => first.readableEnded);
    const row = await hil.park(1);
    for (const other of others) expect(await other.first(1)).toMatchObject([{ data: { pending: { id: row.id } } }]);
  }, 30_000);

  it('ends the oldest stream of a viewer whom the console vouches for, and takes no place of another one', async () => {
    const decideToken = 'decide-token-0123456789abcdefghijklmnop';
    await hil.serve({ decideToken, operators: [] });
    port = await listen(hil);
    const as = (name: string) => ({
      authorization: `Bearer ${decideToken}`,
      'x-gate-decision-principal': vouchingText({
        subject: `oidc:${name}`,
        tenant: 'acme',
        method: 'oidc',
        role: 'viewer',
        since_ms: 0,
        until_ms: null,
      }),
    });
    const first = await connect(as('ada'));
    first.resume();
    const others = [];
    // Three of them have more than a service that names nobody.
    for (const [name, count] of [
      ['ada', 16],
      ['bob', 16],
      ['eve', 16],
    ] as const)
      for (let n = 0; n < count; n += 1) others.push(await connect(as(name)));
    expect(new Set(others.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
    await eventually('the oldest has ended', () => first.readableEnded);
    expect(others.filter(({ complete }) => complete)).toEqual([]);
    expect((await connect()).statusCode).toBe(200);
  }, 30_000);

  it('leaves operators a place where a service without a token has taken all of its own', async () => {
    for (let n = 0; n < 32; n += 1) expect((await connect()).statusCode).toBe(200);
    expect(await refused({})).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    expect((await connect({ authorization: `Bearer ${OPERATOR}` })).statusCode).toBe(200);
  }, 30_000);

  it('is 503 when the store is gone, and ends for who follows', async () => {
    const following = await follow();
    await hil.reviews.close();
    await eventually('the end', async () => following.known.ended || (await connect()).destroyed);
    expect((await refused({})).status).toBe(503);
    await hil.service.close();
    hil.close = () => hil.place.remove();
  }, 30_000);

  it.each([
    [{ 'last-event-id': 'x' }, 400, 'invalid_request'],
    [{ 'last-event-id': '-1' }, 400, 'invalid_request'],
    [{ 'x-test-caller': 'brain' }, 403, 'capability_denied'],
    [{ 'x-test-caller': 'simulator' }, 400, 'invalid_request'],
    [{ authorization: 'Bearer wrong' }, 401, 'unauthenticated'],
    [{ 'x-gate-tenant-scope': 'a b' }, 400, 'invalid_request'],
  ])('refuses %j with %d', async (headers, status, error) => {
    expect(await refused(headers as Record<string, string>)).toMatchObject({ status, body: { error } });
  });

  it('refuses a query', async () => {
    expect(await refused({}, '/pending/stream?tenant=globex')).toMatchObject({ status: 400 });
  });
});
