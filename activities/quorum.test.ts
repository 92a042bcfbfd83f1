import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { canonicalJson } from '../domain/crypto/digest.js';
import { GateError } from '../domain/errors.js';
import { createDecisions } from '../domain/review/decisions.js';
import { APPROVERS } from '../test/support/approvers.js';
import { approvalRecorded, parked } from '../test/support/forged-approvals.js';
import { DECISION_KEYS, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { eventually } from '../test/support/waiting.js';

const BY_TOKEN = { method: 'console-bearer', credential: 'token', credential_kind: 'console-bearer' } as const;

/** A strict call that two people must approve. */
describe('a call that two people must approve', () => {
  let gate: PipelineFixture;
  let call: CallInput;
  const revoked = new Set<string>();
  beforeEach(async () => {
    revoked.clear();
    gate = await openPipeline({
      script: { tier: 'yellow', approvalTier: 'strict' },
      quorum: { strict: 2, risky: 1, destructive: 1 },
      approvers: () => APPROVERS.filter((subject) => !revoked.has(subject)),
    });
    call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
  });
  afterEach(() => gate.close());

  const by = (
    name: string,
    decision: 'approve' | 'deny' = 'approve',
    request_id: string = randomUUID(),
    reason: string | null = `${name} looked`,
  ) =>
    gate.decide({
      id: call.correlation_id,
      tenant: undefined,
      decision,
      reason,
      decided_via: 'console',
      request_id,
      principal: (tenant) => ({
        subject: `operator:${name}`,
        tenant,
        method: 'console-bearer',
        credential: `token of ${name}`,
        credential_kind: 'console-bearer',
      }),
    });
  const stateOf = async () => (await gate.calls.find(call.correlation_id))?.state;
  const hilRows = async () =>
    (await gate.rows(call.correlation_id)).filter(({ event_kind: kind }) => kind?.startsWith('hil.'));

  it('says so in its row', async () => {
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({
      status: 'pending',
      approval_tier: 'strict',
      required_approvers: 2,
      approvals: [],
    });
  });

  it('waits after the first approval, and runs once after the second', async () => {
    const first = await by('ana');
    expect(first).toMatchObject({ status: 'pending', decided_by: null, approvals: [{ by: 'operator:ana' }] });
    expect([await stateOf(), gate.executed.length]).toEqual(['parked', 0]);
    const second = await by('ben');
    expect(second).toMatchObject({
      status: 'approved',
      decided_by: 'operator:ben',
      approvals: [{ by: 'operator:ana', provenance: 'console-bearer' }, { by: 'operator:ben' }],
    });
    await gate.host.idle();
    expect([await stateOf(), gate.executed.length]).toEqual(['completed', 1]);
  });

  it('shows with each approval the reason that was given for it, while it waits and once it is decided', async () => {
    await by('ana');
    const waiting = await gate.reviews.byCorrelation(call.correlation_id);
    expect(waiting?.approvals).toMatchObject([{ by: 'operator:ana', reason: 'ana looked' }]);
    await by('ben', 'approve', randomUUID(), null);
    const decided = await gate.reviews.byCorrelation(call.correlation_id);
    expect(decided?.approvals).toMatchObject([{ by: 'operator:ana', reason: 'ana looked' }, { by: 'operator:ben' }]);
    expect(decided?.approvals?.[1]).not.toHaveProperty('reason');
  });

  it('is decided by two who approve at once, also where HIL dies before it hears of either', async () => {
    const dying = createDecisions({
      reviews: gate.reviews,
      sender: {
        async decide(signed) {
          await gate.host.decide(signed);
          throw new GateError('orchestrator_unavailable');
        },
      },
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      observe: () => undefined,
    });
    const asked = { id: call.correlation_id, tenant: undefined, reason: null, decided_via: null } as const;
    for (const subject of ['operator:ana', 'operator:ben'])
      await expect(
        dying({
          ...asked,
          decision: 'approve',
          request_id: randomUUID(),
          principal: (tenant) => ({ subject, tenant, ...BY_TOKEN }),
        }),
      ).rejects.toMatchObject({ code: 'orchestrator_unavailable' });
    await gate.host.idle();
    expect([await stateOf(), gate.executed.length]).toEqual(['completed', 1]);
    expect((await gate.reviews.byCorrelation(call.correlation_id))?.approvals).toMatchObject([
      { by: 'operator:ana' },
      { by: 'operator:ben' },
    ]);
    // Who heard nothing says it again, and learns how it ended.
    expect(await by('ana')).toMatchObject({ status: 'approved', decided_by: 'operator:ben' });
  });

  it('tells somebody whose approval was counted, and who hears of it only after a denial, that it was denied', async () => {
    const late = createDecisions({
      reviews: gate.reviews,
      sender: {
        async decide(signed) {
          const outcome = await gate.host.decide(signed);
          await by('ben', 'deny');
          return outcome;
        },
      },
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      observe: () => undefined,
    });
    const asked = { id: call.correlation_id, tenant: undefined, reason: null, decided_via: null } as const;
    const principal = (tenant: string) => ({ subject: 'operator:ana', tenant, ...BY_TOKEN });
    await expect(late({ ...asked, decision: 'approve', request_id: randomUUID(), principal })).rejects.toMatchObject({
      code: 'already_decided',
      fields: { status: 'denied', decided_by: 'operator:ben' },
    });
  });

  it('has a row of the ledger for each vote, and who approved stands in the row that decides', async () => {
    await by('ana');
    await by('ben');
    await gate.host.idle();
    const rows = await hilRows();
    expect(rows.map(({ event_kind }) => event_kind)).toEqual(['hil.created', 'hil.vote', 'hil.approved']);
    expect(rows[1]).toMatchObject({
      authorized: false,
      actor_sub: 'operator:ana',
      reasoning: 'ana looked',
      policy_decision: { status: 'pending', vote: 1, required_approvers: 2, decided_by: 'operator:ana' },
    });
    expect(rows[2]?.policy_decision).toMatchObject({
      required_approvers: 2,
      approvals: [{ by: 'operator:ana' }, { by: 'operator:ben' }],
    });
    expect((await gate.ledger.verify()).valid).toBe(true);
  });

  it("counts no workload that decides with an operator's token", async () => {
    await by('ana');
    const asked = {
      id: call.correlation_id,
      tenant: undefined,
      decision: 'approve',
      reason: null,
      decided_via: null,
    } as const;
    const principal = (tenant: string) => ({
      subject: 'spiffe://gate.local/service/simulator',
      tenant,
      method: 'workload-mtls',
      credential: 'token of ana',
      credential_kind: 'console-bearer' as const,
    });
    await expect(gate.decide({ ...asked, principal, request_id: randomUUID() })).rejects.toMatchObject({
      code: 'capability_denied',
    });
    expect(await stateOf()).toBe('parked');
  });

  it('counts no vote of the person for whom its agent acts, also one from before that was known', async () => {
    await by('ana');
    const knowing = createDecisions({
      reviews: gate.reviews,
      sender: gate.host,
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      owners: ({ agent_id }) => (agent_id === call.agent ? ['operator:ana'] : []),
      observe: () => undefined,
    });
    const decided = (subject: string) =>
      knowing({
        id: call.correlation_id,
        tenant: undefined,
        decision: 'approve',
        reason: null,
        decided_via: null,
        request_id: randomUUID(),
        principal: (tenant) => ({ subject, tenant, ...BY_TOKEN }),
      });
    await expect(decided('operator:ana')).rejects.toMatchObject({ code: 'own_request' });
    expect(await decided('operator:ben')).toMatchObject({ status: 'pending', approvals: [{ by: 'operator:ben' }] });
    expect(await decided('operator:cyd')).toMatchObject({ status: 'approved' });
  });

  it('counts a person once, however often he approves', async () => {
    await by('ana');
    for (const _again of [1, 2])
      expect(await by('ana')).toMatchObject({ status: 'pending', approvals: [{ by: 'operator:ana' }] });
    await gate.host.idle();
    expect([await stateOf(), (await hilRows()).length]).toEqual(['parked', 2]);
  });

  it('gives the same vote, sent again under its request id, the same answer', async () => {
    const id = randomUUID();
    const first = await by('ana', 'approve', id);
    expect(canonicalJson((await by('ana', 'approve', id)).approvals as never)).toBe(
      canonicalJson(first.approvals as never),
    );
  });

  it('is denied by one, before or after somebody approved', async () => {
    await by('ana');
    expect(await by('ben', 'deny')).toMatchObject({ status: 'denied', decided_by: 'operator:ben' });
    await expect(by('cyd')).rejects.toMatchObject({ code: 'already_decided' });
    await gate.host.idle();
    expect([await stateOf(), gate.executed.length]).toEqual(['denied', 0]);
    expect((await hilRows()).map(({ event_kind }) => event_kind)).toEqual(['hil.created', 'hil.vote', 'hil.denied']);
  });

  it('does not count the approval of somebody who may not approve any more', async () => {
    await by('ana');
    revoked.add('operator:ana');
    expect(await by('ben')).toMatchObject({ status: 'pending', approvals: [{ by: 'operator:ben' }] });
    expect(await by('cyd')).toMatchObject({
      status: 'approved',
      approvals: [{ by: 'operator:ben' }, { by: 'operator:cyd' }],
    });
  });

  it('is approved though its row did not show a vote that the record has', async () => {
    const stored = await gate.activities.applyDecision(await gate.decision(call, 'approve'));
    expect(stored).toMatchObject({ applied: true, settled: null });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toMatchObject({ approvals: [] });
    expect(await by('ben')).toMatchObject({
      status: 'approved',
      approvals: [{ by: 'operator:dev' }, { by: 'operator:ben' }],
    });
  });

  it('goes on waiting after a restart with the vote it has', async () => {
    await by('ana');
    await gate.host.idle();
    const folder = gate.folder;
    const again = await openPipeline({
      folder,
      script: { tier: 'yellow', approvalTier: 'strict' },
      quorum: { strict: 2, risky: 1, destructive: 1 },
    });
    try {
      await again.host.resume();
      await eventually('the resumed call', () => Promise.resolve(again.host.busy() === 0));
      const signed = await again.decision(call, 'approve', { standing_approvers: ['operator:ana'] });
      expect(await again.host.decide(signed)).toMatchObject({ outcome: 'applied' });
      await again.host.idle();
      expect(again.executed).toHaveLength(1);
    } finally {
      await again.close();
    }
  });

  it('needs two of two who vote at the same moment, and lets no more than one attempt begin', async () => {
    const answers = await Promise.all(['ana', 'ben', 'cyd'].map((name) => by(name).catch((error: unknown) => error)));
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    expect(answers.filter((answer) => (answer as { status?: string }).status === 'approved').length).toBeGreaterThan(0);
  });
});

describe('a record whose quorum somebody forged, with a MAC that holds', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({
      script: { tier: 'yellow', approvalTier: 'strict' },
      quorum: { strict: 2, risky: 1, destructive: 1 },
    });
  });
  afterEach(() => gate.close());

  it.each([
    ['one approval alone', async () => ({ standing: [] as string[] }), /1 of 2 approvals count/],
    ['a name that never voted', async () => ({ standing: ['operator:ana'] }), /1 of 2 approvals count/],
    [
      'a vote that HIL did not sign',
      async (call: CallInput) => ({
        standing: ['operator:ana'],
        vote: { ...(await voteOf(call)), signature: `${(await voteOf(call)).signature.slice(0, -4)}AAAA` },
      }),
      /signature/,
    ],
    [
      'a denial as a vote',
      async (call: CallInput) => ({ standing: ['operator:ana'], vote: await voteOf(call, 'deny') }),
      /not an approval/,
    ],
    [
      'a vote for another call',
      async (call: CallInput) => ({
        standing: ['operator:ana'],
        vote: await gate.decision(call, 'approve', { ...ANA, correlation_id: randomUUID() }),
      }),
      /about another call/,
    ],
    [
      'a vote that was applied after the time it was signed for',
      async (call: CallInput) => {
        const past = (ms: number) => new Date(Date.now() - ms).toISOString();
        const late = { ...ANA, decided_at: past(60_000), not_after: past(50_000) };
        return { standing: ['operator:ana'], vote: await gate.decision(call, 'approve', late) };
      },
      /a vote was applied after the time it was signed for/,
    ],
    [
      'a vote that was made after the deadline',
      async (call: CallInput) => {
        const { deadline_ms } = (await gate.calls.find(call.correlation_id)) ?? {};
        const after = (ms: number) => new Date((deadline_ms ?? 0) + ms).toISOString();
        const late = { ...ANA, decided_at: after(0), not_after: after(10_000) };
        return { standing: ['operator:ana'], vote: await gate.decision(call, 'approve', late) };
      },
      /a vote was made after the deadline/,
    ],
    [
      'the same person twice',
      async (call: CallInput) => ({ standing: ['operator:dev'], vote: await gate.decision(call, 'approve') }),
      /1 of 2 approvals count/,
    ],
  ])('is closed at the claim, and nothing is sent: %s', async (_what, forge, why) => {
    const call = await parked(gate, 'gate.server-execution/v1');
    const { standing, vote } = (await forge(call)) as { standing: string[]; vote?: Awaited<ReturnType<typeof voteOf>> };
    if (vote) await gate.calls.move(call.correlation_id, 'vote', { vote: { signed: vote, applied_ms: Date.now() } });
    const signed = await gate.decision(call, 'approve', { standing_approvers: standing });
    await gate.calls.move(call.correlation_id, 'approve', { decision: approvalRecorded(signed) });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('tampered');
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(why);
  });

  const ANA = {
    principal: {
      subject: 'operator:ana',
      tenant: 'acme',
      method: 'console-bearer',
      credential: 'token',
      credential_kind: 'console-bearer',
    },
  } as const;
  const voteOf = (call: CallInput, decision: 'approve' | 'deny' = 'approve') => gate.decision(call, decision, ANA);
});

describe('a call of one approver whose predicted effect is destructive', () => {
  it('needs as many people as the floor says, and without a report no fewer', async () => {
    const gate = await openPipeline({
      script: { tier: 'yellow' },
      quorum: { strict: 2, risky: 1, destructive: 2 },
    });
    try {
      const required = async () => {
        const call = await gate.call({ tool: 'delete_file', arguments: { path: 'a' } });
        await gate.run(call);
        return (await gate.reviews.byCorrelation(call.correlation_id))?.required_approvers;
      };
      expect(await required()).toBe(2);
      gate.script.sandbox = 'down';
      expect(await required()).toBe(2);
    } finally {
      await gate.close();
    }
  });
});
