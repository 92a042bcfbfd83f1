import { createHash, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ApprovalStatement, AssertionJson, PasskeyApproval } from '../contracts/approval.js';
import { toolOf } from '../contracts/call-methods.js';
import type { CallInput } from '../contracts/call.js';
import type { EventKind } from '../contracts/event-kinds.js';
import type { Json, JsonObject } from '../contracts/json.js';
import type { ModificationDiff, PendingRequest } from '../contracts/review.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import { ledgerRowId, limitedRow } from '../domain/call/rows.js';
import { canonicalDigest } from '../domain/crypto/digest.js';
import { hashOfEntry } from '../domain/ledger/entry-fault.js';
import { parseMcpRequest } from '../domain/mcp/envelope.js';
import { noticesOf } from '../domain/notification/notice.js';
import { slackCard } from '../domain/notification/slack-card.js';
import { approvalFindings } from '../domain/review/approval-evidence.js';
import { approvalStatementOf, challengeOf } from '../domain/review/approval-challenge.js';
import { ONE_APPROVER } from '../domain/decision/quorum.js';
import { modificationOf } from '../domain/review/decisions.js';
import type { QuorumRule } from '../domain/decision/quorum.js';
import { argumentsOf } from '../domain/review/since-last.js';
import { summaryOf } from '../domain/review/summary.js';
import { createPasskeys, type Passkeys } from '../domain/review/passkeys.js';
import type { PasskeyRequired } from '../domain/review/passkey-required.js';
import type { PasskeyStore } from '../domain/review/passkey-store.js';
import { type AssertionFaults, softwareAuthenticator } from '../test/support/authenticator.js';
import { approvalRecorded } from '../test/support/forged-approvals.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { type AlarmKind, alarmRow } from './ledger.js';

const CONSOLE = { rpId: 'console.example', origin: 'https://console.example' };
const ANA = { subject: 'operator:ana', tenant: 'acme' };

const BEN = { subject: 'operator:ben', tenant: 'acme' };

let gate: PipelineFixture;
let passkeys: Passkeys;
let device: ReturnType<typeof softwareAuthenticator>;
/** Uses a counter up in the store. */
let used: jest.MockedFunction<PasskeyStore['used']>;
let call: CallInput;
let row: PendingRequest;

const parkedCall = async (given: JsonObject = {}): Promise<[CallInput, PendingRequest]> => {
  const input = await gate.call({ arguments: given });
  await gate.run(input);
  const found = await gate.reviews.byCorrelation(input.correlation_id);
  if (!found) throw new Error('the call is not parked');
  return [input, found];
};
async function register(who = ANA, authenticator = device) {
  const { ceremony, publicKey } = await passkeys.startRegistration(who);
  await passkeys.finishRegistration(ceremony, who, authenticator.create(publicKey.challenge));
}
const open = (quorum?: QuorumRule, required: PasskeyRequired = 'strict') =>
  openPipeline({
    script: { tier: 'yellow', approvalTier: 'strict' },
    ...(quorum && { quorum }),
    passkeys: (store) => {
      const relyingParty = { id: CONSOLE.rpId, origin: CONSOLE.origin };
      used = jest.fn(store.used);
      passkeys = createPasskeys({
        store: { ...store, used },
        relyingParty,
        required,
        sessionKey: Buffer.alloc(32, 7),
        mayApprove: () => true,
        clock: Date.now,
      });
      return passkeys;
    },
  });
beforeEach(async () => {
  gate = await open();
  device = softwareAuthenticator(CONSOLE);
  await register();
  [call, row] = await parkedCall();
});
afterEach(() => gate.close());

const challenge = (decision: 'approve' | 'deny' = 'approve', of = row, who = ANA) =>
  challengeOf(approvalStatementOf(of, who.subject, { decision }));
const decide = (
  passkey: AssertionJson | undefined,
  decision: 'approve' | 'deny' | 'modify' = 'approve',
  of = row,
  { who = ANA, diff }: { who?: typeof ANA; diff?: ModificationDiff } = {},
) =>
  gate.decide({
    id: of.id,
    tenant: 'acme',
    decision,
    modification_diff: diff,
    reason: null,
    decided_via: 'console',
    request_id: randomUUID(),
    passkey,
    principal: (tenant) => ({
      ...who,
      tenant,
      method: 'console-bearer',
      credential: `token of ${who.subject}`,
      credential_kind: 'console-bearer',
    }),
  });
const refusedFor = (why: RegExp) => ({ code: 'passkey_refused', message: expect.stringMatching(why) });

