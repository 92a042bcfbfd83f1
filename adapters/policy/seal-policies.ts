import { type Kysely, sql } from 'kysely';
import { storedFiles } from '../../contracts/policy-library.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import {
  policiesDigest,
  policyKey,
  type PolicySealing,
  type SealedTable,
} from '../../domain/policy/sealed-policies.js';
import { asAtOpening, type Store } from '../store/database.js';
import { sealStore } from '../store/seal-store.js';
import type { PolicyTables } from './policy-tables.js';
import { isRowOf } from '../../domain/policy/library-rows.js';
import { isOfItsText } from '../../domain/policy/mining/suggestions.js';
import { sealedState } from './sealed-state.js';

type Table = Exclude<SealedTable, 'policy_state'>;
/** The tables of rows, by what names a row of them. */
export const SEALED_KEYS: Readonly<Record<Table, readonly string[]>> = {
  policies: ['tenant', 'name'],
  policy_versions: ['tenant', 'name', 'version'],
  policy_modules: ['sources_sha256'],
  policy_sets: ['tenant'],
  policy_past_sets: ['tenant', 'version'],
  policy_outbox: ['generation', 'ordinal'],
  policy_suggestions: ['id'],
};
/** Those that have MACs since a later version of Gate than the others. */
const LATER: readonly Table[] = ['policy_outbox', 'policy_suggestions'];
const TABLES = Object.keys(SEALED_KEYS) as readonly Table[];
type Row = Readonly<Record<string, unknown>> & { readonly mac: string | null };
type Rows = Kysely<Record<Table, Row>>;

