import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WorkflowNotFoundError } from '@temporalio/client';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { readHilConfig } from '../../config/hil.js';
import { type CarriedDecision, pendingRequest } from '../../contracts/review.js';
import { type Vouched, vouchingText } from '../../domain/review/vouching.js';
import { eventually } from '../../test/support/waiting.js';
import type { Opened } from '../plugins/declaration.js';
import type { Service } from '../plugins/service.js';
import { open } from './open.js';

const DAY_MS = 86_400_000;
const DEV = 'dev-token-0123456789abcdefghijklmnop';
const ADA = 'ada-token-0123456789abcdefghijklmnop';
const CONSOLE = 'console-token-0123456789abcdefghijkl';
/** Each is another value than the default. */
const SETTINGS = {
  GATE_HIL_OPERATORS: `dev@acme:${DEV},ada@acme:${ADA}`,
  GATE_HIL_DECIDE_TOKEN: CONSOLE,
  GATE_HIL_VOUCHED_SECS: '60',
  GATE_HIL_AGENT_OWNERS: 'ada@acme:payments-agent,oidc:eve%2Cthe%252Cfirst@acme:payments-agent',
  GATE_CONSOLE_URL: 'https://console.example',
  GATE_HIL_PASSKEY_REQUIRED: 'strict',
  GATE_HIL_DECISION_LINK_TTL_SECS: '120',
  GATE_HIL_SIMULATOR_TENANT: 'sandbox',
  GATE_HIL_MAX_REHEARSALS: '1',
  GATE_HIL_BODY_LIMIT_BYTES: '4096',
  GATE_HIL_DECISION_LIFE_SECS: '3',
  GATE_HIL_QUORUM_STRICT: '5',
  GATE_HIL_QUORUM_RISKY: '3',
  GATE_HIL_QUORUM_DESTRUCTIVE: '4',
  GATE_HIL_RETENTION_SWEEP_SECS: '1',
  GATE_HIL_SLA_ESCALATE_FRACTION: '0.25',
  GATE_REVIEW_MAX_PARKED_CALLS: '2',
};

