import type { Kysely, Selectable } from 'kysely';
import { DUE_OPERATIONS, type TenantOperationKind, tenantOperationKind } from '../../contracts/tenant-lifecycle.js';
import { GateError } from '../../domain/errors.js';
import type { TenantEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { intentOf, isEnded, type KeptOperation, newOperation } from '../../domain/identity/tenant-operations.js';
import type { Doing, FencedTenant, KnownTenant, TenantStore } from '../../domain/identity/tenant-store.js';
import type { IdentityTables } from './identity-tables.js';
import { type LeftBehind, leftFault } from './stop-report-store.js';

type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Database = Kysely<IdentityTables>;
type Table = 'identity_tenants' | 'identity_tenant_operations';

/** What the store of identity has for tenants that come and go. */
export interface TenantParts {
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: Table, row: Found): Found;
  /** What is wrong with a row, or `null`. */
  fault(table: Table, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: Table, values: Values): Values & { readonly mac: string };
  change<Of extends Table>(within: Database, table: Of, was: Row<Of>, changes: Partial<Row<Of>>): Promise<boolean>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  /** One after the other, also with everything that is stopped or let go. */
  inTurn<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  told(within: Database, event: TenantEvent): Promise<unknown>;
  /** Stops the tenant whole, as an operator does. */
  stopTenant(within: Database, tenant: string, by: RevokedBy): Promise<unknown>;
  /** Ends an agent for good, whatever somebody edited of it. */
  decommission(id: string, tenant: string, by: RevokedBy): Promise<unknown>;
  /** Takes a budget away, of the tenant or (`agent`) of one of its agents, whatever somebody edited of it. */
  clearBudget(of: { readonly tenant: string; readonly agent: string | null }, by: RevokedBy): Promise<unknown>;
  /** What still counts of an agent of the tenant; `null` where nothing does. */
  leftOf(within: Database, tenant: string, nowMs: number): Promise<LeftBehind | null>;
  /** The number of the list of revocations, and the sequence of the trust bundle. */
  numbers(): Promise<{ readonly feedGeneration: number; readonly bundleSequence: number }>;
}

export interface Tenants extends TenantStore {
  /** Throws `tenant_offboarded`: nothing of the tenant comes into being any more. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
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
  const offboarded = (tenant: string): GateError =>
    new GateError('tenant_offboarded', `tenant ${tenant} is offboarded, for good`);

  /** What the ledger is told where an operation was halted or ended. */
  async function tellMove(within: Database, was: KeptOperation, now: KeptOperation): Promise<void> {
    if (was.state === now.state) return;
    const event = {
      operationId: now.id,
      tenant: now.tenant,
      // Those of a tenant that goes are hidden with it, and these are of what was done to it.
      isOfTenant: now.kind === 'provision',
      by: now.actor_sub,
      reason: null,
    };
    const halted = now.steps.find(({ state }) => state === 'manual_recovery');
    if (now.state === 'manual_recovery' && halted)
      await told(within, {
        ...event,
        kind: 'tenant.operation_halted',
        subject: `${now.id}/${halted.id}/${halted.attempts}`,
        detail: { kind: now.kind, step: halted.id, attempts: halted.attempts, error: halted.last_error },
      });
    if (isEnded(now))
      await told(within, {
        ...event,
        kind: 'tenant.operation_succeeded',
        subject: now.id,
        detail: {
          kind: now.kind,
          receipts: Object.fromEntries(now.steps.map(({ id, receipt_sha256 }) => [id, receipt_sha256])),
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
      tenant_generation: Number(was?.tenant_generation ?? 0) + 1,
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

  /** The agents of the tenant that are not ended yet, some of them. */
  const liveAgents = (tenant: string) =>
    asked(() =>
      db
        .selectFrom('identity_agents as agent')
        .select('agent.id')
        .where('agent.tenant', '=', tenant)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('identity_standings as standing')
                .select('standing.id')
                .whereRef('standing.id', '=', 'agent.id')
                .where('standing.state', '=', 'decommissioned'),
            ),
          ),
        )
        .orderBy('agent.id')
        .limit(AT_ONCE)
        .execute(),
    );
  async function endAgents(doing: Doing, clock: () => number, untilMs: number): Promise<void> {
    for (;;) {
      const some = await liveAgents(doing.tenant);
      if (some.length === 0) return;
      for (const { id } of some) {
        if (clock() >= untilMs) throw new GateError('operation_unfinished');
        await parts.decommission(id, doing.tenant, { by: doing.by, reason: doing.reason, nowMs: clock() });
      }
    }
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
  async function fencedOf(within: Database, row: Row<'identity_tenants'>): Promise<FencedTenant> {
    const { cleared } = await within
      .selectFrom('identity_budgets')
      .select(({ fn }) => fn.countAll().as('cleared'))
      .where('tenant', '=', row.id)
      .where('budget_micros', 'is', null)
      .where('set_ms', '>=', Number(row.changed_ms))
      .executeTakeFirstOrThrow();
    return {
      ...knownOf(row),
      agentsDecommissioned: Number(row.ended_count),
      isBudgetCleared: Number(cleared) > 0,
    };
  }
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
        const active = await within
          .selectFrom('identity_tenant_operations')
          .select('id')
          .where('tenant', '=', tenant)
          .where('state', '<>', 'succeeded')
          .executeTakeFirst();
        if (active) throw new GateError('lifecycle_active', undefined, { fields: { operation_id: active.id } });
        if ((await tenantOf(within, tenant))?.state === 'offboarded') throw offboarded(tenant);
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
        return rows.map((row) => contentOf(intact('identity_tenant_operations', row)));
      }),
    dueOperations: () =>
      asked(async () => {
        const rows = await db
          .selectFrom('identity_tenant_operations')
          .selectAll()
          .where('state', 'in', ['pending', 'running', 'waiting_retry'])
          .orderBy('id')
          .limit(DUE_OPERATIONS)
          .execute();
        // One that somebody edited is done by nobody; whoever asks for it is told.
        return rows
          .filter((row) => parts.fault('identity_tenant_operations', row) === null)
          .map(({ id, tenant, kind }) => ({ id, tenant, kind: kindOf(kind) }));
      }),
    async moveOperation(id, move) {
      const { operation, refused } = await inTurn(async (within) => {
        const row = await operationRow(within, id);
        const was = contentOf(row);
        const moved = move(was);
        if (moved.operation !== was) {
          const { id: _id, ...changes } = rowOf(moved.operation);
          if (!(await parts.change(within, 'identity_tenant_operations', row, changes)))
            throw new GateError('store_unavailable', 'the operation changed meanwhile; ask again');
          await tellMove(within, was, moved.operation);
        }
        return moved;
      });
      if (refused) throw refused;
      return operation;
    },

