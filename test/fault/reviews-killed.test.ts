import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { channelsOf } from '../../adapters/notification/channels.js';
import type { PendingRequest, SettledReview } from '../../contracts/review.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { placesOf } from '../../domain/notification/lines.js';
import { createNotifier, type Notifier } from '../../domain/notification/notifier.js';
import type { NoticeStore } from '../../domain/notification/ports.js';
import { editedSqlite } from '../support/edited-store.js';
import { foundInFiles } from '../support/file-bytes.js';
import type { ReviewProcess, Statement } from '../support/review-process.js';
import { eventually } from '../support/waiting.js';
import { openReviewStore, type WholeReviews } from '../support/whole-reviews.js';

const PROCESS = fileURLToPath(new URL('../../dist/test/support/review-process.js', import.meta.url));
const KEYS = `test:${'0123456789abcdef'.repeat(4)}`;
const T0 = Date.parse('2026-11-23T08:00:00.000Z');
const DAY_MS = 86_400_000;

let folder: string;
let file: string;
let store: WholeReviews;
let now: number;
const open = async () =>
  (store = await openReviewStore({ target: { file }, payloadKeys: parseKeyRing(KEYS), clock: () => now }));
const all = (text: string, values: readonly unknown[] = []) => editedSqlite(file).all(text, values);

async function park(n: number): Promise<PendingRequest> {
  const { row } = await store.createOnce({
    agent_id: 'payments-agent',
    correlation_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
    method: 'tools/call',
    request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n } } },
    risk_summary: 'money movement',
    state_namespace: 'operator',
    ttl_seconds: 600,
    created_at: new Date(T0).toISOString(),
    review_reasons: ['money movement'],
    approval_tier: 'standard',
    tenant: 'acme',
  });
  return row;
}
const settlementOf = ({ id }: PendingRequest): SettledReview => ({
  pending_id: id,
  status: 'approved',
  decided_at: new Date(T0 + 5_000).toISOString(),
  decided_by: 'operator:dev',
  decision_reason: null,
  decided_via: 'console',
  principal: null,
});
const settle = (row: PendingRequest) => store.settle(settlementOf(row));