describe('HIL, opened with settings of its own', () => {
  const realNow = Date.now;
  let aheadMs: number;
  let folder: string;
  let steps: (() => Promise<unknown>)[];
  let service: Service;
  let registry: Registry;
  const swept = async (): Promise<number> =>
    (await registry.getSingleMetric('gate_hil_retention_sweeps_total')?.get())?.values.find(
      ({ labels }) => labels['outcome'] === 'done',
    )?.value ?? 0;
  /** What reached the engine, and how it answers. */
  let sent: CarriedDecision[];
  let settled: unknown[];
  let over: boolean;

  beforeEach(async () => {
    aheadMs = 0;
    // The service takes the machine's clock.
    Date.now = () => realNow() + aheadMs;
    [steps, sent, settled, over] = [[], [], [], false];
    folder = await mkdtemp(join(tmpdir(), 'gate-hil-settings-'));
  });
  afterEach(async () => {
    await service.close();
    for (const step of steps) await step();
    Date.now = realNow;
    await rm(folder, { recursive: true, force: true });
  });

  const client = {
    withDeadline: (_at: number, work: () => Promise<unknown>) => work(),
    workflow: {
      getHandle: (id: string) => ({
        executeUpdate(_update: unknown, { args: [decision] }: { args: [CarriedDecision] }) {
          if (over) return Promise.reject(new WorkflowNotFoundError('over', id, undefined));
          sent.push(decision);
          const { principal, decided_at: at } = decision;
          const approvals = [{ by: principal.subject, provenance: principal.method, at }];
          return Promise.resolve({ applied: true, settled: null, approvals });
        },
      }),
      execute(type: string, { args, taskQueue }: { args: unknown[]; taskQueue: string }) {
        settled.push([type, taskQueue, ...args]);
        return Promise.resolve(true);
      },
    },
  };
  const engine = {
    client,
    circuit: { away: () => null, assertUp: () => undefined, whileUp: (work: Promise<unknown>) => work },
    settings: { taskQueue: 'calls' },
  };

  async function opened(env: Record<string, string> = SETTINGS): Promise<void> {
    const decisionKeyFile = join(folder, 'decision.pem');
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(decisionKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const own = readHilConfig({
      GATE_HIL_PAYLOAD_KEYS: `test:${'0123456789abcdef'.repeat(4)}`,
      GATE_HIL_DECISION_KEY_FILE: decisionKeyFile,
      GATE_HIL_SESSION_KEY: '89abcdef01234567'.repeat(4),
      ...env,
    });
    registry = new Registry();
    const opening = {
      config: { own, notifications: { notificationMode: 'disabled', notificationTenants: [] } },
      shared: { engine: () => Promise.resolve(engine) },
      storeTarget: () => ({ file: join(folder, 'hil.db') }),
      onStop: (_phase: string, _what: string, step: () => Promise<unknown>) => void steps.unshift(step),
      logger: pino({ level: 'silent' }),
      registry,
      together: true,
      trustDomain: 'gate.local',
      resolveCaller: ({ headers }: { headers: Record<string, string> }) => ({
        kind: 'service',
        spiffe: `spiffe://gate.local/service/${headers['x-test-caller']}`,
        callerId: `service-${headers['x-test-caller']}`,
        fingerprint: 'cd'.repeat(32),
      }),
    };
    const hil: Opened<unknown> = await open(opening as unknown as Parameters<typeof open>[0]);
    const listener = hil.listener?.();
    if (!listener) throw new Error('it has no listener');
    service = listener.service as Service;
  }

  interface Asked {
    readonly as?: string;
    readonly tenant?: string | null;
    readonly token?: string;
    readonly person?: Vouched;
    readonly body?: object;
  }
  async function ask(
    method: 'GET' | 'POST' | 'DELETE',
    url: string,
    { as = 'console', tenant = 'acme', token, person, body }: Asked = {},
  ) {
    const { statusCode, body: text } = await service.app.inject({
      method,
      url,
      headers: {
        'x-test-caller': as,
        ...(tenant !== null && { 'x-gate-tenant-scope': tenant }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(person && { authorization: `Bearer ${CONSOLE}`, 'x-gate-decision-principal': vouchingText(person) }),
      },
      ...(body && { payload: body }),
    });
    return { status: statusCode, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
  }

  const CALLS = {
    safe: { name: 'read_file', arguments: { path: 'notes.txt' } },
    risky: { name: 'run_command', arguments: { command: 'touch notes.txt' } },
    destructive: { name: 'run_command', arguments: { command: 'rm -rf /srv/data' } },
  } as const;
  async function asking(of: keyof typeof CALLS, more: Record<string, unknown> = {}) {
    const params = CALLS[of];
    const report = (await loadAnalyzer())('tools/call', params);
    expect(report.severity).toBe(of);
    return ask('POST', '/pending', {
      as: 'proxy',
      body: {
        agent_id: randomUUID(),
        correlation_id: randomUUID(),
        method: 'tools/call',
        request_payload: { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
        risk_summary: 'a look is wanted',
        state_namespace: 'operator',
        ttl_seconds: 400,
        created_at: new Date(Date.now()).toISOString(),
        approval_tier: 'standard',
        sandbox_report: report,
        tenant: 'acme',
        ...more,
      },
    });
  }
  async function parked(of: keyof typeof CALLS = 'safe', more: Record<string, unknown> = {}) {
    const { status, body } = await asking(of, more);
    expect({ status, body }).toMatchObject({ status: 201 });
    return body as { id: string; correlation_id: string; created_at: string };
  }
  const decide = (id: string, decision: object, by: Asked) =>
    ask('POST', `/decide/${id}`, { ...by, body: { decision: 'approve', ...decision } });
  const eve: Vouched = {
    subject: 'oidc:eve,the%2Cfirst',
    tenant: 'acme',
    method: 'oidc',
    role: 'approver',
    since_ms: 1,
    until_ms: null,
  };
  const bob: Vouched = { ...eve, subject: 'oidc:bob' };

  it('lets nobody approve a call of an agent of his own, also under a name with a comma', async () => {
    await opened();
    const { id } = await parked('risky', { agent_id: 'payments-agent' });
    for (const by of [{ token: ADA }, { person: eve }])
      expect(await decide(id, {}, by)).toMatchObject({ status: 403, body: { error: 'own_request' } });
    expect(sent).toEqual([]);
    expect(await decide(id, {}, { token: DEV })).toMatchObject({ status: 200 });
    expect(sent[0]?.standing_approvers).toEqual(['operator:dev']);
  });

  it("holds the console's word about a person for as long as it is set", async () => {
    await opened();
    const { id } = await parked('risky');
    await decide(id, {}, { person: bob });
    aheadMs = 55_000;
    await decide(id, {}, { token: DEV });
    aheadMs = 61_000;
    await decide(id, {}, { token: ADA });
    expect(sent.map(({ standing_approvers: standing }) => standing)).toEqual([
      ['operator:dev', 'operator:ada', 'oidc:bob'],
      ['operator:dev', 'operator:ada', 'oidc:bob'],
      ['operator:dev', 'operator:ada'],
    ]);
  });

  it('asks for a passkey where one is required, of the console whose address is set', async () => {
    await opened();
    const [strict, other] = [await parked('safe', { approval_tier: 'strict' }), await parked()];
    expect(await decide(strict.id, {}, { token: DEV })).toMatchObject({ body: { error: 'passkey_required' } });
    expect(await decide(other.id, {}, { token: DEV })).toMatchObject({ status: 200 });
    const begun = await ask('POST', '/auth/register/start', { token: DEV, body: {} });
    expect(begun).toMatchObject({ status: 200 });
    expect(JSON.stringify(begun.body)).toContain('"id":"console.example"');
  });

  it('asks for none by default', async () => {
    const { GATE_HIL_PASSKEY_REQUIRED: _, ...others } = SETTINGS;
    await opened(others);
    const { id } = await parked('safe', { approval_tier: 'strict' });
    expect(await decide(id, {}, { token: DEV })).toMatchObject({ status: 200 });
  });

  it('gives a link to a decision the time and the address that are set', async () => {
    await opened();
    const { id } = await parked();
    const before = Math.floor(Date.now() / 1000);
    const { body } = await ask('GET', `/pending/${id}/decision-link?action=approve`, { token: DEV });
    const seconds = Date.parse(String(body['expires_at'])) / 1000 - before;
    expect(seconds).toBeGreaterThanOrEqual(120);
    expect(seconds).toBeLessThan(150);
    expect(body['url']).toMatch(/^https:\/\/console\.example\//);
  });

  it('signs a decision for as long as it may take', async () => {
    await opened();
    await decide((await parked()).id, {}, { token: DEV });
    const [{ decided_at, not_after } = { decided_at: '', not_after: '' }] = sent;
    expect(Date.parse(not_after) - Date.parse(decided_at)).toBe(3_000);
  });

  it('asks for as many people as the tier and the predicted effect need, and signs a change for the effects that one person may approve', async () => {
    await opened();
    const needed = async (of: keyof typeof CALLS, tier: string) => {
      const { id } = await parked(of, { approval_tier: tier });
      return (await ask('GET', `/pending/${id}`)).body['required_approvers'];
    };
    expect([await needed('safe', 'strict'), await needed('risky', 'standard')]).toEqual([5, 3]);
    expect(await needed('destructive', 'standard')).toBe(4);
    const { id } = await parked();
    const modification_diff = {
      contract: 'gate.hil.modification-diff/v1',
      replacements: [{ path: ['path'], value: 'b' }],
    };
    await decide(id, { decision: 'modify', modification_diff }, { token: DEV });
    expect(sent).toMatchObject([{ decision: 'modify', approvable_effects: ['safe'] }]);
    // Under the same floors a call that needs several people is changed by nobody.
    const several = await parked('risky');
    expect(await decide(several.id, { decision: 'modify', modification_diff }, { token: DEV })).toMatchObject({
      status: 422,
      body: { error: 'modify_under_quorum' },
    });
    expect(sent).toHaveLength(1);
  });

  it('escalates a row at the shares of its time that are set, and not at all where that is 0', async () => {
    await opened();
    const escalatesAt = async () => {
      const { id, created_at } = await parked();
      const { escalates_at: at, escalates_again_at: again = [] } = pendingRequest.parse(
        (await ask('GET', `/pending/${id}`)).body,
      );
      return [at, ...again].map((time) =>
        typeof time === 'string' ? Date.parse(time) - Date.parse(created_at) : null,
      );
    };
    expect(await escalatesAt()).toEqual([100_000]);
    for (const [set, times] of [
      ['0', [null]],
      ['0.25, 0.5,0.99', [100_000, 200_000, 396_000]],
    ] as const) {
      await service.close();
      for (const step of steps.splice(0)) await step();
      await opened({ ...SETTINGS, GATE_HIL_SLA_ESCALATE_FRACTION: set });
      expect(await escalatesAt()).toEqual(times);
    }
  });

  it('lets one agent have as many calls waiting as are set, and reads no larger body', async () => {
    await opened();
    for (let n = 0; n < 2; n += 1) await parked('safe', { agent_id: 'busy' });
    expect(await asking('safe', { agent_id: 'busy' })).toMatchObject({ body: { error: 'review_backlog_full' } });
    expect(await asking('safe', { risk_summary: 'x'.repeat(4_096) })).toMatchObject({ status: 413 });
  });

  it('has as many reviews without a call as are set', async () => {
    await opened();
    const agent_spiffe = 'spiffe://gate.local/service/simulator';
    await parked('safe', { agent_spiffe });
    expect(await asking('safe', { agent_spiffe })).toMatchObject({
      status: 429,
      body: { error: 'review_backlog_full', scope: 'rehearsals' },
    });
    await parked();
  });

  it('lets the simulator see its tenant alone', async () => {
    await opened();
    await parked('safe', { tenant: 'acme' });
    expect(await ask('GET', '/pending', { as: 'simulator', tenant: null })).toMatchObject({ status: 200, body: [] });
  });

  it('looks as often as is set for what is past its date', async () => {
    await opened();
    const { id } = await parked();
    const since = performance.now();
    // A clock that jumps by more than a week is doubted.
    for (const days of [4, 8]) {
      aheadMs = days * DAY_MS;
      const before = await swept();
      await eventually('it is looked twice', async () => (await swept()) >= before + 2);
    }
    expect((await ask('GET', `/pending/${id}`)).body).toMatchObject({
      request_payload: { canonical_payload_sha256: expect.any(String) },
    });
    // By default it would take a minute.
    expect(performance.now() - since).toBeLessThan(20_000);
  });

  it('has the row of a call that is over settled by a worker, on the queue that is set', async () => {
    await opened();
    const { id, correlation_id } = await parked();
    over = true;
    expect(await decide(id, {}, { token: DEV })).toMatchObject({ status: 409, body: { error: 'not_pending' } });
    expect(settled).toEqual([['settleRow', 'calls', correlation_id]]);
  });
});
