import { type Kysely, sql } from 'kysely';
import { edited, ofWhom, type PolicySealing } from '../../domain/policy/sealed-policies.js';
import type { PolicyTables } from './policy-tables.js';

/** Where the generation begins in `<UTC date>.<generation>`; SQL counts from one. */
const GENERATION_AT = '2026-11-28.'.length + 1;

type NewestVersion = Pick<PolicyTables['policy_versions'], 'tenant' | 'name' | 'version'>;

/**
 * What shows that tables of an earlier time were put back: rows that Gate wrote after the state that is there. Only rows with a MAC that holds count,
 * so that nobody makes one up.
 */
export const putBack = (generation: number, what: string) =>
  edited(`the store was put back to generation ${generation}: ${what} is of a later one`);

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

/** The newest version of every policy. */
export const newestVersions = (db: Kysely<PolicyTables>): Promise<readonly NewestVersion[]> =>
  db
    .selectFrom('policy_versions')
    .select(({ fn }) => ['tenant', 'name', fn.max('version').as('version')])
    .groupBy(['tenant', 'name'])
    .orderBy('tenant')
    .orderBy('name')
    .execute();

/** Policies that have a newer version than they say, with the one that they say; 0 where there is no such policy any more. */
export function behindVersions(
  rows: readonly Pick<PolicyTables['policies'], 'tenant' | 'name' | 'current_version'>[],
  newest: readonly NewestVersion[],
): readonly (NewestVersion & { readonly says: number })[] {
  const key = ({ tenant, name }: Pick<NewestVersion, 'tenant' | 'name'>): string => JSON.stringify([tenant, name]);
  const current = new Map(rows.map((row) => [key(row), Number(row.current_version)]));
  return newest
    .map((one) => ({ ...one, says: current.get(key(one)) ?? 0 }))
    .filter(({ version, says }) => says < Number(version));
}

/** The first of these versions that Gate wrote. Null where it wrote none of them. */
export async function laterVersion(
  db: Kysely<PolicyTables>,
  sealing: PolicySealing,
  behind: readonly NewestVersion[],
): Promise<string | null> {
  for (const { tenant, name, version } of behind) {
    const row = await db
      .selectFrom('policy_versions')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('name', '=', name)
      .where('version', '=', version)
      .executeTakeFirst();
    if (row && sealing.fault('policy_versions', row) === null)
      return `version ${version} of ${name} for ${ofWhom(tenant)}`;
  }
  return null;
}
