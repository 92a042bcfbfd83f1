import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { AppliedChange, AppliedPolicies, ShownTemplate } from '../contracts/policy-library.js';
import type { PolicyFileShown, PolicyList } from '../contracts/policy.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { MINED_DOMAIN } from '../domain/policy/mining/fence.js';
import { unifiedDiff } from '../domain/policy/unified-diff.js';
import type { FolderPolicy } from './policy-folder.js';

/** Asks the policy engine. */
export type AskPolicies = <T>(method: string, path: string, body?: object) => Promise<T>;

/** What it was compared with: a version, and the SHA-256 of its text, 64 hex digits. */
interface ComparedWith {
  readonly version: number;
  readonly was: string;
}
/** What has to be done for Gate to have what the folder has. */
export type PlannedChange =
  | {
      readonly what: 'create';
      readonly policy: FolderPolicy;
      readonly diff: string;
      /** The version that one of its name ended with when it was deleted; it goes on behind that. `null` where there was none. */
      readonly behind: number | null;
    }
  | ({ readonly what: 'update' | 'activate'; readonly policy: FolderPolicy; readonly diff: string } & ComparedWith)
  | ({
      readonly what: 'delete';
      readonly name: string;
      readonly diff: string;
      /** What holds for everybody and is in force for the tenant again without its copy; `null` where nothing is. */
      readonly back: SharedPolicy | null;
    } & ComparedWith);

type SharedPolicy = Pick<FolderPolicy, 'name' | 'content_type' | 'body'>;

export interface PolicyPlan {
  readonly changes: readonly PlannedChange[];
  /** Policies of Gate that the folder does not have; left alone without `prune`. */
  readonly elsewhere: readonly string[];
  /** Those of them that `prune` leaves alone too: templates that were installed, their documents, and rules that were mined. */
  readonly spared: readonly string[];
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
  const scope = tenant === undefined ? '' : `&tenant=${encodeURIComponent(tenant)}`;
  const list = await ask<PolicyList>('GET', `/policies?include_deleted=true${scope}`);
  const stored = list.policies.filter((policy) => !policy.protected);
  const isOwn = (policy: PolicyList['policies'][number]): boolean => policy.tenant === (tenant ?? null);
  const present = stored.filter(({ deleted_at: at }) => at === null);
  const there = new Map(present.map((policy) => [policy.name, policy]));
  const deleted = new Map(
    stored
      .filter((policy) => policy.deleted_at !== null && isOwn(policy))
      .map(({ name, current_version: version }) => [name, version]),
  );
  /** Nothing of one that somebody edited in the store: the engine shows it to nobody, and the folder's takes its place. */
  const textOf = async ({ name, tampered }: PolicyList['policies'][number]): Promise<string> =>
    tampered === undefined ? (await ask<PolicyFileShown>('GET', `${pathOf(name)}${query(tenant)}`)).current_body : '';
  const changes: PlannedChange[] = [];
  // Documents first: rules that read them come into force with them there.
  for (const policy of policies.toSorted(
    (one, other) => Number(one.content_type === 'rego') - Number(other.content_type === 'rego'),
  )) {
    const { name, body } = policy;
    const now = there.get(name);
    const shown = (before: string): string => unifiedDiff(before, body, { from: `gate/${name}`, to: `folder/${name}` });
    if (!now) changes.push({ what: 'create', policy, diff: shown(''), behind: deleted.get(name) ?? null });
    else if (now.body_sha256 !== sha256Hex(body) || now.tampered !== undefined) {
      changes.push({ what: 'update', policy, ...comparedWith(now), diff: shown(await textOf(now)) });
      // An update leaves it as it was: off. A tenant's copy of what holds for everybody goes on behind one that was deleted.
      const version = Math.max(now.current_version, deleted.get(name) ?? 0) + 1;
      const updated = { version, was: sha256Hex(body) };
      if (!now.active) changes.push({ what: 'activate', policy, ...updated, diff: '' });
    } else if (!now.active) changes.push({ what: 'activate', policy, ...comparedWith(now), diff: '' });
  }
  const named = new Set(policies.map(({ name }) => name));
  const own = present.filter((policy) => isOwn(policy) && !named.has(policy.name));
  const isFromElsewhere = prune ? await installedOrMined(ask, named, query(tenant)) : () => false;
  if (prune) {
    const backOf = await behindCopies(ask, tenant);
    for (const policy of own.filter((one) => !isFromElsewhere(one))) {
      const { name } = policy;
      const back = await backOf(name);
      const to = back ? `everybody/${name}` : `folder/${name}`;
      const diff = unifiedDiff(await textOf(policy), back?.body ?? '', { from: `gate/${name}`, to });
      changes.push({ what: 'delete', name, ...comparedWith(policy), diff, back });
    }
  }
  return {
    changes,
    elsewhere: own.map(({ name }) => name),
    spared: own.filter(isFromElsewhere).map(({ name }) => name),
  };
}

