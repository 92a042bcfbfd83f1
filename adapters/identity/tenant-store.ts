import type { Kysely, Selectable } from 'kysely';
import {
  DUE_OPERATIONS,
  type DueTenantOperation,
  type TenantOperationKind,
  tenantOperationKind,
} from '../../contracts/tenant-lifecycle.js';
import { GateError } from '../../domain/errors.js';
import type { TenantEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import {
  intentOf,
  isEnded,
  type KeptOperation,
  keptOperation,
  newOperation,
  stepOf,
} from '../../domain/identity/tenant-operations.js';
import type { Doing, FencedTenant, KnownTenant, TenantStore } from '../../domain/identity/tenant-store.js';
import type { IdentityTables } from './identity-tables.js';
import { pagesOf } from '../store/pages.js';
import { type LeftBehind, leftFault } from './stop-report-store.js';

type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Database = Kysely<IdentityTables>;
type Table = 'identity_tenants' | 'identity_tenant_operations';
type Looked = Table | 'identity_standings' | 'identity_budgets';

/** What the store of identity has for tenants that come and go. */
export interface TenantParts {
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: Table, row: Found): Found;
  /** What is wrong with a row, or `null`. */
  fault(table: Looked, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: Table, values: Values): Values & { readonly mac: string };
  change<Of extends Table>(within: Database, table: Of, was: Row<Of>, changes: Partial<Row<Of>>): Promise<boolean>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  /** One after the other, also with everything that is stopped or let go. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  told(within: Database, event: TenantEvent): Promise<unknown>;
  /**
   * Stops the tenant whole, as an operator does, and anew where it was stopped before: what runs now is reported, and the stop stands under a number of
   * its own. The ledger is told what else was met edited.
   */
  stopTenant(within: Database, tenant: string, by: RevokedBy, edited: readonly (string | null)[]): Promise<unknown>;
  /** The number of the list under which the tenant's stop stands, which is written anew where somebody edited it. */
  stopNumber(within: Database, tenant: string, by: RevokedBy): Promise<number>;
  /** Ends an agent for good, whatever somebody edited of it. */
  decommission(id: string, tenant: string, by: RevokedBy): Promise<unknown>;
  /** Takes a budget away, of the tenant or (`agent`) of one of its agents, whatever somebody edited of it. */
  clearBudget(of: { readonly tenant: string; readonly agent: string | null }, by: RevokedBy): Promise<unknown>;
  /** Leaves nothing of what people said of its agents, of its decoys, nor of who touched them. */
  forgetKept(tenant: string, by: RevokedBy): Promise<void>;
  /** What still counts of an agent of the tenant; `null` where nothing does. */
  leftOf(within: Database, tenant: string, nowMs: number): Promise<LeftBehind | null>;
  /** The number of the list of revocations, and the sequence of the trust bundle. */
  numbers(): Promise<{ readonly feedGeneration: number; readonly bundleSequence: number }>;
}

export interface Tenants extends TenantStore {
  /** Throws `tenant_offboarded`: nothing of the tenant comes into being any more. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
  /** Whether it has gone, or is going, for good; also where somebody edited its record. */
  isOffboarded(within: Database, tenant: string): Promise<boolean>;
  /** The same of a tool of it, which is stopped whatever somebody edited. */
  assertMayBeStopped(within: Database, tenant: string): Promise<void>;
}

const LISTED = 100;
/** Agents that are looked for at a time. */
const AT_ONCE = 200;