describe('a call that is approved only with a passkey', () => {
  it('runs when the passkey of the approver signed it, and its row of the ledger proves that alone', async () => {
    const settled = await decide(device.get(challenge()));
    expect(settled).toMatchObject({ status: 'approved', approver_provenance: 'webauthn' });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    const rows = await gate.rows(call.correlation_id);
    expect(approvalFindings(rows)).toMatchObject([
      { event: 'hil.approved', decided_by: 'operator:ana', fault: null, origin: CONSOLE.origin, counter: 1 },
    ]);
  });

  it('is refused without one; denying needs none', async () => {
    await expect(decide(undefined)).rejects.toMatchObject({ code: 'passkey_required' });
    expect(await decide(undefined, 'deny')).toMatchObject({ status: 'denied', approver_provenance: 'console-bearer' });
  });

  it.each<[string, AssertionFaults, RegExp]>([
    ['at another address', { origin: 'https://evil.example' }, /origin/],
    ['for another relying party', { rpId: 'evil.example' }, /relying party/],
    ['without verifying the person', { flags: 0x01 }, /verif/],
    ['with nobody present', { flags: 0x04 }, /present/],
    ['as a registration', { type: 'webauthn.create' }, /not of an assertion/],
    ['inside a page of another origin', { crossOrigin: true }, /another origin|cross/i],
  ])('refuses what was signed %s', async (_, faults, why) => {
    await expect(decide(device.get(challenge(), faults))).rejects.toMatchObject(refusedFor(why));
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
  });

  it('refuses what was signed for another decision, another row and another digest', async () => {
    const [, other] = await parkedCall();
    const digest = { ...row, original_payload_digest: `sha256:${'0'.repeat(64)}` };
    for (const signed of [challenge('deny'), challenge('approve', other), challenge('approve', digest)])
      await expect(decide(device.get(signed))).rejects.toMatchObject(refusedFor(/challenge/));
  });

  it('refuses a counter that does not grow, and a second use of one assertion', async () => {
    const [, other] = await parkedCall();
    await decide(device.get(challenge('approve'), { counter: 7 }));
    for (const counter of [7, 6])
      await expect(
        decide(device.get(challenge('approve', other), { counter }), 'approve', other),
      ).rejects.toMatchObject(refusedFor(/counter/));
  });

  it('refuses one of two decisions that come at the same time with one counter: one of them is by a copy of the passkey', async () => {
    const [, other] = await parkedCall();
    // Both have read the counter before one of them uses it up.
    const waiting: (() => void)[] = [];
    used.mockImplementation(async (...use) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) for (const go of waiting) go();
      });
      return gate.reviews.passkeys.used(...use);
    });
    const outcomes = await Promise.allSettled(
      [row, other].map((of) => decide(device.get(challenge('approve', of), { counter: 1 }), 'approve', of)),
    );
    expect(outcomes.toSorted((one, next) => one.status.localeCompare(next.status))).toMatchObject([
      { status: 'fulfilled', value: { status: 'approved' } },
      { status: 'rejected', reason: refusedFor(/at the same time elsewhere/) },
    ]);
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
  });

  it('refuses a passkey that is not registered, one of somebody else, and a signature by another key', async () => {
    const strange = softwareAuthenticator(CONSOLE);
    await expect(decide(strange.get(challenge()))).rejects.toMatchObject(refusedFor(/not one of the approver/));
    await register({ subject: 'operator:ben', tenant: 'acme' }, strange);
    await expect(decide(strange.get(challenge()))).rejects.toMatchObject(refusedFor(/not one of the approver/));
    const forged = { ...strange.get(challenge()), id: device.id, rawId: device.id };
    await expect(decide(forged)).rejects.toMatchObject(refusedFor(/signature/));
  });
});

const changeIn = (kind: string) => (entry: LedgerEntry, told: JsonObject) =>
  entry.event_kind === kind
    ? {
        policy_decision: {
          ...told,
          modification_diff: {
            contract: 'gate.hil.modification-diff/v1',
            replacements: [{ path: ['amount'], value: 5000 }],
          },
        },
      }
    : null;
const digestIn = (field: string) => (_entry: LedgerEntry, told: JsonObject) =>
  field in told ? { policy_decision: { ...told, [field]: `sha256:${'0'.repeat(64)}` } } : null;

