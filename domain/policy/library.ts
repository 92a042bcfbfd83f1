import type {
  ChangedCategory,
  ChangePolicyState,
  CreatePolicy,
  InstallTemplate,
  MutatedPolicy,
  PolicyEventKind,
  PolicyReason,
  ProvisionedTenant,
  UpdatePolicy,
  ValidatedPolicy,
  ValidatePolicy,
  WithdrawnTenant,
} from '../../contracts/policy-library.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { canonicalDigest, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { PolicyCompiler, PolicyFault } from './compiler.js';
import { changeRow } from './library-rows.js';
import {
  type Catalogue,
  EVERYBODY,
  type PolicyChange,
  type PolicyStore,
  type StoredModule,
  type StoredPolicy,
  type StoredSet,
} from './library-ports.js';
import { headerOf } from './policy-header.js';
import type { PolicyFile } from './policy-files.js';
import type { Template, TemplateCatalogue } from './templates.js';
import type { RuleText } from './explain/hints.js';
import { faultIn } from './validation.js';

export interface LibraryOptions {
  readonly store: PolicyStore;
  readonly compiler: PolicyCompiler;
  readonly templates: Pick<TemplateCatalogue, 'parametersOf'>;
  /** The rules that ship: their names, and what stands in their data. */
  readonly floor: { readonly files: readonly PolicyFile[]; readonly data: JsonObject };
  /** Resolves when the module judges ordinary calls; rejects with `policy_invalid` where it does not. */
  readonly prove: (module: Pick<StoredModule, 'wasm'>, data: JsonObject) => Promise<void>;
  /** Called after a change, before it is answered: what is in force here is then what is stored. */
  readonly changed: () => Promise<void>;
  readonly clock: () => number;
}

/** Changes at once of others, after which a change is given up. */
const ATTEMPTS = 5;
const USUAL_NAME = /^[a-z0-9_]+\.(?:rego|json)$/;

/** What would be in force: a module, its documents, and what it was compiled from. */
export interface Proposed {
  readonly wasm: Uint8Array | null;
  readonly data: JsonObject;
  readonly files: StoredSet['files'];
}

/** A change before it is known which version it becomes. */
interface Planned {
  readonly before: StoredPolicy | null;
  readonly after: Omit<StoredPolicy, 'current_version' | 'created_at' | 'updated_at'>;
  /** Null: the text stays. */
  readonly body: string | null;
  readonly kind: PolicyEventKind;
}

/**
 * The policies of operators (docs/architecture/policies.md). Every change is a new version; what it puts in force is compiled and proved before
 * anything is stored, and stored in one transaction with its row for the ledger. A change that does not compile changes nothing. `tenant` is
 * EVERYBODY, or the one whose copy is meant.
 */
