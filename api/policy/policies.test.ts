import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { openTemplates } from '../../adapters/policy/template-files.js';
import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { canonicalJson, sha256Hex } from '../../domain/crypto/digest.js';
import type { LabLine } from '../../contracts/policy-studies.js';
import type { ReplayPage, ReplayQuery, ReplayRow, ReplaySource } from '../../contracts/replay-rows.js';
import { GateError } from '../../domain/errors.js';
import type { PolicyStore } from '../../domain/policy/library-ports.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { eventually } from '../../test/support/waiting.js';
import type { Service } from '../plugins/service.js';
import { createPolicyService } from './app.js';
import { openManagement, type PolicyManagement } from './management.js';

const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const compiler = opaCompiler({
  find: () => findOpa({ onProgress: () => undefined }),
  directory,
});
const by = { reason: 'ticket 12', actor_sub: 'ada', actor_idp: 'https://idp.example' };
const rego = (...rules: string[]): string => `package gate.authz\n\nimport rego.v1\n\n${rules.join('\n\n')}\n`;
const denies = (tool: string, why = tool): string =>
  rego(`deny contains "Violation: ${why}" if input.tool_type == "${tool}"`);
const call = (tool_type: string, more: object = {}) => ({
  tool_type,
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  current_time: '2026-11-25T12:00:00Z',
  arguments: {},
  ...more,
});

let postgres: TestPostgres;
let folder: string;
beforeAll(async () => {
  postgres = await startPostgres();
  folder = mkdtempSync(join(tmpdir(), 'gate-policies-'));
});
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What answers have, each of them some of it. */
interface Said {
  readonly error: string;
  readonly allow: boolean;
  readonly reasons: string[];
  readonly policy_bundle: { readonly policy_count: number; readonly hash_sha256: string };
  readonly policies: { readonly name: string }[];
  readonly versions: { readonly version: number }[];
  readonly results: { readonly diff: string }[];
  readonly diff: string;
  readonly forensic_event: object;
  readonly differences: number;
  readonly difference: { readonly at: string; readonly recorded: string; readonly now: string } | null;
}
interface Replica {
  readonly store: PolicyStore;
  readonly management: PolicyManagement;
  readonly service: Service;
  ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    payload?: object,
  ): Promise<{ status: number; body: Said }>;
  judge(tool: string, more?: object): Promise<Said>;
  close(): Promise<void>;
}
let rows: NewLedgerRow[];
let ledgerFault: Error | null;
const open: Replica[] = [];