    recordTenant: (doing) =>
      inTurn(async (within) => {
        const was = await tenantOf(within, doing.tenant);
        if (was?.state === 'offboarded') throw offboarded(doing.tenant);
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
      const stopped = await inTurn(async (within) => {
        const was = await tenantOf(within, tenant);
        if (was?.state === 'offboarded') return fencedRow(within, doing);
        await parts.stopTenant(within, tenant, doing);
        return recorded(within, was, doing, 'offboarded');
      });
      if (stopped.ended_count !== null) return asked(() => fencedOf(db, stopped));
      await endAgents(doing, clock, untilMs);
      await clearBudgets(doing, clock);
      return inTurn(async (within) => {
        const row = await fencedRow(within, doing);
        if (row.ended_count !== null) return fencedOf(within, row);
        const { ended } = await within
          .selectFrom('identity_standings')
          .select(({ fn }) => fn.countAll().as('ended'))
          .where('tenant', '=', tenant)
          .where('state', '=', 'decommissioned')
          .where('state_changed_ms', '>=', Number(row.changed_ms))
          .executeTakeFirstOrThrow();
        const fenced = { ...row, ended_count: Number(ended) };
        if (!(await parts.change(within, 'identity_tenants', row, { ended_count: fenced.ended_count })))
          throw new GateError('store_unavailable', 'the tenant changed meanwhile; ask again');
        await told(within, {
          kind: 'tenant.offboarded',
          subject: operationId,
          operationId,
          tenant,
          isOfTenant: true,
          by: doing.by,
          reason: doing.reason,
          detail: { generation: Number(row.tenant_generation), agents_decommissioned: fenced.ended_count },
        });
        return fencedOf(within, fenced);
      });
    },
    async retireKeys(doing, clock, untilMs) {
      const { tenant } = doing;
      const row = await asked(() => fencedRow(db, doing));
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

    async assertNotOffboarded(within, tenant) {
      if ((await tenantOf(within, tenant))?.state === 'offboarded') throw offboarded(tenant);
    },
  };
}

const kindOf = (kind: string): TenantOperationKind => tenantOperationKind.parse(kind);

const contentOf = ({ content }: Row<'identity_tenant_operations'>): KeptOperation =>
  JSON.parse(content) as KeptOperation;

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
