import type { JsonObject } from '../../contracts/json.js';
import {
  LONGEST_RECEIPT,
  type StepId,
  type StepOwner,
  type TenantOperation,
  type TenantOperationKind,
  type TenantStep,
} from '../../contracts/tenant-lifecycle.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { foreignText } from '../text.js';

/** What is done, whose it is, and how it could be taken back. */
type Definition = Pick<TenantStep, 'id' | 'owner' | 'effect' | 'compensation'>;

/** The steps of each kind, in their order (docs/architecture/tenants.md#steps). */
export const TENANT_STEPS: Readonly<Record<TenantOperationKind, readonly Definition[]>> = {
  provision: [
    step('tenant_record', 'identity', 'create or confirm the record of the tenant', 'idempotent-reverse'),
    step('credential_keys', 'identity', 'confirm the keys that sign for the tenant', 'idempotent-reverse'),
    step('policy_namespace', 'policy-engine', 'provision its policies', 'idempotent-reverse'),
    step('hil_namespace', 'hil', 'provision its reviews', 'idempotent-reverse'),
    step('cache_generation', 'proxy', 'hear that the tenant is active', 'idempotent-reverse'),
    step('ledger_lifecycle_marker', 'ledger', 'append that the tenant came', 'not-required'),
  ],
  offboard: [
    step('authority_fence', 'identity', 'stop the tenant and end its agents for good', 'manual-recovery-only'),
    step('credential_keys', 'identity', 'take back every certificate and token of it', 'manual-recovery-only'),
    step('cache_generation', 'proxy', 'hear that the tenant is offboarded', 'not-required'),
    step('policy_namespace', 'policy-engine', 'retire its policies', 'manual-recovery-only'),
    step('hil_namespace', 'hil', 'deny its waiting calls and delete its reviews', 'manual-recovery-only'),
    step('ledger_final_export', 'ledger', 'store its final export under its digest', 'not-required'),
    step('ledger_tombstone', 'ledger', 'hide its rows; the chain keeps them', 'manual-recovery-only'),
    step('retained_backup_disposition', 'platform', 'record what is retained until it is erased', 'not-required'),
  ],
};
function step(id: StepId, owner: StepOwner, effect: string, how: Definition['compensation']): Definition {
  return { id, owner, effect, compensation: how };
}

/** So long whoever claimed a step has it. */
export const LEASE_MS = 30_000;
/** By the attempts before. The last is used only by a step that a person takes up again, which is not made to wait. */
const BACK_OFF_MS = [1_000, 2_000, 4_000, 8_000] as const;
/** Then a person looks. */
export const MOST_ATTEMPTS = 5;
const LONGEST_ERROR = 512;

/** An operation as it is kept: with the digests of leases, which nobody is shown. */
export interface KeptStep extends TenantStep {
  /** SHA-256 of the token of the lease. */
  readonly lease_sha256: string | null;
  /** A person had it taken up again: whatever fails then is a person's again. */
  readonly is_once: boolean;
}
export type KeptOperation = Omit<TenantOperation, 'steps'> & { readonly steps: readonly KeptStep[] };

export interface NewOperation {
  readonly id: string;
  readonly tenant: string;
  readonly kind: TenantOperationKind;
  readonly idempotencyKey: string;
  readonly reason: string;
  readonly by: string;
  readonly nowMs: number;
}

/** What is asked for: the same under the same key is the same operation. */
export const intentOf = ({ kind, reason, tenant }: Pick<NewOperation, 'kind' | 'reason' | 'tenant'>): string =>
  sha256Hex(canonicalJson({ kind, reason, tenant }));

export function newOperation({ id, tenant, kind, idempotencyKey, reason, by, nowMs }: NewOperation): KeptOperation {
  const now = instant(nowMs);
  return {
    id,
    tenant,
    kind,
    idempotency_key: idempotencyKey,
    intent_sha256: intentOf({ kind, reason, tenant }),
    reason,
    state: 'pending',
    actor_sub: by,
    created_at: now,
    updated_at: now,
    steps: TENANT_STEPS[kind].map((definition, at) => ({
      ...definition,
      order: at + 1,
      state: 'pending',
      attempts: 0,
      lease_expires_at: null,
      next_retry_at: null,
      receipt_sha256: null,
      receipt: null,
      last_error: null,
      ...BY_NOBODY,
      updated_at: now,
      lease_sha256: null,
      is_once: false,
    })),
  };
}