async function replica(
  target: StoreTarget,
  over: Partial<PolicyStore> = {},
  recorded: ReplaySource | null = null,
): Promise<Replica> {
  const opened = await openPolicyStore(target);
  const store: PolicyStore = { ...opened, ...over };
  const management = await openManagement({
    floor,
    store,
    templates: openTemplates(),
    compiler,
    ledger: {
      append: async (given) => {
        if (ledgerFault) throw ledgerFault;
        rows.push(...given);
        return given.map(({ id }) => ({
          status: 'created',
          id: id ?? '',
          seq: rows.length,
          entry_hash: '',
          chain_version: 1,
        }));
      },
    },
    recorded,
    log: pino({ level: 'silent' }),
    watchMs: 20,
    lookMs: 20,
  });
  management.begin();
  let callerId = 'service-console';
  const service = createPolicyService({
    policies: floor,
    management,
    registry: new Registry(),
    logger: pino({ level: 'silent' }),
    trustDomain: 'gate.local',
    resolveCaller: () => ({
      kind: 'service',
      spiffe: 'spiffe://gate.local/service/console',
      callerId,
      fingerprint: 'f'.repeat(64),
    }),
  });
  const ask: Replica['ask'] = async (method, url, payload) => {
    callerId = 'service-console';
    const reply = await service.app.inject({ method, url, ...(payload && { payload }) });
    return { status: reply.statusCode, body: reply.json<Said>() };
  };
  const made: Replica = {
    store,
    management,
    service,
    ask,
    // On a crowded machine a first evaluation goes to a thread, and may not be answered in its time.
    judge: (tool, more = {}) =>
      eventually('an answer to a call', async () => {
        const { status, body } = await ask('POST', '/evaluate', call(tool, more));
        return status === 200 ? body : null;
      }),
    async close() {
      await service.close();
      await management.close();
      await opened.close();
    },
  };
  open.push(made);
  return made;
}
beforeEach(() => {
  rows = [];
  ledgerFault = null;
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
let count = 0;
const places = (): Record<'SQLite' | 'Postgres', StoreTarget> => {
  count += 1;
  return {
    SQLite: { file: join(folder, `${count}.db`) },
    Postgres: { url: postgres.url, schema: `policies_${count}` },
  };
};

describe.each(['SQLite', 'Postgres'] as const)('policies of operators, on %s', (kind) => {
  it('are made, changed, switched, rolled back and deleted, each time as a new version that is in force at once', async () => {
    const gate = await replica(places()[kind]);
    const floorBundle = (await gate.judge('list_files')).policy_bundle;
    const body = denies('list_files', 'no lists');
    const made = await gate.ask('POST', '/policies', { name: 'no_lists.rego', content_type: 'rego', body, ...by });
    expect(made).toEqual({
      status: 201,
      body: {
        name: 'no_lists.rego',
        version: 1,
        current_version: 1,
        active: true,
        event_kind: 'policy.created',
        body_sha256: sha256Hex(body),
      },
    });
    const denied = await gate.judge('list_files');
    expect(denied).toMatchObject({ allow: false, reasons: ['Violation: no lists'] });
    expect(denied.policy_bundle).toMatchObject({
      policy_count: floorBundle.policy_count + 1,
      version: expect.stringMatching(/^\d{4}-\d\d-\d\d\.1$/),
    });
    expect(denied.policy_bundle.hash_sha256).not.toBe(floorBundle.hash_sha256);

    const second = denies('list_files', 'still none');
    expect(
      await gate.ask('PUT', '/policies/no_lists.rego', { body: second, expected_current_version: 1, ...by }),
    ).toMatchObject({
      status: 200,
      body: { version: 2, event_kind: 'policy.updated' },
    });
    expect((await gate.judge('list_files')).reasons).toEqual(['Violation: still none']);
    const { body: diff } = await gate.ask('GET', '/policies/no_lists.rego/diff?from=1&to=2');
    expect(diff.diff).toContain('-deny contains "Violation: no lists"');

    const change = async (what: string, version: number) =>
      (await gate.ask('POST', `/policies/no_lists.rego/${what}`, { expected_current_version: version, ...by })).body;
    expect(await change('deactivate', 2)).toMatchObject({
      version: 3,
      active: false,
      event_kind: 'policy.deactivated',
    });
    expect(await gate.judge('list_files')).toMatchObject({ allow: true, policy_bundle: floorBundle });
    expect(await change('activate', 3)).toMatchObject({ version: 4, active: true });
    expect((await gate.ask('POST', '/policies/no_lists.rego/rollback/1', by)).body).toMatchObject({
      version: 5,
      body_sha256: sha256Hex(body),
      event_kind: 'policy.updated',
    });
    expect((await gate.judge('list_files')).reasons).toEqual(['Violation: no lists']);
    expect(
      (await gate.ask('DELETE', '/policies/no_lists.rego', { expected_current_version: 5, ...by })).body,
    ).toMatchObject({
      version: 6,
      event_kind: 'policy.deleted',
    });
    expect((await gate.judge('list_files')).allow).toBe(true);

    const { body: history } = await gate.ask('GET', '/policies/no_lists.rego/versions');
    expect(history.versions.map((one) => one.version)).toEqual([6, 5, 4, 3, 2, 1]);
    expect((await gate.ask('GET', '/policies/no_lists.rego/versions/2')).body).toMatchObject({
      body: second,
      reason: 'ticket 12',
      actor_sub: 'ada',
    });
    expect(
      (await gate.ask('POST', '/policies', { name: 'no_lists.rego', content_type: 'rego', body, ...by })).body.error,
    ).toBe('policy_exists');
    const names = async (query = '') =>
      (await gate.ask('GET', `/policies${query}`)).body.policies.map((one) => one.name);
    expect(await names()).not.toContain('no_lists.rego');
    expect(await names('?include_deleted=true')).toContain('no_lists.rego');
  });

  it('leave a row in the ledger for each change, in order, also after the ledger was away', async () => {
    const gate = await replica(places()[kind]);
    ledgerFault = new Error('away');
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await gate.ask('PUT', '/policies/a.rego', { body: denies('b'), expected_current_version: 1, ...by });
    await eventually(
      'what was stored is there',
      async () => (await gate.service.health.inject('/readyz')).json().checks.outbox_worker === 'failed',
    );
    expect((await gate.judge('b')).reasons).toContain('Violation: b');
    ledgerFault = null;
    await eventually('what was stored is there', () => rows.length === 2);
    expect(rows).toMatchObject([
      {
        event_kind: 'policy.created',
        actor_sub: 'ada',
        policy_decision: { name: 'a.rego', prev_sha256: null, new_sha256: sha256Hex(denies('a')), version: 1 },
      },
      {
        event_kind: 'policy.updated',
        policy_decision: { prev_sha256: sha256Hex(denies('a')), new_sha256: sha256Hex(denies('b')), version: 2 },
      },
    ]);
    expect(JSON.stringify(rows.map((row) => ({ ...row, payload_canonical_json: null })))).not.toContain('ticket 12');
    await eventually('what was stored is there', async () =>
      (await gate.store.versions('', 'a.rego')).every(({ chain_seq: seq }) => seq !== null),
    );
  });

  it('derive a past verdict again by the rules that it was judged by, and say where these are gone', async () => {
    const gate = await replica(places()[kind]);
    const post = (name: string, body: string) =>
      gate.ask('POST', '/policies', { name, content_type: name.endsWith('.json') ? 'json' : 'rego', body, ...by });
    await post('ceilings.json', '{"most": 10}');
    await post(
      'ceiling.rego',
      rego('deny contains "Violation: ceiling" if input.arguments.amount > data.gate.ceilings.most'),
    );
    const input = call('list_files', { arguments: { amount: 11 }, agent_id: 'acme/bot', tenant: 'acme' });
    const { forensic_event: event, ...then } = await gate.judge('list_files', input);
    expect(then).toMatchObject({ allow: false, reasons: ['Violation: ceiling'] });
    const verdict = {
      tier: 'red',
      outcome: 'deny',
      would: null,
      layer: 'policy',
      mode: 'enforce',
      reasons: then.reasons,
      review_reasons: [],
    };
    const inspection = { available: true, authorized: true, reasoning: 'nothing found' };
    const recorded = { input, decision: { ...then, event }, verdict, inspection };
    const replay = async (more: object = {}) =>
      (await gate.ask('POST', '/policies/replay', { ...recorded, ...more })).body;
    // The rules of now say something else, and those of then are derived from what the store keeps.
    await gate.ask('PUT', '/policies/ceilings.json', { body: '{"most": 99}', expected_current_version: 1, ...by });
    await gate.ask('DELETE', '/policies/ceiling.rego', { expected_current_version: 1, ...by });
    expect((await gate.judge('list_files', input)).allow).toBe(true);
    expect(await replay()).toEqual({
      policy_bundle: then.policy_bundle,
      compared: 13,
      differences: 0,
      difference: null,
    });
    // Each kind of row that was changed is found, the first of them is named.
    expect((await replay({ decision: { ...then, allow: true, event } })).difference).toEqual({
      at: 'policy.evaluated.allow',
      recorded: 'true',
      now: 'false',
    });
    expect((await replay({ verdict: { ...verdict, tier: 'green' } })).difference?.at).toBe('proxy.verdict.tier');
    expect((await replay({ inspection: { ...inspection, authorized: false, reasoning: 'harm' } })).difference).toEqual({
      at: 'proxy.verdict.layer',
      recorded: '"policy"',
      now: '"brain"',
    });
    expect((await replay({ input: { ...input, arguments: { amount: 10 } } })).differences).toBeGreaterThan(0);

    // A batch is judged call by call, and only with its request.
    const batch = { ...input, tool_type: 'gate/tools.batch', method: 'gate/tools.batch', arguments: {} };
    const request = {
      method: 'gate/tools.batch',
      params: {
        contract: 'gate.atomic-tool-call-batch/v1',
        calls: [
          { id: 'a', name: 'list_files', arguments: { amount: 1 } },
          { id: 'b', name: 'list_files', arguments: { amount: 11 } },
        ],
      },
    };
    const events = { events: [{ ...event, reasons: [], review_reasons: [] }, event] };
    const ofBatch = { input: batch, decision: { ...then, event: events } };
    expect(await replay({ ...ofBatch, request })).toMatchObject({ differences: 0 });
    expect((await replay(ofBatch)).error).toBe('payload_unavailable');
    expect((await replay({ ...ofBatch, request: { params: {} } })).error).toBe('policy_input_invalid');

    // Why it was so, by the rules of then and their texts; where they are gone, by those of now, which say so.
    const why = async (more: object = {}) =>
      (await gate.ask('POST', '/policies/explain', { ...recorded, ...more })).body;
    expect(await why()).toMatchObject({
      tier: 'red',
      rules: 'then',
      policy_bundle: then.policy_bundle,
      spoke: [{ reason: 'Violation: ceiling', rule: { file: 'ceiling.rego', line: 5 }, facts: ['arguments.amount'] }],
      changes: [{ tier: 'green', facts: [{ name: 'arguments.amount', from: 11, to: 10 }] }],
      text: expect.stringContaining('arguments.amount (in the call) 10 instead of 11'),
    });
    const bundleGone = {
      ...then,
      event,
      policy_bundle: { ...then.policy_bundle, version: '2020-01-01.1', hash_sha256: 'x' },
    };
    expect(await why({ decision: bundleGone })).toMatchObject({ tier: 'green', rules: 'now', spoke: [] });

    const gone = { ...then.policy_bundle, hash_sha256: `sha256:${'0'.repeat(64)}` };
    expect((await replay({ decision: { ...then, policy_bundle: gone } })).error).toBe('bundle_gone');
    expect((await replay({ decision: { allow: true } })).error).toBe('invalid_request');
    // Nothing that a database cannot hold reaches it.
    const odd = { ...gone, version: 'a\u0000b' };
    expect((await replay({ decision: { ...then, policy_bundle: odd } })).error).toBe('bundle_gone');
    expect(await why({ input: { ...input, tenant: 'a\u0000b' }, decision: {} })).toMatchObject({ rules: 'now' });
  });

  it('are refused whole where they do not compile or fit, and what was in force still is', async () => {
    const gate = await replica(places()[kind]);
    const post = (more: object) =>
      gate.ask('POST', '/policies', { name: 'x.rego', content_type: 'rego', body: denies('x'), ...by, ...more });
    expect(await post({})).toMatchObject({ status: 201 });
    const before = await gate.judge('x');
    expect(await post({ name: 'y.rego', body: rego('deny contains nope(1) if true') })).toMatchObject({
      status: 400,
      body: { error: 'policy_invalid', message: 'undefined function nope', line: 5, column: 15 },
    });
    // Alone it is right; with the other it is not.
    expect(await post({ name: 'z.rego', body: rego('deny := {"Violation: all"}') })).toMatchObject({
      status: 400,
      body: { error: 'policy_invalid' },
    });
    for (const [refused, code] of [
      [{ reason: '  ' }, 'invalid_request'],
      [{ name: '../x.rego' }, 'invalid_request'],
      [{ name: 'money.rego' }, 'policy_protected'],
      [{ name: 'y.json' }, 'policy_invalid'],
      [{ name: 'money.json', content_type: 'json', body: '{}' }, 'policy_invalid'],
      [{ name: 'own.json', content_type: 'json', body: '{"a":' }, 'policy_invalid'],
    ] as const)
      expect([refused, (await post(refused)).body.error]).toEqual([refused, code]);
    const put = await gate.ask('PUT', '/policies/x.rego', { body: denies('y'), expected_current_version: 7, ...by });
    expect(put).toMatchObject({
      status: 409,
      body: { error: 'version_conflict', policy: { name: 'x.rego', current_version: 1 } },
    });
    for (const what of ['deactivate', 'activate'])
      expect(
        (await gate.ask('POST', `/policies/money.rego/${what}`, { expected_current_version: 1, ...by })).body.error,
      ).toBe('policy_protected');
    expect((await gate.ask('DELETE', '/policies/data.json', { expected_current_version: 1, ...by })).body.error).toBe(
      'policy_protected',
    );
    expect(
      (await gate.ask('PUT', '/policies/none.rego', { body: denies('y'), expected_current_version: 1, ...by })).status,
    ).toBe(404);
    expect(await gate.judge('x')).toEqual(before);
  });

  it('are one set of two processes: of two changes at once one is refused, and each process comes to the newest', async () => {
    const place = places()[kind];
    const [one, other] = [await replica(place), await replica(place)];
    await one.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await eventually('what was stored is there', async () => (await other.judge('a')).reasons.includes('Violation: a'));
    const both = await Promise.all(
      [one, other].map((gate, at) =>
        gate.ask('PUT', '/policies/a.rego', { body: denies('a', `by ${at}`), expected_current_version: 1, ...by }),
      ),
    );
    expect(both.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 409]));
    const won = both[0]?.status === 200 ? 'Violation: by 0' : 'Violation: by 1';
    await eventually(
      'what was stored is there',
      async () => (await one.judge('a')).reasons.includes(won) && (await other.judge('a')).reasons.includes(won),
    );
    expect((await one.judge('a')).policy_bundle).toEqual((await other.judge('a')).policy_bundle);
    // Two that have nothing to do with each other both stand.
    const made = await Promise.all(
      [one, other].map((gate, at) =>
        gate.ask('POST', '/policies', { name: `n${at}.rego`, content_type: 'rego', body: denies(`n${at}`), ...by }),
      ),
    );
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    await eventually(
      'what was stored is there',
      async () =>
        (await one.judge('n1')).reasons.length > 1 || (await one.judge('n1')).reasons.includes('Violation: n1'),
    );
  });

  it('stay as they were where what is stored cannot be loaded, and the readiness says so', async () => {
    const place = places()[kind];
    const one = await replica(place);
    await one.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const opened = await openPolicyStore(place);
    let broken = false;
    const other = await replica(place, {
      module: async (sources) => {
        const found = await opened.module(sources);
        return found && broken ? { ...found, wasm: Buffer.concat([found.wasm, Buffer.from([0])]) } : found;
      },
    });
    broken = true;
    await one.ask('PUT', '/policies/a.rego', { body: denies('b'), expected_current_version: 1, ...by });
    const ready = async () => (await other.service.health.inject('/readyz')).json();
    await eventually('what was stored is there', async () => (await ready()).checks.policies === 'failed');
    expect(JSON.stringify(await ready())).toContain('is not what was compiled');
    expect((await other.judge('a')).reasons).toContain('Violation: a');
    broken = false;
    await eventually('what was stored is there', async () => (await other.judge('b')).reasons.includes('Violation: b'));
    expect((await ready()).checks.policies).toBe('ok');
    await opened.close();
  });

  it('survive the end of a process at every step of a change', async () => {
    const place = places()[kind];
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    // Ended after the change was stored, before it was put in force or its row was sent.
    const stored = await openPolicyStore(place);
    ledgerFault = new Error('ended');
    const dead = await replica(place, { sets: () => Promise.reject(new Error('ended')) }).catch(
      (error: unknown) => error,
    );
    expect(dead).toMatchObject({ message: expect.stringContaining('ended') });
    await gate.ask('PUT', '/policies/a.rego', { body: denies('b'), expected_current_version: 1, ...by });
    await gate.close();
    open.splice(open.indexOf(gate), 1);
    ledgerFault = null;
    rows = [];
    const next = await replica(place);
    expect((await next.judge('b')).reasons).toContain('Violation: b');
    await eventually('what was stored is there', () =>
      rows.some(({ policy_decision: said }) => said?.['version'] === 2),
    );
    await stored.close();
  });
});

