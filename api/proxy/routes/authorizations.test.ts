import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { rulesNowOf } from '../../../activities/rules-now.js';
import type { CallInput } from '../../../contracts/call.js';
import type { CallRecord } from '../../../domain/call/record.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { createSigner } from '../../../domain/identity/signer.js';
import { stopFault } from '../../../domain/identity/stops.js';
import { bareService } from '../../../test/support/bare-service.js';
import { approvalRecorded, FORGED_APPROVALS, parked } from '../../../test/support/forged-approvals.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../../../test/support/pipeline-fixture.js';
import type { Service } from '../../plugins/service.js';
import type { Decoy } from '../../../domain/identity/decoys.js';
import { decoySetOf } from '../../../domain/identity/decoy-readings.js';
import type { VerifiedAttestation } from '../../../contracts/verified-attestation.js';
import type { StillAttested } from '../../../domain/identity/attestation.js';
import { type Authorizer, type AuthorizerOptions, createAuthorizer } from '../authorizer.js';
import { registerAuthorizations } from './authorizations.js';
import { registerPending } from './pending.js';

const { privateKey } = generateKeyPairSync('ed25519');
const NO_LIMITS = {
  control: () => Promise.resolve(),
  replay: () => Promise.resolve(),
  retained: <Loaded>(_asked: unknown, load: () => Promise<Loaded>) => load(),
};

