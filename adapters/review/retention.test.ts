import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { LegalHoldRequest } from '../../contracts/legal-hold.js';
import type { ModificationDiff, NewReview, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { hilMigrations } from '../../migrations/hil.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import { foundInFiles } from '../../test/support/file-bytes.js';
import type { Store } from '../store/database.js';
import { openLocalFile } from '../store/local-file.js';
import { sealReviews } from './seal-reviews.js';
import type { ReviewTables } from './tables.js';
import { openReviewStore, reviewStoreOver, type WholeReviews } from '../../test/support/whole-reviews.js';
import { writeMigrated } from '../../test/support/migrated-file.js';

const KEYS = parseKeyRing(`test:${'0123456789abcdef'.repeat(4)}`);
const T0 = Date.parse('2026-11-23T08:00:00.000Z');
const correlation = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const idOf = (n: number): string => reviewIdOf(correlation(n));
const PAYEE = 'IBAN-9999-SECRET-VALUE';

const report: SandboxReport = {
  contract: 'gate.sandbox-report/v1',
  analyzer_version: 'gate-sandbox/1',
  analyzed: true,
  operation_class: 'write',
  severity: 'risky',
  reversible: 'no',
  summary: `move 500 EUR to \`${PAYEE}\``,
  reasons: ['money moves'],
  targets: [PAYEE],
  predicted_changes: [{ kind: 'send', target: PAYEE }],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: { amount: '500', currency: 'EUR', payee: PAYEE },
};
const diff: ModificationDiff = {
  contract: 'gate.hil.modification-diff/v1',
  replacements: [{ path: ['to'], value: 'IBAN-1111-CHANGED-VALUE' }],
};
const modification = { diff, reviewed_digest: `sha256:${'0'.repeat(64)}` };

const reviewOf = (n: number, over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(n),
  method: 'tools/call',
  request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n, to: PAYEE } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: new Date(T0).toISOString(),
  attempt_ms: T0,
  review_reasons: ['money movement'],
  approval_tier: 'standard',
  tenant: 'acme',
  sandbox_report: report,
  ...over,
});
const settlementOf = (n: number, over: Partial<SettledReview> = {}): SettledReview => ({
  pending_id: idOf(n),
  status: 'approved',
  decided_at: new Date(T0 + 5_000).toISOString(),
  decided_by: 'operator:dev',
  decision_reason: null,
  decided_via: 'console',
  principal: null,
  ...over,
});

interface Place extends EditedStore {
  readonly folder: string | null;
  open(clock: () => number, keys?: KeyRing): Promise<WholeReviews>;
}

const inFile = async (file: string, keys: KeyRing, clock: () => number): Promise<WholeReviews> => {
  const opened = await openLocalFile({
    file,
    migrations: { hil: hilMigrations },
    prepare: (store) => sealReviews(store as unknown as Store<ReviewTables>, keys, clock),
  });
  const store = reviewStoreOver(opened.store<ReviewTables>(), { payloadKeys: keys, clock });
  return { ...store, ready: () => opened.durable(), close: async () => void (await opened.close()) };
};

const PLACES: [string, () => Promise<Place>][] = [
  [
    'SQLite',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-retention-'));
      const target = { file: join(folder, 'hil.db') };
      await writeMigrated(target.file, hilMigrations);
      return {
        ...editedSqlite(target.file),
        folder,
        open: (clock, payloadKeys = KEYS) => openReviewStore({ target, payloadKeys, clock }),
      };
    },
  ],
  [
    "lite's file",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-retention-'));
      const file = join(folder, 'lite.db');
      return { ...editedSqlite(file), folder, open: (clock, keys = KEYS) => inFile(file, keys, clock) };
    },
  ],
  [
    'Postgres',
    async () => {
      const { target, ...edited } = await editedPostgres('retention', hilMigrations);
      return {
        ...edited,
        folder: null,
        open: (clock, payloadKeys = KEYS) => openReviewStore({ target, payloadKeys, clock }),
      };
    },
  ],
];
afterAll(stopEditedPostgres);

