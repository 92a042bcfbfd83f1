import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { PolicyEventKind } from '../../contracts/policy-library.js';
import { EVERYBODY, type StoredSet } from '../../domain/policy/library-ports.js';
import { edited, ofWhom, policyKey, type PolicySealing } from '../../domain/policy/sealed-policies.js';
import type { PolicyTables } from './policy-tables.js';

/** Where the generation begins in `<UTC date>.<generation>`; SQL counts from one. */
const GENERATION_AT = '2026-11-28.'.length + 1;

/** A policy as a row tells that Gate left it at some time: a version, or the policy itself. */
export interface Told {
  readonly tenant: string;
  readonly name: string;
  readonly version: number;
  readonly active: boolean;
  readonly deleted: boolean;
  readonly body_sha256: string;
}
type OfPolicy = Pick<Told, 'tenant' | 'name' | 'version'>;
/** The newest of it that there is, by `policyKey`. */
export type Newest = ReadonlyMap<string, Told>;

/**
 * What shows that tables of an earlier time were put back: rows that Gate wrote after the state that is there. Only rows with a MAC that holds count,
 * so that nobody makes one up.
 */
export const putBack = (generation: number, what: string) =>
  edited(`the store was put back to generation ${generation}: ${what} is of a later one`);
const versionIs = ({ tenant, name, version }: OfPolicy): string =>
  `version ${version} of ${name} for ${ofWhom(tenant)}`;

/** Rows that are read whole, and whose MACs are verified, within one turn of the event loop: a text may be a megabyte. */
const TEXTS_AT_ONCE = 25;
/** Policies whose versions are listed by one question. */
const POLICIES_AT_ONCE = 100;
function* someOf<One>(all: readonly One[], most: number): Generator<readonly One[]> {
  for (let at = 0; at < all.length; at += most) yield all.slice(at, at + most);
}

/** What is later than what is there. There may be any number of rows that somebody made up, so they are read some at a time. */
interface Later<Found> {
  readonly later: Found;
  /** Rows with later numbers that Gate did not write. */
  readonly madeUp: readonly string[];
}

/** Each change of what judges keeps a set under its generation, which no change takes away. Null where none is later than this generation. */
export async function laterSet(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  generation: number,
): Promise<Later<string | null>> {
  const digits = String(generation);
  const number = sql<string>`substr(version, ${sql.lit(GENERATION_AT)})`;
  // Numbers without leading zeros: the longer one is the greater.
  const keys = await db
    .selectFrom('policy_past_sets')
    .select(['tenant', 'version'])
    .where(
      sql<boolean>`(length(${number}) > ${sql.lit(digits.length)} or (length(${number}) = ${sql.lit(digits.length)} and ${number} > ${digits}))`,
    )
    .execute();
  const madeUp: string[] = [];
  for (const some of someOf(keys, TEXTS_AT_ONCE)) {
    await nextTurn();
    const rows = await db
      .selectFrom('policy_past_sets')
      .selectAll()
      .where((eb) => eb.or(some.map(({ tenant, version }) => eb.and({ tenant, version }))))
      .execute();
    for (const row of rows) {
      const which = `the set ${row.version} for ${ofWhom(row.tenant)}`;
      const fault = sealing.fault('policy_past_sets', row);
      if (fault === null) return { later: which, madeUp };
      madeUp.push(`${which}: ${fault}`);
    }
  }
  return { later: null, madeUp };
}

/** The versions of these policies after those that they say, by whomever. */
async function versionsAfter(db: Kysely<PolicyTables>, policies: readonly OfPolicy[]): Promise<readonly OfPolicy[]> {
  const rows = await db
    .selectFrom('policy_versions')
    .select(['tenant', 'name', 'version'])
    .where((eb) =>
      eb.or(
        policies.map(({ tenant, name, version }) => eb.and([eb.and({ tenant, name }), eb('version', '>', version)])),
      ),
    )
    .execute();
  return rows.map((row) => ({ ...row, version: Number(row.version) }));
}

/**
 * What is later than the policies that are there, and their newest with it: the newest version of each that Gate wrote. A number that somebody made up
 * hides none below it. `numbers` are the highest numbers of versions that there are, by whomever.
 */