describe('a tenant', () => {
  it('has copies of its own over what holds for everybody, and never without the floor', async () => {
    const gate = await replica(places().SQLite);
    await gate.ask('POST', '/policies', {
      name: 'a.rego',
      content_type: 'rego',
      body: denies('list_files', 'all'),
      ...by,
    });
    const put = await gate.ask('PUT', '/policies/a.rego?tenant=acme', {
      body: denies('list_files', 'acme'),
      expected_current_version: 1,
      ...by,
    });
    expect(put.body).toMatchObject({ version: 1 });
    const reasons = async (tenant: string) => (await gate.judge('list_files', { tenant })).reasons;
    expect([await reasons('acme'), await reasons('other')]).toEqual([['Violation: acme'], ['Violation: all']]);
    await gate.ask('POST', '/policies/a.rego/deactivate?tenant=acme', { expected_current_version: 1, ...by });
    expect([await reasons('acme'), await reasons('other')]).toEqual([[], ['Violation: all']]);
    await gate.ask('PUT', '/policies/a.rego', {
      body: denies('list_files', 'new'),
      expected_current_version: 1,
      ...by,
    });
    expect([await reasons('acme'), await reasons('other')]).toEqual([[], ['Violation: new']]);
    for (const tool of ['delete_file', 'wire_transfer'])
      expect((await gate.judge(tool, { tenant: 'acme' })).allow).toBe(false);
    expect(
      (await gate.ask('POST', '/policies/money.rego/deactivate?tenant=acme', { expected_current_version: 1, ...by }))
        .body.error,
    ).toBe('policy_protected');
  });
});

