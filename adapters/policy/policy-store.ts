import { sql } from 'kysely';
import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import {
  type PolicyVersion,
  policyVersion,
  storedFiles,
  tenantPoliciesReceipt,
} from '../../contracts/policy-library.js';
import { GateError } from '../../domain/errors.js';
import {
  EVERYBODY,
  type PolicyStore,
  type StoredPolicy,
  type StoredSet,
  type TenantOperation,
} from '../../domain/policy/library-ports.js';
import type { PolicyHeader } from '../../domain/policy/policy-header.js';
import { storeFaultText } from '../../domain/store-faults.js';
import { policyMigrations } from '../../migrations/policies.js';
import { openStore, type StoreTarget } from '../store/database.js';
import { assertWritable } from '../store/writable.js';

type Count = number | string;

interface PolicyTables {
  policy_state: { id: number; generation: Count };
  policies: Omit<StoredPolicy, 'active' | 'current_version' | 'header'> & {
    active: Count;
    current_version: Count;
    header: string;
  };
  policy_versions: Omit<PolicyVersion, 'active' | 'version' | 'chain_seq' | 'event_kind'> & {
    tenant: string;
    event_kind: string;
    active: Count;
    version: Count;
    chain_seq: Count | null;
  };
  policy_modules: { sources_sha256: string; wasm_sha256: string; wasm: Uint8Array; opa_version: string };
  policy_sets: { tenant: string; version: string; files: string; data: string; sources_sha256: string | null };
  policy_tenant_operations: Omit<TenantOperation, 'generation' | 'receipt'> & {
    generation: Count;
    receipt: string | null;
  };
  policy_past_sets: { tenant: string; version: string; files: string; sources_sha256: string | null };
  policy_outbox: { generation: Count; ordinal: Count; tenant: string; name: string; version: Count; content: string };
}

const operationOf = ({ generation, receipt, ...row }: PolicyTables['policy_tenant_operations']): TenantOperation => ({
  ...row,
  generation: Number(generation),
  receipt: receipt === null ? null : tenantPoliciesReceipt.parse(JSON.parse(receipt)),
});

/** Somebody else changed the policies between the plan and the write. */
class Overtaken extends Error {}

const data = z.record(z.string(), z.unknown());

