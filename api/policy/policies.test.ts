import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { type Logger, pino } from 'pino';
import { Registry } from 'prom-client';
import type { Json } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { openTemplates } from '../../adapters/policy/template-files.js';
import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { canonicalJson, sha256Hex } from '../../domain/crypto/digest.js';
import type { DecidedCall, DecisionSource } from '../../contracts/decided-calls.js';
import { isIntact } from '../../contracts/policy-library.js';
import type { MinedSuggestion, MineLine } from '../../contracts/policy-mining.js';
import type { LabLine } from '../../contracts/policy-studies.js';
import type { ReplayPage, ReplayQuery, ReplayRow, ReplaySource } from '../../contracts/replay-rows.js';
import { GateError } from '../../domain/errors.js';
import type { PolicyCompiler } from '../../domain/policy/compiler.js';
import {
  EVERYBODY,
  type KeptSuggestion,
  type PolicyStore,
  type StoredPolicy,
} from '../../domain/policy/library-ports.js';
import { changeRow } from '../../domain/policy/library-rows.js';
import { headerOf } from '../../domain/policy/policy-header.js';
import { policySealing } from '../../domain/policy/sealed-policies.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { pairsOf } from '../../test/support/some-of.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import { MINED_FACTS } from '../../test/support/mined-facts.js';
import { POLICY_KEYS } from '../../test/support/policy-keys.js';
import { rememberingCompiler } from '../../test/support/remembering-compiler.js';
import { takingLedger } from '../../test/support/taking-ledger.js';
import { eventually } from '../../test/support/waiting.js';
import type { Service } from '../plugins/service.js';
import { createPolicyService } from './app.js';
import { openManagement, openTrials, type PolicyManagement } from './management.js';

