import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { upstreamRecord } from '../../contracts/upstreams.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { ADMIN, identityWithPeople, OTHERS } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

const URL_OF = 'https://tools.acme.example/mcp';
const PIN = `sha256:${'a'.repeat(64)}`;

describe.each(STORES)('the registry of upstreams, on %s', (kind) => {
  const { at, told, sql, ask, asVouched, isRefused, kinds, listAfter } = identityWithPeople(kind);
  const add = (more: object = {}, as: Parameters<typeof ask>[2] = {}) =>
    ask('POST', '/upstreams', { ...as, body: { tenant: 'acme', name: 'crm', url: URL_OF, ...more } });
  const retire = (id: string, as: Parameters<typeof ask>[2] = {}) =>
    ask('POST', `/upstreams/${id}/retire?tenant=acme`, { ...as, body: { reason: 'moved' } });
  const mirrorOf = async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    while (mirror.take(await listAfter(mirror.position())) === 'more');
    return mirror;
  };

  it('has who vouched for which address, tells every proxy, and writes a row', async () => {
    const spiffe = 'spiffe://acme.example/crm';
    const reply = await add({ tls_pin: PIN, spiffe_id: spiffe, owner_team: 'payments', reason: 'ours' });
    expect(reply.statusCode).toBe(201);
    const added = upstreamRecord.parse(reply.json());
    expect(added).toMatchObject({ name: 'crm', url: URL_OF, state: 'active', created_by_sub: 'operator:dev' });
    expect((await ask('GET', '/upstreams?tenant=acme')).json()).toEqual([added]);
    at.caller = serviceCaller('proxy');
    expect((await ask('GET', `/upstreams/${added.id}?tenant=acme`, { as: null })).json()).toEqual(added);
    at.caller = serviceCaller('console');
    expect((await ask('GET', '/upstreams?tenant=other', { as: OTHERS })).json()).toEqual([]);
    isRefused(await ask('GET', `/upstreams/${added.id}?tenant=other`, { as: OTHERS }), 404, 'not_found');
    isRefused(await ask('GET', '/upstreams?tenant=other'), 403, 'tenant_mismatch');
    const mirror = await mirrorOf();
    expect(mirror.upstreamAt(URL_OF)).toMatchObject({ id: added.id, tlsPin: PIN, spiffe });
    expect([mirror.upstreamAt('https://other.example/'), mirror.vouchesForAny()]).toEqual([null, true]);
    expect(await kinds()).toEqual(['upstream.registered']);
    expect(told()[0]).toMatchObject({
      actor_sub: 'operator:dev',
      tenant: 'acme',
      policy_decision: { upstream_id: added.id, name: 'crm', url: URL_OF, tls_pin: PIN, owner_team: 'payments' },
      payload_canonical_json: '{"reason":"ours"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
    for (const one of told()) expect(() => prepareRow(one)).not.toThrow();
  });

  it('retires one once, whose address is never used again, and its name is', async () => {
    const { id } = (await add()).json<{ id: string }>();
    const first = (await retire(id)).json<{ retired_at: string }>();
    expect(first).toMatchObject({ state: 'retired', retired_by: 'operator:dev' });
    at.now += 1_000;
    expect((await retire(id)).json()).toEqual(first);
    const mirror = await mirrorOf();
    expect([mirror.upstreamAt(URL_OF), mirror.vouchesForAny()]).toEqual([null, false]);
    isRefused(await add(), 409, 'upstream_url_taken');
    isRefused(
      await ask('POST', '/upstreams', { as: OTHERS, body: { tenant: 'other', name: 'x', url: URL_OF } }),
      409,
      'upstream_url_taken',
    );
    expect((await add({ url: 'https://new.acme.example/mcp' })).statusCode).toBe(201);
    isRefused(await add({ url: 'https://newer.acme.example/mcp' }), 409, 'upstream_name_taken');
    expect(await kinds()).toEqual(['upstream.registered', 'upstream.retired', 'upstream.registered']);
    isRefused(await retire('019f0000-0000-7000-8000-000000000000'), 404, 'not_found');
  });

  it('lets who is of a team register what is of the team, and retires it for administrators', async () => {
    const own = asVouched({ teams: ['payments'] });
    isRefused(await add({ owner_team: 'claims' }, own), 403, 'owner_team_not_in_token');
    isRefused(await add({}, own), 403, 'owner_team_not_in_token');
    isRefused(await add({ owner_team: 'payments' }, asVouched({})), 403, 'role_too_low');
    isRefused(await add({}, { as: OTHERS }), 403, 'tenant_mismatch');
    const { id } = (await add({ owner_team: 'payments' }, own)).json<{ id: string }>();
    isRefused(await retire(id, own), 403, 'role_too_low');
    expect((await retire(id, { as: ADMIN })).statusCode).toBe(200);
  });

  it('is told to nobody where somebody edited it', async () => {
    await add();
    await sql("update identity_upstreams set url = 'https://evil.example/'");
    at.caller = serviceCaller('proxy');
    isRefused(await ask('GET', '/revocation/list', { as: null }), 409, 'identity_tampered');
    at.caller = serviceCaller('console');
    isRefused(await ask('GET', '/upstreams?tenant=acme'), 409, 'identity_tampered');
  });

  it('keeps of a tenant that goes that its addresses were taken, and nothing that people said of its agents', async () => {
    await add({ owner_team: 'payments' });
    await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'bot', description: 'pays refunds' } });
    const reason = 'the contract ended';
    const begun = await ask('POST', '/tenants/acme/lifecycle', {
      body: { kind: 'offboard', confirm: 'acme', reason },
      headers: { 'idempotency-key': 'once' },
    });
    const operation = begun.json<{ id: string }>().id;
    const claim = await ask('POST', `/tenants/acme/lifecycle/${operation}/steps/authority_fence/claim`, {
      body: { owner: 'identity' },
    });
    const gone = await ask('POST', '/tenants/acme/offboard', {
      body: { confirm: 'acme', reason },
      headers: {
        'x-gate-lifecycle-operation': operation,
        'x-gate-lifecycle-lease': claim.json<{ lease_token: string }>().lease_token,
      },
    });
    expect(gone.statusCode).toBe(200);
    const left = JSON.stringify([
      await sql('select * from identity_upstreams'),
      await sql('select * from identity_registry'),
    ]);
    expect(left).not.toMatch(/crm|acme\.example|refunds|payments/);
    expect((await mirrorOf()).vouchesForAny()).toBe(false);
    isRefused(
      await ask('POST', '/upstreams', { as: OTHERS, body: { tenant: 'other', name: 'x', url: URL_OF } }),
      409,
      'upstream_url_taken',
    );
  });
});