let folder: string;
let gate: PipelineFixture;
let service: Service;
let authorizer: Authorizer;
let aheadMs: number;
/** The tools in quarantine. */
let held: readonly string[];
/** The tool that an operator stopped. */
let stopped: string | null;
/** What HIL says of a tenant; nothing where it may be asked for. */
let standing: (tenant: string) => void;
let asks: { tenant: string; agent: string };
const authorizerOptions = (): AuthorizerOptions => ({
  calls: gate.calls,
  signer: createSigner(privateKey),
  verifyDecision: gate.verifyDecision,
  limits: NO_LIMITS,
  quarantine: {
    held: async (_caller, tools) => (tools.some((tool) => held.includes(tool)) ? 'the tool is in quarantine' : null),
  },
  toolFault: (tenant, tools) =>
    stopped !== null && tools.includes(stopped) ? stopFault({ tenant, tool: stopped }) : null,
  reviews: { assertOpen: async (tenant) => standing(tenant) },
  rulesNow: rulesNowOf(gate.ports),
  now: () => Date.now() + aheadMs,
});
const open = async () => {
  gate = await openPipeline({ folder, script: { tier: 'yellow' } });
  service = bareService({
    name: 'proxy',
    resolveCaller: () => ({
      kind: 'agent',
      spiffe: `spiffe://gate.local/tenant/${asks.tenant}/agent/${asks.agent}/instance/0190b8d0-0000-7000-8000-000000000000`,
      callerId: 'agent',
      fingerprint: 'ab'.repeat(32),
      ...asks,
    }),
  });
  authorizer = createAuthorizer(authorizerOptions());
  registerAuthorizations(service.app, { limits: NO_LIMITS, authorizer });
  registerPending(service.app, { calls: gate.calls, limits: NO_LIMITS, assertStands: authorizer.assertStands });
};
const close = async () => {
  await service.close();
  await gate.close();
};
beforeEach(async () => {
  aheadMs = 0;
  held = [];
  stopped = null;
  standing = () => undefined;
  asks = { tenant: 'acme', agent: 'support-bot' };
  folder = await fixtureFolder();
  await open();
});
afterEach(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

const asked = async ({ correlation_id }: CallInput) => {
  const reply = await service.app.inject({ method: 'GET', url: `/authorizations/${correlation_id}` });
  return { status: reply.statusCode, body: reply.json<Record<string, never>>() };
};
const stateOf = async ({ correlation_id }: CallInput) => (await gate.calls.find(correlation_id))?.state;
const approved = async (given: Parameters<typeof parked>[2] = {}) => {
  const call = await parked(gate, 'gate.decision/v1', given);
  expect(await gate.activities.applyDecision(await gate.decision(call, 'approve'))).toMatchObject({ applied: true });
  return call;
};
const REFUSED = { status: 409, body: { error: 'call_tampered' } };

describe('GET /authorizations/:correlation_id of a call that a person approved', () => {
  it('signs the one that HIL signed, the same bytes each time', async () => {
    const call = await approved();
    const first = await asked(call);
    expect(first).toMatchObject({
      status: 200,
      body: { authorization: { correlation_id: call.correlation_id, decision_principal: { subject: 'operator:dev' } } },
    });
    const { authorization, identity_signature } = first.body as unknown as {
      authorization: never;
      identity_signature: { value: string };
    };
    const signature = Buffer.from(identity_signature.value, 'base64');
    expect(verify(null, Buffer.from(canonicalJson(authorization)), createPublicKey(privateKey), signature)).toBe(true);
    expect(await asked(call)).toEqual(first);
  });

  it.each(FORGED_APPROVALS)(
    'signs nothing where the MAC holds and the approval does not, and closes the call: %s',
    async (_what, forge, why) => {
      const call = await parked(gate, 'gate.decision/v1');
      const other = await approved();
      await gate.calls.move(call.correlation_id, 'approve', { decision: await forge(gate, call) });
      expect(await asked(call)).toMatchObject(REFUSED);
      expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(why);
      expect(await asked(call)).toMatchObject(REFUSED);
      await gate.activities.appendRows(call.correlation_id);
      expect((await gate.kinds(call.correlation_id)).filter((kind) => kind === 'alarm.record_tampered')).toHaveLength(
        1,
      );
      expect(await asked(other)).toMatchObject({ status: 200 });
    },
  );

  it('signs nothing on the approval that HIL signed for another call that asks for the very same', async () => {
    const [one, other] = [await approved(), await parked(gate, 'gate.decision/v1')];
    const decision = (await gate.calls.find(one.correlation_id))?.decision;
    await gate.calls.move(other.correlation_id, 'approve', decision ? { decision } : {});
    expect(await asked(other)).toMatchObject(REFUSED);
    expect(await stateOf(one)).toBe('approved');
  });

  it.each([
    ['a genuine one', 'approved', async (call: CallInput) => approvalRecorded(await gate.decision(call, 'approve'))],
    ['a forged one, which is told all the same', 'tampered', async () => approvalRecorded(undefined)],
  ] as const)('signs nothing a minute after the decision: %s', async (_what, ends, approve) => {
    const call = await parked(gate, 'gate.decision/v1');
    await gate.calls.move(call.correlation_id, 'approve', { decision: await approve(call) });
    aheadMs = 61_000;
    const answer = await asked(call);
    if (ends === 'tampered') expect(answer).toMatchObject(REFUSED);
    else expect(answer.body).toMatchObject({ error: 'authorization_expired' });
    expect(await stateOf(call)).toBe(ends);
  });

  it('signs nothing on an earlier version of the record, put back before a restart', async () => {
    const call = await approved();
    const id = call.correlation_id;
    const sql = (text: string, ...values: unknown[]) => {
      const connection = new DatabaseSync(join(folder, 'calls.db'));
      try {
        return connection.prepare(text).all(...(values as string[])) as Record<string, unknown>[];
      } finally {
        connection.close();
      }
    };
    const [older = {}] = sql('select * from call_records where correlation_id = ?', id);
    await gate.calls.condemn(id, 'it was found out');
    await gate.activities.appendRows(id);
    await close();
    const set = Object.keys(older).map((column) => `${column} = ?`);
    sql(`update call_records set ${set.join(', ')} where correlation_id = ?`, ...Object.values(older), id);
    await open();
    expect(await asked(call)).toMatchObject(REFUSED);
  });

  it('signs nothing while a tool of the call is in quarantine, and signs it once its definition is accepted', async () => {
    const call = await approved();
    held = [call.tool];
    expect(await asked(call)).toMatchObject({ status: 403, body: { error: 'tool_quarantined' } });
    held = [];
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('asks for each tool of a call that an earlier Gate bound to no definition, and signs nothing where one is not as pinned', async () => {
    const bound: { tool: string; reviewed: unknown }[] = [];
    let fault: string | null = null;
    const definitions = {
      fault: async ({ tool }: { tool: string }, reviewed: unknown) => {
        bound.push({ tool, reviewed });
        return tool === 'pay' ? fault : null;
      },
    };
    const asks = createAuthorizer({ ...authorizerOptions(), definitions });
    const stands = async (siblings?: readonly string[]) => {
      const call = await parked(gate, 'gate.decision/v1');
      const { evidence } = (await gate.calls.find(call.correlation_id)) as CallRecord;
      await gate.calls.move(call.correlation_id, 'approve', {
        decision: approvalRecorded(await gate.decision(call, 'approve')),
        evidence: { ...evidence, reviewed: { unbound: true }, ...(siblings && { sibling_tools: siblings }) },
      });
      await asks.assertStands((await gate.calls.find(call.correlation_id)) as CallRecord);
      return call.tool;
    };
    const reviewed = { unbound: true };
    const tool = await stands();
    expect(bound.splice(0)).toEqual([{ tool, reviewed }]);
    await stands(['pay', 'tell']);
    expect(bound.splice(0)).toEqual([
      { tool: 'pay', reviewed },
      { tool: 'tell', reviewed },
    ]);
    fault = 'not as pinned';
    await expect(stands(['tell', 'pay'])).rejects.toMatchObject({
      code: 'tool_definition_changed',
      message: expect.stringContaining('`pay`: not as pinned'),
    });
  });

  it('signs nothing once its tool, or something in it, is a decoy', async () => {
    const call = await approved();
    const record = (await gate.calls.find(call.correlation_id)) as CallRecord;
    const decoy = {
      id: 'd',
      tenant: 'acme',
      name: call.tool,
      kind: 'tool',
      value: null,
      isAdvertised: false,
      action: 'none',
      schemaJson: null,
      description: null,
    } as const;
    const withDecoys = (decoys: readonly Decoy[]) =>
      createAuthorizer({ ...authorizerOptions(), decoysOf: () => decoySetOf(decoys) });
    const asker = { caller: { tenant: 'acme', agent: 'support-bot' }, correlationId: call.correlation_id } as never;
    const refused = { code: 'policy_changed', message: expect.not.stringContaining('decoy') };
    const denying = withDecoys([decoy]);
    await expect(denying(call.correlation_id, asker)).rejects.toMatchObject(refused);
    await expect(denying.assertStands(record)).rejects.toMatchObject(refused);
    await withDecoys([{ ...decoy, name: 'another' }]).assertStands(record);
  });

  it('signs nothing of a call that rests on what its platform attested, where that counts no more or nobody says', async () => {
    const call = await approved({ attestation: { status: 'verified' } as VerifiedAttestation });
    const asker = { caller: { tenant: 'acme', agent: 'support-bot' }, correlationId: call.correlation_id } as never;
    const refusal = (stillAttested?: StillAttested) =>
      createAuthorizer({ ...authorizerOptions(), stillAttested })(call.correlation_id, asker).then(
        () => null,
        (error: GateError) => error.code,
      );
    expect([
      await refusal(() => Promise.resolve(true)),
      await refusal(() => Promise.resolve(false)),
      await refusal(() => Promise.reject(new Error('away'))),
      await refusal(),
    ]).toEqual([null, 'agent_standing_changed', 'pipeline_unavailable', 'pipeline_unavailable']);
  });

  it('signs nothing while an operator stops a tool of the call, and signs it once two people let that go', async () => {
    const call = await approved();
    stopped = call.tool;
    expect(await asked(call)).toMatchObject({ status: 403, body: { error: 'tool_suspended' } });
    stopped = null;
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('hands out nothing that was stopped, or whose time ended, while a key that lies elsewhere was signing', async () => {
    const call = await approved();
    const asker = { caller: { tenant: 'acme', agent: 'support-bot' }, correlationId: call.correlation_id } as never;
    const whileSigning = (happens: () => void) => {
      const signer = createSigner(privateKey);
      const slow = { ...signer, sign: (bytes: string) => signer.sign(bytes).finally(happens) };
      return createAuthorizer({ ...authorizerOptions(), signer: slow })(call.correlation_id, asker);
    };
    await expect(whileSigning(() => undefined)).resolves.toMatchObject({ identity_signature: expect.anything() });
    await expect(whileSigning(() => void (stopped = call.tool))).rejects.toMatchObject({ code: 'tool_suspended' });
    stopped = null;
    await expect(whileSigning(() => void (aheadMs = 3_600_000))).rejects.toMatchObject({
      code: 'authorization_expired',
    });
  });

  it('signs nothing under rules that deny it now, and signs it once they are as they were', async () => {
    const call = await approved();
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'red' });
    expect(await asked(call)).toMatchObject({ status: 403, body: { error: 'policy_changed' } });
    gate.script.rules = 'sha256:test';
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('is polled as approved, and as aborted without a decision once reconciliation closed it: it never expired', async () => {
    const call = await approved();
    const polled = async () => {
      const reply = await service.app.inject({ method: 'GET', url: `/pending/${call.correlation_id}` });
      return reply.json<Record<string, unknown>>();
    };
    expect(await polled()).toMatchObject({ status: 'approved', decision: 'allow' });
    await gate.activities.abortCall(call.correlation_id, 'overdue in state approved');
    expect(await stateOf(call)).toBe('aborted');
    expect(await polled()).toMatchObject({ status: 'aborted', decision: null, decided_at: expect.any(String) });
    expect((await asked(call)).status).toBe(404);
  });

  it('is polled as approved, with why nothing may rest on it, while its authorization is refused', async () => {
    const call = await approved();
    const polled = async () => (await service.app.inject({ url: `/pending/${call.correlation_id}` })).json<object>();
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'red' });
    expect(await polled()).toMatchObject({
      status: 'approved',
      decision: null,
      authorization_refused: 'policy_changed',
    });
    gate.script.rules = 'sha256:test';
    expect(await polled()).toMatchObject({ status: 'approved', decision: 'allow' });
    expect(await polled()).not.toHaveProperty('authorization_refused');
    gate.script.policy = 'down';
    expect(await polled()).toMatchObject({ status: 'approved', decision: 'allow' });
  });

  it('does not stand for a repeat of the request either where it would not be signed now, whatever its time', async () => {
    const call = await approved();
    const stands = async () => authorizer.assertStands((await gate.calls.find(call.correlation_id)) as CallRecord);
    await expect(stands()).resolves.toBeUndefined();
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'red' });
    await expect(stands()).rejects.toMatchObject({ code: 'policy_changed' });
    gate.script.rules = 'sha256:test';
    standing = () => {
      throw new GateError('tenant_offboarded');
    };
    await expect(stands()).rejects.toMatchObject({ code: 'agent_standing_changed' });
    standing = () => undefined;
    aheadMs = 3_600_000;
    await expect(stands()).resolves.toBeUndefined();
  });

  it('does not stand once the grant ended by which it was asked for, also where no person had to decide', async () => {
    const nowSecs = Math.floor(Date.now() / 1_000);
    const grant = { jti: 'a', act_sub: 'user:ada', idp: 'corp', scope: [], yellow_scope: [], exp: nowSecs + 600 };
    const record = { state: 'allowed', evidence: { call: { grant } } } as never as CallRecord;
    let fault: GateError | null = null;
    const { assertStands } = createAuthorizer({ ...authorizerOptions(), grantFault: () => fault });
    await expect(assertStands(record)).resolves.toBeUndefined();
    fault = new GateError('grant_revoked');
    await expect(assertStands(record)).rejects.toMatchObject({ code: 'grant_revoked' });
    fault = null;
    aheadMs = 600_000;
    await expect(assertStands(record)).rejects.toMatchObject({ code: 'grant_expired' });
  });

  it('signs nothing where an operator classed its tool `strict` since', async () => {
    const call = await approved();
    Object.assign(gate.script, { classes: { [call.tool]: { class: 'strict' } }, approvalTier: 'strict' });
    expect(await asked(call)).toMatchObject({ status: 403, body: { error: 'policy_changed' } });
  });

  it('signs nothing while policy is away', async () => {
    const call = await approved();
    gate.script.policy = 'down';
    expect(await asked(call)).toMatchObject({
      status: 503,
      body: { error: 'pipeline_unavailable', layer: 'policy' },
    });
    gate.script.policy = 'up';
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('signs nothing once its tenant was offboarded, nor while HIL does not say', async () => {
    const call = await approved();
    const says = (code: 'tenant_offboarded' | 'store_unavailable') => () => {
      throw new GateError(code);
    };
    standing = says('tenant_offboarded');
    expect(await asked(call)).toMatchObject({ status: 403, body: { error: 'agent_standing_changed' } });
    standing = says('store_unavailable');
    expect(await asked(call)).toMatchObject({ status: 503, body: { error: 'pipeline_unavailable', layer: 'hil' } });
    standing = () => undefined;
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('asks neither about a call that nobody had to approve: its judgement is not a minute old', async () => {
    gate.script.tier = 'green';
    const call = await gate.call({ contract: 'gate.decision/v1' });
    expect(await gate.run(call)).toMatchObject({ state: 'allowed' });
    Object.assign(gate.script, { rules: 'sha256:new', tier: 'red' });
    expect(await asked(call)).toMatchObject({ status: 200 });
  });

  it('tells another agent, and another tenant, nothing of it', async () => {
    const call = await approved();
    for (const other of [
      { tenant: 'acme', agent: 'other-bot' },
      { tenant: 'other', agent: 'support-bot' },
    ]) {
      asks = other;
      expect(await asked(call)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
  });

  it('does not exist while the call waits, was denied, or is one that Gate executes itself', async () => {
    const waits = await parked(gate, 'gate.decision/v1');
    expect(await asked(waits)).toMatchObject({ status: 404 });
    await gate.activities.applyDecision(await gate.decision(waits, 'deny'));
    expect(await asked(waits)).toMatchObject({ status: 404 });
    const executed = await parked(gate, 'gate.server-execution/v1');
    await gate.activities.applyDecision(await gate.decision(executed, 'approve'));
    expect(await asked(executed)).toMatchObject({ status: 404 });
  });
});
