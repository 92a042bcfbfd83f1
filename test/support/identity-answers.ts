import type { Measurement } from '../../contracts/attestation.js';
import type { GrantRecord } from '../../contracts/grants.js';
import type { AgentRecord, KeptStopReport, StopRecord, TenantBudget } from '../../contracts/identity.js';
import type { DecoyHit, DecoyRecord } from '../../contracts/decoys.js';
import type { UpstreamRecord } from '../../contracts/upstreams.js';
import type { TenantOperation } from '../../contracts/tenant-lifecycle.js';
import { newOperation, shownOperation } from '../../domain/identity/tenant-operations.js';
import { budgetsSeen } from '../../console/pages/tenants/set-budget.js';
import { approvalFor } from './approved-measurement.js';
import type { PolicyAnswer } from './console-over-hil.js';

const AT = '2026-11-02T10:00:00.000Z';
const LATER = '2027-11-02T10:00:00.000Z';
/** As the forms of a stopped agent and of a stopped tool name what they are about. */
export const SEEN_STOP = `${AT} nobody`;
export const STOP_ID = '50000000-0000-4000-8000-000000000005';
/** As the form of budgets names what it changes. */
export const SEEN_BUDGETS = budgetsSeen({ updated_at: AT, agents: [{ agent_name: 'stopped-bot', updated_at: AT }] });
export const GRANT_ID = '80000000-0000-4000-8000-000000000008';
export const REPORT_ID = '60000000-0000-4000-8000-000000000006';

/**
 * What identity answers where people write so: an agent of each name, of which those that begin with `stopped` are, and a person decides about the
 * others; a stopped tool, and one that was let go.
 */
