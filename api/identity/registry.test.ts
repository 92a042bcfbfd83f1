import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { createPublicKey, verify } from 'node:crypto';
import { agentRecord, certifiedAgent } from '../../contracts/identity.js';
import { agentCertificateText } from '../../domain/identity/certification.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { ADMIN, DEV, identityWithPeople, OTHERS } from '../../test/support/identity-people.js';
import { serviceCaller } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

const PASSED = {
  sdk_version: '1.4.0',
  proxy_url: 'https://gate.acme.example/mcp',
  catalog_sha256: `sha256:${'a'.repeat(64)}`,
  cases: [{ id: 'deny-1', category: 'deny', expected: 'deny', observed: 'deny', passed: true }],
  total: 1,
  passed: 1,
};

describe.each(STORES)('the registry of agents, on %s', (kind) => {
  const { at, told, sql, ask, certified, asVouched, isRefused, kinds } = identityWithPeople(kind);
  const registered = async (more: object = { owner_team: 'payments' }) => {
    const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'bot', ...more } });
    expect(reply.statusCode).toBe(201);
    return agentRecord.parse(reply.json()).id;
  };
  const change = (id: string, what: string, body: object, as: Parameters<typeof ask>[2] = {}) =>
    ask('POST', `/agents/${id}/${what}?tenant=acme`, { ...as, body });
  const recordOf = async (id: string) => agentRecord.parse((await ask('GET', `/agents/${id}?tenant=acme`)).json());
  const member = (...teams: string[]) => asVouched({ teams });

  it('has a team and a description of an agent from its registration on, and finds agents by their team', async () => {
    const id = await registered({ owner_team: 'payments', description: 'pays refunds' });
    await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'other' } });
    expect(await recordOf(id)).toMatchObject({ owner_team: 'payments', description: 'pays refunds' });
    const found = await ask('GET', '/agents?tenant=acme&owner_team=payments');
    expect(found.json<{ agent_name: string }[]>().map(({ agent_name: name }) => name)).toEqual(['bot']);
    await kinds();
    expect(told()[0]).toMatchObject({
      event_kind: 'agent.registered',
      policy_decision: { owner_team: 'payments' },
      payload_canonical_json: '{"description":"pays refunds"}',
    });
  });

  it('lets who is of the team narrow, describe and suspend an agent, and do nothing else with it', async () => {
    const id = await registered({ owner_team: 'payments', scope_envelope: ['a', 'b'] });
    const [own, none] = [member('claims', 'payments'), asVouched({})];
    const narrower = { scope_envelope: ['a'], yellow_envelope: [] };
    expect((await change(id, 'envelope/narrow', narrower, own)).json()).toMatchObject({ scope_envelope: ['a'] });
    expect((await change(id, 'description', { description: 'pays' }, own)).json()).toMatchObject({
      description: 'pays',
    });
    const wider = { scope_envelope: ['a', 'c'], yellow_envelope: [] };
    for (const [what, body] of [
      ['envelope/widen', wider],
      ['owner-team', { owner_team: 'claims' }],
      ['decommission', {}],
      ['unsuspend', {}],
      ['containment', { reason: 'odd' }],
      ['containment/clear', {}],
      ['certification', PASSED],
    ] as const)
      isRefused(await change(id, what, body, own), 403, 'role_too_low');
    for (const [what, body] of [
      ['envelope/narrow', { scope_envelope: [], yellow_envelope: [] }],
      ['description', { description: null }],
      ['suspend', { reason: 'odd' }],
    ] as const) {
      isRefused(await change(id, what, body, member('claims')), 403, 'owner_team_not_in_token');
      isRefused(await change(id, what, body, none), 403, 'role_too_low');
      isRefused(await change(id, what, body, asVouched({ role: 'viewer', teams: ['payments'] })), 403, 'role_too_low');
      isRefused(
        await change(id, what, body, asVouched({ tenant: 'other', teams: ['payments'] })),
        403,
        'tenant_mismatch',
      );
    }
    expect((await change(id, 'suspend', { reason: 'odd' }, own)).json()).toMatchObject({
      state: 'suspended',
      state_changed_by: 'oidc:ada',
    });
  });

  it('lets who is of a team register agents of that team, to which nothing may be delegated yet', async () => {
    const body = { tenant: 'acme', agent_name: 'new', owner_team: 'payments' };
    const own = member('payments');
    isRefused(
      await ask('POST', '/agents', { ...own, body: { ...body, owner_team: 'claims' } }),
      403,
      'owner_team_not_in_token',
    );
    isRefused(
      await ask('POST', '/agents', { ...own, body: { tenant: 'acme', agent_name: 'new' } }),
      403,
      'owner_team_not_in_token',
    );
    isRefused(await ask('POST', '/agents', { ...own, body: { ...body, scope_envelope: ['a'] } }), 403, 'role_too_low');
    expect((await ask('POST', '/agents', { ...own, body })).json()).toMatchObject({
      owner_team: 'payments',
      created_by_sub: 'oidc:ada',
    });
  });

  it('gives an agent to another team, with a row, and the same again without one', async () => {
    const id = await registered();
    for (let time = 0; time < 2; time += 1)
      expect((await change(id, 'owner-team', { owner_team: 'claims', reason: 'moved' })).json()).toMatchObject({
        owner_team: 'claims',
      });
    await change(id, 'description', { description: 'pays' });
    await change(id, 'description', { description: null });
    expect(await kinds()).toEqual([
      'agent.registered',
      'agent.owner_team_transferred',
      'agent.description_changed',
      'agent.description_changed',
    ]);
    expect(told()[1]).toMatchObject({
      actor_sub: 'operator:dev',
      policy_decision: { owner_team_before: 'payments', owner_team_after: 'claims' },
      payload_canonical_json: '{"reason":"moved"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
    for (const one of told()) expect(() => prepareRow(one)).not.toThrow();
    isRefused(await change(id, 'owner-team', { owner_team: 'a,b' }), 400, 'invalid_request');
    isRefused(await change(id, 'owner-team', { owner_team: 'x' }, { as: OTHERS }), 403, 'tenant_mismatch');
    await change(id, 'decommission', {});
    isRefused(await change(id, 'owner-team', { owner_team: 'x' }), 403, 'agent_decommissioned');
    isRefused(await change(id, 'description', { description: 'x' }), 403, 'agent_decommissioned');
    isRefused(await change(id, 'certification', PASSED), 403, 'agent_decommissioned');
  });

  it('takes an edited row for one that says nothing, and writes it anew with the next change', async () => {
    const id = await registered();
    await sql("update identity_registry set owner_team = 'claims'");
    expect(await recordOf(id)).toMatchObject({ owner_team: null });
    isRefused(await change(id, 'suspend', {}, member('claims')), 403, 'owner_team_not_in_token');
    expect((await change(id, 'owner-team', { owner_team: 'claims' })).json()).toMatchObject({ owner_team: 'claims' });
    expect(await kinds()).toEqual(['agent.registered', 'agent.owner_team_transferred']);
    expect(told()[1]?.policy_decision).toMatchObject({
      owner_team_before: null,
      edited_rows: [expect.stringContaining('identity_registry')],
    });
  });

  it('certifies an agent that passed every case, and signs that', async () => {
    const id = await registered();
    const reply = await change(id, 'certification', PASSED);
    expect(reply.statusCode).toBe(200);
    const { certificate, signature, certificate_sha256: sha256 } = certifiedAgent.parse(reply.json());
    expect(certificate).toMatchObject({ schema: 'gate.agent-certificate/v1', agent_id: id, tenant: 'acme', ...PASSED });
    const { keys } = (await ask('GET', '/jwks.json', { as: null })).json<{ keys: { kid: string }[] }>();
    const jwk = keys.find(({ kid }) => kid === signature.key_id) ?? {};
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const bytes = Buffer.from(agentCertificateText(certificate));
    expect(verify(null, bytes, key, Buffer.from(signature.value, 'base64'))).toBe(true);
    expect(await recordOf(id)).toMatchObject({
      certified_at_version: '1.4.0',
      certified_at: new Date(at.now).toISOString(),
    });
    await kinds();
    expect(told()[1]).toMatchObject({
      event_kind: 'agent.certified',
      policy_decision: { certified_at_version: '1.4.0', certificate_sha256: sha256, signature: { ...signature } },
    });
    for (const less of [
      { cases: [], total: 0, passed: 0 },
      { total: 2 },
      { passed: 0 },
      { cases: [{ ...PASSED.cases[0], passed: false }] },
    ])
      isRefused(await change(id, 'certification', { ...PASSED, ...less }), 422, 'certification_incomplete');
  });

  it('names certificates of which no agent is left', async () => {
    const { id } = await certified('lost');
    await certified('kept');
    await sql(`delete from identity_agents where id = '${id}'`);
    const orphans = await ask('GET', '/agents/orphans?tenant=acme');
    expect(orphans.json()).toEqual([{ agent_name: 'lost', last_seen: expect.any(String), svid_count: 1 }]);
    expect((await ask('GET', '/agents/orphans?tenant=other', { as: OTHERS })).json()).toEqual([]);
    isRefused(await ask('GET', '/agents/orphans?tenant=other', { as: ADMIN }), 403, 'tenant_mismatch');
    at.caller = serviceCaller('proxy');
    expect((await ask('GET', '/agents/orphans?tenant=acme', { as: null })).statusCode).toBe(200);
  });
});