describe.each(PLACES)('what a review holds of its call: %s', (_name, newPlace) => {
  let place: Place;
  let store: WholeReviews;
  let now: number;
  beforeEach(async () => {
    now = T0;
    place = await newPlace();
    store = await place.open(() => now);
  }, 60_000);
  afterEach(async () => {
    await store.close();
    if (place.folder) await rm(place.folder, { recursive: true, force: true });
  });

  /** What the store holds of a row, as somebody sees it who reads its tables or a copy of them. */
  const stored = async (n: number) => {
    // Until what was written is in the file, only its own process can read it.
    await store.ready();
    const [row] = await place.all('select * from reviews where id = ?', [idOf(n)]);
    const [key] = await place.all('select wrapped from review_keys where review_id = ?', [idOf(n)]);
    return { row, key: (key?.['wrapped'] as Uint8Array | undefined) ?? null };
  };
  /** Writes into the store as somebody who has no key, while Gate is down. */
  const edited = async (edit: () => Promise<unknown>) => {
    await store.close();
    await edit();
    store = await place.open(() => now);
  };

  it('is sealed with a key of its own row from the first write: without it every copy is unreadable', async () => {
    await store.createOnce(reviewOf(1));
    await store.createOnce(reviewOf(2));
    await store.settle(settlementOf(1, { modification }));
    const [one, two] = [await stored(1), await stored(2)];
    expect(one.key).not.toBeNull();
    expect(one.key).not.toEqual(two.key);
    expect(JSON.stringify(one.row)).not.toContain('CHANGED-VALUE');
    expect(await store.get(idOf(1))).toMatchObject({ sandbox_report: report, modification_diff: diff });
    await edited(() => place.all('delete from review_keys where review_id = ?', [idOf(1)]));
    await expect(store.get(idOf(1))).rejects.toMatchObject({ code: 'payload_unavailable' });
    expect((await store.list({ tenant: 'acme', status: 'approved' })).rows).toMatchObject([
      { sandbox_report: { operation_class: 'write', severity: 'risky' }, modification_diff: null },
    ]);
    expect((await store.get(idOf(2)))?.request_payload).toEqual(reviewOf(2).request_payload);
  });

  it('keeps the first key when the call is parked again, and repeats a settlement that changed the call', async () => {
    await store.createOnce(reviewOf(1));
    const first = await stored(1);
    await store.createOnce(reviewOf(1));
    expect((await stored(1)).key).toEqual(first.key);
    const row = await store.settle(settlementOf(1, { modification }));
    expect(await store.settle(settlementOf(1, { modification }))).toEqual(row);
    await expect(
      store.settle(settlementOf(1, { modification: { ...modification, reviewed_digest: `sha256:${'1'.repeat(64)}` } })),
    ).rejects.toMatchObject({ code: 'already_decided' });
    expect(row.modification_diff).toEqual(diff);
  });

  it('loses its key when the row is withdrawn, and gets another one with the next attempt', async () => {
    await store.createOnce(reviewOf(1));
    const first = await stored(1);
    await store.withdraw(correlation(1));
    expect(await stored(1)).toMatchObject({ key: null, row: { payload: null, sandbox_report: null } });
    await store.createOnce(reviewOf(1, { created_at: new Date(T0 + 1).toISOString() }));
    const next = await stored(1);
    expect(next.key).not.toEqual(first.key);
    await edited(() => place.put('reviews', 'id', idOf(1), { payload: first.row?.['payload'] }));
    await expect(store.get(idOf(1))).rejects.toMatchObject({ code: 'payload_unavailable' });
  });

  it('has no row without its key, nor a key without its row, when only one of them can be written', async () => {
    const rename = async (from: string, to: string) => {
      await store.ready();
      await place.all(`alter table ${from} rename to ${to}`);
    };
    await rename('review_keys', 'elsewhere');
    await expect(store.createOnce(reviewOf(1))).rejects.toMatchObject({ code: 'store_unavailable' });
    await rename('elsewhere', 'review_keys');
    expect(await store.get(idOf(1))).toBeNull();
    await store.createOnce(reviewOf(1));
    await rename('review_keys', 'elsewhere');
    await expect(store.withdraw(correlation(1))).rejects.toMatchObject({ code: 'store_unavailable' });
    await rename('elsewhere', 'review_keys');
    expect((await store.get(idOf(1)))?.request_payload).toEqual(reviewOf(1).request_payload);
  });
});

const DAY_MS = 86_400_000;
const uuid = (n: number): string => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;

