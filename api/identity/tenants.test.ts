import { describe, expect, it } from '@jest/globals';
import { tenantWarrantCheck } from '../../adapters/identity/tenant-warrant-signature.js';
import {
  drivenTenantStep,
  type DrivenTenantStep,
  type StepId,
  type TenantOperation,
  tenantOperation,
  tenantStepClaimed,
} from '../../contracts/tenant-lifecycle.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import {
  ADMIN,
  DEV,
  HOUR_MS,
  identityWithPeople,
  OTHERS,
  SECOND,
  VOUCHES,
} from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { STORES } from '../../test/support/ledger.js';

describe.each(STORES)('a tenant that comes or goes, on %s', (kind) => {
  const { at, told, sql, ask, certified, enrolled, isRefused, kinds, listAfter, ca } = identityWithPeople(kind);
  const begin = (
    what: 'provision' | 'offboard',
    { key = 'once', confirm = 'acme', reason = 'the contract ended', as = DEV, tenant = 'acme' } = {},
  ) =>
    ask('POST', `/tenants/${tenant}/lifecycle`, {
      as,
      body: { kind: what, confirm, reason },
      headers: { 'idempotency-key': key },
    });
  const begun = async (...given: Parameters<typeof begin>): Promise<TenantOperation> => {
    const reply = await begin(...given);
    expect(reply.statusCode).toBe(201);
    return tenantOperation.parse(reply.json());
  };
  /** As the worker asks. */
  async function asWorker<Value>(work: () => Promise<Value>): Promise<Value> {
    const before = at.caller;
    at.caller = serviceCaller('proxy');
    try {
      return await work();
    } finally {
      at.caller = before;
    }
  }
  const drive = (id: string): Promise<DrivenTenantStep> =>
    asWorker(async () => {
      const reply = await ask('POST', `/tenant-operations/${id}/claim`, { as: null, body: {} });
      expect(reply.statusCode).toBe(200);
      return drivenTenantStep.parse(reply.json());
    });
  const complete = (id: string, body: object) =>
    asWorker(() => ask('POST', `/tenant-operations/${id}/complete`, { as: null, body }));
  /** Has the next step done, whose owner says this. */
  async function done(id: string, receipt: object = { state: 'done' }): Promise<TenantOperation> {
    const { claim } = await drive(id);
    if (!claim) throw new Error('nothing can be claimed');
    const { step_id, lease_token, owner } = claim;
    const reply = await complete(id, {
      step_id,
      lease_token,
      outcome: 'succeeded',
      ...(owner !== 'identity' && { receipt }),
    });
    expect(reply.json()).toMatchObject({ operation: { id } });
    return tenantOperation.parse(reply.json<{ operation: unknown }>().operation);
  }
  async function doneUpTo(id: string, step: StepId): Promise<void> {
    // No proxy tells here what was running, and that is not waited for for ever.
    for (; ; at.now += HOUR_MS)
      if ((await done(id)).steps.find((one) => one.id === step)?.state === 'succeeded') return;
  }
  const receiptOf = async (id: string, step: StepId) =>
    tenantOperation
      .parse((await ask('GET', `/tenants/acme/lifecycle/${id}`)).json())
      .steps.find((one) => one.id === step)?.receipt;

  describe('is asked for', () => {
    it('once under a key: the same again is the same operation, other words are a conflict', async () => {
      const first = await begun('offboard');
      expect(first).toMatchObject({ tenant: 'acme', state: 'pending', actor_sub: 'operator:dev' });
      const again = await begin('offboard');
      expect([again.statusCode, again.json()]).toEqual([200, first]);
      isRefused(await begin('offboard', { reason: 'another' }), 409, 'lifecycle_conflict');
      expect(await kinds()).toEqual(['tenant.operation_started']);
      expect(told()[0]).toMatchObject({
        tenant: 'acme',
        actor_sub: 'operator:dev',
        policy_decision: { operation_id: first.id, kind: 'offboard' },
        payload_canonical_json: '{"reason":"the contract ended"}',
      });
    });
    it('one at a time of a tenant', async () => {
      const { id } = await begun('provision');
      const second = await begin('offboard', { key: 'other' });
      isRefused(second, 409, 'lifecycle_active');
      expect(second.json()).toMatchObject({ operation_id: id });
    });
    it.each([
      ['without a key', { key: '' }, 400, 'idempotency_key_required'],
      ['with a key that cannot be seen', { key: 'a b' }, 400, 'idempotency_key_required'],
      ['with another name typed out', { confirm: 'acne' }, 400, 'confirm_mismatch'],
      ['without a reason', { reason: ' ' }, 400, 'invalid_request'],
      ['with half of a character in its reason', { reason: 'why \ud800' }, 400, 'invalid_request'],
      ['by an operator of another tenant', { as: OTHERS }, 403, 'tenant_mismatch'],
      ['by nobody', { as: VOUCHES }, 401, 'unauthenticated'],
    ])('%s: refused', async (_what, given, status, code) => {
      isRefused(await begin('offboard', given), status, code);
      expect(await sql('select id from identity_tenant_operations')).toEqual([]);
    });
    it('by the console alone, also for the worker’s service; and what the worker asks is for no person', async () => {
      await asWorker(async () => isRefused(await begin('offboard'), 403, 'capability_denied'));
      isRefused(await ask('GET', '/tenant-operations/due'), 403, 'capability_denied');
    });
    it('and read by people of the tenant alone', async () => {
      const { id } = await begun('offboard');
      isRefused(await ask('GET', `/tenants/acme/lifecycle/${id}`, { as: OTHERS }), 403, 'tenant_mismatch');
      isRefused(await ask('GET', `/tenants/other/lifecycle/${id}`, { as: OTHERS }), 404, 'not_found');
      expect((await ask('GET', '/tenants/acme/lifecycle')).json()).toMatchObject([{ id }]);
    });
  });

  describe('step by step', () => {
    it('by a person who claims and says: each refusal has its code', async () => {
      const { id } = await begun('provision');
      const steps = `/tenants/acme/lifecycle/${id}/steps`;
      const claim = (step: string, owner: string) => ask('POST', `${steps}/${step}/claim`, { body: { owner } });
      isRefused(await claim('hil_namespace', 'hil'), 409, 'step_not_next');
      isRefused(await claim('tenant_record', 'hil'), 409, 'owner_mismatch');
      isRefused(await claim('everything', 'hil'), 404, 'not_found');
      const claimed = tenantStepClaimed.parse((await claim('tenant_record', 'identity')).json());
      expect(claimed).toMatchObject({ operation: { state: 'running' }, step_id: 'tenant_record' });
      isRefused(await claim('tenant_record', 'identity'), 409, 'lease_held');
      const say = (body: object) =>
        ask('POST', `${steps}/tenant_record/complete`, { body: { lease_token: claimed.lease_token, ...body } });
      isRefused(await say({ outcome: 'succeeded', receipt: {} }), 400, 'invalid_request');
      isRefused(await say({ outcome: 'succeeded', lease_token: 'another' }), 409, 'lease_invalid');
      expect((await say({ outcome: 'retryable', error: 'away' })).json()).toMatchObject({ state: 'waiting_retry' });
      isRefused(await claim('tenant_record', 'identity'), 409, 'retry_not_due');
      isRefused(await ask('POST', `${steps}/credential_keys/retry`, { body: {} }), 409, 'step_not_retryable');
      expect((await ask('POST', `${steps}/tenant_record/retry`, { body: {} })).statusCode).toBe(200);
      expect((await claim('tenant_record', 'identity')).statusCode).toBe(200);
      // The token is in no store.
      expect(JSON.stringify(await sql('select content from identity_tenant_operations'))).not.toContain(
        claimed.lease_token,
      );
    });

    it('by the worker, under a warrant of the CA for one owner and for as long as the lease', async () => {
      const { id } = await begun('provision');
      await doneUpTo(id, 'credential_keys');
      const { claim } = await drive(id);
      if (!claim) throw new Error('nothing can be claimed');
      const check = (owner: 'policy-engine' | 'hil', nowMs = at.now) =>
        tenantWarrantCheck(ca, owner, () => nowMs)(claim.warrant);
      expect(check('policy-engine')).toMatchObject({ tenant: 'acme', operation_id: id, asked_by: 'operator:dev' });
      expect(() => check('hil')).toThrow('it is for policy-engine');
      expect(() => check('policy-engine', at.now + 30_000)).toThrow(
        /ended at .* and by the clock of policy-engine it is/,
      );
      expect(() => tenantWarrantCheck(ca, 'policy-engine')({ ...claim.warrant, tenant: 'other' })).toThrow(
        'signature does not hold',
      );
      // While it has it, it is given no other, and told how long that lasts.
      expect(await drive(id)).toMatchObject({ claim: null, wait_ms: 30_000 });
      at.now += 30_000;
      expect((await drive(id)).claim).toMatchObject({ step_id: 'policy_namespace' });
    });

    it('comes: its record, in a generation, and the receipts in the ledger', async () => {
      const { id } = await begun('provision');
      await doneUpTo(id, 'ledger_lifecycle_marker');
      expect(await receiptOf(id, 'tenant_record')).toEqual({ tenant: 'acme', state: 'active', generation: 1 });
      expect(await receiptOf(id, 'credential_keys')).toMatchObject({ state: 'active', bundle_sequence: 1 });
      expect(await kinds()).toEqual(['tenant.operation_started', 'tenant.operation_succeeded']);
      expect(told()[1]).toMatchObject({
        tenant: 'acme',
        policy_decision: { receipts: { hil_namespace: expect.stringMatching(/^[0-9a-f]{64}$/) } },
      });
      await asWorker(async () => expect((await ask('GET', '/tenant-operations/due', { as: null })).json()).toEqual([]));
      // Again, under another key, it is confirmed.
      const next = await begun('provision', { key: 'twice' });
      await done(next.id);
      expect(await receiptOf(next.id, 'tenant_record')).toMatchObject({ generation: 1 });
    });

    it('is a person’s after five times, of which the ledger is told, and goes on by a retry', async () => {
      const { id } = await begun('provision');
      for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 0]) {
        const { claim } = await drive(id);
        if (!claim) throw new Error('nothing can be claimed');
        const { step_id, lease_token } = claim;
        await complete(id, { step_id, lease_token, outcome: 'retryable', error: 'away' });
        at.now += pauseMs;
      }
      expect(await drive(id)).toMatchObject({ claim: null, wait_ms: null, operation: { state: 'manual_recovery' } });
      expect(await kinds()).toEqual(['tenant.operation_started', 'tenant.operation_halted']);
      expect(told()[1]).toMatchObject({ policy_decision: { step: 'tenant_record', attempts: 5, error: 'away' } });
      isRefused(await begin('offboard', { key: 'other' }), 409, 'lifecycle_active');
      await ask('POST', `/tenants/acme/lifecycle/${id}/steps/tenant_record/retry`, { body: {} });
      expect((await done(id)).steps[0]).toMatchObject({ state: 'succeeded', attempts: 6 });
    });
  });

  describe('goes', () => {
    it('is fenced first: stopped, its agents ended, its certificates taken back, and nothing comes into being any more', async () => {
      const { id: first, pem } = await certified('one');
      await certified('two');
      await enrolled('three');
      const budget = (budget_micros: number | null) => ask('POST', '/tenants/acme/budget', { body: { budget_micros } });
      expect((await budget(1_000)).statusCode).toBe(200);
      const { id } = await begun('offboard');
      await done(id);
      expect(await receiptOf(id, 'authority_fence')).toEqual({
        tenant: 'acme',
        state: 'offboarded',
        generation: 1,
        agents_decommissioned: 3,
        budget_cleared: true,
      });
      isRefused(await budget(1_000), 409, 'tenant_offboarded');
      expect((await budget(null)).statusCode).toBe(200);
      const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
      for (let more = true; more; ) more = mirror.take(await listAfter(mirror.position())) === 'more';
      for (const agent of ['never heard of', 'one'])
        expect(mirror.agentFault({ tenant: 'acme', agent })?.code).toBe('tenant_decommissioned');
      expect(mirror.agentFault({ tenant: 'other', agent: 'one' })).toBeNull();
      expect(await sql('select id from identity_svids where revoked_ms is null')).toEqual([]);
      expect(await sql('select agent_id from identity_enrollments where intent_id is null')).toEqual([]);

      isRefused(await enrolled('four'), 409, 'tenant_offboarded');
      isRefused(
        await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'five' } }),
        409,
        'tenant_offboarded',
      );
      at.caller = serviceCaller('proxy');
      const { X509Certificate } = await import('node:crypto');
      const shown = new X509Certificate(pem);
      isRefused(
        await ask('POST', '/svid/renew', {
          as: null,
          body: {
            csr_pem: (await certificateRequest()).pem,
            agent_spiffe: String(shown.subjectAltName).replace('URI:', ''),
            credential_fingerprint: shown.fingerprint256.replaceAll(':', '').toLowerCase(),
            public_key_sha256: 'a'.repeat(64),
          },
        }),
        409,
        'tenant_offboarded',
      );
      at.caller = serviceCaller('console');
      // Nobody lets it go, and an agent stays ended.
      const [stop] = (await ask('GET', '/stops?tenant=acme')).json<{ id: string }[]>();
      isRefused(await ask('POST', `/stops/${stop?.id}/release?tenant=acme`, { body: {} }), 409, 'tenant_offboarded');
      expect((await ask('GET', `/agents/${first}?tenant=acme`)).json()).toMatchObject({ state: 'decommissioned' });
      await done(id);
      expect(await receiptOf(id, 'credential_keys')).toEqual({
        tenant: 'acme',
        state: 'offboarded',
        generation: 1,
        certificates_revoked: 2,
      });
      expect(told().map(({ event_kind }) => event_kind)).toEqual(
        expect.arrayContaining(['stop.set', 'agent.decommissioned', 'svid.revoked']),
      );
    });

    it('whole, and comes never again', async () => {
      const { id } = await begun('offboard');
      await doneUpTo(id, 'retained_backup_disposition');
      expect((await kinds()).at(-1)).toBe('tenant.operation_succeeded');
      // Those of the tenant are hidden by then.
      expect(told().at(-1)?.tenant).toBeUndefined();
      isRefused(await begin('provision'), 409, 'tenant_offboarded');
      isRefused(await begin('offboard', { key: 'twice' }), 409, 'tenant_offboarded');
      expect((await begin('offboard')).json()).toMatchObject({ id, state: 'succeeded' });
      // Another tenant is as it was.
      expect((await begin('provision', { tenant: 'other', confirm: 'other', as: OTHERS })).statusCode).toBe(201);
    });

    it('is exported when it is reported what was running, or nobody tells that for a minute', async () => {
      const { id } = await begun('offboard');
      for (let step = 0; step < 5; step += 1) await done(id);
      const early = () => asWorker(() => ask('POST', `/tenant-operations/${id}/claim`, { as: null, body: {} }));
      isRefused(await early(), 503, 'operation_unfinished');
      at.now += 60_000;
      expect((await drive(id)).claim).toMatchObject({ step_id: 'ledger_final_export' });
      expect(tenantOperation.parse((await ask('GET', `/tenants/acme/lifecycle/${id}`)).json()).steps[5]).toMatchObject({
        attempts: 1,
      });
    });

    it('by a person, under the lease of the fence alone; again, it says the same', async () => {
      await certified('one');
      const { id } = await begun('offboard');
      const claimed = tenantStepClaimed.parse(
        (
          await ask('POST', `/tenants/acme/lifecycle/${id}/steps/authority_fence/claim`, {
            body: { owner: 'identity' },
          })
        ).json(),
      );
      const fence = (lease: string, confirm = 'acme') =>
        ask('POST', '/tenants/acme/offboard', {
          body: { confirm },
          headers: { 'x-gate-lifecycle-operation': id, 'x-gate-lifecycle-lease': lease },
        });
      isRefused(await fence('another'), 409, 'lease_invalid');
      isRefused(await fence(claimed.lease_token, 'acne'), 400, 'confirm_mismatch');
      expect(await sql('select id from identity_tenants')).toEqual([]);
      const first = await fence(claimed.lease_token);
      expect(first.json()).toMatchObject({
        tenant: 'acme',
        agents_decommissioned: 1,
        budget_cleared: false,
        generation: 1,
      });
      expect((await fence(claimed.lease_token)).json()).toEqual(first.json());
      expect((await kinds()).filter((one) => one === 'tenant.offboarded')).toHaveLength(1);
      at.now += 30_000;
      isRefused(await fence(claimed.lease_token), 409, 'lease_invalid');
    });

    it('also where its stop was set before, and where somebody is at its release', async () => {
      const stopped = await ask('POST', '/stops', { body: { tenant: 'acme', reason: 'odd' } });
      await ask('POST', `/stops/${stopped.json<{ id: string }>().id}/release?tenant=acme`, { body: {} });
      const { id } = await begun('offboard');
      await done(id);
      expect((await ask('GET', '/stops?tenant=acme')).json()).toMatchObject([{ state: 'suspended', release: null }]);
    });

    it('with agents that are ended whatever an edited row says of them, and counts those that it ended', async () => {
      const { id: before } = await certified('before');
      await ask('POST', `/agents/${before}/decommission?tenant=acme`, { body: { reason: 'odd' } });
      const { id: edited } = await certified('edited');
      await ask('POST', `/agents/${edited}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      await certified('whole');
      await sql(`update identity_standings set state = 'decommissioned' where id = '${edited}'`);
      await sql(
        `insert into identity_standings (id, tenant, agent_name, state, changed_ms, listed_generation, mac)
           values ('bogus', 'acme', 'ghost', 'decommissioned', 1, 999999, 'x')`,
      );
      // A clock that was set back.
      at.now -= 60_000;
      const { id } = await begun('offboard');
      await done(id);
      expect(await receiptOf(id, 'authority_fence')).toMatchObject({ agents_decommissioned: 2, budget_cleared: false });
      await done(id);
      expect((await ask('GET', `/agents/${edited}?tenant=acme`)).json()).toMatchObject({ state: 'decommissioned' });
      await kinds();
      const ended = told().filter(({ event_kind }) => event_kind === 'agent.decommissioned');
      expect(ended.map(({ policy_decision }) => policy_decision?.['agent'])).toEqual(['before', 'edited', 'whole']);
      expect(ended[1]?.policy_decision).toMatchObject({ edited_rows: [expect.stringContaining('identity_standings')] });
    });

    it('counts a budget that was taken away before the fence for none, by whatever clock', async () => {
      const budget = (budget_micros: number | null) => ask('POST', '/tenants/acme/budget', { body: { budget_micros } });
      await budget(1_000);
      await budget(null);
      at.now -= 60_000;
      const { id } = await begun('offboard');
      await done(id);
      expect(await receiptOf(id, 'authority_fence')).toMatchObject({ budget_cleared: false });
    });

    it('with an agent whose rows say nothing true last, and all others ended', async () => {
      const { id: bad } = await certified('bad');
      const { id: good } = await certified('good');
      await sql(`update identity_agents set agent_name = 'No Label' where id = '${bad}'`);
      await sql(`delete from identity_svids where agent_id = '${bad}'`);
      await sql(`delete from identity_intents where agent_id = '${bad}'`);
      const { id } = await begun('offboard');
      const { claim } = await drive(id);
      const said = { step_id: claim?.step_id, lease_token: claim?.lease_token, outcome: 'succeeded' };
      isRefused(await complete(id, said), 409, 'identity_tampered');
      expect((await ask('GET', `/agents/${good}?tenant=acme`)).json()).toMatchObject({ state: 'decommissioned' });
    });

    it('also where its stop was set long before: what runs at the fence is reported', async () => {
      await ask('POST', '/stops', { body: { tenant: 'acme', reason: 'odd' } });
      at.now += HOUR_MS;
      const { id } = await begun('offboard');
      for (let step = 0; step < 5; step += 1) await done(id);
      isRefused(
        await asWorker(() => ask('POST', `/tenant-operations/${id}/claim`, { as: null, body: {} })),
        503,
        'operation_unfinished',
      );
    });

    it('whatever its record says: a fence stops it first, and writes an edited row anew', async () => {
      const { id: first } = await certified('one');
      const { id } = await begun('offboard');
      await sql(
        `insert into identity_tenants (id, state, tenant_generation, operation_id, changed_ms, mac) values ('acme', 'active', 7, 'nobody', 1, 'x')`,
      );
      await done(id);
      expect(await receiptOf(id, 'authority_fence')).toMatchObject({ state: 'offboarded', generation: 8 });
      expect((await ask('GET', `/agents/${first}?tenant=acme`)).json()).toMatchObject({ state: 'decommissioned' });
      await kinds();
      expect(told().find(({ event_kind }) => event_kind === 'stop.set')?.policy_decision).toMatchObject({
        edited_rows: [expect.stringContaining('identity_tenants')],
      });
    });

    it('and does not come back where its record is taken out of the store', async () => {
      const { id } = await begun('offboard');
      await done(id);
      await sql('delete from identity_tenants');
      isRefused(await enrolled('one'), 409, 'tenant_offboarded');
      const [stop] = (await ask('GET', '/stops?tenant=acme')).json<{ id: string }[]>();
      isRefused(await ask('POST', `/stops/${stop?.id}/release?tenant=acme`, { body: {} }), 409, 'tenant_offboarded');
      await doneUpTo(id, 'retained_backup_disposition');
      await sql('delete from identity_tenants');
      isRefused(await begin('provision'), 409, 'tenant_offboarded');
    });

    it('and its tools are stopped no more; those of a tenant with an edited record are', async () => {
      const stop = (tool: string) => ask('POST', '/stops', { body: { tenant: 'acme', tool, reason: 'odd' } });
      expect((await stop('before')).statusCode).toBe(200);
      await sql(
        `insert into identity_tenants (id, state, tenant_generation, operation_id, changed_ms, mac) values ('acme', 'offboarded', 7, 'nobody', 1, 'x')`,
      );
      expect((await stop('edited')).statusCode).toBe(200);
      await sql('delete from identity_tenants');
      const { id } = await begun('offboard');
      await done(id);
      isRefused(await stop('after'), 409, 'tenant_offboarded');
    });

    it('although somebody put an operation into the store: it holds up nobody, and is named in the list', async () => {
      await sql(
        `insert into identity_tenant_operations (id, tenant, kind, idempotency_key, state, content, mac)
           values ('0-bogus', 'acme', 'provision', 'bogus', 'running', '{}', 'x')`,
      );
      const { id } = await begun('offboard');
      expect((await ask('GET', '/tenants/acme/lifecycle')).json()).toMatchObject([
        { id, state: 'pending' },
        { id: '0-bogus', tenant: 'acme', tampered: expect.stringContaining('identity_tenant_operations 0-bogus') },
      ]);
      await doneUpTo(id, 'retained_backup_disposition');
    });

    it('by whom each step was done, taken up again and fenced stands in the step and in the ledger', async () => {
      await certified('one');
      const { id } = await begun('offboard');
      const path = `/tenants/acme/lifecycle/${id}/steps/authority_fence`;
      const claimedBy = async (as: string) =>
        tenantStepClaimed.parse((await ask('POST', `${path}/claim`, { as, body: { owner: 'identity' } })).json());
      const { lease_token } = await claimedBy(SECOND);
      await ask('POST', `${path}/complete`, {
        as: SECOND,
        body: { lease_token, outcome: 'manual_recovery', error: 'odd' },
      });
      await ask('POST', `${path}/retry`, { as: SECOND, body: {} });
      const again = await claimedBy(DEV);
      const fenced = await ask('POST', '/tenants/acme/offboard', {
        as: SECOND,
        body: { confirm: 'acme', reason: 'at once' },
        headers: { 'x-gate-lifecycle-operation': id, 'x-gate-lifecycle-lease': again.lease_token },
      });
      expect(fenced.statusCode).toBe(200);
      await ask('POST', `${path}/complete`, { body: { lease_token: again.lease_token, outcome: 'succeeded' } });
      await doneUpTo(id, 'retained_backup_disposition');
      const { steps } = tenantOperation.parse((await ask('GET', `/tenants/acme/lifecycle/${id}`)).json());
      expect(steps[0]).toMatchObject({
        claimed_by: 'operator:dev',
        completed_by: 'operator:dev',
        retried_by: 'operator:second',
      });
      expect(steps[1]).toMatchObject({ claimed_by: 'gate-worker', completed_by: 'gate-worker', retried_by: null });
      await kinds();
      const rowOf = (kind: string) => told().find(({ event_kind }) => event_kind === kind);
      expect(rowOf('tenant.operation_halted')).toMatchObject({ actor_sub: 'operator:second' });
      expect(rowOf('tenant.operation_retried')).toMatchObject({
        actor_sub: 'operator:second',
        policy_decision: { step: 'authority_fence', begun_by: 'operator:dev', error: 'odd' },
      });
      expect(rowOf('tenant.offboarded')).toMatchObject({
        actor_sub: 'operator:second',
        payload_canonical_json: '{"reason":"at once"}',
      });
      expect(rowOf('tenant.operation_succeeded')).toMatchObject({
        actor_sub: 'gate-worker',
        policy_decision: {
          begun_by: 'operator:dev',
          completed_by: { authority_fence: 'operator:dev', ledger_tombstone: 'gate-worker' },
          retried_by: { authority_fence: 'operator:second' },
        },
      });
    });

    it('is offboarded by no row that somebody edited, and let in by none', async () => {
      const { id } = await begun('offboard');
      await done(id);
      await sql("update identity_tenants set state = 'active'");
      isRefused(await enrolled('one'), 409, 'identity_tampered');
      await sql("update identity_tenant_operations set state = 'succeeded'");
      isRefused(await ask('GET', `/tenants/acme/lifecycle/${id}`), 409, 'identity_tampered');
      await sql("update identity_tenant_operations set state = 'running', tenant = 'other'");
      await asWorker(async () => {
        expect((await ask('GET', '/tenant-operations/due', { as: null })).json()).toEqual([]);
        isRefused(
          await ask('POST', `/tenant-operations/${id}/claim`, { as: null, body: {} }),
          409,
          'identity_tampered',
        );
      });
    });
  });

  it('is the administrator’s token’s tenant too', async () => {
    expect((await begin('provision', { as: ADMIN })).json()).toMatchObject({
      actor_sub: expect.stringMatching(/^admin/),
    });
  });
});
