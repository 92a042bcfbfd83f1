import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ACTIONS } from '../../console/routes.js';
import type { IncidentCase } from '../../contracts/cases.js';
import type { AgentRecord, StopRecord } from '../../contracts/identity.js';
import { keyFileSigner } from '../../domain/ledger/signatures/blob-signer.js';
import { suggestionOf } from '../../domain/policy/mining/suggestions.js';
import { createLinkCodes } from '../../domain/review/link-code.js';
import {
  CONSOLE_OPERATORS,
  type ConsoleFixture,
  type Fields,
  openConsole,
  type TestBrowser,
} from '../../test/support/console-over-hil.js';
import { approvalFor } from '../../test/support/approved-measurement.js';
import { delegated } from '../../test/support/delegated.js';
import { OPERATOR, OTHER_OPERATOR } from '../../test/support/hil.js';
import { ledgerService, overLedger, type TestLedgerService } from '../../test/support/ledger-service.js';
import { MINED_FACTS } from '../../test/support/mined-facts.js';
import { policyEngine, type TestPolicyEngine } from '../../test/support/policy-engine.js';
import { type IdentityBehind, identityBehind } from '../../test/support/identity-behind.js';
import { fieldsOfForms } from '../../test/support/form-fields.js';
import { fieldsIn, formIn } from '../../test/support/html.js';

/**
 * Every form of the console, sent by an administrator of one tenant about what another one has, over the real services. The forms are those of
 * `console/routes.ts`: one that is added is tried too, and says here what it names.
 */

/** Each has an operator of the same name, so that nothing but the tenant tells the two apart. */
const OPERATORS = [
  { name: 'dev', tenant: 'acme', token: OPERATOR },
  { name: 'dev', tenant: 'globex', token: OTHER_OPERATOR },
];
const ME = 'operator:dev';
const REQUEST = '00000000-0000-4000-8000-0000000000aa';
/** Stands in whatever acme has. */
const SECRET = 'only-of-acme';
/** A template that acme has in force. */
const SET = 'pii_egress.rego';
const BY = { reason: SECRET, actor_sub: ME, actor_idp: 'operator-token' };
const ruleOf = (n: number, why = SECRET) =>
  `package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: ${why}" if input.tool_type == "no_tool_${n}"\n`;

/** What a form names in a field and not in its path, with what comes of it where that is another tenant's. */
const NAMED_IN_FIELDS: Readonly<Record<string, number>> = {
  '/hil/bulk': 400,
  // What became of each call is told by itself.
  '/hil/bulk/approve': 200,
  '/hil/bulk/deny': 200,
  '/audit/searches/forget': 303,
  '/decoys/remove': 404,
  '/grants/revoke': 404,
  '/measurements/withdraw': 404,
  '/me/end': 404,
  '/me/unlink-chat': 303,
  '/me/unlink-chat-of': 404,
};
/** What names nothing that another tenant has: it makes something of one's own, or is about what is everybody's. */
const NAMES_NOTHING: readonly string[] = [
  '/audit/searches',
  '/cases',
  '/exports/run',
  '/exports/regulatory',
  '/policies/new',
  '/policies/new/check',
  '/policies/new/try',
  '/policies/suggestions/mine',
  '/policies/templates/:name/try',
  '/policies/templates/:name/install',
  // The code of a command line is nobody's until somebody agrees.
  '/device/allow',
  '/device/refuse',
  '/me/link-chat',
  '/stops/tool',
  '/decoys/add',
  '/upstreams/add',
  // Of another name it is refused (console/pages/stops/stops.test.ts).
  '/stops/tenant',
  '/tenants/budget',
];
let folder: string;
let fixture: ConsoleFixture;
let insider: TestBrowser;
let stranger: TestBrowser;
let gate: TestLedgerService;
let engine: TestPolicyEngine;
let identity: IdentityBehind;
let count = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-other-tenants-'));
  const { privateKey } = generateKeyPairSync('ed25519');
  const issuer = 'spiffe://gate.local/service/ledger';
  const signer = keyFileSigner({ privateKey, keyId: 'gate-ledger:v1', issuer, clock: Date.now });
  gate = await ledgerService('sqlite', {
    ledger: { signer, keySet: signer.keySet, coldPlace: { at: { directory: join(folder, 'cold') }, retentionMs: 0 } },
  });
  engine = await policyEngine([], {
    decidedPage: () => Promise.resolve({ rows: [], next: null }),
    verify: () => Promise.resolve({ valid: true, entries_checked: 0, first_invalid_seq: null }),
  });
  const ledger = overLedger(gate);
  identity = await identityBehind({ operators: OPERATORS });
  fixture = await openConsole(undefined, {
    hilOptions: { operators: OPERATORS },
    overOf: async (name, over) =>
      name === 'ledger' ? ledger : name === 'policy' ? engine.over : name === 'identity' ? identity.over : over,
  });
  await fixture.restart({ operators: OPERATORS as typeof CONSOLE_OPERATORS });
  insider = await fixture.browser();
  stranger = await fixture.browser({ tenant: 'globex' });
  const installed = await insider.post(`/policies/templates/${SET}/install`, {
    'parameter.internal_domains': 'acme.example',
    reason: SECRET,
  });
  expect(installed.status).toBe(303);
  fixture.brain = () => ({ status: 200, body: { incident_summary: 'a note', model: 'a:b' } });
});
afterAll(async () => {
  await fixture.close();
  await engine.close();
  await identity.close();
  await gate.close();
  rmSync(folder, { recursive: true, force: true });
});