describe.each(['flag', 'enforce'] as const)('a certificate of an agent that nobody certified, with %s', (mode) => {
  const { at, told, ask, enrolled, isRefused, kinds } = identityWithPeople('sqlite', { certification: mode });
  const asked = async (token: string) => {
    at.caller = null;
    const { pem } = await certificateRequest();
    const reply = await ask('POST', '/enrollments/svid', { as: token, body: { csr_pem: pem } });
    at.caller = serviceCaller('console');
    return reply;
  };

  it(
    mode === 'flag' ? 'has a row that says so' : 'is not issued, and its token stays good for once it is',
    async () => {
      const { token, agent_id: id } = (await enrolled('bot')).json<{ token: string; agent_id: string }>();
      const reply = await asked(token);
      if (mode === 'enforce') {
        isRefused(reply, 403, 'uncertified_agent');
        const path = `/agents/${id}/certification?tenant=acme`;
        expect((await ask('POST', path, { as: DEV, body: PASSED })).statusCode).toBe(200);
        expect((await asked(token)).statusCode).toBe(200);
        expect(await kinds()).toEqual(['agent.certified', 'identity.svid_issued']);
        expect(told()[1]?.signal).toBeUndefined();
        return;
      }
      expect(reply.statusCode).toBe(200);
      await kinds();
      expect(told()[0]).toMatchObject({ event_kind: 'identity.svid_issued', signal: 'uncertified_agent' });
    },
  );
});
