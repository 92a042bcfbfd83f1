import type { Kysely } from 'kysely';
import { GateError } from '../../domain/errors.js';
import { edited, policiesDigest, policyKey, type PolicySealing } from '../../domain/policy/sealed-policies.js';
import { policyPages, ROWS_AT_ONCE } from './pages.js';
import type { PolicyTables } from './policy-tables.js';

type StateRow = PolicyTables['policy_state'];

/** What the store has, by its one row of state: which sets, and which policies, each by its MAC. */
export interface PolicyState {
  readonly generation: number;
  /** The MAC of each tenant's set, for tenants that have one. */
  readonly setMacs: ReadonlyMap<string, string | null>;
  readonly policies_sha256: string;
}

/** How often a read is repeated because the state changed meanwhile. */
const ATTEMPTS = 5;

/** Each row has its own MAC. The row of state covers all of them, so a row that was deleted, added or restored alone is noticed. */
export function sealedState(sealing: PolicySealing) {
  async function rowOf(db: Kysely<PolicyTables>): Promise<StateRow> {
    const row = await db.selectFrom('policy_state').selectAll().where('id', '=', 1).executeTakeFirst();
    if (!row) throw edited('the state of the policies is gone');
    return row;
  }
  function known(row: StateRow): PolicyState {
    const fault = sealing.fault('policy_state', row);
    if (fault !== null) throw edited(`the state of the policies: ${fault}`);
    return {
      generation: Number(row.generation),
      setMacs: new Map(JSON.parse(row.set_macs ?? '[]') as [string, string][]),
      policies_sha256: row.policies_sha256 ?? '',
    };
  }

  return {
    /** Throws `policy_tampered` where somebody else wrote it. */
    read: async (db: Kysely<PolicyTables>): Promise<PolicyState> => known(await rowOf(db)),
    /** Its MAC as stored, unchecked. */
    mark: async (db: Kysely<PolicyTables>): Promise<string | null> => (await rowOf(db)).mac,
    /** Reads under one state: it reads again when a change came in between, and throws only what no such change explains. */
    async readWith<Value>(db: Kysely<PolicyTables>, read: (state: PolicyState) => Promise<Value>): Promise<Value> {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const before = await rowOf(db);
        const value = await read(known(before));
        if ((await rowOf(db)).mac === before.mac) return value;
      }
      throw new GateError('store_unavailable', 'the policies change all the time');
    },
    /** For a transaction: until it ends nobody else changes anything. */
    lock: (transaction: Kysely<PolicyTables>) =>
      transaction
        .updateTable('policy_state')
        .set(({ ref }) => ({ generation: ref('generation') }))
        .where('id', '=', 1),
    async write(
      transaction: Kysely<PolicyTables>,
      { generation, setMacs, policies_sha256 }: PolicyState,
    ): Promise<void> {
      const row = sealing.withMac('policy_state', {
        id: 1,
        generation,
        set_macs: JSON.stringify([...setMacs]),
        policies_sha256,
      });
      await transaction.updateTable('policy_state').set(row).where('id', '=', 1).execute();
    },
    async policyMacs(db: Kysely<PolicyTables>): Promise<Map<string, string | null>> {
      const macs = new Map<string, string | null>();
      const all = db.selectFrom('policies').select(['tenant', 'name', 'mac']);
      const inOrder = all.orderBy('tenant').orderBy('name').limit(ROWS_AT_ONCE);
      for await (const rows of policyPages((isBehind) => inOrder.where(isBehind).execute()))
        for (const { tenant, name, mac } of rows) macs.set(policyKey(tenant, name), mac);
      return macs;
    },
    async setMacs(db: Kysely<PolicyTables>): Promise<Map<string, string | null>> {
      const rows = await db.selectFrom('policy_sets').select(['tenant', 'mac']).execute();
      return new Map(rows.map(({ tenant, mac }) => [tenant, mac]));
    },
    /** Whether these are the policies that the state has. */
    has: async ({ policies_sha256: digest }: PolicyState, macs: ReadonlyMap<string, string | null>): Promise<boolean> =>
      (await policiesDigest(macs)) === digest,
  };
}
