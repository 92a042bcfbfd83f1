import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../../contracts/route-authority.js';
import { policyDecision } from '../../contracts/policy.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { registeredRoutes } from '../plugins/caller-authority.js';
import type { Service } from '../plugins/service.js';
import { createPolicyService } from './app.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';

const ordinary = {
  tool_type: 'list_files',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0.1,
  current_time: '2026-11-18T10:00:00Z',
};
let policies: PolicySet;
let registry: Registry;
let service: Service;
let callerId: string;

beforeAll(async () => {
  policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
});
beforeEach(() => {
  callerId = 'service-proxy';
  registry = new Registry();
  start(policies);
});
const start = (set: PolicySet): void => {
  service = createPolicyService({
    policies: set,
    registry,
    logger: pino({ level: 'silent' }),
    trustDomain: 'gate.local',
    resolveCaller: () => ({
      kind: 'service',
      spiffe: `spiffe://gate.local/${callerId.replace('-', '/')}`,
      callerId,
      fingerprint: 'f'.repeat(64),
    }),
  });
};
afterEach(() => service.close());

/** A machine that is busy may take longer than an input has, which is no decision; asking again is safe. */
async function evaluate(payload: unknown, tries = 8): Promise<Awaited<ReturnType<Service['app']['inject']>>> {
  const reply = await service.app.inject({
    method: 'POST',
    url: '/evaluate',
    headers: { 'content-type': 'application/json' },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });
  const isLate = reply.statusCode === 503 && reply.body.includes('took longer than');
  return isLate && tries > 1 ? evaluate(payload, tries - 1) : reply;
}
const metric = async (line: string): Promise<boolean> => (await registry.metrics()).split('\n').includes(line);

describe('POST /evaluate', () => {
  it.each([
    ['green', 'list_files', true],
    ['yellow', 'wire_transfer', false],
    ['red', 'delete_file', false],
  ])('answers a %s call with the whole decision', async (tier, tool_type, allow) => {
    const reply = await evaluate({ ...ordinary, tool_type });
    expect(reply.statusCode).toBe(200);
    const decision = reply.json();
    expect(policyDecision.parse(decision)).toEqual(decision);
    expect(decision.allow).toBe(allow);
    expect(decision.reasons.length > 0).toBe(tier === 'red');
    expect(decision.review_reasons.length > 0).toBe(tier === 'yellow');
    expect(await metric(`gate_policy_engine_evaluations_total{tier="${tier}"} 1`)).toBe(true);
  });

  it('answers as the set itself does', async () => {
    const input = { ...ordinary, tool_type: 'wire_transfer', arguments: { amount: 1.5, nested: { a: [null, true] } } };
    expect((await evaluate(input)).json()).toEqual(policies.evaluate(input));
  });

  it.each([
    ['a missing field', { ...ordinary, intent_score: undefined }],
    ['a wrong type', { ...ordinary, agent_history: 'none' }],
    ['no object', 'null'],
    ['an array', '[]'],
    ['broken JSON', '{"tool_type":'],
    ['nothing', ''],
  ])('answers %s with 400 policy_input_invalid', async (_name, payload) => {
    const reply = await evaluate(payload);
    expect(reply.statusCode).toBe(400);
    expect(reply.json()).toMatchObject({ error: 'policy_input_invalid', correlation_id: expect.any(String) });
  });

  it('lets the console and the proxy ask, and nobody else', async () => {
    for (const [caller, status] of [
      ['service-console', 200],
      ['service-proxy', 200],
      ['service-brain', 403],
      ['agent-workload', 403],
    ] as const) {
      callerId = caller;
      const reply = await evaluate(ordinary);
      expect([caller, reply.statusCode]).toEqual([caller, status]);
      if (status === 403) expect(reply.json()).toMatchObject({ error: 'capability_denied' });
    }
  });
});