/** Lets another process do this on the same store until it is killed with SIGKILL, and opens the store again. */
async function killed(does: ReviewProcess['does']): Promise<void> {
  await store.close();
  const given: ReviewProcess = { file, keys: KEYS, now, does };
  const child = spawn(process.execPath, [PROCESS, JSON.stringify(given)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // SIGTERM ends a process that never came to where it is killed.
    timeout: 20_000,
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  expect([code, signal, errors]).toEqual([null, 'SIGKILL', '']);
  await open();
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-reviews-killed-'));
  file = join(folder, 'hil.db');
  now = T0;
  await open();
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

describe('kill -9 while what a review holds is deleted', () => {
  /** Bytes that only the sealed request of a row, and its wrapped key, consist of. */
  async function sealedBytes({ id }: PendingRequest): Promise<Buffer[]> {
    const [row] = await all('select payload, wrapped from reviews join review_keys on review_id = id where id = ?', [
      id,
    ]);
    return [row?.['payload'], row?.['wrapped']].map((bytes) => Buffer.from(bytes as Uint8Array).subarray(-24));
  }
  const rowsAndKeys = () =>
    all(`select id, payload is not null as sealed, wrapped is not null as keyed
      from reviews left join review_keys on review_id = id order by id`);
  const records = () => all('select pending_id, "trigger", disposition from hil_deletion_audit order by pending_id');
  const KEY: Statement = { after: 'delete', on: 'review_keys' };
  const RECORD: Statement = { after: 'insert', on: 'hil_deletion_audit' };

  it.each([
    ['the row has changed, before its key goes', { after: 'update', on: 'reviews' }],
    ['the key is gone, before the deletion is recorded', KEY],
    ['the deletion is recorded, before the commit', RECORD],
  ] as [string, Statement][])(
    'a request at its date, once %s: it is whole, and the next sweep deletes it',
    async (_, dies) => {
      const row = await park(1);
      await settle(row);
      const probes = await sealedBytes(row);
      now = T0 + 8 * DAY_MS;
      await killed({ act: 'sweep', dies });
      expect(await rowsAndKeys()).toEqual([{ id: row.id, sealed: 1, keyed: 1 }]);
      // After its date nobody is shown the request any more, so look from before it.
      now = T0 + DAY_MS;
      expect((await store.get(row.id))?.request_payload).toEqual(row.request_payload);
      now = T0 + 8 * DAY_MS;
      expect(await records()).toEqual([]);
      expect(await store.sweep()).toEqual({ purged: 1, deleted: 0, failed: 0 });
      expect(await rowsAndKeys()).toEqual([{ id: row.id, sealed: 0, keyed: 0 }]);
      expect(await records()).toEqual([
        { pending_id: row.id, trigger: 'payload_deadline', disposition: 'payload_purged' },
      ]);
      expect(await foundInFiles(folder, probes)).toBe(0);
    },
  );

  it.each([['the key is gone too, before the deletion is recorded', KEY]] as [string, Statement][])(
    'a row at its date, once %s: it is there with its key, and the next sweep deletes both',
    async (_, dies) => {
      const row = await park(1);
      await settle(row);
      const probes = [...(await sealedBytes(row)), Buffer.from(row.correlation_id)];
      now = T0 + 31 * DAY_MS;
      await killed({ act: 'sweep', dies });
      expect(await rowsAndKeys()).toEqual([{ id: row.id, sealed: 1, keyed: 1 }]);
      expect(await records()).toEqual([]);
      await store.sweep();
      expect(await rowsAndKeys()).toEqual([]);
      expect(await records()).toMatchObject([{ pending_id: row.id }]);
      expect(await foundInFiles(folder, probes)).toBe(0);
    },
  );

  it('after the commit, before the log is emptied: the bytes are still in a file, and go with the first sweep after the restart', async () => {
    const row = await park(1);
    await settle(row);
    const probes = await sealedBytes(row);
    now = T0 + 8 * DAY_MS;
    await killed({ act: 'sweep', dies: 'before the log is emptied' });
    expect(await rowsAndKeys()).toEqual([{ id: row.id, sealed: 0, keyed: 0 }]);
    expect(await foundInFiles(folder, probes)).toBe(2);
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    expect(await foundInFiles(folder, probes)).toBe(0);
    expect(await records()).toHaveLength(1);
  });

  it('in the middle of the rows of a tenant that leaves: those before are gone, the others whole, and the repeat deletes them', async () => {
    const rows = [await park(1), await park(2), await park(3)];
    for (const row of rows) await settle(row);
    const probes = (await Promise.all(rows.map(sealedBytes))).flat();
    await killed({ act: 'erase', tenant: 'acme', dies: { ...KEY, row: 2 } });
    expect(await rowsAndKeys()).toMatchObject([
      { sealed: 1, keyed: 1 },
      { sealed: 1, keyed: 1 },
    ]);
    expect(await records()).toHaveLength(1);
    expect(await store.erase({ tenant: 'acme' }, 'tenant_offboard', Number.MAX_SAFE_INTEGER)).toEqual({
      deleted: 2,
      held: 0,
      complete: true,
    });
    expect(await rowsAndKeys()).toEqual([]);
    expect(await records()).toHaveLength(3);
    expect(await foundInFiles(folder, probes)).toBe(0);
  });
});

describe('kill -9 while a review is settled', () => {
  const kept = () => all('select span_ms, approved, took from review_decisions order by span_ms');
  const once = (approved: number) =>
    [60_000, 3_600_000, 86_400_000].map((span_ms) => ({ span_ms, approved, took: `{"500e1":${approved}}` }));

  it.each([
    ['the row has changed, before it is counted', { after: 'update', on: 'reviews' }],
    ['it is counted for its minute alone', { after: 'insert', on: 'review_decisions' }],
    ['it is counted, before the commit', { after: 'insert', on: 'review_decisions', row: 3 }],
  ] as [string, Statement][])(
    'once %s: nobody decided it, and it counts once when it is decided again',
    async (_, dies) => {
      const row = await park(1);
      await killed({ act: 'settle', settlement: settlementOf(row), dies });
      expect(await store.get(row.id)).toMatchObject({ status: 'pending' });
      expect(await kept()).toEqual([]);
      await settle(row);
      expect(await kept()).toEqual(once(1));
    },
  );

  it('beside others that were counted: their count stays', async () => {
    const [one, other] = [await park(1), await park(2)];
    await settle(one);
    await killed({
      act: 'settle',
      settlement: settlementOf(other),
      dies: { after: 'update', on: 'review_decisions', row: 2 },
    });
    expect(await kept()).toEqual(once(1));
    await settle(other);
    expect(await kept()).toEqual(once(2));
  });
});

describe('kill -9 while a code links an account of a chat', () => {
  const CODE = 'c'.repeat(64);
  it.each([
    ['the link is written, before its code is used up', { after: 'insert', on: 'chat_links' }],
    ['the code is used up too, before the commit', { after: 'insert', on: 'chat_clicks' }],
  ] as [string, Statement][])('once %s: there is no link, and the code makes it', async (_, dies) => {
    await killed({ act: 'link', code: CODE, dies });
    expect(await all('select oidc_sub from chat_links')).toEqual([]);
    expect(await all('select digest from chat_clicks')).toEqual([]);
    const link = { oidc_sub: 'ada', slack_user_id: 'U1' };
    expect(await store.chatLinks.upsert('acme', link, CODE)).toMatchObject(link);
    await expect(store.chatLinks.upsert('acme', link, CODE)).rejects.toMatchObject({ code: 'link_code_invalid' });
  });
});

describe('kill -9 while a chat is told', () => {
  let slack: Server;
  let slackUrl: string;
  let cards: { readonly path: string; readonly ts: unknown; readonly text: unknown }[];
  let notifier: Notifier | null;
  beforeEach(async () => {
    cards = [];
    notifier = null;
    slack = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        const body = JSON.parse(text) as Record<string, unknown>;
        cards.push({ path: request.url ?? '', ts: body['ts'], text: body['text'] });
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ok: true, channel: 'C1', ts: body['ts'] ?? `17.${cards.length}` }));
      });
    });
    slack.listen(0, '127.0.0.1');
    await once(slack, 'listening');
    slackUrl = `http://127.0.0.1:${(slack.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    await notifier?.close();
    slack.closeAllConnections();
    slack.close();
  });

  function follow(): void {
    notifier = createNotifier({
      reviews: store,
      notices: store.notices,
      channels: channelsOf({
        timeoutMs: 5_000,
        slackDecides: false,
        teamsDecides: false,
        places: placesOf(undefined, Buffer.alloc(32, 7)),
        slack: { apiUrl: slackUrl, token: 'xoxb-0123456789', channel: 'C1' },
      }),
      tenants: [],
      clock: () => now,
      observe: () => undefined,
      gaveUp: () => undefined,
      failed: () => undefined,
      lookMs: 20,
    });
    notifier.start();
  }
  async function unfollow(): Promise<void> {
    await notifier?.close();
    notifier = null;
  }
  const delivered = ({ id }: PendingRequest, count: number) =>
    eventually(`${count} messages are delivered`, async () => {
      const all = await store.notices.deliveriesOf(id);
      return all.length === count && all.every(({ state }) => state === 'delivered');
    });
  const tell = (dies: keyof NoticeStore) => killed({ act: 'tell', slackUrl, dies });

  const WAITS = 'Gate: A call waits for a decision';
  const URGENT = 'Gate: A call still waits, and its time runs out';
  const APPROVED = 'Gate: A call was approved';

  it.each(['add', 'claim'] as const)(
    'before the first card is sent (%s): it is sent once after the restart',
    async (dies) => {
      const row = await park(1);
      await tell(dies);
      expect(cards).toEqual([]);
      follow();
      await delivered(row, 1);
      expect(cards.map(({ text }) => text)).toEqual([WAITS]);
    },
  );

  it('once a card is sent, before that is recorded: after a minute it is sent again, says the same, and is the one that changes later', async () => {
    const row = await park(1);
    await tell('delivered');
    expect(cards).toHaveLength(1);
    now += 60_000;
    follow();
    await delivered(row, 1);
    await settle(row);
    await delivered(row, 2);
    expect(cards).toEqual([
      { path: '/chat.postMessage', ts: undefined, text: WAITS },
      { path: '/chat.postMessage', ts: undefined, text: WAITS },
      { path: '/chat.update', ts: '17.2', text: APPROVED },
    ]);
  });

  it('once a card was changed after a decision elsewhere, before that is recorded: the same card is changed again, and there is no other', async () => {
    const row = await park(1);
    follow();
    await delivered(row, 1);
    await unfollow();
    await settle(row);
    await tell('delivered');
    now += 60_000;
    follow();
    await delivered(row, 2);
    expect(cards).toEqual([
      { path: '/chat.postMessage', ts: undefined, text: WAITS },
      { path: '/chat.update', ts: '17.1', text: APPROVED },
      { path: '/chat.update', ts: '17.1', text: APPROVED },
    ]);
  });

  // At 'add' nothing is written of it; at 'claim' the message is written and not sent.
  it.each(['add', 'claim'] as const)(
    'once a row is escalated (%s): the card says so, and a new message, once after the restart',
    async (dies) => {
      const row = await park(1);
      follow();
      await delivered(row, 1);
      await unfollow();
      await store.escalated(row.id, [new Date(now + 1_000).toISOString()]);
      await tell(dies);
      expect(cards).toHaveLength(1);
      follow();
      await delivered(row, 2);
      expect(cards.slice(1)).toEqual([
        { path: '/chat.update', ts: '17.1', text: URGENT },
        { path: '/chat.postMessage', ts: undefined, text: URGENT },
      ]);
    },
  );
});
