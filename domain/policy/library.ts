import {
  type AppliedPolicies,
  type ApplyPolicies,
  type ChangedCategory,
  type ChangePolicyState,
  type CreatePolicy,
  type DeletePolicy,
  type InstallTemplate,
  type MutatedPolicy,
  type PolicyReason,
  type RollbackPolicy,
  type ProvisionedTenant,
  type TenantPoliciesReceipt,
  STORED_ALONE,
  type UpdatePolicy,
  type ValidatedPolicy,
  type ValidatePolicy,
  type WithdrawnTenant,
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
import { behindBase, createPlanner, expectedOf, made, named, type Planned, there, versioned } from './planned.js';
import type { PolicyFile } from './policy-files.js';
import type { Template, TemplateCatalogue } from './templates.js';
import type { RuleText } from './explain/hints.js';
import { createReadings } from './unread-documents.js';
import { edited, isEdited } from './sealed-policies.js';
import { faultIn, givenBy, readingNothing, unreadableIn, warningsOf } from './validation.js';

export interface LibraryOptions {
  readonly store: PolicyStore;
  readonly compiler: PolicyCompiler;
  readonly templates: Pick<TemplateCatalogue, 'parametersOf'>;
  /** The rules that ship: their names, and what stands in their data. */
  readonly floor: { readonly files: readonly PolicyFile[]; readonly data: JsonObject };
  /**
   * Resolves when the module judges ordinary calls in their time; rejects with `policy_invalid` where it does not. A change that only takes policies
   * away may leave it slow.
   */
  readonly prove: (
    module: Pick<StoredModule, 'wasm'>,
    set: Pick<StoredSet, 'tenant' | 'data' | 'files'>,
    takesAway: boolean,
  ) => Promise<void>;
  /**
   * Called after a change, before it is answered: what is in force here is then what is stored. Otherwise it says why not; `tenants` are those whose
   * sets are other ones now.
   */
  readonly changed: (tenants: readonly string[]) => Promise<string | null>;
  /** Called before a change is refused since the store is not what Gate left. */
  readonly distrusted: () => Promise<void>;
  readonly clock: () => number;
}

/** Changes at once of others, after which a change is given up. */
const ATTEMPTS = 5;

/** What would be in force: a module, its documents, and what it was compiled from. */
export interface Proposed {
  readonly wasm: Uint8Array | null;
  readonly data: JsonObject;
  readonly files: StoredSet['files'];
}

/** What an answer to a change warns of. */
interface Warnings {
  readonly warnings?: string[];
}
const warnings = (all: readonly string[]): Warnings => (all.length > 0 ? { warnings: [...all] } : {});

/** What a change made, and, asked for it, what is not in force in this process, and what is and never holds. */
interface Mutated {
  readonly results: readonly MutatedPolicy[];
  warned(): Promise<Warnings>;
}

/**
 * The policies of operators (docs/architecture/policies.md). Every change is a new version; what it puts in force is compiled and proved before
 * anything is stored, and stored in one transaction with its row for the ledger. A change that does not compile changes nothing. `tenant` is
 * EVERYBODY, or the one whose copy is meant.
 */
export function createPolicyLibrary({
  store,
  compiler,
  templates,
  floor,
  prove,
  changed,
  distrusted,
  clock,
}: LibraryOptions) {
  const shipped = new Set(floor.files.map(({ name }) => name));
  const planner = createPlanner(shipped);
  const missing = createReadings(compiler);
  const now = (): string => new Date(clock()).toISOString();

  /** Whoever is refused since the store was edited finds that in the readiness. */
  async function trusted<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      if (isEdited(error)) await distrusted();
      throw error;
    }
  }
  const mutate = (...change: Parameters<typeof changedOnce>): Promise<Mutated> => trusted(() => changedOnce(...change));
  async function changedOnce(
    tenant: string,
    { reason, actor_sub, actor_idp }: PolicyReason,
    plan: (catalogue: Catalogue) => readonly Planned[] | Promise<readonly Planned[]>,
    receiptOf?: (changed: number) => TenantPoliciesReceipt,
  ): Promise<Mutated> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const catalogue = await store.catalogue();
      const planned = await plan(catalogue);
      if (planned.length === 0) return { results: [], warned: async () => ({}) };
      const at = now();
      const changes: PolicyChange[] = [];
      const bodies = new Map<string, string>();
      for (const one of planned) {
        const { before, over, body, kind } = one;
        const policy = versioned(one, at);
        const text = body ?? (await textIn(bodies, over ?? (before as StoredPolicy)));
        bodies.set(keyOf(policy), text);
        const by = { reason, actor_sub, actor_idp, event_kind: kind };
        changes.push({ policy, body: text, ...by, row: changeRow(policy, before ?? over ?? null, by) });
      }
      const next = applied(
        catalogue.policies,
        changes.map(({ policy }) => policy),
      );
      const { sets, modules } = await rebuilt(catalogue, next, changes, tenant, at);
      const receipt = receiptOf?.(changes.length);
      if (await store.write({ expected: catalogue.generation, at, changes, sets, modules, receipt })) {
        const tenants = sets.map(({ tenant: scope }) => scope);
        const behind = await changed(tenants);
        const results = changes.map(({ policy, event_kind }) => ({
          name: policy.name,
          version: policy.current_version,
          body_sha256: policy.body_sha256,
          current_version: policy.current_version,
          active: policy.active,
          event_kind,
        }));
        const touched = new Set(results.map(({ name }) => name));
        const late = behind === null ? [] : [`${STORED_ALONE}: ${behind}`];
        const unheld = () => neverHolding(tenants, next, touched, (policy) => textIn(bodies, policy));
        return { results, warned: async () => warnings([...late, ...(await unheld())]) };
      }
    }
    throw new GateError('store_unavailable', 'others change policies all the time; send the change again');
  }

  async function textOf(tenant: string, name: string, version: number): Promise<string> {
    const found = await store.version(tenant, name, version);
    if (!found) throw new GateError('not_found', `${name} has no version ${version}`);
    return found.body;
  }
  /** What of a text reads no document that is in force for everybody. Where the store was edited a text is checked all the same. */
  async function readsNothing(reads: Parameters<typeof readingNothing>[0]): Promise<readonly string[]> {
    try {
      return await readingNothing(reads, givenIn(inForce((await store.catalogue()).policies, EVERYBODY)));
    } catch (error) {
      if (!isEdited(error)) throw error;
      return [`which documents it would read is not known: ${error.message}`];
    }
  }
  /** The text of a file of a tenant's set: of its own copy, or of what holds for everybody. */
  async function sourceOf(tenant: string, { name, version, body_sha256 }: StoredSet['files'][number]) {
    for (const scope of new Set([tenant, EVERYBODY])) {
      const found = await store.version(scope, name, version);
      if (found?.body_sha256 === body_sha256) return { name, body: found.body };
    }
    throw edited(`version ${version} of ${name} is gone`);
  }
  /** Its text, stored or about to be. */
  const textIn = async (coming: ReadonlyMap<string, string>, policy: StoredPolicy): Promise<string> =>
    coming.get(keyOf(policy)) ?? textOf(policy.tenant, policy.name, policy.current_version);

  /** What is in force for these tenants and reads what is not there; what holds for everybody first, and of others what is more than that. */
  async function neverHolding(
    tenants: readonly string[],
    policies: readonly StoredPolicy[],
    touched: ReadonlySet<string>,
    bodyOf: (policy: StoredPolicy) => Promise<string>,
  ): Promise<readonly string[]> {
    const told = new Set<string>();
    for (const tenant of tenants) {
      const after = inForce(policies, tenant);
      const whose = tenant === EVERYBODY || tenants.length === 1 ? '' : `of the tenant ${tenant}, `;
      for (const message of await missing(after, touched, bodyOf, givenIn(after)))
        if (!told.has(message)) told.add(`${whose}${message}`);
    }
    return [...told];
  }
  const givenIn = (files: readonly Pick<StoredPolicy, 'name'>[]) =>
    givenBy(floor.data, templates, new Set(files.map(({ name }) => name)));

  /** The sets that the changes make other ones, compiled and proved. A tenant's change touches its own set alone. */
  async function rebuilt(
    { generation, policies }: Catalogue,
    next: readonly StoredPolicy[],
    changes: readonly PolicyChange[],
    tenant: string,
    at: string,
  ) {
    const takesAway = changes.every(({ policy }) => !policy.active);
    const bodies = new Map(changes.map(({ policy, body }) => [keyOf(policy), body]));
    const bodyOf = (policy: StoredPolicy): Promise<string> => textIn(bodies, policy);
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
      const known = modules.get(sources) ?? (await keptModule(sources));
      const beside = tenant === EVERYBODY && scope !== EVERYBODY ? scope : null;
      const module = known ?? (await compiled(sources, after, bodyOf, beside));
      await prove(module, set, takesAway).catch((error: unknown) => {
        throw unreadDocument(set, beside) ?? error;
      });
      if (!known) modules.set(sources, module);
    }
    return { sets, modules: [...modules.values()] };
  }

  /** One that was edited is compiled anew. */
  async function keptModule(sources: string): Promise<StoredModule | null> {
    try {
      return await store.module(sources);
    } catch (error) {
      if (isEdited(error)) return null;
      throw error;
    }
  }

  async function compiled(
    sources_sha256: string,
    files: readonly StoredPolicy[],
    bodyOf: (policy: StoredPolicy) => Promise<string>,
    beside: string | null,
  ): Promise<StoredModule> {
    const rules = files.filter(({ content_type: type }) => type === 'rego');
    const sources = await Promise.all(rules.map(async (rule) => ({ name: rule.name, body: await bodyOf(rule) })));
    const answer = await compiler.compile(sources);
    const { fault } = answer;
    if (fault)
      throw invalid(
        beside === null ? fault : { ...fault, message: `beside the policies of ${beside}: ${fault.message}` },
      );
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

  const assertValid = async (
    policy: ValidatePolicy,
    told: (fault: PolicyFault) => PolicyFault = (fault) => fault,
  ): Promise<void> => {
    const { fault: found } = await faultIn(policy, compiler, floor.data, templates);
    if (found) throw invalid(told(found));
  };

  async function one(change: Promise<Mutated>): Promise<MutatedPolicy> {
    const { results, warned: told } = await change;
    return { ...(results[0] as MutatedPolicy), ...(await told()) };
  }

  const setActive = (tenant: string, name: string, active: boolean, asked: ChangePolicyState): Promise<MutatedPolicy> =>
    one(mutate(tenant, asked, (catalogue) => [planner.switched(catalogue, tenant, name, active, asked)]));

  /** What is kept, and files as they would be in force beside it. */
  function withFiles(tenant: string, kept: readonly StoredPolicy[], given: readonly ValidatePolicy[]) {
    const at = now();
    const bodies = new Map(given.map(({ name, body }) => [name, body]));
    const added = given.map((file) => versioned({ ...ADDED, after: made(tenant, { ...file, active: true }) }, at));
    const bodyOf = async (policy: StoredPolicy): Promise<string> =>
      bodies.get(policy.name) ?? textOf(policy.tenant, policy.name, policy.current_version);
    return { files: [...kept, ...added].toSorted(byName), bodyOf };
  }

  async function proposed(
    tenant: string,
    kept: readonly StoredPolicy[],
    given: readonly ValidatePolicy[],
  ): Promise<Proposed> {
    const { files, bodyOf } = withFiles(tenant, kept, given);
    const set = await setOf(tenant, files, bodyOf, await compiler.shared(), 'candidate');
    const sources = set?.sources_sha256 ?? null;
    if (set === null || sources === null) return { wasm: null, data: {}, files: [] };
    const { wasm } = (await keptModule(sources)) ?? (await compiled(sources, files, bodyOf, null));
    return { wasm, data: set.data, files: set.files };
  }

  return {
    async validate(asked: ValidatePolicy): Promise<ValidatedPolicy> {
      const checked = await faultIn(asked, compiler, floor.data, templates);
      const { fault: found, formatted, reads = [] } = checked;
      const warned = warnings(warningsOf(asked, checked, reads.length === 0 ? [] : await readsNothing(reads)));
      if (found) return { ok: false, error: placed(found), ...warned };
      return { ok: true, ...(formatted !== undefined && formatted !== asked.body && { formatted }), ...warned };
    },

    async create(tenant: string, asked: CreatePolicy): Promise<MutatedPolicy> {
      await assertValid(asked);
      return one(mutate(tenant, asked, (catalogue) => [planner.created(catalogue, tenant, asked)]));
    },

    async update(tenant: string, name: string, asked: UpdatePolicy): Promise<MutatedPolicy> {
      const { after } = planner.updated(await trusted(() => store.catalogue()), tenant, name, asked);
      await assertValid({ name, content_type: after.content_type, body: asked.body });
      return one(mutate(tenant, asked, (catalogue) => [planner.updated(catalogue, tenant, name, asked)]));
    },

    activate: (tenant: string, name: string, asked: ChangePolicyState) => setActive(tenant, name, true, asked),
    deactivate: (tenant: string, name: string, asked: ChangePolicyState) => setActive(tenant, name, false, asked),

    remove: (tenant: string, name: string, asked: DeletePolicy): Promise<MutatedPolicy> =>
      one(mutate(tenant, asked, (catalogue) => [planner.removed(catalogue, tenant, name, asked, now())])),

    /**
     * Several changes as one: each is planned on what those before it leave, all that they put in force is proved together, and they are stored
     * and in force in one step. Where one is refused, nothing is changed.
     */
    async apply(tenant: string, { changes: asked, ...by }: ApplyPolicies): Promise<AppliedPolicies> {
      // What is refused for its version needs no compiler.
      for (const { after, body } of planner.inOrder(await trusted(() => store.catalogue()), tenant, asked, now())) {
        const { name, content_type } = after;
        if (body !== null) await assertValid({ name, content_type, body }, (found) => ofFile(name, found));
      }
      const made = await mutate(tenant, by, (stored) => planner.inOrder(stored, tenant, asked, now()));
      return { results: [...made.results], ...(await made.warned()) };
    },

    /** A new version with the text of an old one; whether it is in force stays as it is. */
    async rollback(tenant: string, name: string, version: number, asked: RollbackPolicy): Promise<MutatedPolicy> {
      planner.assertNotShipped(name);
      return one(
        mutate(tenant, asked, async (catalogue) => {
          const policy = planner.found(catalogue, tenant, name);
          const { expected_current_version = policy.current_version } = asked;
          expectedOf(policy, { ...asked, expected_current_version });
          const body = await textOf(policy.tenant, name, version);
          // The functions that a rule may use are those of this Gate, not of the one that stored it.
          await assertValid({ name, content_type: policy.content_type, body });
          const header = headerOf(policy.content_type === 'rego' ? body : '');
          const after = { ...policy, tenant, body_sha256: sha256Hex(body), header };
          return [{ before: named(catalogue, tenant, name), over: policy, after, body, kind: 'policy.updated' }];
        }),
      );
    },

    /**
     * Puts a template in force, its parameters with it. A policy of its name that was switched off is switched on with the text that it has; one that
     * was deleted comes back with that of the template. Refused where there is one in force, and where its document is another one than is meant.
     */
    async install(tenant: string, { facts, body }: Template, asked: InstallTemplate): Promise<MutatedPolicy> {
      const { name } = facts;
      const { parameters, ...by } = asked;
      const document = parameters && (await documentOf(name, parameters));
      const { results, warned: told } = await mutate(tenant, by, (catalogue) => {
        const before = named(catalogue, tenant, name);
        const own = before?.deleted_at === null ? before : null;
        if ((own ?? there(catalogue, EVERYBODY, name))?.active)
          throw new GateError('policy_exists', `${name} is in force already`);
        assertDocumentOf(catalogue, tenant, name, asked);
        const kind = 'policy.installed_from_template' as const;
        const rule: Planned = own
          ? { before: own, after: { ...own, active: true }, body: null, kind }
          : {
              before,
              ...behindBase(catalogue, tenant, name),
              after: made(tenant, { name, content_type: 'rego', body, active: true }),
              body,
              kind,
            };
        return document ? [documentChange(catalogue, tenant, document), rule] : [rule];
      });
      return { ...(results.find((change) => change.name === name) as MutatedPolicy), ...(await told()) };
    },

    /**
     * Compiles rules that are in force anew where their module in the store is gone or edited: the sets and texts have MACs of their own. What an
     * earlier Gate compiled otherwise stays as it is. How many were made anew.
     */
    async mend(): Promise<number> {
      const { generation, sets } = await store.sets();
      const shared = await compiler.shared();
      const modules = new Map<string, StoredModule>();
      for (const { tenant, files, sources_sha256: sources } of sets) {
        if (sources === null || modules.has(sources) || (await keptModule(sources)) !== null) continue;
        const rules = files.filter(({ content_type: type }) => type === 'rego');
        const named = rules.map(({ name, body_sha256 }) => ({ name, body_sha256 }));
        if (canonicalDigest({ shared, files: named }) !== sources) continue;
        const answer = await compiler.compile(await Promise.all(rules.map((rule) => sourceOf(tenant, rule))));
        if (answer.fault) continue;
        const { wasm } = answer;
        const opa_version = await compiler.version();
        modules.set(sources, { sources_sha256: sources, wasm, wasm_sha256: sha256Hex(wasm), opa_version });
      }
      if (modules.size === 0) return 0;
      const made = { expected: generation, at: now(), changes: [], sets: [], modules: [...modules.values()] };
      // Whoever was first had the whole set proved.
      return (await store.write(made)) ? modules.size : 0;
    },

    /** The whole catalogue, into a store that never held a policy; otherwise nothing. */
    async seed(all: readonly Template[], active: boolean): Promise<void> {
      await mutate(EVERYBODY, BOOTSTRAP, ({ generation, policies }) =>
        generation > 0 || policies.length > 0
          ? []
          : all.map(({ facts: { name }, body }) => ({
              before: null,
              after: made(EVERYBODY, { name, content_type: 'rego', body, active }),
              body,
              kind: 'policy.created',
            })),
      );
    },

    /** What is in force for everybody becomes copies of the tenant, once; a tenant that has copies keeps those. */
    async provision(tenant: string, asked: PolicyReason): Promise<ProvisionedTenant> {
      let had = 0;
      const { results: created, warned: told } = await mutate(tenant, asked, (catalogue) => {
        had = ownOnes(catalogue.policies, tenant).length;
        if (had > 0) return [];
        return inForce(catalogue.policies, EVERYBODY).map((policy) => {
          const before = named(catalogue, tenant, policy.name);
          return { before, over: policy, after: { ...policy, tenant }, body: null, kind: 'policy.created' };
        });
      });
      return { tenant, policies: had + created.length, created: created.length, ...(await told()) };
    },

    /** Deletes a tenant's copies. `stillWanted` throws where another change of the tenant has made it void. */
    async withdraw(
      tenant: string,
      asked: PolicyReason,
      operation?: {
        readonly stillWanted: () => Promise<void>;
        /** Stored with the withdrawal; where there is nothing to withdraw it is not. */
        readonly receiptOf: (removed: number) => TenantPoliciesReceipt;
      },
    ): Promise<WithdrawnTenant> {
      const withdrawn = async ({ policies }: Catalogue): Promise<readonly Planned[]> => {
        await operation?.stillWanted();
        const deleted_at = now();
        return ownOnes(policies, tenant).map((policy) => ({
          before: policy,
          after: { ...policy, active: false, deleted_at },
          body: null,
          kind: 'policy.deleted',
        }));
      };
      const { results: removed, warned: told } = await mutate(tenant, asked, withdrawn, operation?.receiptOf);
      return { tenant, removed: removed.length, ...(await told()) };
    },

    /** All policies of a domain at once. Those that are there already, and the rules that ship, stay as they are. */
    async setCategory(tenant: string, domain: string, active: boolean, asked: PolicyReason): Promise<ChangedCategory> {
      let skipped = 0;
      const { results, warned: told } = await mutate(tenant, asked, ({ policies }) => {
        const own = policies.filter(
          (policy) => policy.tenant === tenant && policy.deleted_at === null && policy.header.domain === domain,
        );
        const other = own.filter((policy) => policy.active !== active);
        skipped = own.length - other.length;
        const kind = active ? 'policy.activated' : 'policy.deactivated';
        return other.map((policy) => ({ before: policy, after: { ...policy, active }, body: null, kind }));
      });
      return { changed: results.length, skipped, results: [...results], ...(await told()) };
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
      if (instead !== null) planner.found(catalogue, tenant, instead);
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
      for (const file of files) {
        planner.assertNotShipped(file.name);
        // What is in force was checked when it came.
        if (
          !inForce(policies, tenant).some(
            ({ name, body_sha256 }) => name === file.name && body_sha256 === sha256Hex(file.body),
          )
        )
          await assertValid(file);
      }
      return proposed(tenant, inForceWithout(policies, tenant, namesIn(files, without)), files);
    },

    /** What would be in force then and never hold, since nothing has what it reads; of these files and names alone. */
    async missing(
      tenant: string,
      { files, without }: { readonly files: readonly ValidatePolicy[]; readonly without: readonly string[] },
    ): Promise<readonly string[]> {
      const { policies } = await store.catalogue();
      const touched = namesIn(files, without);
      const after = withFiles(tenant, inForceWithout(policies, tenant, touched), files);
      return missing(after.files, touched, after.bodyOf, givenIn(after.files));
    },
  };
}

