import type {
  AppliedChange,
  ChangePolicyState,
  CreatePolicy,
  DeletePolicy,
  PolicyEventKind,
  UpdatePolicy,
} from '../../contracts/policy-library.js';
import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { type Catalogue, EVERYBODY, type StoredPolicy } from './library-ports.js';
import { headerOf } from './policy-header.js';

/** A change before it is known which version it becomes. */
export interface Planned {
  readonly before: StoredPolicy | null;
  /** What a tenant's copy comes in the place of. Its versions go on behind that one's, so that no version names two texts. */
  readonly over?: StoredPolicy;
  readonly after: Omit<StoredPolicy, 'current_version' | 'created_at' | 'updated_at'>;
  /** Null: the text stays. */
  readonly body: string | null;
  readonly kind: PolicyEventKind;
}

type Expected = Pick<ChangePolicyState, 'expected_current_version' | 'expected_body_sha256'>;

/**
 * What each change makes of the policies that there are, or why it is refused. `tenant` is EVERYBODY, or the one whose copy is meant. `shipped` are
 * the names of the rules that ship.
 */
export function createPlanner(shipped: ReadonlySet<string>) {
  /**
   * No text comes under the name of a rule that ships. A policy that was there before a release brought that rule can be switched off and on, and deleted.
   */
  function assertNotShipped(name: string): void {
    if (shipped.has(name)) throw new GateError('policy_protected', `${name} is one of the rules that ship`);
  }
  /**
   * The policy as the tenant has it: its own copy, or the one for everybody. What a tenant writes over that becomes a copy of its own, whose versions go on
   * behind it, or behind one that was deleted.
   */
  function found(catalogue: Catalogue, tenant: string, name: string): StoredPolicy {
    const policy = there(catalogue, tenant, name) ?? there(catalogue, EVERYBODY, name);
    if (policy) return policy;
    assertNotShipped(name);
    throw new GateError('not_found', `there is no policy ${name}`);
  }
  function created(
    catalogue: Catalogue,
    tenant: string,
    asked: Pick<CreatePolicy, 'name' | 'content_type' | 'body' | 'active'>,
  ): Planned {
    const { name, body } = asked;
    assertNotShipped(name);
    const before = named(catalogue, tenant, name);
    if (before?.deleted_at === null) throw new GateError('policy_exists', `${name} is there already`);
    return { before, ...behindBase(catalogue, tenant, name), after: made(tenant, asked), body, kind: 'policy.created' };
  }
  function updated(
    catalogue: Catalogue,
    tenant: string,
    name: string,
    { body, ...expected }: Pick<UpdatePolicy, 'body'> & Expected,
  ): Planned {
    assertNotShipped(name);
    const now = expectedOf(found(catalogue, tenant, name), expected);
    const header = headerOf(now.content_type === 'rego' ? body : '');
    const after = { ...now, tenant, body_sha256: sha256Hex(body), header };
    return { before: named(catalogue, tenant, name), over: now, after, body, kind: 'policy.updated' };
  }
  function switched(catalogue: Catalogue, tenant: string, name: string, active: boolean, expected: Expected): Planned {
    const over = expectedOf(found(catalogue, tenant, name), expected);
    const kind = active ? 'policy.activated' : 'policy.deactivated';
    return { before: named(catalogue, tenant, name), over, after: { ...over, tenant, active }, body: null, kind };
  }
  function removed(
    catalogue: Catalogue,
    tenant: string,
    name: string,
    expected: Expected & Pick<DeletePolicy, 'expected_back_sha256'>,
    deleted_at: string,
  ): Planned {
    const policy = expectedOf(found(catalogue, tenant, name), expected);
    // Without its own copy a tenant would delete what holds for everybody.
    if (policy.tenant !== tenant) throw new GateError('not_found', `this tenant has no ${name} of its own`);
    assertComesBack(catalogue, policy, expected.expected_back_sha256);
    return { before: policy, after: { ...policy, active: false, deleted_at }, body: null, kind: 'policy.deleted' };
  }
  function one(catalogue: Catalogue, tenant: string, change: AppliedChange, at: string): Planned {
    const { what, name } = change;
    if (what === 'create') return created(catalogue, tenant, change);
    if (what === 'update') return updated(catalogue, tenant, name, change);
    if (what === 'delete') return removed(catalogue, tenant, name, change, at);
    return switched(catalogue, tenant, name, what === 'activate', change);
  }
  return {
    assertNotShipped,
    found,
    created,
    updated,
    switched,
    removed,
    /** Each change planned on what those before it leave. */
    inOrder(
      { generation, policies: stored }: Catalogue,
      tenant: string,
      changes: readonly AppliedChange[],
      at: string,
    ): readonly Planned[] {
      const policies = [...stored];
      return changes.map((change) => {
        const planned = one({ generation, policies }, tenant, change, at);
        const policy = versioned(planned, at);
        const place = policies.findIndex((known) => known.tenant === policy.tenant && known.name === policy.name);
        policies.splice(place === -1 ? policies.length : place, 1, policy);
        return planned;
      });
    },
  };
}

