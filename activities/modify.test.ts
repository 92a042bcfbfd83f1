import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { ModificationDiff } from '../contracts/review.js';
import type { ChangedCall } from '../domain/call/record.js';
import { canonicalDigest } from '../domain/crypto/digest.js';
import { modified } from '../domain/decision/modification.js';
import type { QuorumRule } from '../domain/decision/quorum.js';
import { approvalRecorded, parked } from '../test/support/forged-approvals.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

const LESS: ModificationDiff = {
  contract: 'gate.hil.modification-diff/v1',
  replacements: [{ path: ['amount'], value: 5 }],
};

/** What a changed call is recorded to have come to. */
const changedTo = (params_sha256: string): ChangedCall => ({
  params_sha256,
  tier: 'green',
  reasons: [],
  review_reasons: [],
  approval_tier: 'standard',
  policy_bundle: { schema_version: 1, version: '1', hash_sha256: 'sha256:x', policy_count: 1 },
});

describe('a call whose approver changes it', () => {
  let gate: PipelineFixture;
  let call: CallInput;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
    call = await gate.call({ tool: 'wire_transfer', arguments: { amount: 500, to: 'vendor' } });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
  });
  afterEach(() => gate.close());

  const modify = (diff: ModificationDiff = LESS, request_id: string = randomUUID()) =>
    gate.decide({
      id: call.correlation_id,
      tenant: undefined,
      decision: 'modify',
      modification_diff: diff,
      reason: 'five is enough',
      decided_via: 'console',
      request_id,
      principal: (tenant) => ({
        subject: 'operator:ana',
        tenant,
        method: 'console-bearer',
        credential: 'token',
        credential_kind: 'console-bearer',
      }),
    });
  const sentArguments = () => gate.executed.map(({ params }) => (params as JsonObject)['arguments']);
  const bodyOf = async () => (await gate.reviews.byCorrelation(call.correlation_id))?.request_payload as JsonObject;
  const stateOf = async () => (await gate.calls.find(call.correlation_id))?.state;

  it('runs once as it was changed, and its row says what was changed', async () => {
    const row = await modify();
    const body = (await gate.reviews.byCorrelation(call.correlation_id))?.request_payload as JsonObject;
    const digest = canonicalDigest(modified(body, LESS));
    expect(row).toMatchObject({
      status: 'approved',
      decided_by: 'operator:ana',
      modification_diff: LESS,
      reviewed_payload_digest: digest,
      candidate_execution_payload_digest: digest,
      modified_payload: null,
    });
    await gate.host.idle();
    expect(await stateOf()).toBe('completed');
    expect(sentArguments()).toEqual([{ amount: 5, to: 'vendor' }]);
  });

  describe('where predicted effects need several people', () => {
    const DROPS = 'DROP TABLE invoices';
    const UPDATES = 'UPDATE invoices SET paid = 1 WHERE id = 7';
    const LOOKS = 'SELECT * FROM invoices';
    const sql = (value: string): ModificationDiff => ({ ...LESS, replacements: [{ path: ['sql'], value }] });
    const waiting = async (statement: string, quorum: QuorumRule) => {
      await gate.close();
      gate = await openPipeline({ script: { tier: 'yellow' }, quorum });
      call = await gate.call({ tool: 'run_sql', arguments: { sql: statement } });
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    };

    it.each([
      ['a safe one, in the place of a risky one', UPDATES, LOOKS, { strict: 2, risky: 1, destructive: 2 }, 'safe'],
      [
        'a risky one, where only what destroys needs two',
        LOOKS,
        UPDATES,
        { strict: 2, risky: 1, destructive: 2 },
        'risky',
      ],
      [
        'what destroys, where only a risky one needs two',
        LOOKS,
        DROPS,
        { strict: 2, risky: 2, destructive: 1 },
        'destructive',
      ],
    ])('one person makes of a call what one person may approve: %s', async (_, before, after, quorum, effect) => {
      await waiting(before, quorum);
      expect(await modify(sql(after))).toMatchObject({ status: 'approved' });
      await gate.host.idle();
      expect(await stateOf()).toBe('completed');
      expect(sentArguments()).toEqual([{ sql: after }]);
      expect((await gate.calls.find(call.correlation_id))?.decision?.changed?.effect).toBe(effect);
    });

    it.each([
      ['a risky one', LOOKS, UPDATES, { strict: 2, risky: 2, destructive: 1 }, /predicted to be risky/],
      ['what destroys', UPDATES, DROPS, { strict: 2, risky: 1, destructive: 2 }, /predicted to be destructive/],
    ])('and makes of it nothing that needs two: %s', async (_, before, after, quorum, why) => {
      await waiting(before, quorum);
      expect(await modify(sql(after))).toMatchObject({ status: 'denied', decision_reason: expect.stringMatching(why) });
      await gate.host.idle();
      expect(await stateOf()).toBe('denied');
      expect(gate.executed).toEqual([]);
    });

    it.each(['down', 'silent'] as const)(
      'nor what nobody predicts: the call waits on where the sandbox is %s',
      async (sandbox) => {
        await waiting(LOOKS, { strict: 2, risky: 1, destructive: 2 });
        gate.script.sandbox = sandbox;
        await expect(modify(sql(UPDATES))).rejects.toMatchObject({ code: 'modification_unjudged', status: 503 });
        expect(await stateOf()).toBe('parked');
        gate.script.sandbox = 'up';
        expect(await modify(sql(UPDATES))).toMatchObject({ status: 'approved' });
      },
    );

    it('and the effect that was predicted is held against what HIL signed once more before it runs', async () => {
      await waiting(LOOKS, { strict: 2, risky: 1, destructive: 2 });
      const body = await bodyOf();
      const modification = { diff: sql(DROPS), reviewed_digest: canonicalDigest(modified(body, sql(DROPS))) };
      const signed = await gate.decision(call, 'approve', {
        decision: 'modify',
        modification,
        approvable_effects: ['safe', 'risky'],
      });
      const params = modified(body, sql(DROPS))['params'] as JsonObject;
      await gate.calls.move(call.correlation_id, 'approve', {
        decision: approvalRecorded(signed, {
          changed: { ...changedTo(canonicalDigest(params).replace('sha256:', '')), effect: 'destructive' },
        }),
      });
      expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('tampered');
      expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(/another effect/);
      expect(gate.executed).toEqual([]);
    });
  });

  it('of a demonstration is changed whatever its effect may be: one person is enough for any of it', async () => {
    await gate.close();
    gate = await openPipeline({ script: { tier: 'yellow' }, quorum: { strict: 2, risky: 2, destructive: 2 } });
    call = await gate.call({
      state_namespace: 'demo',
      tool: 'wire_transfer',
      arguments: { amount: 500, to: 'vendor' },
    });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    expect(await modify()).toMatchObject({ status: 'approved' });
    await gate.host.idle();
    expect(sentArguments()).toEqual([{ amount: 5, to: 'vendor' }]);
  });

  it('has no claim of the tool in its answer that somebody changed it', async () => {
    gate.script.upstream = async (request) => {
      const _meta = { 'gate/modified': { by: 'operator:boss', paths: [] }, kept: 1 };
      const text = JSON.stringify({ jsonrpc: '2.0', id: request.id ?? null, result: { content: [], _meta } });
      return { kind: 'reply', statusCode: 200, text, failed: false };
    };
    expect(await gate.host.decide(await gate.decision(call, 'approve'))).toMatchObject({ outcome: 'applied' });
    await gate.host.idle();
    const answer = JSON.parse((await gate.calls.result(call.correlation_id))?.toString('utf8') ?? '') as JsonObject;
    expect(answer['result']).toEqual({ content: [], _meta: { kept: 1 } });
  });

  it('of two changes under one request id is told which one ran', async () => {
    const id = randomUUID();
    const other = { ...LESS, replacements: [{ path: ['amount'], value: 6 }] };
    const answers = await Promise.allSettled([modify(LESS, id), modify(other, id)]);
    await gate.host.idle();
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(gate.executed).toHaveLength(1);
  });

  it('is not changed by an approval that carries a change', async () => {
    const modification = { diff: LESS, reviewed_digest: canonicalDigest(modified(await bodyOf(), LESS)) };
    const signed = await gate.decision(call, 'approve', { modification });
    expect(await gate.activities.applyDecision(signed)).toMatchObject({ applied: false, code: 'decision_refused' });
    expect(await stateOf()).toBe('parked');
  });

  it('is listed without the values that were written into it', async () => {
    await modify();
    const { rows } = await gate.reviews.list({ tenant: 'acme', status: 'approved' });
    expect(rows).toMatchObject([{ modification_diff: null, reviewed_payload_digest: expect.any(String) as never }]);
  });

  it('tells its caller: the answer says who changed what', async () => {
    await modify();
    await gate.host.idle();
    const answer = JSON.parse((await gate.calls.result(call.correlation_id))?.toString('utf8') ?? '') as {
      result: { content: unknown; _meta: JsonObject };
    };
    expect(answer.result._meta['gate/modified']).toMatchObject({ by: 'operator:ana', paths: [['amount']] });
    expect(answer.result.content).toEqual([{ type: 'text', text: 'done' }]);
  });

  it('has the diff, both digests and the verdict about the changed call in the ledger', async () => {
    await modify();
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    expect(rows.map(({ event_kind }) => event_kind).slice(3)).toEqual([
      'hil.created',
      'hil.modified',
      'hil.approved',
      'upstream.outcome',
    ]);
    const [created, changed, approved, outcome] = rows.slice(3);
    expect(changed).toMatchObject({
      authorized: true,
      policy_decision: { modification_diff: LESS, tier: 'yellow', decided_by: 'operator:ana' },
    });
    expect(approved?.policy_decision).toMatchObject({ decision: 'modify', modification_diff: LESS });
    for (const row of [changed, approved, outcome])
      expect([row?.tool_params_sha256 === created?.tool_params_sha256, row?.tool_params_sha256]).toEqual([
        false,
        changed?.tool_params_sha256,
      ]);
    expect((await gate.ledger.verify()).valid).toBe(true);
  });

  it('is denied, and does not run, where policy denies what it became', async () => {
    gate.script.tier = 'red';
    expect(await modify()).toMatchObject({
      status: 'denied',
      decided_by: 'operator:ana',
      decision_reason: expect.stringContaining('Violation: destructive') as never,
      modification_diff: LESS,
    });
    await gate.host.idle();
    expect([await stateOf(), gate.executed.length]).toEqual(['denied', 0]);
    expect((await gate.kinds(call.correlation_id)).slice(3)).toEqual(['hil.created', 'hil.modified', 'hil.denied']);
  });

  it.each([
    ['denied', 'red', 'standard'],
    ['left to more people', 'yellow', 'strict'],
  ] as const)(
    'is %s in words that no row has a secret in, which the rule quotes',
    async (_what, tier, approvalTier) => {
      call = await gate.call({
        tool: 'wire_transfer',
        arguments: { amount: 500, to: 'vendor', password: 'hunter2-42' },
      });
      expect(await gate.run(call)).toMatchObject({ state: 'parked' });
      Object.assign(gate.script, { tier, approvalTier, quotes: 'by ann@acme.example with hunter2-42' });
      expect((await modify()).decision_reason).toContain('by [EMAIL] with [MASKED]');
      await gate.host.idle();
      const [denied] = (await gate.rows(call.correlation_id)).filter((row) => row.event_kind === 'hil.denied');
      expect(denied?.reasoning).toContain('by [EMAIL] with [MASKED]');
      expect(JSON.stringify(denied)).not.toMatch(/ann@acme|hunter2/);
    },
  );

  it('is denied where Brain refuses what it became', async () => {
    gate.script.brain = 'rejects';
    expect(await modify()).toMatchObject({ status: 'denied' });
    await gate.host.idle();
    expect(gate.executed).toEqual([]);
  });

  it('is denied where what it became needs more eyes, and runs where it needs as many or fewer', async () => {
    gate.script.approvalTier = 'strict';
    expect(await modify()).toMatchObject({
      status: 'denied',
      decision_reason: expect.stringContaining('strict') as never,
    });
    gate.script.approvalTier = 'standard';
    call = await gate.call({ tool: 'wire_transfer', arguments: { amount: 500, to: 'vendor' } });
    await gate.run(call);
    gate.script.approvalTier = 'auto';
    expect(await modify()).toMatchObject({ status: 'approved' });
    await gate.host.idle();
    expect(sentArguments()).toEqual([{ amount: 5, to: 'vendor' }]);
  });

  it.each(['brain', 'policy'] as const)(
    'waits on while %s is away: nothing is decided, and the same works later',
    async (away) => {
      gate.script[away] = 'down';
      const id = randomUUID();
      await expect(modify(LESS, id)).rejects.toMatchObject({ code: 'modification_unjudged' });
      expect(await stateOf()).toBe('parked');
      gate.script[away] = 'up';
      expect(await modify(LESS, id)).toMatchObject({ status: 'approved' });
      await gate.host.idle();
      expect(gate.executed).toHaveLength(1);
    },
  );

  it.each([
    ['approved', 'yellow'],
    ['denied', 'red'],
  ] as const)('gives the same decision, sent again, the same answer: %s', async (status, tier) => {
    gate.script.tier = tier;
    const id = randomUUID();
    await modify(LESS, id);
    expect(await modify(LESS, id)).toMatchObject({ status });
    const other = { ...LESS, replacements: [{ path: ['amount'], value: 6 }] };
    await expect(modify(other, id)).rejects.toMatchObject({ code: 'already_decided' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(status === 'approved' ? 1 : 0);
  });

  it.each([
    ['an argument that is not there', ['memo'], 'missing_path: memo'],
    ['a value that it has already', ['to'], 'no_change: to'],
  ])('refuses %s, and waits on', async (_what, path, detail) => {
    const diff = { ...LESS, replacements: [{ path, value: 'vendor' }] };
    await expect(modify(diff)).rejects.toMatchObject({ code: 'invalid_modification_diff', fields: { detail } });
    expect(await stateOf()).toBe('parked');
  });

  it('whose caller only asked for a decision is not changed', async () => {
    call = await gate.call({ contract: 'gate.decision/v1', arguments: { amount: 500 } });
    await gate.run(call);
    await expect(modify()).rejects.toMatchObject({ code: 'unsupported_decision' });
    expect(await stateOf()).toBe('parked');
    const row = await gate.reviews.byCorrelation(call.correlation_id);
    expect(row).toMatchObject({ executed_by: 'agent' });
    // The row of an earlier Gate does not say so, and HIL signs the change.
    const body = row?.request_payload as JsonObject;
    const modification = { diff: LESS, reviewed_digest: canonicalDigest(modified(body, LESS)) };
    const signed = await gate.decision(call, 'approve', { decision: 'modify', modification });
    expect(await gate.activities.applyDecision(signed)).toMatchObject({ applied: false, code: 'unsupported_decision' });
    expect(await stateOf()).toBe('parked');
  });
});