export type PolicyLibrary = ReturnType<typeof createPolicyLibrary>;

const namesIn = (files: readonly ValidatePolicy[], without: readonly string[]): ReadonlySet<string> =>
  new Set([...without, ...files.map(({ name }) => name)]);
const inForceWithout = (
  policies: readonly StoredPolicy[],
  tenant: string,
  names: ReadonlySet<string>,
): readonly StoredPolicy[] => inForce(policies, tenant).filter(({ name }) => !names.has(name));

/** A file that nothing is known of. */
const ADDED = { before: null, body: null, kind: 'policy.created' } as const;

/** Who seeds. */
const BOOTSTRAP: PolicyReason = {
  reason: 'the templates that ship, at the first start',
  actor_sub: 'bootstrap',
  actor_idp: 'system',
};

/** Throws `version_conflict` where the document that a template would be installed with is another one than is meant. */
function assertDocumentOf(
  catalogue: Catalogue,
  tenant: string,
  rule: string,
  {
    expected_document_version: version,
    expected_document_sha256: digest,
  }: Pick<InstallTemplate, 'expected_document_version' | 'expected_document_sha256'>,
): void {
  if (version === undefined) return;
  const name = rule.replace(/\.rego$/, '.json');
  const shared = there(catalogue, EVERYBODY, name);
  const now = there(catalogue, tenant, name) ?? (shared?.active ? shared : null);
  if (now !== null && version !== null)
    expectedOf(now, { expected_current_version: version, expected_body_sha256: digest });
  else if (now !== null || version !== null)
    throw new GateError(
      'version_conflict',
      now === null ? `${name} is not there any more` : `${name} is there by now, with version ${now.current_version}`,
    );
}

