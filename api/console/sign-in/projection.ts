import { MOST_TEAMS } from '../../../contracts/identity.js';
import { linear } from '../../../domain/expressions/linear.js';
import type { SignInConfig } from '../../../config/console-sign-in.js';
import type { Role } from '../../../console/roles.js';

/** What a provider says of somebody, as it says it. */
export interface ProviderWords {
  readonly tenant: unknown;
  readonly groups: unknown;
  readonly mfa: unknown;
}

export type ProjectionRules = Pick<
  SignInConfig,
  'tenantMap' | 'adminGroups' | 'approverGroups' | 'viewerGroups' | 'teamGroups' | 'mfaValues'
>;

/** Tenant and role of somebody, or why there is none. `tenant` stands beside a refusal where it is known all the same. */
export type Projected =
  | { readonly tenant: string; readonly role: Role; readonly teams?: readonly string[] }
  | { readonly refused: 'tenant' | 'role' | 'mfa'; readonly tenant: string | null };

/**
 * Who a provider's person is here (docs/architecture/console.md#federated). Nothing is trimmed, changed in case or guessed: what is missing, not of
 * its form, or not named by the settings is refused.
 */
export function project(words: ProviderWords, rules: ProjectionRules): Projected {
  const tenant = tenantOf(words.tenant, rules.tenantMap);
  if (tenant === null) return { refused: 'tenant', tenant };
  const mfa = textsOf(words.mfa);
  if (!mfa.some((value) => rules.mfaValues.includes(value))) return { refused: 'mfa', tenant };
  const groups = textsOf(words.groups);
  const isIn = (named: readonly string[]): boolean => groups.some((group) => named.includes(group));
  const teams = rules.teamGroups.filter((team) => groups.includes(team)).slice(0, MOST_TEAMS);
  const ofTeams = teams.length > 0 && { teams };
  if (isIn(rules.adminGroups)) return { tenant, role: 'admin', ...ofTeams };
  if (isIn(rules.approverGroups)) return { tenant, role: 'approver', ...ofTeams };
  if (isIn(rules.viewerGroups)) return { tenant, role: 'viewer', ...ofTeams };
  return { refused: 'role', tenant };
}

const TENANT = linear('^[A-Za-z0-9._-]{1,63}$');

/** One text, or a list of exactly one. */
function tenantOf(said: unknown, map: ProjectionRules['tenantMap']): string | null {
  const one = Array.isArray(said) && said.length === 1 ? (said[0] as unknown) : said;
  if (typeof one !== 'string') return null;
  if (map !== undefined) return map.get(one) ?? null;
  return TENANT.test(one) ? one : null;
}

/** Texts of a list, or the one text; of a list with anything else in it none. */
function textsOf(said: unknown): readonly string[] {
  if (typeof said === 'string') return [said];
  return Array.isArray(said) && said.every((each) => typeof each === 'string') ? (said as string[]) : [];
}
