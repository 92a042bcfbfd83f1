import type { KeyObject } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { PendingRequest } from '../../contracts/review.js';
import type { DemoCleanupReceipt, TenantReviews, TenantReviewsReceipt } from '../../contracts/tenant-reviews.js';
import { canonicalDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { DecisionSender, ErasedRows, OpenedReviews, TenantOperation } from './ports.js';
import { createSystemDenials, type SystemDenial } from './system-denial.js';
import { DEMO_CLEANUP, deadlineOf, isOver, TENANT_OFFBOARD } from '../decision/transitions.js';

export interface TenantLifecycleOptions {
  readonly reviews: Pick<OpenedReviews, 'lists' | 'settling' | 'tenants' | 'retention'>;
  readonly sender: DecisionSender;
  readonly decisionKey: KeyObject;
  readonly clock: () => number;
  readonly decisionLifeMs: number;
  /** How long one request may work; the rest is left to the same request, sent again. */
  readonly limitMs?: number;
}

export interface TenantLifecycle {
  /** Lets the tenant have reviews, or ends all of them. `operation_conflict`; `operation_unfinished`: the same request goes on. */
  step(operation: TenantOperation): Promise<TenantReviewsReceipt>;
  /** What was begun and done for the tenant, newest first. */
  known(tenant: string): Promise<TenantReviews>;
  /** Ends and deletes the tenant's demonstration rows, and no others. `operation_unfinished`: the same request goes on. */
  cleanUpDemo(tenant: string): Promise<DemoCleanupReceipt>;
}

/** Which rows are denied, and why; the id of every decision is that of the operation. */
type Ending = ErasedRows & SystemDenial;

const PAGE_ROWS = 200;
const AT_ONCE = 8;

/**
 * HIL's steps in the life of a tenant (docs/architecture/reviews.md#tenants). Offboarding first closes the door, durably, then denies
 * everything that waits, each through its call's workflow as any other decision, then deletes. Whatever ends it in the middle, the same
 * request goes on.
 */
export function createTenantLifecycle({
  reviews,
  sender,
  decisionKey,
  clock,
  decisionLifeMs,
  limitMs = 20_000,
}: TenantLifecycleOptions): TenantLifecycle {
  const deny = createSystemDenials({ reviews, sender, decisionKey, clock, decisionLifeMs });

  /** What is open, page by page from the oldest. A row that Gate did not write can be decided by nobody. */
  async function* waiting({ tenant, namespace }: ErasedRows): AsyncGenerator<PendingRequest[]> {
    let before: string | null = null;
    do {
      const page = await reviews.lists.list({
        tenant,
        status: 'pending',
        sort: 'oldest',
        limit: PAGE_ROWS,
        ...(before !== null && { before }),
      });
      yield page.rows.filter(
        (row) => row.status === 'pending' && (namespace === undefined || row.state_namespace === namespace),
      );
      before = page.next_before;
    } while (before !== null);
  }

  /**
   * Until the time is up, or the engine or a store is away: it would say the same of every row. Whether a row whose time is over was approved
   * in time its call knows, so that is asked too.
   */
  async function denySome(ending: Ending, untilMs: number): Promise<void> {
    for await (const rows of waiting(ending))
      for (let first = 0; first < rows.length; first += AT_ONCE) {
        if (clock() >= untilMs) return;
        const some = rows.slice(first, first + AT_ONCE);
        const ended = await Promise.allSettled(some.map((row) => deny(row, ending)));
        if (ended.every(({ status }) => status === 'rejected')) throw new GateError('operation_unfinished');
      }
  }
  /** Throws `operation_unfinished` unless nothing of these waits any more. */
  async function denyAll(ending: Ending, untilMs: number): Promise<void> {
    await denySome(ending, untilMs);
    // Looked at again: what was stored while the door was being closed is among it.
    for await (const rows of waiting(ending))
      if (rows.some((row) => !isOver(deadlineOf(row), clock()))) throw new GateError('operation_unfinished');
  }

  const receiptOf = (
    said: Omit<TenantReviewsReceipt, 'receipt_sha256' | 'updated_at'>,
  ): Promise<TenantReviewsReceipt> => {
    const receipt = { ...said, updated_at: new Date(clock()).toISOString() };
    const receipt_sha256 = canonicalDigest(receipt).replace('sha256:', '');
    return reviews.tenants.finish(said.operation_id, { ...receipt, receipt_sha256 });
  };

  return {
    async step(operation) {
      const { generation, receipt } = await reviews.tenants.begin(operation);
      if (receipt !== null) return receipt;
      const { tenant, kind, operation_id } = operation;
      const said = { tenant, operation_id, kind, generation };
      if (kind === 'provision')
        return receiptOf({ ...said, state: 'active', pending_denied: 0, rows_erased: 0, rows_held: 0 });
      const untilMs = clock() + limitMs;
      const ending: Ending = {
        tenant,
        by: TENANT_OFFBOARD,
        reason: 'the tenant is offboarded',
        request_id: operation_id,
      };
      await denyAll(ending, untilMs);
      const pending_denied = await reviews.tenants.denied(operation_id);
      const { complete } = await reviews.retention.erase({ tenant }, 'tenant_offboard', untilMs);
      if (!complete) throw new GateError('operation_unfinished');
      return receiptOf({
        ...said,
        state: 'offboarded',
        pending_denied,
        ...(await reviews.tenants.erased(operation_id)),
      });
    },

    async known(tenant) {
      const { state, operations } = await reviews.tenants.of(tenant);
      return {
        tenant,
        state,
        operations: operations.map(({ operation_id, kind, generation, asked_by, begun_ms, receipt }) => ({
          operation_id,
          kind,
          generation,
          asked_by,
          begun_at: new Date(begun_ms).toISOString(),
          receipt,
        })),
      };
    },

    async cleanUpDemo(tenant) {
      const untilMs = clock() + limitMs;
      const rows = { tenant, namespace: 'demo' as const };
      const request_id = randomUUID();
      await denyAll({ ...rows, by: DEMO_CLEANUP, reason: 'the demonstration is cleaned up', request_id }, untilMs);
      const { deleted, held, complete } = await reviews.retention.erase(rows, 'namespace_cleanup', untilMs);
      if (!complete) throw new GateError('operation_unfinished');
      return {
        contract: 'gate.namespace-cleanup-receipt/v1',
        namespace: 'demo',
        selected: deleted + held,
        deleted,
        retained_operator: await reviews.retention.operatorRows(tenant),
        retained_legal_hold: held,
        completed_at: new Date(clock()).toISOString(),
      };
    },
  };
}
