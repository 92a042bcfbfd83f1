import { randomBytes } from 'node:crypto';
import type { ErrorCodeName } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';
import type {
  DrivenTenantOperation,
  DrivenTenantStep,
  DueTenantOperation,
  ListedTenantOperation,
  StepOwner,
  TenantOperation,
  TenantOperationKind,
  TenantStepClaimed,
  TenantStepCompletion,
  TenantWarrant,
  TenantWarrantContent,
} from '../../contracts/tenant-lifecycle.js';
import { sha256Hex } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { soonToldTo } from '../ledger/soon-told.js';
import {
  assertLease,
  claimed,
  completed,
  held,
  type KeptOperation,
  type KeptStep,
  nextStep,
  retried,
  shownOperation,
  stepOf,
  waitMs,
} from './tenant-operations.js';
import type { Doing, FencedTenant, KnownTenant, TenantStore } from './tenant-store.js';
import { uuidV7 } from './uuid-v7.js';

export interface TenantLifecycleOptions {
  readonly store: TenantStore;
  readonly clock: () => number;
  readonly signWarrant: (content: TenantWarrantContent) => Promise<TenantWarrant>;
  /** Resolves when the ledger has every row that identity has stored. */
  readonly told: () => Promise<void>;
  /** How long that is waited for at a claim; 3,000 by default, which is less than the worker waits for its claim. */
  readonly toldLimitMs?: number;
  /** How long the report of a stop is waited for; 60,000 by default. */
  readonly reportLimitMs?: number;
}

export interface Asked {
  readonly tenant: string;
  readonly kind: TenantOperationKind;
  readonly confirm: string;
  readonly reason: string;
  readonly idempotencyKey: string;
  readonly by: string;
}

/** Tenants that come and go, as people and the driver ask for it (docs/architecture/tenants.md). */
export interface TenantLifecycle {
  begin(asked: Asked): Promise<{ readonly operation: TenantOperation; readonly isNew: boolean }>;
  operation(id: string, tenant: string): Promise<TenantOperation>;
  operations(tenant: string): Promise<readonly ListedTenantOperation[]>;
  claim(
    id: string,
    of: { readonly tenant: string; readonly stepId: string; readonly owner: StepOwner; readonly by: string },
  ): Promise<TenantStepClaimed>;
  complete(
    id: string,
    of: { readonly tenant: string; readonly stepId: string; readonly by: string },
    said: TenantStepCompletion,
  ): Promise<TenantOperation>;
  retry(
    id: string,
    of: { readonly tenant: string; readonly stepId: string; readonly by: string },
  ): Promise<TenantOperation>;
  /** The fence alone, under the lease of its step; without a reason, for that of the operation. */
  fence(
    id: string,
    of: {
      readonly tenant: string;
      readonly leaseToken: string;
      readonly by: string;
      readonly reason?: string | undefined;
    },
  ): Promise<FencedTenant>;

  due(): Promise<readonly DueTenantOperation[]>;
  driven(id: string): Promise<DrivenTenantOperation>;
  /** Claims the next step for whoever has it done, with the word of identity that it is wanted. */
  drive(id: string): Promise<DrivenTenantStep>;
  drivenComplete(id: string, stepId: string, said: TenantStepCompletion): Promise<DrivenTenantOperation>;
}

/** So long identity itself works at a step: its lease is longer, and so is who waits for the answer. */
const OWN_LIMIT_MS = 20_000;

/** A report is made within seconds; where no proxy asks identity, none is. */
const REPORT_LIMIT_MS = 60_000;
const TOLD_LIMIT_MS = 3_000;

/** As whom the worker moves an operation. What identity does in its course is done for whoever began it. */
export const DRIVER = 'gate-worker';
/** Why a claim is refused where another driver was first, or its attempts are used up: what stands then says which. */
const STANDS: ReadonlySet<ErrorCodeName> = new Set(['lease_held', 'retry_not_due', 'manual_recovery', 'step_not_next']);

