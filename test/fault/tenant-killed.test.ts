import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import type { StepId, TenantOperation } from '../../contracts/tenant-lifecycle.js';
import { TENANT_STEPS } from '../../domain/identity/tenant-operations.js';
import { createHttp, type Http } from '../support/agent.js';
import { seededRandom } from '../support/random.js';
import { type SeparateStack, startSeparateStack } from '../support/separate-stack.js';
import { STACK_START_LIMIT_MS } from '../support/stack.js';
import { timePasses } from '../support/waiting.js';

/** Each of them has a tenant of its own, and is killed twice in each of its steps. */
const PROCESSES = ['identity', 'worker', 'policy-engine', 'hil', 'ledger', 'proxy'] as const;
const TENANTS = PROCESSES.map((name) => `of-${name}`);
const AGENTS = 20;
const OPERATION_LIMIT_MS = 600_000;

const tokenOf = (tenant: string): string => `${tenant}-0123456789abcdefghijklmnopqrstuvwxyz`;
const OPERATORS = {
  GATE_HIL_OPERATORS_FILE: '',
  GATE_HIL_OPERATORS: TENANTS.map((tenant) => `dev@${tenant}:${tokenOf(tenant)}`).join(','),
};
/** Those that read who operators are. */
const more = (name: string): NodeJS.ProcessEnv => (['identity', 'hil'].includes(name) ? OPERATORS : {});

let stack: SeparateStack;
let identity: Http;
let database: pg.Client;
beforeAll(async () => {
  stack = await startSeparateStack();
  for (const name of ['identity', 'hil']) {
    await stack.killed(name);
    await stack.back(name, more(name));
  }
  identity = createHttp(stack.development.identity.url, {
    ca: stack.file('operator', 'ca.crt'),
    cert: stack.file('operator', 'console.crt'),
    key: stack.file('operator', 'console.key'),
  });
  database = new pg.Client({ connectionString: stack.postgres.url });
  await database.connect();
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await database?.end();
  await identity?.close();
  await stack?.stop();
}, 60_000);

async function ask<T>(tenant: string, method: 'GET' | 'POST', path: string, body?: object, headers = {}): Promise<T> {
  for (;;) {
    // Identity itself is killed meanwhile.
    const reply = await identity
      .request(method, path, {
        headers: { authorization: `Bearer ${tokenOf(tenant)}`, ...headers },
        ...(body && { body: body as never }),
      })
      .catch(() => null);
    if (reply && reply.status < 300) return JSON.parse(reply.text) as T;
    if (reply && reply.status < 500) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    await timePasses(100, 'until it is there again');
  }
}

/** What a second time would show: rows of the chain, by kind. */
async function rowsOf(tenant: string): Promise<Readonly<Record<string, number>>> {
  const { rows } = await database.query<{ event_kind: string; count: string }>(
    `select event_kind, count(*) from gate_ledger.ledger_entries
      where tenant = $1 or policy_decision::jsonb ->> 'tenant' = $1 group by event_kind`,
    [tenant],
  );
  return Object.fromEntries(rows.map(({ event_kind: kind, count }) => [kind, Number(count)]));
}

it.each(PROCESSES)(
  'kill -9 of %s twice in each step: the tenant has gone whole, and nothing was done twice',
  async (name) => {
    const tenant = `of-${name}`;
    const { next: random } = seededRandom(`kill -9 of ${name} while a tenant goes`);
    for (let agent = 0; agent < AGENTS; agent += 1)
      await ask(tenant, 'POST', '/agents', { tenant, agent_name: `bot-${agent}` });
    const path = `/tenants/${tenant}/lifecycle`;
    let operation = await ask<TenantOperation>(
      tenant,
      'POST',
      path,
      { kind: 'offboard', confirm: tenant, reason: 'the contract ended' },
      { 'idempotency-key': 'once' },
    );
    const kills = new Map<StepId, number>();
    let retries = 0;
    const deadline = Date.now() + OPERATION_LIMIT_MS;
    while (operation.state !== 'succeeded') {
      if (Date.now() > deadline) throw new Error(`it did not end: ${JSON.stringify(operation.steps)}`);
      const step = operation.steps.find(({ state }) => state !== 'succeeded');
      if (step?.state === 'manual_recovery') {
        retries += 1;
        await ask(tenant, 'POST', `${path}/${operation.id}/steps/${step.id}/retry`, {});
      } else if (step && (kills.get(step.id) ?? 0) < 2) {
        kills.set(step.id, (kills.get(step.id) ?? 0) + 1);
        await timePasses(random() * 120, 'the kill comes at any moment of the step');
        await stack.killed(name);
        await stack.back(name, more(name));
      } else await timePasses(50, 'until the next look');
      const before = operation;
      operation = await ask<TenantOperation>(tenant, 'GET', `${path}/${operation.id}`);
      // What is done stays done, in its order.
      for (const [at, { state, receipt_sha256: receipt }] of before.steps.entries())
        if (state === 'succeeded') expect(operation.steps[at]).toMatchObject({ state, receipt_sha256: receipt });
    }
    process.stderr.write(`${name}: killed at ${JSON.stringify([...kills])}, taken up again ${retries} times\n`);
    expect(operation.steps.map(({ id, state }) => [id, state])).toEqual(
      TENANT_STEPS.offboard.map(({ id }) => [id, 'succeeded']),
    );
    // The row of its end follows by a moment.
    while (!('tenant.operation_succeeded' in (await rowsOf(tenant)))) await timePasses(100, 'until the next look');
    expect(await rowsOf(tenant)).toMatchObject({
      'agent.registered': AGENTS,
      'agent.decommissioned': AGENTS,
      'stop.set': 1,
      'tenant.operation_started': 1,
      'tenant.offboarded': 1,
      'tenant.operation_succeeded': 1,
    });
    const { rows } = await database.query<{ kind: string; count: string }>(
      'select kind, count(*) from gate_ledger.tenant_lifecycle where tenant = $1 group by kind order by kind',
      [tenant],
    );
    expect(rows.map(({ kind, count }) => [kind, Number(count)])).toEqual([
      ['final_export', 1],
      ['tombstone', 1],
    ]);
  },
  OPERATION_LIMIT_MS + 60_000,
);
