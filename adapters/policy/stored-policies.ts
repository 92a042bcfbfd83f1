import type { Kysely } from 'kysely';
import type { GateError } from '../../domain/errors.js';
import type { Catalogue, StoredPolicy, StoredSet } from '../../domain/policy/library-ports.js';
import { headerOf, type PolicyHeader } from '../../domain/policy/policy-header.js';
import { edited, ofWhom, policyKey, type PolicySealing } from '../../domain/policy/sealed-policies.js';
import { policyPages, ROWS_AT_ONCE } from './pages.js';
import type { PolicyTables } from './policy-tables.js';
import { firstOf, laterSet, laterThanSets, laterVersions, type Newest, putBack, type Told } from './put-back.js';
import type { PolicyState, sealedState } from './sealed-state.js';

/** The policies that are there, and what of them Gate did not leave so. */
interface Found extends Catalogue {
  /** By `policyKey`, why the row of a policy is not what Gate left. */
  readonly tampered: ReadonlyMap<string, string>;
  /** Why nothing can be changed; null where all is as it was left. */
  readonly fault: GateError | null;
  /** Not all of the policies are there, or nobody knows which one is another. */
  readonly isPart: boolean;
  /** Versions and kept sets with later numbers that Gate did not write, some of them by name; null where there are none. They judge nothing. */
  readonly madeUp: string | null;
}

type Row = PolicyTables['policies'];

/** Rows that somebody made up are named up to so many. */
const ROWS_NAMED = 5;
function namedOf(rows: readonly string[]): string | null {
  if (rows.length === 0) return null;
  const more = rows.length > ROWS_NAMED ? [`and ${rows.length - ROWS_NAMED} more`] : [];
  return [...rows.slice(0, ROWS_NAMED), ...more].join('; ');
}

const toldBy = (row: Row): Told => ({
  tenant: row.tenant,
  name: row.name,
  version: Number(row.current_version),
  active: Number(row.active) === 1,
  deleted: row.deleted_at !== null,
  body_sha256: row.body_sha256,
});

/** A number that somebody may have made up, as one that an answer can hold. */
export const shownNumber = (stored: number | string): number =>
  Math.max(1, Math.min(Math.trunc(Number(stored)) || 1, Number.MAX_SAFE_INTEGER));

/** Of a row that somebody else wrote as much as can be shown. */
function shownOf({ active, current_version, header, mac: _mac, ...row }: Row, isGates: boolean): StoredPolicy {
  const policy = { ...row, active: Number(active) === 1, current_version: shownNumber(current_version) };
  if (isGates) return { ...policy, header: JSON.parse(header) as PolicyHeader };
  return { ...policy, content_type: row.name.endsWith('.json') ? 'json' : 'rego', header: headerOf('') };
}

/** Reads every policy, and compares all of them with what the state says, with their versions and with the sets that are in force. */
export function storedPolicies(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  states: ReturnType<typeof sealedState>,
  filesInForce: (state: PolicyState) => Promise<ReadonlyMap<string, StoredSet['files'] | null>>,
) {
  async function rowsOf() {
    const policies: StoredPolicy[] = [];
    const macs = new Map<string, string | null>();
    const [tampered, whole] = [new Map<string, string>(), new Map<string, Told>()];
    const all = db.selectFrom('policies').selectAll().orderBy('tenant').orderBy('name').limit(ROWS_AT_ONCE);
    for await (const page of policyPages((isBehind) => all.where(isBehind).execute()))
      for (const row of page) {
        const { tenant, name, mac } = row;
        macs.set(policyKey(tenant, name), mac);
        const fault = sealing.fault('policies', row);
        policies.push(shownOf(row, fault === null));
        if (fault === null) whole.set(policyKey(tenant, name), toldBy(row));
        else tampered.set(policyKey(tenant, name), `the policy ${name} for ${ofWhom(tenant)}: ${fault}`);
      }
    return { policies, macs, tampered, whole };
  }
  /** The highest number of a version of each policy, whoever wrote it. */
  async function highestVersions() {
    const all: Pick<Told, 'tenant' | 'name' | 'version'>[] = [];
    const versions = db
      .selectFrom('policy_versions')
      .select(({ fn }) => ['tenant', 'name', fn.max('version').as('version')])
      .groupBy(['tenant', 'name'])
      .orderBy('tenant')
      .orderBy('name')
      .limit(ROWS_AT_ONCE);
    for await (const page of policyPages((isBehind) => versions.where(isBehind).execute()))
      for (const row of page) all.push({ ...row, version: Number(row.version) });
    return all;
  }
  /** What is of a later time than the state; null where nothing is. */
  async function laterThan(
    state: PolicyState,
    { later, newest }: { readonly later: readonly Told[]; readonly newest: Newest },
    isOfState: boolean,
  ): Promise<string | null> {
    // Policies of the time of the state have no later versions; others may have been put back or edited alone, and the sets tell which.
    return isOfState ? firstOf(later) : laterThanSets(newest, await filesInForce(state));
  }

  async function found(state: PolicyState): Promise<Found | GateError> {
    const { generation } = state;
    const set = await laterSet(db, sealing, generation);
    if (set.later !== null) return putBack(generation, set.later);
    const { policies, macs, tampered, whole } = await rowsOf();
    const versions = await laterVersions(db, sealing, whole, await highestVersions());
    const areThose = await states.has(state, macs);
    const version = await laterThan(state, versions, areThose && tampered.size === 0);
    if (version !== null) return putBack(generation, version);
    let gone: string | null = null;
    for (const { tenant, name, version: newest } of versions.later) {
      const says = whole.get(policyKey(tenant, name))?.version;
      const which = `the policy ${name} for ${ofWhom(tenant)}`;
      if (says !== undefined)
        tampered.set(policyKey(tenant, name), `${which} was put back to version ${says} of ${newest}`);
      else if (!macs.has(policyKey(tenant, name))) gone ??= `${which} is gone`;
    }
    const isPart = gone !== null || (!areThose && tampered.size === 0);
    const [first] = tampered.values();
    const why = first ?? gone ?? (areThose ? null : 'a policy was deleted, or put back with its versions');
    return {
      generation,
      policies,
      tampered: new Map([...tampered].map(([key, what]) => [key, edited(what).message])),
      fault: why === null ? null : edited(why),
      isPart,
      madeUp: namedOf([...set.madeUp, ...versions.madeUp]),
    };
  }

  return {
    /** Throws `policy_tampered` where all of what is there is of an earlier time. */
    async look(): Promise<Found> {
      const looked = await states.readWith(db, found);
      if ('policies' in looked) return looked;
      throw looked;
    },
  };
}
