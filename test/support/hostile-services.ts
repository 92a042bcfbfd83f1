import type { CaseWithEvidence } from '../../contracts/cases.js';
import type { ExportRecord } from '../../contracts/ledger-export.js';
import type {
  AgentActivity,
  FleetBehavioralDiff,
  Hunt,
  Narrative,
  SilentAgents,
  Spend,
} from '../../contracts/ledger-reports.js';
import type { PolicyFileShown, PolicyList, PolicyRow } from '../../contracts/policy.js';
import type { PolicyVersion, TemplateFile } from '../../contracts/policy-library.js';
import type { MinedSuggestion } from '../../contracts/policy-mining.js';
import { type PolicyAnswer, WholeAnswer } from './console-over-hil.js';
import { MINED_FACTS } from './mined-facts.js';

const AT = '2026-11-02T10:00:00.000Z';
const ID = '00000000-0000-4000-8000-0000000000aa';
const HASH = '1'.repeat(64);

/** A row of the ledger with these words wherever somebody else writes them. */
export const hostileEntry = (words: string, correlationId: string) => ({
  chain_version: 1,
  id: ID,
  timestamp: AT,
  seq: 1,
  prev_hash: '0'.repeat(64),
  entry_hash: HASH,
  agent_id: words,
  method: words,
  intent_category: words,
  authorized: false,
  reasoning: words,
  policy_decision: { outcome: 'deny', reasons: [words] },
  correlation_id: correlationId,
  event_kind: null,
  state_namespace: 'operator',
  tool_type: words,
  decided_by: words,
  status: null,
});

/** What the ledger answers, each report valid, where agents, tools and people are called so and write so. */
export function hostileLedger(words: string, correlationId: string): (path: string) => unknown {
  const entry = hostileEntry(words, correlationId);
  const activity: AgentActivity = {
    since: AT,
    until: AT,
    agents: [
      {
        agent_id: words,
        total: 1,
        allowed: 1,
        denied: 0,
        reviewed: 0,
        denied_by_people: 0,
        last_at: AT,
        last_correlation_id: correlationId,
        tools: [{ tool_name: words, allowed: 1, denied: 0, reviewed: 0, tiers: { green: [1] } }],
        tiers: { green: [1] },
        tools_total: 1,
        points: [{ at: AT, total: 1, denied: 0, reviewed: 0 }],
      },
    ],
    returned: 1,
    agents_total: 1,
  };
  const silent: SilentAgents = {
    threshold_hours: 24,
    generated_at: AT,
    silent_agents: [
      {
        agent_name: words,
        tenant: 'acme',
        last_activity: AT,
        enrolled_at: null,
        silent_hours: 48,
        never_active: false,
      },
    ],
    active_total: 2,
  };
  const drift: FleetBehavioralDiff = {
    baseline_days: 14,
    recent_days: 7,
    since_baseline: AT,
    since_recent: AT,
    now: AT,
    agents: [
      {
        agent_id: words,
        recent_total: 50,
        baseline_total: 50,
        new_tools: [words],
        vanished_tools: [words],
        deny_rate_delta: 0,
        intent_delta: 0,
        total_delta: 0,
        drift_overall: 1,
        drifted: true,
        insufficient: false,
      },
    ],
    agents_total: 1,
    insufficient_total: 0,
    returned: 1,
  };
  const found: Hunt = {
    agents: [
      {
        agent_id: words,
        agent_name: words,
        hit_count: 1,
        deny_count: 1,
        worst_signal: words,
        principal: 'agent',
        latest_hit_ts: AT,
        latest_correlation_id: correlationId,
        methods: [words],
      },
    ],
    returned: 1,
    from: null,
    to: null,
  };
  const none = { count: 1, percent: 100 };
  const narrative: Narrative = {
    agent_id: words,
    window: '7d',
    from: AT,
    to: AT,
    generated_at: AT,
    total: 1,
    headline: words,
    story: [{ text: words, seqs: [1] }],
    sparkline: { bucket: 'day', points: [{ at: AT, total: 1, denied: 1, reviewed: 0 }] },
    outcomes: { allowed: 0, denied: 1, reviewed: 0, would_deny: 0, would_review: 0 },
    executions: { completed: 0, failed: 0, uncertain: 0, not_run: 0 },
    intents: [{ intent_category: words, ...none }],
    tools: [{ tool_name: words, count: 1 }],
    signals: [{ signal: words, count: 1 }],
    deny_reasons: [{ reason: words, count: 1, sample_reasoning: words, sample_seq: 1 }],
    hil: {
      pending: 0,
      approved: 0,
      denied: 0,
      expired: 0,
      changed_then_denied: 0,
      approved_by_rule: 0,
      denied_by_gate: 0,
      withdrawn: 0,
      unreachable: 0,
    },
    notable: [{ seq: 1, at: AT, event_kind: words, summary: words, correlation_id: correlationId }],
    deep_review: { findings_7d: 0, brain_delta: { Agreed: 0, Escalated: 0, Downgraded: 0 }, top_disagreement: null },
  };
  const kept: CaseWithEvidence = {
    case: {
      id: ID,
      tenant: 'acme',
      title: words,
      status: 'open',
      created_at: AT,
      updated_at: AT,
      agent_ids: [words],
      correlation_ids: [words],
      timeline: [{ at: AT, kind: words, actor: words, detail: words }],
    },
    evidence: [entry as never],
  };
  const spent: Spend = {
    window: '30d',
    agents: [{ agent_id: words, agent_name: words, spend_micros: 1, request_count: 1, priced_count: 1, latest_ts: AT }],
    total_spend_micros: 1,
    total_requests: 1,
    total_priced: 1,
    returned: 1,
  };
  const copied: ExportRecord = {
    snapshot_id: words,
    written_at: AT,
    data_uri: words,
    manifest_uri: words,
    data_sha256: HASH,
    byte_size: 1,
    row_count: 1,
    seq_lo: 1,
    seq_hi: 1,
  };
  return (path) => {
    if (path === '/verify') return { valid: true, entries_checked: 1, first_invalid_seq: null };
    if (path === '/checkpoint') return new WholeAnswer(404, '{"error":"not_found","reason":"none"}');
    if (path === '/analysis/agent-activity') return activity;
    if (path === '/analysis/silent-agents') return silent;
    if (path === '/analysis/fleet-behavioral-diff') return drift;
    if (path === '/audit/hunt') return found;
    if (path.endsWith('/narrative')) return narrative;
    if (path === '/cases') return [kept.case];
    if (path.startsWith('/cases/')) return kept;
    if (path.endsWith('/masked-params')) return { masked_params: { [words]: words }, retention_class: words };
    if (path === '/finops/spend') return spent;
    if (path === '/exports') return [copied];
    if (path.endsWith('/lifecycle')) return [];
    return [entry];
  };
}