describe('a change that is made with a passkey', () => {
  const diff = (value: number): ModificationDiff => ({
    contract: 'gate.hil.modification-diff/v1',
    replacements: [{ path: ['amount'], value }],
  });
  const modifying = (of: PendingRequest, value: number) => {
    const asked = { decision: 'modify', modification_diff: diff(value) } as const;
    return challengeOf(
      approvalStatementOf(of, ANA.subject, { decision: 'modify', ...modificationOf(of, asked, ONE_APPROVER) }),
    );
  };

  it('signs the changed call: that one runs, and the rows prove it', async () => {
    const [input, of] = await parkedCall({ amount: 500, to: 'vendor' });
    const row = await decide(device.get(modifying(of, 5)), 'modify', of, { diff: diff(5) });
    expect(row).toMatchObject({ status: 'approved', approver_provenance: 'webauthn' });
    await gate.host.idle();
    expect(gate.executed).toMatchObject([{ params: { arguments: { amount: 5, to: 'vendor' } } }]);
    const signed = (await gate.calls.find(input.correlation_id))?.decision?.signed;
    expect(signed?.approval?.statement).toMatchObject({
      decision: 'modify',
      payload_digest: row.reviewed_payload_digest,
    });
    expect(row.reviewed_payload_digest).not.toBe(row.original_payload_digest);
    const findings = approvalFindings(await gate.rows(input.correlation_id));
    expect(findings).toMatchObject([{ decided_by: 'operator:ana', fault: null }]);
  });

  it.each<[string, (entry: LedgerEntry, told: JsonObject) => object | null, RegExp]>([
    ['the change in the row of the decision', changeIn('hil.approved'), /another change/],
    ['the change in the row of the change', changeIn('hil.modified'), /another change/],
    ['what was to run', digestIn('candidate_execution_payload_digest'), /another request/],
    ['what was asked for', digestIn('original_payload_digest'), /another request|different requests/],
    ['the tool', () => ({ tool_name: 'list_files' }), /another tool/],
    ['the agent', () => ({ agent_id: 'somebody-else' }), /another agent/],
    [
      'what ran',
      (entry) => (entry.event_kind === 'upstream.outcome' ? { tool_params_sha256: '0'.repeat(64) } : null),
      /another request ran/,
    ],
    [
      'that it was not authorized',
      (entry) => (entry.event_kind === 'hil.approved' ? { authorized: false } : null),
      /outcome/,
    ],
  ])('is not proved by rows that lie about %s, though their hashes are right', async (_what, lie, why) => {
    const [input, of] = await parkedCall({ amount: 500, to: 'vendor' });
    await decide(device.get(modifying(of, 5)), 'modify', of, { diff: diff(5) });
    await gate.host.idle();
    const rows = (await gate.rows(input.correlation_id)).map((entry) => {
      const made = { ...entry, ...lie(entry, entry.policy_decision ?? {}) };
      return { ...made, entry_hash: hashOfEntry(made) };
    });
    expect(approvalFindings(rows)).toMatchObject([{ fault: expect.stringMatching(why) }]);
  });

  it('is no other change, and no approval of the call as it was asked for', async () => {
    const [input, of] = await parkedCall({ amount: 500, to: 'vendor' });
    for (const signed of [modifying(of, 6), challenge('approve', of)])
      await expect(decide(device.get(signed), 'modify', of, { diff: diff(5) })).rejects.toMatchObject(
        refusedFor(/challenge/),
      );
    await expect(decide(device.get(modifying(of, 5)), 'approve', of)).rejects.toMatchObject(refusedFor(/challenge/));
    await expect(decide(undefined, 'modify', of, { diff: diff(5) })).rejects.toMatchObject({
      code: 'passkey_required',
    });
    expect((await gate.calls.find(input.correlation_id))?.state).toBe('parked');
  });
});

describe('who signs', () => {
  const required = (as: PasskeyRequired, tier: string | null, who: typeof ANA) =>
    createPasskeys({
      store: gate.reviews.passkeys,
      relyingParty: { id: CONSOLE.rpId, origin: CONSOLE.origin },
      required: as,
      sessionKey: Buffer.alloc(32, 7),
      mayApprove: () => true,
      clock: Date.now,
    }).required({ approval_tier: tier }, who);

  it.each([
    ['none', [false, false, false, false]],
    ['registered', [true, false, true, false]],
    ['strict', [true, true, false, false]],
    ['strict-and-registered', [true, true, true, false]],
    ['all', [true, true, true, true]],
  ] as const)('%s: who has a passkey and who has none, of tier strict and of none', async (as, asked) => {
    const found = [];
    for (const tier of ['strict', null]) for (const who of [ANA, BEN]) found.push(await required(as, tier, who));
    expect(found).toEqual(asked);
  });

  it('is whoever has a passkey, where that is set: with it a call runs, without one nothing of his does', async () => {
    await gate.close();
    gate = await open(undefined, 'registered');
    device = softwareAuthenticator(CONSOLE);
    await register();
    [call, row] = await parkedCall();
    await expect(decide(undefined)).rejects.toMatchObject({ code: 'passkey_required' });
    expect(await decide(device.get(challenge()))).toMatchObject({
      status: 'approved',
      approver_provenance: 'webauthn',
    });
    const [, others] = await parkedCall();
    expect(await decide(undefined, 'approve', others, { who: BEN })).toMatchObject({ status: 'approved' });
  });
});

describe('an edition without passkeys', () => {
  it('says so to whoever sends one, and names no setting that it does not have', async () => {
    const signed = device.get(challenge());
    await gate.close();
    gate = await openPipeline({ script: { tier: 'yellow' } });
    [call, row] = await parkedCall();
    await expect(decide(signed)).rejects.toMatchObject({
      code: 'passkeys_not_set_up',
      message: 'this edition has no passkeys: decide without one',
    });
    expect(await decide(undefined)).toMatchObject({ status: 'approved' });
  });
});