export function identityThatTells(words: string): (path: string, search: string, method: string) => PolicyAnswer {
  const agent = (name: string): AgentRecord => {
    const isStopped = name.startsWith('stopped');
    return {
      id: '40000000-0000-4000-8000-000000000004',
      tenant: 'acme',
      agent_name: name,
      state: isStopped ? 'suspended' : 'active',
      created_by_sub: words,
      created_at: AT,
      state_changed_at: AT,
      state_changed_by: words,
      reason: words,
      svid_bootstrap_state: 'recovery',
      report_id: isStopped ? REPORT_ID : null,
      owner_team: 'payments',
      description: words,
      certified_at_version: words,
      certified_at: AT,
      scope_envelope: ['tool:pay'],
      yellow_envelope: [],
      attestation_kinds_accepted: [],
      force_hil: isStopped ? null : { expires_at: LATER, reason: words, applied_at: AT, actor: words },
      release: null,
    };
  };
  const upstream: UpstreamRecord = {
    id: STOP_ID,
    tenant: 'acme',
    name: 'crm',
    url: words,
    tls_pin: `sha256:${'a'.repeat(64)}`,
    spiffe_id: 'spiffe://tools.example/crm',
    owner_team: 'payments',
    state: 'active',
    created_by_sub: words,
    created_at: AT,
    retired_at: null,
    retired_by: null,
  };
  const tool: StopRecord = {
    id: STOP_ID,
    tenant: 'acme',
    tool: 'a_tool',
    state: 'suspended',
    changed_at: AT,
    changed_by: words,
    reason: words,
    report_id: REPORT_ID,
    release: null,
  };
  const report: KeptStopReport = {
    id: REPORT_ID,
    tenant: 'acme',
    stopped: { kind: 'tool', id: STOP_ID, name: words },
    stopped_at: AT,
    stopped_by: words,
    reason: words,
    state: 'made',
    certificates_revoked: 0,
    made_at: LATER,
    report_sha256: 'a'.repeat(64),
  };
  const grant: GrantRecord = {
    jti: GRANT_ID,
    agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/a-bot',
    human_sub: words,
    idp: words,
    scope: [words],
    yellow_scope: [],
    issued_at: AT,
    max_uses: 5,
    uses: 2,
    not_before: null,
    not_after: null,
    exp: LATER,
    recurrence_summary: words,
    revoked_at: null,
    revoked_by: null,
  };
  const approved: Measurement = {
    ...approvalFor('acme', 'a-bot'),
    id: GRANT_ID,
    state: 'approved',
    reason: words,
    approved_by_sub: words,
    approved_at: AT,
    retired_at: null,
    retired_by: null,
    signature: 'a signature',
    key_id: 'a-key',
  };
  const decoy: DecoyRecord = {
    id: REPORT_ID,
    tenant: 'acme',
    name: 'a_decoy',
    kind: 'value',
    advertised: false,
    action: 'suspend',
    schema_json: null,
    description: words,
    value_hint: words,
    created_at: AT,
    created_by: words,
    hits: 1,
    last_hit_at: AT,
  };
  const hit: DecoyHit = {
    decoy_id: REPORT_ID,
    decoy: 'a_decoy',
    kind: 'value',
    tenant: 'acme',
    agent_name: words,
    hits: 1,
    first_at: AT,
    last_at: AT,
    correlation_id: GRANT_ID,
    contained: 'suspend',
  };
  const set = { budget_micros: 5_000_000, updated_at: AT, updated_by: words, reason: words };
  const budget: Omit<TenantBudget, 'tenant'> = { ...set, agents: [{ agent_name: 'stopped-bot', ...set }] };
  const begun = shownOperation(
    newOperation({
      id: '70000000-0000-7000-8000-000000000007',
      tenant: 'acme',
      kind: 'offboard',
      idempotencyKey: 'once',
      reason: 'a reason',
      by: 'operator:dev',
      nowMs: Date.parse(AT),
    }),
  );
  const operation: TenantOperation = {
    ...begun,
    reason: words,
    actor_sub: words,
    state: 'manual_recovery',
    steps: begun.steps.map((step, at) => ({
      ...step,
      ...(at === 0 && { state: 'succeeded' as const, attempts: 1, receipt: {}, receipt_sha256: 'a'.repeat(64) }),
      ...(at === 1 && { state: 'manual_recovery' as const, attempts: 5, last_error: words }),
    })),
  };
  return (path, search, method) => {
    const query = new URLSearchParams(search);
    const tools: StopRecord[] = [tool, { ...tool, id: STOP_ID.replace('5', '6'), tool: 'let_go', state: 'active' }];
    if (path.endsWith('/lifecycle')) return { status: 200, body: path.includes('/acme/') ? [operation] : [] };
    if (path === '/stops' && method === 'GET')
      return { status: 200, body: query.get('state') === null ? tools : tools.slice(0, 1) };
    if (path === '/stops') return { status: 200, body: tool };
    if (path === '/stops/reports') return { status: 200, body: [report] };
    if (path.startsWith('/stops/reports/')) return { status: 200, body: { ...report, report: null } };
    if (path.startsWith('/stops/')) return { status: 202, body: { ...tool, somebody_else: true } };
    if (path === '/decoys/hits') return { status: 200, body: { hits: [hit] } };
    if (path === '/decoys' && method === 'GET') return { status: 200, body: { decoys: [decoy] } };
    if (path === '/decoys') return { status: 201, body: decoy };
    if (path.startsWith('/decoys/')) return { status: 200, body: { retired: true } };
    if (path === '/upstreams' && method === 'GET')
      return {
        status: 200,
        body: [upstream, { ...upstream, id: REPORT_ID, state: 'retired', retired_at: AT, retired_by: words }],
      };
    if (path === '/upstreams') return { status: 201, body: upstream };
    if (path.startsWith('/upstreams/')) return { status: 200, body: upstream };
    if (path === '/grants') return { status: 200, body: { grants: [grant, { jti: 'edited', tampered: words }] } };
    if (path === '/attestation/measurements') return { status: 200, body: [approved] };
    if (path.startsWith('/attestation/measurements/')) return { status: 200, body: approved };
    if (path === '/revoke') return { status: 200, body: { kind: 'grant', id: GRANT_ID, revoked_at: AT } };
    if (path.endsWith('/budget')) return { status: 200, body: { ...budget, tenant: path.split('/')[2] } };
    if (path === '/agents' && method === 'GET')
      return { status: 200, body: [agent(query.get('agent_name') ?? 'stopped-bot')] };
    if (path === '/agents') return { status: 201, body: agent('a-bot') };
    if (path.includes('/containment')) return { status: 200, body: { force_hil: null } };
    return path.endsWith('/unsuspend')
      ? { status: 202, body: { ...agent('stopped-bot'), somebody_else: true } }
      : { status: 200, body: agent('stopped-bot') };
  };
}

/** What identity answers of a tenant that is stopped whole, or was let go. */
export const tenantThatIs =
  (state: StopRecord['state']) =>
  (...asked: Parameters<ReturnType<typeof identityThatTells>>): PolicyAnswer => {
    const [path, search, method] = asked;
    const answer = identityThatTells('a reason')(...asked);
    if (path !== '/stops' || method !== 'GET') return answer;
    const [stop] = answer.body as StopRecord[];
    const isAsked = state === 'suspended' || !search.includes('state=suspended');
    return { status: 200, body: isAsked ? [{ ...stop, tool: null, state }] : [] };
  };