describe.each(['SQLite', 'Postgres'] as const)('a tenant that comes and goes, on %s', (kind) => {
  it('has copies of what holds for everybody, once, and none when it went', async () => {
    const gate = await replica(places()[kind]);
    const post = (name: string, tool: string) =>
      gate.ask('POST', '/policies', { name, content_type: 'rego', body: denies(tool), ...by });
    await post('a.rego', 'list_files');
    const provision = () => gate.ask('POST', '/policies/tenant/0a1b2c3d/provision');
    expect((await provision()).body).toEqual({ tenant: '0a1b2c3d', policies: 1, created: 1 });
    expect((await provision()).body).toEqual({ tenant: '0a1b2c3d', policies: 1, created: 0 });
    // The copy stands although it has the version and the text of the other.
    await gate.ask('PUT', '/policies/a.rego', { body: denies('get_user'), expected_current_version: 1, ...by });
    const denied = async (tool: string, tenant: string) => !(await gate.judge(tool, { tenant })).allow;
    expect([await denied('list_files', '0a1b2c3d'), await denied('get_user', '0a1b2c3d')]).toEqual([true, false]);
    expect([await denied('list_files', 'other'), await denied('get_user', 'other')]).toEqual([false, true]);
    const withdraw = () => gate.ask('DELETE', '/policies/tenant/0a1b2c3d');
    expect((await withdraw()).body).toEqual({ tenant: '0a1b2c3d', removed: 1 });
    expect((await withdraw()).body).toEqual({ tenant: '0a1b2c3d', removed: 0 });
    expect([await denied('list_files', '0a1b2c3d'), await denied('get_user', '0a1b2c3d')]).toEqual([false, true]);
    // What it writes again goes on behind the copy that was deleted.
    const again = { body: denies('own'), expected_current_version: 2, ...by };
    expect((await gate.ask('PUT', '/policies/a.rego?tenant=0a1b2c3d', again)).body).toMatchObject({ version: 3 });
    expect([await denied('own', '0a1b2c3d'), await denied('get_user', '0a1b2c3d')]).toEqual([true, false]);
    await withdraw();
    expect((await provision()).body).toMatchObject({ created: 1 });
    await eventually('a row of each change', () => rows.length === 7);
    expect(rows.filter(({ tenant }) => tenant === '0a1b2c3d').map((row) => [row.event_kind, row.actor_sub])).toEqual([
      ['policy.created', 'service-console'],
      ['policy.deleted', 'service-console'],
      ['policy.updated', 'ada'],
      ['policy.deleted', 'service-console'],
      ['policy.created', 'service-console'],
    ]);
  });

  it('does so in operations whose repeat has the same receipt, and which a later one makes void', async () => {
    const gate = await replica(places()[kind]);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await gate.ask('PUT', '/policies/a.rego?tenant=acme', { body: denies('b'), expected_current_version: 1, ...by });
    const ids = [1, 2, 3].map((at) => `0000000${at}-0000-4000-8000-000000000000`);
    const step = (at: number, kind: string, tenant = 'acme') =>
      gate.ask('POST', `/admin/tenants/${tenant}/lifecycle`, { operation_id: ids[at], kind });
    const came = await step(0, 'provision');
    expect(came.body).toMatchObject({ tenant: 'acme', state: 'active', generation: 1, policies: 1 });
    const went = await step(1, 'offboard');
    expect(went.body).toMatchObject({ state: 'offboarded', generation: 2, policies: 1 });
    const { receipt_sha256, ...rest } = went.body as unknown as Record<string, string>;
    expect(sha256Hex(canonicalJson(rest))).toBe(receipt_sha256);
    expect(await step(1, 'offboard')).toEqual(went);
    expect(await step(0, 'provision')).toEqual(came);
    for (const other of [step(1, 'provision'), step(1, 'offboard', 'other')])
      expect(await other).toMatchObject({ status: 409, body: { error: 'operation_conflict' } });
    expect((await gate.judge('b', { tenant: 'acme' })).reasons).not.toContain('Violation: b');
    // One that began and did not end: again it is done, unless a later one has begun.
    const begun = {
      operation_id: ids[2] as string,
      tenant: 'acme',
      kind: 'offboard',
      begun_at: '2026-11-25T12:00:00.000Z',
    } as const;
    await gate.store.beginOperation(begun);
    await gate.store.beginOperation({ ...begun, operation_id: 'later', kind: 'provision' });
    expect(await step(2, 'offboard')).toMatchObject({ status: 409, body: { error: 'operation_conflict' } });
  });
});