export function createTenantLifecycle({
  store,
  clock,
  signWarrant,
  told,
  toldLimitMs = TOLD_LIMIT_MS,
  reportLimitMs = REPORT_LIMIT_MS,
}: TenantLifecycleOptions): TenantLifecycle {
  const doingOf = ({ id, tenant, actor_sub, reason }: KeptOperation, by: string, why = reason): Doing => ({
    operationId: id,
    tenant,
    by: by === DRIVER ? actor_sub : by,
    reason: why,
    nowMs: clock(),
  });

  /** What identity itself does in a step of its own; repeated, it comes to the same. */
  async function ownReceipt(operation: KeptOperation, step: KeptStep, by: string): Promise<JsonObject> {
    const doing = doingOf(operation, by);
    const untilMs = clock() + OWN_LIMIT_MS;
    if (step.id === 'tenant_record') return shownTenant(await store.recordTenant(doing));
    if (step.id === 'authority_fence') {
      const fenced = await store.fenceTenant(doing, clock, untilMs);
      return {
        ...shownTenant(fenced),
        agents_decommissioned: fenced.agentsDecommissioned,
        budget_cleared: fenced.isBudgetCleared,
      };
    }
    if (operation.kind === 'provision') {
      const { bundleSequence, ...known } = await store.confirmKeys(operation.tenant);
      return { ...shownTenant(known), bundle_sequence: bundleSequence };
    }
    const { certificatesRevoked, ...known } = await store.retireKeys(doing, clock, untilMs);
    return { ...shownTenant(known), certificates_revoked: certificatesRevoked };
  }

  /** What is exported or hidden has in it what identity told of the tenant before. */
  async function assertTold({ tenant }: KeptOperation): Promise<void> {
    if (await store.hasOpenReport(tenant, clock() - reportLimitMs))
      throw new GateError(
        'operation_unfinished',
        'what was running when the tenant was stopped is still to be reported',
      );
    await soonToldTo(told(), toldLimitMs);
  }

  async function claimOf(
    operation: KeptOperation,
    of: { readonly stepId: string; readonly owner: StepOwner; readonly by: string },
  ): Promise<{ readonly operation: KeptOperation; readonly step: KeptStep; readonly leaseToken: string }> {
    if (of.owner === 'ledger')
      try {
        await assertTold(operation);
      } catch (error) {
        await store.moveOperation(operation.id, of.by, (now) => ({
          operation: held(now, of.stepId, errorText(error), clock()),
        }));
        throw error;
      }
    const leaseToken = randomBytes(32).toString('base64url');
    const stored = await store.moveOperation(operation.id, of.by, (now) =>
      claimed(now, { ...of, leaseSha256: sha256Hex(leaseToken), nowMs: clock() }),
    );
    return { operation: stored, step: stepOf(stored, of.stepId), leaseToken };
  }

  async function completionOf(
    operation: KeptOperation,
    { stepId, by }: { readonly stepId: string; readonly by: string },
    { lease_token, outcome, receipt, error }: TenantStepCompletion,
  ): Promise<KeptOperation> {
    const leaseSha256 = sha256Hex(lease_token);
    const step = assertLease(operation, stepId, leaseSha256, clock());
    const isOwn = step.owner === 'identity' && outcome === 'succeeded';
    if (isOwn && receipt !== undefined)
      throw new GateError('invalid_request', 'receipt: of its own steps identity makes it');
    const made = isOwn ? await ownReceipt(operation, step, by) : (receipt ?? null);
    return store.moveOperation(operation.id, by, (now) => ({
      operation: completed(now, {
        stepId,
        leaseSha256,
        outcome,
        receipt: made,
        error: error ?? null,
        by,
        nowMs: clock(),
      }),
    }));
  }

  const drivenOf = (operation: KeptOperation): DrivenTenantOperation => ({
    operation: shownOperation(operation),
    wait_ms: waitMs(operation, clock()),
  });

  return {
    async begin({ confirm, ...asked }) {
      if (confirm !== asked.tenant) throw new GateError('confirm_mismatch');
      const { operation, isNew } = await store.startOperation({ ...asked, id: uuidV7(), nowMs: clock() });
      return { operation: shownOperation(operation), isNew };
    },
    operation: async (id, tenant) => shownOperation(await store.operation(id, tenant)),
    operations: async (tenant) =>
      (await store.operations(tenant)).map((one) => ('tampered' in one ? one : shownOperation(one))),
    async claim(id, { tenant, ...of }) {
      const { operation, step, leaseToken } = await claimOf(await store.operation(id, tenant), of);
      return {
        operation: shownOperation(operation),
        step_id: step.id,
        lease_token: leaseToken,
        lease_expires_at: leaseEndOf(step),
      };
    },
    complete: async (id, { tenant, ...of }, said) =>
      shownOperation(await completionOf(await store.operation(id, tenant), of, said)),
    async retry(id, { tenant, stepId, by }) {
      await store.operation(id, tenant);
      return shownOperation(
        await store.moveOperation(id, by, (now) => ({
          operation: retried(now, stepId, by, clock()),
          retried: stepId,
        })),
      );
    },
    async fence(id, { tenant, leaseToken, by, reason }) {
      const operation = await store.operation(id, tenant);
      assertLease(operation, 'authority_fence', sha256Hex(leaseToken), clock());
      return store.fenceTenant(doingOf(operation, by, reason), clock, clock() + OWN_LIMIT_MS);
    },

    due: () => store.dueOperations(),
    driven: async (id) => drivenOf(await store.operation(id)),
    async drive(id) {
      const before = await store.operation(id);
      const next = nextStep(before);
      if (next === null || waitMs(before, clock()) !== 0) return { ...drivenOf(before), claim: null };
      try {
        const { operation, step, leaseToken } = await claimOf(before, {
          stepId: next.id,
          owner: next.owner,
          by: DRIVER,
        });
        return {
          ...drivenOf(operation),
          claim: {
            step_id: next.id,
            owner: next.owner,
            lease_token: leaseToken,
            warrant: await signWarrant({
              owner: next.owner,
              tenant: operation.tenant,
              operation_id: id,
              kind: operation.kind,
              step_id: next.id,
              asked_by: operation.actor_sub,
              not_after: leaseEndOf(step),
            }),
            feed_generation: await store.feedGeneration(),
          },
        };
      } catch (error) {
        if (!(error instanceof GateError) || !STANDS.has(error.code)) throw error;
        return { ...drivenOf(await store.operation(id)), claim: null };
      }
    },
    drivenComplete: async (id, stepId, said) =>
      drivenOf(await completionOf(await store.operation(id), { stepId, by: DRIVER }, said)),
  };
}

const shownTenant = ({ tenant, state, generation }: KnownTenant) => ({ tenant, state, generation });
/** Of a step that was just claimed. */
const leaseEndOf = ({ lease_expires_at: end, updated_at: at }: KeptStep): string => end ?? at;
