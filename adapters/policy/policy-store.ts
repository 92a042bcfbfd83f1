import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, type Selectable, sql } from 'kysely';
import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import {
  type KeptVersion,
  type PolicyVersion,
  policyVersion,
  storedFiles,
  type TenantPoliciesReceipt,
  tenantPoliciesReceipt,
} from '../../contracts/policy-library.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import {
  type Catalogue,
  type CurrentText,
  EVERYBODY,
  type PolicyStore,
  type SetInForce,
  type StoredSet,
  type TenantOperation,
  type Undelivered,
} from '../../domain/policy/library-ports.js';
import {
  edited,
  isEdited,
  ofWhom,
  policiesDigest,
  policyKey,
  policySealing,
  readRow,
} from '../../domain/policy/sealed-policies.js';
import type { PolicyTables } from './policy-tables.js';
import { SEALED_KEYS, type SealingTold, sealPolicies } from './seal-policies.js';
import { type PolicyState, sealedState } from './sealed-state.js';
import { shownNumber, storedPolicies } from './stored-policies.js';
import { suggestionStore, type SuggestionTables } from './suggestion-store.js';
import { storeFaultText } from '../../domain/store-faults.js';
import { policyMigrations } from '../../migrations/policies.js';
import { openStore, type StoreTarget } from '../store/database.js';
import { pagesOf } from '../store/pages.js';
import { assertWritable } from '../store/writable.js';

const operationOf = ({ generation, receipt, ...row }: PolicyTables['policy_tenant_operations']): TenantOperation => ({
  ...row,
  generation: Number(generation),
  receipt:
    receipt === null
      ? null
      : readRow(`the receipt of ${row.operation_id} for ${ofWhom(row.tenant)}`, () =>
          tenantPoliciesReceipt.parse(JSON.parse(receipt)),
        ),
});

type AddedTable = 'policy_versions' | 'policy_past_sets' | 'policy_outbox';

/** A mistake in what asks, which is no fault of the store and is told as one of Gate's. */
const isOfCode = (error: unknown): boolean =>
  [TypeError, RangeError, ReferenceError, SyntaxError, z.ZodError].some((kind) => error instanceof kind);

/** Somebody else changed the policies between the plan and the write. */
class Overtaken extends Error {}

/** Rows for the ledger that somebody else wrote are named up to so many. */
const ROWS_NAMED = 5;
const waitingRow = ({
  generation,
  ordinal,
  tenant,
  name,
  version,
}: Pick<PolicyTables['policy_outbox'], 'generation' | 'ordinal' | 'tenant' | 'name' | 'version'>): string =>
  `the row ${generation}.${ordinal} for the ledger, of version ${version} of ${name} for ${ofWhom(tenant)}`;

const data = z.record(z.string(), z.unknown());
/** Texts of policies that are read and verified within one turn of the event loop: some milliseconds. */
const FILES_AT_ONCE = 25;
const placeOf = ({
  name,
  version,
  body_sha256: digest,
}: Pick<StoredSet['files'][number], 'name' | 'version' | 'body_sha256'>): string =>
  JSON.stringify([name, version, digest]);

/**
 * Rows that somebody else wrote, or put back, are `policy_tampered` wherever they are read (docs/architecture/policies.md).
 */