describe.each(PLACES)('what is past its date: %s', (name, newPlace) => {
  let place: Place;
  let store: WholeReviews;
  let now: number;
  beforeEach(async () => {
    now = T0;
    place = await newPlace();
    store = await place.open(() => now);
  }, 60_000);
  afterEach(async () => {
    await store.close();
    if (place.folder) await rm(place.folder, { recursive: true, force: true });
  });

  const one = async (text: string, n: number) => {
    await store.ready();
    return (await place.all(text, [idOf(n)]))[0];
  };
  const rowOf = (n: number) => one('select * from reviews where id = ?', n);
  const keyOf = (n: number) => one('select wrapped from review_keys where review_id = ?', n);
  const deletions = async () => {
    await store.ready();
    return place.all(
      'select pending_id, "trigger", disposition, state, retention_tier, original_payload_sha256 from hil_deletion_audit order by at_ms, pending_id',
    );
  };
  const edited = async (edit: () => Promise<unknown>) => {
    await store.close();
    await edit();
    store = await place.open(() => now);
  };

  /** Bytes that only the sealed content of a row consists of. */
  async function sealedBytes(n: number): Promise<Buffer[]> {
    const [row, key] = [await rowOf(n), await keyOf(n)];
    const settled = row?.['settled'];
    const { modification } = JSON.parse(typeof settled === 'string' ? settled : '{}') as {
      modification?: { sealed_diff: string };
    };
    const sealed = [row?.['payload'], row?.['sandbox_report'], key?.['wrapped']].map((value) =>
      Buffer.from(value as Uint8Array),
    );
    if (modification) sealed.push(Buffer.from(modification.sealed_diff));
    return sealed.map((bytes) => bytes.subarray(-24));
  }
  const inFiles = (probes: readonly Buffer[]) => foundInFiles(place.folder ?? '', probes);

  it.each([
    ['auto', 1],
    [null, 7],
  ] as const)(
    'of tier %s the request goes after %i days and the row after 30, and no byte stays',
    async (tier, days) => {
      await store.createOnce(reviewOf(1, { approval_tier: tier, request_payload: { text: PAYEE.repeat(2_000) } }));
      const { original_payload_digest } = await store.settle(settlementOf(1, { modification }));
      await store.createOnce(reviewOf(2, { approval_tier: 'strict' }));
      const carried = await store.changeSeal.sealed(idOf(1), diff);
      const probes = await sealedBytes(1);
      expect(probes).toHaveLength(4);
      if (place.folder) expect(await inFiles(probes)).toBe(4);

      now = T0 + 5_000 + days * DAY_MS - 1;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
      expect(await store.get(idOf(1))).toMatchObject({ modification_diff: diff, sandbox_report: report });
      expect(await store.changeSeal.opened(idOf(1), carried)).toEqual(diff);
      now += 1;
      expect(await store.sweep()).toEqual({ purged: 1, deleted: 0, failed: 0 });
      if (place.folder) expect(await inFiles(probes)).toBe(0);
      expect(await keyOf(1)).toBeUndefined();
      // What the engine's histories and their backups still hold of it opens no more, and nothing is sealed with another key instead.
      const gone = { code: 'not_found' };
      await expect(store.changeSeal.opened(idOf(1), carried)).rejects.toMatchObject(gone);
      await expect(store.changeSeal.sealed(idOf(1), diff)).rejects.toMatchObject(gone);
      const row = await store.get(idOf(1));
      expect(row).toMatchObject({
        status: 'approved',
        decided_by: 'operator:dev',
        request_payload: row?.retention['minimized_payload'],
        sandbox_report: { severity: 'risky', operation_class: 'write' },
        modification_diff: null,
        reviewed_payload_digest: modification.reviewed_digest,
        retention: {
          payload_availability: 'purged',
          retention_purpose: 'minimized-decision-audit',
          payload_tombstone: {
            contract: 'hil-payload-purged/v1',
            purged_at: new Date(now).toISOString(),
            trigger: 'payload_deadline',
          },
        },
      });
      expect((await store.list({ tenant: 'acme', status: 'approved' })).rows).toHaveLength(1);
      // The same call again is answered as before.
      expect((await store.createOnce(reviewOf(1, { request_payload: { text: PAYEE.repeat(2_000) } }))).created).toBe(
        false,
      );
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });

      now = T0 + 5_000 + 30 * DAY_MS - 1;
      expect((await store.sweep()).deleted).toBe(0);
      now += 1;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 1, failed: 0 });
      expect(await store.get(idOf(1))).toBeNull();
      if (place.folder) expect(await inFiles([Buffer.from(correlation(1))])).toBe(0);
      expect(await store.get(idOf(2))).toMatchObject({ request_payload: reviewOf(2).request_payload });
      const kept = { pending_id: idOf(1), state: 'approved', retention_tier: tier ?? 'standard' };
      const digest = { original_payload_sha256: original_payload_digest };
      expect(await deletions()).toEqual([
        { ...kept, ...digest, trigger: 'payload_deadline', disposition: 'payload_purged' },
        { ...kept, ...digest, trigger: 'metadata_deadline', disposition: 'row_deleted' },
      ]);
    },
  );

  it('of tier strict the request stays for 30 days, and goes with its row: no byte of either stays', async () => {
    const request_payload = { text: PAYEE.repeat(2_000) };
    await store.createOnce(reviewOf(1, { approval_tier: 'strict', request_payload }));
    await store.settle(settlementOf(1, { modification }));
    // One that nobody decided keeps its request for as long, from its deadline on.
    await store.createOnce(reviewOf(2, { approval_tier: 'strict', request_payload }));
    const carried = await store.changeSeal.sealed(idOf(1), diff);
    const [probes, others] = [await sealedBytes(1), await sealedBytes(2)];
    expect([probes.length, others.length]).toEqual([4, 3]);
    if (place.folder) expect(await inFiles([...probes, ...others])).toBe(7);

    for (const days of [1, 7]) {
      now = T0 + 600_000 + days * DAY_MS;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    }
    now = T0 + 5_000 + 30 * DAY_MS - 1;
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    expect(await store.get(idOf(1))).toMatchObject({
      request_payload,
      modification_diff: diff,
      sandbox_report: report,
    });
    expect(await store.changeSeal.opened(idOf(1), carried)).toEqual(diff);
    now += 1;
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 1, failed: 0 });
    expect(await store.get(idOf(1))).toBeNull();
    expect(await keyOf(1)).toBeUndefined();
    await expect(store.changeSeal.opened(idOf(1), carried)).rejects.toMatchObject({ code: 'not_found' });
    if (place.folder) expect(await inFiles([...probes, Buffer.from(correlation(1))])).toBe(0);

    expect(await store.get(idOf(2))).toMatchObject({ request_payload, status: 'expired' });
    now = T0 + 600_000 + 30 * DAY_MS;
    await store.sweep();
    if (place.folder) expect(await inFiles(others)).toBe(0);
    expect(await deletions()).toMatchObject([
      { pending_id: idOf(1), retention_tier: 'strict', state: 'approved', disposition: 'row_deleted' },
      { pending_id: idOf(2), retention_tier: 'strict', state: 'pending' },
    ]);
  });

  it('of a review that nobody decided goes by its deadline; of a withdrawn one the row goes', async () => {
    await store.createOnce(reviewOf(1, { approval_tier: 'auto' }));
    await store.createOnce(reviewOf(2));
    await store.withdraw(correlation(2));
    now = T0 + 600_000 + DAY_MS;
    expect(await store.sweep()).toEqual({ purged: 1, deleted: 0, failed: 0 });
    expect(await store.get(idOf(1))).toMatchObject({
      status: 'expired',
      retention: { payload_availability: 'purged' },
    });
    // Its call, which comes back late, can still be closed.
    expect((await store.settle(settlementOf(1, { status: 'denied' }))).status).toBe('denied');
    now = T0 + 30 * DAY_MS;
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 1, failed: 0 });
    expect(await deletions()).toMatchObject([{ state: 'pending' }, { state: 'withdrawn', pending_id: idOf(2) }]);
  });

  it('of a change that is settled only after its request went is the digest: no key that stays seals its values', async () => {
    await store.createOnce(reviewOf(1));
    now = T0 + 600_000 + 7 * DAY_MS;
    expect(await store.sweep()).toEqual({ purged: 1, deleted: 0, failed: 0 });
    const row = await store.settle(settlementOf(1, { modification }));
    expect(row).toMatchObject({ modification_diff: null, reviewed_payload_digest: modification.reviewed_digest });
    expect(JSON.parse(String((await rowOf(1))?.['settled']))).toMatchObject({
      modification: { reviewed_digest: modification.reviewed_digest },
    });
    expect((await rowOf(1))?.['settled']).not.toContain('sealed_diff');
    expect(await keyOf(1)).toBeUndefined();
    expect(await store.settle(settlementOf(1, { modification }))).toEqual(row);
    const other = { ...modification, reviewed_digest: `sha256:${'1'.repeat(64)}` };
    await expect(store.settle(settlementOf(1, { modification: other }))).rejects.toMatchObject({
      code: 'already_decided',
    });
  });

  it.each([
    ['withdrawn', { status: 'denied', decided_by: 'system:withdrawn-by-agent' }],
    ['aborted', { status: 'aborted', decided_by: 'system:reconciliation' }],
    ['denied', { status: 'denied', decided_by: 'operator:ana' }],
  ] as const)('is recorded under the word that is told of its end: %s', async (state, end) => {
    await store.createOnce(reviewOf(1));
    await store.settle(settlementOf(1, { ...end, principal: null }));
    now = T0 + 31 * DAY_MS;
    await store.sweep();
    expect(await deletions()).toMatchObject([{ state, disposition: 'row_deleted' }]);
  });

  it('goes whole or not at all: a sweep that fails between key, row and record leaves all three, and the next one goes on', async () => {
    await store.createOnce(reviewOf(1));
    await store.settle(settlementOf(1));
    const before = await rowOf(1);
    const rename = async (from: string, to: string) => {
      await store.ready();
      await place.all(`alter table ${from} rename to ${to}`);
    };
    now = T0 + 8 * DAY_MS;
    for (const table of ['hil_deletion_audit', 'review_keys']) {
      await store.get(idOf(1));
      await rename(table, 'elsewhere');
      const swept = await store.sweep().catch(() => ({ failed: 1 }));
      expect(swept.failed).toBe(1);
      await rename('elsewhere', table);
      expect(await rowOf(1)).toEqual(before);
      expect(await keyOf(1)).toBeDefined();
    }
    expect(await store.sweep()).toEqual({ purged: 1, deleted: 0, failed: 0 });
    expect(await deletions()).toHaveLength(1);
  });

  it('goes with its tenant, but not while it waits', async () => {
    await store.createOnce(reviewOf(1));
    await store.createOnce(reviewOf(2));
    await store.settle(settlementOf(2));
    const gone = () => store.erase({ tenant: 'acme' }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
    expect(await gone()).toEqual({ deleted: 1, held: 0, complete: true });
    expect(await store.get(idOf(1))).toMatchObject({ status: 'pending' });
    await store.settle(settlementOf(1));
    expect(await gone()).toEqual({ deleted: 1, held: 0, complete: true });
    expect(await store.get(idOf(1))).toBeNull();
  });

  it('goes once however many sweep at once, and a hundred and more rows in one sweep', async () => {
    for (let n = 1; n <= 120; n += 1) await store.createOnce(reviewOf(n, { sandbox_report: null }));
    now = T0 + 600_000 + 7 * DAY_MS;
    const swept = await Promise.all(Array.from({ length: 4 }, () => store.sweep()));
    expect(swept.reduce((sum, { purged }) => sum + purged, 0)).toBe(120);
    expect(await deletions()).toHaveLength(120);
  });

  it('is not what somebody wrote into the store: such a row is closed, and goes with the row a month later', async () => {
    await store.createOnce(reviewOf(1));
    await store.settle(settlementOf(1));
    await edited(() => place.put('reviews', 'id', idOf(1), { payload_expires_ms: T0 }));
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    await expect(store.get(idOf(1))).rejects.toMatchObject({ code: 'review_tampered' });
    expect((await rowOf(1))?.['payload']).not.toBeNull();
    now = T0 + 30 * DAY_MS - 1;
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    expect((await rowOf(1))?.['payload']).not.toBeNull();
    now = T0 + 30 * DAY_MS;
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 1, failed: 0 });
    expect(await deletions()).toMatchObject([
      { state: 'tampered', retention_tier: null, original_payload_sha256: null },
    ]);
  });

  it.each(['hil_deletion_audit', 'review_holds'])(
    'leaves a record in %s that nobody changes or removes',
    async (table) => {
      await store.createOnce(reviewOf(1));
      await store.hold(idOf(1), 'acme', request('apply'), () => 'operator:dev');
      await store.hold(idOf(1), 'acme', request('release', { operation_id: uuid(8) }), () => 'operator:dev');
      now = T0 + 31 * DAY_MS;
      await store.sweep();
      await store.ready();
      await expect(place.all(`update ${table} set tenant = 'x'`)).rejects.toThrow('append-only');
      await expect(place.all(`delete from ${table}`)).rejects.toThrow('append-only');
    },
  );

  const request = (action: 'apply' | 'release', over: Partial<LegalHoldRequest> = {}): LegalHoldRequest => ({
    operation_id: uuid(1),
    action,
    hold_id: uuid(100),
    authority_reason_sha256: `sha256:${'a'.repeat(64)}`,
    ...over,
  });
  const hold = (asked: LegalHoldRequest, tenant: string | undefined = 'acme', n = 1) =>
    store.hold(idOf(n), tenant, asked, () => 'operator:dev');

  describe('under a legal hold', () => {
    beforeEach(async () => {
      await store.createOnce(reviewOf(1));
      await store.settle(settlementOf(1));
    });

    it('stays, and goes before the release is answered', async () => {
      const receipt = await hold(request('apply'));
      expect(receipt).toEqual({
        contract: 'gate.hil-legal-hold/v1',
        operation_id: uuid(1),
        action: 'apply',
        hold_id: uuid(100),
        state: 'held',
        deletion_disposition: 'retained',
        updated_at: new Date(T0).toISOString(),
        receipt_sha256: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      });
      expect((await store.get(idOf(1)))?.retention).toMatchObject({
        legal_hold: { hold_id: uuid(100), by: 'operator:dev', since: new Date(T0).toISOString() },
      });
      now = T0 + 400 * DAY_MS;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
      expect((await rowOf(1))?.['payload']).not.toBeNull();
      // The hold keeps the request, but does not lengthen the time for which people may read it.
      expect((await store.get(idOf(1)))?.retention['payload_availability']).toBe('minimized');
      expect(await hold(request('apply', { operation_id: uuid(2) }))).toMatchObject({
        deletion_disposition: 'deferred',
      });
      const release = request('release', { operation_id: uuid(3) });
      const released = await hold(release);
      expect(released).toMatchObject({ state: 'released', deletion_disposition: 'deleted' });
      expect(await rowOf(1)).toBeUndefined();
      expect(await deletions()).toMatchObject([{ trigger: 'hold_released', disposition: 'row_deleted' }]);
      expect(await hold(release)).toEqual(released);
    });

    it('released after its first date loses the request, and the row at the second', async () => {
      await hold(request('apply'));
      const probes = await sealedBytes(1);
      now = T0 + 8 * DAY_MS;
      await hold(request('release', { operation_id: uuid(2) }));
      expect(await rowOf(1)).toMatchObject({ payload: null, hold: null });
      if (place.folder) expect(await inFiles(probes)).toBe(0);
      expect((await store.get(idOf(1)))?.retention).toMatchObject({
        payload_tombstone: { trigger: 'hold_released' },
      });
      now = T0 + 31 * DAY_MS;
      expect((await store.sweep()).deleted).toBe(1);
    });

    it('answers an operation that comes again, also several at once, with the receipt it got first', async () => {
      const asked = await Promise.all(Array.from({ length: 8 }, () => hold(request('apply'))));
      now += 1_000;
      asked.push(await hold(request('apply')));
      expect(new Set(asked.map(({ receipt_sha256 }) => receipt_sha256)).size).toBe(1);
    });

    it('answers with no receipt whose key is not here, and the sweep leaves a row without its key where it is', async () => {
      await hold(request('apply'));
      await hold(request('release', { operation_id: uuid(2) }));
      await store.close();
      const other = `k9:${'89abcdef01234567'.repeat(4)}`;
      await (await place.open(() => now, parseKeyRing(`${other},test:${'0123456789abcdef'.repeat(4)}`))).close();
      store = await place.open(() => now, parseKeyRing(other));
      await expect(hold(request('apply'))).rejects.toMatchObject({ code: 'payload_unavailable' });
      now = T0 + 31 * DAY_MS;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 1 });
      await store.close();
      store = await place.open(() => now, parseKeyRing(`${other},test:${'0123456789abcdef'.repeat(4)}`));
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 1, failed: 0 });
    });

    it.each([
      ['another hold', request('apply', { hold_id: uuid(101) })],
      ['another action', request('release')],
      ['another reason', request('apply', { authority_reason_sha256: `sha256:${'b'.repeat(64)}` })],
    ])('refuses an operation id that was used for %s', async (_what, other) => {
      await hold(request('apply'));
      await expect(hold(other)).rejects.toMatchObject({ code: 'operation_conflict', status: 409 });
    });

    it('refuses an operation id that was used for another row, or by another tenant', async () => {
      await store.createOnce(reviewOf(2));
      await hold(request('apply'));
      await expect(hold(request('apply'), 'acme', 2)).rejects.toMatchObject({ code: 'operation_conflict' });
      await expect(hold(request('apply'), 'rival')).rejects.toMatchObject({ code: 'operation_conflict' });
    });

    it('refuses a second hold, and a release of another one or of none', async () => {
      const refused = { code: 'hold_conflict', status: 409 };
      await expect(hold(request('release'))).rejects.toMatchObject(refused);
      await hold(request('apply'));
      const other = { operation_id: uuid(2), hold_id: uuid(101) };
      await expect(hold(request('apply', other))).rejects.toMatchObject(refused);
      await expect(hold(request('release', other))).rejects.toMatchObject(refused);
      expect((await store.get(idOf(1)))?.retention).toMatchObject({ legal_hold: { hold_id: uuid(100) } });
    });

    it('knows no unknown, foreign or withdrawn row', async () => {
      const unknown = { code: 'not_found', status: 404 };
      await expect(hold(request('apply'), 'rival')).rejects.toMatchObject(unknown);
      await expect(hold(request('apply'), 'acme', 9)).rejects.toMatchObject(unknown);
      await store.createOnce(reviewOf(2));
      await store.withdraw(correlation(2));
      await expect(hold(request('apply'), 'acme', 2)).rejects.toMatchObject(unknown);
    });

    it('keeps the request of a call that is withdrawn, until the release', async () => {
      await store.createOnce(reviewOf(2));
      await hold(request('apply'), 'acme', 2);
      await store.withdraw(correlation(2));
      const held = await rowOf(2);
      expect(held?.['payload']).not.toBeNull();
      // The same call, which begins again, writes nothing over it.
      const again = reviewOf(2, { created_at: new Date(T0 + 1_000).toISOString() });
      await expect(store.createOnce(again)).rejects.toMatchObject({ code: 'review_held', status: 409 });
      expect(await rowOf(2)).toEqual(held);
      await hold(request('release', { operation_id: uuid(2) }), 'acme', 2);
      expect(await rowOf(2)).toMatchObject({ payload: null });
      expect(await keyOf(2)).toBeUndefined();
    });

    it.each([
      ['settled', () => store.settle(settlementOf(2, { status: 'expired', decided_by: 'system:ttl-sweep' }))],
      ['withdrawn', () => store.withdraw(correlation(2))],
    ] as const)(
      'goes with its tenant when the hold is released, also where it is %s after the tenant left',
      async (_, end) => {
        await store.createOnce(reviewOf(2));
        await hold(request('apply'), 'acme', 2);
        const left = await store.erase({ tenant: 'acme', waiting: true }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
        expect(left).toMatchObject({ held: 1, complete: true });
        now += 1_000;
        await end();
        const released = await hold(request('release', { operation_id: uuid(2) }), 'acme', 2);
        expect(released).toMatchObject({ deletion_disposition: 'deleted' });
        expect(await rowOf(2)).toBeUndefined();
        expect(await keyOf(2)).toBeUndefined();
      },
    );

    it.each([
      ['damaged', { risk_summary: 'x' }],
      ['said to be under none', { hold: null }],
    ] as const)('stays where its row is %s, until the hold is released by whose it is', async (_, damage) => {
      await hold(request('apply'));
      await edited(() => place.put('reviews', 'id', idOf(1), { ...damage, tenant: 'rival' }));
      now = T0 + 400 * DAY_MS;
      // It was found only now; the next date is thirty days on.
      await store.sweep();
      await expect(store.get(idOf(1))).rejects.toMatchObject({ code: 'review_tampered' });
      now = T0 + 800 * DAY_MS;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
      const release = request('release', { operation_id: uuid(2) });
      await expect(hold(release, 'rival')).rejects.toMatchObject({ code: 'not_found' });
      const other = request('release', { operation_id: uuid(3), hold_id: uuid(101) });
      await expect(hold(other)).rejects.toMatchObject({ code: 'hold_conflict' });
      const again = request('apply', { operation_id: uuid(4) });
      await expect(hold(again)).rejects.toMatchObject({ code: 'review_tampered' });
      expect(await hold(release)).toMatchObject({ state: 'released', deletion_disposition: 'deleted' });
      expect(await rowOf(1)).toBeUndefined();
      expect(await keyOf(1)).toBeUndefined();
    });

    it('is put on no row by whoever writes the store, nor again once it was released', async () => {
      await store.createOnce(reviewOf(2));
      await store.settle(settlementOf(2));
      await hold(request('apply'), 'acme', 2);
      now += 1;
      await hold(request('release', { operation_id: uuid(2) }), 'acme', 2);
      const forged = { hold: JSON.stringify({ hold_id: uuid(100), by: 'operator:dev', since: 'x' }) };
      await edited(async () => {
        await place.put('reviews', 'id', idOf(1), { hold: '{}' });
        await place.put('reviews', 'id', idOf(2), forged);
      });
      for (const n of [1, 2]) await expect(store.get(idOf(n))).rejects.toMatchObject({ code: 'review_tampered' });
      await expect(hold(request('release', { operation_id: uuid(3) }))).rejects.toMatchObject({
        code: 'review_tampered',
      });
      now += 30 * DAY_MS;
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 2, failed: 0 });
      expect(await keyOf(1)).toBeUndefined();
    });

    it('is not lifted by whoever writes the store, and answers with no receipt that somebody wrote', async () => {
      await hold(request('apply'));
      await store.ready();
      const [row] = await place.all('select * from review_holds');
      now = T0 + 8 * DAY_MS;
      await edited(async () => {
        await place.put('reviews', 'id', idOf(1), { hold: null });
        if (name === 'Postgres') await place.all('alter table review_holds disable trigger all');
        else await place.all('drop trigger review_holds_no_update');
        await place.put('review_holds', 'operation_id', uuid(1), {
          receipt: String(row?.['receipt']).replace('retained', 'deleted'),
        });
      });
      expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
      expect((await rowOf(1))?.['payload']).not.toBeNull();
      await expect(hold(request('apply'))).rejects.toMatchObject({ code: 'review_tampered' });
    });
  });
});

