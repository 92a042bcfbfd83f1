import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { agentRecord, issuedSvid } from '../../contracts/identity.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { fingerprintOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { vouchingText } from '../../domain/review/vouching.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
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
import { STORES } from '../../test/support/ledger.js';

describe.each(STORES)('what an agent may do, on %s', (kind) => {
  const { at, told, sql, ask, certified, enrolled, servesAnew, isRefused, kinds, listAfter } = identityWithPeople(kind);
  const registered = async (agent = 'bot') => {
    at.caller = serviceCaller('console');
    const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: agent } });
    expect(reply.statusCode).toBe(201);
    return agentRecord.parse(reply.json()).id;
  };
  const change = (id: string, what: string, as = DEV, body: object = { reason: 'odd calls' }) => {
    at.caller = serviceCaller('console');
    return ask('POST', `/agents/${id}/${what}?tenant=acme`, { as, body });
  };
  const takenBack = (id: string) => {
    at.caller = serviceCaller('console');
    return ask('POST', '/revoke', { as: ADMIN, body: { kind: 'agent', agent_id: id, reason: 'odd calls' } });
  };
  const recordOf = async (id: string) => {
    at.caller = serviceCaller('console');
    return agentRecord.parse((await ask('GET', `/agents/${id}?tenant=acme`)).json());
  };
  const renewing = async (pem: string, agent: string) => {
    const certificate = new X509Certificate(pem);
    at.caller = {
      kind: 'agent',
      spiffe: spiffeOfCertificate(certificate) ?? '',
      callerId: 'agent-workload',
      fingerprint: fingerprintOf(certificate),
      tenant: 'acme',
      agent,
    };
    return ask('POST', '/svid', {
      as: null,
      body: { tenant: 'acme', agent_name: agent, csr_pem: (await certificateRequest()).pem },
    });
  };

  it('is everything that policy lets it, from its registration or enrolment on', async () => {
    const id = await registered();
    expect(await recordOf(id)).toEqual({
      id,
      tenant: 'acme',
      agent_name: 'bot',
      state: 'active',
      created_by_sub: 'operator:dev',
      created_at: new Date(at.now).toISOString(),
      state_changed_at: null,
      state_changed_by: null,
      reason: null,
      svid_bootstrap_state: 'available',
      report_id: null,
      force_hil: null,
      owner_team: null,
      description: null,
      certified_at_version: null,
      certified_at: null,
      scope_envelope: [],
      yellow_envelope: [],
      attestation_kinds_accepted: [],
      release: null,
    });
    await certified('enrolled');
    at.caller = serviceCaller('console');
    const names = (await ask('GET', '/agents?tenant=acme')).json<{ agent_name: string }[]>();
    expect(names.map(({ agent_name: name }) => name)).toEqual(['bot', 'enrolled']);
    isRefused(await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'bot' } }), 409, 'agent_name_taken');
    isRefused(
      await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'gate-proxy' } }),
      422,
      'agent_name_reserved',
    );
  });

  it('is nothing while it is suspended: no certificate either, and proxies are told by the next number', async () => {
    const { id, pem } = await certified('bot');
    const reply = await change(id, 'suspend');
    expect([reply.statusCode, reply.json()]).toEqual([
      200,
      expect.objectContaining({ state: 'suspended', state_changed_by: 'operator:dev', reason: 'odd calls' }),
    ]);
    const list = await listAfter(0);
    expect(list.standings).toEqual([
      {
        tenant: 'acme',
        agent_name: 'bot',
        state: 'suspended',
        force_hil_until: null,
        changed_at: new Date(at.now).toISOString(),
      },
    ]);
    isRefused(await renewing(pem, 'bot'), 403, 'agent_suspended');
    // Said again, it changes nothing and has no row.
    expect((await change(id, 'suspend')).statusCode).toBe(200);
    expect((await listAfter(list.generation)).generation).toBe(list.generation);
    expect(await kinds()).toEqual([
      'identity.svid_issued',
      'svid.revoked',
      'agent.svid_recovery_opened',
      'agent.suspended',
    ]);
    expect(told()[3]).toMatchObject({
      actor_sub: 'operator:dev',
      tenant: 'acme',
      policy_decision: { agent: 'bot', state_before: 'active', state_after: 'suspended' },
      payload_canonical_json: '{"reason":"odd calls"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
    for (const one of told()) expect(() => prepareRow(one)).not.toThrow();
  });

  it('has no certificate while it is suspended, and a first one again by a new token once two people let it go', async () => {
    const { id, pem } = await certified('bot');
    const unused = (await enrolled('another')).json<{ token: string; agent_id: string }>();
    const known = (await listAfter(0)).generation;
    for (const [agent, state] of [
      [id, 'recovery'],
      [unused.agent_id, 'available'],
    ] as const)
      expect((await change(agent, 'suspend')).json()).toMatchObject({
        report_id: expect.any(String),
        svid_bootstrap_state: state,
      });
    expect((await recordOf(id)).svid_bootstrap_state).toBe('recovery');
    expect((await recordOf(unused.agent_id)).svid_bootstrap_state).toBe('available');
    const list = await listAfter(known);
    expect([list.svids.map(({ why }) => why), list.agents]).toEqual([['revoked'], []]);
    isRefused(await enrolled('bot'), 403, 'agent_suspended');
    const redeem = async (token: string) => {
      at.caller = null;
      return ask('POST', '/enrollments/svid', { as: token, body: { csr_pem: (await certificateRequest()).pem } });
    };
    isRefused(await redeem(unused.token), 401, 'invalid_token');
    await change(id, 'unsuspend', SECOND);
    expect((await change(id, 'unsuspend', DEV)).json()).toMatchObject({
      state: 'active',
      svid_bootstrap_state: 'recovery',
      report_id: null,
    });
    isRefused(await renewing(pem, 'bot'), 403, 'issuance_authority_denied');
    const { token } = (await enrolled('bot')).json<{ token: string }>();
    const next = issuedSvid.parse((await redeem(token)).json()).cert_pem;
    expect((await recordOf(id)).svid_bootstrap_state).toBe('retired');
    expect((await renewing(next, 'bot')).statusCode).toBe(200);
    expect((await kinds()).filter((one) => one?.includes('recovery'))).toEqual(['agent.svid_recovery_opened']);
  });

  it('has its certificates taken back by the next stop too, and its open recovery kept by it', async () => {
    const { id } = await certified('bot');
    for (const recoveries of [1, 1]) {
      await change(id, 'suspend');
      await change(id, 'unsuspend', SECOND);
      await change(id, 'unsuspend', DEV);
      expect((await kinds()).filter((one) => one?.includes('recovery'))).toHaveLength(recoveries);
    }
    const { token } = (await enrolled('bot')).json<{ token: string }>();
    at.caller = null;
    await ask('POST', '/enrollments/svid', { as: token, body: { csr_pem: (await certificateRequest()).pem } });
    await change(id, 'suspend');
    expect((await recordOf(id)).svid_bootstrap_state).toBe('recovery');
    expect(await sql('select id from identity_svids where revoked_ms is null')).toEqual([]);
  });

  it('is given back by two people: one asks, another one confirms', async () => {
    const id = await registered();
    await change(id, 'suspend');
    const asked = await change(id, 'unsuspend', SECOND, { reason: 'looked at' });
    expect([asked.statusCode, asked.json()]).toEqual([
      202,
      expect.objectContaining({
        state: 'suspended',
        somebody_else: true,
        release: expect.objectContaining({ requested_by: 'operator:second', reason: 'looked at' }),
      }),
    ]);
    // The same person again is one person.
    expect((await change(id, 'unsuspend', SECOND)).statusCode).toBe(202);
    at.now += 1_000;
    const given = await change(id, 'unsuspend', DEV);
    expect([given.statusCode, given.json()]).toEqual([
      200,
      expect.objectContaining({ state: 'active', release: null, state_changed_by: 'operator:dev' }),
    ]);
    expect((await listAfter(0)).standings).toMatchObject([{ agent_name: 'bot', state: 'active' }]);
    expect(await kinds()).toEqual([
      'agent.registered',
      'agent.suspended',
      'agent.unsuspend_requested',
      'agent.unsuspended',
    ]);
    expect(told()[3]).toMatchObject({
      actor_sub: 'operator:dev',
      policy_decision: { requested_by: 'operator:second', confirmed_by: 'operator:dev' },
    });
  });

  it('is given back by nobody alone: not by a request of yesterday, one that was taken back, or the token of the administrator', async () => {
    const id = await registered();
    await change(id, 'suspend');
    isRefused(await change(id, 'unsuspend', ADMIN), 403, 'person_required');
    await change(id, 'unsuspend', SECOND);
    at.now += 24 * HOUR_MS;
    expect((await change(id, 'unsuspend', DEV)).statusCode).toBe(202);
    // Who stops it again says no.
    await change(id, 'suspend', SECOND);
    expect((await change(id, 'unsuspend', SECOND)).statusCode).toBe(202);
    expect((await recordOf(id)).state).toBe('suspended');
    await servesAnew(1);
    expect((await change(id, 'unsuspend', DEV)).json()).toMatchObject({ state: 'active' });
    await change(id, 'suspend');
    expect((await change(id, 'unsuspend', DEV)).json()).toMatchObject({ somebody_else: false });
  });

  it.each([
    ['nobody', 'by tokens', undefined, false],
    ['nobody', 'by their passkeys', 'webauthn', false],
    ['whoever signs in', 'at a provider', 'oidc', true],
    ['the one administrator', 'by a password', 'basic-admin', true],
    ['nobody', 'by a password, for another tenant', 'basic-admin', false, 'other'],
  ])(
    'is given back with %s, beside one operator, where people sign in %s',
    async (_who, _how, signIn, isThere, adminTenant = 'acme') => {
      await servesAnew(1, signIn, adminTenant);
      const id = await registered();
      await change(id, 'suspend');
      expect((await change(id, 'unsuspend', DEV)).json()).toMatchObject({ somebody_else: isThere });
    },
  );

  it('is given back by the one administrator of a password and an operator, and not by the one alone', async () => {
    await servesAnew(1, 'basic-admin');
    const ids = [await registered(), await registered('another')];
    for (const id of ids) await change(id, 'suspend');
    const body = { reason: 'looked at' };
    const asRoot = (id: string) => {
      const tenant = 'acme';
      const root = { subject: 'basic:root', tenant, method: 'basic-admin', role: 'admin' } as const;
      const said = vouchingText({ ...root, since_ms: at.now, until_ms: null });
      const headers = { 'x-gate-tenant-scope': tenant, 'x-gate-decision-principal': said };
      return ask('POST', `/agents/${id}/unsuspend?tenant=${tenant}`, { as: VOUCHES, headers, body });
    };
    expect((await asRoot(ids[0] as string)).json()).toMatchObject({ somebody_else: true });
    await servesAnew(0, 'basic-admin');
    expect((await asRoot(ids[1] as string)).json()).toMatchObject({ somebody_else: false });
  });

  it('is nothing ever again once it was decommissioned; its certificates and its name are gone', async () => {
    const { id, pem } = await certified('bot');
    expect((await change(id, 'decommission')).json()).toMatchObject({ state: 'decommissioned' });
    const list = await listAfter(0);
    expect([list.svids.map(({ why }) => why), list.agents, list.standings]).toMatchObject([
      ['revoked'],
      [{ agent_name: 'bot' }],
      [{ state: 'decommissioned' }],
    ]);
    for (const what of ['suspend', 'unsuspend', 'containment', 'containment/clear'])
      isRefused(await change(id, what), 403, 'agent_decommissioned');
    expect((await change(id, 'decommission')).statusCode).toBe(200);
    isRefused(await renewing(pem, 'bot'), 403, 'agent_decommissioned');
    at.caller = serviceCaller('console');
    isRefused(await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'bot' } }), 409, 'agent_name_retired');
    isRefused(
      await ask('POST', '/enrollments', { as: ADMIN, body: { tenant: 'acme', agent_name: 'bot' } }),
      403,
      'agent_decommissioned',
    );
    expect(await kinds()).toEqual(['identity.svid_issued', 'svid.revoked', 'agent.decommissioned']);
  });

  it('waits for a person, every call of it, until a time or until somebody lifts that', async () => {
    const id = await registered();
    isRefused(await change(id, 'containment', DEV, {}), 400, 'invalid_request');
    const flag = {
      expires_at: new Date(at.now + 1_800_000).toISOString(),
      reason: 'odd calls',
      applied_at: new Date(at.now).toISOString(),
      actor: 'operator:dev',
    };
    expect((await change(id, 'containment')).json()).toEqual({ force_hil: flag });
    at.caller = serviceCaller('proxy');
    expect((await ask('GET', `/agents/${id}/containment?tenant=acme`, { as: null })).json()).toEqual({
      force_hil: flag,
    });
    expect((await listAfter(0)).standings).toMatchObject([{ state: 'active', force_hil_until: flag.expires_at }]);
    at.now += 1_800_000;
    expect((await recordOf(id)).force_hil).toBeNull();
    await change(id, 'containment', DEV, { reason: 'again', ttl_seconds: 60 });
    expect((await change(id, 'containment/clear', SECOND)).json()).toEqual({ force_hil: null });
    expect((await listAfter(0)).standings).toMatchObject([{ state: 'active', force_hil_until: null }]);
    expect((await change(id, 'containment/clear', SECOND)).json()).toEqual({ force_hil: null });
    expect(await kinds()).toEqual([
      'agent.registered',
      'agent.containment_set',
      'agent.containment_set',
      'agent.containment_cleared',
    ]);
    expect(told()[3]).toMatchObject({
      actor_sub: 'operator:second',
      policy_decision: { cleared_flag: { actor: 'operator:dev' } },
    });
  });

  it.each(['suspend', 'unsuspend', 'decommission', 'containment', 'containment/clear'])(
    'is changed of no agent that is not there, and makes none: %s',
    async (what) => {
      isRefused(await change('0190a5b0-0000-7000-8000-000000000000', what), 404, 'not_found');
      expect((await ask('GET', '/agents?tenant=acme')).json()).toEqual([]);
      expect(await kinds()).toEqual([]);
    },
  );

  it('is said by administrators of its tenant alone', async () => {
    const id = await registered();
    const suspend = (as: string | null, headers: Record<string, string> = {}) =>
      ask('POST', `/agents/${id}/suspend?tenant=acme`, { as, headers, body: {} });
    isRefused(await suspend(null), 401, 'invalid_token');
    isRefused(await suspend('unknown'), 401, 'unauthenticated');
    isRefused(await suspend(OTHERS), 403, 'tenant_mismatch');
    isRefused(await ask('POST', `/agents/${id}/suspend?tenant=other`, { as: OTHERS, body: {} }), 404, 'not_found');
    isRefused(await ask('GET', `/agents/${id}?tenant=acme`, { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/agents?tenant=acme', { as: null }), 401, 'invalid_token');
    const vouchedAs = (role: 'viewer' | 'approver' | 'admin', untilMs: number | null = null) => ({
      'x-gate-tenant-scope': 'acme',
      'x-gate-decision-principal': vouchingText({
        subject: 'oidc:ada',
        tenant: 'acme',
        method: 'oidc',
        role,
        since_ms: at.now,
        until_ms: untilMs,
      }),
    });
    isRefused(await suspend(VOUCHES, vouchedAs('approver')), 403, 'role_too_low');
    // A word that is over is nobody's, as at HIL.
    for (const over of [at.now - 1, at.now])
      isRefused(await suspend(VOUCHES, vouchedAs('admin', over)), 401, 'unauthenticated');
    isRefused(
      await ask('GET', '/agents?tenant=acme', { as: VOUCHES, headers: vouchedAs('viewer', at.now) }),
      401,
      'unauthenticated',
    );
    expect((await recordOf(id)).state).toBe('active');
    expect((await suspend(VOUCHES, vouchedAs('admin', at.now + 1))).json()).toMatchObject({
      state_changed_by: 'oidc:ada',
    });
    expect((await ask('GET', '/agents?tenant=acme', { as: VOUCHES, headers: vouchedAs('viewer') })).statusCode).toBe(
      200,
    );
    at.caller = serviceCaller('proxy');
    isRefused(await suspend(DEV), 403, 'capability_denied');
    at.caller = serviceCaller('hil');
    isRefused(await ask('GET', '/agents?tenant=acme'), 403, 'capability_denied');
  });

  it('is listed by name and by state, a part at a time', async () => {
    const ids = [await registered('a'), await registered('b'), await registered('c')];
    await change(ids[1] as string, 'suspend');
    const names = async (query: string) =>
      (await ask('GET', `/agents?tenant=acme${query}`))
        .json<{ agent_name: string }[]>()
        .map(({ agent_name: name }) => name);
    expect(await names('&state=suspended')).toEqual(['b']);
    expect(await names('&state=active')).toEqual(['a', 'c']);
    expect(await names('&after=a')).toEqual(['b', 'c']);
    expect(await names('&agent_name=c')).toEqual(['c']);
    expect(await names('&agent_name=d')).toEqual([]);
  });

  it('is told to proxies in answers that are whole, however many agents were stopped', async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) ids.push(await registered(name));
    for (const id of ids) await change(id, 'suspend');
    await change(ids[0] as string, 'containment');
    const came: string[] = [];
    for (let more = true; more; more = came.at(-1) === 'more')
      came.push(mirror.take(await listAfter(mirror.position())));
    expect(came).toEqual(['more', 'more', 'whole']);
    for (const agent of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      expect(mirror.agentFault({ tenant: 'acme', agent })?.code).toBe('agent_suspended');
    expect(mirror.forcesReview({ tenant: 'acme', agent: 'a' })).toBe(true);
  });

  it.each([
    ['lifts a suspension', "update identity_standings set state = 'active'"],
    ['makes it another agent’s', "update identity_standings set agent_name = 'another'"],
    ['takes it off the list', 'update identity_standings set listed_generation = 0'],
    ['signs a request for release', "update identity_standings set release_by = 'operator:x', release_ms = 1"],
  ])('is what Gate wrote: whoever %s in the store is found out', async (_what, edit) => {
    const id = await registered();
    await change(id, 'suspend');
    await sql(edit);
    isRefused(await ask('GET', `/agents/${id}?tenant=acme`), 409, 'identity_tampered');
    isRefused(await change(id, 'unsuspend'), 409, 'identity_tampered');
    // A proxy that is started anew hears of it, or of nothing.
    at.caller = serviceCaller('proxy');
    isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
  });

  const EDITS = {
    'its own row': (id: string) => `update identity_agents set renewals = 7 where id = '${id}'`,
    'its name': (id: string) => `update identity_agents set agent_name = 'another' where id = '${id}'`,
    'its tenant': (id: string) => `update identity_agents set tenant = 'other' where id = '${id}'`,
    'what is answered of it': (id: string) =>
      `update identity_agents set created_ms = 9007199254740991, svid_bootstrap_state = 'x' where id = '${id}'`,
    'what it may do': (id: string) => `update identity_standings set state = 'suspended' where id = '${id}'`,
    'when that changed': (id: string) =>
      `update identity_standings set changed_ms = 9007199254740991, hil_by = 'x' where id = '${id}'`,
  };
  const edits = Object.keys(EDITS) as (keyof typeof EDITS)[];
  /** An agent that has a certificate, and whose containment was set and lifted, so that every row of it is there. */
  const met = async () => {
    const { id, pem } = await certified('bot');
    const set = await change(id, 'containment', DEV, { reason: 'odd calls' });
    expect(set.statusCode).toBe(200);
    return { id, pem };
  };

  describe.each(edits)('where somebody edited %s', (what) => {
    it.each(['suspend', 'decommission'])(
      '%s stops it all the same, and the ledger is told of the row',
      async (stop) => {
        const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
        const { id, pem } = await met();
        mirror.take(await listAfter(0));
        await sql(EDITS[what](id));
        const reply = await change(id, stop);
        expect(reply.statusCode).toBe(200);
        // Whether it was decommissioned is what the row said that was edited: it is over for good, whichever way it is stopped.
        const isOver = stop === 'decommission' || !EDITS[what](id).includes('identity_agents');
        const state = isOver ? 'decommissioned' : 'suspended';
        expect(agentRecord.parse(reply.json())).toMatchObject({ agent_name: 'bot', tenant: 'acme', state });
        // A proxy hears it under the name by which the agent comes.
        mirror.take(await listAfter(mirror.position()));
        expect(mirror.agentFault({ tenant: 'acme', agent: 'bot' })?.code).toBe(`agent_${state}`);
        expect((await renewing(pem, 'bot')).statusCode).not.toBe(200);
        const isOwn = EDITS[what](id).includes('identity_agents');
        await kinds();
        const row = told().find(({ event_kind: event }) => event === `agent.${state}`);
        expect(row?.policy_decision).toMatchObject({
          agent: 'bot',
          state_after: state,
          edited_rows: [`${isOwn ? 'identity_agents' : 'identity_standings'} ${id}: its mark does not hold`],
          ...(!isOwn && { replaced_row_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }),
        });
        expect((await sql('select id from identity_svids where revoked_ms is null')).length).toBe(0);
      },
    );

    it('takes its certificates back all the same', async () => {
      const { id } = await met();
      await sql(EDITS[what](id));
      expect((await takenBack(id)).json()).toMatchObject({ kind: 'agent', revoked_svids: 1 });
      const named = await sql('select tenant, agent_name from identity_listings where agent_name is not null');
      expect(named).toMatchObject([{ tenant: 'acme', agent_name: 'bot' }]);
    });

    it('gives it nothing', async () => {
      const { id, pem } = await met();
      const edit = EDITS[what](id);
      await sql(edit);
      for (const [does, body] of [
        ['containment', { reason: 'odd calls' }],
        ['containment/clear', {}],
        ['unsuspend', {}],
      ] as const)
        expect([404, 409]).toContain((await change(id, does, DEV, body)).statusCode);
      at.caller = serviceCaller('console');
      const recovered = await ask('POST', `/agents/${id}/svid-recovery?tenant=acme`, {
        as: ADMIN,
        body: { reason: 'x' },
      });
      expect([404, 409]).toContain(recovered.statusCode);
      expect((await renewing(pem, 'bot')).statusCode).not.toBe(200);
      if (!edit.includes('identity_agents')) return;
      // Stopped, it is let go by nobody before its own row is put back.
      expect((await change(id, 'suspend')).statusCode).toBe(200);
      for (const who of [DEV, SECOND]) expect([404, 409]).toContain((await change(id, 'unsuspend', who)).statusCode);
    });
  });

  it('stays over for good where somebody edited the row that says so, whichever way it is stopped then', async () => {
    const { id } = await met();
    expect((await change(id, 'decommission')).statusCode).toBe(200);
    await sql("update identity_standings set state_reason = 'x'");
    expect((await change(id, 'suspend')).json()).toMatchObject({ state: 'decommissioned' });
    expect(await recordOf(id)).toMatchObject({ state: 'decommissioned' });
    isRefused(await change(id, 'unsuspend'), 403, 'agent_decommissioned');
  });

  it.each(['active', 'suspended', 'decommissioning'])(
    'comes back by no stop, whatever the row says that was edited: %s',
    async (state) => {
      const { id } = await met();
      expect((await change(id, 'decommission')).statusCode).toBe(200);
      await sql(`update identity_standings set state = '${state}'`);
      expect((await change(id, 'suspend')).json()).toMatchObject({ state: 'decommissioned' });
      for (const who of [DEV, SECOND]) isRefused(await change(id, 'unsuspend', who), 403, 'agent_decommissioned');
      expect(await recordOf(id)).toMatchObject({ state: 'decommissioned' });
    },
  );

  it('has its certificates taken back but for one that somebody edited, which is named', async () => {
    const { id } = await met();
    await sql("update identity_svids set serial = '00'");
    const reply = await takenBack(id);
    isRefused(reply, 409, 'identity_tampered');
    expect(reply.body).toContain('the certificates of bot are not all taken back');
    // It is named whole on the list all the same.
    expect(await sql("select agent_name from identity_listings where agent_name = 'bot'")).toHaveLength(1);
    expect((await change(id, 'decommission')).statusCode).toBe(200);
  });

  it('is a tool’s too: one whose row somebody edited is stopped anew', async () => {
    at.caller = serviceCaller('console');
    const stop = () => ask('POST', '/stops', { body: { tenant: 'acme', tool: 'pay', reason: 'odd' } });
    expect((await stop()).statusCode).toBe(200);
    await sql("update identity_stops set state = 'active'");
    expect((await stop()).json()).toMatchObject({ state: 'suspended' });
    expect((await ask('GET', '/stops?tenant=acme')).json()).toMatchObject([{ tool: 'pay', state: 'suspended' }]);
    await kinds();
    expect(told().at(-1)?.policy_decision).toMatchObject({ edited_rows: [expect.stringContaining('identity_stops')] });
  });

  it.each([
    [0, 'suspends', async () => change(await registered(), 'suspend')],
    [1, 'suspends', async () => change(await registered(), 'suspend')],
    [0, 'takes back whole', async () => takenBack((await certified('bot')).id)],
    [1, 'takes back whole', async () => takenBack((await certified('bot')).id)],
  ] as const)(
    'stands on the list: its number %s, put back as it was before somebody %s an agent, is found out',
    async (number, _does, stopping) => {
      if (number === 1) await change(await registered('first'), 'suspend');
      const [state] = await sql('select revocation_generation, mac from identity_state');
      expect(Number(state?.['revocation_generation'])).toBe(number);
      expect((await stopping()).statusCode).toBe(200);
      await sql('update identity_state set revocation_generation = ?, mac = ?', Object.values(state ?? {}));
      at.caller = serviceCaller('proxy');
      isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
    },
  );

  it.each(['identity_listings', 'identity_svids'])(
    'stands on the list also where the row of its number is removed beside: %s',
    async (kept) => {
      const [state] = await sql('select revocation_generation, mac from identity_state');
      expect((await takenBack((await certified('bot')).id)).statusCode).toBe(200);
      await sql('update identity_state set revocation_generation = ?, mac = ?', Object.values(state ?? {}));
      for (const table of ['identity_listings', 'identity_svids'])
        if (table !== kept) await sql(`delete from ${table}`);
      at.caller = serviceCaller('proxy');
      isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
    },
  );
});