const ofSearches = (path: string): boolean => path.startsWith('/audit/searches');

/** Asks identity as the operator of acme. */
const atIdentity = async <Body>(method: 'GET' | 'POST', url: string, payload?: object): Promise<Body> => {
  const answer = await identity.service.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${OPERATOR}`, 'x-gate-tenant-scope': 'acme' },
    ...(payload && { payload }),
  });
  if (answer.statusCode >= 300) throw new Error(answer.body);
  return answer.json<Body>();
};
/** An agent and a tool of acme, as the forms about them find them. */
async function stoppedOfAcme(path: string, n: number) {
  const agent = await atIdentity<AgentRecord>('POST', '/agents', {
    tenant: 'acme',
    agent_name: `an-agent-${n}`,
    scope_envelope: [SECRET],
  });
  const at = (what: string) => `/agents/${agent.id}/${what}?tenant=acme`;
  if (path.endsWith('/force-hil/end')) await atIdentity('POST', at('containment'), { reason: SECRET });
  const isStopped = path === '/agents/:agent/release';
  const { state_changed_at: since } = isStopped
    ? await atIdentity<AgentRecord>('POST', at('suspend'), { reason: SECRET })
    : agent;
  const stop = await atIdentity<StopRecord>('POST', '/stops', {
    tenant: 'acme',
    tool: `${SECRET}-${n}`,
    reason: SECRET,
  });
  const grant = ['/agents/:agent/revoke-grant', '/grants/revoke'].includes(path)
    ? await delegated(identity.store, { agent: agent.agent_name, sub: SECRET, scope: [SECRET] }, Date.now())
    : '';
  return { agent: agent.agent_name, grant, stop: stop.id, seen: `${isStopped ? since : stop.changed_at} nobody` };
}

/** One of everything that forms name, of acme, and what all of it is now. */
async function heldByAcme(path: string) {
  const n = (count += 1);
  const row = await fixture.hil.park(n, { agent_id: SECRET });
  if (path.startsWith('/hil/:id/note')) await fixture.hil.settle(row, { status: 'denied' });
  await fixture.hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'dev', slack_user_id: `W${n}` });
  const { headers } = await insider.post('/cases', { title: SECRET, agent: SECRET });
  const caseId = String(headers['location']).slice('/cases/'.length);
  const name = `${SECRET.replaceAll('-', '_')}_${n}.rego`;
  const { library, store } = engine.management;
  if (path.startsWith('/policies/:'))
    await library.create('acme', {
      name,
      content_type: 'rego',
      body: ruleOf(n),
      active: path.endsWith('/deactivate'),
      ...BY,
    });
  // A second version, so that there is one to roll back to.
  if (path.endsWith('/rollback'))
    await library.update('acme', name, { body: ruleOf(n + 1_000), expected_current_version: 1, ...BY });
  const suggested = suggestionOf(
    { tenant: 'acme', tool: `no_tool_${n}`, name: `mined_${n}.rego`, body: ruleOf(n) },
    MINED_FACTS,
    0,
    '2026-11-02T10:00:00.000Z',
  );
  await store.keepSuggestions('acme', [suggested], []);
  const seenBudget = async (browser: TestBrowser) =>
    fieldsIn(formIn((await browser.get('/tenants')).text, '/tenants/budget'))['budgets'] ?? '';
  const ofBudgets =
    path === '/tenants/budget' ? { acme: await seenBudget(insider), globex: await seenBudget(stranger) } : null;
  const upstream =
    path === '/upstreams/:id/retire'
      ? (
          (await atIdentity('POST', '/upstreams', {
            tenant: 'acme',
            name: `crm-${n}`,
            url: `https://tools.example/${n}`,
          })) as { id: string }
        ).id
      : '';
  const { agent, grant, stop, seen } = await stoppedOfAcme(path, n);
  const measurement =
    path === '/measurements/withdraw'
      ? (
          await atIdentity<{ id: string }>('POST', '/attestation/measurements', {
            ...approvalFor('acme', `bot-${n}`),
            reason: SECRET,
          })
        ).id
      : '';
  const search = `${SECRET}-${n}`;
  const decoy = `${SECRET}-${n}`;
  if (path === '/decoys/remove')
    await atIdentity('POST', '/decoys', { tenant: 'acme', name: decoy, description: SECRET });
  if (ofSearches(path)) await insider.post('/audit/searches', { name: search, query: 'agent=a' });
  // A person has 200 at most, and each of these is one.
  const other = path === '/me/end' ? ((await fixture.sessions.of((await fixture.browser()).cookie))?.id ?? '') : '';
  const code = (await fixture.sessions.grants.begin('192.0.2.7'))?.userCode ?? '';
  const ids: Readonly<Record<string, string>> = {
    '/cases': caseId,
    '/policies/suggestions': suggested.id,
    '/stops': stop,
    '/upstreams': upstream,
  };
  const [, of = ''] = /^(.*?)\/:id/.exec(path) ?? [];
  const linkCodes = createLinkCodes({ sessionKey: Buffer.alloc(32, 7), clock: () => fixture.hil.now });
  return {
    address: path
      .replace(':id', ids[of] ?? row.id)
      .replace('/templates/:name', `/templates/${path.endsWith('/set') ? SET : 'trade_execution.rego'}`)
      .replace(':name', name)
      .replace(':version', '1')
      .replace(':agent', agent),
    fields: (as: string): Fields => ({
      ...fieldsOfForms({
        row,
        request: REQUEST.replace('aa', String(n).padStart(2, '0').slice(-2)),
        session: other,
        userCode: code,
        linkCode: linkCodes.codeOf('slack', `U${as}${n}`),
      }),
      // A policy here is what the engine really has.
      ...(path.startsWith('/policies/') && { digest: '' }),
      version: path.endsWith('/rollback') ? '2' : path.endsWith('/install') ? '' : '1',
      policy_name: `of_${as}_${n}.rego`,
      body: ruleOf(n, 'typed'),
      name: ofSearches(path) ? search : ME,
      seen,
      budgets: ofBudgets?.[as === 'acme' ? 'acme' : 'globex'] ?? '',
      grant,
      measurement,
      agent_typed: agent,
      scopes: SECRET,
      upstream: `of_${as}_${n}`,
      upstream_url: `https://tools.example/${as}/${n}`,
      decoy: path === '/decoys/remove' ? decoy : `of_${as}_${n}`,
      tenant_name: as,
    }),
    async now() {
      const tenant = { tenant: 'acme', subject: ME };
      const { policies } = await store.catalogue();
      return {
        review: await fixture.hil.reviews.get(row.id),
        chat: await fixture.hil.reviews.chatLinks.get('acme', 'dev'),
        case: (await gate.call<{ case: IncidentCase }>(`GET /cases/${caseId}`)).body.case,
        policies: policies.filter((policy) => policy.tenant === 'acme'),
        suggestions: await store.suggestions('acme'),
        agents: await atIdentity('GET', '/agents?tenant=acme'),
        stops: await atIdentity('GET', '/stops?tenant=acme'),
        measurements: await atIdentity('GET', '/attestation/measurements?tenant=acme'),
        grants: await atIdentity('GET', '/grants?tenant=acme'),
        budget: await atIdentity('GET', '/tenants/acme/budget'),
        decoys: await atIdentity('GET', '/decoys?tenant=acme'),
        upstreams: await atIdentity('GET', '/upstreams?tenant=acme'),
        isSearchKept: (await insider.get('/audit')).text.includes(`>${search}<`),
        sessions: (await fixture.sessions.openOf(tenant)).map(({ id }) => id),
      };
    },
  };
}