export async function laterVersions(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  policies: Newest,
  numbers: readonly OfPolicy[],
): Promise<Later<readonly Told[]> & { readonly newest: Newest }> {
  const found = new Map<string, Told>();
  const madeUp: string[] = [];
  const said = ({ tenant, name }: OfPolicy): number => policies.get(policyKey(tenant, name))?.version ?? 0;
  // Of what is no number nothing is known, so it is read.
  const behind = numbers.filter((one) => !(one.version <= said(one))).map((one) => ({ ...one, version: said(one) }));
  for (const policiesOf of someOf(behind, POLICIES_AT_ONCE)) {
    const after = await versionsAfter(db, policiesOf);
    // No database finds a row again by a number that was rounded.
    for (const one of after)
      if (!Number.isSafeInteger(one.version)) madeUp.push(`${versionIs(one)}: it has no number of a version`);
    const read = after.filter(({ version }) => Number.isSafeInteger(version));
    for (const some of someOf(read, TEXTS_AT_ONCE)) {
      await nextTurn();
      const rows = await db
        .selectFrom('policy_versions')
        .selectAll()
        .where((eb) => eb.or(some.map(({ tenant, name, version }) => eb.and({ tenant, name, version }))))
        .execute();
      for (const row of rows) {
        const one = toldOf(row);
        const fault = sealing.fault('policy_versions', row);
        const key = policyKey(one.tenant, one.name);
        if (fault !== null) madeUp.push(`${versionIs(one)}: ${fault}`);
        else if (one.version > (found.get(key)?.version ?? 0)) found.set(key, one);
      }
    }
  }
  return { later: [...found.values()], newest: new Map([...policies, ...found]), madeUp };
}
const toldOf = (row: PolicyTables['policy_versions']): Told => ({
  tenant: row.tenant,
  name: row.name,
  version: Number(row.version),
  active: Number(row.active) === 1,
  deleted: row.event_kind === ('policy.deleted' satisfies PolicyEventKind),
  body_sha256: row.body_sha256,
});

/** The first of these versions, as one that is later than what is there. */
export const firstOf = ([first]: readonly Told[]): string | null => (first ? versionIs(first) : null);

/**
 * Which policy is later than the sets that are in force: each has the newest of what is active, and nothing older of anything. `sets` are those that can be
 * read, null for a tenant whose set cannot. Documents are in no set without a rule.
 */
export function laterThanSets(newest: Newest, sets: ReadonlyMap<string, StoredSet['files'] | null>): string | null {
  for (const one of newest.values()) {
    const files = sets.get(one.tenant) ?? (sets.has(one.tenant) ? null : []);
    if (files === null) continue;
    const file = files.find(({ name }) => name === one.name);
    if (!file) {
      if (one.active && (files.length > 0 || one.name.endsWith('.rego'))) return versionIs(one);
      continue;
    }
    const is = (other: Told | undefined): boolean =>
      other?.version === file.version && other.body_sha256 === file.body_sha256;
    if (is(one) && one.active) continue;
    const isOfEverybody = one.tenant !== EVERYBODY && is(newest.get(policyKey(EVERYBODY, one.name)));
    // A file of everybody's stands in the place of a copy that is deleted, and of none that is there.
    if (isOfEverybody ? !one.deleted : file.version < one.version) return versionIs(one);
  }
  return laterForEverybody(newest, sets);
}

/** What holds for everybody is in each tenant's set with a rule, where no copy of the tenant's stands in its place; nothing older of it is. */
function laterForEverybody(newest: Newest, sets: ReadonlyMap<string, StoredSet['files'] | null>): string | null {
  const ofEverybody = [...newest.values()].filter(({ tenant }) => tenant === EVERYBODY);
  for (const [tenant, files] of sets) {
    if (tenant === EVERYBODY || files === null || files.length === 0) continue;
    const versions = new Map(files.map(({ name, version }) => [name, version]));
    for (const one of ofEverybody) {
      const own = newest.get(policyKey(tenant, one.name));
      if (own && !own.deleted) continue;
      const version = versions.get(one.name);
      if (version === undefined ? one.active : version < one.version) return versionIs(one);
    }
  }
  return null;
}
