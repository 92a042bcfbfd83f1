import { APPROVERS } from '../support/approvers.js';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createAgentLimits } from '../../api/proxy/agent-limits.js';
import { correlationIdOf, createCallHandler, type ToolCallRequest } from '../../api/proxy/calls.js';
import type { JsonObject } from '../../contracts/json.js';
import type { HeldRows } from '../../contracts/ledger.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { createDecisions } from '../../domain/review/decisions.js';
import type { DecisionSender } from '../../domain/review/ports.js';
import { createInProcessRunner } from '../../lite/in-process-runner.js';
import { type ActivityPorts, createActivities, type GateActivities } from '../../workers/activities.js';
import { type Counted, type CountedCalls, countedCalls, countedCallsInFile } from '../support/counted-calls.js';
import { DECISION_KEYS, openPipeline, type PipelineFixture } from '../support/pipeline-fixture.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { ENGINE_START_LIMIT_MS } from '../support/engine.js';
import { TEST_PAYLOAD_KEYS } from '../support/engine-keys.js';
import { eventually } from '../support/waiting.js';
import { openWorkflowEnvironment, type WorkflowEnvironment } from '../support/workflow-environment.js';
import { historyOf } from '../../workers/history.js';
import type { CallRunner } from '../../domain/call/call-runner.js';

const KEYS = keyRing(new Map([['records', Buffer.alloc(32, 1)]]));

interface Host extends CallRunner, DecisionSender {
  /** Resolves when the call, with its rows, is over. */
  ended(id: string): Promise<unknown>;
  /** Resolves when the call waits for a person and nothing else. */
  waits(id: string): Promise<unknown>;
}
type Road = 'deny' | 'allow' | 'decision' | 'park' | 'approval';
interface Edition {
  /** What each road asks for, all in all, from the request to its rows. */
  readonly costs: Readonly<Record<Road, Counted>>;
  open(folder: string, ledger: HeldRows): Promise<CountedCalls>;
  host(calls: CountedCalls['calls'], activities: GateActivities): Host;
}
let postgres: TestPostgres;
let schemas = 0;
/** The product's workflow, over whichever activities the edition of the moment has. */
let engine: WorkflowEnvironment;
let atWork: GateActivities;
const inWorkflows = (_calls: unknown, activities: GateActivities): Host => {
  atWork = activities;
  const last = async (id: string) => (await historyOf(engine.client, id, TEST_PAYLOAD_KEYS)).at(-1);
  return {
    ...engine.runner,
    ...engine.sender,
    ended: (id) => eventually('the call has ended', async () => (await last(id))?.status === 'completed'),
    waits: (id) =>
      eventually('the call waits in its run', async () => (await last(id))?.steps.some(({ step }) => step === 'waits')),
  };
};
/** The look of the request that finds no record yet, and one before anything runs or is decided: steps hand on what they opened. */
const FULL: Edition['costs'] = {
  deny: { looks: 1, histories: 1, statements: 10, records: 0, requests: 0, macs: 0 },
  allow: { looks: 2, histories: 1, statements: 14, records: 1, requests: 0, macs: 1 },
  decision: { looks: 1, histories: 1, statements: 10, records: 0, requests: 0, macs: 0 },
  park: { looks: 1, histories: 1, statements: 11, records: 0, requests: 0, macs: 0 },
  approval: { looks: 2, histories: 1, statements: 10, records: 3, requests: 0, macs: 2 },
};
/** Beside them the lock that keeps two replicas from counting one agent at once. */
const LOCKED = (cost: Counted): Counted => ({ ...cost, statements: cost.statements + 1 });
const LITE: Edition['costs'] = {
  deny: { looks: 1, histories: 0, statements: 9, records: 0, requests: 0, macs: 0 },
  allow: { looks: 1, histories: 0, statements: 12, records: 0, requests: 0, macs: 0 },
  decision: { looks: 1, histories: 0, statements: 9, records: 0, requests: 0, macs: 0 },
  park: { looks: 1, histories: 0, statements: 10, records: 0, requests: 0, macs: 0 },
  approval: { looks: 0, histories: 0, statements: 7, records: 0, requests: 0, macs: 0 },
};
const EDITIONS: Readonly<Record<string, Edition>> = {
  'the full edition on SQLite': {
    costs: FULL,
    open: (folder, ledger) => countedCalls({ file: join(folder, 'counted.db') }, KEYS, ledger),
    host: inWorkflows,
  },
  'the full edition on Postgres': {
    costs: {
      deny: LOCKED(FULL.deny),
      allow: LOCKED(FULL.allow),
      decision: LOCKED(FULL.decision),
      park: LOCKED(FULL.park),
      approval: FULL.approval,
    },
    open: (_folder, ledger) => countedCalls({ url: postgres.url, schema: `counted_${(schemas += 1)}` }, KEYS, ledger),
    host: inWorkflows,
  },
  lite: {
    costs: LITE,
    open: (folder) => countedCallsInFile(join(folder, 'counted.db'), KEYS),
    host: (calls, activities) => {
      const runner = createInProcessRunner({ calls, activities, logger: pino({ level: 'silent' }) });
      return { ...runner, ended: () => runner.idle(), waits: () => Promise.resolve() };
    },
  },
};