/** Tenants that come and go (docs/architecture/tenants.md). */
export function openTenantStore(parts: TenantParts): Tenants {
  const { db, intact, marked, asked, inTurn, told } = parts;

  const tenantOf = async (within: Database, tenant: string): Promise<Row<'identity_tenants'> | undefined> => {
    const row = await within.selectFrom('identity_tenants').selectAll().where('id', '=', tenant).executeTakeFirst();
    return row && intact('identity_tenants', row);
  };
  const operationRow = async (within: Database, id: string) => {
    const row = await within
      .selectFrom('identity_tenant_operations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst();
    if (!row) throw new GateError('not_found');
    return intact('identity_tenant_operations', row);
  };
  /** Whether an operation that Gate wrote has begun to fence the tenant, whatever its record says. */
  async function isGoing(within: Database, tenant: string): Promise<boolean> {
    const rows = await within
      .selectFrom('identity_tenant_operations')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('kind', '=', 'offboard')
      .execute();
    return intactOf(rows).some((row) => stepOf(contentOf(row), 'authority_fence').attempts > 0);
  }
  const intactOf = <Found extends { readonly mac: string }>(rows: readonly Found[]): Found[] =>
    rows.filter((row) => parts.fault('identity_tenant_operations', row) === null);
  const isOffboarded = async (within: Database, tenant: string): Promise<boolean> => {
    const row = await within.selectFrom('identity_tenants').selectAll().where('id', '=', tenant).executeTakeFirst();
    const isIntact = row !== undefined && parts.fault('identity_tenants', row) === null;
    return (isIntact && row.state === 'offboarded') || isGoing(within, tenant);
  };
  async function assertNotOffboarded(within: Database, tenant: string): Promise<void> {
    if ((await tenantOf(within, tenant))?.state === 'offboarded' || (await isGoing(within, tenant)))
      throw offboarded(tenant);
  }
  const offboarded = (tenant: string): GateError =>
    new GateError('tenant_offboarded', `tenant ${tenant} is offboarded, for good`);

  /** What the ledger is told where a step was taken up again, and where an operation was halted or ended: also who did it, who need not have begun it. */
  async function tellMove(
    within: Database,
    was: KeptOperation,
    now: KeptOperation,
    { by, retried }: { readonly by: string; readonly retried: string | undefined },
  ): Promise<void> {
    const event = {
      operationId: now.id,
      tenant: now.tenant,
      // Those of a tenant that goes are hidden with it, and these are of what was done to it.
      isOfTenant: now.kind === 'provision',
      by,
      reason: null,
    };
    const common = { kind: now.kind, begun_by: now.actor_sub };
    if (retried !== undefined) {
      const { id, attempts, last_error: error, updated_at: at } = stepOf(now, retried);
      await told(within, {
        ...event,
        kind: 'tenant.operation_retried',
        subject: `${now.id}/${id}/${attempts}/${at}/${by}`,
        detail: { ...common, step: id, attempts, error },
      });
    }
    if (was.state === now.state) return;
    const halted = now.steps.find(({ state }) => state === 'manual_recovery');
    if (now.state === 'manual_recovery' && halted)
      await told(within, {
        ...event,
        kind: 'tenant.operation_halted',
        subject: `${now.id}/${halted.id}/${halted.attempts}`,
        detail: { ...common, step: halted.id, attempts: halted.attempts, error: halted.last_error },
      });
    if (isEnded(now))
      await told(within, {
        ...event,
        kind: 'tenant.operation_succeeded',
        subject: now.id,
        detail: {
          ...common,
          receipts: Object.fromEntries(now.steps.map(({ id, receipt_sha256 }) => [id, receipt_sha256])),
          completed_by: Object.fromEntries(now.steps.map(({ id, completed_by }) => [id, completed_by])),
          retried_by: Object.fromEntries(
            now.steps.flatMap(({ id, retried_by }) => (retried_by === null ? [] : [[id, retried_by]])),
          ),
        },
      });
  }

  /** Changes what is known of the tenant, or makes it. */
  async function recorded(
    within: Database,
    was: Row<'identity_tenants'> | undefined,
    { tenant, operationId, nowMs }: Doing,
    state: KnownTenant['state'],
  ): Promise<Row<'identity_tenants'>> {
    const row = marked('identity_tenants', {
      id: tenant,
      state,
      tenant_generation: generationOf(was) + 1,
      operation_id: operationId,
      changed_ms: nowMs,
      ended_count: null,
    });
    const { id: _id, ...values } = row;
    await within
      .insertInto('identity_tenants')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .execute();
    return row;
  }

  /** Those of these agents that are ended by a row that Gate wrote. */
  const endedOf = (ids: readonly string[]) =>
    asked(async () => {
      const rows = await db
        .selectFrom('identity_standings')
        .selectAll()
        .where('id', 'in', ids)
        .where('state', '=', 'decommissioned')
        .execute();
      return new Set(rows.filter((row) => parts.fault('identity_standings', row) === null).map(({ id }) => id));
    });
  /** Every agent of the tenant. One that cannot be ended, since its rows say nothing that is true, keeps no other from it. */
  async function endAgents(doing: Doing, clock: () => number, untilMs: number): Promise<void> {
    const { tenant, by, reason } = doing;
    let left: unknown = null;
    const pages = pagesOf(AT_ONCE, (last: { readonly id: string } | undefined) =>
      asked(() =>
        db
          .selectFrom('identity_agents')
          .select('id')
          .where('tenant', '=', tenant)
          .where('id', '>', last?.id ?? '')
          .orderBy('id')
          .limit(AT_ONCE)
          .execute(),
      ),
    );
    for await (const page of pages) {
      if (page.length === 0) break;
      const ended = await endedOf(page.map(({ id }) => id));
      for (const { id } of page) {
        if (ended.has(id)) continue;
        if (clock() >= untilMs) throw new GateError('operation_unfinished');
        try {
          await parts.decommission(id, tenant, { by, reason, nowMs: clock() });
        } catch (error) {
          // By the rows that Gate wrote it is another tenant's.
          if (error instanceof GateError && error.code === 'not_found') continue;
          if (!(error instanceof GateError) || error.code !== 'identity_tampered') throw error;
          left ??= error;
        }
      }
    }
    if (left !== null) throw left;
  }
  /** How many agents were ended since the list of revocations was at this number. */
  async function endedSince(within: Database, tenant: string, number: number): Promise<number> {
    let ended = 0;
    const pages = pagesOf(AT_ONCE, (last: { readonly id: string } | undefined) =>
      within
        .selectFrom('identity_standings')
        .selectAll()
        .where('tenant', '=', tenant)
        .where('state', '=', 'decommissioned')
        .where('listed_generation', '>', number)
        .where('id', '>', last?.id ?? '')
        .orderBy('id')
        .limit(AT_ONCE)
        .execute(),
    );
    for await (const page of pages)
      ended += page.filter((row) => parts.fault('identity_standings', row) === null).length;
    return ended;
  }
  /** Nobody of the tenant spends anything any more; the tenant is stopped, so none of them is let in by that. */
  async function clearBudgets({ tenant, by, reason }: Doing, clock: () => number): Promise<void> {
    const set = await asked(() =>
      db
        .selectFrom('identity_budgets')
        .select('agent_name as agent')
        .where('tenant', '=', tenant)
        .where('budget_micros', 'is not', null)
        .execute(),
    );
    for (const { agent } of set) await parts.clearBudget({ tenant, agent }, { by, reason, nowMs: clock() });
  }
  /** What was ended and taken away since the tenant was fenced: the same however often it is asked. */
  async function fencedOf(within: Database, row: Row<'identity_tenants'>, by: RevokedBy): Promise<FencedTenant> {
    const budgets = await within
      .selectFrom('identity_budgets')
      .selectAll()
      .where('tenant', '=', row.id)
      .where('budget_micros', 'is', null)
      .where('listed_generation', '>', await parts.stopNumber(within, row.id, by))
      .execute();
    return {
      ...knownOf(row),
      agentsDecommissioned: Number(row.ended_count),
      isBudgetCleared: budgets.some((budget) => parts.fault('identity_budgets', budget) === null),
    };
  }
  /** Stops the tenant, and writes that it has gone; a row that somebody edited, or took away, keeps nobody from it and is written anew. */
  const fenced = (doing: Doing): Promise<Row<'identity_tenants'>> =>
    inTurn(async (within) => {
      const { tenant } = doing;
      const was = await within.selectFrom('identity_tenants').selectAll().where('id', '=', tenant).executeTakeFirst();
      const fault = was ? parts.fault('identity_tenants', was) : null;
      if (was && fault === null && was.state === 'offboarded') return fencedRow(within, doing);
      await parts.stopTenant(within, tenant, doing, [fault]);
      return recorded(within, was, doing, 'offboarded');
    });
  /** The record that this operation has fenced. */
  async function fencedRow(within: Database, { tenant, operationId }: Doing): Promise<Row<'identity_tenants'>> {
    const row = await tenantOf(within, tenant);
    if (row?.state !== 'offboarded' || row.operation_id !== operationId) throw offboarded(tenant);
    return row;
  }

  return {
    startOperation: (given) =>
      inTurn(async (within) => {
        const { tenant, kind, idempotencyKey } = given;
        const known = await within
          .selectFrom('identity_tenant_operations')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('kind', '=', kind)
          .where('idempotency_key', '=', idempotencyKey)
          .executeTakeFirst();
        if (known) {
          const operation = contentOf(intact('identity_tenant_operations', known));
          if (operation.intent_sha256 !== intentOf(given)) throw new GateError('lifecycle_conflict');
          return { operation, isNew: false };
        }
        const open = await within
          .selectFrom('identity_tenant_operations')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('state', '<>', 'succeeded')
          .execute();
        // One that somebody edited, or put there, is done by nobody and holds nobody up.
        const [active] = intactOf(open);
        if (active) throw new GateError('lifecycle_active', undefined, { fields: { operation_id: active.id } });
        await assertNotOffboarded(within, tenant);
        const operation = newOperation(given);
        await within
          .insertInto('identity_tenant_operations')
          .values(marked('identity_tenant_operations', rowOf(operation)))
          .execute();
        await told(within, {
          kind: 'tenant.operation_started',
          subject: operation.id,
          operationId: operation.id,
          tenant,
          isOfTenant: true,
          by: given.by,
          reason: given.reason,
          detail: { kind, steps: operation.steps.map(({ id }) => id) },
        });
        return { operation, isNew: true };
      }),
    operation: (id, tenant) =>
      asked(async () => {
        const operation = contentOf(await operationRow(db, id));
        if (tenant !== undefined && operation.tenant !== tenant) throw new GateError('not_found');
        return operation;
      }),
    operations: (tenant) =>
      asked(async () => {
        const rows = await db
          .selectFrom('identity_tenant_operations')
          .selectAll()
          .where('tenant', '=', tenant)
          .orderBy('id', 'desc')
          .limit(LISTED)
          .execute();
        return rows.map((row) => {
          const tampered = parts.fault('identity_tenant_operations', row);
          return tampered === null ? contentOf(row) : { id: row.id, tenant, tampered };
        });
      }),
    dueOperations: () =>
      asked(async () => {
        const due: DueTenantOperation[] = [];
        const pages = pagesOf(DUE_OPERATIONS, (last: Row<'identity_tenant_operations'> | undefined) =>
          db
            .selectFrom('identity_tenant_operations')
            .selectAll()
            .where('state', 'in', ['pending', 'running', 'waiting_retry'])
            .where('id', '>', last?.id ?? '')
            .orderBy('id')
            .limit(DUE_OPERATIONS)
            .execute(),
        );
        // One that somebody edited is done by nobody; whoever asks for it is told.
        for await (const rows of pages) {
          due.push(...intactOf(rows).map(({ id, tenant, kind }) => ({ id, tenant, kind: kindOf(kind) })));
          if (due.length >= DUE_OPERATIONS) break;
        }
        return due.slice(0, DUE_OPERATIONS);
      }),
    async moveOperation(id, by, move) {
      const { operation, refused } = await inTurn(async (within) => {
        const row = await operationRow(within, id);
        const was = contentOf(row);
        const moved = move(was);
        if (moved.operation !== was) {
          const { id: _id, ...changes } = rowOf(moved.operation);
          if (!(await parts.change(within, 'identity_tenant_operations', row, changes)))
            throw new GateError('store_unavailable', 'the operation changed meanwhile; ask again');
          await tellMove(within, was, moved.operation, { by, retried: moved.retried });
        }
        return moved;
      });
      if (refused) throw refused;
      return operation;
    },

    recordTenant: (doing) =>
      inTurn(async (within) => {
        await assertNotOffboarded(within, doing.tenant);
        const was = await tenantOf(within, doing.tenant);
        return knownOf(was ?? (await recorded(within, was, doing, 'active')));
      }),
    confirmKeys: (tenant) =>
      asked(async () => {
        const row = await tenantOf(db, tenant);
        if (row?.state !== 'active') throw offboarded(tenant);
        return { ...knownOf(row), bundleSequence: (await parts.numbers()).bundleSequence };
      }),
    async fenceTenant(doing, clock, untilMs) {
      const { tenant, operationId } = doing;
      // Nothing is let in or comes into being any more, before anything is ended.
      const stopped = await fenced(doing);
      if (stopped.ended_count !== null) return inTurn((within) => fencedOf(within, stopped, doing));
      await endAgents(doing, clock, untilMs);
      await clearBudgets(doing, clock);
      await parts.forgetKept(tenant, { ...doing, nowMs: clock() });
      return inTurn(async (within) => {
        const row = await fencedRow(within, doing);
        if (row.ended_count !== null) return fencedOf(within, row, doing);
        const number = await parts.stopNumber(within, tenant, doing);
        const done = { ...row, ended_count: await endedSince(within, tenant, number) };
        if (!(await parts.change(within, 'identity_tenants', row, { ended_count: done.ended_count })))
          throw new GateError('store_unavailable', 'the tenant changed meanwhile; ask again');
        await told(within, {
          kind: 'tenant.offboarded',
          subject: operationId,
          operationId,
          tenant,
          isOfTenant: true,
          by: doing.by,
          reason: doing.reason,
          detail: { generation: Number(row.tenant_generation), agents_decommissioned: done.ended_count },
        });
        return fencedOf(within, done, doing);
      });
    },
    async retireKeys(doing, clock, untilMs) {
      const { tenant } = doing;
      const row = await fenced(doing);
      await endAgents(doing, clock, untilMs);
      return asked(async () => {
        const left = await parts.leftOf(db, tenant, clock());
        if (left) throw leftFault(left);
        const { revoked } = await db
          .selectFrom('identity_svids')
          .select(({ fn }) => fn.countAll().as('revoked'))
          .where('tenant', '=', tenant)
          .where('revoked_ms', 'is not', null)
          .executeTakeFirstOrThrow();
        return { ...knownOf(row), certificatesRevoked: Number(revoked) };
      });
    },
    hasOpenReport: (tenant, sinceMs) =>
      asked(async () => {
        const open = await db
          .selectFrom('identity_stop_reports')
          .select('id')
          .where('tenant', '=', tenant)
          .where('state', '<>', 'made')
          .where('stopped_ms', '>', sinceMs)
          .executeTakeFirst();
        return open !== undefined;
      }),
    feedGeneration: () => asked(async () => (await parts.numbers()).feedGeneration),

    isOffboarded,
    assertNotOffboarded,
    async assertMayBeStopped(within, tenant) {
      if (await isOffboarded(within, tenant)) throw offboarded(tenant);
    },
  };
}

const kindOf = (kind: string): TenantOperationKind => tenantOperationKind.parse(kind);

const contentOf = ({ content }: Row<'identity_tenant_operations'>): KeptOperation => keptOperation(content);

/** Of a row that somebody may have edited. */
function generationOf(row: Row<'identity_tenants'> | undefined): number {
  const generation = Number(row?.tenant_generation ?? 0);
  return Number.isSafeInteger(generation) && generation > 0 && generation < MOST_GENERATION ? generation : 0;
}
const MOST_GENERATION = 1_000_000;

const rowOf = (operation: KeptOperation): Omit<Row<'identity_tenant_operations'>, 'mac'> => ({
  id: operation.id,
  tenant: operation.tenant,
  kind: operation.kind,
  idempotency_key: operation.idempotency_key,
  state: operation.state,
  content: JSON.stringify(operation),
});

const knownOf = (row: Row<'identity_tenants'>): KnownTenant => ({
  tenant: row.id,
  state: row.state as KnownTenant['state'],
  generation: Number(row.tenant_generation),
});