describe('a release of a legal hold, while somebody reads the file in whose log the deleted row may be', () => {
  it('is unfinished, also asked for again; after that the same operation has its receipt', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gate-retention-'));
    const target = { file: join(folder, 'hil.db') };
    await writeMigrated(target.file, hilMigrations);
    let now = T0;
    const store = await openReviewStore({ target, payloadKeys: KEYS, clock: () => now });
    const ask = (operation: number, action: LegalHoldRequest['action']) =>
      store.hold(
        idOf(1),
        'acme',
        {
          operation_id: uuid(operation),
          action,
          hold_id: uuid(100),
          authority_reason_sha256: `sha256:${'a'.repeat(64)}`,
        },
        () => 'operator:dev',
      );
    await store.createOnce(reviewOf(1));
    await store.settle(settlementOf(1));
    await ask(1, 'apply');
    now += 400 * DAY_MS;
    const reader = new DatabaseSync(target.file);
    reader.exec('begin; select count(*) from reviews');
    for (let n = 0; n < 2; n += 1)
      await expect(ask(2, 'release')).rejects.toMatchObject({
        code: 'operation_unfinished',
        message: expect.stringContaining('in the log of the store'),
      });
    expect(await store.get(idOf(1))).toBeNull();
    reader.exec('commit');
    reader.close();
    expect(await ask(2, 'release')).toMatchObject({ state: 'released', deletion_disposition: 'deleted' });
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
});

/** A file as Gate left it on the day before rows had keys of their own: five reviews in every state. It is kept as it is for good. */
describe('a file of an earlier version', () => {
  let folder: string;
  let store: WholeReviews;
  let now: number;
  beforeEach(async () => {
    now = T0 + 60_000;
    folder = await mkdtemp(join(tmpdir(), 'gate-older-hil-'));
    const packed = await readFile(join(PROJECT_ROOT, 'test', 'older', 'hil-2026-11-23.db.gz'));
    await writeFile(join(folder, 'hil.db'), gunzipSync(packed));
    store = await openReviewStore({ target: { file: join(folder, 'hil.db') }, payloadKeys: KEYS, clock: () => now });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('opens whole, and its reviews go on', async () => {
    const to = (n: number) => ({ params: { arguments: { to: `IBAN-000${n}` } } });
    expect(await store.get(idOf(1))).toMatchObject({ status: 'pending', request_payload: to(1) });
    expect(await store.get(idOf(2))).toMatchObject({ status: 'denied', sandbox_report: { targets: ['IBAN-0002'] } });
    expect(await store.get(idOf(3))).toMatchObject({
      status: 'approved',
      request_payload: to(3),
      modification_diff: { replacements: [{ path: ['amount'], value: 49 }] },
    });
    expect(await store.get(idOf(4))).toBeNull();
    expect(await store.get(idOf(5))).toMatchObject({ status: 'expired', sandbox_report: null });
    expect(await store.settle(settlementOf(1, { modification }))).toMatchObject({ modification_diff: diff });
    expect(await foundInFiles(folder, [Buffer.from('CHANGED-VALUE')])).toBe(0);
  });

  it('gets its dates from the first sweep, by what ended each review, and its requests go at theirs', async () => {
    const from = Date.parse('2026-11-23T08:00:00.000Z');
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 0, failed: 0 });
    const dates = async (n: number) => (await store.get(idOf(n)))?.retention['payload_retention_expires_at'];
    expect(await dates(1)).toBe(new Date(from + 600_000 + 7 * DAY_MS).toISOString());
    expect(await dates(2)).toBe(new Date(from + 5_000 + 7 * DAY_MS).toISOString());
    expect(await dates(3)).toBe(new Date(from + 5_000 + 30 * DAY_MS).toISOString());
    expect(await dates(5)).toBe(new Date(from + 600_000 + DAY_MS).toISOString());
    now = from + 8 * DAY_MS;
    expect(await store.sweep()).toEqual({ purged: 3, deleted: 0, failed: 0 });
    expect(await store.get(idOf(3))).toMatchObject({ retention: { payload_availability: 'available' } });
    now = from + 31 * DAY_MS;
    // One of them nobody has decided.
    expect(await store.sweep()).toEqual({ purged: 0, deleted: 4, failed: 0 });
  });
});
