import type { STORES, TestLedgerPlace } from '../test/support/ledger.js';

/** Rows of one call, as the pipeline writes them. */
export const ROWS_PER_CALL = 4;
export const AGENTS = 200;
const ROWS_PER_LOAD = 500_000;
const DAYS = 90;
/** The clock of a long ledger stands here; its rows end just before. */
export const NOW_MS = Date.UTC(2026, 10, 21);

/** The form of an id with the number of its call in it, so that SQL can make it as well. */
export const correlation = (call: number): string =>
  `${call.toString(16).padStart(8, '0')}-1111-4111-8111-111111111111`;

/** Loads rows in bulk, past the chain: a statement for many rows, each about as long as a real one. Every other call is of tenant acme. */
export async function load(store: (typeof STORES)[number], place: TestLedgerPlace, rows: number): Promise<void> {
  const postgres = store === 'postgres';
  const hex = (number: string, digits: number) =>
    postgres ? `lpad(to_hex(${number}), ${digits}, '0')` : `printf('%0${digits}x', ${number})`;
  const time = postgres
    ? `to_char(timestamp '2026-11-21' - interval '1 millisecond' * (?::bigint - i) * ?::float8, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : `strftime('%Y-%m-%dT%H:%M:%fZ', julianday('2026-11-21') - (? - i) * ? / 86400000.0)`;
  const kinds = ['proxy.verdict', 'brain.inspection', 'policy.evaluated', 'upstream.outcome'];
  const kind = `case i % 4 ${kinds.map((name, index) => `when ${(index + 1) % 4} then '${name}'`).join(' ')} end`;
  const call = `((i + 3) / 4)`;
  const decision = `case i % 4 when 1 then '{"approval_tier":"standard","contract":"gate.server-execution/v1","mode":"enforce","outcome":"allow","policy_bundle":{"hash_sha256":"${'0'.repeat(64)}","policy_count":12,"version":"2026-11-21.1"},"reasons":[],"review_reasons":[],"tier":"green"}' else '{"allow":true,"available":true,"stage":"completed"}' end`;
  const digest = `'${'a'.repeat(64)}'`;
  const columns: Readonly<Record<string, string>> = {
    seq: 'i',
    chain_version: '6',
    id: `${hex('i', 8)} || '-2222-4222-8222-222222222222'`,
    timestamp: time,
    prev_hash: digest,
    agent_id: `'agent-' || (${call} % ${AGENTS})`,
    method: kind,
    intent_category: `'Information Retrieval'`,
    authorized: '1',
    reasoning: `'read of a file the agent owns'`,
    policy_decision: decision,
    correlation_id: `${hex(call, 8)} || '-1111-4111-8111-111111111111'`,
    signal: `case when i % 5000 = 0 then 'decoy_tripped' end`,
    agent_spiffe: `'spiffe://gate.local/tenant/acme/agent/agent/instance/66666666-6666-4666-8666-666666666666'`,
    event_kind: kind,
    tenant: `case when ${call} % 2 = 0 then 'acme' else 'other' end`,
    cost_micros: `case when i % 4 = 2 then 120 end`,
    tool_params_sha256: digest,
    credential_fingerprint: digest,
    tool_name: `'tool-' || (${call} % 17)`,
    state_namespace: `'operator'`,
    entry_hash: digest,
  };
  const numbers = postgres
    ? 'generate_series(?::bigint, ?::bigint) as n(i)'
    : '(with recursive n(i) as (select ? union all select i + 1 from n where i < ?) select i from n)';
  // Checking each row for a replacement is the guard of a running ledger.
  await place.unlock();
  const insert = `insert into ledger_entries (${Object.keys(columns).join(', ')}) select ${Object.values(columns).join(', ')} from ${numbers}`;
  for (let first = 1; first <= rows; first += ROWS_PER_LOAD)
    await place.sql(insert, [rows, (DAYS * 86_400_000) / rows, first, Math.min(rows, first + ROWS_PER_LOAD - 1)]);
  if (postgres) await place.sql('analyze ledger_entries');
}
