import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hilMigrations } from '../../migrations/hil.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import type { NewReview, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { type KeyRing, keyRing } from '../../domain/crypto/key-ring.js';
import type { Store } from '../store/database.js';
import { openLocalFile } from '../store/local-file.js';
import { sealReviews } from './seal-reviews.js';
import { OPENED } from './summaries.js';
import { reviewIdOf, REVIEW_AUTHENTICATED, REVIEW_NOT_AUTHENTICATED } from '../../domain/review/sealed-review.js';
import type { ReviewTables } from './tables.js';
import { openReviewStore, reviewStoreOver, type WholeReviews } from '../../test/support/whole-reviews.js';
import { eventually } from '../../test/support/waiting.js';
import { writeMigrated } from '../../test/support/migrated-file.js';

const key = (name: string): [string, Buffer] => [name, Buffer.alloc(32, name)];
const KEYS = keyRing(new Map([key('payloads')]));
const ROTATED = keyRing(new Map([key('newer'), key('payloads')]));
const T0 = Date.parse('2026-03-02T10:00:00Z');
const clock = () => T0 + 1_000;
let count = 0;
const correlation = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const reviewOf = (n: number, over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(n),
  method: 'tools/call',
  request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: new Date(T0).toISOString(),
  attempt_ms: T0,
  review_reasons: ['money movement'],
  approval_tier: 'standard',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/payments-agent',
  tenant: 'acme',
  ...over,
});
const report: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'gate-sandbox/1',
  analyzed: true,
  operation_class: 'delete',
  severity: 'destructive',
  reversible: 'no',
  summary: 'delete file `accounts.db`',
  reasons: ['a file or folder is removed'],
  targets: ['accounts.db'],
  predicted_changes: [{ kind: 'delete', target: 'accounts.db' }],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: null,
};
const SCORED = { sandbox_report: { severity: 'destructive' } };
const settlementOf = (id: string, status: SettledReview['status'] = 'approved'): SettledReview => ({
  pending_id: id,
  status,
  decided_at: new Date(T0 + 500).toISOString(),
  decided_by: 'operator:dev',
  decision_reason: null,
  decided_via: 'console',
  principal: null,
});

const inFile = async (file: string, keys: KeyRing): Promise<WholeReviews> => {
  const opened = await openLocalFile({
    file,
    migrations: { hil: hilMigrations },
    prepare: (store) => sealReviews(store as unknown as Store<ReviewTables>, keys, clock),
  });
  const store = reviewStoreOver(opened.store<ReviewTables>(), { payloadKeys: keys, clock });
  return {
    ...store,
    ready: () => opened.durable(),
    close: async () => void (await opened.close()),
  };
};