const BY_NOBODY = { claimed_by: null, completed_by: null, retried_by: null } as const;

/** As it is kept. One of before has nobody's name in its steps. */
export function keptOperation(text: string): KeptOperation {
  const kept = JSON.parse(text) as KeptOperation;
  return { ...kept, steps: kept.steps.map((one) => ({ ...BY_NOBODY, ...one })) };
}

/** As people and drivers are shown it. */
export const shownOperation = (kept: KeptOperation): TenantOperation => ({
  ...kept,
  steps: kept.steps.map(({ lease_sha256: _lease, is_once: _once, ...shown }) => shown),
});

/** The first that is not done; `null` where all are. */
export const nextStep = <Step extends TenantStep>({ steps }: { readonly steps: readonly Step[] }): Step | null =>
  steps.find(({ state }) => state !== 'succeeded') ?? null;

/** Nobody has to do anything any more. */
export const isEnded = ({ state }: Pick<TenantOperation, 'state'>): boolean => state === 'succeeded';

/** Milliseconds until the next step can be claimed; `null` where none goes on by itself. */
export function waitMs(operation: TenantOperation | KeptOperation, nowMs: number): number | null {
  const next = nextStep<TenantStep>(operation);
  if (next === null || next.state === 'manual_recovery') return null;
  const at = next.state === 'running' ? next.lease_expires_at : next.next_retry_at;
  return at === null ? 0 : Math.max(0, Date.parse(at) - nowMs);
}

/** What a claim came to. One that is refused may all the same have changed the operation: a step whose attempts are used up is a person's. */
export interface Claim {
  readonly operation: KeptOperation;
  readonly refused: GateError | null;
}

interface ClaimBy {
  readonly stepId: string;
  readonly owner: string;
  readonly leaseSha256: string;
  readonly by: string;
  readonly nowMs: number;
}

/** The first step that is not done, for whoever holds the token of this digest. Stored before anything of it is done. */
export function claimed(operation: KeptOperation, { stepId, owner, leaseSha256, by, nowMs }: ClaimBy): Claim {
  const asked = stepOf(operation, stepId);
  const refused = (error: GateError): Claim => ({ operation, refused: error });
  if (nextStep<KeptStep>(operation)?.id !== asked.id) return refused(new GateError('step_not_next'));
  if (asked.owner !== owner) return refused(new GateError('owner_mismatch', `${asked.id} is a step of ${asked.owner}`));
  if (asked.state === 'manual_recovery') return refused(new GateError('manual_recovery'));
  const openMs = waitMs(operation, nowMs) ?? 0;
  if (openMs > 0)
    return refused(
      new GateError(asked.state === 'running' ? 'lease_held' : 'retry_not_due', undefined, {
        fields: { retry_after_secs: Math.ceil(openMs / 1_000) },
      }),
    );
  // Its lease passed, and it was the last attempt: nobody knows how far it came.
  if (asked.state === 'running' && isUsedUp(asked))
    return {
      operation: moved(operation, asked, 'manual_recovery', nowMs, {
        ...UNCLAIMED,
        state: 'manual_recovery',
        last_error: asked.last_error ?? 'whoever claimed it did not say what came of it',
      }),
      refused: new GateError('manual_recovery'),
    };
  return {
    operation: moved(operation, asked, 'running', nowMs, {
      state: 'running',
      attempts: asked.attempts + 1,
      claimed_by: by,
      lease_sha256: leaseSha256,
      lease_expires_at: instant(nowMs + LEASE_MS),
      next_retry_at: null,
    }),
    refused: null,
  };
}

/** Throws `lease_invalid` unless this is the live lease of that step. */
export function assertLease(operation: KeptOperation, stepId: string, leaseSha256: string, nowMs: number): KeptStep {
  const found = stepOf(operation, stepId);
  const isLive =
    found.state === 'running' &&
    found.lease_sha256 === leaseSha256 &&
    found.lease_expires_at !== null &&
    Date.parse(found.lease_expires_at) > nowMs;
  if (!isLive) throw new GateError('lease_invalid');
  return found;
}