export function createPolicyLibrary({ store, compiler, templates, floor, prove, changed, clock }: LibraryOptions) {
  const shipped = new Set(floor.files.map(({ name }) => name));

  async function mutate(
    tenant: string,
    { reason, actor_sub, actor_idp }: PolicyReason,
    plan: (catalogue: Catalogue) => readonly Planned[] | Promise<readonly Planned[]>,
  ): Promise<readonly MutatedPolicy[]> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const catalogue = await store.catalogue();
      const planned = await plan(catalogue);
      if (planned.length === 0) return [];
      const at = new Date(clock()).toISOString();
      const changes = await Promise.all(
        planned.map(async ({ before, after, body, kind }): Promise<PolicyChange> => {
          const policy: StoredPolicy = {
            ...after,
            current_version: (before?.current_version ?? 0) + 1,
            created_at: before?.created_at ?? at,
            updated_at: at,
          };
          const by = { reason, actor_sub, actor_idp, event_kind: kind };
          const text = body ?? (await textOf(policy.tenant, policy.name, before?.current_version ?? 0));
          return { policy, body: text, ...by, row: changeRow(policy, before, by) };
        }),
      );
      const next = applied(catalogue.policies, changes);
      const { sets, modules } = await rebuilt(catalogue, next, changes, tenant, at);
      if (await store.write({ expected: catalogue.generation, at, changes, sets, modules })) {
        await changed();
        return changes.map(({ policy, event_kind }) => ({
          name: policy.name,
          version: policy.current_version,
          body_sha256: policy.body_sha256,
          current_version: policy.current_version,
          active: policy.active,
          event_kind,
        }));
      }
    }
    throw new GateError('store_unavailable', 'others change policies all the time; send the change again');
  }

  async function textOf(tenant: string, name: string, version: number): Promise<string> {
    const found = await store.version(tenant, name, version);
    if (!found) throw new GateError('not_found', `${name} has no version ${version}`);
    return found.body;
  }

  /** The sets that the changes make other ones, compiled and proved. A tenant's change touches its own set alone. */
  async function rebuilt(
    { generation, policies }: Catalogue,
    next: readonly StoredPolicy[],
    changes: readonly PolicyChange[],
    tenant: string,
    at: string,
  ) {
    const bodies = new Map(changes.map(({ policy, body }) => [keyOf(policy), body]));
    const bodyOf = async (policy: StoredPolicy): Promise<string> =>
      bodies.get(keyOf(policy)) ?? (await textOf(policy.tenant, policy.name, policy.current_version));
    const scopes =
      tenant === EVERYBODY
        ? [EVERYBODY, ...new Set(next.map((one) => one.tenant).filter((one) => one !== EVERYBODY && hasOwn(next, one)))]
        : [tenant];
    const sets: { tenant: string; set: StoredSet | null }[] = [];
    const shared = await compiler.shared();
    const modules = new Map<string, StoredModule>();
    for (const scope of scopes) {
      const before = inForce(policies, scope);
      const after = inForce(next, scope);
      const [had, has] = [hasOwn(policies, scope), hasOwn(next, scope)];
      if (had === has && sameFiles(before, after)) continue;
      // A tenant without copies has what holds for everybody.
      if (scope !== EVERYBODY && !has) {
        sets.push({ tenant: scope, set: null });
        continue;
      }
      const set = await setOf(scope, after, bodyOf, shared, `${at.slice(0, 10)}.${generation + 1}`);
      sets.push({ tenant: scope, set });
      const sources = set?.sources_sha256 ?? null;
      if (set === null || sources === null) continue;
      const known = modules.get(sources) ?? (await store.module(sources));
      const module = known ?? (await compiled(sources, after, bodyOf));
      await prove(module, set.data);
      if (!known) modules.set(sources, module);
    }
    return { sets, modules: [...modules.values()] };
  }

  async function compiled(
    sources_sha256: string,
    files: readonly StoredPolicy[],
    bodyOf: (policy: StoredPolicy) => Promise<string>,
  ): Promise<StoredModule> {
    const rules = files.filter(({ content_type: type }) => type === 'rego');
    const sources = await Promise.all(rules.map(async (rule) => ({ name: rule.name, body: await bodyOf(rule) })));
    const answer = await compiler.compile(sources);
    if (answer.fault) throw invalid(answer.fault);
    const { wasm } = answer;
    return { sources_sha256, wasm, wasm_sha256: sha256Hex(wasm), opa_version: await compiler.version() };
  }

  /** The parameters of a template as the document that its rules read. Throws `policy_invalid` where its schema does not have them so. */
  async function documentOf(rule: string, parameters: JsonObject) {
    const mount = rule.replace(/\.rego$/, '');
    const document = {
      name: `${mount}.json`,
      content_type: 'json',
      body: `${JSON.stringify(parameters, null, 2)}\n`,
    } as const;
    if ((await templates.parametersOf(mount)) === null)
      throw invalid({ message: `${rule} has no parameters`, file: null, line: null, column: null });
    await assertValid(document);
    return document;
  }

  const assertValid = async (policy: ValidatePolicy): Promise<void> => {
    const { fault: found } = await faultIn(policy, compiler, floor.data, templates);
    if (found) throw invalid(found);
  };

  /**
   * The policy as the tenant has it: its own copy, or the one for everybody. What a tenant writes over that becomes a copy of its own, which begins
   * with version 1, or goes on behind one that was deleted.
   */
  function found(catalogue: Catalogue, tenant: string, name: string): StoredPolicy {
    if (shipped.has(name)) throw new GateError('policy_protected', `${name} is one of the rules that ship`);
    for (const policy of [named(catalogue, tenant, name), named(catalogue, EVERYBODY, name)])
      if (policy && policy.deleted_at === null) return policy;
    throw new GateError('not_found', `there is no policy ${name}`);
  }
  function expectedOf(policy: StoredPolicy, version: number): StoredPolicy {
    if (policy.current_version === version) return policy;
    throw new GateError('version_conflict', `${policy.name} has version ${policy.current_version}, not ${version}`, {
      fields: { policy: shownIn(policy) },
    });
  }
  const one = async (changes: Promise<readonly MutatedPolicy[]>): Promise<MutatedPolicy> =>
    (await changes)[0] as MutatedPolicy;

  const setActive = (tenant: string, name: string, active: boolean, asked: ChangePolicyState): Promise<MutatedPolicy> =>
    one(
      mutate(tenant, asked, async (catalogue) => {
        const policy = expectedOf(found(catalogue, tenant, name), asked.expected_current_version);
        const body = await textOf(policy.tenant, name, policy.current_version);
        const kind = active ? 'policy.activated' : 'policy.deactivated';
        return [{ before: named(catalogue, tenant, name), after: { ...policy, tenant, active }, body, kind }];
      }),
    );

  async function proposed(
    tenant: string,
    kept: readonly StoredPolicy[],
    given: readonly ValidatePolicy[],
  ): Promise<Proposed> {
    const at = new Date(clock()).toISOString();
    const bodies = new Map(given.map(({ name, body }) => [name, body]));
    const added = given.map(
      ({ name, content_type, body }): StoredPolicy => ({
        tenant,
        name,
        content_type,
        active: true,
        current_version: 1,
        body_sha256: sha256Hex(body),
        header: headerOf(content_type === 'rego' ? body : ''),
        deleted_at: null,
        created_at: at,
        updated_at: at,
      }),
    );
    const bodyOf = async (policy: StoredPolicy): Promise<string> =>
      bodies.get(policy.name) ?? textOf(policy.tenant, policy.name, policy.current_version);
    const files = [...kept, ...added].toSorted(byName);
    const set = await setOf(tenant, files, bodyOf, await compiler.shared(), 'candidate');
    const sources = set?.sources_sha256 ?? null;
    if (set === null || sources === null) return { wasm: null, data: {}, files: [] };
    const { wasm } = (await store.module(sources)) ?? (await compiled(sources, files, bodyOf));
    return { wasm, data: set.data, files: set.files };
  }

  return {
    async validate(asked: ValidatePolicy): Promise<ValidatedPolicy> {
      const { fault: found, formatted } = await faultIn(asked, compiler, floor.data, templates);
      const warnings = USUAL_NAME.test(asked.name)
        ? []
        : [`${asked.name} is an unusual name: use lower-case letters, digits and _`];
      const warned = warnings.length > 0 && { warnings };
      if (found) return { ok: false, error: placed(found), ...warned };
      return { ok: true, ...(formatted !== undefined && formatted !== asked.body && { formatted }), ...warned };
    },

    async create(tenant: string, asked: CreatePolicy): Promise<MutatedPolicy> {
      const { name, content_type, body, active } = asked;
      await assertValid(asked);
      return one(
        mutate(tenant, asked, (catalogue) => {
          if (shipped.has(name)) throw new GateError('policy_protected', `${name} is one of the rules that ship`);
          const before = named(catalogue, tenant, name);
          if (before)
            throw new GateError(
              'policy_exists',
              `${name} is taken${before.deleted_at === null ? '' : ': it was deleted'}`,
            );
          const after = made(tenant, { name, content_type, body, active });
          return [{ before: null, after, body, kind: 'policy.created' }];
        }),
      );
    },

    async update(tenant: string, name: string, asked: UpdatePolicy): Promise<MutatedPolicy> {
      const { body } = asked;
      const policy = found(await store.catalogue(), tenant, name);
      await assertValid({ name, content_type: policy.content_type, body });
      return one(
        mutate(tenant, asked, (catalogue) => {
          const now = expectedOf(found(catalogue, tenant, name), asked.expected_current_version);
          const header = headerOf(now.content_type === 'rego' ? body : '');
          const after = { ...now, tenant, body_sha256: sha256Hex(body), header };
          return [{ before: named(catalogue, tenant, name), after, body, kind: 'policy.updated' }];
        }),
      );
    },

    activate: (tenant: string, name: string, asked: ChangePolicyState) => setActive(tenant, name, true, asked),
    deactivate: (tenant: string, name: string, asked: ChangePolicyState) => setActive(tenant, name, false, asked),

    remove: (tenant: string, name: string, asked: ChangePolicyState): Promise<MutatedPolicy> =>
      one(
        mutate(tenant, asked, (catalogue) => {
          const policy = expectedOf(found(catalogue, tenant, name), asked.expected_current_version);
          // Without its own copy a tenant would delete what holds for everybody.
          if (policy.tenant !== tenant) throw new GateError('not_found', `this tenant has no ${name} of its own`);
          const after = { ...policy, active: false, deleted_at: new Date(clock()).toISOString() };
          return [{ before: policy, after, body: null, kind: 'policy.deleted' }];
        }),
      ),

    /** A new version with the text of an old one; whether it is in force stays as it is. */
    async rollback(tenant: string, name: string, version: number, asked: PolicyReason): Promise<MutatedPolicy> {
      return one(
        mutate(tenant, asked, async (catalogue) => {
          const policy = found(catalogue, tenant, name);
          const body = await textOf(policy.tenant, name, version);
          // The functions that a rule may use are those of this Gate, not of the one that stored it.
          await assertValid({ name, content_type: policy.content_type, body });
          const header = headerOf(policy.content_type === 'rego' ? body : '');
          const after = { ...policy, tenant, body_sha256: sha256Hex(body), header };
          return [{ before: named(catalogue, tenant, name), after, body, kind: 'policy.updated' }];
        }),
      );
    },

    /**
     * Puts a template in force, its parameters with it. A policy of its name that was switched off is switched on with the text that it has.
     * Refused where there is one in force, and where one was deleted.
     */
    async install(tenant: string, { facts, body }: Template, asked: InstallTemplate): Promise<MutatedPolicy> {
      const { name } = facts;
      const { parameters, ...by } = asked;
      const document = parameters && (await documentOf(name, parameters));
      const changes = await mutate(tenant, by, (catalogue) => {
        const own = named(catalogue, tenant, name);
        const now = own ?? named(catalogue, EVERYBODY, name);
        if (now?.active) throw new GateError('policy_exists', `${name} is in force already`);
        const kind = 'policy.installed_from_template' as const;
        const rule: Planned = own
          ? { before: undeleted(own), after: { ...own, active: true }, body: null, kind }
          : { before: null, after: made(tenant, { name, content_type: 'rego', body, active: true }), body, kind };
        if (now) undeleted(now);
        return document ? [documentChange(catalogue, tenant, document), rule] : [rule];
      });
      return changes.find((change) => change.name === name) as MutatedPolicy;
    },

    /** The whole catalogue, into a store that never held a policy; otherwise nothing. */
    seed: (all: readonly Template[], active: boolean): Promise<readonly MutatedPolicy[]> =>
      mutate(EVERYBODY, BOOTSTRAP, ({ generation, policies }) =>
        generation > 0 || policies.length > 0
          ? []
          : all.map(({ facts: { name }, body }) => ({
              before: null,
              after: made(EVERYBODY, { name, content_type: 'rego', body, active }),
              body,
              kind: 'policy.created',
            })),
      ),

    /** What is in force for everybody becomes copies of the tenant, once; a tenant that has copies keeps those. */
    async provision(tenant: string, asked: PolicyReason): Promise<ProvisionedTenant> {
      let had = 0;
      const created = await mutate(tenant, asked, async (catalogue) => {
        had = ownOnes(catalogue.policies, tenant).length;
        if (had > 0) return [];
        return Promise.all(
          inForce(catalogue.policies, EVERYBODY).map(async (policy): Promise<Planned> => {
            const body = await textOf(EVERYBODY, policy.name, policy.current_version);
            const before = named(catalogue, tenant, policy.name);
            return { before, after: { ...policy, tenant }, body, kind: 'policy.created' };
          }),
        );
      });
      return { tenant, policies: had + created.length, created: created.length };
    },

    /** Deletes a tenant's copies. `stillWanted` throws where another change of the tenant has made it void. */
    async withdraw(
      tenant: string,
      asked: PolicyReason,
      stillWanted: () => Promise<void> = async () => undefined,
    ): Promise<WithdrawnTenant> {
      const removed = await mutate(tenant, asked, async ({ policies }) => {
        await stillWanted();
        const deleted_at = new Date(clock()).toISOString();
        return ownOnes(policies, tenant).map((policy) => ({
          before: policy,
          after: { ...policy, active: false, deleted_at },
          body: null,
          kind: 'policy.deleted',
        }));
      });
      return { tenant, removed: removed.length };
    },

    /** All policies of a domain at once. Those that are there already, and the rules that ship, stay as they are. */
    async setCategory(tenant: string, domain: string, active: boolean, asked: PolicyReason): Promise<ChangedCategory> {
      let skipped = 0;
      const results = await mutate(tenant, asked, ({ policies }) => {
        const own = policies.filter(
          (policy) => policy.tenant === tenant && policy.deleted_at === null && policy.header.domain === domain,
        );
        const other = own.filter((policy) => policy.active !== active);
        skipped = own.length - other.length;
        const kind = active ? 'policy.activated' : 'policy.deactivated';
        return other.map((policy) => ({ before: policy, after: { ...policy, active }, body: null, kind }));
      });
      return { changed: results.length, skipped, results: [...results] };
    },

    /** The texts of files of a set, each of the tenant or for everybody, as its digest says. */
    textsOf: (tenant: string, files: StoredSet['files']): Promise<readonly RuleText[]> =>
      Promise.all(
        files.map(async ({ name, content_type, version, body_sha256: digest }) => {
          const own = await store.version(tenant, name, version);
          const body = own?.body_sha256 === digest ? own.body : await textOf(EVERYBODY, name, version);
          return { name, content_type, body };
        }),
      ),

    /** The module and data of what would be in force with another file, stored nowhere. Throws `policy_invalid`. */
    async candidate(
      tenant: string,
      {
        name,
        body,
        instead,
        parameters,
      }: {
        readonly name: string;
        readonly body: string;
        readonly instead: string | null;
        readonly parameters?: JsonObject | undefined;
      },
    ): Promise<Proposed & { readonly wasm: Uint8Array }> {
      await assertValid({ name, content_type: 'rego', body });
      const document = parameters && (await documentOf(name, parameters));
      const catalogue = await store.catalogue();
      if (instead !== null) found(catalogue, tenant, instead);
      const kept = inForce(catalogue.policies, tenant).filter((policy) => policy.name !== instead);
      if (shipped.has(name) || kept.some((policy) => policy.name === name))
        throw new GateError('policy_exists', `${name} is in force already; use the mode replace`);
      const given: ValidatePolicy[] = [{ name, content_type: 'rego', body }];
      if (document) given.push({ name: document.name, content_type: 'json', body: document.body });
      const others = kept.filter((policy) => policy.name !== document?.name);
      const { wasm, ...rest } = await proposed(tenant, others, given);
      return { wasm: wasm as Uint8Array, ...rest };
    },

    /**
     * The module and data of what would be in force with these files, each in the place of one of its name, and without others; stored nowhere.
     * No module where no rule is left. Throws `policy_invalid`.
     */
    async proposed(
      tenant: string,
      { files, without }: { readonly files: readonly ValidatePolicy[]; readonly without: readonly string[] },
    ): Promise<Proposed> {
      const { policies } = await store.catalogue();
      const twice = files.find(({ name }, at) => files.findIndex((file) => file.name === name) !== at);
      if (twice) throw new GateError('invalid_request', `${twice.name} is given twice`);
      const now = inForce(policies, tenant);
      for (const file of files) {
        if (shipped.has(file.name))
          throw new GateError('policy_protected', `${file.name} is one of the rules that ship`);
        // What is in force was checked when it came.
        if (!now.some(({ name, body_sha256 }) => name === file.name && body_sha256 === sha256Hex(file.body)))
          await assertValid(file);
      }
      const replaced = new Set([...without, ...files.map(({ name }) => name)]);
      return proposed(
        tenant,
        now.filter(({ name }) => !replaced.has(name)),
        files,
      );
    },
  };
}

