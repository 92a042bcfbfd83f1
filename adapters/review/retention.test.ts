import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { ModificationDiff, NewReview, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';
import type { ReviewStore } from '../../domain/review/ports.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { hilMigrations } from '../../migrations/hil.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import type { Store } from '../store/database.js';
import { openLocalFile } from '../store/local-file.js';
import { openReviewStore, reviewStoreOver } from './review-store.js';
import { sealReviews } from './seal-reviews.js';
import type { ReviewTables } from './tables.js';

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
  open(clock: () => number): Promise<ReviewStore>;
}

const inFile = async (file: string, keys: KeyRing, clock: () => number): Promise<ReviewStore> => {
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
      return {
        ...editedSqlite(target.file),
        folder,
        open: (clock) => openReviewStore({ target, payloadKeys: KEYS, clock }),
      };
    },
  ],
  [
    "lite's file",
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'gate-retention-'));
      const file = join(folder, 'lite.db');
      return { ...editedSqlite(file), folder, open: (clock) => inFile(file, KEYS, clock) };
    },
  ],
  [
    'Postgres',
    async () => {
      const { target, ...edited } = await editedPostgres('retention');
      return {
        ...edited,
        folder: null,
        open: (clock) => openReviewStore({ target, payloadKeys: KEYS, clock }),
      };
    },
  ],
];
afterAll(stopEditedPostgres);

describe.each(PLACES)('what a review holds of its call: %s', (_name, newPlace) => {
  let place: Place;
  let store: ReviewStore;
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

/** A file as Gate left it on the day before rows had keys of their own: five reviews in every state. It is kept as it is for good. */
describe('a file of an earlier version', () => {
  let folder: string;
  let store: ReviewStore;
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
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
    expect(files.some((bytes) => bytes.includes('CHANGED-VALUE'))).toBe(false);
  });
});
