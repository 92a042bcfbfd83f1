import type { PolicyFileShown, PolicyList } from '../contracts/policy.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { unifiedDiff } from '../domain/policy/unified-diff.js';
import type { FolderPolicy } from './policy-folder.js';

/** Asks the policy engine. */
export type AskPolicies = <T>(method: string, path: string, body?: object) => Promise<T>;

/** What has to be done for Gate to have what the folder has. `version` is the one that it was compared with. */
export type PlannedChange =
  | { readonly what: 'create'; readonly policy: FolderPolicy; readonly diff: string }
  | { readonly what: 'update'; readonly policy: FolderPolicy; readonly version: number; readonly diff: string }
  | { readonly what: 'activate'; readonly policy: FolderPolicy; readonly version: number; readonly diff: string }
  | { readonly what: 'delete'; readonly name: string; readonly version: number; readonly diff: string };

export interface PolicyPlan {
  readonly changes: readonly PlannedChange[];
  /** Policies of Gate that the folder does not have; left alone without `prune`. */
  readonly elsewhere: readonly string[];
}

const query = (tenant: string | undefined): string =>
  tenant === undefined ? '' : `?tenant=${encodeURIComponent(tenant)}`;
const pathOf = (name: string): string => `/policies/${encodeURIComponent(name)}`;

/** Compares the folder with what Gate has now. Changes nothing. */
export async function planOf(
  policies: readonly FolderPolicy[],
  ask: AskPolicies,
  { tenant, prune = false }: { readonly tenant?: string | undefined; readonly prune?: boolean },
): Promise<PolicyPlan> {
  const list = await ask<PolicyList>('GET', `/policies${query(tenant)}`);
  const there = new Map(list.policies.filter((policy) => !policy.protected).map((policy) => [policy.name, policy]));
  const textOf = async (name: string): Promise<string> =>
    (await ask<PolicyFileShown>('GET', `${pathOf(name)}${query(tenant)}`)).current_body;
  const changes: PlannedChange[] = [];
  // Documents first: rules that read them come into force with them there.
  for (const policy of policies.toSorted(
    (one, other) => Number(one.content_type === 'rego') - Number(other.content_type === 'rego'),
  )) {
    const { name, body } = policy;
    const now = there.get(name);
    const shown = (before: string): string => unifiedDiff(before, body, { from: `gate/${name}`, to: `folder/${name}` });
    if (!now) changes.push({ what: 'create', policy, diff: shown('') });
    else if (now.body_sha256 !== sha256Hex(body))
      changes.push({ what: 'update', policy, version: now.current_version, diff: shown(await textOf(name)) });
    else if (!now.active) changes.push({ what: 'activate', policy, version: now.current_version, diff: '' });
  }
  const named = new Set(policies.map(({ name }) => name));
  const own = [...there.values()].filter((policy) => policy.tenant === (tenant ?? null) && !named.has(policy.name));
  if (prune)
    for (const { name, current_version: version } of own)
      changes.push({
        what: 'delete',
        name,
        version,
        diff: unifiedDiff(await textOf(name), '', { from: `gate/${name}`, to: `folder/${name}` }),
      });
  return { changes, elsewhere: own.map(({ name }) => name) };
}

/** Does one change of a plan. Refused where Gate has another version by now than the plan was made on. */
export async function applied(
  change: PlannedChange,
  ask: AskPolicies,
  by: { readonly reason: string; readonly actor_sub: string; readonly actor_idp: string },
  tenant: string | undefined,
): Promise<void> {
  const scope = query(tenant);
  if (change.what === 'create') {
    const { name, content_type, body } = change.policy;
    await ask('POST', `/policies${scope}`, { name, content_type, body, active: true, ...by });
    return;
  }
  const expected = { expected_current_version: change.version, ...by };
  if (change.what === 'delete') await ask('DELETE', `${pathOf(change.name)}${scope}`, expected);
  else if (change.what === 'update')
    await ask('PUT', `${pathOf(change.policy.name)}${scope}`, { body: change.policy.body, ...expected });
  else await ask('POST', `${pathOf(change.policy.name)}/activate${scope}`, expected);
}
