import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { snapshotOf } from '../../domain/identity/tool-definition-pins.js';
import { identityWithPeople } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;

describe.each(STORES)('what an agent sees of its tools, on %s', (kind) => {
  const { at, ask, isRefused, kinds, told, sql } = identityWithPeople(kind);
  const report = (tools: Readonly<Record<string, string>>, over: object = {}) => {
    at.caller = serviceCaller('proxy');
    const body = {
      tenant: 'acme',
      agent_id: 'bot',
      event: 'pinned',
      snapshot_sha256: snapshotOf(new Map(Object.entries(tools))),
      tools: Object.entries(tools).map(([name, definition]) => ({ name, definition_sha256: definition })),
      ...over,
    };
    return ask('POST', '/tool-definitions/pin', { as: null, body });
  };
  const FIRST = { read: digestOf('a'), write: digestOf('b') };

  it('is kept, with one row for the same tools', async () => {
    const reply = await report(FIRST);
    expect([reply.statusCode, reply.json()]).toEqual([
      200,
      {
        id: expect.any(String),
        snapshot_sha256: snapshotOf(new Map(Object.entries(FIRST))),
        event_kind: 'tool_definition.pinned',
      },
    ]);
    expect((await report(FIRST)).json()).toEqual(reply.json());
    expect(await kinds()).toEqual(['tool_definition.pinned']);
    const [row] = told();
    expect(row).toMatchObject({
      tenant: 'acme',
      actor_sub: 'system:proxy',
      policy_decision: { agent: 'bot', tools: 2 },
    });
    expect(row && isOfIdentity(row)).toBe(true);
  });

  it('is kept as it differs, of which the proxy has a row, and is pinned anew with another one', async () => {
    await report(FIRST);
    const other = { read: digestOf('c'), write: digestOf('b') };
    const drifted = await report(other, { event: 'drifted', changes: ['read'] });
    expect(drifted.json()).toMatchObject({ event_kind: 'tool_definition.drifted' });
    const [kept] = await sql('select event, content from identity_tool_pins');
    expect([kept?.['event'], JSON.parse(String(kept?.['content']))]).toEqual([
      'drifted',
      [
        { name: 'read', definition_sha256: digestOf('c') },
        { name: 'write', definition_sha256: digestOf('b') },
      ],
    ]);
    at.now += 1;
    await report(other);
    expect(await kinds()).toEqual(['tool_definition.pinned', 'tool_definition.pinned']);
  });

  it('is written anew where somebody edited it', async () => {
    await report(FIRST);
    await sql("update identity_tool_pins set content = '[]'");
    at.now += 1;
    await report(FIRST);
    expect(await kinds()).toEqual(['tool_definition.pinned', 'tool_definition.pinned']);
  });

  it('is refused where it does not hold together, and from anybody but a proxy', async () => {
    isRefused(await report(FIRST, { snapshot_sha256: digestOf('f') }), 422, 'snapshot_mismatch');
    for (const spiffe of [
      `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/else`,
      `spiffe://${TRUST_DOMAIN}/tenant/other/agent/bot`,
      'spiffe://partner.example/tenant/acme/agent/bot',
    ])
      isRefused(await report(FIRST, { agent_spiffe: spiffe }), 403, 'binding_mismatch');
    expect((await report(FIRST, { agent_spiffe: `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot` })).statusCode).toBe(
      200,
    );
    const twice = [1, 2].map(() => ({ name: 'read', definition_sha256: digestOf('a') }));
    isRefused(await report(FIRST, { tools: twice }), 400, 'invalid_request');
    isRefused(await report(FIRST, { event: 'gone' }), 400, 'invalid_request');
    at.caller = serviceCaller('console');
    isRefused(await ask('POST', '/tool-definitions/pin', { as: null, body: {} }), 403, 'capability_denied');
  });
});
