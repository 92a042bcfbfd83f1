import { type TenantDisposition, tenantDisposition } from '../../contracts/tenant-dispositions.js';
import { tenantReviewsReceipt } from '../../contracts/tenant-reviews.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { BegunOperation, Dispositions, TenantStates } from '../../domain/review/ports.js';
import { TENANT_OFFBOARD } from '../../domain/decision/transitions.js';
import type { Store } from '../store/database.js';
import { type Ask, statement } from '../store/statement.js';
import { writeTogether } from '../store/write-together.js';
import { untilUnchanged } from './faults.js';
import type { ReviewTables, StoredOperation, StoredTenant } from './tables.js';

const MAC_USE = 'review-tenant';
const selectTenant = statement<StoredTenant>('select * from review_tenants where tenant = ?');
const selectTenants = statement<StoredTenant>('select * from review_tenants');
const selectOperation = statement<StoredOperation>('select * from review_tenant_operations where operation_id = ?');
const selectOperations = statement<StoredOperation>(
  'select * from review_tenant_operations where tenant = ? order by generation desc limit 100',
);
const countDenied = statement<{ denied: number | string }>(
  `select count(*) as denied from reviews
     where tenant = ? and decided_ms >= ? and status = 'denied' and decided_by = ? and withdrawn_at is null`,
);
const countErased = statement<{ count: number | string }>(
  `select count(*) as "count" from hil_deletion_audit
     where tenant = ? and at_ms >= ? and "trigger" = 'tenant_offboard' and disposition = 'row_deleted'`,
);
const countHeld = statement<{ count: number | string }>(
  `select count(*) as "count" from reviews where tenant = ? and hold is not null`,
);

type OperationOf = Pick<BegunOperation, 'tenant' | 'kind' | 'generation' | 'operation_id'>;

export interface TenantStatesOptions {
  readonly store: Store<ReviewTables>;
  readonly ask: Ask;
  readonly keys: KeyRing;
  readonly clock: () => number;
  readonly dispositions?: Pick<Dispositions, 'check' | 'record'> | undefined;
}