describe('a call that several people must approve', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({
      script: { tier: 'yellow', approvalTier: 'strict' },
      quorum: { strict: 2, risky: 1, destructive: 1 },
    });
  });
  afterEach(() => gate.close());

  it('is changed by none of them: HIL refuses, and so does the worker what HIL signed all the same', async () => {
    const call = await gate.call({ tool: 'wire_transfer', arguments: { amount: 500, to: 'vendor' } });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    const asked = { decision: 'modify' as const, reason: 'five is enough', decided_via: 'console' };
    await expect(
      gate.decide({
        ...asked,
        id: call.correlation_id,
        tenant: undefined,
        modification_diff: LESS,
        request_id: randomUUID(),
        principal: (tenant) => ({
          subject: 'operator:ana',
          tenant,
          method: 'console-bearer',
          credential: 'token',
          credential_kind: 'console-bearer',
        }),
      }),
    ).rejects.toMatchObject({ code: 'modify_under_quorum', status: 422 });
    const body = (await gate.reviews.byCorrelation(call.correlation_id))?.request_payload as JsonObject;
    const modification = { diff: LESS, reviewed_digest: canonicalDigest(modified(body, LESS)) };
    const signed = await gate.decision(call, 'approve', { ...asked, modification });
    expect(await gate.activities.applyDecision(signed)).toMatchObject({ applied: false, code: 'unsupported_decision' });
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
    expect(gate.executed).toEqual([]);
  });
});

describe('a change in a record whose MAC holds, that HIL did not sign', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  it.each([
    ['beside an approval', 'approve', undefined, /another change/],
    [
      'that an approval carries',
      'approve',
      { diff: LESS, reviewed_digest: 'sha256:0' },
      /another change|says that it does not/,
    ],
    ['that fits another call', 'modify', { diff: LESS, reviewed_digest: 'sha256:0' }, /does not fit/],
  ] as const)('is closed at the claim, and nothing is sent: %s', async (_what, decision, modification, why) => {
    const call = await parked(gate, 'gate.server-execution/v1');
    const signed = await gate.decision(call, 'approve', { decision, ...(modification && { modification }) });
    await gate.calls.move(call.correlation_id, 'approve', {
      decision: approvalRecorded(signed, { changed: changedTo('0'.repeat(64)) }),
    });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('tampered');
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(why);
  });
});