describe('the address of an upstream', () => {
  const { ask, isRefused } = identityWithPeople('sqlite');
  it.each([
    ['no address', 'tools'],
    ['another scheme', 'ftp://tools.example/'],
    ['http elsewhere', 'http://tools.example/'],
    ['a user', 'https://user@tools.example/'],
    ['a fragment', 'https://tools.example/#x'],
    ['an empty fragment', 'https://tools.example/#'],
    ['a dot at the end of the host', 'https://tools.example./'],
    ['a host of one label', 'https://tools/'],
    ['this machine', 'http://localhost:9000/mcp'],
    ['this machine, as a number', 'https://2130706433/'],
    ['a private network', 'https://10.1.2.3/'],
    ['an address of the link', 'https://[fe80::1]/'],
    ['too long', `https://tools.example/${'a'.repeat(2_040)}`],
  ])('is refused: %s', async (_what, url) => {
    isRefused(
      await ask('POST', '/upstreams', { body: { tenant: 'acme', name: 'crm', url } }),
      422,
      'invalid_upstream_url',
    );
  });
  it('is compared in one form', async () => {
    const body = { tenant: 'acme', name: 'crm', url: 'HTTPS://Tools.Acme.Example:443/a/../mcp' };
    expect((await ask('POST', '/upstreams', { body })).json()).toMatchObject({ url: 'https://tools.acme.example/mcp' });
    isRefused(
      await ask('POST', '/upstreams', { body: { ...body, name: 'b', url: URL_OF } }),
      409,
      'upstream_url_taken',
    );
  });
});