/** What a tenant has in the place of a copy that is deleted: the one for everybody, where that is in force. */
export async function behindCopies(ask: AskPolicies, tenant: string | undefined) {
  const shared = tenant === undefined ? [] : (await ask<PolicyList>('GET', '/policies')).policies;
  const inForce = new Map(
    shared.filter((one) => !one.protected && one.active).map((one) => [one.name, one.content_type]),
  );
  return async (name: string): Promise<SharedPolicy | null> => {
    const content_type = inForce.get(name);
    if (content_type === undefined) return null;
    const { current_body: body } = await ask<PolicyFileShown>('GET', pathOf(name));
    return { name, content_type, body };
  };
}

/** Whether a policy came from no folder: a template and its document, where the folder has no rule of that name, or a rule that was mined. */
async function installedOrMined(ask: AskPolicies, named: ReadonlySet<string>, scope: string) {
  const templates = await ask<readonly ShownTemplate[]>('GET', `/policies/templates${scope}`);
  const theirs = templates.map(({ name }) => name).filter((name) => !named.has(name));
  const spared = new Set(theirs.flatMap((name) => [name, `${name.slice(0, -'.rego'.length)}.json`]));
  return ({ name, domain }: PolicyList['policies'][number]): boolean =>
    spared.has(name) || (domain === MINED_DOMAIN && name.startsWith('mined_'));
}

const comparedWith = ({
  current_version: version,
  body_sha256: was,
}: Pick<PolicyList['policies'][number], 'current_version' | 'body_sha256'>): ComparedWith => ({ version, was });

/** A plan that somebody looked at, as a file keeps it: what is done to which text, without the texts. */
export const keptPlan = z.strictObject({
  contract: z.literal('gate.policy-plan/v1'),
  tenant: z.string().nullable(),
  changes: z.array(
    z.strictObject({
      what: z.enum(['create', 'update', 'activate', 'delete']),
      name: z.string(),
      /** `null` for a policy that was not there. */
      version: z.int().nullable(),
      was: z.string().nullable(),
      /** The text that stands under the name afterwards, also one for everybody that comes back where a tenant's copy is deleted; `null` for none. */
      becomes: z.string().nullable(),
    }),
  ),
});
export type KeptPlan = z.infer<typeof keptPlan>;

const backDigest = ({ back }: { readonly back: SharedPolicy | null }): string | null => back && sha256Hex(back.body);

export const planKept = ({ changes }: PolicyPlan, tenant: string | undefined): KeptPlan => ({
  contract: 'gate.policy-plan/v1',
  tenant: tenant ?? null,
  changes: changes.map((change) => ({
    what: change.what,
    name: change.what === 'delete' ? change.name : change.policy.name,
    version: change.what === 'create' ? null : change.version,
    was: change.what === 'create' ? null : change.was,
    becomes: change.what === 'delete' ? backDigest(change) : sha256Hex(change.policy.body),
  })),
});

/**
 * What would be done now and is not in the plan that was looked at, in words. What the plan has and Gate has by now too is done already, as where a
 * part of it was applied before.
 */
export function movedSince(kept: KeptPlan, now: KeptPlan): readonly string[] {
  if (kept.tenant !== now.tenant)
    return [`the plan is of ${kept.tenant ?? 'everybody'}, and this is of ${now.tenant ?? 'everybody'}`];
  const wordOf = ({ what, version, was, becomes }: KeptPlan['changes'][number]): string =>
    [
      what,
      ...(version === null ? [] : [`on version ${version}`]),
      ...(was === null ? [] : [`(${was.slice(0, 12)})`]),
      ...(becomes === null ? [] : [`${what === 'delete' ? 'back ' : ''}to ${becomes.slice(0, 12)}`]),
    ].join(' ');
  return now.changes
    .filter((change) => !kept.changes.some((planned) => isDeepStrictEqual(planned, change)))
    .map((change) => {
      const planned = kept.changes.filter(({ name }) => name === change.name).map(wordOf);
      return `${change.name}: the plan says ${planned.join(', then ') || 'nothing'}, now it would be ${wordOf(change)}`;
    });
}

/**
 * Does the whole plan in one step. Refused, and then nothing is changed, where Gate has another version of one by now than the plan was made on,
 * another text would come back behind a copy that is deleted, or one of them cannot be in force.
 */
export async function applied(
  { changes }: Pick<PolicyPlan, 'changes'>,
  ask: AskPolicies,
  by: { readonly reason: string; readonly actor_sub: string; readonly actor_idp: string },
  tenant: string | undefined,
): Promise<AppliedPolicies> {
  if (changes.length === 0) return { results: [] };
  return ask('POST', `/policies/apply${query(tenant)}`, { changes: changes.map(askedFor), ...by });
}

function askedFor(change: PlannedChange): AppliedChange {
  const { what } = change;
  if (what === 'create') {
    const { name, content_type, body } = change.policy;
    return { what, name, content_type, body, active: true };
  }
  const on = { expected_current_version: change.version, expected_body_sha256: change.was };
  if (what === 'delete') return { what, name: change.name, ...on, expected_back_sha256: backDigest(change) };
  const { name, body } = change.policy;
  return what === 'update' ? { what, name, body, ...on } : { what, name, ...on };
}