describe('a call that two people must approve with their passkeys', () => {
  let bens: ReturnType<typeof softwareAuthenticator>;
  beforeEach(async () => {
    await gate.close();
    gate = await open({ strict: 2, risky: 1, destructive: 1 });
    device = softwareAuthenticator(CONSOLE);
    bens = softwareAuthenticator(CONSOLE);
    await register();
    await register(BEN, bens);
    [call, row] = await parkedCall();
  });

  it('runs when both have signed, each for himself, and a row proves each', async () => {
    expect(await decide(device.get(challenge()))).toMatchObject({ status: 'pending' });
    expect(await decide(bens.get(challenge('approve', row, BEN)), 'approve', row, { who: BEN })).toMatchObject({
      status: 'approved',
      approvals: [
        { by: 'operator:ana', provenance: 'webauthn' },
        { by: 'operator:ben', provenance: 'webauthn' },
      ],
    });
    await gate.host.idle();
    expect(gate.executed).toHaveLength(1);
    const rows = await gate.rows(call.correlation_id);
    expect(approvalFindings(rows)).toMatchObject([
      { event: 'hil.vote', decided_by: 'operator:ana', fault: null },
      { event: 'hil.approved', decided_by: 'operator:ben', fault: null },
    ]);
    for (const { event_kind: kind, policy_decision: told } of rows)
      if (kind === 'hil.vote' || kind === 'hil.approved') expect(told).toHaveProperty('row_digest');
    // Whoever leaves a vote out, or says that one person signed twice, has one signature for a call that needs two.
    const short = [{ event: 'hil.approved', fault: 'it needs 2 people, and 1 signed' }];
    expect(approvalFindings(rows.filter(({ event_kind: kind }) => kind !== 'hil.vote'))).toMatchObject(short);
    const last = rows.filter(({ event_kind: kind }) => kind !== 'hil.vote');
    const twice = last.flatMap((entry) => (entry.event_kind === 'hil.approved' ? [entry, entry] : [entry]));
    expect(approvalFindings(twice)).toMatchObject([...short, ...short]);
    // Nor do rows that say less than was signed: the statement says how many must agree.
    const forged = rows
      .filter(({ event_kind: kind }) => kind !== 'hil.approved')
      .map((entry) => {
        if (entry.event_kind !== 'hil.vote') return entry;
        const { required_approvers: _, ...told } = entry.policy_decision ?? {};
        const made = {
          ...entry,
          event_kind: 'hil.approved' as const,
          method: 'hil.approved',
          authorized: true,
          policy_decision: told,
        };
        return { ...made, entry_hash: hashOfEntry(made) };
      });
    expect(approvalFindings(forged)).toMatchObject(short);
  });

  it('is not run by one signature that a record passes off as all of them, with a MAC that holds', async () => {
    await decide(device.get(challenge()));
    const record = await gate.calls.find(call.correlation_id);
    if (!record) throw new Error('the call has no record');
    const { votes: [vote] = [], required_approvers, ...evidence } = record.evidence;
    expect([vote?.signed.approval?.statement.required_approvers, required_approvers]).toEqual([2, 2]);
    await gate.calls.move(call.correlation_id, 'approve', { evidence, decision: approvalRecorded(vote?.signed) });
    expect((await gate.activities.callUpstream(call, Date.now() + 10_000)).state).toBe('tampered');
    expect(gate.executed).toEqual([]);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(/another number of people/);
  });

  it('is not proved by one key under two names, in another encoding for the second', async () => {
    await decide(device.get(challenge()));
    await decide(bens.get(challenge('approve', row, BEN)), 'approve', row, { who: BEN });
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    const keyOf = (kind: string) => {
      const { approval } = (rows.find(({ event_kind }) => event_kind === kind)?.policy_decision ?? {}) as {
        approval: PasskeyApproval;
      };
      return Buffer.from(approval.passkey.public_key, 'base64url');
    };
    const usual = keyOf('hil.vote');
    const other = compressed(usual);
    const { response } = device.get(challenge('approve', row, BEN));
    const forged = rows.map((entry) => {
      if (entry.event_kind !== 'hil.approved') return entry;
      const told = entry.policy_decision as { approval: PasskeyApproval };
      const passkey = {
        ...told.approval.passkey,
        public_key: other.toString('base64url'),
        client_data_json: response.clientDataJSON,
        authenticator_data: response.authenticatorData,
        signature: response.signature,
      };
      const made = { ...entry, policy_decision: { ...told, approval: { ...told.approval, passkey } } };
      return { ...made, entry_hash: hashOfEntry(made as typeof entry) } as typeof entry;
    });
    const findings = approvalFindings(forged);
    expect(findings).toMatchObject([{ fault: null }, { fault: 'it needs 2 people, and 1 signed' }]);
    const usualSha = createHash('sha256').update(usual).digest('hex');
    expect(findings.map(({ key_sha256 }) => key_sha256)).toEqual([usualSha, usualSha]);
    // A key that is given by hand is compared in the same way.
    expect(approvalFindings(rows, [other, keyOf('hil.approved')])).toMatchObject([{ fault: null }, { fault: null }]);
    expect(approvalFindings(rows, [keyOf('hil.approved')])[0]?.fault).toMatch(/another key/);
  });

  it('is not proved by an approval beside a denial, however the rows name them', async () => {
    await decide(device.get(challenge()));
    await decide(bens.get(challenge('deny', row, BEN)), 'deny', row, { who: BEN });
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    expect(approvalFindings(rows)).toMatchObject([
      { event: 'hil.vote', fault: null },
      { event: 'hil.denied', fault: null },
    ]);
    const forged = rows.map((entry) => {
      if (entry.event_kind !== 'hil.vote') return entry;
      const made = { ...entry, event_kind: 'hil.approved' as const, method: 'hil.approved', authorized: true };
      return { ...made, entry_hash: hashOfEntry(made) };
    });
    expect(approvalFindings(forged)[0]?.fault).toMatch(/denied/);
    expect(approvalFindings(forged.filter(({ event_kind: kind }) => kind !== 'hil.denied'))[0]?.fault).toMatch(
      /needs 2 people, and 1 signed/,
    );
  });

  it('is proved although limits refused the same call before, and not by rows that somebody else wrote', async () => {
    await decide(device.get(challenge()));
    await decide(bens.get(challenge('approve', row, BEN)), 'approve', row, { who: BEN });
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    const verdict = rows.find(({ event_kind: kind }) => kind === 'proxy.verdict');
    if (!verdict) throw new Error('no verdict');
    const refused = { ...verdict, payload_sha256: null, policy_decision: { outcome: 'rate_limited' } };
    const limited = { ...refused, entry_hash: hashOfEntry(refused) };
    expect(approvalFindings([limited, ...rows])).toMatchObject([{ fault: null }, { fault: null }]);
    expect(approvalFindings([...rows, verdict])[0]?.fault).toMatch(/several verdicts/);
    for (const kind of ['proxy.verdict', 'hil.created'])
      expect(
        approvalFindings(
          rows.map((entry) => (entry.event_kind === kind ? { ...entry, reasoning: 'as somebody wants it' } : entry)),
        )[0]?.fault,
      ).toMatch(/proves nothing/);
  });

  it('is not proved by one key under two names', async () => {
    await decide(device.get(challenge()));
    await decide(bens.get(challenge('approve', row, BEN)), 'approve', row, { who: BEN });
    await gate.host.idle();
    // Gate itself takes no key twice. Whoever writes rows can have Ana's device sign in Ben's name.
    const rows = await gate.rows(call.correlation_id);
    const approvalIn = (kind: string) =>
      rows.find((entry) => entry.event_kind === kind)?.policy_decision?.['approval'] as unknown as PasskeyApproval;
    const { passkey } = approvalIn('hil.vote');
    const { statement } = approvalIn('hil.approved');
    const { response } = device.get(challengeOf(statement));
    const approval = {
      statement,
      passkey: {
        ...passkey,
        authenticator_data: response.authenticatorData,
        client_data_json: response.clientDataJSON,
        signature: response.signature,
      },
    };
    const forged = rows.map((entry) => {
      if (entry.event_kind !== 'hil.approved') return entry;
      const policy_decision = { ...entry.policy_decision, approval: approval as unknown as Json };
      return { ...entry, policy_decision, entry_hash: hashOfEntry({ ...entry, policy_decision }) };
    });
    expect(approvalFindings(forged)).toMatchObject([
      { event: 'hil.vote', fault: null },
      { event: 'hil.approved', fault: 'it needs 2 people, and 1 signed' },
    ]);
  });

  it('waits on after one person, however often he signs, and takes his signature for nobody else', async () => {
    const first = device.get(challenge());
    await decide(first);
    await expect(decide(first)).rejects.toMatchObject(refusedFor(/counter/));
    expect(await decide(device.get(challenge()))).toMatchObject({
      status: 'pending',
      approvals: [{ by: 'operator:ana' }],
    });
    for (const signed of [device.get(challenge()), device.get(challenge('approve', row, BEN))])
      await expect(decide(signed, 'approve', row, { who: BEN })).rejects.toMatchObject({ code: 'passkey_refused' });
    await gate.host.idle();
    expect([(await gate.calls.find(call.correlation_id))?.state, gate.executed.length]).toEqual(['parked', 0]);
  });
});

