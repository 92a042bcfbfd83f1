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
/** The newest of it that there is, by `policyKey`. */
export type Newest = ReadonlyMap<string, Told>;

/**
 * What shows that tables of an earlier time were put back: rows that Gate wrote after the state that is there. Only rows with a MAC that holds count,
 * so that nobody makes one up.
 */
export const putBack = (generation: number, what: string) =>
  edited(`the store was put back to generation ${generation}: ${what} is of a later one`);
const versionIs = ({ tenant, name, version }: Told): string => `version ${version} of ${name} for ${ofWhom(tenant)}`;

/** Each change of what judges keeps a set under its generation, which no change takes away. Null where none is later than this generation. */
export async function laterSet(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  generation: number,
): Promise<string | null> {
  const digits = String(generation);
  const number = sql<string>`substr(version, ${sql.lit(GENERATION_AT)})`;
  // Numbers without leading zeros: the longer one is the greater.
  const later = await db
    .selectFrom('policy_past_sets')
    .select(['tenant', 'version'])
    .where(
      sql<boolean>`(length(${number}) > ${sql.lit(digits.length)} or (length(${number}) = ${sql.lit(digits.length)} and ${number} > ${digits}))`,
    )
    .execute();
  for (const { tenant, version } of later) {
    // There may be any number that somebody made up.
    await nextTurn();
    const row = await db
      .selectFrom('policy_past_sets')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('version', '=', version)
      .executeTakeFirst();
    if (row && sealing.fault('policy_past_sets', row) === null) return `the set ${version} for ${ofWhom(tenant)}`;
  }
  return null;
}

/**
 * The newest version after this one that Gate wrote. Null where it wrote none: a number that somebody made up hides none below it.
 */
async function laterVersion(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  { tenant, name }: Pick<Told, 'tenant' | 'name'>,
  after: number,
): Promise<Told | null> {
  const later = db
    .selectFrom('policy_versions')
    .where('tenant', '=', tenant)
    .where('name', '=', name)
    .where('version', '>', after);
  for (const { version } of await later.select('version').orderBy('version', 'desc').execute()) {
    await nextTurn();
    const row = await later.selectAll().where('version', '=', version).executeTakeFirst();
    if (row && sealing.fault('policy_versions', row) === null)
      return {
        tenant,
        name,
        version: Number(version),
        active: Number(row.active) === 1,
        deleted: row.event_kind === ('policy.deleted' satisfies PolicyEventKind),
        body_sha256: row.body_sha256,
      };
  }
  return null;
}

/**
 * What is later than the policies that are there, and their newest with it. `numbers` are the highest numbers of versions that there are, by whomever.
 */
export async function laterVersions(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  policies: Newest,
  numbers: readonly Pick<Told, 'tenant' | 'name' | 'version'>[],
): Promise<{ readonly later: readonly Told[]; readonly newest: Newest }> {
  const newest = new Map(policies);
  const later: Told[] = [];
  for (const one of numbers) {
    const key = policyKey(one.tenant, one.name);
    const says = policies.get(key)?.version ?? 0;
    if (one.version <= says) continue;
    const found = await laterVersion(db, sealing, one, says);
    if (!found) continue;
    later.push(found);
    newest.set(key, found);
  }
  return { later, newest };
}

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