describe('an editor of the store', () => {
  it('has no row appended that is of no policy change', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    ledgerFault = new Error('away');
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const file = new DatabaseSync(place.file);
    file.exec("update policy_outbox set content = replace(content, 'policy.created', 'upstream.outcome')");
    file.close();
    ledgerFault = null;
    await eventually('the fault', async () =>
      JSON.stringify((await gate.service.health.inject('/readyz')).json()).includes('no row of a policy change'),
    );
    expect(rows).toEqual([]);
  });
});

describe('data, domains and trials', () => {
  it('mounts documents for rules, and switches the policies of a domain at once', async () => {
    const gate = await replica(places().SQLite);
    const header = '# Domain: finance\n# Severity: high\n# Tags: a, b,\n# Summary: Ceilings.\n\n';
    const body = `${header}${rego('deny contains "Violation: ceiling" if input.arguments.amount > data.gate.ceilings.most')}`;
    await gate.ask('POST', '/policies', { name: 'ceilings.json', content_type: 'json', body: '{"most": 10}', ...by });
    await gate.ask('POST', '/policies', { name: 'ceiling.rego', content_type: 'rego', body, active: false, ...by });
    const row = (await gate.ask('GET', '/policies/ceiling.rego')).body;
    expect(row).toMatchObject({
      domain: 'finance',
      severity: 'high',
      tags: ['a', 'b'],
      summary: 'Ceilings.',
      active: false,
      protected: false,
      current_body: body,
    });
    const over = { arguments: { amount: 11 } };
    expect((await gate.judge('list_files', over)).allow).toBe(true);
    const on = await gate.ask('POST', '/policies/categories/finance/activate', by);
    expect(on.body).toMatchObject({
      changed: 1,
      skipped: 0,
      results: [{ name: 'ceiling.rego', version: 2, active: true }],
    });
    expect((await gate.ask('POST', '/policies/categories/finance/activate', by)).body).toEqual({
      changed: 0,
      skipped: 1,
      results: [],
    });
    expect((await gate.judge('list_files', over)).reasons).toEqual(['Violation: ceiling']);
    await gate.ask('PUT', '/policies/ceilings.json', { body: '{"most": 20}', expected_current_version: 1, ...by });
    expect((await gate.judge('list_files', over)).allow).toBe(true);
  });

  it('validates without storing, and says where and why', async () => {
    const gate = await replica(places().SQLite);
    const said = async (name: string, content_type: string, body: string) =>
      (await gate.ask('POST', '/policies/validate', { name, content_type, body })).body;
    expect(await said('a.rego', 'rego', denies('a'))).toEqual({ ok: true });
    expect(await said('A b.rego', 'rego', denies('a').replace('contains', 'contains  '))).toEqual({
      ok: true,
      formatted: denies('a'),
      warnings: [expect.stringContaining('unusual')],
    });
    expect(await said('a.rego', 'rego', rego('allow if true'))).toMatchObject({
      ok: false,
      error: { line: 5, column: 1 },
    });
    expect(await said('a.json', 'json', '{\n  "a": 1 2\n}')).toMatchObject({ ok: false, error: { line: 2 } });
    expect((await gate.ask('GET', '/policies/a.rego')).status).toBe(404);
  });

  it('tells what a candidate would change of calls, and changes nothing', async () => {
    const gate = await replica(places().SQLite);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('list_files'), ...by });
    const inputs = ['list_files', 'get_user', 'wire_transfer'].map((tool) => call(tool));
    const batch = (more: object) =>
      gate.ask('POST', '/policies/evaluate-batch', {
        candidate_name: 'b.rego',
        candidate_rego: denies('get_user'),
        inputs,
        ...more,
      });
    const added = await batch({});
    expect(added.body.results.map(({ diff }) => diff)).toEqual(['unchanged', 'allow_to_deny', 'unchanged']);
    const replaced = await batch({ mode: 'replace', replace_rule_name: 'a.rego' });
    expect(replaced.body.results.map(({ diff }) => diff)).toEqual(['deny_to_allow', 'allow_to_deny', 'unchanged']);
    expect(await batch({ candidate_rego: rego('deny contains nope(1)') })).toMatchObject({
      status: 400,
      body: {
        error: 'policy_invalid',
        active_compile_ok: true,
        candidate_compile_ok: false,
        compile_error: { line: 5 },
      },
    });
    expect((await batch({ inputs: Array.from({ length: 5_001 }, () => call('x')) })).body.error).toBe(
      'batch_too_large',
    );
    expect((await gate.judge('get_user')).allow).toBe(true);
  });
});

