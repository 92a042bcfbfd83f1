import { describe, expect, it } from '@jest/globals';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { ADMIN, DEV, identityWithPeople, OTHERS, SECOND } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import type { DecoyHit, DecoyRecord } from '../../contracts/decoys.js';

const VALUE = 'DE89 3704 0044 0532 0130 00';

describe.each(STORES)('decoys, on %s', (kind) => {
  const { at, told, sql, ask, certified, isRefused, kinds, listAfter, store, opensAgain } = identityWithPeople(kind);
  const add = (body: object, as = DEV) => ask('POST', '/decoys', { as, body: { tenant: 'acme', ...body } });
  const remove = (name: string, tenant = 'acme', as = DEV) => ask('DELETE', `/decoys/${name}?tenant=${tenant}`, { as });
  const listed = async (tenant = 'acme', as = DEV) =>
    (await ask('GET', `/decoys?tenant=${tenant}`, { as })).json<{ decoys: DecoyRecord[] }>().decoys;
  const hits = async () => (await ask('GET', '/decoys/hits?tenant=acme')).json<{ hits: DecoyHit[] }>().hits;
  const mirrored = async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    while (mirror.take(await listAfter(mirror.position())) !== 'whole');
    return mirror;
  };
  const tells = async (one: object) => {
    const before = at.caller;
    at.caller = serviceCaller('proxy');
    const hit = {
      tenant: 'acme',
      agent_name: 'bot',
      hits: 1,
      last_at: new Date(at.now).toISOString(),
      correlation_id: 'a-call',
      contain: true,
      ...one,
    };
    const reply = await ask('POST', '/decoys/hits', { as: null, body: { hits: [hit] } });
    at.caller = before;
    return reply;
  };

  it('are added, listed and told to every proxy and the ledger, and no answer or row has a value', async () => {
    const tool = await add({ name: 'export_all', advertised: true, schema_json: '{"type":"object"}', reason: 'bait' });
    expect([tool.statusCode, tool.json()]).toEqual([
      201,
      {
        id: expect.any(String) as unknown,
        tenant: 'acme',
        name: 'export_all',
        kind: 'tool',
        advertised: true,
        action: 'suspend',
        schema_json: '{"type":"object"}',
        description: null,
        value_hint: null,
        created_at: new Date(at.now).toISOString(),
        created_by: 'operator:dev',
        hits: 0,
        last_hit_at: null,
      },
    ]);
    const value = await add({ name: 'account', kind: 'value', value: VALUE });
    expect(value.json()).toMatchObject({ action: 'force_hil', value_hint: 'DE89… (27)' });
    expect((await listed()).map(({ name }) => name)).toEqual(['account', 'export_all']);
    expect((await listAfter(0)).decoys).toMatchObject([
      { name: 'export_all', advertised: true, value: null },
      { name: 'account', value: VALUE },
    ]);
    expect(await kinds()).toEqual(['decoy.registered', 'decoy.registered']);
    expect(told()[0]).toMatchObject({
      tenant: 'acme',
      actor_sub: 'operator:dev',
      policy_decision: { name: 'export_all', kind: 'tool', advertised: true, action: 'suspend' },
      payload_canonical_json: '{"reason":"bait"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
    expect(JSON.stringify([told(), value.json(), await listed()])).not.toContain('3704');
    const decoys = (await mirrored()).decoysOf('acme');
    expect(decoys.touched(['export_all'], {})?.name).toBe('export_all');
    expect(decoys.touched(['pay'], { to: VALUE })?.name).toBe('account');
    expect((await mirrored()).decoysOf('other').touched(['export_all'], { to: VALUE })).toBeNull();
    // A list without any has the form that a proxy of before knows.
    expect(Object.keys(await listAfter(2))).not.toContain('decoys');
  });

  it('are taken away, which reaches proxies that know of them, and added again', async () => {
    await add({ name: 'dump_secrets' });
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    mirror.take(await listAfter(0));
    expect(mirror.decoysOf('acme').touched(['dump_secrets'], {})).not.toBeNull();
    expect((await remove('dump_secrets')).json()).toEqual({ retired: true });
    mirror.take(await listAfter(mirror.position()));
    expect(mirror.decoysOf('acme').touched(['dump_secrets'], {})).toBeNull();
    isRefused(await remove('dump_secrets'), 404, 'not_found');
    isRefused(await remove('never_there'), 404, 'not_found');
    expect(await listed()).toEqual([]);
    expect((await add({ name: 'dump_secrets', action: 'none' })).statusCode).toBe(201);
    mirror.take(await listAfter(mirror.position()));
    expect(mirror.decoysOf('acme').touched(['dump_secrets'], {})).toMatchObject({ action: 'none' });
    expect(await kinds()).toEqual(['decoy.registered', 'decoy.retired', 'decoy.registered']);
  });

  it('of everybody are those of each tenant that has none of its own by that name', async () => {
    expect((await add({ tenant: '*', name: 'bulk_download' }, ADMIN)).statusCode).toBe(201);
    await add({ name: 'bulk_download', action: 'none' });
    expect(await listed()).toMatchObject([{ tenant: 'acme', action: 'none' }]);
    expect(await listed('other', OTHERS)).toMatchObject([{ tenant: '*', action: 'force_hil' }]);
    const mirror = await mirrored();
    expect(mirror.decoysOf('acme').touched(['bulk_download'], {})).toMatchObject({ tenant: 'acme' });
    expect(mirror.decoysOf('other').touched(['bulk_download'], {})).toMatchObject({ tenant: '*' });
    isRefused(await add({ tenant: '*', name: 'more' }, OTHERS), 403, 'tenant_mismatch');
    isRefused(await remove('bulk_download', '*', OTHERS), 403, 'tenant_mismatch');
    expect((await remove('bulk_download', '*')).statusCode).toBe(200);
  });

  it.each([
    ['an action that there is not', { name: 'a', action: 'shout' }],
    ['a schema that is no object', { name: 'a', schema_json: '[]' }],
    ['a schema that is no JSON', { name: 'a', schema_json: '{' }],
    // A client that is given one of these in a list takes none of its tools.
    ['a schema without a type', { name: 'a', schema_json: '{"properties":{"to":{"type":"string"}}}' }],
    ['a schema of a text', { name: 'a', schema_json: '{"type":"string"}' }],
    ['a property that is no schema', { name: 'a', schema_json: '{"type":"object","properties":{"to":"string"}}' }],
    ['required names that are no list', { name: 'a', schema_json: '{"type":"object","required":"to"}' }],
    ['a value of a tool', { name: 'a', value: 'a value of a tool' }],
    ['no value of a value', { name: 'a', kind: 'value' }],
    ['a value that is found in too much', { name: 'a', kind: 'value', value: '12-34-567' }],
    ['a value that is shown', { name: 'a', kind: 'value', value: 'a value that is shown', advertised: true }],
  ])('are refused with %s', async (_what, body) => {
    isRefused(await add(body), 400, 'decoy_invalid');
    expect(await listed()).toEqual([]);
  });

  it('are refused where there is one by that name or with that value, and where there are too many', async () => {
    await add({ name: 'account', kind: 'value', value: VALUE });
    isRefused(await add({ name: 'account' }), 409, 'decoy_exists');
    isRefused(
      await add({ name: 'iban', kind: 'value', value: VALUE.replaceAll(' ', '').toLowerCase() }),
      409,
      'decoy_exists',
    );
    for (let at = 1; at < 200; at += 1) await add({ name: `trap_${at}` });
    isRefused(await add({ name: 'one_more' }), 409, 'decoys_exhausted');
  });

  it('are changed by administrators of the tenant alone, through the console', async () => {
    isRefused(await add({ name: 'a' }, OTHERS), 403, 'tenant_mismatch');
    isRefused(await remove('a', 'acme', OTHERS), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/decoys?tenant=acme', { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/decoys/hits?tenant=acme', { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await add({ name: 'a' }, 'nobody'), 401, 'unauthenticated');
    isRefused(await ask('GET', '/decoys?tenant=acme', { as: 'nobody' }), 401, 'unauthenticated');
    isRefused(await add({ name: 'a/b' }), 400, 'invalid_request');
    // The console tells no hits, and the proxy adds no decoys.
    isRefused(await ask('POST', '/decoys/hits', { body: { hits: [] } }), 403, 'capability_denied');
    at.caller = serviceCaller('proxy');
    isRefused(await add({ name: 'a' }), 403, 'capability_denied');
    isRefused(await remove('a'), 403, 'capability_denied');
  });

  it('suspend the agent that touches one, once, and are told of as often as a proxy counts', async () => {
    const { id } = await certified('bot');
    const decoy = (await add({ name: 'export_all', advertised: true })).json<DecoyRecord>();
    expect((await tells({ decoy_id: decoy.id })).json()).toEqual({ told: 1 });
    const agent = async () => (await ask('GET', `/agents/${id}?tenant=acme`)).json<{ state: string }>().state;
    expect(await agent()).toBe('suspended');
    expect(await hits()).toEqual([
      {
        decoy_id: decoy.id,
        decoy: 'export_all',
        kind: 'tool',
        tenant: 'acme',
        agent_name: 'bot',
        hits: 1,
        first_at: new Date(at.now).toISOString(),
        last_at: new Date(at.now).toISOString(),
        correlation_id: 'a-call',
        contained: 'suspend',
      },
    ]);
    expect(await listed()).toMatchObject([{ hits: 1, last_hit_at: new Date(at.now).toISOString() }]);
    expect((await kinds()).filter((one) => one === 'agent.suspended')).toHaveLength(1);
    expect(told().find(({ event_kind: one }) => one === 'agent.suspended')).toMatchObject({
      actor_sub: 'system:decoy',
      payload_canonical_json: '{"reason":"the decoy export_all was touched by the call a-call"}',
    });
    // Two people let it go: what was told before contains nobody again, and what is new does.
    for (const as of [DEV, SECOND]) await ask('POST', `/agents/${id}/unsuspend?tenant=acme`, { as, body: {} });
    await tells({ decoy_id: decoy.id });
    expect(await agent()).toBe('active');
    await tells({ decoy_id: decoy.id, hits: 3 });
    expect(await agent()).toBe('suspended');
    expect(await hits()).toMatchObject([{ hits: 3 }]);
    // A proxy whose store was lost counts from one again.
    for (const as of [DEV, SECOND]) await ask('POST', `/agents/${id}/unsuspend?tenant=acme`, { as, body: {} });
    at.now += 1_000;
    await tells({ decoy_id: decoy.id, hits: 1, correlation_id: 'a-new-call' });
    expect([await agent(), await hits()]).toMatchObject(['suspended', [{ hits: 4, correlation_id: 'a-new-call' }]]);
  });

  it('put every call of an agent before a person, and leave what was set for longer', async () => {
    const { id } = await certified('bot');
    const decoy = (await add({ name: 'dump_secrets' })).json<DecoyRecord>();
    const flag = async () =>
      (await ask('GET', `/agents/${id}?tenant=acme`)).json<{ force_hil: { expires_at: string; actor: string } }>()
        .force_hil;
    await tells({ decoy_id: decoy.id });
    expect(await flag()).toMatchObject({
      actor: 'system:decoy',
      expires_at: new Date(at.now + 1_800_000).toISOString(),
    });
    await ask('POST', `/agents/${id}/containment?tenant=acme`, { body: { reason: 'longer', ttl_seconds: 7_200 } });
    await tells({ decoy_id: decoy.id, hits: 2 });
    expect(await flag()).toMatchObject({ actor: 'operator:dev' });
    expect(await hits()).toMatchObject([{ hits: 2, contained: 'force_hil' }]);
    await ask('POST', `/agents/${id}/containment/clear?tenant=acme`, { body: {} });
    // The same told again.
    await tells({ decoy_id: decoy.id, hits: 2 });
    expect(await flag()).toBeNull();
  });

  it('contain an agent that identity did not know: it is registered, and its call was before it was told', async () => {
    const decoy = (await add({ name: 'export_all', advertised: true })).json<DecoyRecord>();
    const called = new Date(at.now - 300).toISOString();
    await tells({ decoy_id: decoy.id, agent_name: 'from-elsewhere', last_at: called });
    expect(await hits()).toMatchObject([{ contained: 'suspend', first_at: called, last_at: called }]);
    expect((await ask('GET', '/agents?tenant=acme')).json()).toMatchObject([
      { agent_name: 'from-elsewhere', state: 'suspended', created_by_sub: 'system:decoy' },
    ]);
    expect(told().map(({ event_kind: one, actor_sub: by }) => [one, by])).toEqual([
      ['decoy.registered', 'operator:dev'],
      ['agent.registered', 'system:decoy'],
      ['agent.suspended', 'system:decoy'],
    ]);
  });

  it('contain nobody in observe mode, nor whom nobody can be, nor where a decoy says so', async () => {
    const { id } = await certified('bot');
    const decoy = (await add({ name: 'dump_secrets' })).json<DecoyRecord>();
    const counted = (await add({ name: 'counted', action: 'none' })).json<DecoyRecord>();
    await tells({ decoy_id: decoy.id, contain: false });
    await tells({ decoy_id: decoy.id, agent_name: 'gate-proxy' });
    await tells({ decoy_id: counted.id });
    // Of no decoy at all nothing is kept.
    await tells({ decoy_id: '00000000-0000-4000-8000-000000000000' });
    expect((await hits()).map(({ contained }) => contained).toSorted()).toEqual(['none', 'observed', 'unresolved']);
    expect((await ask('GET', `/agents/${id}?tenant=acme`)).json()).toMatchObject({ state: 'active', force_hil: null });
  });

  it('contain an agent again where a process ended before it kept the hit', async () => {
    const { id } = await certified('bot');
    const decoy = (await add({ name: 'export_all', advertised: true })).json<DecoyRecord>();
    const by = { by: 'system:decoy', reason: 'before the end', nowMs: at.now };
    await store().suspend(id, 'acme', by);
    const again = await opensAgain();
    await again.close();
    await tells({ decoy_id: decoy.id });
    expect(await hits()).toMatchObject([{ hits: 1, contained: 'suspend' }]);
    expect((await kinds()).filter((one) => one === 'agent.suspended')).toHaveLength(1);
  });

  it('that somebody edited are told to nobody, and are written anew by whoever adds them', async () => {
    await add({ name: 'export_all', advertised: true });
    await sql("update identity_decoys set state = 'retired'");
    at.caller = serviceCaller('proxy');
    isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
    at.caller = serviceCaller('console');
    expect((await add({ name: 'export_all', advertised: true })).statusCode).toBe(201);
    await kinds();
    expect(told().at(-1)?.policy_decision).toMatchObject({
      edited_rows: [expect.stringContaining('identity_decoys') as unknown],
    });
    expect((await mirrored()).decoysOf('acme').touched(['export_all'], {})).not.toBeNull();
    await tells({ decoy_id: (await listed())[0]?.id });
    await sql('update identity_decoy_hits set hit_count = 0');
    isRefused(await ask('GET', '/decoys/hits?tenant=acme'), 409, 'identity_tampered');
  });

  it('that were taken away leave the list of who asks for all after a week, and the memory of a proxy at once', async () => {
    await add({ name: 'export_all' });
    const known = await listAfter(0);
    await remove('export_all');
    expect((await listAfter(0)).decoys).toMatchObject([{ retired: true }]);
    at.now += 604_800_002;
    expect((await listAfter(0)).decoys).toBeUndefined();
    // Who knows it hears it.
    expect((await listAfter(known.generation)).decoys).toMatchObject([{ retired: true }]);
  });

  it('have the sum of all their hits, however many agents touched them', async () => {
    const { id } = (await add({ name: 'export_all', action: 'none' })).json<DecoyRecord>();
    for (const [agent, count] of [
      ['bot', 3],
      ['other', 4],
    ] as const)
      await tells({ decoy_id: id, agent_name: agent, hits: count, correlation_id: agent });
    expect(await listed()).toMatchObject([{ hits: 7, last_hit_at: expect.any(String) }]);
  });

  it('stay decoys where a store was put back, and are what was set last', async () => {
    await add({ name: 'export_all' });
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    mirror.take(await listAfter(0));
    const list = await listAfter(0);
    const earlier = new Date(at.now - 60_000).toISOString();
    const [decoy] = list.decoys ?? [];
    if (!decoy) throw new Error('no decoy');
    const put = { ...list, after: mirror.position(), after_history: list.history };
    mirror.take({ ...put, decoys: [{ ...decoy, retired: true, changed_at: earlier }] });
    expect(mirror.decoysOf('acme').touched(['export_all'], {})).not.toBeNull();
  });

  it('of a tenant that goes leave nothing but that there were some, nor who touched them, and proxies hear it', async () => {
    await certified('bot');
    const shown = {
      advertised: true,
      schema_json: '{"type":"object","title":"bait-title"}',
      description: 'bait-words',
    };
    const { id } = (await add({ name: 'bait-tool', ...shown, reason: 'bait-reason' })).json<DecoyRecord>();
    await add({ name: 'bait-account', kind: 'value', value: VALUE });
    await remove('bait-account');
    await add({ tenant: 'other', name: 'kept-tool' }, OTHERS);
    await tells({ decoy_id: id });
    expect(await hits()).toHaveLength(1);
    const mirror = await mirrored();
    const reason = 'the contract ended';
    const begun = await ask('POST', '/tenants/acme/lifecycle', {
      body: { kind: 'offboard', confirm: 'acme', reason },
      headers: { 'idempotency-key': 'once' },
    });
    const operation = begun.json<{ id: string }>().id;
    const claim = await ask('POST', `/tenants/acme/lifecycle/${operation}/steps/authority_fence/claim`, {
      body: { owner: 'identity' },
    });
    const fence = () =>
      ask('POST', '/tenants/acme/offboard', {
        body: { confirm: 'acme', reason },
        headers: {
          'x-gate-lifecycle-operation': operation,
          'x-gate-lifecycle-lease': claim.json<{ lease_token: string }>().lease_token,
        },
      });
    // Somebody edited one of them: that keeps nothing.
    await sql(`update identity_decoys set description = 'bait-edited' where id = '${id}'`);
    const gone = await fence();
    expect([gone.statusCode, gone.body]).toEqual([200, gone.body]);
    const rows = async () => ({
      decoys: await sql('select * from identity_decoys'),
      hits: await sql('select * from identity_decoy_hits'),
    });
    const left = JSON.stringify(await rows());
    expect(left).toContain('kept-tool');
    expect(left).not.toMatch(/bait-|3704/);
    expect(await rows()).toMatchObject({ decoys: { length: 3 }, hits: [] });
    while (mirror.take(await listAfter(mirror.position())) !== 'whole');
    expect(mirror.decoysOf('acme').touched(['bait-tool'], {})).toBeNull();
    // What a proxy tells later is heard, and kept no more.
    expect((await tells({ decoy_id: id, correlation_id: 'later', hits: 2 })).statusCode).toBe(200);
    expect((await rows()).hits).toEqual([]);
    await (await opensAgain()).close();
  });
});