export async function openPolicyStore(
  target: StoreTarget,
  keys: KeyRing,
  told: SealingTold = {},
): Promise<PolicyStore> {
  const store = await openStore<PolicyTables>(target, policyMigrations);
  const { db, sqlite, close } = store;
  const sealing = policySealing(keys);
  const states = sealedState(sealing);
  try {
    await sealPolicies(store, sealing, told);
  } catch (error) {
    await close();
    throw error;
  }
  // An answer of SQLite comes within the turn of the event loop in which it was asked for, so that a chain of questions would be one turn.
  const asked = async <Value>(ask: () => Promise<Value>): Promise<Value> => {
    await nextTurn();
    try {
      return await ask();
    } catch (error) {
      if (error instanceof Overtaken || error instanceof GateError || isOfCode(error)) throw error;
      throw new GateError('store_unavailable', `the policies: ${storeFaultText(error)}`, { cause: error });
    }
  };
  function versionOf({ active, ...row }: PolicyTables['policy_versions']): PolicyVersion {
    const fault = sealing.fault('policy_versions', { active, ...row });
    const which = `version ${row.version} of ${row.name} for ${ofWhom(row.tenant)}`;
    if (fault !== null) throw edited(`${which}: ${fault}`);
    // No MAC covers the place in the ledger: one that can be none is not known.
    const place = row.chain_seq === null ? Number.NaN : Number(row.chain_seq);
    return readRow(which, () =>
      policyVersion.parse({
        ...row,
        active: Number(active) === 1,
        version: Number(row.version),
        chain_seq: Number.isSafeInteger(place) && place >= 0 ? place : null,
      }),
    );
  }
  function keptVersionOf(row: PolicyTables['policy_versions']): KeptVersion {
    try {
      return versionOf(row);
    } catch (error) {
      if (isEdited(error)) return { name: row.name, version: shownNumber(row.version), tampered: error.message };
      throw error;
    }
  }
  const versionsOf = (tenant: string, name: string) =>
    db.selectFrom('policy_versions').selectAll().where('tenant', '=', tenant).where('name', '=', name);

  /** The sets that are in force, and whose are not those of the last change. */
  async function setsOf(state: PolicyState) {
    const rows = await db.selectFrom('policy_sets').selectAll().orderBy('tenant').execute();
    const sets: SetInForce[] = [];
    const unreadable: { tenant: string; why: string }[] = [];
    const missing = new Set(state.setMacs.keys());
    for (const { mac, ...row } of rows) {
      await nextTurn();
      const { tenant, version } = row;
      const which = `the set ${version} for ${ofWhom(tenant)}`;
      missing.delete(tenant);
      const last = state.setMacs.get(tenant) === mac;
      const fault =
        sealing.fault('policy_sets', { ...row, mac }) ?? (last ? null : 'it is not the one of the last change');
      if (fault === null && mac !== null)
        sets.push({
          ...row,
          mac,
          files: readRow(which, () => storedFiles.parse(JSON.parse(row.files))),
          data: readRow(which, () => data.parse(JSON.parse(row.data)) as JsonObject),
        });
      else unreadable.push({ tenant, why: `${which}: ${fault}` });
    }
    for (const tenant of missing) unreadable.push({ tenant, why: `the set for ${ofWhom(tenant)} is gone` });
    return { generation: state.generation, sets, unreadable };
  }
  const policies = storedPolicies(db, sealing, states, async (state) => {
    const { sets, unreadable } = await setsOf(state);
    return new Map([
      ...sets.map(({ tenant, files }) => [tenant, files] as const),
      ...unreadable.map(({ tenant }) => [tenant, null] as const),
    ]);
  });
  async function catalogue(): Promise<Catalogue> {
    const { generation, policies: all, fault } = await policies.look();
    if (fault !== null) throw fault;
    return { generation, policies: all };
  }

  /**
   * Adds a row that nobody but Gate writes, under the lock of the store, in the place of one that somebody else put there. Throws `policy_tampered` where
   * Gate's own is there, which is of a later time than the state.
   */
  async function added<Name extends AddedTable>(
    transaction: Kysely<PolicyTables>,
    table: Name,
    row: PolicyTables[Name],
    what: string,
  ): Promise<void> {
    const rows = transaction as unknown as Kysely<Record<AddedTable, Record<string, unknown>>>;
    const values: Readonly<Record<string, unknown>> = { ...row };
    const is = Object.fromEntries(SEALED_KEYS[table].map((column) => [column, values[column]]));
    const there = await rows
      .selectFrom<AddedTable>(table)
      .selectAll()
      .where(({ and }) => and(is))
      .executeTakeFirst();
    if (there) {
      if (sealing.fault(table, there as never) === null) throw edited(`${what} was there before its change`);
      await rows
        .deleteFrom<AddedTable>(table)
        .where(({ and }) => and(is))
        .execute();
    }
    await rows.insertInto<AddedTable>(table).values(values).execute();
  }
  const keep = (transaction: Kysely<PolicyTables>, set: Omit<PolicyTables['policy_past_sets'], 'mac'>): Promise<void> =>
    added(
      transaction,
      'policy_past_sets',
      sealing.withMac('policy_past_sets', set),
      `the kept set ${set.version} for ${ofWhom(set.tenant)}`,
    );

  /** Writes the receipt of an operation that has none. */
  async function ended(into: Kysely<PolicyTables>, receipt: TenantPoliciesReceipt): Promise<void> {
    await into
      .updateTable('policy_tenant_operations')
      .set({ receipt: JSON.stringify(receipt) })
      .where('operation_id', '=', receipt.operation_id)
      .where('receipt', 'is', null)
      .execute();
  }

  return {
    mark: () => asked(() => states.mark(db)),
    catalogue: () => asked(catalogue),
    shown: () =>
      asked(async () => {
        const { fault, isPart, madeUp: _madeUp, ...found } = await policies.look();
        if (fault !== null && isPart) throw fault;
        return found;
      }),
    versions: (tenant, name) =>
      asked(async () => (await versionsOf(tenant, name).orderBy('version', 'desc').execute()).map(keptVersionOf)),
    version: (tenant, name, version) =>
      asked(async () => {
        const row = await versionsOf(tenant, name).where('version', '=', version).executeTakeFirst();
        return row ? versionOf(row) : null;
      }),
    texts: (tenants) =>
      asked(async () => {
        const rows = await db
          .selectFrom('policies')
          .innerJoin('policy_versions', (join) =>
            join
              .onRef('policy_versions.tenant', '=', 'policies.tenant')
              .onRef('policy_versions.name', '=', 'policies.name')
              .onRef('policy_versions.version', '=', 'policies.current_version'),
          )
          .selectAll('policy_versions')
          .where('policies.tenant', 'in', [...tenants])
          .execute();
        return rows.map((row): CurrentText => {
          const { tenant, name } = row;
          try {
            return { tenant, name, body: versionOf(row).body, tampered: null };
          } catch (error) {
            if (isEdited(error)) return { tenant, name, body: null, tampered: error.message };
            throw error;
          }
        });
      }),
    sets: () =>
      asked(async () => {
        const inForce = await states.readWith(db, setsOf);
        const { fault, madeUp } = await policies.look();
        return { ...inForce, tampered: fault?.message ?? null, madeUp };
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
        const { mac: _mac, ...past } = row;
        const fault = sealing.fault('policy_past_sets', row);
        const which = `the kept set ${version} for ${ofWhom(tenant)}`;
        if (fault !== null) throw edited(`${which}: ${fault}`);
        const files = readRow(which, () => storedFiles.parse(JSON.parse(past.files)));
        const read: Record<string, Json> = {};
        // A tenant's set has its own copies and what holds for everybody; the digest says which one a file is.
        const scopes = [...new Set([tenant, EVERYBODY])];
        for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
          await nextTurn();
          const some = files.slice(at, at + FILES_AT_ONCE);
          const rows = await db
            .selectFrom('policy_versions')
            .selectAll()
            // Each by the index: the tenants named beside them all would have every version of every policy read.
            .where((eb) =>
              eb.or(
                some.map(({ name, version: of, body_sha256 }) =>
                  eb.and([eb('tenant', 'in', scopes), eb.and({ name, version: of, body_sha256 })]),
                ),
              ),
            )
            .execute();
          const found = new Map(rows.map((one) => [placeOf({ ...one, version: Number(one.version) }), one]));
          for (const file of some) {
            const one = found.get(placeOf(file));
            if (!one) throw edited(`version ${file.version} of ${file.name} is gone`);
            const { body } = versionOf(one);
            if (file.content_type === 'json') read[file.name.slice(0, -'.json'.length)] = JSON.parse(body) as Json;
          }
        }
        return { ...past, files, data: read };
      }),
    module: (sources) =>
      asked(async () => {
        const found = await db
          .selectFrom('policy_modules')
          .selectAll()
          .where('sources_sha256', '=', sources)
          .executeTakeFirst();
        if (!found) return null;
        const { mac: _mac, ...module } = found;
        const fault = sealing.fault('policy_modules', found);
        if (fault !== null) throw edited(`the module of ${sources}: ${fault}`);
        if (sha256Hex(module.wasm) !== module.wasm_sha256)
          throw edited(`the module of ${sources} is not what was compiled`);
        return module;
      }),
    async write({ expected, at, changes, sets, modules, receipt }) {
      try {
        await asked(() =>
          db.transaction().execute(async (transaction) => {
            // The first statement writes, so that of two changes at once one waits for the other and then finds itself overtaken.
            const moved = await states.lock(transaction).where('generation', '=', expected).executeTakeFirst();
            if (moved.numUpdatedRows !== 1n) throw new Overtaken();
            const state = await states.read(transaction);
            const setMacs = new Map(state.setMacs);
            const policyMacs = await states.policyMacs(transaction);
            // Somebody who put one back since the plan was made does not have it sealed by this change.
            if (!(await states.has(state, policyMacs)))
              throw edited('policies were deleted or put back while they were changed');
            for (const [
              ordinal,
              { policy, body, reason, actor_sub, actor_idp, event_kind, row },
            ] of changes.entries()) {
              // Of hundreds at once each waits for calls.
              await nextTurn();
              const { tenant, name, content_type, current_version: version, body_sha256 } = policy;
              const active = policy.active ? 1 : 0;
              const now = sealing.withMac('policies', {
                tenant,
                name,
                content_type,
                active,
                current_version: version,
                body_sha256,
                header: JSON.stringify(policy.header),
                deleted_at: policy.deleted_at,
                created_at: policy.created_at,
                updated_at: policy.updated_at,
              });
              policyMacs.set(policyKey(tenant, name), now.mac);
              await transaction
                .insertInto('policies')
                .values(now)
                .onConflict((conflict) => conflict.columns(['tenant', 'name']).doUpdateSet(now))
                .execute();
              const by = { reason, actor_sub, actor_idp, event_kind };
              const made = { tenant, name, version, body, body_sha256, active, ...by, created_at: at };
              const versionRow = { ...sealing.withMac('policy_versions', made), chain_seq: null };
              await added(
                transaction,
                'policy_versions',
                versionRow,
                `version ${version} of ${name} for ${ofWhom(tenant)}`,
              );
              const place = { generation: expected + 1, ordinal, tenant, name, version };
              const waits = sealing.withMac('policy_outbox', { ...place, content: JSON.stringify(row) });
              await added(transaction, 'policy_outbox', waits, waitingRow(place));
            }
            for (const module of modules) {
              // In the place of one that was edited.
              const sealed = sealing.withMac('policy_modules', { ...module, wasm: Buffer.from(module.wasm) });
              await transaction
                .insertInto('policy_modules')
                .values(sealed)
                .onConflict((conflict) => conflict.column('sources_sha256').doUpdateSet(sealed))
                .execute();
            }
            for (const { tenant, set } of sets) {
              if (set === null) {
                setMacs.delete(tenant);
                await transaction.deleteFrom('policy_sets').where('tenant', '=', tenant).execute();
                // That there was a change is kept as of any other: a table of before that is put back is told by it.
                const none = {
                  tenant,
                  version: `${at.slice(0, 10)}.${expected + 1}`,
                  sources_sha256: null,
                  files: '[]',
                };
                await keep(transaction, none);
                continue;
              }
              const { version, sources_sha256 } = set;
              const kept = { tenant, version, sources_sha256, files: JSON.stringify(set.files) };
              const stored = sealing.withMac('policy_sets', { ...kept, data: JSON.stringify(set.data) });
              setMacs.set(tenant, stored.mac);
              await transaction
                .insertInto('policy_sets')
                .values(stored)
                .onConflict((conflict) => conflict.column('tenant').doUpdateSet(stored))
                .execute();
              await keep(transaction, kept);
            }
            const policies_sha256 = await policiesDigest(policyMacs);
            await states.write(transaction, { generation: expected + 1, setMacs, policies_sha256 });
            if (receipt) await ended(transaction, receipt);
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
          await states.lock(transaction).execute();
          const state = await states.read(transaction);
          await states.write(transaction, { ...state, generation: state.generation + 1 });
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
        await ended(db, receipt);
        const stored = await db
          .selectFrom('policy_tenant_operations')
          .selectAll()
          .where('operation_id', '=', receipt.operation_id)
          .executeTakeFirstOrThrow();
        return operationOf(stored).receipt ?? receipt;
      }),
    undelivered: (most) =>
      asked(async () => {
        const waiting: Undelivered[] = [];
        const tampered: string[] = [];
        const inOrder = db.selectFrom('policy_outbox').selectAll().orderBy('generation').orderBy('ordinal').limit(most);
        const pages = pagesOf(most, (last: Selectable<PolicyTables['policy_outbox']> | undefined) =>
          inOrder
            .$if(last !== undefined, (query) =>
              query.where(sql<boolean>`(generation, ordinal) > (${last?.generation}, ${last?.ordinal})`),
            )
            .execute(),
        );
        for await (const rows of pages)
          for (const row of rows) {
            const { tenant, name, version, content } = row;
            const fault = sealing.fault('policy_outbox', row);
            if (fault === null)
              waiting.push({ tenant, name, version: Number(version), row: JSON.parse(content) as Undelivered['row'] });
            else if (tampered.length < ROWS_NAMED) tampered.push(`${waitingRow(row)}: ${fault}`);
            if (waiting.length === most) return { waiting, tampered };
          }
        return { waiting, tampered };
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
    ...suggestionStore(db as unknown as Kysely<SuggestionTables>, sealing, asked),
    ready: () =>
      asked(async () => {
        if (sqlite) await assertWritable(sqlite);
        else await sql`select 1`.execute(db);
      }),
    close,
  };
}