describe('templates', () => {
  const PII = '/policies/templates/pii_egress.rego';
  const letter = {
    arguments: { to: 'ada@acme.example', body: 'SSN 078-05-1120' },
    tool_classes: { send_email: { class: 'change' } },
  };
  const list = async (gate: Replica, query = '') =>
    (await gate.ask('GET', `/policies/templates${query}`)).body as unknown as { name: string; installed: boolean }[];

  it('are in force nowhere until one is installed, with its parameters at once', async () => {
    const gate = await replica(places().SQLite);
    const before = await list(gate);
    expect(before.map(({ name }) => name)).toEqual(before.map(({ name }) => name).toSorted());
    expect(before.find(({ name }) => name === 'pii_egress.rego')).toMatchObject({
      content_type: 'rego',
      domain: 'cross-cutting',
      severity: 'high',
      tier: 'mixed',
      frameworks: expect.arrayContaining(['GDPR']),
      installed: false,
    });
    expect((await gate.judge('send_email', letter)).allow).toBe(true);

    const inside = { internal_domains: ['acme.example'] };
    const installed = await gate.ask('POST', `${PII}/install`, { ...by, parameters: inside });
    expect(installed).toMatchObject({
      status: 200,
      body: { name: 'pii_egress.rego', version: 1, active: true, event_kind: 'policy.installed_from_template' },
    });
    expect((await gate.judge('send_email', letter)).allow).toBe(true);
    const outside = { ...letter, arguments: { ...letter.arguments, to: 'eve@example.com' } };
    expect((await gate.judge('send_email', outside)).reasons).toEqual([expect.stringContaining('pii_egress')]);
    expect(await list(gate)).toContainEqual(expect.objectContaining({ name: 'pii_egress.rego', installed: true }));
    const shown = (await gate.ask('GET', PII)).body as unknown as {
      body: string;
      body_sha256: string;
      parameters: object;
    };
    expect(sha256Hex(shown.body)).toBe(shown.body_sha256);
    expect(shown.parameters).toMatchObject({ properties: { internal_domains: { default: [] } } });
    await eventually('both rows', () => rows.length === 2);
    expect(rows.map((row) => [row.event_kind, row.policy_decision?.['name']])).toEqual([
      ['policy.created', 'pii_egress.json'],
      ['policy.installed_from_template', 'pii_egress.rego'],
    ]);

    // Switched off, it keeps its own text when it is installed again.
    const own = `${shown.body}\n# Ours.\n`;
    await gate.ask('PUT', '/policies/pii_egress.rego', { body: own, expected_current_version: 1, ...by });
    expect(await gate.ask('POST', `${PII}/install`, by)).toMatchObject({
      status: 409,
      body: { error: 'policy_exists' },
    });
    await gate.ask('POST', '/policies/pii_egress.rego/deactivate', { expected_current_version: 2, ...by });
    expect((await gate.ask('POST', `${PII}/install`, { ...by, parameters: {} })).body).toMatchObject({
      version: 4,
      body_sha256: sha256Hex(own),
    });
    expect((await gate.judge('send_email', letter)).reasons).toEqual([expect.stringContaining('pii_egress')]);
    await gate.ask('DELETE', '/policies/pii_egress.rego', { expected_current_version: 4, ...by });
    expect(await gate.ask('POST', `${PII}/install`, by)).toMatchObject({
      status: 409,
      body: { error: 'policy_exists' },
    });
  });

  it('have parameters that their schema refuses with the place, whoever writes them; nothing is stored then', async () => {
    const gate = await replica(places().SQLite);
    const wrong = { deny_kinds: ['ssn', 'shoe_size'] };
    const refused = { status: 400, body: { error: 'policy_invalid', pointer: '/deny_kinds/1' } };
    expect(await gate.ask('POST', `${PII}/install`, { ...by, parameters: wrong })).toMatchObject(refused);
    const document = { name: 'pii_egress.json', content_type: 'json', body: JSON.stringify(wrong) };
    expect(await gate.ask('POST', '/policies', { ...document, ...by })).toMatchObject(refused);
    expect((await gate.ask('POST', '/policies/validate', document)).body).toMatchObject({
      ok: false,
      error: { pointer: '/deny_kinds/1' },
    });
    expect(
      (await gate.ask('POST', '/policies/validate', { ...document, body: '{"most_adresses": 3}' })).body,
    ).toMatchObject({ ok: false, error: { message: expect.stringContaining('most_adresses'), pointer: '' } });
    expect(await list(gate)).not.toContainEqual(expect.objectContaining({ installed: true }));
    expect((await gate.ask('GET', '/policies/pii_egress.json')).status).toBe(404);
    expect((await gate.ask('POST', '/policies/templates/none.rego/install', by)).status).toBe(404);
    for (const name of ['pii_egress', 'pii_egress.json', '..%2fdata.rego', 'a%5cb.rego'])
      expect([name, (await gate.ask('GET', `/policies/templates/${name}`)).status]).toEqual([name, 400]);
  });

  it('are all there from the first start where that is set, and are never put back', async () => {
    const gate = await replica(places().SQLite);
    await gate.management.seed(true);
    const all = await list(gate);
    expect(all.filter(({ installed }) => !installed)).toEqual([]);
    expect((await gate.judge('send_email', letter)).reasons).toEqual([expect.stringContaining('pii_egress')]);
    expect((await gate.ask('GET', '/policies/pii_egress.rego/versions')).body.versions).toMatchObject([
      { version: 1, actor_sub: 'bootstrap', actor_idp: 'system' },
    ]);
    await gate.ask('DELETE', '/policies/pii_egress.rego', { expected_current_version: 1, ...by });
    await gate.management.seed(true);
    expect(await list(gate)).toContainEqual(expect.objectContaining({ name: 'pii_egress.rego', installed: false }));
    const other = await replica(places().SQLite);
    await other.management.seed(false);
    expect((await list(other)).filter(({ installed }) => installed)).toEqual([]);
    expect((await other.ask('POST', '/policies/categories/cross-cutting/activate', by)).body).toMatchObject({
      skipped: 0,
    });
    expect((await other.judge('send_email', letter)).allow).toBe(false);
  });

  it('are tried over calls of before, with parameters, and stay where they are', async () => {
    const gate = await replica(places().SQLite);
    const inputs = [
      call('send_email', letter),
      call('send_email', { ...letter, arguments: { to: 'eve@example.com' } }),
    ];
    const lab = async (more: object) => gate.ask('POST', `${PII}/lab`, { inputs, ...more });
    expect((await lab({})).body.results.map(({ diff }) => diff)).toEqual(['allow_to_deny', 'unchanged']);
    const inside = await lab({ parameters: { internal_domains: ['acme.example'] } });
    expect(inside.body.results.map(({ diff }) => diff)).toEqual(['unchanged', 'unchanged']);
    expect(await lab({ parameters: { internal_domains: 'acme.example' } })).toMatchObject({
      status: 400,
      body: { candidate_compile_ok: false, pointer: '/internal_domains' },
    });
    expect(await gate.ask('POST', '/policies/templates/none.rego/lab', { inputs })).toMatchObject({
      status: 404,
      body: { candidate_compile_ok: false },
    });
    expect((await gate.judge('send_email', letter)).allow).toBe(true);
  });
});