/** A text or module that is not the one of its digest, or a set that Gate cannot have written, was edited already: it gets no MAC. */
const isWhole: Partial<Record<Table, (row: Row) => boolean>> = {
  policy_suggestions: (row) => isOfItsText(row as never),
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

const REASONS_TOLD = 10;
const LONGEST_REASON = 200;
/** Rows that were put under the newest key, and those that were not, by why. A key can be taken away when none is left under it. */
export interface Renewal {
  readonly renewed: number;
  readonly left: Readonly<Record<string, number>>;
}
/** Who opens the store is told what was done to its rows. */
export interface SealingTold {
  /** Rows of an earlier Gate, which had no MACs, were taken for its own. */
  readonly onAdopted?: (rows: number) => void;
  /** Rows were found under another key than the newest. */
  readonly onRenewed?: (renewal: Renewal) => void;
}

/**
 * Run it at every opening (`adapters/store/seal-store.ts`). The policies of an earlier Gate get their MACs, once. What is under an earlier key of the
 * ring is put under the first, so that the earlier one can be taken away; of two processes that do it one finds nothing left to do. Neither makes a row
 * Gate's that was not.
 */
export async function sealPolicies(
  store: Store<PolicyTables>,
  sealing: PolicySealing,
  { onAdopted = () => undefined, onRenewed = () => undefined }: SealingTold = {},
): Promise<void> {
  const states = sealedState(sealing);
  const { keys } = sealing;
  let adopted = 0;
  let emptied = false;
  await sealStore(store, {
    keys,
    table: 'policy_seal',
    message: 'gate.policy-store/2: every policy, suggestion and waiting row has a mac',
    earlier: {
      message: 'gate.policy-store/1: every policy has a mac',
      async adopt(transaction) {
        await states.lock(transaction).execute();
        // A mark of before that somebody put back has nothing taken for Gate's.
        if (!(await anyHasMac(transaction, LATER))) for (const table of LATER) await adopt(transaction, table);
      },
    },
    use: 'policy-store',
    rows: 'policies',
    keysAre: 'policy keys',
    anyWithMac: (transaction) => anyHasMac(transaction, ['policy_state', ...TABLES]),
    async adoptAll(transaction) {
      await states.lock(transaction).execute();
      for (const table of TABLES) await adopt(transaction, table);
      const { generation } = await transaction
        .selectFrom('policy_state')
        .select('generation')
        .executeTakeFirstOrThrow();
      emptied = Number(generation) > 0;
      await states.write(transaction, {
        generation: Number(generation),
        setMacs: await states.setMacs(transaction),
        policies_sha256: await policiesDigest(await states.policyMacs(transaction)),
      });
    },
  });
  // A store that had changes and has no rows was emptied, which nobody is told otherwise.
  if (adopted > 0 || emptied) onAdopted(adopted);
  if (await anyUnderAnother(store.db)) {
    const { renewed, left } = await asAtOpening(store, () => store.db.transaction().execute(renew));
    if (renewed > 0 || left.size > 0) onRenewed({ renewed, left: Object.fromEntries(left) });
  }

  async function adopt(transaction: Kysely<PolicyTables>, table: Table): Promise<void> {
    adopted += await eachOf(transaction, table, null, async (row) => {
      if (isWhole[table]?.(row) === false) return null;
      if (table === 'policy_outbox' && !(await tellsOfItsVersion(transaction, row))) return null;
      return sealing.macOf(table, row as never);
    });
  }
  /** What waits for the ledger is signed there: its version, which has a MAC, says what it may say. */
  async function tellsOfItsVersion(transaction: Kysely<PolicyTables>, row: Row): Promise<boolean> {
    const { tenant, name, version, content } = row as Row & PolicyTables['policy_outbox'];
    const made = await transaction
      .selectFrom('policy_versions')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('name', '=', name)
      .where('version', '=', version)
      .executeTakeFirst();
    return (
      made !== undefined &&
      sealing.fault('policy_versions', made) === null &&
      isRowOf(parsed(content), { ...made, version: Number(made.version) })
    );
  }
  async function anyUnderAnother(db: Kysely<PolicyTables>): Promise<boolean> {
    for (const table of ['policy_state', ...TABLES] as const)
      if (await db.selectFrom(table).select('mac').where(underAnother()).limit(1).executeTakeFirst()) return true;
    return false;
  }
  function underAnother() {
    const active = `${keys.activeKeyId}:`;
    return sql<boolean>`substr(mac, 1, ${sql.lit(active.length)}) <> ${sql.lit(active)}`;
  }

  async function countUnderAnother(transaction: Kysely<PolicyTables>): Promise<number> {
    let rows = 0;
    for (const table of ['policy_state', ...TABLES] as const) {
      const all = transaction.selectFrom(table).where(underAnother());
      const { count } = await all.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
      rows += Number(count);
    }
    return rows;
  }

  async function renew(transaction: Kysely<PolicyTables>) {
    await states.lock(transaction).execute();
    const left = new Map<string, number>();
    const leave = (fault: string, rows = 1): null => {
      // A row that somebody made up names any key.
      const why = left.has(fault) || (left.size < REASONS_TOLD && fault.length <= LONGEST_REASON) ? fault : 'others';
      left.set(why, (left.get(why) ?? 0) + rows);
      return null;
    };
    const row = await transaction.selectFrom('policy_state').selectAll().executeTakeFirst();
    const stateFault = row ? sealing.fault('policy_state', row) : 'it is gone';
    // What is not Gate's stays what it is, and whoever loads it says so.
    if (stateFault !== null) {
      leave(`the state of the policies: ${stateFault}`, await countUnderAnother(transaction));
      return { renewed: 0, left };
    }
    let renewed = row?.mac?.startsWith(`${keys.activeKeyId}:`) ? 0 : 1;
    const state = await states.read(transaction);
    const policies = await states.policyMacs(transaction);
    const [sets, arePolicies] = [new Map(state.setMacs), await states.has(state, policies)];
    for (const table of TABLES)
      renewed += await eachOf(transaction, table, underAnother(), (found) => {
        const { tenant, name, mac } = found as Row & { readonly tenant: string; readonly name: string };
        const fault = sealing.fault(table, found as never);
        if (fault !== null) return leave(`${table}: ${fault}`);
        const given = sealing.macOf(table, found as never);
        if (table === 'policies') {
          if (!arePolicies) return leave(`${table}: a policy was edited, deleted or put back`);
          policies.set(policyKey(tenant, name), given);
        }
        if (table === 'policy_sets') {
          if (sets.get(tenant) !== mac) return leave(`${table}: it is not the one of the last change`);
          sets.set(tenant, given);
        }
        return given;
      });
    const policies_sha256 = arePolicies ? await policiesDigest(policies) : state.policies_sha256;
    await states.write(transaction, { generation: state.generation, setMacs: sets, policies_sha256 });
    return { renewed, left };
  }
}

async function anyHasMac(
  transaction: Kysely<PolicyTables>,
  tables: readonly (Table | 'policy_state')[],
): Promise<boolean> {
  const rows = transaction as unknown as Kysely<Record<Table | 'policy_state', Row>>;
  for (const table of tables)
    if (await rows.selectFrom(table).select('mac').where('mac', 'is not', null).limit(1).executeTakeFirst())
      return true;
  return false;
}

/** Gives rows the MAC that is said of them, one at a time, since a module may be megabytes; null leaves the row. How many were given one. */
async function eachOf(
  transaction: Kysely<PolicyTables>,
  table: Table,
  which: ReturnType<typeof sql<boolean>> | null,
  macOf: (row: Row) => string | null | Promise<string | null>,
): Promise<number> {
  const rows = transaction as unknown as Rows;
  const names = SEALED_KEYS[table];
  const all = rows.selectFrom(table).select([...names]);
  let given = 0;
  for (const key of await (which ? all.where(which) : all).execute()) {
    let one = rows.selectFrom(table).selectAll();
    let same = rows.updateTable(table);
    for (const name of names) {
      one = one.where(name, '=', key[name]);
      same = same.where(name, '=', key[name]);
    }
    const row = (await one.executeTakeFirst()) as Row | undefined;
    const mac = row ? await macOf(row) : null;
    if (!row || mac === null) continue;
    // What was written anew meanwhile has its MAC.
    const { numUpdatedRows } = await same
      .where('mac', row.mac === null ? 'is' : '=', row.mac)
      .set({ mac })
      .executeTakeFirstOrThrow();
    given += Number(numUpdatedRows);
  }
  return given;
}