/** A document of parameters, new or over what the tenant has. */
function documentChange(
  catalogue: Catalogue,
  tenant: string,
  { name, body }: { readonly name: string; readonly body: string },
): Planned {
  const before = named(catalogue, tenant, name);
  const after = made(tenant, { name, content_type: 'json', body, active: true });
  const kind = before?.deleted_at === null ? 'policy.updated' : 'policy.created';
  return { before, ...behindBase(catalogue, tenant, name), after, body, kind };
}

const ownOnes = (policies: readonly StoredPolicy[], tenant: string): readonly StoredPolicy[] =>
  policies.filter((policy) => policy.tenant === tenant && policy.deleted_at === null);
const hasOwn = (policies: readonly StoredPolicy[], tenant: string): boolean => ownOnes(policies, tenant).length > 0;

const keyOf = ({ tenant, name, current_version }: StoredPolicy): string =>
  JSON.stringify([tenant, name, current_version]);
const byName = (one: StoredPolicy, other: StoredPolicy): number => (one.name < other.name ? -1 : 1);
function applied(policies: readonly StoredPolicy[], changed: readonly StoredPolicy[]): readonly StoredPolicy[] {
  const placeOf = ({ tenant, name }: StoredPolicy): string => JSON.stringify([tenant, name]);
  const next = new Map(policies.map((policy) => [placeOf(policy), policy]));
  for (const policy of changed) next.set(placeOf(policy), policy);
  return [...next.values()];
}

