import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { newLedgerRow } from '../../contracts/ledger.js';
import { callInput } from '../../test/support/call-input.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { canonicalDigest, canonicalJson, sha256Hex } from '../crypto/digest.js';
import { foldVerdict } from './verdict.js';
import type { CallRecord, RecordedDecision, RecordedOutcome, StagedRequest } from './record.js';
import { argumentsOf, ledgerRowId, rowsOf } from './rows.js';

const ID = '0190b8d0-1111-4222-8333-444455556666';
const PENDING = '0190b8d0-9999-4222-8333-444455556666';
const AT = '2026-03-02T10:00:00.000Z';
const body: JsonObject = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'wire_transfer', arguments: { amount: 4_711, note: 'for Ada' } },
};
const request: StagedRequest = { body, callback_url: null };

function recordOf(tier: 'green' | 'yellow' | 'red', change: Partial<CallRecord> = {}): CallRecord {
  const decision = decisionOf(tier);
  const inspection = inspectionOf(true);
  const verdict = foldVerdict(inspection, decision, 'enforce');
  return {
    correlation_id: ID,
    version: 1,
    state: tier === 'green' ? 'allowed' : tier === 'red' ? 'denied' : 'parked',
    digest: `sha256:${'0'.repeat(64)}`,
    tier,
    approval_tier: 'standard',
    pending_id: tier === 'yellow' ? PENDING : null,
    deadline_ms: tier === 'yellow' ? Date.parse(AT) + 600_000 : null,
    not_after_ms: Date.parse(AT) + 10_000,
    created_ms: Date.parse(AT),
    updated_ms: Date.parse(AT),
    decision: null,
    outcome: null,
    evidence: {
      call: callInput(Date.parse(AT), {
        correlation_id: ID,
        agent: 'support-bot',
        agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/support-bot/instance/0190b8d0-0000-7000-8000-000000000000',
        idempotency_id: ID,
        tool: 'wire_transfer',
        digest: `sha256:${'0'.repeat(64)}`,
      }),
      verdict,
      inspection,
      inspection_failure: null,
      policy_failure: null,
      decision,
      facts: { tool_type: 'wire_transfer', agent_history: { last_tool: null, recent_sequence: [] }, intent_score: 0.1 },
      params_sha256: 'a'.repeat(64),
      callback_url: null,
    },
    ...change,
  };
}
const decided = (status: RecordedDecision['status']): RecordedDecision => ({
  status,
  decided_at: AT,
  decided_by: status === 'expired' ? 'system:ttl-sweep' : 'operator:dev',
  decided_via: 'console',
  reason: status === 'expired' ? null : 'looked at it',
  principal:
    status === 'expired'
      ? null
      : {
          subject: 'operator:dev',
          tenant: 'acme',
          method: 'console-bearer',
          credential: 't',
          credential_kind: 'console-bearer',
        },
});
const outcomeOf = (stage: RecordedOutcome['stage']): RecordedOutcome => ({
  stage,
  status_code: stage === 'completed' ? 200 : null,
  duration_ms: 12,
  result_sha256: stage === 'completed' ? 'b'.repeat(64) : null,
  error: stage === 'completed' ? null : 'why',
  at: AT,
});
const kindsOf = (record: CallRecord) => rowsOf(record, request).map((row) => row.event_kind);
const JUDGED = ['proxy.verdict', 'brain.inspection', 'policy.evaluated'];