beforeAll(async () => {
  postgres = await startPostgres();
  const first = await openPipeline();
  atWork = first.activities;
  engine = await openWorkflowEnvironment(() => atWork);
  await first.close();
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await postgres.stop();
});

describe.each(Object.entries(EDITIONS))('what a call asks of its store, %s', (_name, edition) => {
  let gate: PipelineFixture;
  let counted: CountedCalls;
  let host: Host;
  let settled: number;
  let handle: (contract: ToolCallRequest['contract'], args?: JsonObject) => Promise<{ id: string; status: number }>;

  beforeEach(async () => {
    let ports: ActivityPorts | undefined;
    gate = await openPipeline({ compose: (given) => ((ports = given), createActivities(given)) });
    if (!ports) throw new Error('not composed');
    const { reviews } = ports;
    settled = 0;
    counted = await edition.open(gate.folder, gate.ledger);
    const { calls } = counted;
    const activities = createActivities({
      ...ports,
      calls,
      reviews: { ...reviews, settle: (given) => ((settled += 1), reviews.settle(given)) },
    });
    host = edition.host(calls, activities);
    const refusals = () => Promise.resolve();
    const limits = { controls: 0, replays: 0, replayedBytes: 0, streams: 0 };
    const handler = createCallHandler({
      calls,
      runner: host,
      ledger: gate.ledger,
      mode: 'enforce',
      velocity: { limit: 100, windowMs: 60_000 },
      callDeadlineMs: 10_000,
      upstreamTimeoutMs: 5_000,
      ttlSecs: { auto: 120, standard: 600, strict: 1_800 },
      maxInFlight: 10,
      limits: createAgentLimits({ limits, refusals, onLimited: () => undefined, now: Date.now }),
      refusals,
    });
    handle = async (contract, args = { path: 'a.txt' }) => {
      const { body, call } = gate.unstaged({ arguments: args });
      const caller = {
        kind: 'agent' as const,
        spiffe: call.agent_spiffe,
        callerId: call.agent,
        fingerprint: call.credential_fingerprint,
        tenant: call.tenant,
        agent: call.agent,
      };
      const request: ToolCallRequest = {
        caller,
        mcp: { kind: 'tool', method: call.method, tool: call.tool, body },
        contract,
        idempotencyId: randomUUID(),
        callbackUrl: null,
      };
      const id = correlationIdOf(request);
      return { id, status: (await handler.handle(request, id)).status };
    };
    // What the store does when it is opened, and the first history of an agent, belong to no call.
    await host.ended((await handle('gate.server-execution/v1')).id);
    counted.taken();
  });
  afterEach(async () => {
    await counted.calls.close();
    await gate.close();
  });

  it.each<[Road, 'red' | 'green', ToolCallRequest['contract']]>([
    ['deny', 'red', 'gate.server-execution/v1'],
    ['allow', 'green', 'gate.server-execution/v1'],
    ['decision', 'green', 'gate.decision/v1'],
  ])('%s', async (road, tier, contract) => {
    gate.script.tier = tier;
    await host.ended((await handle(contract)).id);
    expect(counted.taken()).toEqual(edition.costs[road]);
  });

  it('what its agent read, only where the call names a value that may come from there', async () => {
    gate.script.tier = 'red';
    await host.ended((await handle('gate.server-execution/v1', { path: 'a.txt', to: 'ada@bank.example' })).id);
    const { statements } = edition.costs.deny;
    expect(counted.taken()).toEqual({ ...edition.costs.deny, statements: statements + 1 });
  });

  it('park, and the approval that lets it run', async () => {
    gate.script.tier = 'yellow';
    const { id } = await handle('gate.server-execution/v1');
    await host.waits(id);
    expect(counted.taken()).toEqual(edition.costs.park);
    const decide = createDecisions({
      reviews: {
        ...gate.reviews,
        settling: { ...gate.reviews.settling, settle: (given) => ((settled += 1), gate.reviews.settle(given)) },
      },
      sender: host,
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      observe: () => undefined,
    });
    const shown = await decide({
      id,
      tenant: 'acme',
      decision: 'approve',
      reason: null,
      decided_via: 'console',
      principal: (tenant) => ({
        subject: 'operator:dev',
        tenant,
        method: 'console-bearer',
        credential: 'token',
        credential_kind: 'console-bearer',
      }),
      request_id: randomUUID(),
    });
    await host.ended(id);
    expect(counted.taken()).toEqual(edition.costs.approval);
    expect(settled).toBe(1);
    expect(shown).toEqual(await gate.reviews.get(shown.id));
    expect(shown).toMatchObject({ status: 'approved', decided_by: 'operator:dev' });
  });
});
