import { describe, expect, it } from '@jest/globals';
import { stopRecord } from '../../contracts/identity.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { ADMIN, DEV, HOUR_MS, identityWithPeople, OTHERS, SECOND } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';

describe.each(STORES)('a tool or a tenant that is stopped, on %s', (kind) => {
  const { at, told, sql, ask, certified, enrolled, isRefused, kinds, listAfter } = identityWithPeople(kind);
  const stop = (tool?: string, as = DEV, reason = 'pays somebody unknown') =>
    ask('POST', '/stops', { as, body: { tenant: 'acme', ...(tool !== undefined && { tool }), reason } });
  const stopped = async (tool?: string) => {
    const reply = await stop(tool);
    expect(reply.statusCode).toBe(200);
    return stopRecord.parse(reply.json());
  };
  const release = (id: string, as = DEV) =>
    ask('POST', `/stops/${id}/release?tenant=acme`, { as, body: { reason: 'known' } });

  it.each([
    ['a tool', 'wire_transfer', 'the tool wire_transfer'],
    ['the tenant whole', undefined, 'tenant acme'],
  ])('%s: at once, by the next number of the list, as a row of the ledger', async (_what, tool, words) => {
    const record = await stopped(tool);
    expect(record).toEqual({
      id: record.id,
      tenant: 'acme',
      tool: tool ?? null,
      state: 'suspended',
      changed_at: new Date(at.now).toISOString(),
      changed_by: 'operator:dev',
      reason: 'pays somebody unknown',
      report_id: expect.any(String),
      release: null,
    });
    const list = await listAfter(0);
    expect([list.generation, list.stops]).toEqual([
      1,
      [{ tenant: 'acme', tool: tool ?? null, state: 'suspended', changed_at: new Date(at.now).toISOString() }],
    ]);
    // Again, it changes nothing.
    at.now += 1_000;
    expect(await stopped(tool)).toEqual(record);
    // A list without any has the form that a proxy of before knows.
    expect(Object.keys(await listAfter(1))).not.toContain('stops');
    expect(await kinds()).toEqual(['stop.set']);
    expect(told()[0]).toMatchObject({
      tenant: 'acme',
      actor_sub: 'operator:dev',
      reasoning: expect.stringContaining(words),
      policy_decision: { stop_id: record.id, tool: tool ?? null },
      payload_canonical_json: '{"reason":"pays somebody unknown"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
  });

  it('is let go by two people: one asks, another one confirms', async () => {
    const { id } = await stopped('wire_transfer');
    const asked = await release(id, SECOND);
    expect([asked.statusCode, asked.json()]).toEqual([
      202,
      expect.objectContaining({
        state: 'suspended',
        somebody_else: true,
        release: expect.objectContaining({ requested_by: 'operator:second', reason: 'known' }),
      }),
    ]);
    // The same person again is one person.
    expect((await release(id, SECOND)).statusCode).toBe(202);
    expect((await release(id)).json()).toMatchObject({ state: 'active', changed_by: 'operator:dev', release: null });
    expect((await listAfter(0)).stops).toMatchObject([{ tool: 'wire_transfer', state: 'active' }]);
    expect(await kinds()).toEqual(['stop.set', 'stop.release_requested', 'stop.released']);
    expect(told()[2]).toMatchObject({
      policy_decision: { requested_by: 'operator:second', confirmed_by: 'operator:dev' },
    });
  });

  it('is let go by nobody alone: not by a request of yesterday, one that was taken back, or the token of the administrator', async () => {
    const { id } = await stopped('wire_transfer');
    isRefused(await release(id, ADMIN), 403, 'person_required');
    await release(id, SECOND);
    at.now += 24 * HOUR_MS;
    expect((await release(id)).statusCode).toBe(202);
    // Who stops it again says no.
    await stop('wire_transfer', SECOND);
    expect((await release(id, SECOND)).statusCode).toBe(202);
    expect((await ask('GET', '/stops?tenant=acme')).json()).toMatchObject([{ state: 'suspended' }]);
  });

  it('is of its tenant alone, and asked by the console for an administrator of it', async () => {
    const { id } = await stopped('wire_transfer');
    isRefused(
      await ask('POST', '/stops', { as: OTHERS, body: { tenant: 'acme', reason: 'x' } }),
      403,
      'tenant_mismatch',
    );
    isRefused(await ask('GET', '/stops?tenant=acme', { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await ask('POST', `/stops/${id}/release?tenant=other`, { as: OTHERS, body: {} }), 404, 'not_found');
    isRefused(await ask('POST', '/stops', { as: null, body: { tenant: 'acme', reason: 'x' } }), 401, 'invalid_token');
    at.caller = serviceCaller('proxy');
    isRefused(await stop('x'), 403, 'capability_denied');
    expect((await ask('GET', '/stops?tenant=acme', { as: null })).json()).toHaveLength(1);
    at.caller = serviceCaller('hil');
    isRefused(await ask('GET', '/stops?tenant=acme'), 403, 'capability_denied');
  });

  it.each([
    ['no reason', { tenant: 'acme', tool: 'x' }],
    ['an empty tool', { tenant: 'acme', tool: '', reason: 'x' }],
    ['a tool of 257 characters', { tenant: 'acme', tool: 'x'.repeat(257), reason: 'x' }],
    ['half a surrogate', { tenant: 'acme', tool: '\ud800', reason: 'x' }],
    ['another field', { tenant: 'acme', tool: 'x', reason: 'x', for: '1h' }],
  ])('is nothing with %s', async (_what, body) => {
    isRefused(await ask('POST', '/stops', { body }), 400, 'invalid_request');
    expect((await ask('GET', '/stops?tenant=acme')).json()).toEqual([]);
  });

  it('is told to proxies in answers that are whole, however many were stopped, and they keep to it', async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    const tools = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    for (const tool of tools) await stopped(tool);
    const came: string[] = [];
    for (let more = true; more; more = came.at(-1) === 'more')
      came.push(mirror.take(await listAfter(mirror.position())));
    expect(came).toEqual(['more', 'more', 'whole']);
    for (const tool of tools) expect(mirror.toolFault('acme', ['z', tool])?.code).toBe('tool_suspended');
    expect([mirror.toolFault('acme', ['z'])?.code, mirror.toolFault('other', ['a'])?.code]).toEqual([
      undefined,
      undefined,
    ]);
    const listed = (await ask('GET', '/stops?tenant=acme')).json<{ id: string; tool: string }[]>();
    expect(listed.map(({ tool }) => tool).sort()).toEqual(tools);
    expect((await ask('GET', `/stops?tenant=acme&after=${listed[5]?.id}`)).json()).toMatchObject([listed[6]]);
  });

  it.each([
    ['lets it go', "update identity_stops set state = 'active'"],
    ['makes it another tool’s', "update identity_stops set tool = 'another'"],
    ['makes it another tenant’s', "update identity_stops set tenant = 'other'"],
    ['takes it off the list', 'update identity_stops set listed_generation = 0'],
    ['signs a request for release', "update identity_stops set release_by = 'operator:x', release_ms = 1"],
  ])('is what Gate wrote: whoever %s in the store is found out', async (_what, edit) => {
    const { id } = await stopped('wire_transfer');
    await sql(edit);
    isRefused(await release(id), 409, 'identity_tampered');
    // A proxy that is started anew hears of it, or of nothing.
    at.caller = serviceCaller('proxy');
    isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
  });

  it('takes back the certificates of every agent of the tenant, and lets nothing be issued in it', async () => {
    const names = ['a', 'b', 'c'];
    for (const name of names) await certified(name);
    const { token } = (await enrolled('d')).json<{ token: string }>();
    const { id } = await stopped();
    // At once, whatever was taken back by then.
    isRefused(await enrolled('e'), 403, 'tenant_suspended');
    at.caller = null;
    const { pem } = await certificateRequest();
    const redeemed = await ask('POST', '/enrollments/svid', { as: token, body: { csr_pem: pem } });
    expect(['tenant_suspended', 'invalid_token']).toContain(redeemed.json<{ error: string }>().error);
    at.caller = serviceCaller('console');
    const letGo = await eventually('all are taken back, so that it can be let go', async () => {
      await release(id, SECOND);
      const reply = await release(id);
      return reply.statusCode === 200 ? reply : null;
    });
    expect(letGo.json()).toMatchObject({ state: 'active' });
    expect(await sql('select id from identity_svids where revoked_ms is null')).toEqual([]);
    expect(await sql('select agent_id from identity_enrollments where intent_id is null')).toEqual([]);
    const states = await sql('select agent_name, svid_bootstrap_state from identity_agents order by agent_name');
    expect(states.map((row) => row['svid_bootstrap_state'])).toEqual(['recovery', 'recovery', 'recovery', 'available']);
    for (const name of names) expect((await enrolled(name)).statusCode).toBe(201);
    const list = await listAfter(0);
    expect([list.svids.length, new Set(list.svids.map(({ why }) => why))]).toEqual([3, new Set(['revoked'])]);
    const rows = await kinds();
    for (const one of ['svid.revoked', 'agent.svid_recovery_opened'] as const)
      expect(rows.filter((known) => known === one)).toHaveLength(3);
  });

  it('by two at the same time is stopped once', async () => {
    const replies = await Promise.all([stop('wire_transfer'), stop('wire_transfer', SECOND)]);
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(await kinds()).toEqual(['stop.set']);
  });
});