describe('an approval with other rows under the id of its call', () => {
  const findings = async () => approvalFindings(await gate.rows(call.correlation_id));
  beforeEach(async () => {
    await decide(device.get(challenge()));
    await gate.host.idle();
  });

  it.each<AlarmKind>([
    'alarm.call_stuck',
    'alarm.forged_decision',
    'alarm.review_tampered',
    'alarm.reconciled',
    'alarm.row_refused',
    'alarm.record_tampered',
  ])('is proved beside %s, which Gate writes in its own name', async (kind) => {
    const of = { correlation_id: call.correlation_id, tenant: 'acme', reasoning: 'somebody must look', detail: {} };
    await gate.ledger.append([alarmRow({ ...of, kind })]);
    expect(await gate.kinds(call.correlation_id)).toContain(kind);
    expect(await findings()).toMatchObject([{ event: 'hil.approved', fault: null }]);
  });

  it('is proved beside a request for another tool that limits refused under the same id', async () => {
    await gate.ledger.append([
      limitedRow({
        correlationId: call.correlation_id,
        atMs: Date.now(),
        tenant: 'acme',
        agent: call.agent,
        spiffe: call.agent_spiffe,
        tool: 'another_tool',
        reason: 'too many requests',
        limits: { limit: 1 },
      }),
    ]);
    expect(await findings()).toMatchObject([{ event: 'hil.approved', fault: null }]);
  });

  it.each<[string, Partial<LedgerEntry>, RegExp]>([
    ['does not tell what ran', { tool_params_sha256: null }, /upstream\.outcome it is not told which request ran/],
    ['does not tell which tool ran', { tool_name: null }, /upstream\.outcome it is not told which tool ran/],
    ['tells of another tool', { tool_name: 'another_tool' }, /another tool/],
    ['tells of another agent', { agent_id: 'somebody-else' }, /another agent/],
  ])('is not proved where the row of the outcome %s, with or without a hash that fits', async (_, lie, why) => {
    const rows = await gate.rows(call.correlation_id);
    const told = (mend: (row: LedgerEntry) => LedgerEntry) =>
      approvalFindings(rows.map((each) => (each.event_kind === 'upstream.outcome' ? mend({ ...each, ...lie }) : each)));
    expect(told((each) => ({ ...each, entry_hash: hashOfEntry(each) }))[0]?.fault).toMatch(why);
    expect(told((each) => each)[0]?.fault).not.toBeNull();
  });

  it.each<[string, Partial<LedgerEntry>, RegExp]>([
    ['stands under another tenant', { tenant: 'globex' }, /upstream\.outcome stands under another tenant/],
    ['is of another kind', { event_kind: 'alarm.reconciled', method: 'alarm.reconciled' }, /the id of a row upstream/],
  ])('is not proved where the row of the outcome %s, with or without a hash that fits', async (_, lie, why) => {
    const rows = await gate.rows(call.correlation_id);
    const told = (mend: (row: LedgerEntry) => LedgerEntry) =>
      approvalFindings(rows.map((each) => (each.event_kind === 'upstream.outcome' ? mend({ ...each, ...lie }) : each)));
    expect(told((each) => ({ ...each, entry_hash: hashOfEntry(each) }))[0]?.fault).toMatch(why);
    expect(told((each) => each)[0]?.fault).toMatch(/proves nothing/);
  });

  it.each<EventKind>([
    'upstream.outcome',
    'execution.completed',
    'response.inspected',
    'call.aborted',
    'call.abandoned',
  ])(
    'is proved beside a row %s of the same call, and not beside one of another tenant, agent or tool',
    async (kind) => {
      const rows = await gate.rows(call.correlation_id);
      const outcome = rows.find(({ event_kind }) => event_kind === 'upstream.outcome') as LedgerEntry;
      const beside = (lie: Partial<LedgerEntry>) => {
        const row = {
          ...outcome,
          id: ledgerRowId(call.correlation_id, kind, 1),
          event_kind: kind,
          method: kind,
          ...lie,
        };
        return approvalFindings([...rows, { ...row, entry_hash: hashOfEntry(row) }])[0]?.fault;
      };
      expect(beside({})).toBeNull();
      expect(beside({ tenant: 'globex' })).toMatch(/another tenant/);
      expect(beside({ agent_id: 'somebody-else' })).toMatch(/another agent/);
      expect(beside({ tool_name: 'another_tool' })).toMatch(/another tool/);
    },
  );

  it('is not proved where the row of the outcome is not what its hash says', async () => {
    const rows = (await gate.rows(call.correlation_id)).map((each) =>
      each.event_kind === 'upstream.outcome' ? { ...each, reasoning: 'as somebody wants it' } : each,
    );
    expect(approvalFindings(rows)[0]?.fault).toMatch(/upstream\.outcome proves nothing/);
  });
});