describe('a store from before sets were kept', () => {
  it('has the sets that were in force when it was opened, and says of older ones that they are gone', async () => {
    const file = join(folder, 'earlier.db');
    const gate = await replica({ file });
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a', 'first'), ...by });
    const first = await gate.judge('a');
    await gate.ask('PUT', '/policies/a.rego', { body: denies('a', 'second'), expected_current_version: 1, ...by });
    const second = await gate.judge('a');
    await open.pop()?.close();
    const store = new DatabaseSync(file);
    store.exec("drop table policy_past_sets; delete from kysely_migration where name = '0002-past-sets'");
    store.close();
    const again = await replica({ file });
    await again.ask('DELETE', '/policies/a.rego', { expected_current_version: 2, ...by });
    const replay = async (decision: Said) =>
      (await again.ask('POST', '/policies/replay', { input: call('a'), decision })).body;
    expect(await replay(second)).toMatchObject({ differences: 0 });
    expect((await replay(first)).error).toBe('bundle_gone');
  });
});

describe('a lab over recorded traffic', () => {
  const row = (seq: number, amount: number, over: Partial<ReplayRow> = {}): ReplayRow => ({
    seq,
    at: '2026-11-25T12:00:00.000Z',
    correlation_id: null,
    agent_id: 'bot',
    tool: 'list_files',
    input: call('list_files', { arguments: { amount } }) as never,
    request: null,
    decision: { allow: true, reasons: [], review_reasons: [] },
    people: null,
    ...over,
  });
  /** Rows one by one, each page of which is asked for by where it begins. */
  const source = (rows: readonly ReplayRow[], perPage = 40) => {
    const asked: ReplayQuery[] = [];
    const replayPage = async (query: ReplayQuery): Promise<ReplayPage> => {
      asked.push(query);
      const page = rows.filter(({ seq }) => seq > (query.after ?? 0)).slice(0, perPage);
      return { rows: page, next: page.at(-1)?.seq ?? null };
    };
    return { asked, replayPage };
  };
  const ceiling = (most: number, effect = 'deny') =>
    rego(
      `${effect} contains "${effect === 'deny' ? 'Violation' : 'Review'}: ceiling" if input.arguments.amount > ${most}`,
    );
  const lab = async (gate: Replica, body: object, query = '') => {
    const reply = await gate.service.app.inject({
      method: 'POST',
      url: `/policies/lab${query}`,
      payload: { since: '2026-11-01T00:00:00Z', files: [], ...body },
    });
    const text = reply.body;
    const lines =
      reply.statusCode === 200
        ? text
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as LabLine)
        : [];
    const last = lines.at(-1);
    return {
      status: reply.statusCode,
      error: reply.statusCode === 200 ? null : (JSON.parse(text) as Said).error,
      result: last && 'result' in last ? last.result : null,
      last,
    };
  };
  const file = (body: string, name = 'ceiling.rego') => ({ name, content_type: 'rego', body });

  it('counts what a candidate would change, against what people decided, and keeps the first of each kind', async () => {
    const traffic = source([
      ...Array.from({ length: 120 }, (_, at) => row(at + 1, at + 1)),
      row(121, 500, { people: 'approved' }),
      row(122, 500, { people: 'denied' }),
      row(123, 5, { people: 'denied' }),
      row(124, 5, { input: null }),
      row(125, 5, { input: { tool_type: 'list_files' } }),
      row(126, 5, { decision: { allow: false, reasons: ['Violation: of then'], review_reasons: [] } }),
    ]);
    const gate = await replica({ file: join(folder, 'lab.db') }, {}, traffic);
    await gate.ask('POST', '/policies', { ...file(ceiling(110)), ...by });
    const before = await gate.judge('list_files');
    const { result } = await lab(gate, { files: [file(ceiling(20, 'review'))], until: '2026-12-01T00:00:00Z' });
    expect(result).toMatchObject({
      judged: 124,
      purged: 1,
      unreadable: 1,
      not_as_recorded: 13,
      policy_bundle: before.policy_bundle,
      // 21 to 110 wait instead of running, the ten above and two more wait instead of being denied.
      counts: {
        allow_to_yellow: 90,
        deny_to_yellow: 12,
        unchanged: 22,
        allow_to_deny: 0,
        deny_to_allow: 0,
        yellow_to_allow: 0,
        yellow_to_deny: 0,
      },
      people: {
        approved: { green: 0, yellow: 1, red: 0 },
        denied: { green: 1, yellow: 1, red: 0 },
        expired: { green: 0, yellow: 0, red: 0 },
      },
      rows_left: 40,
    });
    expect(result?.rows).toHaveLength(62);
    expect(result?.rows[0]).toMatchObject({
      seq: 21,
      diff: 'allow_to_yellow',
      before: { tier: 'green' },
      after: { tier: 'yellow', review_reasons: ['Review: ceiling'] },
    });
    expect(result?.candidate_bundle.hash_sha256).not.toBe(before.policy_bundle.hash_sha256);
    for (const { p50_us: half, p99_us: most } of Object.values(result?.cost ?? {})) {
      expect(half).toBeGreaterThan(0);
      expect(most).toBeGreaterThanOrEqual(half);
    }
    expect(traffic.asked.map(({ after, from, to }) => [after, from, to])).toEqual(
      [undefined, 40, 80, 120, 126].map((after) => [after, '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z']),
    );
    // Without the policy all of it runs. Nothing of this changed anything.
    expect((await lab(gate, { without: ['ceiling.rego'] })).result?.counts).toMatchObject({ deny_to_allow: 12 });
    expect((await gate.judge('list_files')).policy_bundle).toEqual(before.policy_bundle);
  }, 60_000);

  it('is refused where it cannot be, and says in its last line where it ended', async () => {
    const traffic = source([row(1, 1)]);
    let away = false;
    const gate = await replica(
      { file: join(folder, 'lab2.db') },
      {},
      {
        replayPage: (query) =>
          away ? Promise.reject(new GateError('ledger_store_unavailable', 'away')) : traffic.replayPage(query),
      },
    );
    const codes = [];
    for (const [body, query] of [
      [{ files: [file(rego('deny contains nope(1) if true'))] }, ''],
      [{ files: [file(ceiling(1), 'money.rego')] }, ''],
      [{ files: [file(ceiling(1)), file(ceiling(2))] }, ''],
      [{ since: 'yesterday' }, ''],
      [{}, '?tenant=a%20b'],
    ] as const)
      codes.push((await lab(gate, body, query)).error);
    expect(codes).toEqual([
      'policy_invalid',
      'policy_protected',
      'invalid_request',
      'invalid_window',
      'invalid_request',
    ]);
    away = true;
    expect((await lab(gate, { files: [file(ceiling(1))] })).last).toEqual({
      error: { code: 'ledger_store_unavailable', reason: 'away' },
    });
    away = false;
    // Those that ended, however, leave room for others.
    expect((await lab(gate, { files: [file(ceiling(0))] })).result?.counts).toMatchObject({ allow_to_deny: 1 });
    const none = await replica({ file: join(folder, 'lab3.db') });
    expect((await lab(none, {})).error).toBe('store_unavailable');
  }, 60_000);

  it('runs two at a time, and a reader that leaves makes room', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const traffic = source([row(1, 1)]);
    const gate = await replica(
      { file: join(folder, 'lab4.db') },
      {},
      {
        replayPage: async (query) => {
          if (query.tool === 'held') await held;
          return traffic.replayPage(query);
        },
      },
    );
    const url = await gate.service.app.listen({ port: 0, host: '127.0.0.1' });
    const leaving = [new AbortController(), new AbortController()];
    const ask = (body: object, signal?: AbortSignal) =>
      fetch(`${url}/policies/lab`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ since: '2026-11-01T00:00:00Z', files: [], ...body }),
        ...(signal && { signal }),
      });
    const two = leaving.map(({ signal }) => ask({ tool_type: 'held' }, signal).catch(() => null));
    const refused = await eventually('both to run', async () => {
      const answer = await ask({});
      const text = await answer.text();
      return answer.status === 503 ? text : null;
    });
    expect(JSON.parse(refused)).toMatchObject({ error: 'policy_lab_busy' });
    leaving[0]?.abort();
    await eventually('room', async () => (await ask({})).status === 200);
    release();
    leaving[1]?.abort();
    await Promise.all(two);
  }, 60_000);
});
