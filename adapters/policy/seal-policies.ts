import { type Kysely, sql } from 'kysely';
import { storedFiles } from '../../contracts/policy-library.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import {
  policiesDigest,
  policyKey,
  type PolicySealing,
  type SealedTable,
} from '../../domain/policy/sealed-policies.js';
import type { Store } from '../store/database.js';
import { sealStore } from '../store/seal-store.js';
import type { PolicyTables } from './policy-tables.js';
import { sealedState } from './sealed-state.js';

type Table = Exclude<SealedTable, 'policy_state'>;
/** The tables of rows, by what names a row of them. */
const KEYS: Readonly<Record<Table, readonly string[]>> = {
  policies: ['tenant', 'name'],
  policy_versions: ['tenant', 'name', 'version'],
  policy_modules: ['sources_sha256'],
  policy_sets: ['tenant'],
  policy_past_sets: ['tenant', 'version'],
};
const TABLES = Object.keys(KEYS) as readonly Table[];
type Row = Readonly<Record<string, unknown>> & { readonly mac: string | null };
type Rows = Kysely<Record<Table, Row>>;

/** A text or module that is not the one of its digest, or a set that Gate cannot have written, was edited already: it gets no MAC. */
const isWhole: Partial<Record<Table, (row: Row) => boolean>> = {
  policies: ({ header }) => isObject(header),
  policy_sets: ({ files, data }) => areFiles(files) && isObject(data),
  policy_past_sets: ({ files }) => areFiles(files),
  policy_versions: ({ body, body_sha256: digest }) => sha256Hex(String(body)) === digest,
  policy_modules: ({ wasm, wasm_sha256: digest }) => sha256Hex(wasm as Uint8Array) === digest,
};

const parsed = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
};
const areFiles = (text: unknown): boolean => storedFiles.safeParse(parsed(text)).success;
const isObject = (text: unknown): boolean => {
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
};

/**
 * Run it at every opening (`adapters/store/seal-store.ts`). The policies of an earlier Gate get their MACs, once; `onAdopted` is told how many
 * rows. What is under an earlier key of the ring is put under the first, so that the earlier one can be taken away. Neither makes a row Gate's
 * that was not.
 */
export async function sealPolicies(
  store: Store<PolicyTables>,
  sealing: PolicySealing,
  onAdopted: (rows: number) => void = () => undefined,
): Promise<void> {
  const states = sealedState(sealing);
  const { keys } = sealing;
  let adopted = 0;
  let emptied = false;
  await sealStore(store, {
    keys,
    table: 'policy_seal',
    message: 'gate.policy-store/1: every policy has a mac',
    use: 'policy-store',
    rows: 'policies',
    keysAre: 'policy keys',
    async anyWithMac(transaction) {
      for (const table of ['policy_state', ...TABLES] as const)
        if (await transaction.selectFrom(table).select('mac').where('mac', 'is not', null).limit(1).executeTakeFirst())
          return true;
      return false;
    },
    async adoptAll(transaction) {
      await states.lock(transaction).execute();
      for (const table of TABLES)
        adopted += await eachOf(transaction, table, null, (row) =>
          isWhole[table]?.(row) === false ? null : sealing.macOf(table, row as never),
        );
      const { generation } = await transaction
        .selectFrom('policy_state')
        .select('generation')
        .executeTakeFirstOrThrow();
      emptied = Number(generation) > 0;
      await states.write(transaction, {
        generation: Number(generation),
        setMacs: await states.setMacs(transaction),
        policies_sha256: policiesDigest(await states.policyMacs(transaction)),
      });
    },
  });
  // A store that had changes and has no rows was emptied, which nobody is told otherwise.
  if (adopted > 0 || emptied) onAdopted(adopted);
  if (await anyUnderAnother(store.db)) await store.db.transaction().execute(renew);

  async function anyUnderAnother(db: Kysely<PolicyTables>): Promise<boolean> {
    for (const table of ['policy_state', ...TABLES] as const)
      if (await db.selectFrom(table).select('mac').where(underAnother()).limit(1).executeTakeFirst()) return true;
    return false;
  }
  function underAnother() {
    const active = `${keys.activeKeyId}:`;
    return sql<boolean>`substr(mac, 1, ${sql.lit(active.length)}) <> ${sql.lit(active)}`;
  }

  async function renew(transaction: Kysely<PolicyTables>): Promise<void> {
    await states.lock(transaction).execute();
    const row = await transaction.selectFrom('policy_state').selectAll().executeTakeFirst();
    // What is not Gate's stays what it is, and whoever loads it says so.
    if (!row || sealing.fault('policy_state', row) !== null) return;
    const state = await states.read(transaction);
    const policies = await states.policyMacs(transaction);
    const [sets, arePolicies] = [new Map(state.setMacs), states.has(state, policies)];
    for (const table of TABLES)
      await eachOf(transaction, table, underAnother(), (found) => {
        const { tenant, name, mac } = found as Row & { readonly tenant: string; readonly name: string };
        if (sealing.fault(table, found as never) !== null) return null;
        const renewed = sealing.macOf(table, found as never);
        if (table === 'policies') {
          if (!arePolicies) return null;
          policies.set(policyKey(tenant, name), renewed);
        }
        if (table === 'policy_sets') {
          if (sets.get(tenant) !== mac) return null;
          sets.set(tenant, renewed);
        }
        return renewed;
      });
    const policies_sha256 = arePolicies ? policiesDigest(policies) : state.policies_sha256;
    await states.write(transaction, { generation: state.generation, setMacs: sets, policies_sha256 });
  }
}

/** Gives rows the MAC that is said of them, one at a time, since a module may be megabytes; null leaves the row. How many were given one. */
async function eachOf(
  transaction: Kysely<PolicyTables>,
  table: Table,
  which: ReturnType<typeof sql<boolean>> | null,
  macOf: (row: Row) => string | null,
): Promise<number> {
  const rows = transaction as unknown as Rows;
  const names = KEYS[table];
  const all = rows.selectFrom(table).select([...names]);
  let given = 0;
  for (const key of await (which ? all.where(which) : all).execute()) {
    let one = rows.selectFrom(table).selectAll();
    let same = rows.updateTable(table);
    for (const name of names) {
      one = one.where(name, '=', key[name]);
      same = same.where(name, '=', key[name]);
    }
    const mac = macOf((await one.executeTakeFirstOrThrow()) as Row);
    if (mac === null) continue;
    await same.set({ mac }).execute();
    given += 1;
  }
  return given;
}
