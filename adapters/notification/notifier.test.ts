import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { type Delivery, lifecycleEvent, type LifecycleEvent } from '../../contracts/notification.js';
import {
  MODIFICATION_CONTRACT,
  type Modification,
  type NewReview,
  type PendingRequest,
} from '../../contracts/review.js';
import { createNotifier, type Notifier, type NotifierOptions } from '../../domain/notification/notifier.js';
import { createStandingApprovals } from '../../domain/review/standing-approvals.js';
import { placesOf } from '../../domain/notification/lines.js';
import { GateError } from '../../domain/errors.js';
import type { Channel, NoticeStore } from '../../domain/notification/ports.js';
import { type HilFixture, openHil, OPERATOR } from '../../test/support/hil.js';
import { STORES } from '../../test/support/ledger.js';
import { eventually, timePasses } from '../../test/support/waiting.js';
import { channelsOf, type ChannelSettings } from './channels.js';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}
/** A status, a body, or no answer at all. */
type Answer =
  | number
  | Record<string, unknown>
  | 'hangs'
  | 'endless'
  | 'drips'
  | { readonly status: number; readonly retryAfter: string };

/** A receiver over real HTTP, which answers as it is told; then 200. */
async function openReceiver() {
  const received: Received[] = [];
  const answers: Answer[] = [];
  /** Of answers that do not end: how much of them was sent, and how many connections the other side closed. */
  const sent = { bytes: 0, closed: 0 };
  /** How it answers where it is told nothing. */
  const otherwise: { answer(body: Record<string, unknown>): Answer } = { answer: () => 200 };
  const server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      received.push({ path: request.url ?? '', headers: request.headers, text, body });
      const answer = answers.shift() ?? otherwise.answer(body);
      if (answer === 'hangs') return;
      if (answer === 'endless' || answer === 'drips') {
        response.writeHead(200);
        const piece = answer === 'drips' ? '.' : '.'.repeat(16_384);
        const more = (): void => {
          while (!response.destroyed && response.write(piece) && answer === 'endless') sent.bytes += piece.length;
        };
        const timer = setInterval(more, 20);
        response.on('drain', more).on('close', () => {
          clearInterval(timer);
          sent.closed += 1;
        });
        return more();
      }
      if (typeof answer === 'number') return void response.writeHead(answer).end('{}');
      if ('retryAfter' in answer)
        return void response.writeHead(Number(answer['status']), { 'retry-after': String(answer.retryAfter) }).end();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    received,
    answers,
    otherwise,
    sent,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?key=in-the-address`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

let hil: HilFixture;
let receiver: Awaited<ReturnType<typeof openReceiver>>;
let notifier: Notifier | null = null;
let told: string[];
/** By how much a test put the clock, which is no time that passes. */
let putMs: number;

const parts = {
  timeoutMs: 5_000,
  slackDecides: false,
  teamsDecides: false,
  places: placesOf(undefined, Buffer.alloc(32, 7)),
};
const webhook = (): Channel[] => channelsOf({ ...parts, webhook: { url: receiver.url, bearer: 'b'.repeat(32) } });

const SOON_MS = [10, 20, 30];
/** What an approver made of a call. */
const CHANGED: Modification = {
  diff: { contract: MODIFICATION_CONTRACT, replacements: [{ path: ['to'], value: 'a new payee' }] },
  reviewed_digest: `sha256:${'1'.repeat(64)}`,
};

function start(
  channels: readonly Channel[] = webhook(),
  over: Partial<NotifierOptions> = { backOffMs: SOON_MS },
): Notifier {
  notifier = createNotifier({
    reviews: hil.reviews,
    notices: hil.reviews.notices,
    channels,
    tenants: [],
    clock: () => hil.now,
    passes: () => hil.now - putMs,
    observe: (channel, phase, outcome) => void told.push(`${channel} ${phase} ${outcome}`),
    gaveUp: (channel, id, reason) => void told.push(`${channel} ${id.slice(37)} gave up: ${reason}`),
    failed: (reason) => void told.push(`failed: ${reason}`),
    lookMs: 20,
    ...over,
  });
  notifier.start();
  return notifier;
}
async function stop(): Promise<void> {
  await notifier?.close();
  notifier = null;
}
const events = (): LifecycleEvent[] => receiver.received.map(({ body }) => lifecycleEvent.parse(body));
const deliveries = async ({ id }: PendingRequest): Promise<Delivery[]> =>
  (await hil.ask(`/pending/${id}`)).body['notifications'] as Delivery[];
const states = async (row: PendingRequest) =>
  (await deliveries(row)).map(({ notification_id, channel, state }) => [channel, notification_id.slice(37), state]);
const settledAs = (row: PendingRequest, expected: readonly (readonly string[])[]) =>
  eventually(`the messages ${JSON.stringify(expected)}`, async () => {
    // Attempts wait for a clock that only the test moves.
    hil.now += 20;
    return JSON.stringify(await states(row)) === JSON.stringify(expected);
  });

beforeEach(async () => {
  told = [];
  putMs = 0;
  receiver = await openReceiver();
});
afterEach(async () => {
  await stop();
  await hil.close();
  await receiver.close();
});

describe.each(STORES)('messages of reviews, on %s', (kind) => {
  beforeEach(async () => {
    hil = await openHil(kind);
  }, 60_000);

  it('a row that waits and one that was decided are told, each once, and the row says so', async () => {
    start();
    const row = await hil.park(1);
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await hil.settle(row, { status: 'denied', by: 'operator:ada' });
    await settledAs(row, [
      ['webhook', 'trigger', 'delivered'],
      ['webhook', 'resolve:denied', 'delivered'],
    ]);
    expect(events()).toMatchObject([
      {
        phase: 'trigger',
        status: 'pending',
        notification_id: `${row.id}:trigger`,
        dedup_key: row.id,
        tool: 'wire_transfer',
        headline: 'A call waits for a decision: wire_transfer by payments-agent',
        tenant: 'acme',
        decided_at: null,
      },
      { phase: 'resolve', status: 'denied', headline: 'A call was denied: wire_transfer by payments-agent' },
    ]);
    expect(receiver.received[0]?.headers).toMatchObject({
      'idempotency-key': `${row.id}:trigger`,
      authorization: `Bearer ${'b'.repeat(32)}`,
    });
    expect(receiver.received.map(({ text }) => text).join()).not.toContain('SECRET-VALUE');
  });

  it('tells approved, denied, expired, gone and taken back apart', async () => {
    start();
    const rows = await Promise.all([1, 2, 3, 4, 5].map((n) => hil.park(n)));
    for (const row of rows) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    const [approved, denied, expired, withdrawn, takenBack] = rows as [
      PendingRequest,
      PendingRequest,
      PendingRequest,
      PendingRequest,
      PendingRequest,
    ];
    await hil.settle(approved);
    await hil.settle(denied, { status: 'denied' });
    await hil.settle(expired, { status: 'expired', by: 'system:ttl-sweep' });
    await hil.reviews.withdraw(withdrawn.correlation_id);
    const ends = () => events().filter(({ phase }) => phase === 'resolve');
    await hil.settle(takenBack, { status: 'denied', by: 'system:withdrawn-by-agent' });
    await eventually('five ends', () => ends().length === 5);
    const statusOf = ({ id }: PendingRequest) => ends().find(({ pending_id }) => pending_id === id)?.status;
    expect(rows.map(statusOf)).toEqual(['approved', 'denied', 'expired', 'withdrawn', 'withdrawn']);
    expect(ends().find(({ pending_id }) => pending_id === takenBack.id)).toMatchObject({
      notification_id: `${takenBack.id}:resolve:withdrawn`,
      headline: expect.stringMatching(/^A call was withdrawn: /),
    });
  });

  it('tells that an approver changed the call, and no value of the change', async () => {
    start();
    const [changed, plain] = [await hil.park(1), await hil.park(2)];
    for (const row of [changed, plain]) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await hil.settle(changed, { modification: CHANGED });
    await hil.settle(plain);
    const ends = () => events().filter(({ phase }) => phase === 'resolve');
    await eventually('two ends', () => ends().length === 2);
    const endOf = ({ id }: PendingRequest) => ends().find(({ pending_id }) => pending_id === id);
    expect(endOf(changed)).toMatchObject({
      headline: expect.stringMatching(/^A call was approved with changed arguments: /),
      modified: true,
    });
    expect(endOf(plain)).toMatchObject({ headline: expect.stringMatching(/^A call was approved: /) });
    expect(endOf(plain)).not.toHaveProperty('modified');
    expect(receiver.received.map(({ text }) => text).join()).not.toContain('a new payee');
  });

  it('what was missed while nobody followed is told at the next start, and nothing twice', async () => {
    const [before, decided] = [await hil.park(1), await hil.park(2)];
    await hil.settle(decided);
    start();
    await settledAs(before, [['webhook', 'trigger', 'delivered']]);
    await stop();
    await hil.settle(before);
    start();
    await settledAs(before, [
      ['webhook', 'trigger', 'delivered'],
      ['webhook', 'resolve:approved', 'delivered'],
    ]);
    // Of a row that was decided before anybody was told, nothing is.
    expect(events().map(({ pending_id }) => pending_id)).toEqual([before.id, before.id]);
    expect(await states(decided)).toEqual([]);
  });

  it('one row that fails keeps nobody from being told of the others, and is told when it fails no more', async () => {
    const rows = await Promise.all([1, 2, 3].map((n) => hil.park(n)));
    // Looked at before the others.
    const [bad, ...others] = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)) as [
      PendingRequest,
      PendingRequest,
    ];
    const { notices, feed, reads } = hil.reviews;
    let isBroken = true;
    const unlessBroken = <Result>(id: string, act: () => Promise<Result>): Promise<Result> =>
      isBroken && id === bad.id ? Promise.reject(new GateError('store_unavailable')) : act();
    start(webhook(), {
      reviews: { feed, reads: { ...reads, get: (id, tenant) => unlessBroken(id, () => reads.get(id, tenant)) } },
      notices: { ...notices, of: (id) => unlessBroken(id, () => notices.of(id)) },
    });
    for (const row of others) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await hil.settle(bad);
    const later = await hil.park(4);
    await settledAs(later, [['webhook', 'trigger', 'delivered']]);
    expect(new Set(told.filter((text) => text.startsWith('failed')))).toEqual(
      new Set(['failed: The store of this service cannot be reached.']),
    );
    const waits = await hil.park(5);
    isBroken = false;
    await settledAs(waits, [['webhook', 'trigger', 'delivered']]);
    expect(await deliveries(bad)).toEqual([]);
  });

  it('one row with an invalid number keeps nobody from being told of the others', async () => {
    const bad = await hil.park(1);
    await hil.place.sql(`update reviews set deadline_ms = 9223372036854775807, version = 9223372036854775806`);
    const before = await hil.park(2);
    start();
    await settledAs(before, [['webhook', 'trigger', 'delivered']]);
    await settledAs(await hil.park(3), [['webhook', 'trigger', 'delivered']]);
    expect(await hil.ask(`/pending/${bad.id}`)).toMatchObject({ status: 409, body: { error: 'review_tampered' } });
  });

  it('an attempt that was counted and never ended, as after a crash, is made again', async () => {
    const row = await hil.park(1);
    start([], { byRuleMs: 0 });
    await stop();
    const held: Channel = {
      kind: 'webhook',
      pool: null,
      target: 'webhook',
      takes: () => true,
      send: () => new Promise(() => undefined),
    };
    const dying = createNotifier({
      reviews: hil.reviews,
      notices: hil.reviews.notices,
      channels: [held],
      tenants: [],
      clock: () => hil.now,
      observe: () => undefined,
      gaveUp: () => undefined,
      failed: () => undefined,
    });
    dying.start();
    await eventually('an attempt', async () => (await deliveries(row))[0]?.attempts === 1);
    // It never comes back, like a process that was killed.
    start();
    hil.now += 60_000;
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    expect((await deliveries(row))[0]?.attempts).toBe(2);
  });

  describe('a pool', () => {
    const pool = (name: string) =>
      channelsOf({ ...parts, teams: { webhookUrl: `${receiver.url}&pool=${name}` } }, name);
    const assign = (row: PendingRequest, escalation_pool: string) =>
      hil.reviews.note(row.id, row.tenant, () => ({
        assigned_to: 'ada',
        assigned_by: 'operator:dev',
        escalation_pool,
      }));
    const escalate = (row: PendingRequest) => hil.reviews.escalated(row.id, [new Date(hil.now).toISOString()]);
    const ofPools = () => receiver.received.map(({ path }) => /pool=(\w+)/.exec(path)?.[1]).filter(Boolean);

    it('is told of an escalation and of how it ended, and of nothing before', async () => {
      start([...webhook(), ...pool('payments'), ...pool('platform')]);
      const row = await hil.park(1);
      await assign(row, 'payments');
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await escalate(row);
      const told = [
        ['webhook', 'trigger', 'delivered'],
        ['teams@payments', 'update:escalated', 'delivered'],
        ['webhook', 'update:escalated', 'delivered'],
      ];
      await settledAs(row, told);
      await hil.settle(row);
      await settledAs(row, [
        ...told,
        ['teams@payments', 'resolve:approved', 'delivered'],
        ['webhook', 'resolve:approved', 'delivered'],
      ]);
      expect(ofPools()).toEqual(['payments', 'payments']);
    });

    it('is told of each escalation once, whichever is the row’s by then', async () => {
      start([...webhook(), ...pool('payments'), ...pool('platform')]);
      const row = await hil.park(1);
      await assign(row, 'payments');
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      const times = [hil.now, hil.now + 1, hil.now + 2].map((ms) => new Date(ms).toISOString());
      await hil.reviews.escalated(row.id, times.slice(0, 1));
      const first = [
        ['webhook', 'trigger', 'delivered'],
        ['teams@payments', 'update:escalated', 'delivered'],
        ['webhook', 'update:escalated', 'delivered'],
      ];
      await settledAs(row, first);
      await assign(row, 'platform');
      await hil.reviews.escalated(row.id, times);
      await settledAs(row, [
        ...first,
        ['teams@platform', 'update:escalated-2', 'delivered'],
        ['webhook', 'update:escalated-2', 'delivered'],
        ['teams@platform', 'update:escalated-3', 'delivered'],
        ['webhook', 'update:escalated-3', 'delivered'],
      ]);
      expect(ofPools()).toEqual(['payments', 'platform', 'platform']);
    });

    it('is the default one where the row names none, and nobody where there is no default', async () => {
      start([...webhook(), ...pool('platform')], { backOffMs: SOON_MS, defaultPool: 'platform' });
      const row = await hil.park(1);
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await escalate(row);
      await eventually('the pool', () => ofPools().length === 1);
      await stop();
      start([...webhook(), ...pool('platform')]);
      const other = await hil.park(2);
      await settledAs(other, [['webhook', 'trigger', 'delivered']]);
      await escalate(other);
      await settledAs(other, [
        ['webhook', 'trigger', 'delivered'],
        ['webhook', 'update:escalated', 'delivered'],
      ]);
      expect(ofPools()).toEqual(['platform']);
    });

    it('is told of a row whose time ran out while nobody was told of anything', async () => {
      const row = await hil.park(1);
      await assign(row, 'payments');
      await escalate(row);
      start([...webhook(), ...pool('payments')]);
      await settledAs(row, [
        ['teams@payments', 'trigger', 'delivered'],
        ['webhook', 'trigger', 'delivered'],
      ]);
    });

    it('whose channel hangs holds up no other', async () => {
      const [channel] = pool('payments');
      if (channel === undefined) throw new Error('no channel');
      let answer: (handle: null) => void = () => undefined;
      const hangs = new Promise<null>((resolve) => (answer = resolve));
      start([...webhook(), { ...channel, send: () => hangs }]);
      const row = await hil.park(1);
      await assign(row, 'payments');
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await escalate(row);
      await eventually('the primary channel', async () =>
        (await states(row)).some((state) => state.join() === 'webhook,update:escalated,delivered'),
      );
      answer(null);
    });
  });

  describe('where the receiver takes one message a second', () => {
    let taken: LifecycleEvent[];
    const queued = (count: number) =>
      eventually(`${count} that wait`, async () => (await hil.reviews.notices.counts()).queued === count);
    const parkOf = (agent_id: string, first: number, count: number) =>
      Promise.all(Array.from({ length: count }, (_, n) => hil.park(first + n, { agent_id })));
    const takes = (count: number) =>
      eventually(`${count} that were taken`, async () => {
        if (taken.length >= count) return true;
        // A second passes when what was sent in the one before has its answer.
        const underWay = `select 1 from review_notices where state = 'queued' and attempts > limited`;
        if (told.length === receiver.received.length && (await hil.place.sql(underWay)).length === 0) hil.now += 1_000;
        return false;
      });
    const whoWasTold = () => taken.map(({ agent_id, phase }) => `${agent_id} ${phase}`);
    const escalate = (row: PendingRequest) => hil.reviews.escalated(row.id, [new Date(hil.now).toISOString()]);
    beforeEach(() => {
      taken = [];
      let lastMs = -1;
      receiver.otherwise.answer = (body) => {
        if (hil.now < lastMs + 1_000) return { status: 429, retryAfter: '1' };
        lastMs = hil.now;
        taken.push(lifecycleEvent.parse(body));
        return 200;
      };
    });

    it('the message of one agent is among the first three behind fifty of another', async () => {
      start();
      await parkOf('busy', 1, 50);
      await queued(49);
      hil.now += 1;
      await parkOf('other', 51, 1);
      await queued(50);
      await takes(3);
      expect(whoWasTold()).toContain('other trigger');
    });

    it('agents of two tenants are two, whatever they are called', async () => {
      start();
      await parkOf('busy', 1, 10);
      await queued(9);
      hil.now += 1;
      const row = await hil.park(60, { agent_id: 'busy', tenant: 'globex' });
      await eventually('its message', async () => (await hil.reviews.notices.deliveriesOf(row.id)).length === 1);
      await takes(3);
      expect(taken.map(({ tenant }) => tenant)).toContain('globex');
    });

    it('an escalation waits for one new card, and many of one agent keep no card of another', async () => {
      start();
      const rows = await parkOf('busy', 1, 12);
      await takes(12);
      await queued(0);
      taken = [];
      for (let n = 0; n < 12; n += 1) await parkOf(`agent-${n}`, 20 + 2 * n, 2);
      const written = (count: number) =>
        eventually(`${count} that wait or were taken`, async () => {
          const { queued: waiting } = await hil.reviews.notices.counts();
          return waiting + taken.length === count;
        });
      await written(24);
      hil.now += 1;
      const before = taken.length;
      await escalate(rows[0] as PendingRequest);
      await written(25);
      await takes(before + 3);
      expect(whoWasTold()).toContain('busy update');
      for (const row of rows.slice(1)) await escalate(row);
      await written(36);
      taken = [];
      await takes(9);
      expect(taken.filter(({ phase }) => phase === 'update').length).toBeGreaterThanOrEqual(4);
      // None of the others a second time before each of them had its turn.
      const cards = taken.filter(({ phase }) => phase === 'trigger').map(({ agent_id }) => agent_id);
      expect(cards.length).toBeGreaterThanOrEqual(4);
      expect(new Set(cards).size).toBe(cards.length);
    });

    it('an escalation waits for the card of its row, which comes as soon', async () => {
      start();
      const rows = await parkOf('busy', 1, 30);
      await queued(29);
      const untold = await Promise.all(rows.map(async (row) => (await states(row))[0]?.[2] === 'queued'));
      const last = rows.findLast((_, n) => untold[n]) as PendingRequest;
      hil.now += 1;
      await escalate(last);
      await queued(30);
      taken = [];
      await takes(5);
      expect(taken.filter(({ pending_id }) => pending_id === last.id).map(({ phase }) => phase)).toEqual([
        'trigger',
        'update',
      ]);
    });
  });

  it('two processes make no attempt twice', async () => {
    const second = createNotifier({
      reviews: hil.reviews,
      notices: hil.reviews.notices,
      channels: webhook(),
      tenants: [],
      clock: () => hil.now,
      observe: () => undefined,
      gaveUp: () => undefined,
      failed: () => undefined,
      lookMs: 20,
    });
    start();
    second.start();
    const rows = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => hil.park(n)));
    for (const row of rows) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await second.close();
    expect(receiver.received).toHaveLength(rows.length);
  });

  it('a rest of a channel is begun by one of several processes, and told to all', async () => {
    const { notices } = hil.reviews;
    expect(await notices.restOf('webhook')).toEqual({ place: 0, untilMs: 0, refusals: 0 });
    const begin = (place: number, untilMs: number) => notices.beginRest('webhook', { place, untilMs, refusals: place });
    expect((await Promise.all([1, 2, 3].map((n) => begin(1, n)))).filter(Boolean)).toHaveLength(1);
    expect([await begin(1, 9), await begin(3, 9), await begin(2, 10)]).toEqual([false, false, true]);
    await notices.prolongRest('webhook', 9);
    expect(await notices.restOf('webhook')).toEqual({ place: 2, untilMs: 10, refusals: 2 });
    await notices.prolongRest('webhook', 11);
    await notices.tookAfterRest('webhook', 1);
    expect(await notices.restOf('webhook')).toEqual({ place: 2, untilMs: 11, refusals: 2 });
    await notices.tookAfterRest('webhook', 2);
    expect(await notices.restOf('webhook')).toEqual({ place: 2, untilMs: 11, refusals: 0 });
    expect(await notices.restOf('slack')).toMatchObject({ place: 0 });
  });

  it('a message that was edited in the store is never sent', async () => {
    hil.now -= 3_600_000;
    const row = await hil.park(1, { approval_tier: 'auto' });
    start();
    await eventually('the message', async () => (await deliveries(row)).length === 1);
    await hil.place.sql(`update review_notices set notice = replace(notice, 'wire_transfer', 'read_balance')`);
    // It is due only now: a rule might have decided before.
    hil.now += 3_600_000;
    await settledAs(row, [['webhook', 'trigger', 'dead']]);
    expect(receiver.received).toEqual([]);
  });

  it('a message whose kind was edited in the store is never sent', async () => {
    hil.now -= 3_600_000;
    const row = await hil.park(1, { approval_tier: 'auto' });
    start();
    await eventually('the message', async () => (await deliveries(row)).length === 1);
    await hil.place.sql("update review_notices set kind = 'escalation'");
    // It is due only now: a rule might have decided before.
    hil.now += 3_600_000;
    await settledAs(row, [['webhook', 'trigger', 'dead']]);
    expect(receiver.received).toEqual([]);
  });

  /** As an earlier Gate stored them, which wrote their kind neither in them nor, after the migration, beside them. */
  const asOfEarlier = async (kindNow: "''" | 'kind', also = '') => {
    for (const written of await hil.place.sql('select * from review_notices')) {
      const { kind: _, ...text } = JSON.parse(String(written['notice'])) as Record<string, unknown>;
      const notice = JSON.stringify(text);
      const of = ['gate.review-notice/1', written['notification_id'], written['channel'], notice, null];
      const mac = hil.place.keys.authenticate(JSON.stringify(of), 'review-notice');
      await hil.place.sql(`update review_notices set notice = '${notice}', mac = '${mac}', kind = ${kindNow}${also}
        where notification_id = '${String(written['notification_id'])}'`);
    }
  };

  it.each([['before the migration'], ['after it, by a process that still ran']])(
    'messages that an earlier Gate wrote %s are sent as what they are',
    async (when) => {
      start();
      const row = await hil.park(1, { approval_tier: 'strict' });
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await hil.reviews.escalated(row.id, [new Date(hil.now).toISOString()]);
      await hil.reviews.voted(row.id, [{ by: 'operator:ben', provenance: 'console-bearer', at: row.created_at }]);
      start(webhook(), { backOffMs: [1_000_000], byRuleMs: 0, clock: () => hil.now - 3_600_000 });
      await eventually('the messages', async () => (await deliveries(row)).length === 3);
      await stop();
      await asOfEarlier(
        when.startsWith('after') ? "''" : 'kind',
        ", state = 'queued', attempts = 0, error = null, due_ms = 0",
      );
      receiver.received.length = 0;
      start();
      const all = ['trigger', 'update:approval-1', 'update:escalated'];
      await settledAs(
        row,
        all.map((name) => ['webhook', name, 'delivered']),
      );
      expect(events().map(({ headline }) => headline)).toEqual([
        'A call waits for a decision: wire_transfer by payments-agent',
        'A call still waits: 1 of 2 people have approved: wire_transfer by payments-agent',
        'A call still waits, and its time runs out: wire_transfer by payments-agent',
      ]);
      // What was delivered is still what Gate wrote.
      expect((await hil.reviews.notices.of(row.id)).notices.map(({ kind }) => kind)).toEqual([
        'trigger',
        'approval',
        'escalation',
      ]);
    },
  );

  it('a message says of how many people the approvals count then, and each approval has one of its own', async () => {
    const may = new Set(['operator:ada', 'operator:ben']);
    const failed = (error: unknown) => void told.push(String(error));
    const standing = createStandingApprovals({ approversOf: async () => () => [...may], failed });
    start(undefined, { backOffMs: SOON_MS, asShown: standing.marked });
    const row = await hil.park(1, { approval_tier: 'strict' });
    const given = ['ada', 'ben'].map((name) => ({
      by: `operator:${name}`,
      provenance: 'console-bearer',
      at: row.created_at,
    }));
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await hil.reviews.voted(row.id, given.slice(0, 1));
    const names = ['trigger', 'update:approval-1'];
    await settledAs(
      row,
      names.map((name) => ['webhook', name, 'delivered']),
    );
    may.delete('operator:ada');
    await hil.reviews.voted(row.id, given);
    await settledAs(
      row,
      [...names, 'update:approval-2'].map((name) => ['webhook', name, 'delivered']),
    );
    expect(events().map(({ headline }) => /\d of \d people/.exec(headline)?.[0])).toEqual([
      undefined,
      '1 of 2 people',
      '1 of 2 people',
    ]);
  });

  describe('a row whose first message a process of an earlier Gate wrote after the migration', () => {
    it('is told on of: who approved, that it waits too long, and how it ended', async () => {
      start();
      const row = await hil.park(1, { approval_tier: 'strict' });
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await asOfEarlier("''");
      start();
      await hil.reviews.voted(row.id, [{ by: 'operator:ben', provenance: 'console-bearer', at: row.created_at }]);
      await settledAs(
        row,
        ['trigger', 'update:approval-1'].map((name) => ['webhook', name, 'delivered']),
      );
      await hil.reviews.escalated(row.id, [new Date(hil.now).toISOString()]);
      const names = ['trigger', 'update:approval-1', 'update:escalated'];
      await settledAs(
        row,
        names.map((name) => ['webhook', name, 'delivered']),
      );
      await hil.settle(row);
      await settledAs(
        row,
        [...names, 'resolve:approved'].map((name) => ['webhook', name, 'delivered']),
      );
    });

    it('is told its end at once where the first message waits for another attempt', async () => {
      receiver.answers.push(503);
      start(undefined, { backOffMs: [600_000] });
      const row = await hil.park(1);
      await eventually('the refusal', () => told.includes('webhook trigger failed'));
      await stop();
      await asOfEarlier("''");
      start(undefined, { backOffMs: [600_000] });
      await hil.settle(row);
      await settledAs(row, [
        ['webhook', 'trigger', 'superseded'],
        ['webhook', 'resolve:approved', 'delivered'],
      ]);
    });

    it('is not open any more, nor told of again when it is deleted, where that process told its end', async () => {
      start();
      const row = await hil.park(1);
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await hil.settle(row, { status: 'denied', by: 'operator:ada' });
      await settledAs(
        row,
        ['trigger', 'resolve:denied'].map((name) => ['webhook', name, 'delivered']),
      );
      await stop();
      await asOfEarlier("''");
      expect(await hil.reviews.notices.open('', 10)).toEqual([]);
      await hil.reviews.erase({ tenant: 'acme' }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
      expect(await hil.place.sql('select * from review_last_notices')).toEqual([]);
    });
  });

  describe('of a row that is deleted before people were told how it ended', () => {
    const SECRET = 'what-the-agent-wrote';
    const HOLD = '00000000-0000-4000-8000-000000000010';
    const parked = (over: Partial<NewReview> = {}) =>
      hil.park(1, { agent_id: `agent-${SECRET}`, risk_summary: `moves ${SECRET}`, ...over });
    const OFFBOARD = 'system:tenant-offboard';
    /** As a tenant leaves: its rows are denied and deleted, before anybody looks at what changed. */
    const leave = async (row: PendingRequest) => {
      await hil.settle(row, { status: 'denied', by: OFFBOARD });
      await erased();
    };
    const erased = async () => {
      const done = await hil.reviews.erase({ tenant: 'acme' }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
      expect(done).toEqual({ deleted: 1, held: 0, complete: true });
    };
    const kept = async () => JSON.stringify(await hil.place.sql('select * from review_last_notices'));
    const until = (what: string, holds: () => boolean) =>
      eventually(what, () => {
        hil.now += 20;
        return holds();
      });

    it('its end is told all the same, is tried again, and has no text of the call', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await leave(row);
      expect(await hil.reviews.notices.deliveriesOf(row.id)).toEqual([]);
      expect(await kept()).toContain(':resolve:deleted');
      expect(await kept()).not.toMatch(new RegExp(`${SECRET}|wire_transfer`));
      expect(await hil.reviews.notices.counts()).toEqual({ queued: 1, dead: 0 });
      receiver.answers.push(503);
      start();
      await until('the second attempt', () => receiver.received.length === 3);
      expect(events().slice(1)).toMatchObject(
        Array.from({ length: 2 }, () => ({
          phase: 'resolve',
          status: 'denied',
          notification_id: `${row.id}:resolve:deleted`,
          dedup_key: row.id,
          headline: 'A call was denied',
          agent_id: '',
          tool: '',
        })),
      );
      await eventually('nothing is left', async () => (await kept()) === '[]');
      expect(await hil.reviews.notices.counts()).toEqual({ queued: 0, dead: 0 });
    });

    it('its end says that it was changed', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await hil.settle(row, { modification: CHANGED });
      await erased();
      start();
      await until('the end', () => receiver.received.length === 2);
      expect(events()[1]).toMatchObject({ headline: 'A call was approved with changed arguments', modified: true });
    });

    it('nothing is told of a row whose end was told, or of which nobody was told that it waited', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await hil.settle(row, { status: 'denied', by: OFFBOARD });
      await settledAs(row, [
        ['webhook', 'trigger', 'delivered'],
        ['webhook', 'resolve:denied', 'delivered'],
      ]);
      await stop();
      await erased();
      expect(await kept()).toBe('[]');
      start(undefined, { byRuleMs: 600_000 });
      const other = await parked({ correlation_id: '00000000-0000-4000-8000-000000000002', approval_tier: 'auto' });
      await eventually('the message', async () => (await deliveries(other)).length === 1);
      await stop();
      await leave(other);
      expect(await kept()).toBe('[]');
    });

    it('a message that arrives while its row is deleted is followed by its end, on the same card', async () => {
      const slack = { apiUrl: receiver.url.split('/hook')[0] ?? '', token: 'xoxb-0123456789', channel: 'C1' };
      const [bot] = channelsOf({ ...parts, slack });
      if (!bot) throw new Error('no channel');
      let asked = (): void => undefined;
      const isAsked = new Promise<void>((resolve) => (asked = resolve));
      let arrives = (): void => undefined;
      const mayArrive = new Promise<void>((resolve) => (arrives = resolve));
      start([
        {
          ...bot,
          async send(notice, earlier) {
            asked();
            if (notice.phase === 'trigger') await mayArrive;
            return bot.send(notice, earlier);
          },
        },
      ]);
      const row = await parked();
      receiver.answers.push({ ok: true, channel: 'C1', ts: '17.1' }, { ok: true });
      await isAsked;
      await leave(row);
      expect(await hil.reviews.notices.due('slack', 4)).toEqual([]);
      arrives();
      await until('the end', () => receiver.received.length === 2);
      expect(receiver.received.map(({ path, body }) => [path, body['ts'], body['text']])).toEqual([
        ['/chat.postMessage', undefined, 'Gate: A call waits for a decision'],
        ['/chat.update', '17.1', 'Gate: A call was denied'],
      ]);
      expect(receiver.received[1]?.text).not.toContain(SECRET);
    });

    it('its end is told also where a hold kept the row until after its tenant had left', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      const hold = (action: 'apply' | 'release', operation_id: string) => {
        const asked = { operation_id, action, hold_id: HOLD, authority_reason_sha256: `sha256:${'a'.repeat(64)}` };
        return hil.reviews.hold(row.id, 'acme', asked, () => 'operator:dev');
      };
      await hold('apply', '00000000-0000-4000-8000-000000000011');
      await hil.settle(row, { status: 'denied', by: OFFBOARD });
      const left = await hil.reviews.erase({ tenant: 'acme' }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
      expect(left).toEqual({ deleted: 0, held: 1, complete: true });
      expect(await kept()).toBe('[]');
      await hold('release', '00000000-0000-4000-8000-000000000012');
      expect(await hil.reviews.get(row.id)).toBeNull();
      expect(await kept()).toContain(':resolve:deleted');
    });

    it('nothing is told of a row that was open in a copy of the store: what it came to is not known here', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      hil.now += 86_400_000;
      const leaves = { tenant: 'acme', waiting: true };
      const done = await hil.reviews.erase(leaves, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
      expect(done).toEqual({ deleted: 1, held: 0, complete: true });
      expect(await kept()).toBe('[]');
    });

    it('a message that somebody copies from one table to the other is none there', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await hil.place.sql(`insert into review_last_notices (notification_id, channel, notice, attempts, due_ms, until_ms, handle, mac)
        select notification_id, channel, notice, 0, 0, ${hil.now + 1_000}, handle, mac from review_notices`);
      expect(await hil.reviews.notices.due('webhook', 4)).toEqual([]);
      expect(await kept()).toBe('[]');
      await leave(row);
      const other = await parked({ correlation_id: '00000000-0000-4000-8000-000000000002' });
      await hil.place.sql(`insert into review_notices (notification_id, channel, pending_id, ordinal, notice, state, attempts, due_ms, handle, mac)
        select notification_id, channel, '${other.id}', 0, notice, 'queued', 0, 0, handle, mac from review_last_notices`);
      const due = await hil.reviews.notices.due('webhook', 4);
      expect(due.map(({ notice }) => notice.pending_id)).toEqual([row.id]);
      expect(await deliveries(other)).toMatchObject([{ state: 'dead', error: 'the message is not what Gate wrote' }]);
    });

    it('is kept for a day where no channel takes it, and is sent by nobody who edits it', async () => {
      start();
      const row = await parked();
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await leave(row);
      hil.now += 86_400_000 - 1;
      await hil.reviews.sweep();
      expect(await kept()).not.toBe('[]');
      await hil.place.sql(`update review_last_notices set notice = replace(notice, 'denied', 'approved')`);
      expect(await hil.reviews.notices.due('webhook', 4)).toEqual([]);
      expect(await kept()).toBe('[]');
      const other = await parked({ correlation_id: '00000000-0000-4000-8000-000000000002' });
      start();
      await settledAs(other, [['webhook', 'trigger', 'delivered']]);
      await stop();
      await leave(other);
      hil.now += 86_400_000;
      expect(await hil.reviews.notices.due('webhook', 4)).toEqual([]);
      await hil.reviews.sweep();
      expect(await kept()).toBe('[]');
    });
  });

  it.each([
    ['one of several', () => webhook()],
    ['the only one', () => []],
  ])(
    'what waits for a channel that is set no more, %s, ends an hour after it was due, with the reason',
    async (_, left) => {
      receiver.answers.push(...Array.from({ length: 20 }, () => 503));
      start([...left(), ...channelsOf({ ...parts, teams: { webhookUrl: receiver.url } }, null)], {
        backOffMs: [5_000],
      });
      const row = await hil.park(1);
      const ofTeams = async () => (await deliveries(row)).find(({ channel }) => channel === 'teams');
      await eventually('its attempt', async () => (await ofTeams())?.error != null);
      await stop();
      // It may be set in another process.
      hil.now += 3_600_000;
      start(left(), { abandonedLookMs: 20 });
      await timePasses(100, 'nothing is to end before the hour is over');
      expect(await ofTeams()).toMatchObject({ state: 'queued' });
      hil.now += 5_000;
      await eventually('its end', async () => (await ofTeams())?.state === 'dead');
      const error = 'its channel is not in the settings any more';
      expect(await ofTeams()).toMatchObject({ attempts: 1, next_attempt_at: null, error });
      expect(told).toContain('teams trigger dead');
      expect(told).toContain(`teams trigger gave up: ${error}`);
      // One that was written by a clock that was ahead by years, too.
      await hil.place.sql(
        `update review_notices set state = 'queued', due_ms = ${hil.now + 10 ** 11} where channel = 'teams'`,
      );
      await eventually('that it is due', async () => Date.parse((await ofTeams())?.next_attempt_at ?? '') <= hil.now);
      hil.now += 3_600_000;
      await eventually('its end', async () => (await ofTeams())?.state === 'dead');
    },
  );

  it('goes with its row', async () => {
    const row = await hil.park(1);
    start();
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    await stop();
    expect(await hil.reviews.notices.counts()).toEqual({ queued: 0, dead: 0 });
    expect(await hil.reviews.notices.deliveriesOf(row.id)).toHaveLength(1);
  });
});

describe('a channel', () => {
  beforeEach(async () => {
    hil = await openHil('sqlite');
  });
  const smtp = async (settings: Partial<ConstructorParameters<typeof SMTPServer>[0]> = {}) => {
    const mails: string[] = [];
    const server = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      logger: false,
      onData(stream, _session, done) {
        let text = '';
        stream.setEncoding('utf8').on('data', (part: string) => (text += part));
        stream.on('end', () => {
          mails.push(text);
          done();
        });
      },
      ...settings,
    });
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      mails,
      url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
      close: () => new Promise<void>((resolve) => server.close(() => resolve())),
    };
  };
  const settings = (over: Partial<ChannelSettings>): Channel[] => channelsOf({ ...parts, ...over });

  it('that fails for now is tried again with the same bytes, after growing pauses', async () => {
    receiver.answers.push(500, 408, 'hangs');
    start(settings({ timeoutMs: 500, webhook: { url: receiver.url } }));
    const row = await hil.park(1);
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    expect(receiver.received).toHaveLength(4);
    expect(told).toEqual([
      'webhook trigger failed',
      'webhook trigger failed',
      'webhook trigger failed',
      'webhook trigger delivered',
    ]);
  });

  it('that fails for good, or too often, leaves a dead letter with a reason and no address, and nothing waits for it', async () => {
    receiver.answers.push(404);
    start();
    const first = await hil.park(1);
    await settledAs(first, [['webhook', 'trigger', 'dead']]);
    expect(await deliveries(first)).toMatchObject([
      { attempts: 1, error: 'the receiver answered 404', delivered_at: null, next_attempt_at: null },
    ]);
    receiver.answers.push(500, 502, 503, 504);
    const second = await hil.park(2);
    await settledAs(second, [['webhook', 'trigger', 'dead']]);
    expect(await deliveries(second)).toMatchObject([{ attempts: 4, error: 'the receiver answered 504' }]);
    expect(told).toContain('webhook trigger gave up: the receiver answered 404');
    await receiver.close();
    const third = await hil.park(3);
    await settledAs(third, [['webhook', 'trigger', 'dead']]);
    expect(JSON.stringify(await deliveries(third))).not.toMatch(/127\.0\.0\.1|in-the-address/);
    expect((await hil.ask('/notifications/config')).body).toMatchObject({ dead_letters: 3, queued: 0 });
    receiver = await openReceiver();
  });

  it('is tried at once and after 1, 4, 16, 64 and 256 seconds, and then no more', async () => {
    receiver.answers.push(...Array.from({ length: 9 }, () => 503));
    start(undefined, {});
    const row = await hil.park(1);
    const pauses: unknown[] = [];
    for (let attempts = 1; attempts <= 6; attempts += 1) {
      await eventually(`attempt ${attempts}`, async () => (await deliveries(row))[0]?.attempts === attempts);
      await eventually('its result', () => told.filter((one) => one.startsWith('webhook trigger ')).length >= attempts);
      const { next_attempt_at: next } = (await deliveries(row))[0] ?? {};
      pauses.push(next == null ? next : Date.parse(next) - hil.now);
      hil.now = next == null ? hil.now : Date.parse(next);
    }
    expect(pauses).toEqual([1_000, 4_000, 16_000, 64_000, 256_000, null]);
    expect(await states(row)).toEqual([['webhook', 'trigger', 'dead']]);
  });

  it('that asks for time is left alone for as long, and no other message is tried meanwhile', async () => {
    receiver.answers.push({ status: 429, retryAfter: '60' });
    start();
    const first = await hil.park(1);
    await eventually('the refusal', () => told.length === 1);
    await hil.park(2);
    hil.now += 59_000;
    await timePasses(100, 'nothing is to be sent before the minute is over');
    expect(receiver.received).toHaveLength(1);
    hil.now += 1_000;
    await settledAs(first, [['webhook', 'trigger', 'delivered']]);
    await eventually('the other message', () => receiver.received.length === 3);
  });

  const limits = (count: number) => void receiver.answers.push(...Array.from({ length: count }, () => 429));

  it('whose limit refuses messages gets each of them, however often it refused: no such attempt counts', async () => {
    limits(40);
    start();
    const rows = await Promise.all(Array.from({ length: 12 }, (_, n) => hil.park(n)));
    for (const row of rows) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    expect(receiver.received).toHaveLength(40 + 12);
    for (const row of rows) expect(await deliveries(row)).toMatchObject([{ attempts: 1, error: null }]);
    expect(new Set(told)).toEqual(new Set(['webhook trigger limited', 'webhook trigger delivered']));
    // Beside those that do count.
    receiver.answers.push(503, 429, 429, 429, 429, 503, 429);
    const row = await hil.park(20);
    await settledAs(row, [['webhook', 'trigger', 'delivered']]);
    expect(await deliveries(row)).toMatchObject([{ attempts: 3 }]);
  });

  /** Six rows, of which nobody is told until nothing waits any more; and how long that took. */
  const givenUp = async () => {
    const rows = await Promise.all(Array.from({ length: 6 }, (_, n) => hil.park(n)));
    await eventually('they wait', async () => (await hil.reviews.notices.counts()).queued === 6);
    const began = hil.now;
    await eventually('the first refusals', () => told.length > 0);
    await eventually('the end of all', async () => {
      const before = told.length;
      hil.now += 256_000;
      await eventually('another attempt, or none', async () => {
        const { queued } = await hil.reviews.notices.counts();
        return queued === 0 || told.length > before;
      });
      return (await hil.reviews.notices.counts()).queued === 0;
    });
    return { rows, tookMs: hil.now - began };
  };

  it('whose limit takes nothing for an hour leaves dead letters with its reason, and is asked by one message at a time', async () => {
    limits(10_000);
    start(undefined, {});
    const { rows, tookMs } = await givenUp();
    expect(tookMs).toBeGreaterThan(3_600_000);
    expect(tookMs).toBeLessThan(3_600_000 + 5 * 300_000);
    for (const row of rows)
      expect(await deliveries(row)).toMatchObject([
        {
          state: 'dead',
          attempts: 0,
          error: 'the limit of the receiver held it up for an hour: the receiver answered 429',
        },
      ]);
    expect(told.filter((one) => one.includes('gave up: the limit of the receiver'))).toHaveLength(6);
    expect(told.filter((one) => one === 'webhook trigger dead')).toHaveLength(6);
    expect(receiver.received.length).toBeLessThan(6 + 30);
    receiver.answers.length = 0;
    hil.now += 300_000;
    await settledAs(await hil.park(7), [['webhook', 'trigger', 'delivered']]);
  });

  describe('where several processes are over the store', () => {
    let others: Notifier[] = [];
    const startAnother = (over?: Partial<NotifierOptions>): void => {
      const first = notifier;
      others.push(start(undefined, over));
      notifier = first;
    };
    afterEach(async () => {
      await Promise.all(others.splice(0).map((other) => other.close()));
    });

    it.each([
      [429, 'limited'],
      [503, 'failed'],
    ])(
      'that asks for time by a %d is left alone by all of them, and by one that is started meanwhile',
      async (status, outcome) => {
        receiver.answers.push({ status, retryAfter: '60' });
        start();
        startAnother();
        const first = await hil.park(1);
        await eventually('the refusal', () => told.join() === `webhook trigger ${outcome}`);
        await stop();
        start();
        for (const n of [2, 3, 4]) await hil.park(n);
        await eventually('they wait', async () => (await hil.reviews.notices.counts()).queued === 4);
        hil.now += 59_000;
        await timePasses(200, 'nothing is to be sent before the minute is over');
        expect(receiver.received).toHaveLength(1);
        hil.now += 1_000;
        await settledAs(first, [['webhook', 'trigger', 'delivered']]);
        await eventually('the other messages', () => receiver.received.length === 5);
      },
    );

    it.each([
      [2_000, 1],
      [60_000, 1],
      [61_000, 2],
    ])(
      'that asks for the longest time is left alone by one whose clock is %d ms behind, or asked (%d)',
      async (behindMs, asked) => {
        receiver.answers.push({ status: 429, retryAfter: '300' });
        start();
        await hil.park(1);
        await eventually('the refusal', () => told.join() === 'webhook trigger limited');
        await stop();
        start(undefined, { clock: () => hil.now - behindMs });
        await hil.park(2);
        await eventually('it waits', async () => (await hil.reviews.notices.counts()).queued >= 1);
        if (asked > 1) return eventually('it is asked', () => receiver.received.length >= asked);
        await timePasses(200, 'nothing is to be sent before five minutes are over');
        expect(receiver.received).toHaveLength(1);
        hil.now += 300_000;
        return eventually('both messages', () => receiver.received.length === 3);
      },
    );

    it('whose limit takes nothing holds a message up for an hour, as it would for one of them', async () => {
      limits(10_000);
      start(undefined, {});
      for (let more = 0; more < 3; more += 1) startAnother({});
      const { rows, tookMs } = await givenUp();
      expect(tookMs).toBeGreaterThan(3_600_000);
      for (const row of rows) expect(await states(row)).toEqual([['webhook', 'trigger', 'dead']]);
    });

    it('whose limit refused several of them at once rests once', async () => {
      limits(4);
      start(undefined, {});
      for (let more = 0; more < 3; more += 1) startAnother({});
      await Promise.all([1, 2, 3, 4].map((n) => hil.park(n)));
      await eventually('the refusals', () => told.length > 0);
      const seen = async () =>
        (await hil.place.sql('select place, refusals from review_channel_rests')).map(Object.values);
      expect(await seen()).toEqual([[1, 1]]);
    });
  });

  it('whose limit refused the first message of a row that was settled since is told nothing of it', async () => {
    limits(1);
    start(undefined, {});
    const row = await hil.park(1);
    await eventually('the refusal', () => told.length === 1);
    await hil.settle(row);
    await settledAs(row, [['webhook', 'trigger', 'superseded']]);
    await settledAs(await hil.park(2), [['webhook', 'trigger', 'delivered']]);
    expect(await states(row)).toEqual([['webhook', 'trigger', 'superseded']]);
  });

  it.each([-3_600_000, 3_600_000])(
    'that asks for time is left alone for as long, and no longer, where the clock is put by %d ms meanwhile',
    async (byMs) => {
      receiver.answers.push({ status: 503, retryAfter: '60' });
      start();
      const first = await hil.park(1);
      await eventually('the refusal', () => told.length === 1);
      putMs += byMs;
      hil.now += byMs + 59_000;
      await timePasses(100, 'nothing is to be sent before the minute is over');
      expect(receiver.received).toHaveLength(1);
      hil.now += 1_000;
      await settledAs(first, [['webhook', 'trigger', 'delivered']]);
      // What was written by a clock that was ahead is due by one that is right.
      hil.now += 3_600_000;
      receiver.answers.push(503);
      const second = await hil.park(2);
      await eventually('the other refusal', () => told.length === 3);
      putMs -= 7_200_000;
      hil.now -= 7_200_000;
      await eventually('the other message', () => receiver.received.length === 4);
      await settledAs(second, [['webhook', 'trigger', 'delivered']]);
    },
  );

  it.each(['endless', 'drips'] as const)(
    'whose answer %s has taken the message, and is not listened to',
    async (how) => {
      receiver.answers.push(how, how, how, how);
      start(settings({ timeoutMs: 30_000, webhook: { url: receiver.url } }));
      const rows = [await hil.park(1), await hil.park(2), await hil.park(3), await hil.park(4), await hil.park(5)];
      for (const row of rows) await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      await eventually('Gate has hung up', () => receiver.sent.closed === 4);
      expect(told).toEqual(rows.map(() => 'webhook trigger delivered'));
      // What the sockets of both sides hold was sent; a mebibyte for each answer was not.
      expect(receiver.sent.bytes).toBeLessThan(4 * 1_048_576);
    },
  );

  it('Slack whose answer never ends is an attempt that failed, at once', async () => {
    receiver.answers.push('endless', { ok: true, channel: 'C1', ts: '1' });
    const slack = { apiUrl: receiver.url.split('/hook')[0] ?? '', token: 'xoxb-0123456789', channel: 'C1' };
    start(settings({ timeoutMs: 30_000, slack }));
    await settledAs(await hil.park(1), [['slack', 'trigger', 'delivered']]);
    expect(told).toEqual(['slack trigger failed', 'slack trigger delivered']);
  });

  it('that hangs delays no other', async () => {
    const other = await openReceiver();
    receiver.answers.push('hangs', 'hangs', 'hangs', 'hangs');
    start(settings({ timeoutMs: 5_000, webhook: { url: receiver.url }, teams: { webhookUrl: other.url } }));
    const row = await hil.park(1);
    await settledAs(row, [
      ['teams', 'trigger', 'delivered'],
      ['webhook', 'trigger', 'queued'],
    ]);
    expect(other.received[0]?.body).toMatchObject({
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive' }],
    });
    await receiver.close();
    await stop();
    await other.close();
    receiver = await openReceiver();
  });

  it('is told nothing of a row that was settled before it could be reached, and the end of one that it may know', async () => {
    receiver.answers.push(503);
    start(undefined, { backOffMs: [600_000] });
    const tried = await hil.park(1);
    await eventually('the refusal', () => told.length === 1);
    await hil.settle(tried);
    await settledAs(tried, [
      ['webhook', 'trigger', 'superseded'],
      ['webhook', 'resolve:approved', 'delivered'],
    ]);
    await stop();
    start(undefined, { byRuleMs: 600_000 });
    const byRule = await hil.park(2, { approval_tier: 'auto' });
    await eventually('the message', async () => (await deliveries(byRule)).length === 1);
    await hil.settle(byRule, { by: 'system:policy-tier' });
    await eventually('its end', async () => (await states(byRule))[0]?.[2] === 'superseded');
    expect(await states(byRule)).toEqual([['webhook', 'trigger', 'superseded']]);
  });

  it.each(['the next look at everything', 'a start'] as const)(
    'is told how a row ended whose end could not be written down at first: by %s',
    async (by) => {
      receiver.answers.push(503);
      const { notices } = hil.reviews;
      let isAway = true;
      const faulty: NoticeStore = {
        ...notices,
        async add(notice, ...of) {
          if (notice.phase === 'resolve' && isAway) {
            isAway = by === 'a start';
            throw new GateError('store_unavailable');
          }
          return notices.add(notice, ...of);
        },
      };
      start(undefined, { backOffMs: [600_000], notices: faulty });
      const row = await hil.park(1);
      await eventually('the refusal', () => told.includes('webhook trigger failed'));
      await hil.settle(row);
      await eventually('the fault', () => told.some((each) => each.startsWith('failed: ')));
      if (by === 'a start') {
        await stop();
        start(undefined, { backOffMs: [600_000] });
      }
      await settledAs(row, [
        ['webhook', 'trigger', 'superseded'],
        ['webhook', 'resolve:approved', 'delivered'],
      ]);
    },
  );

  it('tells of no row of another tenant than those that are set', async () => {
    start(undefined, { tenants: ['globex'] });
    await hil.park(1);
    const row = await hil.park(2, { tenant: 'globex' });
    await eventually('the other message', () => receiver.received.length === 1);
    expect(events().map(({ pending_id }) => pending_id)).toEqual([row.id]);
  });

  it('Slack as a bot has one card for each row: it is changed when somebody approved or decided elsewhere', async () => {
    start(
      settings({ slack: { apiUrl: receiver.url.split('/hook')[0] ?? '', token: 'xoxb-0123456789', channel: 'C1' } }),
    );
    receiver.answers.push(
      { ok: true, channel: 'C1', ts: '17.1' },
      { ok: true, channel: 'C1', ts: '17.1' },
      { ok: true },
    );
    const row = await hil.park(1, { approval_tier: 'strict' });
    await settledAs(row, [['slack', 'trigger', 'delivered']]);
    await hil.reviews.voted(row.id, [
      { by: 'operator:ada', provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' },
    ]);
    await eventually('the change', () => receiver.received.length === 2);
    await hil.settle(row, { by: 'operator:bob' });
    await eventually('the end', () => receiver.received.length === 3);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/chat.postMessage', '/chat.update', '/chat.update']);
    expect(receiver.received.map(({ body }) => [body['channel'], body['ts'], body['text']])).toEqual([
      ['C1', undefined, 'Gate: A call waits for a decision'],
      ['C1', '17.1', 'Gate: A call still waits: 1 of 2 people have approved'],
      ['C1', '17.1', 'Gate: A call was approved'],
    ]);
    expect(receiver.received[0]?.headers['authorization']).toBe('Bearer xoxb-0123456789');
    expect(receiver.received[2]?.text).toContain('operator:bob by console');
    for (const { body } of receiver.received)
      expect(body).toMatchObject({ parse: 'none', link_names: false, unfurl_links: false });
  });

  describe('an escalation in Slack, by a bot', () => {
    const bot = () => ({ apiUrl: receiver.url.split('/hook')[0] ?? '', token: 'xoxb-0123456789', channel: 'C1' });
    const CARD = { ok: true, channel: 'C1', ts: '17.1' };
    const REPLY = { ok: true, channel: 'C1', ts: '17.2' };
    const times = (count: number) => Array.from({ length: count }, (_, at) => new Date(hil.now + at).toISOString());
    const sent = () =>
      receiver.received.map(({ path, body }) => [path, body['ts'] ?? body['thread_ts'], body['reply_broadcast']]);
    const URGENT = 'Gate: A call still waits, and its time runs out';

    it('is a new message each time, which answers the card; the card changes too, and is the one that changes at the end', async () => {
      start(settings({ slack: bot() }));
      receiver.answers.push(CARD, CARD, REPLY, CARD, REPLY, CARD);
      const row = await hil.park(1);
      await settledAs(row, [['slack', 'trigger', 'delivered']]);
      for (const count of [1, 2]) {
        await hil.reviews.escalated(row.id, times(count));
        await eventually('the answer', () => receiver.received.length === 1 + 2 * count);
      }
      await hil.settle(row);
      await eventually('the end', () => receiver.received.length === 6);
      expect(sent()).toEqual([
        ['/chat.postMessage', undefined, undefined],
        ['/chat.update', '17.1', undefined],
        ['/chat.postMessage', '17.1', true],
        ['/chat.update', '17.1', undefined],
        ['/chat.postMessage', '17.1', true],
        ['/chat.update', '17.1', undefined],
      ]);
      const answers = receiver.received.filter(({ body }) => 'thread_ts' in body);
      for (const { body, text } of answers) {
        expect(body).toMatchObject({ channel: 'C1', text: URGENT, parse: 'none', link_names: false });
        expect(text).toContain('The card that this answers says how it stands now.');
        // What decides stays on the card, which loses it at the end.
        expect(text).not.toMatch(/"(?:approve|deny)/);
      }
    });

    it('is the card where its pool has none yet, and a new message where it has one', async () => {
      start([...webhook(), ...channelsOf({ ...parts, slack: bot() }, 'payments')], { defaultPool: 'payments' });
      const row = await hil.park(1);
      await settledAs(row, [['webhook', 'trigger', 'delivered']]);
      const toSlack = () => receiver.received.filter(({ path }) => path.startsWith('/chat.'));
      // The webhook takes an answer of the same queue, whatever it says.
      receiver.answers.push(...Array.from({ length: 8 }, () => CARD));
      await hil.reviews.escalated(row.id, times(1));
      await eventually('the card', () => toSlack().length === 1);
      await hil.reviews.escalated(row.id, times(2));
      await eventually('the new message', () => toSlack().length === 3);
      expect(toSlack().map(({ path, body }) => [path, body['text'], body['reply_broadcast']])).toEqual([
        ['/chat.postMessage', URGENT, undefined],
        ['/chat.update', URGENT, undefined],
        ['/chat.postMessage', URGENT, true],
      ]);
    });

    it('is another card where somebody deleted the one before, and that one changes later', async () => {
      start(settings({ slack: bot() }));
      receiver.answers.push(CARD, { ok: false, error: 'message_not_found' }, REPLY, REPLY);
      const row = await hil.park(1);
      await settledAs(row, [['slack', 'trigger', 'delivered']]);
      await hil.reviews.escalated(row.id, times(1));
      await eventually('the other card', () => receiver.received.length === 3);
      await hil.settle(row);
      await eventually('the end', () => receiver.received.length === 4);
      expect(sent().slice(1)).toEqual([
        ['/chat.update', '17.1', undefined],
        ['/chat.postMessage', undefined, undefined],
        ['/chat.update', '17.2', undefined],
      ]);
    });

    it('whose new message is refused for now is tried again', async () => {
      start(settings({ slack: bot() }));
      receiver.answers.push(CARD, CARD, { ok: false, error: 'ratelimited' }, CARD, REPLY);
      const row = await hil.park(1);
      await settledAs(row, [['slack', 'trigger', 'delivered']]);
      await hil.reviews.escalated(row.id, times(1));
      await settledAs(row, [
        ['slack', 'trigger', 'delivered'],
        ['slack', 'update:escalated', 'delivered'],
      ]);
      expect(sent().map(([path]) => path)).toEqual([
        '/chat.postMessage',
        '/chat.update',
        '/chat.postMessage',
        '/chat.update',
        '/chat.postMessage',
      ]);
    });
  });

  it.each([
    ['channel_not_found', 'dead'],
    ['ratelimited', 'delivered'],
  ])('Slack that answers 200 and refuses with %s: the message is %s', async (error, state) => {
    start(
      settings({ slack: { apiUrl: receiver.url.split('/hook')[0] ?? '', token: 'xoxb-0123456789', channel: 'C1' } }),
    );
    receiver.answers.push({ ok: false, error }, { ok: true, channel: 'C1', ts: '1' });
    await settledAs(await hil.park(1), [['slack', 'trigger', state]]);
  });

  it('Slack by an incoming webhook gets one message for each change, with no token', async () => {
    start(settings({ slack: { webhookUrl: receiver.url } }));
    const row = await hil.park(1);
    await settledAs(row, [['slack', 'trigger', 'delivered']]);
    await hil.settle(row);
    await settledAs(row, [
      ['slack', 'trigger', 'delivered'],
      ['slack', 'resolve:approved', 'delivered'],
    ]);
    expect(receiver.received.map(({ body }) => body['text'])).toEqual([
      'Gate: A call waits for a decision',
      'Gate: A call was approved',
    ]);
  });

  it('a row that nobody has looked at in time is told once more, as one that is urgent', async () => {
    start([
      ...settings({ pagerDuty: { url: receiver.url, routingKey: 'r'.repeat(32) } }),
      ...settings({ teams: { webhookUrl: receiver.url } }),
    ]);
    const row = await hil.park(1);
    await eventually('both messages', () => receiver.received.length === 2);
    await hil.reviews.escalated(row.id, [new Date(hil.now).toISOString()]);
    await hil.reviews.escalated(row.id, [new Date(hil.now + 1).toISOString()]);
    await settledAs(row, [
      ['pagerduty', 'trigger', 'delivered'],
      ['teams', 'trigger', 'delivered'],
      ['pagerduty', 'update:escalated', 'delivered'],
      ['teams', 'update:escalated', 'delivered'],
    ]);
    const later = receiver.received.slice(2).map(({ body }) => body);
    expect(later.find((body) => 'dedup_key' in body)).toMatchObject({
      event_action: 'trigger',
      // Of an incident that is open PagerDuty would alert nobody again.
      dedup_key: `${row.id}:escalated`,
      payload: {
        severity: 'critical',
        summary: 'A call still waits, and its time runs out: wire_transfer by payments-agent',
      },
    });
    expect(JSON.stringify(later)).toContain('"fallbackText":"Gate: A call still waits, and its time runs out"');
  });

  it('PagerDuty opens an incident for each escalation, and ends them with the row', async () => {
    start(settings({ pagerDuty: { url: receiver.url, routingKey: 'r'.repeat(32) } }));
    const row = await hil.park(1);
    await settledAs(row, [['pagerduty', 'trigger', 'delivered']]);
    for (const count of [1, 2]) {
      await hil.reviews.escalated(
        row.id,
        Array.from({ length: count }, (_, at) => new Date(hil.now + at).toISOString()),
      );
      await eventually('the incident', () => {
        hil.now += 20;
        return receiver.received.length === 1 + count;
      });
    }
    await hil.settle(row);
    await eventually('the ends', () => receiver.received.length === 6);
    const told = receiver.received.map(
      ({ body }) => `${body['event_action'] as string} ${body['dedup_key'] as string}`,
    );
    const incidents = [row.id, `${row.id}:escalated`, `${row.id}:escalated-2`];
    expect(told.slice(0, 3)).toEqual(incidents.map((incident) => `trigger ${incident}`));
    expect(told.slice(3).toSorted()).toEqual(incidents.map((incident) => `resolve ${incident}`));
  });

  it('PagerDuty opens one incident for a row and ends it; one approval of several changes nothing', async () => {
    start(settings({ pagerDuty: { url: receiver.url, routingKey: 'r'.repeat(32) } }));
    const row = await hil.park(1);
    await settledAs(row, [['pagerduty', 'trigger', 'delivered']]);
    await hil.reviews.voted(row.id, [
      { by: 'operator:ada', provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' },
    ]);
    await hil.settle(row);
    await settledAs(row, [
      ['pagerduty', 'trigger', 'delivered'],
      ['pagerduty', 'resolve:approved', 'delivered'],
    ]);
    expect(receiver.received.map(({ body }) => [body['event_action'], body['dedup_key']])).toEqual([
      ['trigger', row.id],
      ['resolve', row.id],
    ]);
  });

  it('mail: a thread for each row over real SMTP, in plain text, whatever the agent wrote', async () => {
    const server = await smtp();
    start(
      settings({ mail: { url: server.url, from: 'gate@acme.example', to: ['ops@acme.example', 'ada@acme.example'] } }),
    );
    const row = await hil.park(1, { agent_id: 'x\r\nBcc: evil@evil.example\r\n\r\n<b>approved</b>' });
    await settledAs(row, [['smtp', 'trigger', 'delivered']]);
    await hil.settle(row);
    await eventually('the second mail', () => server.mails.length === 2);
    const [first = '', second = ''] = server.mails;
    const [head = ''] = first.split('\r\n\r\n');
    expect(head).toMatch(/^To: ops@acme\.example, ada@acme\.example$/m);
    expect(head).toMatch(/^Content-Type: text\/plain/m);
    expect(head).toMatch(/^Auto-Submitted: auto-generated$/m);
    expect(first).not.toMatch(/^Bcc:/m);
    expect(first).toContain('x\\u{d}\\nBcc');
    expect(head).toContain(`<${row.id}.trigger@gate.invalid>`);
    expect(second).toContain(`In-Reply-To: <${row.id}.trigger@gate.invalid>`);
    await stop();
    await server.close();
  });

  it('mail: a server that is busy is asked again, one that refuses the receiver is not, one that is gone is dead', async () => {
    const refusals = [451, 550];
    const server = await smtp({
      onRcptTo({ address }, _session, done) {
        const code = refusals.shift();
        const why = `5.1.1 <${address.toUpperCase()}>: ${address} is unknown (expanded to <real.person@mail.acme.example>)`;
        done(code === undefined ? null : Object.assign(new Error(why), { responseCode: code }));
      },
    });
    start(settings({ mail: { url: server.url, from: 'gate@acme.example', to: ['ops@acme.example'] } }));
    const first = await hil.park(1);
    await settledAs(first, [['smtp', 'trigger', 'dead']]);
    expect((await deliveries(first))[0]).toMatchObject({ attempts: 2, error: expect.stringContaining('550') });
    // The server's words, without who was to get it.
    const { error } = (await deliveries(first))[0] ?? {};
    expect(error).toContain('<…>: … is unknown (expanded to <…>)');
    expect(told.join('\n')).not.toMatch(/ops@acme\.example|real\.person/i);
    await server.close();
    const second = await hil.park(2);
    await settledAs(second, [['smtp', 'trigger', 'dead']]);
    expect((await deliveries(second))[0]?.error).not.toContain('127.0.0.1');
  });

  it.each([
    ['for good', [550], 'partial', 1],
    ['for now, and then takes him', [451], 'delivered', 2],
    ['for now, and then for good', [451, 550], 'partial', 2],
    ['for now, again and again', [451, 451, 451, 451], 'partial', 4],
  ])('mail: of several receivers one is refused %s: nobody gets it twice', async (_, codes, state, attempts) => {
    const refusals = [...codes];
    const got: string[][] = [];
    const server = await smtp({
      onRcptTo({ address }, _session, done) {
        const code = address.startsWith('Bob') ? refusals.shift() : undefined;
        done(code === undefined ? null : Object.assign(new Error(`no ${address} here`), { responseCode: code }));
      },
      onData(stream, session, done) {
        got.push(session.envelope.rcptTo.map(({ address }) => address));
        stream.resume().on('end', () => done());
      },
    });
    const to = ['ops@acme.example', 'Bob@acme.example', 'ada@acme.example'];
    start(settings({ mail: { url: server.url, from: 'gate@acme.example', to } }));
    const row = await hil.park(1);
    await settledAs(row, [['smtp', 'trigger', state]]);
    expect(got).toEqual([
      ['ops@acme.example', 'ada@acme.example'],
      ...(state === 'delivered' ? [['Bob@acme.example']] : []),
    ]);
    const [delivery] = await deliveries(row);
    expect(delivery).toMatchObject({ attempts, next_attempt_at: null });
    expect(JSON.stringify(await hil.place.sql('select reached from review_notices'))).not.toContain('acme');
    if (state === 'partial') {
      expect(delivery?.error).toMatch(/(?:refused 1 of 3 receivers|all recipients were rejected).*no … here/);
      expect(told.slice(-2)).toEqual([
        'smtp trigger partial',
        expect.stringMatching(/^smtp trigger gave up: .*no … here/),
      ]);
    }
    const dead_letters = state === 'partial' ? 1 : 0;
    expect((await hil.ask('/notifications/config')).body).toMatchObject({ dead_letters, queued: 0 });
    // How it ended is told to everybody anew.
    await hil.settle(row);
    await settledAs(row, [
      ['smtp', 'trigger', state],
      ['smtp', 'resolve:approved', 'delivered'],
    ]);
    expect(got.at(-1)).toEqual(to);
    await stop();
    await server.close();
  });

  it('mail: a server that says a line now and then and never comes to an end holds up one attempt, not the channel', async () => {
    const open = new Set<Socket>();
    let drips = true;
    const server = createTcpServer((socket) => {
      open.add(socket.on('error', () => undefined));
      socket.on('close', () => open.delete(socket));
      socket.write('220 mail\r\n');
      let inMail = false;
      socket.on('data', (data) => {
        const said = data.toString();
        if (drips) setInterval(() => socket.write('250-X\r\n'), 50).unref();
        else if (inMail) {
          inMail = !said.endsWith('\r\n.\r\n');
          if (!inMail) socket.write('250 taken\r\n');
        } else {
          inMail = said.startsWith('DATA');
          socket.write(inMail ? '354 go on\r\n' : '250 ok\r\n');
        }
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      start(settings({ timeoutMs: 500, mail: { url, from: 'gate@acme.example', to: ['ops@acme.example'] } }));
      const row = await hil.park(1);
      await eventually('its first attempt is over', async () => (await deliveries(row))[0]?.error != null);
      expect((await deliveries(row))[0]?.error).toBe('the server did not take the mail within 0.5 s');
      await eventually('its connection is closed', () => open.size === 0);
      drips = false;
      await settledAs(row, [['smtp', 'trigger', 'delivered']]);
    } finally {
      await stop();
      server.close();
      for (const socket of open) socket.destroy();
    }
  });

  it('mail: a password is not sent to a server without TLS', async () => {
    const seen: string[] = [];
    const server = await smtp({
      disabledCommands: ['STARTTLS'],
      onAuth: (auth, _session, done) => {
        seen.push(auth.method);
        done(null, { user: 'gate' });
      },
    });
    const url = server.url.replace('smtp://', 'smtp://gate:a-password@');
    start(settings({ mail: { url, from: 'gate@acme.example', to: ['ops@acme.example'] } }));
    await settledAs(await hil.park(1), [['smtp', 'trigger', 'dead']]);
    expect(seen).toEqual([]);
    expect(server.mails).toEqual([]);
    await stop();
    await server.close();
  });
});

describe('the routes of notifications', () => {
  const openWith = async (channels: readonly Channel[]) => {
    hil = await openHil('sqlite');
    const { reviews } = hil;
    const made = createNotifier({
      reviews,
      notices: reviews.notices,
      channels,
      tenants: [],
      clock: () => hil.now,
      observe: () => undefined,
      gaveUp: () => undefined,
      failed: () => undefined,
    });
    await hil.serve({ notifications: { mode: 'warn', notifier: made } });
    notifier = made;
  };

  it('say which channels are set, and nothing of where they are', async () => {
    await openWith(webhook());
    const { status, body, text } = await hil.ask('/notifications/config');
    expect([status, body]).toEqual([
      200,
      {
        mode: 'warn',
        viable: true,
        slack: false,
        teams: false,
        pagerduty: false,
        webhook: true,
        smtp: false,
        escalation_pools: [],
        queued: 0,
        dead_letters: 0,
      },
    ]);
    expect(text).not.toMatch(/127\.0\.0\.1|bbbb/);
  });

  it('send a message of a test to every channel and say which took it', async () => {
    await openWith([...webhook(), ...channelsOf({ ...parts, teams: { webhookUrl: 'http://127.0.0.1:1/x' } })]);
    const answer = await hil.ask('/notifications/test', { method: 'POST', token: OPERATOR });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        webhook: true,
        results: {
          webhook: { outcome: 'sent' },
          teams: { outcome: 'failed', reason: expect.stringContaining('fetch failed') },
        },
      },
    });
    expect(answer.text).not.toContain('127.0.0.1');
    for (const body of [{ unknown: true }, []])
      expect((await hil.ask('/notifications/test', { method: 'POST', token: OPERATOR, body })).status).toBe(400);
    expect(events().map(({ phase, status }) => [phase, status])).toEqual([
      ['trigger', 'pending'],
      ['resolve', 'withdrawn'],
    ]);
    expect(events().map(({ test, headline }) => [test, headline.slice(0, 4)])).toEqual([
      [true, 'TEST'],
      [true, 'TEST'],
    ]);
  });

  it.each([
    ['with no type', {}],
    ['with the type of a body that is not there', { 'content-type': 'application/json' }],
  ])('are no test where none is set, asked %s: 409 names the settings of which one is missing', async (_, headers) => {
    await openWith([]);
    expect(await hil.ask('/notifications/test', { method: 'POST', token: OPERATOR, headers })).toMatchObject({
      status: 409,
      body: { error: 'no_channel_set', reason: expect.stringMatching(/GATE_HIL_SLACK_BOT_TOKEN.*GATE_HIL_SMTP_URL/) },
    });
  });

  it('name the pools, test their channels too, and let rows be left to these alone', async () => {
    await openWith([...webhook(), ...channelsOf({ ...parts, teams: { webhookUrl: receiver.url } }, 'payments')]);
    expect((await hil.ask('/notifications/config')).body).toMatchObject({
      teams: false,
      escalation_pools: ['payments'],
    });
    expect((await hil.ask('/notifications/test', { method: 'POST', token: OPERATOR })).body).toMatchObject({
      results: { webhook: { outcome: 'sent' }, 'teams@payments': { outcome: 'sent' } },
    });
    const row = await hil.park(1);
    const assign = (escalation_pool: string) =>
      hil.ask(`/pending/${row.id}/assign`, {
        method: 'POST',
        token: OPERATOR,
        body: { assigned_to: 'ada', escalation_pool },
      });
    expect(await assign('platform')).toMatchObject({
      status: 400,
      body: { error: 'unknown_escalation_pool', escalation_pools: ['payments'] },
    });
    expect(await hil.reviews.get(row.id)).toMatchObject({ assigned_to: null, escalation_pool: null });
    expect(await assign('payments')).toMatchObject({ status: 200, body: { escalation_pool: 'payments' } });
  });

  it.each([
    ['another service', { as: 'proxy', token: OPERATOR }, 403],
    ['nobody in particular', {}, 401],
  ])('are no test for %s', async (_, asked, status) => {
    await openWith(webhook());
    expect((await hil.ask('/notifications/test', { method: 'POST', ...asked })).status).toBe(status);
    expect(receiver.received).toEqual([]);
  });
});
