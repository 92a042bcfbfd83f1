import { pino } from 'pino';
import { openTemplates } from '../adapters/policy/template-files.js';
import { openManagement, type PolicyManagement } from '../api/policy/management.js';
import type { DecisionSource } from '../contracts/decided-calls.js';
import { EVERYBODY } from '../domain/policy/library-ports.js';
import { suggestionOf } from '../domain/policy/mining/suggestions.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import type { EvidencedLedger } from '../test/support/evidenced-ledger.js';
import type { TestLedgerPlace } from '../test/support/ledger.js';
import { MINED_FACTS } from '../test/support/mined-facts.js';
import type { WholeReviews } from '../test/support/whole-reviews.js';
import { AGENTS, correlation, NOW_MS } from './long-ledger.js';
import { inBatches, transferToReview } from './many-reviews.js';
import { benchCompiler, NO_LEDGER, policiesOf, policyStoreOf } from './policy-parts.js';

const BY = { reason: 'measured', actor_sub: 'bench', actor_idp: 'system' };
/** Calls that wait, and as many hundredths of them that were decided; each by the id of its row, the oldest last. */
export async function parkedCalls(
  reviews: WholeReviews,
  { pending, tenant, lifeMs }: { readonly pending: number; readonly tenant: string; readonly lifeMs: number },
): Promise<{ readonly waiting: readonly string[]; readonly decided: readonly string[] }> {
  const park = async (n: number): Promise<string> => {
    const { row } = await reviews.createOnce({
      ...transferToReview(n),
      correlation_id: correlation(2 * n + 2),
      ttl_seconds: lifeMs / 1_000,
      created_at: new Date(NOW_MS - n * 10).toISOString(),
      tenant,
    });
    return row.id;
  };
  const waiting = await inBatches(pending, park);
  const decided = await inBatches(Math.ceil(pending / 100), async (n) => {
    const id = await park(pending + n);
    await reviews.settle({
      pending_id: id,
      status: n % 2 === 0 ? 'denied' : 'approved',
      decided_at: new Date(NOW_MS - n * 5).toISOString(),
      decided_by: `operator:${n % 20}`,
      decision_reason: null,
      decided_via: 'console',
      principal: null,
    });
    return id;
  });
  return { waiting, decided };
}

/** A policy engine with so many policies of operators, a document in two versions, and suggestions. */
export async function keptPolicies(options: {
  readonly floor: PolicySet;
  readonly file: string;
  readonly count: number;
  readonly tenant: string;
  readonly decisions: DecisionSource;
  readonly rows: number;
}): Promise<{
  readonly management: PolicyManagement;
  readonly rules: string;
  readonly document: string;
  close(): Promise<void>;
}> {
  const { floor, file, count, tenant, decisions, rows } = options;
  const store = await policyStoreOf(file);
  const management = await openManagement({
    floor,
    store,
    templates: openTemplates(),
    compiler: benchCompiler(),
    ledger: NO_LEDGER,
    decisions,
    log: pino({ level: 'silent' }),
  });
  const files = await policiesOf(count);
  await management.library.seed(files, true);
  // Of a document no rule is compiled anew.
  await management.library.create(EVERYBODY, { ...document(LINES), active: true, ...BY });
  await management.library.update(EVERYBODY, DOCUMENT, {
    body: document(LINES * 2).body,
    expected_current_version: 1,
    ...BY,
  });
  const found = files.slice(0, SUGGESTIONS).map(({ body, facts }, n) =>
    suggestionOf(
      { tenant, tool: `tool-${n}`, name: `mined_${facts.name}`, body },
      { ...MINED_FACTS, parts: [PART] },
      // Nobody decided anything since.
      rows,
      new Date(NOW_MS - n * 60_000).toISOString(),
    ),
  );
  await store.keepSuggestions(tenant, found, []);
  management.begin();
  return {
    management,
    rules: files[0]?.facts.name ?? '',
    document: DOCUMENT,
    async close() {
      await management.close();
      await store.close();
    },
  };
}
const DOCUMENT = 'bench.json';
const LINES = 1_000;
/** Every other line of a longer one is of the shorter one. */
const document = (lines: number) => ({
  name: DOCUMENT,
  content_type: 'json' as const,
  body: JSON.stringify(
    Object.fromEntries(Array.from({ length: lines }, (_, n) => [`limit_${(n * 2_000) / lines}`, n % 7])),
    null,
    2,
  ),
});
/** Two searches for rules that found as many as one of them may. */
const SUGGESTIONS = 40;
const PART = {
  upstream: null,
  agents: Array.from({ length: 10 }, (_, n) => `agent-${n}`),
  approvals: 40,
  objects: [{ pointer: '', names: ['amount', 'to'] }],
  arguments: [
    { pointer: '/amount', is: { from: 1, to: 900, whole: true, text: false, decimals: 0 } },
    { pointer: '/to', is: { like: 'DE00 0000 0000 0000 0000 00' } },
  ],
};

/** Cases of a tenant, each about as much as the page of one has to show. Returns the newest one's id. */
export async function openedCases(
  { cases }: Pick<EvidencedLedger, 'cases'>,
  { count, tenant }: { readonly count: number; readonly tenant: string },
): Promise<string> {
  const opened = await inBatches(count, (n) =>
    cases.open(
      {
        tenant,
        title: `What agent ${n} did`,
        agent_ids: [18, 20, 22].map((agent) => `agent-${(agent + n) % AGENTS}`),
        correlation_ids: Array.from({ length: 20 }, (_, at) => correlation(2 * at + 2)),
      },
      'operator:dev',
    ),
  );
  const id = opened.at(-1)?.id ?? '';
  for (let n = 0; n < NOTES; n += 1) {
    const at = new Date(NOW_MS - n * 60_000).toISOString();
    await cases.addEvent(id, { at, kind: 'note', actor: 'operator:dev', detail: 'looked at; '.repeat(20) }, { tenant });
  }
  return id;
}
const NOTES = 50;

/** The records of so many copies of the ledger, whose files nobody reads here. */
export async function recordedCopies(place: TestLedgerPlace, count: number): Promise<void> {
  const record = (n: number) => ({
    version: n,
    snapshot_id: `${n.toString(16).padStart(8, '0')}-3333-4333-8333-333333333333`,
    iceberg_snapshot_id: n,
    written_at: new Date(NOW_MS - (count - n) * 3_600_000).toISOString(),
    data_file: `data/${n}.parquet`,
    data_sha256: 'a'.repeat(64),
    byte_size: 1_000_000,
    row_count: 1_000,
    seq_lo: n * 1_000,
    seq_hi: n * 1_000 + 999,
    time_lo: new Date(NOW_MS - (count - n + 1) * 3_600_000).toISOString(),
    time_hi: new Date(NOW_MS - (count - n) * 3_600_000).toISOString(),
    manifest_file: `metadata/${n}.avro`,
    manifest_size: 1_000,
    manifest_list_file: `metadata/snap-${n}.avro`,
  });
  for (let n = 1; n <= count; n += 1) {
    const row = record(n);
    await place.sql(
      `insert into ledger_exports (${Object.keys(row).join(', ')}) values (${Object.keys(row)
        .map(() => '?')
        .join(', ')})`,
      Object.values(row),
    );
  }
}