/** The states of tenants in SQLite or Postgres, each row under a MAC: a row that Gate did not write closes the door. */
export function tenantStatesOver({ store, ask, keys, clock, dispositions }: TenantStatesOptions) {
  const { db } = store;
  const tenantText = ({ tenant, state, generation, operation_id }: Omit<StoredTenant, 'mac'>) =>
    JSON.stringify(['gate.review-tenant/1', tenant, state, Number(generation), operation_id]);
  const operationText = (row: Omit<StoredOperation, 'mac'>) =>
    JSON.stringify([
      'gate.review-tenant-operation/1',
      row.operation_id,
      row.tenant,
      row.kind,
      Number(row.generation),
      row.asked_by,
      Number(row.begun_ms),
      row.pending_denied === null ? null : Number(row.pending_denied),
      row.receipt,
    ]);
  const macOf = (text: string) => keys.authenticate(text, MAC_USE);
  const holds = (mac: string, text: string): boolean => {
    try {
      return keys.authentic(mac, text, MAC_USE);
    } catch {
      return false;
    }
  };
  const foreign = () =>
    new GateError('review_tampered', 'the stored state of this tenant is not what Gate wrote, or its key is not here');

  const stateOf = async (tenant: string): Promise<StoredTenant | null> =>
    (await ask(selectTenant, tenant)).rows[0] ?? null;

  async function operationOf(operationId: string): Promise<StoredOperation | null> {
    const found = (await ask(selectOperation, operationId)).rows[0];
    if (found && !holds(found.mac, operationText(found))) throw foreign();
    return found ?? null;
  }
  async function knownOperation(operationId: string): Promise<StoredOperation> {
    const known = await operationOf(operationId);
    if (known === null) throw new GateError('not_found');
    return known;
  }
  const begunOf = (row: StoredOperation): BegunOperation => ({
    ...row,
    generation: Number(row.generation),
    begun_ms: Number(row.begun_ms),
    receipt: row.receipt === null ? null : tenantReviewsReceipt.parse(JSON.parse(row.receipt)),
  });

  const reachedBy = ({ tenant, kind, generation, operation_id }: OperationOf) => ({
    tenant,
    state: kind === 'offboard' ? ('offboarded' as const) : ('active' as const),
    generation,
    operation_id,
  });
  const recorded = (operation: OperationOf, done?: boolean) =>
    written(async () => dispositions?.record(reachedBy(operation), done));

  const states: TenantStates = {
    async begin({ tenant, operation_id, kind, asked_by }) {
      return untilUnchanged('the state of this tenant', async () => {
        const [known, state] = await Promise.all([operationOf(operation_id), stateOf(tenant)]);
        if (state && !holds(state.mac, tenantText(state))) throw foreign();
        const standing = Number(state?.generation ?? 0);
        if (known) {
          if (known.tenant !== tenant || known.kind !== kind) throw new GateError('operation_conflict');
          // What a later operation has overtaken must not close, or open, the door again.
          if (known.receipt === null && Number(known.generation) !== standing)
            throw new GateError('operation_conflict', 'a later operation of this tenant has overtaken this one');
          if (known.receipt === null) await recorded({ ...known, generation: Number(known.generation) });
          return { done: begunOf(known) };
        }
        const generation = standing + 1;
        const operation = {
          operation_id,
          tenant,
          kind,
          generation,
          asked_by,
          begun_ms: clock(),
          pending_denied: null,
          receipt: null,
        };
        const reached = reachedBy(operation);
        const mac = macOf(tenantText(reached));
        // Where it could not be recorded, nothing is stored; and nothing before the last one is: a start takes a store that is ahead of the
        // file by two operations for a store with an older file.
        await written(async () => dispositions?.check());
        if (state) await written(async () => dispositions?.record(dispositionOf(state)));
        const stored = await written(() =>
          writeTogether(store, [
            // Another operation of the tenant that begins now has the same number, and this one begins anew behind it.
            db
              .insertInto('review_tenant_operations')
              .values({ ...operation, mac: macOf(operationText(operation)) })
              .onConflict((conflict) => conflict.doNothing()),
            db
              .insertInto('review_tenants')
              .values({ ...reached, mac })
              .onConflict((conflict) => conflict.column('tenant').doUpdateSet({ ...reached, mac })),
          ]),
        );
        if (!stored) return null;
        await recorded(operation);
        return { done: begunOf({ ...operation, mac: '' }) };
      });
    },

    async denied(operationId) {
      const known = await knownOperation(operationId);
      if (known.pending_denied !== null) return Number(known.pending_denied);
      const { rows } = await ask(countDenied, known.tenant, known.begun_ms, TENANT_OFFBOARD);
      const counted = { ...known, pending_denied: Number(rows[0]?.denied ?? 0) };
      await written(() =>
        db
          .updateTable('review_tenant_operations')
          .set({ pending_denied: counted.pending_denied, mac: macOf(operationText(counted)) })
          .where('operation_id', '=', operationId)
          .where('pending_denied', 'is', null)
          .execute(),
      );
      return Number((await knownOperation(operationId)).pending_denied);
    },

    async erased(operationId) {
      const { tenant, begun_ms } = await knownOperation(operationId);
      const [gone, kept] = await Promise.all([ask(countErased, tenant, begun_ms), ask(countHeld, tenant)]);
      return { rows_erased: Number(gone.rows[0]?.count ?? 0), rows_held: Number(kept.rows[0]?.count ?? 0) };
    },

    async finish(operationId, receipt) {
      const known = await knownOperation(operationId);
      if (known.receipt !== null) return tenantReviewsReceipt.parse(JSON.parse(known.receipt));
      if (known.kind === 'offboard') await recorded({ ...known, generation: Number(known.generation) }, true);
      const finished = { ...known, receipt: JSON.stringify(receipt) };
      const { numUpdatedRows } = await written(() =>
        db
          .updateTable('review_tenant_operations')
          .set({ receipt: finished.receipt, mac: macOf(operationText(finished)) })
          .where('operation_id', '=', operationId)
          .where('receipt', 'is', null)
          .executeTakeFirst(),
      );
      const stands = numUpdatedRows === 1n ? finished : await operationOf(operationId);
      return tenantReviewsReceipt.parse(JSON.parse(stands?.receipt ?? 'null'));
    },

    async isUnfinished(operationId) {
      const known = await operationOf(operationId);
      return known !== null && known.receipt === null;
    },

    async of(tenant) {
      const [state, { rows }] = await Promise.all([stateOf(tenant), ask(selectOperations, tenant)]);
      if ((state && !holds(state.mac, tenantText(state))) || rows.some((row) => !holds(row.mac, operationText(row))))
        throw foreign();
      return { state: state?.state === 'offboarded' ? 'offboarded' : 'active', operations: rows.map(begunOf) };
    },

    async standing() {
      const { rows } = await ask(selectTenants);
      return rows.map((row) => {
        if (!holds(row.mac, tenantText(row))) throw foreign();
        return dispositionOf(row);
      });
    },

    async stand({ tenant, state, generation, operation_id }) {
      const reached = { tenant, state, generation, operation_id };
      const mac = macOf(tenantText(reached));
      await written(() =>
        db
          .insertInto('review_tenants')
          .values({ ...reached, mac })
          .onConflict((conflict) => conflict.column('tenant').doUpdateSet({ ...reached, mac }))
          .execute(),
      );
    },
  };

  return {
    states,
    /** Throws `tenant_offboarded` where this tenant gets no review any more. */
    async assertOpen(tenant: string): Promise<void> {
      const state = await stateOf(tenant);
      if (state === null || (state.state === 'active' && holds(state.mac, tenantText(state)))) return;
      throw new GateError('tenant_offboarded');
    },
  };
}

const dispositionOf = ({ tenant, state, generation, operation_id }: StoredTenant): TenantDisposition =>
  tenantDisposition.parse({ tenant, state, generation: Number(generation), operation_id });

async function written<Result>(write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    throw new GateError('store_unavailable', undefined, { cause });
  }
}