afterAll(stopEditedPostgres);
describe.each([
  [
    'SQLite',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-review-tamper-'));
      const target = { file: join(folder, 'hil.db') };
      await writeMigrated(target.file, hilMigrations);
      return {
        ...editedSqlite(target.file),
        folder,
        open: (payloadKeys: KeyRing) => openReviewStore({ target, payloadKeys, clock }),
      };
    },
  ],
  [
    "lite's file",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-review-tamper-'));
      const file = join(folder, 'lite.db');
      return { ...editedSqlite(file), folder, open: (keys: KeyRing) => inFile(file, keys) };
    },
  ],
  [
    'Postgres',
    async () => {
      const { target, ...edited } = await editedPostgres('reviews', hilMigrations);
      return {
        ...edited,
        folder: null,
        open: (payloadKeys: KeyRing) => openReviewStore({ target, payloadKeys, clock }),
      };
    },
  ],
])("whoever edits the review store shows an operator nothing as Gate's: %s", (where, newPlace) => {
  let place: EditedStore & { folder: string | null; open: (keys: KeyRing) => Promise<WholeReviews> };
  let store: WholeReviews;
  let told: string[];
  const start = async (keys = KEYS) => {
    store = await place.open(keys);
    store.onTampered(({ id }) => told.push(id));
  };
  const edited = async (edit: () => Promise<unknown>) => {
    await store.close();
    await edit();
    await start();
  };
  beforeEach(async () => {
    told = [];
    place = await newPlace();
    await start();
  }, 60_000);
  afterEach(async () => {
    await store.close();
    if (place.folder) await rm(place.folder, { recursive: true, force: true });
  });
  const made = async (state: 'pending' | 'settled' = 'pending'): Promise<string> => {
    const { row } = await store.createOnce(reviewOf((count += 1)));
    if (state === 'settled') await store.settle(settlementOf(row.id, 'denied'));
    return row.id;
  };
  const put = (id: string, values: Record<string, unknown>) => place.put('reviews', 'id', id, values);
  const rowOf = async (id: string) => {
    // Until what was written is in the file, only its own process can read it.
    await store.ready();
    return (await place.all('select * from reviews where id = ?', [id]))[0] ?? {};
  };
  const listed = async (tenant = 'acme', status: 'pending' | 'tampered' = 'pending') =>
    (await store.list({ tenant, status })).rows;
  const refused = { code: 'review_tampered', status: 409 };

  it("opens no door by a tenant's state that it edited, and takes no receipt from it", async () => {
    const operation = {
      tenant: 'acme',
      kind: 'offboard',
      asked_by: 'operator:dev',
      operation_id: randomUUID(),
    } as const;
    await store.tenants.begin(operation);
    await edited(() => place.put('review_tenants', 'tenant', 'acme', { state: 'active' }));
    await expect(store.createOnce(reviewOf((count += 1)))).rejects.toMatchObject({ code: 'tenant_offboarded' });
    await expect(store.tenants.begin({ ...operation, operation_id: randomUUID() })).rejects.toMatchObject(refused);
    await edited(() =>
      place.put('review_tenant_operations', 'operation_id', operation.operation_id, { kind: 'provision' }),
    );
    await expect(store.tenants.begin(operation)).rejects.toMatchObject(refused);
  });

  it('shows nothing of an edited row in what changed since that call', async () => {
    const earlier = await made('settled');
    const { row } = await store.createOnce(reviewOf((count += 1), { created_at: new Date(T0 + 1).toISOString() }));
    expect(await store.sinceLast(row)).toMatchObject({ pending_id: earlier, arguments: 'changed', status: 'denied' });
    await edited(() => put(earlier, { status: 'approved', decided_by: 'operator:mallory' }));
    expect(await store.sinceLast(row)).toMatchObject({
      pending_id: earlier,
      status: 'tampered',
      decided_by: null,
      arguments: 'unavailable',
      changes: [],
    });
    expect(told).toEqual([earlier]);
    await edited(() => put(earlier, { minimized_payload: 'no JSON' }));
    expect(await store.sinceLast(row)).toBeNull();
  });

  it('has every column of every table classified', async () => {
    const known = {
      reviews: [...REVIEW_AUTHENTICATED, ...REVIEW_NOT_AUTHENTICATED],
      review_keys: ['review_id', 'wrapped'],
      review_counts: ['hour', 'shard', 'tenant', 'waiting'],
      // Counts decide nothing: whoever edits them changes statistics.
      review_decisions: [
        'aborted',
        'approved',
        'decided_by',
        'denied',
        'expired',
        'modified',
        'modified_denied',
        'shard',
        'span_ms',
        'start_ms',
        'tenant',
        'took',
      ],
      review_holds: ['mac', 'operation_id', 'pending_id', 'receipt', 'request', 'tenant'],
      hil_deletion_audit: [
        'at_ms',
        'disposition',
        'id',
        'original_payload_sha256',
        'pending_id',
        'retention_policy',
        'retention_tier',
        'state',
        'tenant',
        'trigger',
      ],
      // A message has a MAC of its own over its words and where it goes; not over whether it was sent.
      review_notices: [
        'notification_id',
        'channel',
        'pending_id',
        'notice',
        'handle',
        'mac',
        'ordinal',
        'kind',
        'state',
        'attempts',
        'due_ms',
        'delivered_ms',
        'error',
        // Whoever edits these keeps somebody from being told, as whoever deletes the message does.
        'reached',
        'limited',
        'limited_ms',
      ],
      review_last_notices: [
        'notification_id',
        'channel',
        'notice',
        'handle',
        'mac',
        'attempts',
        'due_ms',
        'until_ms',
        'reached',
        'limited',
      ],
      // As above: an editor has a channel rest, at most five minutes at a time.
      review_channel_rests: ['channel', 'place', 'refusals', 'until_ms'],
      // Only what a sweep compares its clock with: it deletes nothing that its clock does not call due.
      review_sweeps: ['doubted_ms', 'id', 'looked_ms', 'swept_ms'],
      // A link has a MAC of its own.
      chat_links: ['linked_ms', 'mac', 'oidc_sub', 'slack_user_id', 'teams_user_id', 'tenant', 'verified_ms'],
      chat_clicks: ['at_ms', 'digest'],
      review_seal: ['id', 'mac'],
      review_tenants: ['generation', 'mac', 'operation_id', 'state', 'tenant'],
      review_tenant_operations: [
        'asked_by',
        'begun_ms',
        'generation',
        'kind',
        'mac',
        'operation_id',
        'pending_denied',
        'receipt',
        'tenant',
      ],
      passkeys: ['counter', 'created_ms', 'credential_id', 'mac', 'public_key', 'subject', 'tenant'],
      passkey_standings: ['counts', 'generation', 'mac', 'subject', 'tenant'],
      vouched_people: ['mac', 'role', 'since_ms', 'subject', 'tenant', 'vouched_ms'],
      passkey_recoveries: ['attempts', 'expires_ms', 'mac', 'subject', 'tenant', 'token_sha256'],
      passkey_ceremonies: [
        'attempts',
        'challenge_sha256',
        'created_ms',
        'expires_ms',
        'id_sha256',
        'mac',
        'purpose',
        'subject',
        'tenant',
      ],
    };
    expect(await place.columns()).toMatchObject(
      Object.fromEntries(
        Object.entries(known).map(([table, columns]) => [
          table,
          Object.fromEntries(columns.map((column) => [column, expect.any(String)])),
        ]),
      ),
    );
    const tables = await place.columns();
    expect(Object.keys(tables).sort()).toEqual(Object.keys(known).sort());
    expect(Object.keys(tables['reviews'] ?? {}).sort()).toEqual([...known.reviews].sort());
  });

  it.each([
    ['pending', 'that it has yet to read'],
    ['settled', 'that it has yet to read'],
    ['pending', 'that it has just shown'],
    ['settled', 'that it has just shown'],
  ] as const)('finds any change of any column of a %s review %s', async (state, when) => {
    const types = (await place.columns())['reviews'] ?? {};
    const edits: { id: string; column: string; value: unknown }[] = [];
    for (const column of [...REVIEW_AUTHENTICATED, 'mac']) {
      if (column === 'id') continue;
      const id = await made(state);
      const was = (await rowOf(id))[column];
      const value = /int/.test(types[column] ?? '') ? Number(was) + 1 : `${typeof was === 'string' ? was : ''}x`;
      edits.push({ id, column, value });
      if (
        was !== null &&
        (column === 'version' ||
          column === 'mac' ||
          column === 'settled' ||
          column === 'approval_tier' ||
          column === 'agent_spiffe')
      )
        edits.push({ id: await made(state), column, value: null });
    }
    const good = await made(state);
    const edit = async () => {
      for (const { id, column, value } of edits) await put(id, { [column]: value });
    };
    if (when === 'that it has just shown') {
      for (const { id } of edits) expect(await store.get(id)).toMatchObject({ id });
      await store.ready();
      await edit();
    } else await edited(edit);
    for (const { id, column } of edits) {
      await expect(store.get(id).then((row) => [column, row?.status])).rejects.toMatchObject(refused);
      await expect(store.settle(settlementOf(id))).rejects.toMatchObject(refused);
    }
    expect([...told].sort()).toEqual(edits.map(({ id }) => id).sort());
    expect((await store.get(good))?.status).toBe(state === 'settled' ? 'denied' : 'pending');
    await edited(() => Promise.resolve());
    for (const { id } of edits) await expect(store.get(id)).rejects.toMatchObject(refused);
    expect(told).toHaveLength(edits.length);
  });

  it('lists such a row as tampered, with nothing that somebody may have written, and the others as they are', async () => {
    const [bad, good] = [await made(), await made()];
    await edited(() => put(bad, { risk_summary: 'a harmless look', minimized_payload: '{"no":"json', created_ms: 7 }));
    const rows = await listed();
    expect(rows.find(({ id }) => id === bad)).toMatchObject({
      status: 'tampered',
      agent_id: 'unknown',
      request_payload: {},
    });
    expect(JSON.stringify(rows.find(({ id }) => id === bad))).not.toContain('harmless');
    expect(rows.find(({ id }) => id === good)).toMatchObject({ status: 'pending', risk_summary: 'money movement' });
    expect((await listed('acme', 'tampered')).map(({ id }) => id)).toEqual([bad]);
    expect(told).toEqual([bad]);
  });

  it('lists and summarizes the others also where a number of a row is larger than numbers are', async () => {
    const columns = ['version', 'created_ms', 'deadline_ms', 'payload_expires_ms', 'metadata_expires_ms'];
    // No MAC covers these.
    const uncovered = ['attempt_ms', 'decided_ms', 'change_seq'];
    const bad: string[] = [];
    const good = [await made()];
    for (const column of [...columns, ...uncovered]) {
      const id = await made();
      (uncovered.includes(column) ? good : bad).push(id);
      await edited(() => put(id, { [column]: '9223372036854775807' }));
    }
    const page = await store.summaries({ tenants: ['acme'], status: 'pending', sort: 'newest', limit: 50 });
    for (const rows of [await listed(), page.items])
      expect(Object.fromEntries(rows.map(({ id, status }) => [id, status]))).toEqual({
        ...Object.fromEntries(bad.map((id) => [id, 'tampered'])),
        ...Object.fromEntries(good.map((id) => [id, 'pending'])),
      });
    expect([...told].sort()).toEqual(bad.toSorted());
    for (const id of bad) await expect(store.get(id)).rejects.toMatchObject(refused);
    for (const id of good) expect(await store.get(id)).toMatchObject({ status: 'pending' });
  });

  it.each(['9223372036854775807', '9007199254740991'])(
    'hides no change of the others where the number of a change is %s',
    async (number) => {
      const [bad, other] = [await made(), await made()];
      await edited(() => put(bad, { change_seq: number }));
      const changes = store.changes();
      expect(await changes.next()).toEqual({ changes: [], gap: false });
      const events = async () => (await changes.next()).changes.map(({ type, row }) => [type, row.id]);
      const created = await made();
      expect(await events()).toEqual([['created', created]]);
      await store.settle(settlementOf(other, 'denied'));
      expect(await events()).toEqual([['decided', other]]);
      await store.settle(settlementOf(bad, 'denied'));
      expect(await events()).toEqual([['decided', bad]]);
      expect(await events()).toEqual([]);
    },
  );

  it('tells once that there is more than it can tell where the number of a change is none, also of a change that it hides', async () => {
    const [bad, other] = [await made(), await made()];
    const changes = store.changes();
    expect(await changes.next()).toEqual({ changes: [], gap: false });
    await store.settle(settlementOf(bad, 'denied'));
    // Lite's file is locked until its transaction is committed.
    await eventually('somebody edits it', () =>
      put(bad, { change_seq: '9223372036854775807' }).then(
        () => true,
        () => false,
      ),
    );
    expect(await changes.next()).toEqual({ changes: [], gap: true });
    expect(await changes.next()).toEqual({ changes: [], gap: false });
    await store.settle(settlementOf(other, 'denied'));
    expect((await changes.next()).changes.map(({ row }) => row.id)).toEqual([other]);
  });

  it('lists, counts, tells and decides rows that have no number of a change, as those of an older store, and hides no change of the others', async () => {
    const [one, other] = [await made(), await made()];
    await edited(async () => {
      for (const id of [one, other]) await put(id, { change_seq: null });
    });
    const page = await store.summaries({ tenants: ['acme'], status: 'pending', sort: 'newest', limit: 50 });
    for (const rows of [await listed(), page.items])
      expect(Object.fromEntries(rows.map(({ id, status }) => [id, status]))).toEqual({
        [one]: 'pending',
        [other]: 'pending',
      });
    expect(page.pending_count).toBe(2);
    expect(await store.get(one)).toMatchObject({ status: 'pending' });
    const changes = store.changes();
    const events = async () => (await changes.next()).changes.map(({ type, row }) => [type, row.id]);
    // No row has a number: the first one that changes is told all the same.
    expect(await changes.next()).toEqual({ changes: [], gap: false });
    await store.settle(settlementOf(one, 'denied'));
    expect(await events()).toEqual([['decided', one]]);
    const created = await made();
    expect(await events()).toEqual([['created', created]]);
    await store.settle(settlementOf(created, 'denied'));
    // Lite's file is locked until its transaction is committed.
    await eventually('somebody edits it', () =>
      put(created, { change_seq: null }).then(
        () => true,
        () => false,
      ),
    );
    expect(await changes.next()).toEqual({ changes: [], gap: true });
    expect(await changes.next()).toEqual({ changes: [], gap: false });
    await store.settle(settlementOf(other, 'denied'));
    expect(await events()).toEqual([['decided', other]]);
    expect(told).toEqual([]);
  });

  it.each(['9223372036854775807', '9000000000000000'])(
    'goes on behind a row whose time is %s, page by page',
    async (created_ms) => {
      const [bad, good] = [await made(), await made()];
      await edited(() => put(bad, { created_ms }));
      const list = { tenants: ['acme'], status: 'pending', sort: 'newest', limit: 1 } as const;
      const first = await store.summaries(list);
      expect(first.items).toMatchObject([{ id: bad, status: 'tampered' }]);
      const second = await store.summaries({ ...list, cursor: first.next_cursor ?? '' });
      expect([second.items, second.next_cursor]).toMatchObject([[{ id: good }], null]);
    },
  );

  it.each([
    ['1.5', 'oldest'],
    ['9.3e18', 'newest'],
    ['-9.3e18', 'oldest'],
    ['no time', 'newest'],
  ] as const)('goes on behind a row whose time is no integer: %s', async (created_ms, sort) => {
    const [bad, good] = [await made(), await made()];
    const edit = edited(() => put(bad, { created_ms }));
    // The column of a database with types takes none.
    if (where === 'Postgres') {
      await expect(edit).rejects.toThrow(/invalid input syntax/);
      return start();
    }
    await edit;
    const list = { tenants: ['acme'], status: 'pending', sort, limit: 1 } as const;
    const first = await store.summaries(list);
    expect(first.items).toMatchObject([{ id: bad, status: 'tampered' }]);
    expect(await store.summaries({ ...list, cursor: first.next_cursor ?? '' })).toMatchObject({
      items: [{ id: good }],
    });
  });

  it('walks over the undecided without a row whose deadline is none', async () => {
    const [bad, good] = [await made(), await made()];
    await edited(() => put(bad, { deadline_ms: '9223372036854775807' }));
    const first = await store.undecided({ ms: -1, id: '' }, 10);
    expect(first.map(({ id }) => id)).toEqual([good]);
    expect(await store.undecided({ ms: first[0]?.ms ?? 0, id: good }, 10)).toEqual([]);
  });

  it('names no time up to which it has searched where a row has none', async () => {
    const bad: string[] = [];
    for (let rows = 0; rows < OPENED; rows += 1) bad.push(await made());
    await edited(async () => {
      for (const id of bad) await put(id, { created_ms: '9223372036854775807', annotations: JSON.stringify(SCORED) });
    });
    const list = { tenants: ['acme'], status: 'pending', sort: 'newest', limit: 1 } as const;
    const page = await store.summaries({ ...list, q: 'nothing of this name' });
    expect(page).toMatchObject({ items: [], searched_to: null, next_cursor: expect.any(String) });
    expect(await store.summaries({ ...list, q: 'nothing of this name', cursor: page.next_cursor ?? '' })).toMatchObject(
      { items: [], next_cursor: null },
    );
  });

  it('shows another tenant nothing of a row that was moved to it', async () => {
    const id = await made();
    await edited(() => put(id, { tenant: 'rival' }));
    expect(await listed()).toEqual([]);
    expect(await listed('rival')).toMatchObject([{ id, status: 'tampered', request_payload: {}, agent_id: 'unknown' }]);
    await expect(store.get(id, 'rival')).rejects.toMatchObject(refused);
  });

  it('finds the words, the mac, or a whole row of another review, and a withdrawn or settled one opened again', async () => {
    const [one, two, three, withdrawn, denied] = [
      await made(),
      await made(),
      await made(),
      await made(),
      await made('settled'),
    ];
    const { id: _, correlation_id: __, ...whole } = await rowOf(two);
    await store.withdraw(String((await rowOf(withdrawn))['correlation_id']));
    await edited(async () => {
      await put(one, { mac: whole['mac'] });
      await put(three, whole);
      await put(withdrawn, { withdrawn_at: null });
      await put(denied, { status: 'pending', settled: null });
    });
    for (const id of [one, three, withdrawn, denied]) await expect(store.get(id)).rejects.toMatchObject(refused);
    expect((await store.get(two))?.status).toBe('pending');
  });

  it('finds an older row that was put back while it runs', async () => {
    const id = await made();
    const older = await rowOf(id);
    await store.settle(settlementOf(id, 'denied'));
    await store.ready();
    await put(id, older);
    await expect(store.get(id)).rejects.toMatchObject(refused);
    expect(told).toEqual([id]);
  });

  it('counts no passkey and no token of recovery that was put back, and nothing of an older standing', async () => {
    const dev = { tenant: 'acme', subject: 'operator:dev' };
    const { passkeys } = store;
    const register = async (credential_id: string, replaces: boolean) => {
      const purpose = replaces ? 'recover' : 'add';
      const begun = { ...dev, id_sha256: randomUUID(), challenge_sha256: 'c', created_ms: T0, expires_ms: T0 + 9_000 };
      await passkeys.begin({ ...begun, purpose: 'add' });
      const key = { public_key: `key of ${credential_id}`, key_sha256: credential_id };
      const made = { ...dev, credential_id, ...key, counter: 0, created_ms: T0 };
      expect(await passkeys.complete(begun.id_sha256, made, purpose)).toBe(true);
      expect(
        await passkeys.complete(
          begun.id_sha256,
          { ...made, credential_id: 'x', public_key: 'of x', key_sha256: 'x' },
          purpose,
        ),
      ).toBe(false);
    };
    const known = async () => (await passkeys.of(dev.tenant, dev.subject)).map(({ credential_id }) => credential_id);
    const recover = (token_sha256: string) => passkeys.recoverable({ ...dev, token_sha256, now: T0 });
    const rowsOf = async (table: string) => {
      await store.ready();
      return (await place.all(`select * from ${table}`))[0] ?? {};
    };
    await register('one', false);
    const [one, older] = [await rowsOf('passkeys'), await rowsOf('passkey_standings')];
    await passkeys.allowRecovery({ ...dev, token_sha256: 'token', expires_ms: T0 + 9_000 });
    const token = await rowsOf('passkey_recoveries');
    expect(await recover('other')).toBe(false);
    expect(await recover('token')).toBe(true);
    await register('two', true);
    await register('three', false);
    const insert = (table: string, row: Record<string, unknown>) => {
      const names = Object.keys(row);
      const values = names.map(() => '?').join(', ');
      return place.all(`insert into ${table} (${names.join(', ')}) values (${values})`, Object.values(row));
    };
    await store.ready();
    await insert('passkeys', one);
    await insert('passkey_recoveries', token);
    expect((await known()).sort()).toEqual(['three', 'two']);
    expect(await recover('token')).toBe(false);
    const newest = await rowsOf('passkey_standings');
    await place.put('passkey_standings', 'subject', dev.subject, older);
    expect([await known(), await passkeys.registered(dev.tenant, dev.subject)]).toEqual([[], true]);
    await place.put('passkey_standings', 'subject', dev.subject, newest);
    expect((await known()).sort()).toEqual(['three', 'two']);
  });

  it('takes no missing mac for that of an earlier Gate once the store is marked, not even without the mark and any mac', async () => {
    const [one, two] = [await made(), await made()];
    await edited(() => put(one, { mac: null, version: null, risk_summary: 'x' }));
    await expect(store.get(one)).rejects.toMatchObject(refused);
    await edited(() =>
      place.all('delete from review_seal').then(() => put(one, { mac: null, version: null, status: 'pending' })),
    );
    await expect(store.get(one)).rejects.toMatchObject(refused);
    expect((await store.get(two))?.status).toBe('pending');
    await edited(async () => {
      await place.all('delete from review_seal');
      await place.all("update reviews set mac = null, version = null, status = 'pending', risk_summary = 'harmless'");
    });
    for (const id of [one, two]) await expect(store.get(id)).rejects.toMatchObject(refused);
  });

  it('does not start on a mark that another key made, and goes on under a new key in front of the old one', async () => {
    const id = await made();
    await store.close();
    await expect(place.open(keyRing(new Map([key('other')])))).rejects.toMatchObject({ code: 'store_unavailable' });
    await start(ROTATED);
    expect((await store.get(id))?.status).toBe('pending');
    await store.settle(settlementOf(id));
    await store.ready();
    expect(String((await rowOf(id))['mac'])).toMatch(/^newer:/);
    expect((await store.get(id))?.status).toBe('approved');
    expect(told).toEqual([]);
  });

  it('opens no payload but the one of its digest', async () => {
    const [one, two] = [await made(), await made()];
    const { payload } = await rowOf(two);
    await edited(() => put(one, { payload }));
    await expect(store.get(one)).rejects.toMatchObject({ code: 'payload_unavailable' });
    expect((await store.get(two))?.status).toBe('pending');
  });

  it.each([
    ['removed', (id: string) => place.all('delete from review_keys where review_id = ?', [id])],
    [
      'that of another review',
      async (id: string, other: string) => {
        const [key] = await place.all('select wrapped from review_keys where review_id = ?', [other]);
        await place.put('review_keys', 'review_id', id, { wrapped: key?.['wrapped'] });
      },
    ],
  ])('opens nothing of a review whose key is %s, and it can be closed all the same', async (_what, edit) => {
    const [one, other] = [await made(), await made()];
    await edited(() => edit(one, other));
    await expect(store.get(one)).rejects.toMatchObject({ code: 'payload_unavailable' });
    expect((await store.settle(settlementOf(one, 'denied'))).retention['payload_availability']).toBe('unavailable');
    expect((await store.get(other))?.status).toBe('pending');
  });

  it.each([
    ['removed', async () => null],
    ['that of another review', async (other: string) => (await rowOf(other))['sandbox_report']],
    ['its payload', async (_other: string, one: string) => (await rowOf(one))['payload']],
    ['no sealed value', async () => Buffer.from('{"severity":"safe"}')],
  ])('shows class and severity where the report of the sandbox is %s', async (_what, instead) => {
    const [one, other] = [correlation((count += 1)), correlation((count += 1))];
    for (const correlation_id of [one, other])
      await store.createOnce(reviewOf(count, { correlation_id, sandbox_report: report }));
    const value = await instead(reviewIdOf(other), reviewIdOf(one));
    await edited(() => put(reviewIdOf(one), { sandbox_report: value }));
    expect((await store.get(reviewIdOf(one)))?.sandbox_report).toEqual({
      operation_class: 'delete',
      severity: 'destructive',
    });
    expect((await store.get(reviewIdOf(other)))?.sandbox_report).toEqual(report);
  });

  it('does not show the report of an earlier attempt that was put back', async () => {
    const n = (count += 1);
    const id = reviewIdOf(correlation(n));
    await store.createOnce(reviewOf(n, { sandbox_report: { ...report, severity: 'safe' } }));
    const { sandbox_report: earlier } = await rowOf(id);
    await store.withdraw(correlation(n));
    await store.createOnce(reviewOf(n, { sandbox_report: report, created_at: new Date(T0 + 10).toISOString() }));
    await edited(() => put(id, { sandbox_report: earlier }));
    expect((await store.get(id))?.sandbox_report).toEqual({ operation_class: 'delete', severity: 'destructive' });
  });

  it('lists a row whose annotations are no longer JSON, with its report, as tampered', async () => {
    const id = reviewIdOf(correlation((count += 1)));
    await store.createOnce(reviewOf(count, { sandbox_report: report }));
    await edited(() => put(id, { annotations: '{' }));
    expect(await listed()).toEqual([expect.objectContaining({ id, status: 'tampered', sandbox_report: null })]);
  });

  it('is not tampered where a later attempt or a withdrawal wrote it', async () => {
    const n = (count += 1);
    await store.createOnce(reviewOf(n));
    await store.createOnce(reviewOf(n, { attempt_ms: T0 + 5 }));
    await store.withdraw(correlation(n), T0);
    expect((await store.get(reviewIdOf(correlation(n))))?.status).toBe('pending');
    await store.withdraw(correlation(n), T0 + 5);
    expect(await store.get(reviewIdOf(correlation(n)))).toBeNull();
    await store.createOnce(reviewOf(n, { created_at: new Date(T0 + 10).toISOString() }));
    expect((await store.get(reviewIdOf(correlation(n))))?.status).toBe('pending');
    expect(told).toEqual([]);
  });
});