describe('GET /policies', () => {
  const listed = async (set: PolicySet = policies) => {
    if (set !== policies) {
      await service.close();
      registry = new Registry();
      start(set);
    }
    callerId = 'service-console';
    const reply = await service.app.inject({ method: 'GET', url: '/policies' });
    expect(reply.statusCode).toBe(200);
    return reply.json();
  };

  it('lists the files of the loaded set, with what their rules say of themselves', async () => {
    const { bundle, origin, policies: rows } = await listed();
    expect(bundle).toEqual(policies.bundle);
    expect(origin).toEqual({ ...policies.origin, directory: shippedPolicyDirectory() });
    expect(Date.now() - Date.parse(origin.loaded_at)).toBeLessThan(600_000);
    expect(rows.map((row: { name: string }) => row.name)).toEqual(policies.files.map((file) => file.name));
    const money = rows.find((row: { name: string }) => row.name === 'money.rego');
    expect(money).toMatchObject({
      content_type: 'rego',
      active: true,
      protected: true,
      as_shipped: true,
      tier: 'review',
      summary: expect.stringContaining('Money'),
      package: 'gate.authz',
      body_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(money.rules).toContainEqual({
      rule: 'review',
      line: expect.any(Number),
      title: expect.any(String),
      description: expect.any(String),
      reason: expect.stringMatching(/^Review: .*[Ww]ire/),
    });
  });

  it('gives the text of one of them, in which a rule begins at its line, and to nobody who may not list them', async () => {
    const { policies: rows } = await listed();
    const listedRow = rows.find((row: { name: string }) => row.name === 'money.rego');
    const file = await service.app.inject({ method: 'GET', url: '/policies/money.rego' });
    const { current_body: body, current_body_sha256: digest, ...row } = file.json();
    expect([row, digest]).toEqual([{ ...listedRow, not_in_force: null, takes_no_change: null }, listedRow.body_sha256]);
    expect(body).toBe(policies.files.find(({ name }) => name === 'money.rego')?.body);
    for (const { line } of row.rules) expect(body.split('\n')[line - 1]).toMatch(/^(?:# METADATA|deny|review|[a-z_]+)/);
    const status = async (url: string) => (await service.app.inject({ method: 'GET', url })).statusCode;
    expect([await status('/policies/none.rego'), await status('/policies/..%2Fdata.json')]).toEqual([404, 404]);
    callerId = 'service-proxy';
    expect(await status('/policies/money.rego')).toBe(403);
  });

  it('says by itself how the engine stands to what is stored, and to nobody who may not list', async () => {
    const standing = () => service.app.inject({ method: 'GET', url: '/policies/standing?tenant=acme' });
    callerId = 'service-console';
    const reply = await standing();
    expect([reply.statusCode, reply.json()]).toEqual([200, { not_in_force: null, takes_no_change: null }]);
    callerId = 'service-proxy';
    expect((await standing()).statusCode).toBe(403);
  });

  it('gives the reason of every rule that denies or asks', async () => {
    const rows: { rules: { rule: string; reason: string | null }[] }[] = (await listed()).policies;
    const verdicts = rows.flatMap(({ rules }) => rules).filter(({ rule }) => rule === 'deny' || rule === 'review');
    const heads = policies.files.flatMap(({ body }) =>
      body.split('\n').filter((line) => /^(?:deny|review) contains /.test(line)),
    );
    expect(verdicts).toHaveLength(heads.length);
    for (const { rule, reason } of verdicts) expect(reason).toMatch(rule === 'deny' ? /^Violation: / : /^Review: /);
  });

  it('tells another set from the one that ships', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gate-policies-'));
    try {
      await cp(shippedPolicyDirectory(), folder, { recursive: true });
      const data = join(folder, 'data.json');
      await writeFile(data, (await readFile(data, 'utf8')).replace('"limit": 100', '"limit": 99'));
      const other = await loadPolicySet({ directory: folder });
      const { bundle, origin, policies: rows } = await listed(other);
      expect(bundle.hash_sha256).toBe(other.bundle.hash_sha256);
      expect(bundle.hash_sha256).not.toBe(policies.bundle.hash_sha256);
      expect(origin.directory).toBe(folder);
      const changed = rows.filter((row: { as_shipped: boolean }) => !row.as_shipped);
      expect(changed.map((row: { name: string }) => row.name)).toEqual(['data.json']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('reads the files again where they could not be read: one failed read keeps nobody from the list until a restart', async () => {
    await service.close();
    registry = new Registry();
    let isBroken = true;
    start({
      ...policies,
      get files() {
        if (isBroken) throw new Error('too many open files');
        return policies.files;
      },
    });
    callerId = 'service-console';
    const status = async () => (await service.app.inject({ method: 'GET', url: '/policies' })).statusCode;
    expect(await status()).toBe(500);
    isBroken = false;
    expect(await status()).toBe(200);
  });

  it('is not for the proxy', async () => {
    expect((await service.app.inject({ method: 'GET', url: '/policies' })).statusCode).toBe(403);
  });
});

describe('the routes of the policy engine', () => {
  it('are the rows of the authority table, less those not built yet', async () => {
    await service.app.ready();
    const rows = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES]
      .filter((row) => row.service === 'policy-engine' && row.built)
      .map(routeName);
    expect(registeredRoutes(service.app).map(routeName).toSorted()).toEqual(rows.toSorted());
  });
});

describe('what operators watch', () => {
  it('counts a tool no rule knows under its name, and bounds the names', async () => {
    await evaluate({ ...ordinary, tool_type: 'frobnicate' });
    expect(await metric('gate_policy_engine_unknown_tool_total{tool="frobnicate"} 1')).toBe(true);
    const letters = 'bcdfghjklm';
    for (const a of letters) for (const b of letters) await evaluate({ ...ordinary, tool_type: `zz${a}${b}z` });
    const lines = (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('gate_policy_engine_unknown_tool_total{'));
    expect(lines).toHaveLength(101);
    expect(await metric('gate_policy_engine_unknown_tool_total{tool="other"} 1')).toBe(true);
  });

  it('does not count a tool it knows', async () => {
    await evaluate(ordinary);
    expect(await registry.metrics()).not.toContain('gate_policy_engine_unknown_tool_total{');
  });

  it('counts budget denials and times every evaluation', async () => {
    await evaluate({ ...ordinary, budget_micros: 1, cumulative_spend_micros: 1 });
    expect(await metric('gate_policy_engine_budget_denials_total 1')).toBe(true);
    expect(await metric('gate_policy_engine_evaluation_seconds_count 1')).toBe(true);
    expect(await metric('gate_policy_engine_evaluation_failures_total 0')).toBe(true);
  });

  it('is ready with the hash of the set it serves', async () => {
    const reply = await service.health.inject({ method: 'GET', url: '/readyz' });
    expect(reply.statusCode).toBe(200);
    expect(reply.json().details.storage).toBe(policies.bundle.hash_sha256);
  });

  it('is not ready when its set can judge nothing', async () => {
    await service.close();
    registry = new Registry();
    start({
      ...policies,
      ready: () => {
        throw new Error('policy evaluation failed: instantiate');
      },
    });
    const reply = await service.health.inject({ method: 'GET', url: '/readyz' });
    expect([reply.statusCode, reply.json().checks.storage]).toEqual([503, 'failed']);
  });
});