describe('the rows a record implies', () => {
  it('are made without those the ledger is known to hold', () => {
    const record = recordOf('yellow', {
      state: 'completed',
      decision: decided('approved'),
      outcome: outcomeOf('completed'),
    });
    const all = rowsOf(record, request);
    for (const { event_kind: kind } of all)
      expect(rowsOf(record, request, new Map([[String(kind), 1]]))).toEqual(
        all.filter((row) => row.event_kind !== kind),
      );
  });

  it('keep the event of the evaluation, and are what they were where the record has none', () => {
    const before = rowsOf(recordOf('green'), request);
    const record = recordOf('green');
    const event = { tool_type: 'wire_transfer', sql: 'read' };
    const after = rowsOf({ ...record, evidence: { ...record.evidence, forensic_event: event } }, request);
    const evaluated = after.find((row) => row.event_kind === 'policy.evaluated');
    expect(evaluated?.policy_decision).toMatchObject({ allow: true, event });
    const without = after.map((row) => {
      const { event: _event, ...rest } = row.policy_decision as JsonObject;
      return { ...row, policy_decision: rest };
    });
    expect(canonicalJson(without as never)).toBe(canonicalJson(before as never));
    // The decision had an event before rows did: an older record's rows stay as they were appended.
    const old = { ...record.evidence, decision: { ...decisionOf('green'), forensic_event: event } };
    expect(rowsOf({ ...record, evidence: old }, request)).toEqual(before);
  });

  it('have no personal data that a rule quotes of the arguments', () => {
    const quoted = 'Review: payee ann, SSN 078-05-1120 is new to us, by blue-42.';
    const login = { ...body, params: { name: 'wire_transfer', arguments: { to: 'ann', password: 'blue-42' } } };
    const record = recordOf('yellow');
    const { verdict } = record.evidence;
    const said = { review_reasons: [quoted] };
    const event = { tool_type: 'wire_transfer', review_reasons: [quoted] };
    const evidence = {
      ...record.evidence,
      ...(verdict && { verdict: { ...verdict, ...said } }),
      decision: { ...decisionOf('yellow'), ...said },
      forensic_event: event,
    };
    const rows = rowsOf({ ...record, evidence }, { ...request, body: login });
    expect(canonicalJson(rows.map((row) => ({ ...row, payload_canonical_json: null })) as never)).not.toMatch(
      /078-05-1120|blue-42/,
    );
    for (const kind of ['proxy.verdict', 'policy.evaluated', 'hil.created'])
      expect(rows.find((row) => row.event_kind === kind)?.reasoning).toContain('SSN [SSN] is new to us, by [MASKED]');
    // Without the request nothing tells that it is one.
    expect(rowsOf({ ...record, evidence }, null)[0]?.reasoning).toContain('by blue-42');
  });

  it('keep the event of the evaluation of what an approver changed, and are what they were where the record has none', () => {
    const reviewed = {
      ...body,
      params: { name: 'wire_transfer', arguments: { amount: 500, note: 'for Ada' } },
    };
    const diff = { replacements: [{ path: ['amount'], value: 500 }] };
    const changed = {
      params_sha256: 'c'.repeat(64),
      tier: 'yellow' as const,
      reasons: [],
      review_reasons: ['Review: money movement'],
      approval_tier: 'standard' as const,
      policy_bundle: decisionOf('yellow').policy_bundle,
    };
    const signed = { modification: { diff, reviewed_digest: canonicalDigest(reviewed) } };
    const rowWith = (more: object) => {
      const decision = {
        ...decided('approved'),
        changed: { ...changed, ...more },
        signed,
      } as unknown as RecordedDecision;
      const rows = rowsOf(recordOf('yellow', { state: 'approved', decision }), request);
      return rows.find((row) => row.event_kind === 'hil.modified')?.policy_decision;
    };
    const event = { tool_type: 'wire_transfer', sql: 'none' };
    expect(rowWith({ forensic_event: event })).toEqual({ ...rowWith({}), event });
    expect(rowWith({})).not.toHaveProperty('event');
  });

  it('say by digest what the approver was shown, and are what they were where the record does not', () => {
    const digest = (digit: string) => `sha256:${digit.repeat(64)}`;
    const shown = { payload_digest: digest('1'), sandbox_report_digest: null, row_digest: digest('3') };
    for (const status of ['approved', 'denied', 'expired'] as const) {
      const record = recordOf('yellow', { state: status, decision: decided(status) });
      const before = rowsOf(record, request);
      const after = rowsOf({ ...record, evidence: { ...record.evidence, shown } }, request);
      for (const kind of ['hil.created', `hil.${status}`])
        expect(after.find((row) => row.event_kind === kind)?.policy_decision).toMatchObject(shown);
      const without = after.map((row) => {
        const { payload_digest: _p, sandbox_report_digest: _s, row_digest: _r, ...told } = row.policy_decision ?? {};
        return { ...row, policy_decision: told };
      });
      expect(canonicalJson(without as never)).toBe(canonicalJson(before as never));
    }
  });

  it.each<[string, CallRecord, readonly string[]]>([
    ['allowed', recordOf('green'), JUDGED],
    ['denied', recordOf('red'), JUDGED],
    [
      'completed',
      recordOf('green', { state: 'completed', outcome: outcomeOf('completed') }),
      [...JUDGED, 'upstream.outcome'],
    ],
    [
      'uncertain',
      recordOf('green', { state: 'uncertain', outcome: outcomeOf('uncertain') }),
      [...JUDGED, 'upstream.outcome'],
    ],
    [
      'not run',
      recordOf('green', { state: 'not_run', outcome: outcomeOf('not_run') }),
      [...JUDGED, 'upstream.outcome'],
    ],
    ['parked', recordOf('yellow'), [...JUDGED, 'hil.created']],
    [
      'approved',
      recordOf('yellow', { state: 'approved', decision: decided('approved') }),
      [...JUDGED, 'hil.created', 'hil.approved'],
    ],
    [
      'denied by a person',
      recordOf('yellow', { state: 'denied', decision: decided('denied') }),
      [...JUDGED, 'hil.created', 'hil.denied'],
    ],
    [
      'expired',
      recordOf('yellow', { state: 'expired', decision: decided('expired') }),
      [...JUDGED, 'hil.created', 'hil.expired'],
    ],
    [
      'approved and run',
      recordOf('yellow', { state: 'completed', decision: decided('approved'), outcome: outcomeOf('completed') }),
      [...JUDGED, 'hil.created', 'hil.approved', 'upstream.outcome'],
    ],
    [
      'aborted while it was parked',
      recordOf('yellow', { state: 'aborted', outcome: outcomeOf('aborted') }),
      [...JUDGED, 'hil.created', 'call.aborted'],
    ],
    [
      'abandoned after its verdict',
      recordOf('green', { state: 'abandoned', outcome: outcomeOf('abandoned') }),
      [...JUDGED, 'call.abandoned'],
    ],
  ])('%s', (_what, record, expected) => {
    expect(kindsOf(record)).toEqual(expected);
  });

  it('none while the review row may still be withdrawn with a 503', () => {
    expect(kindsOf(recordOf('yellow', { state: 'decided', pending_id: null }))).toEqual([]);
  });

  it('a call that was never judged has one row: how it was closed', () => {
    const record = recordOf('green', { state: 'abandoned', outcome: outcomeOf('abandoned') });
    const unjudged = {
      ...record,
      evidence: { ...record.evidence, verdict: null, inspection: null, decision: null, facts: null },
    };
    expect(kindsOf(unjudged)).toEqual(['call.abandoned']);
  });

  it('are accepted by the ledger as they are', () => {
    const record = recordOf('yellow', {
      state: 'completed',
      decision: decided('approved'),
      outcome: outcomeOf('completed'),
    });
    for (const row of rowsOf(record, request)) expect(newLedgerRow.safeParse(row)).toMatchObject({ success: true });
  });

  it('are a function of the record: the same ids and bytes whenever they are made', () => {
    const record = recordOf('yellow', {
      state: 'completed',
      decision: decided('approved'),
      outcome: outcomeOf('completed'),
    });
    expect(rowsOf(structuredClone(record), structuredClone(request))).toEqual(rowsOf(record, request));
    const ids = rowsOf(record, request).map((row) => row.id);
    expect(new Set(ids).size).toBe(ids.length);
    // What came later does not change what stood before.
    expect(rowsOf(recordOf('yellow'), request)).toEqual(rowsOf(record, request).slice(0, 4));
    expect(ids[0]).toBe(ledgerRowId(ID, 'proxy.verdict'));
    expect(ledgerRowId(ID, 'proxy.verdict', 1)).not.toBe(ids[0]);
  });

  it('say who called what, and carry the true verdict', () => {
    for (const [tier, authorized] of [
      ['green', true],
      ['yellow', false],
      ['red', false],
    ] as const) {
      const [verdict] = rowsOf(recordOf(tier), request);
      expect(verdict).toMatchObject({
        method: 'proxy.verdict',
        agent_id: 'support-bot',
        tenant: 'acme',
        tool_name: 'wire_transfer',
        correlation_id: ID,
        state_namespace: 'operator',
        authorized,
        tool_params_sha256: 'a'.repeat(64),
        policy_decision: { tier, mode: 'enforce', idempotency_id: ID },
      });
    }
  });

  it('say of which upstream the tool is, and what is odd about that', () => {
    const of = (upstream: NonNullable<CallRecord['evidence']['call']['upstream']>) => {
      const record = recordOf('green');
      return rowsOf(
        { ...record, evidence: { ...record.evidence, call: { ...record.evidence.call, upstream } } },
        request,
      )[0];
    };
    expect(of({ id: PENDING })).toMatchObject({ upstream_id: PENDING });
    expect(of({ id: PENDING })).not.toHaveProperty('signal');
    expect(of({ id: null, signal: 'upstream_not_registered' })).not.toHaveProperty('upstream_id');
    expect(of({ id: null, signal: 'upstream_not_registered' })).toMatchObject({
      signal: 'upstream_not_registered',
    });
  });

  it('carry the decider only where somebody decided', () => {
    const rowOf = (status: RecordedDecision['status']) =>
      rowsOf(recordOf('yellow', { decision: decided(status) }), request).at(-1);
    expect(rowOf('approved')).toMatchObject({
      authorized: true,
      reasoning: 'looked at it',
      actor_sub: 'operator:dev',
      policy_decision: {
        decided_by: 'operator:dev',
        credential_kind: 'console-bearer',
        approver_provenance: 'console-bearer',
      },
    });
    expect(rowOf('denied')).toMatchObject({ authorized: false, actor_sub: 'operator:dev' });
    expect(rowOf('expired')).toMatchObject({ authorized: false, policy_decision: { approver_provenance: 'system' } });
    expect(rowOf('expired')?.actor_sub).toBeUndefined();
  });

  it('keep arguments out of what is hashed: they stand beside it, committed by their digest', () => {
    const [verdict, , policy] = rowsOf(recordOf('green'), request);
    expect(verdict).toMatchObject({
      payload_sha256: sha256Hex(canonicalJson(body)),
      payload_canonical_json: canonicalJson(body),
    });
    expect(JSON.parse(policy?.payload_canonical_json ?? '')).toMatchObject({
      tool_type: 'wire_transfer',
      arguments: { amount: 4_711 },
    });
    for (const row of rowsOf(recordOf('green'), request)) {
      const { payload_canonical_json: _beside, ...hashed } = row;
      expect(JSON.stringify(hashed)).not.toMatch(/Ada|4711/);
    }
  });

  it('do without the request where it is past its retention', () => {
    const rows = rowsOf(recordOf('green'), null);
    expect(rows.map((row) => row.event_kind)).toEqual(JUDGED);
    for (const row of rows) expect(row.payload_sha256).toBeUndefined();
  });

  it('say that inspection was missing, and why', () => {
    const record = recordOf('red');
    const blind = {
      ...record,
      evidence: { ...record.evidence, inspection: null, inspection_failure: 'brain is away' },
    };
    expect(rowsOf(blind, request)[1]).toMatchObject({
      event_kind: 'brain.inspection',
      authorized: false,
      reasoning: 'inspection unavailable: brain is away',
      policy_decision: { available: false },
    });
  });

  it('cut a reasoning that is longer than a row takes', () => {
    const record = recordOf('red');
    const verdict = {
      ...(record.evidence.verdict as NonNullable<typeof record.evidence.verdict>),
      reasons: ['x'.repeat(20_000)],
    };
    expect(rowsOf({ ...record, evidence: { ...record.evidence, verdict } }, request)[0]?.reasoning).toHaveLength(8_192);
  });
});

describe('the arguments of a call', () => {
  it('are an object, whatever was sent', () => {
    expect(argumentsOf(body)).toEqual({ amount: 4_711, note: 'for Ada' });
    for (const odd of [
      undefined,
      {},
      { params: [] },
      { params: null },
      { params: { arguments: [] } },
      { params: { arguments: null } },
    ])
      expect(argumentsOf(odd as JsonObject | undefined)).toEqual({});
  });
});