export async function openPolicyStore(target: StoreTarget): Promise<PolicyStore> {
  const { db, sqlite, close } = await openStore<PolicyTables>(target, policyMigrations);
  const asked = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof Overtaken) throw error;
      throw new GateError('store_unavailable', `the policies: ${storeFaultText(error)}`, { cause: error });
    }
  };
  const generation = async (): Promise<number> =>
    Number((await db.selectFrom('policy_state').select('generation').executeTakeFirstOrThrow()).generation);
  const versionOf = ({ active, ...row }: PolicyTables['policy_versions']): PolicyVersion =>
    policyVersion.parse({
      ...row,
      active: Number(active) === 1,
      version: Number(row.version),
      chain_seq: row.chain_seq === null ? null : Number(row.chain_seq),
    });
  const versionsOf = (tenant: string, name: string) =>
    db.selectFrom('policy_versions').selectAll().where('tenant', '=', tenant).where('name', '=', name);

  return {
    generation: () => asked(generation),
    catalogue: () =>
      asked(async () => {
        // Read before the rows: a change in between makes the plan on them one that was overtaken.
        const at = await generation();
        const rows = await db.selectFrom('policies').selectAll().orderBy('tenant').orderBy('name').execute();
        return {
          generation: at,
          policies: rows.map(({ active, current_version, header, ...row }) => ({
            ...row,
            active: Number(active) === 1,
            current_version: Number(current_version),
            header: JSON.parse(header) as PolicyHeader,
          })),
        };
      }),
    versions: (tenant, name) =>
      asked(async () => (await versionsOf(tenant, name).orderBy('version', 'desc').execute()).map(versionOf)),
    version: (tenant, name, version) =>
      asked(async () => {
        const row = await versionsOf(tenant, name).where('version', '=', version).executeTakeFirst();
        return row ? versionOf(row) : null;
      }),
    texts: (tenants) =>
      asked(() =>
        db
          .selectFrom('policies')
          .innerJoin('policy_versions', (join) =>
            join
              .onRef('policy_versions.tenant', '=', 'policies.tenant')
              .onRef('policy_versions.name', '=', 'policies.name')
              .onRef('policy_versions.version', '=', 'policies.current_version'),
          )
          .select(['policies.tenant', 'policies.name', 'policy_versions.body'])
          .where('policies.tenant', 'in', [...tenants])
          .execute(),
      ),
    sets: () =>
      asked(async () => {
        // As above: sets that are newer than their number are read again.
        const at = await generation();
        const rows = await db.selectFrom('policy_sets').selectAll().orderBy('tenant').execute();
        const sets = rows.map(
          (row): StoredSet => ({
            ...row,
            files: storedFiles.parse(JSON.parse(row.files)),
            data: data.parse(JSON.parse(row.data)) as JsonObject,
          }),
        );
        return { generation: at, sets };
      }),
    pastSet: (tenant, version) =>
      asked(async () => {
        const row = await db
          .selectFrom('policy_past_sets')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('version', '=', version)
          .executeTakeFirst();
        if (!row) return null;
        const files = storedFiles.parse(JSON.parse(row.files));
        const read: Record<string, Json> = {};
        for (const file of files.filter(({ content_type: type }) => type === 'json')) {
          // A tenant's set has its own copies and what holds for everybody; the digest says which one this is.
          const { body } = await db
            .selectFrom('policy_versions')
            .select('body')
            .where('tenant', 'in', [tenant, EVERYBODY])
            .where('name', '=', file.name)
            .where('version', '=', file.version)
            .where('body_sha256', '=', file.body_sha256)
            .executeTakeFirstOrThrow();
          read[file.name.slice(0, -'.json'.length)] = JSON.parse(body) as Json;
        }
        return { ...row, files, data: read };
      }),
    module: (sources) =>
      asked(async () => {
        const found = await db
          .selectFrom('policy_modules')
          .selectAll()
          .where('sources_sha256', '=', sources)
          .executeTakeFirst();
        return found ?? null;
      }),
    async write({ expected, at, changes, sets, modules }) {
      try {
        await asked(() =>
          db.transaction().execute(async (transaction) => {
            // The first statement writes, so that of two changes at once one waits for the other and then finds itself overtaken.
            const moved = await transaction
              .updateTable('policy_state')
              .set({ generation: expected + 1 })
              .where('id', '=', 1)
              .where('generation', '=', expected)
              .executeTakeFirst();
            if (moved.numUpdatedRows !== 1n) throw new Overtaken();
            for (const [
              ordinal,
              { policy, body, reason, actor_sub, actor_idp, event_kind, row },
            ] of changes.entries()) {
              const { tenant, name, content_type, current_version: version, body_sha256 } = policy;
              const active = policy.active ? 1 : 0;
              const now = {
                content_type,
                active,
                current_version: version,
                body_sha256,
                header: JSON.stringify(policy.header),
                deleted_at: policy.deleted_at,
                updated_at: policy.updated_at,
              };
              await transaction
                .insertInto('policies')
                .values({ tenant, name, created_at: policy.created_at, ...now })
                .onConflict((conflict) => conflict.columns(['tenant', 'name']).doUpdateSet(now))
                .execute();
              const by = { reason, actor_sub, actor_idp, event_kind };
              await transaction
                .insertInto('policy_versions')
                .values({ tenant, name, version, body, body_sha256, active, ...by, chain_seq: null, created_at: at })
                .execute();
              await transaction
                .insertInto('policy_outbox')
                .values({ generation: expected + 1, ordinal, tenant, name, version, content: JSON.stringify(row) })
                .execute();
            }
            for (const module of modules)
              await transaction
                .insertInto('policy_modules')
                .values({ ...module, wasm: Buffer.from(module.wasm) })
                .onConflict((conflict) => conflict.column('sources_sha256').doNothing())
                .execute();
            for (const { tenant, set } of sets) {
              if (set === null) {
                await transaction.deleteFrom('policy_sets').where('tenant', '=', tenant).execute();
                continue;
              }
              const { version, sources_sha256 } = set;
              const stored = {
                version,
                sources_sha256,
                files: JSON.stringify(set.files),
                data: JSON.stringify(set.data),
              };
              await transaction
                .insertInto('policy_sets')
                .values({ tenant, ...stored })
                .onConflict((conflict) => conflict.column('tenant').doUpdateSet(stored))
                .execute();
              await transaction
                .insertInto('policy_past_sets')
                .values({ tenant, version, sources_sha256, files: stored.files })
                .execute();
            }
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof Overtaken) return false;
        throw error;
      }
    },
    beginOperation: ({ operation_id, tenant, kind, begun_at }) =>
      asked(() =>
        db.transaction().execute(async (transaction) => {
          // Writes first, so that of two at once one waits for the other; the number also makes plans of before void.
          await transaction
            .updateTable('policy_state')
            .set(({ eb }) => ({ generation: eb('generation', '+', 1) }))
            .where('id', '=', 1)
            .execute();
          const known = await transaction
            .selectFrom('policy_tenant_operations')
            .selectAll()
            .where('operation_id', '=', operation_id)
            .executeTakeFirst();
          if (known) return operationOf(known);
          const { newest } = await transaction
            .selectFrom('policy_tenant_operations')
            .select(({ fn }) => fn.max('generation').as('newest'))
            .where('tenant', '=', tenant)
            .executeTakeFirstOrThrow();
          const made = { operation_id, tenant, kind, generation: Number(newest ?? 0) + 1, begun_at, receipt: null };
          await transaction.insertInto('policy_tenant_operations').values(made).execute();
          return made;
        }),
      ),
    newestOperation: (tenant) =>
      asked(async () => {
        const { newest } = await db
          .selectFrom('policy_tenant_operations')
          .select(({ fn }) => fn.max('generation').as('newest'))
          .where('tenant', '=', tenant)
          .executeTakeFirstOrThrow();
        return Number(newest ?? 0);
      }),
    endOperation: (receipt) =>
      asked(async () => {
        const { operation_id } = receipt;
        await db
          .updateTable('policy_tenant_operations')
          .set({ receipt: JSON.stringify(receipt) })
          .where('operation_id', '=', operation_id)
          .where('receipt', 'is', null)
          .execute();
        const stored = await db
          .selectFrom('policy_tenant_operations')
          .selectAll()
          .where('operation_id', '=', operation_id)
          .executeTakeFirstOrThrow();
        return operationOf(stored).receipt ?? receipt;
      }),
    undelivered: (most) =>
      asked(async () => {
        const rows = await db
          .selectFrom('policy_outbox')
          .selectAll()
          .orderBy('generation')
          .orderBy('ordinal')
          .limit(most)
          .execute();
        return rows.map(({ tenant, name, version, content }) => ({
          tenant,
          name,
          version: Number(version),
          row: JSON.parse(content) as NewLedgerRow & { id: string },
        }));
      }),
    delivered: ({ tenant, name, version }, seq) =>
      asked(() =>
        db.transaction().execute(async (transaction) => {
          await transaction
            .updateTable('policy_versions')
            .set({ chain_seq: seq })
            .where('tenant', '=', tenant)
            .where('name', '=', name)
            .where('version', '=', version)
            .execute();
          await transaction
            .deleteFrom('policy_outbox')
            .where('tenant', '=', tenant)
            .where('name', '=', name)
            .where('version', '=', version)
            .execute();
        }),
      ),
    ready: () =>
      asked(async () => {
        if (sqlite) await assertWritable(sqlite);
        else await sql`select 1`.execute(db);
      }),
    close,
  };
}