it('each form names a row in its path, in a field, or none', () => {
  const named = (path: string) =>
    [path in NAMED_IN_FIELDS, NAMES_NOTHING.includes(path), path.includes(':')].filter(Boolean).length;
  const both = NAMES_NOTHING.filter((path) => path.includes(':'));
  expect(both).toEqual(['/policies/templates/:name/try', '/policies/templates/:name/install']);
  for (const { path } of ACTIONS) expect([path, named(path)]).toEqual([path, both.includes(path) ? 2 : 1]);
  const all = ACTIONS.map(({ path }) => path as string);
  expect(all).toEqual(expect.arrayContaining([...Object.keys(NAMED_IN_FIELDS), ...NAMES_NOTHING]));
});

describe.each(ACTIONS.map(({ path }) => path as string))('the form %s', (path) => {
  it('changes nothing of another tenant, shows nothing of it, and is refused where it names it', async () => {
    const held = await heldByAcme(path);
    const before = await held.now();
    expect(before).toMatchObject({ isSearchKept: ofSearches(path), chat: expect.anything() });
    const { status, text } = await stranger.post(held.address, held.fields('globex'));
    expect(await held.now()).toEqual(before);
    expect(text.replaceAll(held.address, '')).not.toContain(SECRET);
    if (NAMES_NOTHING.includes(path)) expect([200, 303]).toContain(status);
    else expect(status).toBe(NAMED_IN_FIELDS[path] ?? 404);
  });

  it('is taken of its own tenant with the same fields, so that the refusal refuses something', async () => {
    const held = await heldByAcme(path);
    const { status } = await insider.post(held.address, held.fields('acme'));
    expect([200, 303]).toContain(status);
  });
});