export interface Completion {
  readonly stepId: string;
  readonly leaseSha256: string;
  readonly outcome: 'succeeded' | 'retryable' | 'manual_recovery';
  readonly receipt: JsonObject | null;
  readonly error: string | null;
  readonly by: string;
  readonly nowMs: number;
}

/** What came of a step, by whoever has its live lease. */
export function completed(operation: KeptOperation, completion: Completion): KeptOperation {
  const { stepId, leaseSha256, outcome, receipt, error, by, nowMs } = completion;
  const unclaimed = { ...UNCLAIMED, completed_by: by };
  const found = assertLease(operation, stepId, leaseSha256, nowMs);
  if (outcome === 'succeeded') {
    const isLast = operation.steps.at(-1)?.id === found.id;
    return moved(operation, found, isLast ? 'succeeded' : 'running', nowMs, {
      ...unclaimed,
      ...receiptOf(receipt),
      state: 'succeeded',
      last_error: null,
      is_once: false,
    });
  }
  const last_error = error === null ? found.last_error : foreignText(error, LONGEST_ERROR);
  if (outcome === 'manual_recovery' || isUsedUp(found))
    return moved(operation, found, 'manual_recovery', nowMs, { ...unclaimed, state: 'manual_recovery', last_error });
  return moved(operation, found, 'waiting_retry', nowMs, {
    ...unclaimed,
    state: 'retryable',
    next_retry_at: instant(nowMs + (BACK_OFF_MS[found.attempts - 1] ?? 0)),
    last_error,
  });
}

/** Why a step cannot be claimed yet: no attempt, and shown all the same. */
export function held(operation: KeptOperation, stepId: string, error: string, nowMs: number): KeptOperation {
  const found = stepOf(operation, stepId);
  const last_error = foreignText(error, LONGEST_ERROR);
  // Of the step that is next alone: an administrator may name any.
  if (nextStep<KeptStep>(operation)?.id !== stepId || found.state === 'running' || found.last_error === last_error)
    return operation;
  return moved(operation, found, operation.state, nowMs, { last_error });
}

/** Makes a step due now that failed. One that was a person's is claimed once more, whatever came of the attempts before. */
export function retried(operation: KeptOperation, stepId: string, by: string, nowMs: number): KeptOperation {
  const found = stepOf(operation, stepId);
  if (found.state !== 'retryable' && found.state !== 'manual_recovery') throw new GateError('step_not_retryable');
  return moved(operation, found, 'waiting_retry', nowMs, {
    state: 'retryable',
    next_retry_at: instant(nowMs),
    retried_by: by,
    is_once: found.is_once || found.state === 'manual_recovery',
  });
}

/** Whether nothing goes on by itself any more once this attempt fails. */
const isUsedUp = ({ attempts, is_once: isOnce }: KeptStep): boolean => isOnce || attempts >= MOST_ATTEMPTS;

const UNCLAIMED = { lease_sha256: null, lease_expires_at: null, next_retry_at: null } as const;

function receiptOf(receipt: JsonObject | null): Pick<KeptStep, 'receipt' | 'receipt_sha256'> {
  if (receipt === null) throw new GateError('receipt_required');
  const text = canonicalOf(receipt);
  if (Buffer.byteLength(text) > LONGEST_RECEIPT) throw new GateError('receipt_too_large');
  return { receipt, receipt_sha256: sha256Hex(text) };
}

/** Half of a surrogate pair has no canonical form. */
function canonicalOf(receipt: JsonObject): string {
  try {
    return canonicalJson(receipt);
  } catch (cause) {
    throw new GateError('invalid_request', 'receipt: holds what has no canonical form', { cause });
  }
}

/** Throws `not_found`. */
export function stepOf(operation: KeptOperation, stepId: string): KeptStep {
  const found = operation.steps.find(({ id }) => id === stepId);
  if (!found) throw new GateError('not_found');
  return found;
}

function moved(
  operation: KeptOperation,
  { id }: KeptStep,
  state: KeptOperation['state'],
  nowMs: number,
  to: Partial<KeptStep>,
): KeptOperation {
  const updated_at = instant(nowMs);
  return {
    ...operation,
    state,
    updated_at,
    steps: operation.steps.map((one) => (one.id === id ? { ...one, ...to, updated_at } : one)),
  };
}

const instant = (ms: number): string => new Date(ms).toISOString();