export type PolicyLibrary = ReturnType<typeof createPolicyLibrary>;

/** Who seeds. */
const BOOTSTRAP: PolicyReason = {
  reason: 'the templates that ship, at the first start',
  actor_sub: 'bootstrap',
  actor_idp: 'system',
};

/** A policy that was not there before. */
const made = (
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

/** A document of parameters, new or over what the tenant has. */
function documentChange(
  catalogue: Catalogue,
  tenant: string,
  { name, body }: { readonly name: string; readonly body: string },
): Planned {
  const own = named(catalogue, tenant, name);
  const after = made(tenant, { name, content_type: 'json', body, active: true });
  return { before: own && undeleted(own), after, body, kind: own ? 'policy.updated' : 'policy.created' };
}

function undeleted(policy: StoredPolicy): StoredPolicy {
  if (policy.deleted_at === null) return policy;
  throw new GateError('policy_exists', `${policy.name} is taken: it was deleted`);
}

const ownOnes = (policies: readonly StoredPolicy[], tenant: string): readonly StoredPolicy[] =>
  policies.filter((policy) => policy.tenant === tenant && policy.deleted_at === null);
const hasOwn = (policies: readonly StoredPolicy[], tenant: string): boolean => ownOnes(policies, tenant).length > 0;

const keyOf = ({ tenant, name, current_version }: StoredPolicy): string =>
  JSON.stringify([tenant, name, current_version]);
const byName = (one: StoredPolicy, other: StoredPolicy): number => (one.name < other.name ? -1 : 1);
const named = ({ policies }: Catalogue, tenant: string, name: string): StoredPolicy | null =>
  policies.find((policy) => policy.tenant === tenant && policy.name === name) ?? null;

function applied(policies: readonly StoredPolicy[], changes: readonly PolicyChange[]): readonly StoredPolicy[] {
  const placeOf = ({ tenant, name }: StoredPolicy): string => JSON.stringify([tenant, name]);
  const next = new Map(policies.map((policy) => [placeOf(policy), policy]));
  for (const { policy } of changes) next.set(placeOf(policy), policy);
  return [...next.values()];
}

/** What is in force for a tenant: its own copies, and what holds for everybody where it has none. A copy that is switched off hides the other. */
export function inForce(policies: readonly StoredPolicy[], tenant: string): readonly StoredPolicy[] {
  const there = policies.filter(({ deleted_at: at }) => at === null);
  const own = there.filter((policy) => policy.tenant === tenant && tenant !== EVERYBODY);
  const copied = new Set(own.map(({ name }) => name));
  const shared = there.filter((policy) => policy.tenant === EVERYBODY && !copied.has(policy.name));
  return [...own, ...shared].filter(({ active }) => active).toSorted(byName);
}

const fileOf = ({ name, content_type, current_version: version, body_sha256 }: StoredPolicy) => ({
  name,
  content_type,
  version,
  body_sha256,
});
const sameFiles = (one: readonly StoredPolicy[], other: readonly StoredPolicy[]): boolean =>
  canonicalDigest(one.map(fileOf)) === canonicalDigest(other.map(fileOf));

async function setOf(
  tenant: string,
  files: readonly StoredPolicy[],
  bodyOf: (policy: StoredPolicy) => Promise<string>,
  shared: string,
  version: string,
): Promise<StoredSet | null> {
  const rules = files.filter(({ content_type: type }) => type === 'rego');
  // Documents alone are read by no rule.
  if (rules.length === 0)
    return tenant === EVERYBODY ? null : { tenant, version, files: [], data: {}, sources_sha256: null };
  const documents = files.filter(({ content_type: type }) => type === 'json');
  const data: Record<string, Json> = {};
  for (const document of documents)
    data[document.name.slice(0, -'.json'.length)] = JSON.parse(await bodyOf(document)) as Json;
  // What is shared with a newer Gate compiles everything anew.
  const sources = { shared, files: rules.map(({ name, body_sha256 }) => ({ name, body_sha256 })) };
  return { tenant, version, files: files.map(fileOf), data, sources_sha256: canonicalDigest(sources) };
}

/** A fault as answers tell it. */
export const placed = ({ message, line, column, pointer }: PolicyFault) => ({
  message,
  ...(pointer !== undefined && { pointer }),
  ...(line !== null && { line }),
  ...(column !== null && { column }),
});

export const invalid = (found: PolicyFault): GateError => {
  const { file, line, column, message } = found;
  const place =
    line === null
      ? ''
      : ` (${file ?? 'line'}${file === null ? ` ${line}` : `:${line}`}${column === null ? '' : `:${column}`})`;
  return new GateError('policy_invalid', `${message}${place}`, {
    fields: { ...placed(found), ...(file !== null && { file }) },
  });
};

/** A policy without its text, for an answer that refuses a change of it. */
const shownIn = ({ header, tenant, ...policy }: StoredPolicy): JsonObject => ({
  ...policy,
  ...(header as unknown as JsonObject),
  tenant: tenant === EVERYBODY ? null : tenant,
  protected: false,
});