describe('the tool of a request', () => {
  const batch = {
    contract: 'gate.atomic-tool-call-batch/v1',
    calls: [{ id: '1', name: 'read_file', arguments: { path: 'a.txt' } }],
  };
  it.each<[string, string, JsonObject, string, RegExp]>([
    [
      'what a tool call names',
      'tools/call',
      { name: 'read_file', arguments: { path: 'a.txt' } },
      'read_file',
      /a\.txt/,
    ],
    ['the method of a resource', 'resources/read', { uri: 'file:///a.txt' }, 'resources/read', /file:\/\/\/a\.txt/],
    [
      'the method of a prompt, whose name an upstream chose',
      'prompts/get',
      { name: 'list_files', arguments: { path: 'a.txt' } },
      'prompts/get',
      /"name":"list_files"/,
    ],
    ['the method of a batch', 'gate/tools.batch', batch, 'gate/tools.batch', /read_file/],
    [
      'the method of a batch in the form of a tool call',
      'gate/tools.batch',
      { name: 'gate.atomic-batch', arguments: batch },
      'gate/tools.batch',
      /read_file/,
    ],
  ])(
    'is %s: in the row, on cards, in the statement and in the ledger, and the approval is proved',
    async (_, ...of) => {
      const [method, params, tool, shown] = of;
      const body: JsonObject = { jsonrpc: '2.0', id: 1, method, params };
      const read = parseMcpRequest(JSON.stringify(body));
      if (read.kind !== 'tool') throw new Error('the request is no call');
      const digest = canonicalDigest({ route: '/mcp', body });
      const input = { ...gate.unstaged().call, method: read.method, tool: read.tool, digest };
      await gate.calls.admit(input, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
      await gate.run(input);
      const parked = await gate.reviews.byCorrelation(input.correlation_id);
      if (!parked) throw new Error('the call is not parked');
      const statement = approvalStatementOf(parked, ANA.subject, { decision: 'approve' });
      const cards = noticesOf(parked, []).map((notice) => JSON.stringify(slackCard(notice, {}, true)));
      expect([toolOf(parked), summaryOf(parked).tool, statement.tool]).toEqual([tool, tool, tool]);
      expect(noticesOf(parked, []).map((notice) => notice.tool)).toEqual([tool]);
      expect(cards.join()).toContain(tool);
      expect(cards.join()).not.toContain('list_files');
      expect(JSON.stringify(argumentsOf(parked.request_payload))).toMatch(shown);

      await decide(device.get(challengeOf(statement)), 'approve', parked);
      await gate.host.idle();
      const rows = await gate.rows(input.correlation_id);
      expect(new Set(rows.map(({ tool_name }) => tool_name))).toEqual(new Set([tool]));
      expect(approvalFindings(rows)).toMatchObject([{ event: 'hil.approved', fault: null }]);
    },
  );
});

describe('the workflow', () => {
  /** HIL signs a decision of this person, and puts into it what a passkey of his signed. */
  async function paired(change: Partial<ApprovalStatement>) {
    const statement = { ...approvalStatementOf(row, ANA.subject, { decision: 'approve' }), ...change };
    const approval = await passkeys.prove(ANA, statement, device.get(challengeOf(statement)));
    const { principal } = await gate.decision(call, 'approve');
    return gate.decision(call, 'approve', { approval, principal: { ...principal, ...ANA } });
  }

  it('takes a decision with the statement of its approver in it', async () => {
    expect(await gate.activities.applyDecision(await paired({}))).toMatchObject({ applied: true });
  });

  it.each<[string, Partial<ApprovalStatement>]>([
    ['decision', { decision: 'deny' }],
    ['approver', { approver: 'operator:ben' }],
    ['tenant', { tenant: 'globex' }],
    ['request', { payload_digest: `sha256:${'0'.repeat(64)}` }],
    ['row', { pending_id: randomUUID() }],
    ['call', { correlation_id: randomUUID() }],
    ['set of rules', { policy_bundle_sha256: '0'.repeat(64) }],
    ['report of the sandbox', { sandbox_report_digest: `sha256:${'0'.repeat(64)}` }],
    ['picture of the call', { row_digest: `sha256:${'0'.repeat(64)}` }],
  ])('takes no decision with a statement about another %s in it, though HIL signed both', async (_, change) => {
    expect(await gate.activities.applyDecision(await paired(change))).toMatchObject({
      applied: false,
      code: 'decision_refused',
    });
    expect(await gate.kinds(call.correlation_id)).toContain('alarm.forged_decision');
    expect((await gate.calls.find(call.correlation_id))?.state).toBe('parked');
  });
});

describe('the rows of an approval, read by somebody who trusts nothing of Gate', () => {
  it('prove nothing once a byte of them is another one', async () => {
    await decide(device.get(challenge()));
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    const changed = (
      change: (row: Record<string, unknown>, approval: Record<string, Record<string, unknown>>) => void,
    ) =>
      approvalFindings(
        rows.map((entry) => {
          const copy = structuredClone(entry);
          const told = copy.policy_decision as Record<string, unknown> | null;
          if (told?.['approval'])
            change(
              copy as unknown as Record<string, unknown>,
              told['approval'] as Record<string, Record<string, unknown>>,
            );
          return copy;
        }),
      )[0]?.fault;
    expect(changed(() => undefined)).toBeNull();
    const told = (entry: Record<string, unknown>, name: string, value: unknown) =>
      void ((entry['policy_decision'] as Record<string, unknown>)[name] = value);
    const set = (part: string, name: string, value: unknown) =>
      changed((_, approval) => void ((approval[part] ??= {})[name] = value));
    expect(set('statement', 'payload_digest', 'sha256:00')).toMatch(/another challenge/);
    expect(set('statement', 'row_digest', 'sha256:00')).toMatch(/another challenge/);
    expect(set('passkey', 'rp_id', 'evil.example')).toMatch(/relying party/);
    expect(set('passkey', 'signature', 'AAAA')).toMatch(/signature/);
    const counted = device.get(challenge(), { counter: 9 }).response.authenticatorData;
    expect(set('passkey', 'authenticator_data', counted)).toMatch(/signature/);
    expect(changed((entry) => void (entry['correlation_id'] = randomUUID()))).toMatch(/another call/);
    expect(set('statement', 'approver', 'operator:ben')).toMatch(/another challenge/);
    expect(changed((entry) => told(entry, 'decided_by', 'operator:ben'))).toMatch(/another approver/);
    expect(changed((entry) => told(entry, 'decision_reason', 'because'))).toMatch(/hash/);
    expect(changed((entry) => void (entry['timestamp'] = '2020-01-01T00:00:00.000Z'))).toMatch(/hash/);
    expect(changed((entry) => told(entry, 'required_approvers', 2))).toMatch(/hash/);
    expect(changed((entry) => void (entry['event_kind'] = 'hil.denied'))).toMatch(/another decision/);
    expect(changed((entry) => void (entry['tenant'] = 'globex'))).toMatch(/another tenant/);
  });

  /** The rows of an approval whose passkey signed this statement; both rows of the review may say something else. */
  async function provedBy(
    change: Partial<ApprovalStatement>,
    say: (told: JsonObject, event: string | null) => JsonObject = (told) => told,
    ran: Partial<LedgerEntry> = {},
    rowsThatSayIt = ['upstream.outcome'],
  ) {
    const named = { ...approvalStatementOf(row, ANA.subject, { decision: 'approve' }), ...change };
    const statement = JSON.parse(JSON.stringify(named)) as ApprovalStatement;
    const approval = await passkeys.prove(ANA, statement, device.get(challengeOf(statement)));
    await decide(device.get(challenge('approve')));
    await gate.host.idle();
    const rows = (await gate.rows(call.correlation_id)).map((written) => {
      const lie = { ...written, ...(rowsThatSayIt.includes(written.event_kind ?? '') && ran) };
      const entry = { ...lie, entry_hash: hashOfEntry(lie) };
      const told = entry.policy_decision ?? {};
      if (told['pending_id'] === undefined) return entry;
      const policy_decision = say(
        { ...told, ...(told['approval'] && { approval: approval as unknown as Json }) },
        entry.event_kind,
      );
      return { ...entry, policy_decision, entry_hash: hashOfEntry({ ...entry, policy_decision }) };
    });
    return approvalFindings(rows)[0];
  }
  const withoutShown = ({ payload_digest: _p, sandbox_report_digest: _s, row_digest: _r, ...told }: JsonObject) => told;
  const OTHER = `sha256:${'0'.repeat(64)}`;

  it('are compared with what the passkey signed: what was shown is in the row of the review and in that of the decision', async () => {
    const rows = await gate.rows(call.correlation_id);
    const { payload_digest, sandbox_report_digest, row_digest } = approvalStatementOf(row, ANA.subject, {
      decision: 'approve',
    });
    const shown = { payload_digest, sandbox_report_digest, row_digest };
    expect(sandbox_report_digest).toMatch(/^sha256:/);
    expect(rows.find(({ event_kind: kind }) => kind === 'hil.created')?.policy_decision).toMatchObject(shown);
    expect(await provedBy({})).toMatchObject({ fault: null, shown_compared: true });
    const approved = (await gate.rows(call.correlation_id)).find(({ event_kind: kind }) => kind === 'hil.approved');
    expect(approved?.policy_decision).toMatchObject(shown);
  });

  it.each<[string, Partial<ApprovalStatement>, RegExp]>([
    ['another request', { payload_digest: OTHER }, /another request/],
    ['another report', { sandbox_report_digest: OTHER }, /another report of the sandbox/],
    ['no report, where there was one', { sandbox_report_digest: null }, /another report of the sandbox/],
    ['another picture of the call', { row_digest: OTHER }, /showed the call in another way/],
  ])('prove nothing of what was signed for %s, with a signature that holds', async (_, change, why) => {
    expect(await provedBy(change)).toMatchObject({ fault: expect.stringMatching(why), shown_compared: false });
  });

  it.each<[string, string, RegExp]>([
    ['payload_digest', 'hil.created', /different requests/],
    ['payload_digest', 'hil.approved', /different requests/],
    ['sandbox_report_digest', 'hil.created', /another report of the sandbox/],
    ['sandbox_report_digest', 'hil.approved', /another report of the sandbox/],
    ['row_digest', 'hil.created', /showed the call in another way/],
    ['row_digest', 'hil.approved', /showed the call in another way/],
  ])('prove nothing where the %s of %s is another one', async (name, event, why) => {
    const say = (told: JsonObject, of: string | null) => (of === event ? { ...told, [name]: OTHER } : told);
    expect(await provedBy({}, say)).toMatchObject({ fault: expect.stringMatching(why) });
  });

  it('of an earlier Gate prove the rest, and it is told that what was shown was not compared', async () => {
    expect(await provedBy({}, withoutShown)).toMatchObject({ fault: null, shown_compared: false });
  });

  const UNNAMED = { agent_id: undefined, tool: undefined, tool_params_sha256: undefined };

  it('of this Gate prove nothing of a statement that does not name the call, as those of an earlier one', async () => {
    expect(await provedBy(UNNAMED)).toMatchObject({ fault: expect.stringMatching(/does not name the call/) });
  });

  it('of an earlier Gate prove a statement that does not name the call', async () => {
    expect(await provedBy(UNNAMED, withoutShown)).toMatchObject({ fault: null, shown_compared: false });
  });

  it.each<[Partial<LedgerEntry>, RegExp]>([
    [{ tool_name: 'wire_transfer' }, /another tool/],
    [{ agent_id: 'somebody-else' }, /another agent/],
    [{ tool_params_sha256: 'f'.repeat(64) }, /another request ran/],
  ])('of an earlier Gate prove nothing of such a statement where the outcome is of %j', async (ran, why) => {
    expect(await provedBy(UNNAMED, withoutShown, ran)).toMatchObject({ fault: expect.stringMatching(why) });
  });

  it('of an earlier Gate prove nothing where decision and outcome are of another request than the verdict', async () => {
    const ran = { tool_params_sha256: 'f'.repeat(64) };
    const found = await provedBy(UNNAMED, withoutShown, ran, ['hil.approved', 'upstream.outcome']);
    expect(found).toMatchObject({ fault: expect.stringMatching(/another request ran than the one that was judged/) });
  });

  it('prove nothing to whoever expects another key, and a decision without a passkey is named as that', async () => {
    await decide(device.get(challenge('deny')), 'deny');
    await gate.host.idle();
    const rows = await gate.rows(call.correlation_id);
    expect(approvalFindings(rows, [Buffer.from('another key')])).toMatchObject([
      { fault: expect.stringMatching(/another key/) },
    ]);
    const [other, second] = await parkedCall();
    await decide(undefined, 'deny', second);
    await gate.host.idle();
    expect(approvalFindings(await gate.rows(other.correlation_id))).toMatchObject([
      { event: 'hil.denied', fault: 'nobody signed it with a passkey' },
    ]);
  });
});

/** The same key of P-256 with its point compressed (SEC 1, 2.3.3): 26 bytes that name curve and algorithm, and the point. */
function compressed(spki: Buffer): Buffer {
  const point = spki.subarray(-65);
  const bits = Buffer.concat([Buffer.from([0x03, 34, 0, 2 + ((point[64] ?? 0) & 1)]), point.subarray(1, 33)]);
  const named = spki.subarray(2, -68);
  return Buffer.concat([Buffer.from([0x30, named.length + bits.length]), named, bits]);
}