/** The version that a planned change becomes. */
export const versioned = ({ before, over, after }: Planned, at: string): StoredPolicy => ({
  ...after,
  current_version: Math.max(before?.current_version ?? 0, over?.current_version ?? 0) + 1,
  created_at: before?.created_at ?? at,
  updated_at: at,
});

/** A policy that was not there before. */
export const made = (
  tenant: string,
  { name, content_type, body, active }: Pick<CreatePolicy, 'name' | 'content_type' | 'body' | 'active'>,
): Planned['after'] => ({
  tenant,
  name,
  content_type,
  active,
  body_sha256: sha256Hex(body),
  header: headerOf(content_type === 'rego' ? body : ''),
  deleted_at: null,
});

export const named = ({ policies }: Catalogue, tenant: string, name: string): StoredPolicy | null =>
  policies.find((policy) => policy.tenant === tenant && policy.name === name) ?? null;
/** As `named`, and not deleted. */
export function there(catalogue: Catalogue, tenant: string, name: string): StoredPolicy | null {
  const policy = named(catalogue, tenant, name);
  return policy?.deleted_at === null ? policy : null;
}

/** A copy comes in the place of what holds for everybody. */
export function behindBase(catalogue: Catalogue, tenant: string, name: string): Pick<Planned, 'over'> {
  const base = tenant === EVERYBODY ? null : there(catalogue, EVERYBODY, name);
  return base ? { over: base } : {};
}

/** The policy, where it has the version and the text that are meant; `version_conflict` otherwise. */
export function expectedOf(
  policy: StoredPolicy,
  { expected_current_version: version, expected_body_sha256: digest }: Expected,
): StoredPolicy {
  const fields = { policy: shownIn(policy) };
  if (policy.current_version !== version)
    throw new GateError('version_conflict', `${policy.name} has version ${policy.current_version}, not ${version}`, {
      fields,
    });
  if (digest !== undefined && digest !== policy.body_sha256)
    throw new GateError(
      'version_conflict',
      `version ${version} of ${policy.name} is another text: the tenant's own copy, or the one for everybody in its place`,
      { fields },
    );
  return policy;
}

/** Throws `version_conflict` where, without this copy of a tenant, other than the text that is meant is in force for it again. */
function assertComesBack(catalogue: Catalogue, copy: StoredPolicy, expected: string | null | undefined): void {
  if (expected === undefined) return;
  const shared = copy.tenant === EVERYBODY ? null : there(catalogue, EVERYBODY, copy.name);
  const back = shared?.active ? shared.body_sha256 : null;
  if (back === expected) return;
  const textOf = (digest: string | null): string => (digest === null ? 'nothing' : `the text ${digest.slice(0, 12)}`);
  throw new GateError(
    'version_conflict',
    `without this copy of ${copy.name}, ${textOf(back)} for everybody is in force in its place, not ${textOf(expected)}`,
    { fields: { policy: shownIn(shared ?? copy) } },
  );
}

/** A policy without its text, for an answer that refuses a change of it. */
const shownIn = ({ header, tenant, ...policy }: StoredPolicy): JsonObject => ({
  ...policy,
  ...(header as unknown as JsonObject),
  tenant: tenant === EVERYBODY ? null : tenant,
  protected: false,
});