/** What the policy engine answers, each answer valid, where people wrote so into policies, versions and suggestions. */
export function hostilePolicies(words: string): (path: string) => PolicyAnswer {
  const facts = { frameworks: [words], tags: [words], tool_surface: [words], summary: words, domain: words };
  const row: PolicyRow = {
    ...facts,
    name: words,
    content_type: 'rego',
    active: true,
    protected: false,
    as_shipped: false,
    current_version: 1,
    tier: words,
    package: words,
    body_sha256: HASH,
    bytes: 1,
    rules: [{ rule: words, line: 1, title: words, description: words, reason: words }],
    tenant: null,
    severity: 'high',
    deleted_at: null,
    created_at: AT,
    updated_at: AT,
  };
  const file: PolicyFileShown = {
    ...row,
    current_body: words,
    current_body_sha256: HASH,
    not_in_force: words,
    takes_no_change: words,
  };
  const list: PolicyList = {
    bundle: { schema_version: 1, version: words, hash_sha256: `sha256:${HASH}`, policy_count: 1 },
    origin: { directory: words, loaded_at: AT, wasm_sha256: HASH, opa_version: words, entrypoints: [words] },
    policies: [row],
    not_in_force: words,
    takes_no_change: words,
  };
  const version: PolicyVersion = {
    name: words,
    version: 1,
    body: words,
    body_sha256: HASH,
    active: true,
    reason: words,
    actor_sub: words,
    actor_idp: words,
    event_kind: 'policy.created',
    chain_seq: 1,
    created_at: AT,
  };
  const template: TemplateFile = {
    ...facts,
    name: words,
    content_type: 'rego',
    severity: 'high',
    tier: 'deny',
    installed: false,
    body: words,
    body_sha256: HASH,
    parameters: null,
  };
  const suggestion: MinedSuggestion = {
    id: ID,
    tenant: 'acme',
    tool: words,
    rule_name: words,
    state: 'proposed',
    state_why: words,
    in_force: false,
    one_liner: words,
    next_step: words,
    rego_body: words,
    body_sha256: HASH,
    proposed_at: AT,
    ...MINED_FACTS,
  };
  const answer = (path: string): object => {
    if (path === '/policies' || path === '/policies/standing') return list;
    if (path === '/policies/suggestions') return { suggestions: [suggestion] };
    if (path === '/policies/templates') return [template];
    if (path.startsWith('/policies/templates/')) return template;
    if (path.endsWith('/versions')) return { versions: [version] };
    if (path.endsWith('/versions/1')) return version;
    if (path.endsWith('/diff')) return { name: words, from: 1, to: 1, diff: `-${words}\n+${words}\n` };
    return file;
  };
  return (path) => ({ status: 200, body: answer(path) });
}