/** What is in force for a tenant: its own copies, and what holds for everybody where it has none. A copy that is switched off hides the other. */
export function inForce(policies: readonly StoredPolicy[], tenant: string): readonly StoredPolicy[] {
  const present = policies.filter(({ deleted_at: at }) => at === null);
  const own = present.filter((policy) => policy.tenant === tenant && tenant !== EVERYBODY);
  const copied = new Set(own.map(({ name }) => name));
  const shared = present.filter((policy) => policy.tenant === EVERYBODY && !copied.has(policy.name));
  return [...own, ...shared].filter(({ active }) => active).toSorted(byName);
}

const fileOf = ({ name, content_type, current_version: version, body_sha256 }: StoredPolicy) => ({
  name,
  content_type,
  version,
  body_sha256,
});
const sameFiles = (one: readonly StoredPolicy[], other: readonly StoredPolicy[]): boolean =>
  one.length === other.length &&
  one.every((policy, at) => {
    const { name, content_type: type, current_version: version, body_sha256: digest } = other[at] as StoredPolicy;
    return (
      policy.name === name &&
      policy.content_type === type &&
      policy.current_version === version &&
      policy.body_sha256 === digest
    );
  });

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

/** A fault of one file among several: it says of which. */
const ofFile = (name: string, { message, file, ...fault }: PolicyFault): PolicyFault => ({
  ...fault,
  message: file === null ? `${name}: ${message}` : message,
  file: file ?? name,
});

/** A document that an earlier Gate stored, which proved none while no rule was in force. Nothing else says which one it is. */
function unreadDocument({ data }: Pick<StoredSet, 'data'>, beside: string | null): GateError | null {
  for (const [mount, document] of Object.entries(data)) {
    const why = unreadableIn(document);
    if (why === null) continue;
    const name = `${mount}.json`;
    const whose = beside === null ? name : `${name} of ${beside}`;
    const message = `${whose}: ${why}; switch it off, or give it another text`;
    return invalid({ message, file: name, line: null, column: null });
  }
  return null;
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
