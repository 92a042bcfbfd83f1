import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthority } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { tenantWarrantCheck, tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { createTenantActivities } from '../../activities/tenants.js';
import type { StepId, TenantOperation, TenantWarrant } from '../../contracts/tenant-lifecycle.js';
import { GateError } from '../../domain/errors.js';
import { createTenantLifecycle, type TenantLifecycle } from '../../domain/identity/tenant-lifecycle.js';
import { identityMigrations } from '../../migrations/identity.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import {
  openWorkflowEnvironment,
  TASK_QUEUE,
  type WorkflowEnvironment,
} from '../../test/support/workflow-environment.js';
import { eventually } from '../../test/support/waiting.js';
import { driveTenantOperations } from '../../workers/tenant-operations.js';
import { tenantsForEngine } from '../../workers/worker.js';
import { tenantLifecycleIdOf } from './messages.js';

describe.each(STORES)('an operation on a tenant, by the engine and a store of identity on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  let engine: WorkflowEnvironment;
  let lifecycle: TenantLifecycle;
  let driving: ReturnType<typeof driveTenantOperations>;
  /** What owners were asked for, in their order. */
  let asked: string[];
  /** What the next questions come to, by step, before it is done. */
  let failing: Map<string, (Error | (() => Promise<never>))[]>;
  let ca: string;
  /** Has the ledger take what identity tells. */
  let telling: () => Promise<void>;
  /** What identity is, at the next times that it is told what came of a step: away before it heard that, or after. */
  let away: ('before' | 'after')[];
  /** Calls that have not ended. */
  let atTool: string | null = null;

  const isAway = () => new GateError('control_state_unavailable', 'it is away');
  const owner = (name: 'policy-engine' | 'hil' | 'ledger') => async (warrant: TenantWarrant) => {
    const { tenant, operation_id, step_id } = tenantWarrantCheck(() => ca, name)(warrant);
    asked.push(step_id);
    const fault = failing.get(step_id)?.shift();
    if (fault instanceof Error) throw fault;
    if (fault) await fault();
    return { tenant, operation_id, state: 'done' };
  };

  beforeAll(async () => {
    const authority = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 86_400_000),
    });
    ca = authority.cert;
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys);
    await store.bundleSequence('first');
    lifecycle = createTenantLifecycle({
      store,
      clock: Date.now,
      signWarrant: tenantWarrantSigner(authority.cert, authority.key),
      told: () => telling(),
      toldLimitMs: 200,
      // No proxy tells what was running.
      reportLimitMs: 0,
    });
    const activities = createTenantActivities({
      identity: {
        driven: (id) => lifecycle.driven(id),
        drive: (id) => lifecycle.drive(id),
        async complete(id, { step_id, ...said }) {
          const fault = away.shift();
          if (fault === 'before') throw isAway();
          const heard = await lifecycle.drivenComplete(id, step_id, said);
          if (fault === 'after') throw isAway();
          return heard;
        },
      },
      takers: { 'policy-engine': owner('policy-engine'), hil: owner('hil'), ledger: owner('ledger') },
      calls: { atTool: () => Promise.resolve(atTool), forgetDecoyHits: () => Promise.resolve() },
      heard: {
        position: () => Number.MAX_SAFE_INTEGER,
        agentFault: ({ tenant }) => (tenant.startsWith('going') ? new GateError('tenant_suspended') : null),
      },
    });
    engine = await openWorkflowEnvironment(() => ({}) as never, {
      also: tenantsForEngine(activities) as Readonly<Record<string, (...args: never[]) => Promise<unknown>>>,
    });
  }, ENGINE_START_LIMIT_MS);
  afterAll(async () => {
    await engine?.close();
    await store?.close();
    await place?.remove();
  });
  beforeEach(() => {
    asked = [];
    failing = new Map();
    away = [];
    atTool = null;
    telling = () => Promise.resolve();
    driving = driveTenantOperations({
      client: engine.client,
      taskQueue: TASK_QUEUE,
      due: () => lifecycle.due(),
      onFault: () => undefined,
      lookMs: 50,
    });
    driving.begin();
  });
  afterEach(() => driving.stop());

  const begin = async (what: TenantOperation['kind'], tenant: string): Promise<TenantOperation> =>
    (
      await lifecycle.begin({
        tenant,
        kind: what,
        confirm: tenant,
        reason: 'the contract',
        idempotencyKey: 'once',
        by: 'operator:dev',
      })
    ).operation;
  const reached = (operation: TenantOperation, state: TenantOperation['state']): Promise<TenantOperation> =>
    eventually(`${operation.tenant} is ${state}`, async () => {
      const now = await lifecycle.operation(operation.id, operation.tenant);
      return now.state === state && now;
    });
  /** The runs of an operation, as the engine lists them. */
  async function replayed(operation: TenantOperation): Promise<string> {
    const handle = engine.client.workflow.getHandle(tenantLifecycleIdOf(operation.id));
    const status = await eventually('the run ended', async () => {
      const { status: now } = await handle.describe();
      return now.name !== 'RUNNING' && now.name;
    });
    await engine.replay(await handle.fetchHistory());
    return status;
  }
  it('has every step done by its owner, in its order, each once', async () => {
    const coming = await reached(await begin('provision', 'coming'), 'succeeded');
    expect(asked).toEqual(['policy_namespace', 'hil_namespace', 'ledger_lifecycle_marker']);
    expect(await replayed(coming)).toBe('COMPLETED');
    asked = [];
    const going = await reached(await begin('offboard', 'going'), 'succeeded');
    expect(asked).toEqual(['policy_namespace', 'hil_namespace', 'ledger_final_export', 'ledger_tombstone']);
    expect(going.steps.every(({ attempts }) => attempts === 1)).toBe(true);
    expect(await replayed(going)).toBe('COMPLETED');
  });

  it('tries a step again whose owner is away, after the pauses of the table', async () => {
    failing.set('policy_namespace', [isAway(), isAway()]);
    const operation = await reached(await begin('provision', 'patient'), 'succeeded');
    expect(operation.steps.map(({ attempts }) => attempts)).toEqual([1, 1, 3, 1, 1, 1]);
    expect(await replayed(operation)).toBe('COMPLETED');
  });

  it.each([['before'], ['after']] as const)(
    'has nothing wait for a lease where identity is away %s it heard what came of a step',
    async (when) => {
      away = [when, when, when];
      const operation = await reached(await begin('provision', `heard-${when}`), 'succeeded');
      expect(operation.steps.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 1]);
      expect(asked).toEqual(['policy_namespace', 'hil_namespace', 'ledger_lifecycle_marker']);
      expect(await replayed(operation)).toBe('COMPLETED');
    },
  );

  it('ends as failed where a person has to look, and goes on in another run when he has it taken up again', async () => {
    failing.set('hil_namespace', [new GateError('operation_conflict', 'a later one')]);
    const begun = await begin('offboard', 'going-slowly');
    const halted = await reached(begun, 'manual_recovery');
    expect(halted.steps[4]).toMatchObject({ attempts: 1, last_error: 'operation_conflict: a later one' });
    expect(await replayed(begun)).toBe('FAILED');
    await lifecycle.retry(begun.id, {
      tenant: begun.tenant,
      stepId: 'hil_namespace' satisfies StepId,
      by: 'operator:dev',
    });
    await reached(begun, 'succeeded');
    expect(await replayed(begun)).toBe('COMPLETED');
    expect(asked.filter((step) => step === 'hil_namespace')).toHaveLength(2);
  });

  it('exports a tenant once no call of it is at its tool, and says meanwhile what it waits for', async () => {
    atTool = 'a-call';
    const begun = await begin('offboard', 'going-at-its-tool');
    const handle = engine.client.workflow.getHandle(tenantLifecycleIdOf(begun.id));
    const said = await eventually('the run says it', async () => {
      const { currentDetails } = await handle
        .query<{ currentDetails?: string }>('__temporal_workflow_metadata')
        .catch(() => ({ currentDetails: undefined }));
      return currentDetails?.includes('a-call') && currentDetails;
    });
    expect(said).toContain('call a-call of tenant going-at-its-tool is still at its tool');
    expect(asked).not.toContain('ledger_final_export');
    atTool = null;
    const { steps } = await reached(begun, 'succeeded');
    expect(steps[5]).toMatchObject({ id: 'ledger_final_export', attempts: 1 });
    expect(await replayed(begun)).toBe('COMPLETED');
  });

  it.each([
    [
      'refuses its rows',
      () => Promise.reject(new GateError('ledger_entry_conflict', 'other content')),
      'other content',
    ],
    ['does not answer', () => new Promise<void>(() => undefined), 'within 200 ms'],
  ])('waits with pauses, and without an attempt, where the ledger %s', async (what, tell, why) => {
    let asks = 0;
    telling = () => {
      asks += 1;
      return tell();
    };
    const begun = await begin('provision', what === 'does not answer' ? 'unheard' : 'refused');
    const step = await eventually('it is tried several times', async () => {
      const { steps } = await lifecycle.operation(begun.id, begun.tenant);
      return asks >= 3 && steps[5];
    });
    expect(step).toMatchObject({ state: 'pending', attempts: 0 });
    expect(step.last_error).toContain(why);
    const { history } = await engine.client.workflow
      .getHandle(tenantLifecycleIdOf(begun.id))
      .fetchHistory()
      .then((all) => ({ history: all.events ?? [] }));
    // A pause before each further try.
    expect(history.filter(({ timerStartedEventAttributes: timer }) => timer).length).toBeGreaterThanOrEqual(2);
    telling = () => Promise.resolve();
    const { steps } = await reached(begun, 'succeeded');
    expect(steps[5]).toMatchObject({ attempts: 1, last_error: null });
    expect(await replayed(begun)).toBe('COMPLETED');
  });

  it('goes on by itself where somebody terminated its run in the middle', async () => {
    let arrived: () => void = () => undefined;
    const isThere = new Promise<void>((resolve) => (arrived = resolve));
    failing.set('policy_namespace', [
      () => {
        arrived();
        return Promise.reject(isAway());
      },
    ]);
    const begun = await begin('provision', 'stubborn');
    await isThere;
    await engine.client.workflow.getHandle(tenantLifecycleIdOf(begun.id)).terminate('for a test');
    const done = await reached(begun, 'succeeded');
    expect(done.steps[2]?.attempts).toBe(2);
  });
});
