import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { alarmRow } from '../../activities/ledger.js';
import type { JsonObject } from '../../contracts/json.js';
import { callInput } from '../../test/support/call-input.js';
import { ledgerPlace, type TestLedgerPlace } from '../../test/support/ledger.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { seededRandom } from '../../test/support/random.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import { ownRow } from '../ledger/own-rows.js';
import { foldVerdict } from './verdict.js';
import type { CallRecord } from './record.js';
import { limitedRow, rowsOf } from './rows.js';

const AT = '2026-03-02T10:00:00.000Z';

/** What an agent, a tool or a model may write: any UTF-16 at all, and the characters that stores and line readers stumble over. */
const hostile = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '\0', '\ud83d', '\ude00x', '\u2028\u2029', '\ufeff', '__proto__', '\u001b[2J', '\u202e'),
  fc
    .tuple(
      fc.constantFrom('x', '😀', '\ud83d', '\0', '\u2028', '"', '\\', '\u0001'),
      fc.constantFrom(255, 256, 511, 4_096, 8_191, 8_192, 200_000),
      fc.boolean(),
    )
    .map(([unit, times, odd]) => (odd ? 'a' : '') + unit.repeat(times)),
);
const texts = fc.array(hostile, { maxLength: 4 });
const odd = fc.oneof(fc.double(), fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, -1, 0.5));

const records = fc
  .record({
    tool: hostile,
    method: hostile,
    error: hostile,
    reason: hostile,
    subject: hostile,
    via: hostile,
    failure: hostile,
    intent: hostile,
    idempotency: hostile,
    argument: hostile,
    version: hostile,
    reasons: texts,
    reviewReasons: texts,
    degraded: texts,
    score: odd,
    cost: odd,
    status: odd,
    heard: fc.boolean(),
    agentName: hostile,
    spiffe: hostile,
  })
  .map((wrote): { record: CallRecord; body: JsonObject } => {
    const decision = {
      ...decisionOf('yellow'),
      reasons: wrote.reasons,
      review_reasons: wrote.reviewReasons,
      policy_bundle: {
        schema_version: 1 as const,
        version: wrote.version,
        hash_sha256: wrote.version,
        policy_count: 1,
      },
    };
    const inspection = {
      ...inspectionOf(true),
      reason: wrote.reason,
      intent_category: wrote.intent as never,
      persona_drift_score: wrote.score,
      cost_micros: wrote.cost,
      degraded: wrote.degraded,
      evidence: { ...inspectionOf(true).evidence, brain_version: wrote.version },
    };
    const correlationId = randomUUID();
    const body: JsonObject = {
      jsonrpc: '2.0',
      id: wrote.idempotency,
      method: wrote.method,
      params: { name: wrote.tool, arguments: { path: wrote.argument, [wrote.argument]: wrote.score } },
    };
    return {
      body,
      record: {
        correlation_id: correlationId,
        version: 1,
        state: 'uncertain',
        digest: `sha256:${'0'.repeat(64)}`,
        tier: 'yellow',
        approval_tier: 'standard',
        pending_id: randomUUID(),
        deadline_ms: Date.parse(AT) + 600_000,
        not_after_ms: Date.parse(AT),
        created_ms: Date.parse(AT),
        updated_ms: Date.parse(AT),
        decision: {
          status: 'approved',
          decided_at: AT,
          decided_by: wrote.subject,
          decided_via: wrote.via,
          reason: wrote.reason,
          principal: {
            subject: wrote.subject,
            tenant: 'acme',
            method: wrote.via,
            credential: wrote.via,
            credential_kind: 'console-bearer',
          },
        },
        outcome: {
          stage: 'uncertain',
          status_code: wrote.status,
          duration_ms: 1,
          result_sha256: null,
          error: wrote.error,
          at: AT,
        },
        evidence: {
          call: callInput(Date.parse(AT), {
            correlation_id: correlationId,
            agent: wrote.agentName,
            agent_spiffe: wrote.spiffe,
            idempotency_id: wrote.idempotency,
            method: wrote.method,
            tool: wrote.tool,
          }),
          verdict: foldVerdict(inspection, decision, 'enforce'),
          inspection: wrote.heard ? inspection : null,
          inspection_failure: wrote.failure,
          decision,
          policy_failure: wrote.failure,
          facts: {
            tool_type: wrote.tool,
            agent_history: { last_tool: wrote.tool, recent_sequence: [] },
            intent_score: 0.1,
          },
          params_sha256: 'a'.repeat(64),
          callback_url: null,
        },
      },
    };
  });

describe('whatever an agent, a tool or a person wrote', () => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  beforeAll(async () => {
    place = await ledgerPlace('sqlite');
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
  });
  afterAll(async () => {
    await ledger.close();
    await place.remove();
  });

  it('the ledger takes every row of the call, and the same rows a second time', async () => {
    const { seed } = seededRandom('rows of a call');
    await fc.assert(
      fc.asyncProperty(records, async ({ record, body }) => {
        const rows = rowsOf(record, { body, callback_url: null });
        expect(rows.map(({ method }) => method)).toEqual([
          'proxy.verdict',
          'brain.inspection',
          'policy.evaluated',
          'hil.created',
          'hil.approved',
          'upstream.outcome',
        ]);
        await ledger.append(rows);
        const again = await ledger.append(rowsOf(record, { body, callback_url: null }));
        expect(again.map(({ status }) => status)).toEqual(rows.map(() => 'retained'));
      }),
      { seed, numRuns: 50 },
    );
    expect((await ledger.verify()).valid).toBe(true);
  }, 120_000);

  it('the ledger takes alarms, limited rows and rows of its own', async () => {
    const { seed } = seededRandom('rows beside calls');
    await fc.assert(
      fc.asyncProperty(hostile, hostile, odd, async (text, other, number) => {
        const detail = { [text]: other, list: [text, { deeper: number }], huge: [other, other] };
        await ledger.append([
          alarmRow({ correlation_id: randomUUID(), kind: 'alarm.call_stuck', reasoning: text, detail, tenant: 'acme' }),
          limitedRow({
            correlationId: randomUUID(),
            atMs: 1,
            tenant: 'acme',
            agent: other,
            spiffe: text,
            tool: text,
            reason: other,
            limits: detail,
          }),
          ownRow('regulatory.exported', randomUUID(), detail),
        ]);
      }),
      { seed, numRuns: 50 },
    );
  }, 120_000);

  it('a row too large for its column keeps what is small and names the rest by digest', () => {
    const reasons = Array.from({ length: 40 }, (_, index) => `${index}`.repeat(8_000));
    const [{ record, body }] = fc.sample(records, 1) as [{ record: CallRecord; body: JsonObject }];
    const { verdict } = record.evidence;
    const large = { ...record, evidence: { ...record.evidence, verdict: verdict && { ...verdict, reasons } } };
    const said = rowsOf(large, { body, callback_url: null })[0]?.policy_decision;
    expect(said).toMatchObject({
      tier: record.evidence.verdict?.tier,
      reasons: { omitted_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), omitted_bytes: expect.any(Number) },
    });
  });
});