const CHANGER = fileURLToPath(new URL('../../dist/test/support/policy-changer.js', import.meta.url));
const directory = shippedPolicyDirectory();
const floor = await loadPolicySet({ directory });
const compiler = rememberingCompiler(opaCompiler({ find: () => findOpa({ onProgress: () => undefined }), directory }));
/** One thread for all that the tests open: each start of one costs half a second. */
const trials = openTrials(floor);
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
  await Promise.all([postgres?.stop(), trials.close()]);
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
interface Changed {
  readonly version: number;
  readonly current_version: number;
  readonly body_sha256: string;
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
  decisions: DecisionSource | null = null,
  {
    judging = floor,
    log = pino({ level: 'silent' }),
    ordinaryMs,
    compiling = compiler,
  }: { judging?: PolicySet; log?: Logger; ordinaryMs?: number; compiling?: PolicyCompiler } = {},
): Promise<Replica> {
  const opened = await openPolicyStore(target, POLICY_KEYS);
  const store: PolicyStore = { ...opened, ...over };
  const management = await openManagement({
    floor: judging,
    store,
    templates: openTemplates(),
    compiler: compiling,
    ledger: takingLedger((given) => {
      if (ledgerFault) throw ledgerFault;
      const differs = (row: NewLedgerRow): boolean =>
        rows.some((known) => known.id === row.id && canonicalJson(known as Json) !== canonicalJson(row as Json));
      if (given.some(differs)) throw new GateError('ledger_entry_conflict', 'other content under the id of an entry');
      rows.push(...given);
    }),
    recorded,
    decisions,
    log,
    ...(ordinaryMs !== undefined && { ordinaryMs }),
    watchMs: 20,
    lookMs: 20,
    ...(judging === floor && { shared: trials }),
  });
  management.begin();
  let callerId = 'service-console';
  const service = createPolicyService({
    policies: judging,
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

const PLACES = ['SQLite', 'Postgres'] as const;
const KILLED_AT = [
  ['a change', false],
  ['several changes at once', true],
] as const;
/** Each on one of the stores, in each run. */
const plays = pairsOf('a process is killed at changes', KILLED_AT.length, 2);

describe.each(PLACES)('policies of operators, on %s', (kind) => {
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
    const names = async (query = '') =>
      (await gate.ask('GET', `/policies${query}`)).body.policies.map((one) => one.name);
    expect(await names()).not.toContain('no_lists.rego');
    expect(await names('?include_deleted=true')).toContain('no_lists.rego');
    // The name may come back, behind what it was.
    const again = { name: 'no_lists.rego', content_type: 'rego', body, ...by };
    expect(await gate.ask('POST', '/policies', again)).toMatchObject({
      status: 201,
      body: { version: 7, event_kind: 'policy.created' },
    });
    expect((await gate.judge('list_files')).reasons).toEqual(['Violation: no lists']);
    expect((await gate.ask('POST', '/policies', again)).body.error).toBe('policy_exists');
    await eventually('a row of each change', () => rows.length === 7);
    expect(rows.at(-1)?.policy_decision).toMatchObject({ version: 7, prev_sha256: sha256Hex(body) });
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
      (await gate.store.versions('', 'a.rego')).every((one) => isIntact(one) && one.chain_seq !== null),
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

  it('are not rolled back to a text that this Gate refuses, though an earlier one took it', async () => {
    const place = places()[kind];
    const taken = rego('approval_tier := "auto"\n\ndeny contains "Violation: x" if input.tool_type == "x"');
    const earlier = await replica(place, {}, null, null, {
      compiling: {
        ...compiler,
        check: async ({ body }) => ({ fault: null, formatted: body, reads: [], inputs: [], rules: [], names: [] }),
      },
    });
    const make = { name: 'a.rego', content_type: 'rego', body: taken, ...by };
    expect((await earlier.ask('POST', '/policies', make)).status).toBe(201);
    const gate = await replica(place);
    const now = { body: denies('y'), expected_current_version: 1, ...by };
    expect((await gate.ask('PUT', '/policies/a.rego', now)).status).toBe(200);
    expect(await gate.ask('POST', '/policies/a.rego/rollback/1', by)).toMatchObject({
      status: 400,
      body: { error: 'policy_invalid', reason: expect.stringContaining('defined by the floor alone') },
    });
    expect((await gate.judge('x')).reasons).not.toContain('Violation: x');
    expect((await gate.ask('GET', '/policies/a.rego/versions')).body.versions).toHaveLength(2);
  });

  it('are proved one by one: what would deny every call is refused whatever was proved before, and refuses nothing after it', async () => {
    const gate = await replica(places()[kind]);
    const post = (name: string, body: string) =>
      gate.ask('POST', '/policies', { name, content_type: 'rego', body, ...by });
    // No text: a refusal without a reason, of every call.
    const trap = rego('deny contains m if { some x in [1]; m := 7; x == 1 }');
    expect((await post('first_trap.rego', trap)).body.error).toBe('policy_invalid');
    expect((await post('good.rego', denies('x'))).status).toBe(201);
    expect((await post('second_trap.rego', trap)).body.error).toBe('policy_invalid');
    expect((await post('better.rego', denies('y'))).status).toBe(201);
    expect(await gate.judge('list_files')).toMatchObject({ allow: true });
  });

  it('are not changed in the place of another text that stands under the same version', async () => {
    const gate = await replica(places()[kind]);
    const asked = { name: 'x.rego', content_type: 'rego', body: denies('x'), ...by };
    expect((await gate.ask('POST', '/policies', asked)).status).toBe(201);
    // A tenant's copy that is gone leaves the text for everybody in its place, which may have the same version.
    const at2 = { expected_current_version: 1, ...by };
    expect(await gate.ask('PUT', '/policies/x.rego', { body: denies('x2'), ...at2 })).toMatchObject({ status: 200 });
    const own = await gate.ask('PUT', '/policies/x.rego?tenant=acme', {
      body: denies('own'),
      ...by,
      expected_current_version: 2,
    });
    const copy = {
      expected_current_version: (own.body as unknown as Changed).version,
      expected_body_sha256: (own.body as unknown as Changed).body_sha256,
    };
    expect(own.status).toBe(200);
    await gate.ask('PUT', '/policies/x.rego', { body: denies('x'), ...by, expected_current_version: 2 });
    await gate.ask('DELETE', '/policies/x.rego?tenant=acme', { ...copy, ...by });
    const shared = (await gate.ask('GET', '/policies/x.rego?tenant=acme')).body as unknown as Changed;
    expect(
      await gate.ask('PUT', '/policies/x.rego?tenant=acme', {
        body: denies('late'),
        ...by,
        ...copy,
        expected_current_version: shared.current_version,
      }),
    ).toMatchObject({
      status: 409,
      body: { error: 'version_conflict', reason: expect.stringContaining('another text') },
    });
  });

  it('are changed several at once in one step: a check that moves to another file lets no call pass meanwhile', async () => {
    const gate = await replica(places()[kind]);
    const create = (name: string, body: string) => ({ what: 'create', name, content_type: 'rego', body });
    const apply = (...changes: object[]) => gate.ask('POST', '/policies/apply', { changes, ...by });
    expect((await apply(create('a.rego', denies('x')))).status).toBe(200);
    await gate.ask('POST', '/policies', {
      name: 'off.rego',
      content_type: 'rego',
      body: denies('off'),
      ...by,
      active: false,
    });
    await eventually('their rows', () => rows.length === 2);
    const before = await gate.store.catalogue();
    const on = { expected_current_version: 1 };
    const moving = apply(
      { what: 'delete', name: 'a.rego', ...on, expected_body_sha256: sha256Hex(denies('x')) },
      { what: 'update', name: 'off.rego', body: denies('on'), ...on },
      // On what the change before it leaves, as if it were stored.
      {
        what: 'activate',
        name: 'off.rego',
        expected_current_version: 2,
        expected_body_sha256: sha256Hex(denies('on')),
      },
      create('b.rego', denies('x')),
    );
    let moved = false;
    const judged: string[][] = [];
    void moving.finally(() => (moved = true));
    while (!moved) judged.push((await gate.judge('x')).reasons);
    expect(await moving).toMatchObject({
      status: 200,
      body: {
        results: [
          { name: 'a.rego', version: 2, event_kind: 'policy.deleted' },
          { name: 'off.rego', version: 2, event_kind: 'policy.updated', active: false },
          { name: 'off.rego', version: 3, event_kind: 'policy.activated', active: true },
          { name: 'b.rego', version: 1, event_kind: 'policy.created' },
        ],
      },
    });
    expect(judged.length).toBeGreaterThan(0);
    expect(judged).toEqual(judged.map(() => ['Violation: x']));
    expect((await gate.judge('on')).reasons).toEqual(['Violation: on']);
    expect((await gate.store.catalogue()).generation).toBe(before.generation + 1);
    await eventually('a row of each', () => rows.length === 6);
    expect(
      rows.slice(2).map(({ event_kind, policy_decision: said }) => [event_kind, said?.['name'], said?.['version']]),
    ).toEqual([
      ['policy.deleted', 'a.rego', 2],
      ['policy.updated', 'off.rego', 2],
      ['policy.activated', 'off.rego', 3],
      ['policy.created', 'b.rego', 1],
    ]);
  });

  it('are changed several at once or not at all: where one is refused, nothing is changed', async () => {
    const gate = await replica(places()[kind]);
    const create = (name: string, body: string) => ({ what: 'create', name, content_type: 'rego', body });
    const apply = (...changes: object[]) => gate.ask('POST', '/policies/apply', { changes, ...by });
    expect((await apply(create('a.rego', denies('x')))).status).toBe(200);
    const before = await gate.store.catalogue();
    const on = { name: 'a.rego', expected_current_version: 1 };
    for (const [refused, error, why] of [
      [
        { what: 'update', ...on, body: denies('y'), expected_current_version: 2 },
        'version_conflict',
        'a.rego has version 1',
      ],
      [{ what: 'deactivate', ...on, expected_body_sha256: '0'.repeat(64) }, 'version_conflict', 'another text'],
      [{ what: 'delete', name: 'none.rego', expected_current_version: 1 }, 'not_found', 'none.rego'],
      [create('a.rego', denies('y')), 'policy_exists', 'a.rego'],
      [create('first.rego', denies('y')), 'policy_exists', 'first.rego'],
      [create('money.rego', denies('y')), 'policy_protected', 'money.rego'],
      [create('bad.rego', rego('deny contains nope(1) if true')), 'policy_invalid', 'bad.rego:5'],
      [{ what: 'create', name: 'own.json', content_type: 'json', body: '{"a":' }, 'policy_invalid', 'own.json: '],
      // Each by itself is right.
      [create('cap.rego', rego('cap := 2')), 'policy_invalid', 'cap is defined in cap.rego as well'],
      [
        create('trap.rego', rego('deny contains m if { some x in [1]; m := 7; x == 1 }')),
        'policy_invalid',
        'ordinary call',
      ],
    ] as const)
      expect([refused, await apply(create('first.rego', rego('cap := 1')), refused)]).toEqual([
        refused,
        expect.objectContaining({ body: expect.objectContaining({ error, reason: expect.stringContaining(why) }) }),
      ]);
    for (const none of [[], [{ what: 'rollback', ...on }]])
      expect((await apply(...none)).body.error).toBe('invalid_request');
    expect(await gate.store.catalogue()).toEqual(before);
    expect((await gate.judge('x')).reasons).toEqual(['Violation: x']);
  });

  it.each(['POST /policies/apply', 'DELETE /policies/a.rego'])(
    'are deleted of a tenant only where the text comes back that was looked at, or nothing was to: %s',
    async (route) => {
      const gate = await replica(places()[kind]);
      const file = { name: 'a.rego', content_type: 'rego' };
      const shared = denies('x');
      await gate.ask('POST', '/policies', { ...file, body: shared, ...by });
      const copied = { body: denies('y'), expected_current_version: 1, ...by };
      expect((await gate.ask('PUT', '/policies/a.rego?tenant=acme', copied)).body).toMatchObject({ version: 2 });
      const without = (expected_back_sha256?: string | null) => {
        const on = { expected_current_version: 2, expected_back_sha256 };
        const changes = [{ what: 'delete', name: 'a.rego', ...on }];
        const [method, path] = route.split(' ') as ['POST' | 'DELETE', string];
        return gate.ask(method, `${path}?tenant=acme`, { ...(method === 'DELETE' ? on : { changes }), ...by });
      };
      const before = await gate.store.catalogue();
      for (const other of [null, '0'.repeat(64)])
        expect(await without(other)).toMatchObject({
          status: 409,
          body: { error: 'version_conflict', reason: expect.stringContaining(sha256Hex(shared).slice(0, 12)) },
        });
      expect(await gate.store.catalogue()).toEqual(before);
      const off = { expected_current_version: 1, ...by };
      await gate.ask('POST', '/policies/a.rego/deactivate', off);
      expect((await without(sha256Hex(shared))).body).toMatchObject({
        error: 'version_conflict',
        reason: expect.stringContaining('nothing for everybody'),
      });
      await gate.ask('POST', '/policies/a.rego/activate', { ...off, expected_current_version: 2 });
      expect((await without(sha256Hex(shared))).status).toBe(200);
      expect((await gate.judge('x', { tenant: 'acme' })).reasons).toEqual(['Violation: x']);
    },
  );

  it('are one set of two processes: of two changes at once one is refused, and each process comes to the newest', async () => {
    const place = places()[kind];
    const [one, other] = [await replica(place), await replica(place)];
    await one.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await eventually('what was stored is there', async () => (await other.judge('a')).reasons.includes('Violation: a'));
    // A compiler that has no time on a busy machine changed nothing, and is asked again.
    const judged = async (ask: () => ReturnType<typeof one.ask>) => {
      let answer = await ask();
      await eventually('the change is judged', async () => {
        if (answer.status === 503) answer = await ask();
        return answer.status !== 503;
      });
      return answer;
    };
    const both = await Promise.all(
      [one, other].map((gate, at) =>
        judged(() =>
          gate.ask('PUT', '/policies/a.rego', { body: denies('a', `by ${at}`), expected_current_version: 1, ...by }),
        ),
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
        judged(() =>
          gate.ask('POST', '/policies', { name: `n${at}.rego`, content_type: 'rego', body: denies(`n${at}`), ...by }),
        ),
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
    const opened = await openPolicyStore(place, POLICY_KEYS);
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
    const stored = await openPolicyStore(place, POLICY_KEYS);
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

  it.each(KILLED_AT.filter((_, change) => plays(PLACES.indexOf(kind), change)))(
    'are one version that every process comes to, wherever a process is killed at %s',
    async (_, several) => {
      const STEPS = ['compiled', 'storing', 'stored', 'loading', 'row_sent', 'watching'] as const;
      const unstored = new Set<string>(['compiled', 'storing']);
      const at = Object.fromEntries(STEPS.map((step) => [step, places()[kind]]));
      const [before, after] = [denies('a', 'before'), denies('a', 'after')];
      const child = spawn(process.execPath, [CHANGER, JSON.stringify({ places: at, before, after, several })], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      const [, signal] = (await once(child, 'close')) as [number | null, string | null];
      expect({ signal, said }).toEqual({ signal: 'SIGKILL', said: '' });
      for (const step of STEPS) {
        rows = [];
        const place = at[step] as StoreTarget;
        // Two processes where it is on the edge: a change that just was not, and one that just was, stored.
        const gates = [await replica(place), ...(step.startsWith('stor') ? [await replica(place)] : [])];
        const one = gates[0] as Replica;
        const { policies } = await one.store.catalogue();
        const versions = await one.store.versions(EVERYBODY, 'a.rego');
        const stands = unstored.has(step) ? 1 : 2;
        expect([step, policies[0]?.current_version, versions.map(({ version }) => version)]).toEqual([
          step,
          stands,
          stands === 1 ? [1] : [2, 1],
        ]);
        // What comes with it stands where it does.
        const names = stands === 2 && several ? ['a.rego', 'b.rego'] : ['a.rego'];
        expect([step, policies.map(({ name }) => name)]).toEqual([step, names]);
        const judged = await Promise.all(gates.map((gate) => gate.judge('a')));
        const why = `Violation: ${stands === 1 ? 'before' : 'after'}`;
        expect([step, judged.every(({ reasons }) => reasons.includes(why))]).toEqual([step, true]);
        expect(new Set(judged.map(({ policy_bundle: { hash_sha256: hash } }) => hash)).size).toBe(1);
        // Whoever did not hear of it asks again, and is told.
        const again = await one.ask('PUT', '/policies/a.rego', { body: after, expected_current_version: 1, ...by });
        expect([step, again.status]).toEqual([step, stands === 1 ? 200 : 409]);
        await eventually('all have the newest, and its row is in the ledger', async () => {
          const now = await Promise.all(gates.map((gate) => gate.judge('a')));
          const [newest] = (await one.store.versions(EVERYBODY, 'a.rego')).filter(isIntact);
          return now.every(({ reasons }) => reasons.includes('Violation: after')) && newest?.chain_seq !== null;
        });
        // Where the process had sent it already, it has the same id.
        const ofA = rows.filter(({ policy_decision: change }) => change?.['name'] === 'a.rego');
        expect(ofA.map(({ policy_decision: change }) => change?.['version'])).toEqual(ofA.map(() => 2));
        expect(new Set(ofA.map(({ id }) => id)).size).toBeLessThan(2);
        await eventually(
          'nothing waits for the ledger',
          async () => (await one.store.undelivered(1)).waiting.length === 0,
        );
        await Promise.all(open.splice(0).map((gate) => gate.close()));
      }
    },
    120_000,
  );
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
    // Its versions go on behind the one for everybody: who had read that overwrites no copy that came in between.
    expect(put.body).toMatchObject({ version: 2 });
    const late = { body: denies('list_files', 'late'), expected_current_version: 1, ...by };
    expect((await gate.ask('PUT', '/policies/a.rego?tenant=acme', late)).body.error).toBe('version_conflict');
    const reasons = async (tenant: string) => (await gate.judge('list_files', { tenant })).reasons;
    expect([await reasons('acme'), await reasons('other')]).toEqual([['Violation: acme'], ['Violation: all']]);
    await gate.ask('POST', '/policies/a.rego/deactivate?tenant=acme', { expected_current_version: 2, ...by });
    expect([await reasons('acme'), await reasons('other')]).toEqual([[], ['Violation: all']]);
    await gate.ask('PUT', '/policies/a.rego', {
      body: denies('list_files', 'new'),
      expected_current_version: 1,
      ...by,
    });
    expect([await reasons('acme'), await reasons('other')]).toEqual([[], ['Violation: new']]);
    for (const tool of ['delete_file', 'wire_transfer'])
      expect((await gate.judge(tool, { tenant: 'acme' })).allow).toBe(false);
    // However a copy comes about, no version of it is one of those that it stands in the place of.
    const own = { name: 'a.rego', content_type: 'rego', body: denies('list_files', 'own'), ...by };
    expect((await gate.ask('POST', '/policies?tenant=beta', own)).body).toMatchObject({ version: 3 });
    await gate.ask('POST', '/policies/tenant/gamma/provision');
    expect((await gate.ask('GET', '/policies/a.rego/versions?tenant=gamma')).body.versions).toMatchObject([
      { version: 3 },
    ]);
    const stale = { expected_current_version: 2, ...by };
    for (const tenant of ['beta', 'gamma'])
      expect((await gate.ask('POST', `/policies/a.rego/deactivate?tenant=${tenant}`, stale)).body.error).toBe(
        'version_conflict',
      );
    expect(
      (await gate.ask('POST', '/policies/money.rego/deactivate?tenant=acme', { expected_current_version: 1, ...by }))
        .body.error,
    ).toBe('policy_protected');
  });
});

describe.each(['SQLite', 'Postgres'] as const)('a tenant that comes and goes, on %s', (kind) => {
  it('without a copy changes nothing of what holds for everybody: it gets a copy, and deletes none', async () => {
    const gate = await replica(places()[kind]);
    const create = { name: 'a.rego', content_type: 'rego', body: denies('list_files'), ...by };
    await gate.ask('POST', '/policies', create);
    const on = { expected_current_version: 1, ...by };
    const everybodys = async () => {
      const { policies } = await gate.store.catalogue();
      return policies.find(({ tenant }) => tenant === EVERYBODY);
    };
    const before = await everybodys();
    expect((await gate.ask('DELETE', '/policies/a.rego?tenant=acme', on)).status).toBe(404);
    for (const [tenant, what] of [
      ['off', 'deactivate'],
      ['on', 'activate'],
    ])
      expect((await gate.ask('POST', `/policies/a.rego/${what}?tenant=${tenant}`, on)).body).toMatchObject({
        version: 2,
      });
    const put = { body: denies('read_file'), ...on };
    expect((await gate.ask('PUT', '/policies/a.rego?tenant=other', put)).body).toMatchObject({ version: 2 });
    expect((await gate.ask('POST', '/policies/a.rego/rollback/1?tenant=back', by)).body).toMatchObject({ version: 2 });
    const applied = { changes: [{ what: 'delete', name: 'a.rego', expected_current_version: 1 }], ...by };
    expect((await gate.ask('POST', '/policies/apply?tenant=acme', applied)).status).toBe(404);
    expect(await everybodys()).toEqual(before);
    for (const [tenant, allowed] of [
      ['acme', false],
      ['off', true],
      ['on', false],
      ['other', true],
      ['back', false],
    ] as const)
      expect([tenant, (await gate.judge('list_files', { tenant })).allow]).toEqual([tenant, allowed]);
  });

  it('switches its own copies of a domain alone, and nobody else’s', async () => {
    const gate = await replica(places()[kind]);
    const body = `# Domain: finance\n\n${denies('list_files', 'finance')}`;
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body, ...by });
    for (const tenant of ['acme', 'beta']) await gate.ask('POST', `/policies/tenant/${tenant}/provision`);
    const whoIsDenied = async (): Promise<string[]> => {
      const denied: string[] = [];
      for (const tenant of ['acme', 'beta', 'other'])
        if (!(await gate.judge('list_files', { tenant })).allow) denied.push(tenant);
      return denied;
    };
    const category = async (what: string, scope: string) =>
      (await gate.ask('POST', `/policies/categories/finance/${what}${scope}`, by)).body;
    expect(await whoIsDenied()).toEqual(['acme', 'beta', 'other']);
    expect(await category('deactivate', '?tenant=acme')).toMatchObject({ changed: 1, skipped: 0 });
    expect(await whoIsDenied()).toEqual(['beta', 'other']);
    expect(await category('deactivate', '?tenant=other')).toMatchObject({ changed: 0, skipped: 0 });
    expect(await category('deactivate', '')).toMatchObject({ changed: 1, skipped: 0 });
    expect(await whoIsDenied()).toEqual(['beta']);
    expect(await category('activate', '?tenant=acme')).toMatchObject({ changed: 1, skipped: 0 });
    expect(await whoIsDenied()).toEqual(['acme', 'beta']);
  });

  it('has copies of what holds for everybody, once, and none when it went', async () => {
    const gate = await replica(places()[kind]);
    const post = (name: string, tool: string) =>
      gate.ask('POST', '/policies', { name, content_type: 'rego', body: denies(tool), ...by });
    await post('a.rego', 'list_files');
    const provision = () => gate.ask('POST', '/policies/tenant/0a1b2c3d/provision');
    expect((await provision()).body).toEqual({ tenant: '0a1b2c3d', policies: 1, created: 1 });
    expect((await provision()).body).toEqual({ tenant: '0a1b2c3d', policies: 1, created: 0 });
    // The copy stands although it has the text of the other.
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
    expect((await gate.ask('PUT', '/policies/a.rego?tenant=0a1b2c3d', again)).body).toMatchObject({ version: 4 });
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

  it('says in the repeat of an operation that was cut off behind its withdrawal how many copies that removed', async () => {
    const place = places()[kind];
    const cut = await replica(place, { endOperation: () => Promise.reject(new Error('cut off')) });
    for (const name of ['a.rego', 'b.rego']) {
      await cut.ask('POST', '/policies', { name, content_type: 'rego', body: denies('a'), ...by });
      const own = { body: denies('b'), expected_current_version: 1, ...by };
      expect((await cut.ask('PUT', `/policies/${name}?tenant=acme`, own)).status).toBe(200);
    }
    const operation = { operation_id: '00000001-0000-4000-8000-000000000000', kind: 'offboard' };
    const went = (gate: Replica) => gate.ask('POST', '/admin/tenants/acme/lifecycle', operation);
    expect((await went(cut)).status).toBe(500);
    const again = await went(await replica(place));
    expect(again).toMatchObject({ status: 200, body: { state: 'offboarded', policies: 2 } });
    expect(await went(cut)).toEqual(again);
  });
});

describe('a release whose rules have the name of an operator\u2019s policy', () => {
  it('leaves that policy in force, says so at its start, and lets it be switched off, on and deleted, and not rewritten', async () => {
    const place = places().SQLite;
    const before: PolicySet = { ...floor, files: floor.files.filter(({ name }) => name !== 'money.rego') };
    const old = await replica(place, {}, null, null, { judging: before });
    const policy = { name: 'money.rego', content_type: 'rego', body: denies('list_files', 'ours'), ...by };
    expect((await old.ask('POST', '/policies', policy)).status).toBe(201);
    await open.pop()?.close();

    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const gate = await replica(place, {}, null, null, { log });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      policies: ['money.rego'],
      msg: expect.stringContaining('until they are switched off or deleted'),
    });
    expect((await gate.judge('list_files')).reasons).toEqual(['Violation: ours']);
    // Its text, state and versions are to be read under the name as long as it is there.
    expect((await gate.ask('GET', '/policies/money.rego')).body).toMatchObject({ protected: false, active: true });
    const on = { expected_current_version: 1, ...by };
    for (const [method, path, body] of [
      ['POST', '/policies', policy],
      ['PUT', '/policies/money.rego', { body: denies('x'), ...on }],
      ['POST', '/policies/money.rego/rollback/1', by],
    ] as const)
      expect((await gate.ask(method, path, body)).body.error).toBe('policy_protected');
    const change = async (method: 'POST' | 'DELETE', what: string, version: number) =>
      (await gate.ask(method, `/policies/money.rego${what}`, { expected_current_version: version, ...by })).body;
    expect(await change('POST', '/deactivate', 1)).toMatchObject({ version: 2, active: false });
    expect((await gate.judge('list_files')).allow).toBe(true);
    expect(await change('POST', '/activate', 2)).toMatchObject({ version: 3, active: true });
    expect((await gate.judge('list_files')).reasons).toEqual(['Violation: ours']);
    expect(await change('DELETE', '', 3)).toMatchObject({ version: 4, active: false });
    expect((await gate.judge('list_files')).allow).toBe(true);
    expect((await gate.ask('GET', '/policies/money.rego')).body).toMatchObject({ protected: true });
    expect(await change('DELETE', '', 4)).toMatchObject({ error: 'policy_protected' });
  });
});

describe('a change for everybody', () => {
  it('that cannot stand beside the policies of a tenant says which tenant', async () => {
    const { ask } = await replica(places().SQLite);
    const made = (name: string, most: number, scope = '') =>
      ask('POST', `/policies${scope}`, { name, content_type: 'rego', body: rego(`most := ${most}`), ...by });
    expect((await made('own.rego', 5, '?tenant=shop')).status).toBe(201);
    expect(await made('team.rego', 7)).toMatchObject({
      status: 400,
      body: {
        error: 'policy_invalid',
        reason: expect.stringMatching(/^beside the policies of shop: most is defined in own\.rego as well/),
      },
    });
    expect((await made('team.rego', 7, '?tenant=bank')).status).toBe(201);
  });
});

describe('a document that a rule in force reads', () => {
  const READS = rego('deny contains "Violation: ceiling" if input.arguments.amount > data.gate.ceilings.most');
  const GONE =
    'ceiling.rego: line 5 reads data.gate.ceilings, and there is no document ceilings.json: what needs it never holds';

  it('is warned of by whatever takes it away or puts the rule there without it, and by nothing else', async () => {
    const gate = await replica(places().SQLite);
    const said = async (method: 'POST' | 'PUT' | 'DELETE', path: string, asked: object) => {
      const { status, body } = await gate.ask(method, path, { ...asked, ...by });
      return [status, (body as unknown as { warnings?: string[] }).warnings ?? []];
    };
    const make = (name: string, body: string, more: object = {}) =>
      said('POST', '/policies', { name, content_type: name.endsWith('.json') ? 'json' : 'rego', body, ...more });
    const on = (version: number) => ({ expected_current_version: version });
    const lab = (change: object) => gate.management.library.missing(EVERYBODY, { files: [], without: [], ...change });
    expect(await make('ceilings.json', '{"most": 10}')).toEqual([201, []]);
    expect(await make('ceiling.rego', READS)).toEqual([201, []]);

    // As a plan is told of it before.
    expect(await lab({ without: ['ceilings.json'] })).toEqual([GONE]);
    expect(await lab({ without: ['ceilings.json', 'ceiling.rego'] })).toEqual([]);
    expect(await said('POST', '/policies/ceilings.json/deactivate', on(1))).toEqual([200, [GONE]]);
    // What was so before is told where the rule itself is changed.
    expect(await make('other.rego', denies('x'))).toEqual([201, []]);
    expect(await said('POST', '/policies/ceiling.rego/deactivate', on(1))).toEqual([200, []]);
    expect(await said('POST', '/policies/ceiling.rego/activate', on(2))).toEqual([200, [GONE]]);
    expect(await said('POST', '/policies/ceiling.rego/rollback/1', {})).toEqual([200, [GONE]]);
    expect(await said('POST', '/policies/ceilings.json/activate', on(2))).toEqual([200, []]);
    // A tenant that has rules of its own hears of what it reads alone.
    expect(
      await said('PUT', '/policies/other.rego?tenant=acme', { body: READS.replaceAll('ceiling', 'limit'), ...on(1) }),
    ).toEqual([200, [expect.stringContaining('other.rego: line 5 reads data.gate.limits')]]);
    expect(await said('DELETE', '/policies/ceilings.json', on(3))).toEqual([200, [GONE]]);
    expect(
      await said('POST', '/policies/apply', {
        changes: [
          { what: 'delete', name: 'ceiling.rego', ...on(4) },
          { what: 'create', name: 'b.rego', content_type: 'rego', body: READS },
        ],
      }),
    ).toEqual([200, [GONE.replace('ceiling.rego', 'b.rego')]]);
  });

  it('is looked for in the tree of a text alone, however it is read', async () => {
    const gate = await replica(places().SQLite);
    const make = async (name: string, body: string) =>
      (
        (await gate.ask('POST', '/policies', { name, content_type: 'rego', body, ...by })).body as unknown as {
          warnings?: string[];
        }
      ).warnings;
    expect(
      await make('told.rego', rego('# Not data.gate.nothing.', denies('t').split('\n\n')[2] ?? '')),
    ).toBeUndefined();
    expect(
      await make(
        'bracket.rego',
        rego('deny contains "Violation: b" if input.arguments.n > data["gate"]["limits"].most'),
      ),
    ).toEqual([expect.stringContaining('bracket.rego: line 5 reads data.gate.limits')]);
    expect(
      await make(
        'imported.rego',
        'package gate.authz\n\nimport rego.v1\nimport data.gate.bounds\n\ndeny contains "Violation: i" if input.arguments.n > bounds.most\n',
      ),
    ).toEqual([expect.stringContaining('imported.rego: line 4 reads data.gate.bounds')]);
    // The defaults of a template, and what ships.
    expect(
      await make('own.rego', rego('deny contains "Violation: o" if input.arguments.n > data.gate.velocity.limit')),
    ).toBeUndefined();
  });
});

describe.each(['SQLite', 'Postgres'] as const)('a document that no call can be judged with, on %s', (kind) => {
  const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  const made = (body: string) => ({ name: 'limits.json', content_type: 'json' as const, body, ...by });
  const HALF = String.raw`{"a": "\ud800"}`;
  /** As an earlier Gate took it while no rule was in force, so that it is in no set. */
  async function takenBefore({ store }: Replica, tenant: string, body: string): Promise<void> {
    const at = '2026-11-27T00:00:00.000Z';
    const policy: StoredPolicy = {
      tenant,
      name: 'limits.json',
      content_type: 'json',
      active: true,
      current_version: 1,
      body_sha256: sha256Hex(body),
      header: headerOf(''),
      deleted_at: null,
      created_at: at,
      updated_at: at,
    };
    const changed = { ...by, event_kind: 'policy.created' as const };
    const change = { policy, body, ...changed, row: changeRow(policy, null, changed) };
    const { generation: expected } = await store.catalogue();
    expect(await store.write({ expected, at, changes: [change], sets: [], modules: [] })).toBe(true);
  }

  it('is refused whether or not a rule is in force, by whatever brings it, and keeps no rule from coming', async () => {
    const gate = await replica(places()[kind]);
    const refusals = async (query = '') => {
      const refused: unknown[] = [];
      for (const body of [lists(2_500), lists(200_000), HALF]) {
        const apply = { changes: [{ what: 'create', name: 'limits.json', content_type: 'json', body }], ...by };
        for (const [path, asked] of [
          ['/policies', made(body)],
          ['/policies/apply', apply],
        ] as const) {
          const { status, body: said } = await gate.ask('POST', `${path}${query}`, asked);
          refused.push([status, said.error]);
        }
      }
      return refused;
    };
    const invalid = Array.from({ length: 6 }, () => [400, 'policy_invalid']);
    expect(await refusals()).toEqual(invalid);
    expect(
      await gate.ask('POST', '/policies', { ...made(denies('a')), name: 'a.rego', content_type: 'rego' }),
    ).toMatchObject({ status: 201 });
    expect(await refusals('?tenant=acme')).toEqual(invalid);
    expect((await gate.judge('a')).reasons).toContain('Violation: a');
    expect((await gate.service.health.inject('/readyz')).statusCode).toBe(200);
  });

  it.each([
    [
      EVERYBODY,
      lists(200_000),
      'limits.json: a document has 100 levels at most; switch it off, or give it another text',
    ],
    [EVERYBODY, HALF, 'limits.json: it holds half of a surrogate pair'],
    ['acme', lists(200_000), 'limits.json of acme: a document has 100 levels at most'],
  ])(
    'is named where an earlier Gate took it (%#), and a rule comes once it is switched off',
    async (tenant, body, why) => {
      const gate = await replica(places()[kind]);
      await takenBefore(gate, tenant, body);
      const rule = { ...made(denies('a')), name: 'a.rego', content_type: 'rego' };
      expect(await gate.ask('POST', '/policies', rule)).toMatchObject({
        status: 400,
        body: { error: 'policy_invalid', reason: expect.stringContaining(why) },
      });
      const off = { expected_current_version: 1, ...by };
      const query = tenant === EVERYBODY ? '' : `?tenant=${tenant}`;
      expect((await gate.ask('POST', `/policies/limits.json/deactivate${query}`, off)).status).toBe(200);
      expect((await gate.ask('POST', '/policies', rule)).status).toBe(201);
      expect((await gate.judge('a')).reasons).toContain('Violation: a');
    },
  );
});

describe('a change that is stored and cannot be loaded', () => {
  const LATE = 'this is stored, and not in force in the process that answers: the disk is slow';
  type Warned = Said & { readonly warnings?: string[] };

  it('says so in its answer, whichever change it is, until it can be', async () => {
    const place = places().SQLite;
    const opened = await openPolicyStore(place, POLICY_KEYS);
    let fault: Error | null = null;
    const gate = await replica(place, {
      sets: async () => {
        if (fault) throw fault;
        return opened.sets();
      },
    });
    const said = async (method: 'POST' | 'PUT' | 'DELETE', path: string, asked: object) =>
      ((await gate.ask(method, path, { ...asked, ...by })).body as Warned).warnings;
    const a = { name: 'a.rego', content_type: 'rego', body: denies('a') };
    expect(await said('POST', '/policies', a)).toBeUndefined();
    fault = new Error('the disk is slow');
    const on = (version: number) => ({ expected_current_version: version });
    for (const [method, path, asked] of [
      ['POST', '/policies', { ...a, name: 'b.rego' }],
      ['PUT', '/policies/a.rego', { body: denies('b'), ...on(1) }],
      ['POST', '/policies/a.rego/deactivate', on(2)],
      ['POST', '/policies/a.rego/rollback/1', {}],
      ['POST', '/policies/apply', { changes: [{ what: 'activate', name: 'a.rego', ...on(4) }] }],
      ['DELETE', '/policies/b.rego', on(1)],
      ['POST', '/policies/tenant/acme/provision', {}],
      ['DELETE', '/policies/tenant/acme', {}],
    ] as const)
      expect([path, await said(method, path, asked)]).toEqual([path, [LATE]]);
    expect(() => gate.management.live.ready()).toThrow('the disk is slow');
    fault = null;
    expect(await said('POST', '/policies', { ...a, name: 'c.rego', body: denies('c') })).toBeUndefined();
    expect((await gate.judge('c')).reasons).toContain('Violation: c');
    await opened.close();
  });
});

describe('rules that are too slow for every call', () => {
  it('are not put in force, and can be switched off one by one where they were before', async () => {
    const place = places().SQLite;
    const before = await replica(place);
    const made = (gate: Replica, name: string, tenant = '') =>
      gate.ask('POST', `/policies${tenant && `?tenant=${tenant}`}`, {
        name: `${name}.rego`,
        content_type: 'rego',
        body: denies(name),
        ...by,
      });
    for (const name of ['a', 'b']) expect((await made(before, name)).status).toBe(201);
    await open.pop()?.close();

    // Where an ordinary call may take no time at all, any rule is too slow.
    const gate = await replica(place, {}, null, null, { ordinaryMs: -1 });
    expect(await made(gate, 'c')).toMatchObject({
      status: 400,
      body: {
        error: 'policy_invalid',
        reason: expect.stringMatching(/^an ordinary call takes \d+ ms by these rules/),
      },
    });
    expect((await made(gate, 'c', 'bank')).body).toMatchObject({
      reason: expect.stringMatching(/^an ordinary call of the tenant bank takes/),
    });
    expect((await gate.judge('c')).reasons).toEqual([]);
    for (const name of ['a', 'b']) {
      expect((await gate.judge(name)).reasons).toEqual([`Violation: ${name}`]);
      const asked = { expected_current_version: 1, ...by };
      expect((await gate.ask('POST', `/policies/${name}.rego/deactivate`, asked)).status).toBe(200);
      expect((await gate.judge(name)).reasons).toEqual([]);
    }
  });
});

describe('a rule whose cost an agent sets', () => {
  it('ends with its call, and delays nobody else, also after another change of its tenant', async () => {
    const { ask, judge } = await replica(places().SQLite);
    const made = (name: string, body: string) =>
      ask('POST', '/policies?tenant=bank', { name, content_type: 'rego', body, ...by });
    const paidThrice = rego(`deny contains "Violation: the batch pays one account three times" if {
      some i, a in input.arguments.lines
      some j, b in input.arguments.lines
      some k, c in input.arguments.lines
      i < j
      j < k
      a == b
      b == c
    }`);
    expect((await made('thrice.rego', paidThrice)).status).toBe(201);
    expect((await judge('acme_pay', { tenant: 'bank', arguments: { lines: [7, 7, 7] } })).reasons).toEqual([
      'Violation: the batch pays one account three times',
    ]);
    const batch = call('acme_pay', {
      tenant: 'bank',
      arguments: { lines: Array.from({ length: 700 }, (_, line) => line) },
    });
    const blocked = monitorEventLoopDelay({ resolution: 5 });
    for (const round of ['first', 'second']) {
      blocked.reset();
      blocked.enable();
      const ended = ask('POST', '/evaluate', batch);
      let waits = true;
      void ended.finally(() => (waits = false));
      expect((await ask('POST', '/evaluate', call('acme_other', { tenant: 'shop' }))).status).toBe(200);
      expect(waits).toBe(true);
      expect(await ended).toMatchObject({ status: 503, body: { error: 'policy_unavailable' } });
      blocked.disable();
      // In place it took more than a minute.
      expect(blocked.max / 1e6).toBeLessThan(1_500);
      expect((await made(`${round}.rego`, denies(round))).status).toBe(201);
    }
    expect((await judge('acme_pay', { tenant: 'bank', arguments: { lines: [1, 2] } })).reasons).toEqual([]);
  });

  it('leaves threads to the calls of a tenant that has rules of its own too', async () => {
    const { ask, judge } = await replica(places().SQLite);
    const forever = rego(`deny contains "Violation: never said" if {
      some a in input.arguments.lines
      some b in input.arguments.lines
      some c in input.arguments.lines
      a + b + c < 0
    }`);
    for (const [tenant, body] of [
      ['bank', forever],
      ['shop', denies('acme_other')],
    ] as const)
      await ask('POST', `/policies?tenant=${tenant}`, { name: 'own.rego', content_type: 'rego', body, ...by });
    await judge('acme_other', { tenant: 'shop' });
    const lines = Array.from({ length: 700 }, (_, line) => line);
    const flood = Array.from({ length: 12 }, (_, agent) =>
      ask('POST', '/evaluate', call('acme_pay', { tenant: 'bank', agent_id: `bank/${agent}`, arguments: { lines } })),
    );
    expect(await judge('acme_other', { tenant: 'shop' })).toMatchObject({ reasons: ['Violation: acme_other'] });
    // A fast machine comes to the bound of memory before the one of time: then the call is denied.
    for (const { status, body } of await Promise.all(flood))
      expect(status === 503 ? body.error : body.reasons[0]).toMatch(
        /^(?:policy_unavailable$|policy evaluation failed)/,
      );
  });
});

describe('an editor of the store', () => {
  const readiness = async (gate: Replica) => {
    const reply = await gate.service.health.inject('/readyz');
    return [reply.statusCode, reply.json().details.policies];
  };

  it('has no row appended that is of no policy change', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    ledgerFault = new Error('away');
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const file = new DatabaseSync(place.file);
    file.exec("update policy_outbox set content = replace(content, 'policy.created', 'upstream.outcome')");
    file.close();
    ledgerFault = null;
    const outbox = async () => {
      const reply = await gate.service.health.inject('/readyz');
      return [reply.statusCode, reply.json().details.outbox_worker];
    };
    const why =
      'edited in the store: the row 1.0 for the ledger, of version 1 of a.rego for everybody: its mac does not hold';
    await eventually('the fault', async () => (await outbox())[1] === why);
    expect(await outbox()).toEqual([200, why]);
    // The rows behind it do not wait for that.
    await gate.ask('POST', '/policies', { name: 'b.json', content_type: 'json', body: '{}', ...by });
    await eventually('the row', () => rows.length > 0);
    expect(rows.map(({ policy_decision: of }) => of?.['name'])).toEqual(['b.json']);
    expect(await outbox()).toEqual([200, why]);
    const again = new DatabaseSync(place.file);
    again.exec('delete from policy_outbox');
    again.close();
    await eventually('it is over', async () => (await outbox())[1] !== why);
  });

  it('who deletes a module has it compiled anew at the next start, and no start where there is no compiler', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await gate.ask('POST', '/policies?tenant=acme', { name: 'b.rego', content_type: 'rego', body: denies('b'), ...by });
    await open.pop()?.close();
    const file = new DatabaseSync(place.file);
    const away = {
      ...compiler,
      compile: () => Promise.reject(new GateError('policy_compiler_unavailable', 'there is no OPA')),
    };
    file.exec('delete from policy_modules');
    await expect(replica(place, {}, null, null, { compiling: away })).rejects.toMatchObject({
      code: 'policy_tampered',
      message: expect.stringMatching(/^edited in the store: the module of .* is gone$/),
    });
    const again = await replica(place);
    expect((await again.judge('a')).reasons).toEqual(['Violation: a']);
    expect((await again.judge('b', { tenant: 'acme' })).reasons).toEqual(['Violation: b']);
    expect((await readiness(again))[0]).toBe(200);
    await open.pop()?.close();
    // Of one tenant's alone: its calls are denied until then.
    file.exec(
      "delete from policy_modules where sources_sha256 = (select sources_sha256 from policy_sets where tenant = 'acme')",
    );
    file.close();
    const third = await replica(place);
    expect((await third.judge('b', { tenant: 'acme' })).reasons).toEqual(['Violation: b']);
  });

  it('who swaps the module with its digest has it judge nothing', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await open.pop()?.close();
    const other = await compiler.compile([{ name: 'a.rego', body: denies('never') }]);
    if (other.fault) throw new Error(other.fault.message);
    const file = new DatabaseSync(place.file);
    file.prepare('update policy_modules set wasm = ?, wasm_sha256 = ?').run(other.wasm, sha256Hex(other.wasm));
    file.close();
    const again = await replica(place);
    expect((await again.judge('a')).reasons).toEqual(['Violation: a']);
  });

  it('who says that another set is in force leaves that of before there, and is told of by the readiness', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const file = new DatabaseSync(place.file);
    file.exec("delete from policy_sets; update policy_state set generation = generation + 1, set_macs = '[]'");
    await eventually('it is seen', async () => {
      const { checks, details } = (await gate.service.health.inject('/readyz')).json();
      return (
        checks.policies === 'failed' &&
        JSON.stringify(details).includes('the state of the policies: its mac does not hold')
      );
    });
    expect((await gate.judge('a')).reasons).toEqual(['Violation: a']);
    const change = { body: denies('b'), expected_current_version: 1, ...by };
    expect(await gate.ask('PUT', '/policies/a.rego', change)).toMatchObject({
      status: 409,
      body: { error: 'policy_tampered' },
    });
    await open.pop()?.close();
    await expect(replica(place)).rejects.toMatchObject({ code: 'policy_tampered' });
    file.close();
  });

  it.each([
    ['the state and the sets', ['policy_state', 'policy_sets']],
    [
      'the whole store',
      ['policy_state', 'policy_sets', 'policies', 'policy_versions', 'policy_past_sets', 'policy_modules'],
    ],
  ])('who puts back %s has no process go back to the rules of then', async (what, tables) => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    const body = (tool: string) => ({ body: denies(tool), expected_current_version: 1, ...by });
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const file = new DatabaseSync(place.file);
    for (const table of tables) file.exec(`create table earlier_${table} as select * from ${table}`);
    expect((await gate.ask('PUT', '/policies/a.rego', body('b'))).status).toBe(200);
    for (const table of tables)
      file.exec(`begin; delete from ${table}; insert into ${table} select * from earlier_${table}; commit`);
    await eventually('it is seen', async () => {
      const { checks, details } = (await gate.service.health.inject('/readyz')).json();
      return checks.policies === 'failed' && JSON.stringify(details).includes('the store was put back to generation 1');
    });
    expect((await gate.judge('b')).reasons).toEqual(['Violation: b']);
    expect((await gate.judge('a')).reasons).toEqual([]);
    await open.pop()?.close();
    file.close();
    if (what === 'the whole store') expect((await (await replica(place)).judge('a')).reasons).toEqual(['Violation: a']);
    else await expect(replica(place)).rejects.toThrow('the set 2');
  });

  it('who puts a policy back to an earlier version changes nothing that judges, and nothing is planned on it', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', {
      name: 'a.rego',
      content_type: 'rego',
      body: denies('a'),
      active: false,
      ...by,
    });
    const file = new DatabaseSync(place.file);
    file.exec('create table earlier as select * from policies');
    await gate.ask('POST', '/policies/a.rego/activate', { expected_current_version: 1, ...by });
    await open.pop()?.close();
    file.exec('delete from policies; insert into policies select * from earlier; drop table earlier');
    file.close();
    const next = await replica(place);
    expect((await next.judge('a')).reasons).toEqual(['Violation: a']);
    const back = 'edited in the store: the policy a.rego for everybody was put back to version 1 of 2';
    expect((await next.service.health.inject('/readyz')).json().details.policies).toBe(
      `no policy can be changed: ${back}`,
    );
    const other = { name: 'b.rego', content_type: 'rego', body: denies('b'), ...by };
    expect(await next.ask('POST', '/policies', other)).toMatchObject({
      status: 409,
      body: { error: 'policy_tampered', reason: expect.stringContaining(back) },
    });
  });

  it('of one text keeps nobody from the list, which names it, and another text takes its place', async () => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    const document = (name: string) => ({ name, content_type: 'json', body: '{}', ...by });
    for (const name of ['a.json', 'b.json']) await gate.ask('POST', '/policies', document(name));
    const file = new DatabaseSync(place.file);
    file.exec("update policy_versions set reason = 'other' where name = 'a.json'");
    const why = 'edited in the store: version 1 of a.json for everybody: its mac does not hold';
    const listed = async (query: string) => {
      const { status, body } = await gate.ask('GET', `/policies${query}`);
      const kept = (body.policies as { name: string; tampered?: string; bytes: number }[]).filter(({ name }) =>
        ['a.json', 'b.json'].includes(name),
      );
      return [status, kept.map(({ name, tampered, bytes }) => [name, tampered, bytes])];
    };
    for (const query of ['', '?tenant=acme'])
      expect(await listed(query)).toEqual([
        200,
        [
          ['a.json', why, 0],
          ['b.json', undefined, 2],
        ],
      ]);
    const change = { body: '{"max":1}', expected_current_version: 1, ...by };
    const refusal = { status: 409, body: { error: 'policy_tampered', reason: expect.stringContaining(why) } };
    expect(await gate.ask('GET', '/policies/a.json')).toMatchObject(refusal);
    const history = async () => (await gate.ask('GET', '/policies/a.json/versions')).body.versions;
    // Of the edited row nothing else is said.
    expect(await history()).toEqual([{ name: 'a.json', version: 1, tampered: why }]);
    const off = { expected_current_version: 1, ...by };
    expect(await gate.ask('POST', '/policies/a.json/deactivate', off)).toMatchObject(refusal);
    expect(await gate.ask('PUT', '/policies/a.json', { ...change, body: '{}' })).toMatchObject({ status: 200 });
    expect(await listed('')).toEqual([
      200,
      [
        ['a.json', undefined, 2],
        ['b.json', undefined, 2],
      ],
    ]);
    expect(await history()).toEqual([
      expect.objectContaining({ version: 2, body: '{}', reason: by.reason }),
      { name: 'a.json', version: 1, tampered: why },
    ]);
    expect(await readiness(gate)).toEqual([200, 3]);
    // Whoever is refused for an edit finds it in the readiness at once.
    file.exec("update policies set active = 0 where name = 'b.json'");
    file.close();
    expect((await gate.ask('PUT', '/policies/b.json', change)).body.error).toBe('policy_tampered');
    expect((await readiness(gate))[1]).toContain('no policy can be changed: edited in the store: the policy b.json');
    // Nor does the edit of a policy itself keep anybody from the others.
    const switched = 'edited in the store: the policy b.json for everybody: its mac does not hold';
    for (const query of ['', '?tenant=acme'])
      expect(await listed(query)).toEqual([
        200,
        [
          ['a.json', undefined, 2],
          ['b.json', switched, 0],
        ],
      ]);
    expect((await gate.ask('GET', '/policies/a.json')).status).toBe(200);
    expect(await gate.ask('GET', '/policies/b.json')).toMatchObject({
      status: 409,
      body: { error: 'policy_tampered', reason: switched },
    });
  });

  it.each([
    "update policy_modules set wasm = x'00'",
    `update policy_modules set wasm = x'00', wasm_sha256 = '${sha256Hex(Uint8Array.of(0))}'`,
    'delete from policy_modules',
  ])('of a module has no past verdict derived from it, and whoever asks is told: %s', async (edit) => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    const { forensic_event: event, ...then } = await gate.judge('a');
    const on = { expected_current_version: 1, ...by };
    await gate.ask('PUT', '/policies/a.rego', { body: denies('b'), ...on });
    const file = new DatabaseSync(place.file);
    file.exec(edit);
    file.close();
    for (const question of ['replay', 'explain'])
      expect(
        await gate.ask('POST', `/policies/${question}`, { input: call('a'), decision: { ...then, event } }),
      ).toMatchObject({
        status: 409,
        body: { error: 'policy_tampered', reason: expect.stringContaining('edited in the store') },
      });
  });

  it.each([
    `update policy_sets set data = '{"limit":{"max":1000}}'`,
    `update policy_versions set body = '{"max":1000}' where name = 'limit.json'`,
  ])('has no process start on data that its versions do not say: %s', async (edit) => {
    const place = places().SQLite as { file: string };
    const gate = await replica(place);
    await gate.ask('POST', '/policies', { name: 'limit.json', content_type: 'json', body: '{"max":10}', ...by });
    await gate.ask('POST', '/policies', { name: 'a.rego', content_type: 'rego', body: denies('a'), ...by });
    await open.pop()?.close();
    const file = new DatabaseSync(place.file);
    file.exec(edit);
    file.close();
    await expect(replica(place)).rejects.toThrow('edited in the store');
  });

  /** A tenant with rules and a document of its own, and another that has what holds for everybody. */
  async function twoTenants(place: StoreTarget): Promise<Replica> {
    const gate = await replica(place);
    const make = (name: string, body: string, query = '') =>
      gate.ask('POST', `/policies${query}`, {
        name,
        content_type: name.endsWith('.json') ? 'json' : 'rego',
        body,
        ...by,
      });
    expect((await make('a.rego', denies('a'))).status).toBe(201);
    expect((await make('own.rego', denies('own'), '?tenant=acme')).status).toBe(201);
    expect((await make('limit.json', '{"max":10}', '?tenant=acme')).status).toBe(201);
    return gate;
  }
  const reasonsOf = async (gate: Replica, tool: string, tenant: string) => (await gate.judge(tool, { tenant })).reasons;
  const EDITS = [
    `update policy_sets set data = '{"limit":{"max":1000}}' where tenant = 'acme'`,
    `update policy_sets set files = '[' where tenant = 'acme'`,
    `update policy_versions set body = '{"max":1000}' where tenant = 'acme' and name = 'limit.json'`,
  ];

  it.each(EDITS)(
    'of one tenant\u2019s rules keeps nobody else from being served, and that tenant is denied: %s',
    async (edit) => {
      const place = places().SQLite as { file: string };
      await twoTenants(place);
      await open.pop()?.close();
      const file = new DatabaseSync(place.file);
      file.exec(edit);
      file.close();
      const gate = await replica(place);
      expect(await reasonsOf(gate, 'list_files', 'acme')).toEqual([
        'policy evaluation failed: the stored policies of the tenant acme were edited past Gate',
      ]);
      expect(await reasonsOf(gate, 'a', 'shop')).toEqual(['Violation: a']);
      expect(await readiness(gate)).toEqual([
        200,
        expect.stringMatching(/^of the tenant acme: edited in the store: .*; its calls are denied$/),
      ]);
      const trial = { candidate_rego: denies('x'), candidate_name: 'x.rego', inputs: [call('a')] };
      expect((await gate.ask('POST', '/policies/evaluate-batch?tenant=acme', trial)).body.error).toBe(
        'policy_tampered',
      );
      // What changes for the others is in force for them, and no edited text is put in force with it.
      const change = { body: denies('b'), expected_current_version: 1, ...by };
      const changed = await gate.ask('PUT', '/policies/a.rego', change);
      if (changed.status !== 200) {
        expect(changed.body).toMatchObject({
          error: 'policy_tampered',
          reason: expect.stringContaining('version 1 of limit.json for acme: its mac does not hold'),
        });
        const own = { body: '{"max":10}', expected_current_version: 1, ...by };
        expect((await gate.ask('PUT', '/policies/limit.json?tenant=acme', own)).status).toBe(200);
        expect(await reasonsOf(gate, 'own', 'acme')).toEqual(['Violation: own']);
        expect((await gate.ask('PUT', '/policies/a.rego', change)).status).toBe(200);
      }
      expect(await reasonsOf(gate, 'b', 'shop')).toEqual(['Violation: b']);
    },
  );

  it('of one tenant\u2019s rules leaves those of before in force where a process has them, until they are whole again', async () => {
    const place = places().SQLite as { file: string };
    const gate = await twoTenants(place);
    const file = new DatabaseSync(place.file);
    file.exec("update policy_sets set version = 'x', files = '[]' where tenant = 'acme'");
    const elsewhere = { name: 'b.rego', content_type: 'rego', body: denies('b'), ...by };
    await gate.ask('POST', '/policies?tenant=shop', elsewhere);
    await eventually('it is seen', async () => String((await readiness(gate))[1]).includes('acme'));
    expect(await readiness(gate)).toEqual([200, expect.stringContaining('its rules of before stay in force')]);
    expect(await reasonsOf(gate, 'own', 'acme')).toEqual(['Violation: own']);
    const other = await gate.ask('PUT', '/policies/own.rego?tenant=acme', {
      body: denies('more'),
      expected_current_version: 1,
      ...by,
    });
    expect(other.status).toBe(200);
    expect(await reasonsOf(gate, 'more', 'acme')).toEqual(['Violation: more']);
    expect(await readiness(gate)).toEqual([200, expect.any(Number)]);
    file.close();
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

  it('validates no text that OPA would open an address or a file for', async () => {
    const gate = await replica(places().SQLite);
    const asked: string[] = [];
    const server = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    for (const ref of [`http://127.0.0.1:${port}/x`, import.meta.url, `${import.meta.url}.missing`]) {
      const body = rego(
        `# METADATA\n# schemas:\n#   - input: {"$ref": "${ref}"}\ndeny contains "x" if input.arguments.path == "a"`,
      );
      expect(
        (await gate.ask('POST', '/policies/validate', { name: 'a.rego', content_type: 'rego', body })).body,
      ).toEqual({
        ok: false,
        error: expect.objectContaining({ message: expect.stringMatching(/^METADATA names schemas;/), line: 5 }),
      });
    }
    await new Promise((resolve) => server.close(resolve));
    expect(asked).toEqual([]);
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
    // Reads that are not there: a typing error, of which only the document that is in force says so.
    await gate.ask('POST', '/policies', { name: 'ceilings.json', content_type: 'json', body: '{"most": 1}', ...by });
    const over = (mount: string) => rego(`deny contains "Violation: much" if input.arguments.amount > ${mount}.most`);
    for (const mount of [
      'data.gate.ceilings',
      'data.gate.pii_egress',
      'data.gate.money_arguments',
      'input.tool_classes',
    ])
      expect(await said('a.rego', 'rego', over(mount))).toEqual({ ok: true });
    for (const mount of ['data.gate.ceilngs', 'data.gate["ceilngs"]'])
      expect(await said('a.rego', 'rego', over(mount))).toMatchObject({
        ok: true,
        warnings: ['line 5 reads data.gate.ceilngs, and there is no document ceilngs.json: what needs it never holds'],
      });
    const imported = over('limits').replace('import rego.v1', 'import data.gate.limits\nimport rego.v1');
    expect(await said('a.rego', 'rego', imported)).toMatchObject({
      warnings: [expect.stringContaining('gate.limits')],
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
    // Deleted, it comes back as it ships, behind its versions; its document too.
    await gate.ask('DELETE', '/policies/pii_egress.rego', { expected_current_version: 4, ...by });
    await gate.ask('DELETE', '/policies/pii_egress.json', { expected_current_version: 2, ...by });
    expect((await gate.judge('send_email', letter)).allow).toBe(true);
    // What was deleted for everybody is in no tenant's way.
    expect(await gate.ask('POST', `${PII}/install?tenant=acme`, { ...by, parameters: {} })).toMatchObject({
      status: 200,
    });
    expect((await gate.judge('send_email', { ...letter, tenant: 'acme' })).allow).toBe(false);
    expect(await gate.ask('POST', `${PII}/install`, { ...by, parameters: inside })).toMatchObject({
      status: 200,
      body: { version: 6, body_sha256: sha256Hex(shown.body), event_kind: 'policy.installed_from_template' },
    });
    expect((await gate.ask('GET', '/policies/pii_egress.json')).body).toMatchObject({ current_version: 4 });
    expect((await gate.judge('send_email', outside)).allow).toBe(false);
    expect((await gate.judge('send_email', letter)).allow).toBe(true);
  });

  it('are installed on the document that is meant alone, and nothing is stored where that is another one', async () => {
    const gate = await replica(places().SQLite);
    const parameters = { internal_domains: ['acme.example'] };
    const install = (on: object, query = '') =>
      gate.ask('POST', `${PII}/install${query}`, { ...by, parameters, ...on });
    const refused = { status: 409, body: { error: 'version_conflict' } };
    expect(await install({ expected_document_version: 1 })).toMatchObject(refused);
    const document = { name: 'pii_egress.json', content_type: 'json', body: '{}', ...by };
    const made = await gate.ask('POST', '/policies', document);
    const { body_sha256: digest } = made.body as unknown as { body_sha256: string };
    const conflicts = [
      { expected_document_version: null },
      { expected_document_version: 2 },
      { expected_document_version: 1, expected_document_sha256: 'a'.repeat(64) },
    ];
    // What is in force for everybody is what a tenant installs it with.
    for (const query of ['', '?tenant=acme'])
      for (const on of conflicts) expect(await install(on, query)).toMatchObject(refused);
    expect((await gate.ask('GET', '/policies/pii_egress.json')).body).toMatchObject({ current_version: 1 });
    expect((await gate.ask('GET', '/policies/pii_egress.rego')).status).toBe(404);
    const meant = { expected_document_version: 1, expected_document_sha256: digest };
    expect((await install(meant, '?tenant=acme')).status).toBe(200);
    // Switched off for everybody, it is in nobody's way; one that is off and the tenant's own is there.
    await gate.ask('POST', '/policies/pii_egress.json/deactivate', { expected_current_version: 1, ...by });
    expect((await install({ expected_document_version: null }, '?tenant=globex')).status).toBe(200);
    expect(await install({ expected_document_version: null })).toMatchObject(refused);
    expect((await install({ expected_document_version: 2 })).status).toBe(200);
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

describe('a store that was put back', () => {
  const document = (name: string, body: object) => ({ name, content_type: 'json', body: JSON.stringify(body), ...by });
  const second = (gate: Replica, at: number) =>
    gate.ask('PUT', '/policies/a.json', { body: JSON.stringify({ at }), expected_current_version: 1, ...by });

  it('has its changes told in the ledger, also under the number of a version that the ledger has from before', async () => {
    const file = join(folder, 'put-back.db');
    const before = await replica({ file });
    await before.ask('POST', '/policies', document('a.json', {}));
    await eventually('the row', () => rows.length === 1);
    const store = new DatabaseSync(file);
    store.exec(`vacuum into '${file}.backup'`);
    store.close();
    await second(before, 1);
    await eventually('the row', () => rows.length === 2);
    await open.pop()?.close();

    const after = await replica({ file: `${file}.backup` });
    await second(after, 2);
    await after.ask('POST', '/policies', document('b.json', {}));
    await eventually('the rows', () => rows.length === 4);
    expect(rows.map(({ policy_decision: of }) => [of?.['name'], of?.['version']])).toEqual([
      ['a.json', 1],
      ['a.json', 2],
      ['a.json', 2],
      ['b.json', 1],
    ]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(4);
  });

  it('sends what waits under the id that it was stored with, which an earlier Gate made in another way', async () => {
    const file = join(folder, 'earlier-rows.db');
    const gate = await replica({ file });
    ledgerFault = new Error('away');
    await gate.ask('POST', '/policies', document('a.json', {}));
    const earlier = '6f0c2a51-0000-4000-8000-000000000001';
    const store = new DatabaseSync(file);
    const [waits] = store.prepare('select * from policy_outbox').all() as { content: string; mac: string }[];
    const content = JSON.stringify({ ...JSON.parse(waits?.content ?? ''), id: earlier });
    const mac = policySealing(POLICY_KEYS).macOf('policy_outbox', { ...waits, content } as never);
    store.prepare('update policy_outbox set content = ?, mac = ?').run(content, mac);
    store.close();
    ledgerFault = null;
    await eventually('the row', () => rows.length === 1);
    expect(rows).toMatchObject([{ id: earlier, policy_decision: { name: 'a.json', version: 1 } }]);
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
    for (const table of [
      'policy_state',
      'policies',
      'policy_versions',
      'policy_modules',
      'policy_sets',
      'policy_outbox',
    ])
      store.exec(`update ${table} set mac = null`);
    store.exec('drop table policy_past_sets; drop table policy_seal');
    store.exec("delete from kysely_migration where name in ('0002-past-sets', '0005-macs')");
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
      warnings: [],
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

describe('rules that people\u2019s approvals suggest', () => {
  const TOOL = 'file_ticket';
  /** Somebody's decision of a call: two agents, three people, a working week. */
  const decision = (seq: number, decided: DecidedCall['decided'], args: object, over: object = {}): DecidedCall => {
    const agent = seq % 2 === 0 ? 'acme/desk' : 'acme/mail';
    return {
      seq,
      at: `2026-11-${String(10 + (seq % 5)).padStart(2, '0')}T09:00:00.000Z`,
      correlation_id: `00000000-0000-4000-8000-${String(seq).padStart(12, '0')}`,
      agent_id: agent.slice('acme/'.length),
      tool: TOOL,
      decided,
      people: [`operator:${['ana', 'bo', 'cem'][seq % 3]}`],
      input: call(TOOL, { agent_id: agent, method: 'tools/call', upstream: 'desk', arguments: args, ...over }) as never,
    };
  };
  const approvals = (first: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      decision(first + at, 'approved', { queue: 'billing', priority: 1 + (Math.floor(at / 6) % 3) }),
    );
  const source = (rows: DecidedCall[], over: Partial<DecisionSource> = {}): DecisionSource => ({
    async decidedPage({ after = 0, limit, tool, tenant, from, to }) {
      const page = rows
        .filter((row) => row.seq > after && (tool ?? row.tool) === row.tool && tenant === 'acme')
        .filter(({ at }) => (from ?? '') <= at && (to === undefined || at < to))
        .slice(0, Math.min(limit, 15));
      return { rows: page, next: page.at(-1)?.seq ?? null };
    },
    verify: async () => ({ valid: true, entries_checked: rows.length, first_invalid_seq: null }),
    ...over,
  });
  const mine = async (gate: Replica, body: object = {}, query = '?tenant=acme') => {
    const payload = { since: '2026-11-01T00:00:00Z', until: '2026-11-30T00:00:00Z', ...body };
    const reply = await gate.service.app.inject({ method: 'POST', url: `/policies/mine${query}`, payload });
    if (reply.statusCode !== 200) return { error: (JSON.parse(reply.body) as Said).error, result: null };
    const last = JSON.parse(reply.body.trim().split('\n').at(-1) as string) as MineLine;
    return { error: 'error' in last ? last.error.code : null, result: 'result' in last ? last.result : null };
  };
  const suggestions = async (gate: Replica) => {
    const { body } = await gate.ask('GET', '/policies/suggestions?tenant=acme');
    return (body as unknown as { suggestions: MinedSuggestion[] }).suggestions;
  };
  const judged = (gate: Replica, args: object, more: object = {}) =>
    gate.judge(TOOL, {
      tenant: 'acme',
      agent_id: 'acme/desk',
      method: 'tools/call',
      upstream: 'desk',
      arguments: args,
      ...more,
    });
  const CLASSED = { tool_classes: { [TOOL]: { class: 'change' } } };
  it.each([
    ['SQLite', () => ({ file: join(folder, 'kept.db') })],
    ['Postgres', () => ({ url: postgres.url, schema: 'kept' })],
  ] as const)('are kept until a newer one or a denial takes their place, on %s', async (_, target) => {
    const store = await openPolicyStore(target(), POLICY_KEYS);
    const kept = (id: string, more: Partial<KeptSuggestion> = {}): KeptSuggestion => ({
      id,
      tenant: 'acme',
      tool: TOOL,
      rule_name: `mined_${id}.rego`,
      body: 'package gate.authz',
      body_sha256: 'f'.repeat(64),
      facts: MINED_FACTS,
      withdrawn_why: null,
      checked_seq: 5,
      created_at: '2026-11-30T00:00:00Z',
      ...more,
    });
    const of = async (tenant = 'acme') =>
      (await store.suggestions(tenant)).map(({ id, withdrawn_why, checked_seq }) => [id, withdrawn_why, checked_seq]);
    const newer = kept('b', { created_at: '2026-11-30T00:00:01Z' });
    await store.keepSuggestions('acme', [kept('a'), newer], []);
    await store.keepSuggestions('other', [kept('c', { tenant: 'other' })], ['a']);
    expect(await store.suggestions('acme')).toEqual([newer, kept('a')]);
    await store.withdrawSuggestion('acme', 'a', 'row 7');
    await store.withdrawSuggestion('acme', 'a', 'row 8');
    await store.withdrawSuggestion('acme', 'c', 'row 8');
    await store.checkedSuggestions('acme', ['b', 'c'], 9);
    await store.checkedSuggestions('acme', ['b'], 4);
    expect(await of()).toEqual([
      ['b', null, 9],
      ['a', 'row 7', 5],
    ]);
    expect(await of('other')).toEqual([['c', null, 5]]);
    // Found again: it was looked at no further for that, and in a window that ends earlier less far.
    await store.keepSuggestions('acme', [kept('b', { checked_seq: 300 })], []);
    expect(await of()).toContainEqual(['b', null, 9]);
    await store.keepSuggestions('acme', [kept('b', { checked_seq: 7 })], []);
    expect(await of()).toContainEqual(['b', null, 7]);
    // What was withdrawn stays so, and is not overtaken either.
    await store.keepSuggestions('acme', [kept('a', { checked_seq: 12 })], ['a', 'b']);
    expect(await of()).toEqual([['a', 'row 7', 5]]);
    await store.close();
  });

  it('are told with what speaks for them, put in force by a person, and withdrawn by one denial', async () => {
    const people = [
      ...approvals(1, 30),
      decision(31, 'approved', { queue: 'billing', priority: 9 }),
      decision(32, 'denied', { queue: 'payroll', priority: 1 }),
      decision(33, 'changed', { queue: 'billing', priority: 9 }),
      ...Array.from({ length: 25 }, (_, at) =>
        decision(40 + at, 'approved', { amount: 5 }, { tool_type: 'wire_transfer' }),
      ).map((row) => ({ ...row, tool: 'wire_transfer' })),
    ];
    const gate = await replica({ file: join(folder, 'mined.db') }, {}, null, source(people));
    const { result } = await mine(gate);
    expect(result).toMatchObject({ approvals: 56, denials: 1, changed: 1, candidates_dropped: 0 });
    const [found] = (result?.candidates ?? []) as [MinedSuggestion];
    expect(found).toMatchObject({
      tool: TOOL,
      state: 'proposed',
      one_liner: 'file_ticket of 2 agents: would have passed 30 of 31 approvals and 0 of 2 denials',
      evidence: {
        approvals: { passed: 30, of: 31 },
        denials: { passed: 0, of: 2 },
        class_alone: { approvals: 31, denials: 2 },
        days: 5,
        approvers: 3,
        agents: 2,
      },
      parts: [
        {
          upstream: 'desk',
          agents: ['acme/desk', 'acme/mail'],
          approvals: 30,
          arguments: [
            { pointer: '/priority', is: { one_of: [1, 2, 3] } },
            { pointer: '/queue', is: { equals: 'billing' } },
          ],
        },
      ],
      examples: { waits: [{ correlation_id: people[30]?.correlation_id }], denied: [{}, {}] },
    });
    // What the rules that ship ask a person about, no rule that is added makes unnecessary.
    expect(result?.left).toMatchObject([{ tool: 'wire_transfer', why: 'rules_ask', approvals: 25 }]);
    expect(result?.candidates).toHaveLength(1);
    // Nothing is in force.
    expect(await suggestions(gate)).toEqual([found]);
    expect(await judged(gate, { queue: 'payroll', priority: 1 }, CLASSED)).toMatchObject({ allow: true });

    const install = (id: string) => gate.ask('POST', `/policies/suggestions/${id}/install?tenant=acme`, by);
    expect(await install(found.id)).toMatchObject({
      status: 200,
      body: { name: found.rule_name, event_kind: 'policy.created', active: true },
    });
    expect(await suggestions(gate)).toMatchObject([{ id: found.id, state: 'installed' }]);
    // It lets nothing run by itself; with the class, what people approved, and nothing else.
    expect(await judged(gate, { queue: 'billing', priority: 2 })).toMatchObject({ allow: false, reasons: [] });
    expect(await judged(gate, { queue: 'billing', priority: 2 }, CLASSED)).toMatchObject({ allow: true });
    for (const [args, more] of [
      [{ queue: 'payroll', priority: 2 }, {}],
      [{ queue: 'billing', priority: 4 }, {}],
      [{ queue: 'billing', priority: 2.5 }, {}],
      [{ queue: 'billing', priority: '2' }, {}],
      [{ queue: 'billing', priority: 2, note: 'x' }, {}],
      [{ queue: 'billing' }, {}],
      [{ queue: 'billing', priority: 2 }, { agent_id: 'acme/other' }],
      [{ queue: 'billing', priority: 2 }, { upstream: 'elsewhere' }],
    ] as const)
      expect(await judged(gate, args, { ...CLASSED, ...more })).toMatchObject({ allow: false, reasons: [] });

    // Somebody denies a call of its kind, of whatever agent.
    people.push(decision(90, 'denied', { queue: 'billing', priority: 2 }, { agent_id: 'acme/third' }));
    expect(await suggestions(gate)).toMatchObject([
      {
        state: 'withdrawn',
        state_why: expect.stringContaining('00000000-0000-4000-8000-000000000090'),
        in_force: true,
        next_step: expect.stringContaining(' review --reason '),
      },
    ]);
    expect((await install(found.id)).body.error).toBe('suggestion_withdrawn');
    // Mined anew, nothing that was withdrawn comes back.
    expect((await mine(gate)).result?.candidates).toEqual([]);
  }, 60_000);

  it('are withdrawn by a denial that nobody looked at before they were mined again in a later window', async () => {
    const people = approvals(1, 30);
    const gate = await replica({ file: join(folder, 'mined-later.db') }, {}, null, source(people));
    const [found] = ((await mine(gate)).result?.candidates ?? []) as [MinedSuggestion];
    people.push(
      decision(31, 'denied', { queue: 'billing', priority: 2 }),
      ...approvals(41, 30).map((row) => ({ ...row, at: row.at.replace('-11-1', '-11-2') })),
    );
    const again = await mine(gate, { since: '2026-11-18T00:00:00Z' });
    expect(again.result?.candidates).toMatchObject([
      { id: found.id, state: 'withdrawn', state_why: expect.stringContaining('was denied') },
    ]);
    const { body } = await gate.ask('POST', `/policies/suggestions/${found.id}/install?tenant=acme`, by);
    expect(body.error).toBe('suggestion_withdrawn');
  }, 60_000);

  it.each([
    ['its definition changed', { class: 'change', suspended: 'definition_changed' }],
    ['an operator left the tool to people', { class: 'strict' }],
  ])(
    'are withdrawn once %s, by an approval too',
    async (_why, fact) => {
      const people = approvals(1, 30);
      const gate = await replica({ file: join(folder, `mined-${fact.class}.db`) }, {}, null, source(people));
      const [found] = ((await mine(gate)).result?.candidates ?? []) as [MinedSuggestion];
      people.push(decision(90, 'approved', { queue: 'payroll' }, { tool_classes: { [TOOL]: fact } }));
      expect(await suggestions(gate)).toMatchObject([
        { id: found.id, state: 'withdrawn', state_why: expect.stringContaining('the tool changed since') },
      ]);
      const { body } = await gate.ask('POST', `/policies/suggestions/${found.id}/install?tenant=acme`, by);
      expect(body.error).toBe('suggestion_withdrawn');
    },
    60_000,
  );

  it('are not given, kept or installed where the ledger cannot be trusted or asked', async () => {
    const people = approvals(1, 30);
    let [valid, away] = [true, false];
    const ledger = source(people, {
      verify: async () =>
        away
          ? Promise.reject(new GateError('ledger_store_unavailable', 'away'))
          : { valid, entries_checked: 1, first_invalid_seq: valid ? null : 1 },
    });
    const gate = await replica({ file: join(folder, 'mined2.db') }, {}, null, ledger);
    valid = false;
    expect(await mine(gate)).toMatchObject({ error: 'chain_verification_incomplete', result: null });
    expect(await suggestions(gate)).toEqual([]);
    valid = true;
    const [found] = ((await mine(gate)).result?.candidates ?? []) as [MinedSuggestion];
    for (const [code, set] of [
      ['ledger_store_unavailable', () => (away = true)],
      ['chain_verification_incomplete', () => ([valid, away] = [false, false])],
    ] as const) {
      set();
      expect(await suggestions(gate)).toMatchObject([{ id: found.id, state: 'unchecked' }]);
      const { body } = await gate.ask('POST', `/policies/suggestions/${found.id}/install?tenant=acme`, by);
      expect(body.error).toBe(code);
    }
    const { body } = await gate.ask('GET', '/policies?tenant=acme');
    expect(body.policies.some(({ name }) => name === found.rule_name)).toBe(false);
  }, 60_000);

  it('are of one tenant, and refused where they cannot be', async () => {
    const gate = await replica({ file: join(folder, 'mined3.db') }, {}, null, source(approvals(1, 30)));
    expect((await mine(gate, {}, '')).error).toBe('invalid_request');
    expect((await mine(gate, { since: 'yesterday' })).error).toBe('invalid_window');
    expect((await mine(gate, {}, '?tenant=other')).result).toMatchObject({ candidates: [], left: [] });
    const [found] = ((await mine(gate, { max_candidates: 1 })).result?.candidates ?? []) as [MinedSuggestion];
    const { body } = await gate.ask('POST', `/policies/suggestions/${found.id}/install?tenant=other`, by);
    expect(body.error).toBe('not_found');
    const none = await replica({ file: join(folder, 'mined4.db') });
    expect((await mine(none)).error).toBe('store_unavailable');
  }, 60_000);
});
