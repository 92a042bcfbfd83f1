import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PolicyDecision } from '../../contracts/policy.js';
import type { JsonObject } from '../../contracts/json.js';
import { isStorable } from '../../contracts/storable.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import { type AddedRules, assertAdded, createAddedRules } from '../../domain/policy/added-rules.js';
import { EVERYBODY, type PolicyStore, type SetInForce, type StoredSet } from '../../domain/policy/library-ports.js';
import { addedBundleHash, bundleHash } from '../../domain/policy/policy-files.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import { edited, isEdited } from '../../domain/policy/sealed-policies.js';
import type { AddedFor } from '../../domain/policy/evaluation.js';

// Node's types leave the standard WebAssembly namespace to the DOM library, which a server does not load.
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

export interface LiveOptions {
  readonly floor: Pick<PolicySet, 'files' | 'material'>;
  readonly store: Pick<PolicyStore, 'mark' | 'sets' | 'module' | 'pastSet'>;
  /**
   * Evaluates rules once before they are in force, in another thread: their code is compiled at its first use, which calls would wait for, and
   * threads share it. What comes of it is of no matter.
   */
  readonly rehearse?: (rules: AddedRules) => Promise<unknown>;
  /** How often the store is asked whether somebody changed something. */
  readonly watchMs?: number;
  /** Told once per fault, and null when it is over. */
  readonly onFault?: (reason: string | null) => void;
}

/** One row of one table; a change on another replica is in force here after about this time. */
const WATCH_MS = 500;
/** In so many of these times everything is verified again that was loaded: an editor moves no generation. */
const WHOLE_EVERY = 120;
/** The same while something is not what Gate left, which may be put back. */
const FAULTY_EVERY = 20;

/** What is looked for: a change, or what is due; a change, and whether a fault is over; everything. */
type Look = 'due' | 'now' | 'whole';

/** Where the store does not answer, that is no fault of one tenant. */
const isOfStore = (error: unknown): boolean => error instanceof GateError && error.code === 'store_unavailable';

/** Rules beside the floor, null where there are none, and the files that they were compiled from. */
export interface RulesOfCall {
  readonly rules: AddedRules | null;
  readonly files: StoredSet['files'];
}
const FLOOR_ALONE: RulesOfCall = { rules: null, files: [] };

/** A compiled module, and the digest of the bytes that it was read from. */
interface Loaded {
  readonly module: object;
  readonly wasm_sha256: string;
}

export type LivePolicies = ReturnType<typeof createLivePolicies>;

/**
 * What is in force in this process, by tenant. A change of the store is loaded whole, by the hash of each module, and then replaces everything
 * at once; what cannot be loaded replaces nothing, and `ready` says so. A tenant whose own rules were edited in the store keeps those of before, or
 * has its calls denied where there are none here. A call keeps the rules that it began with.
 */
export function createLivePolicies({
  floor,
  store,
  rehearse = async () => undefined,
  watchMs = WATCH_MS,
  onFault = () => undefined,
}: LiveOptions) {
  let generation = -1;
  let inForce: ReadonlyMap<string, { readonly set: SetInForce; readonly rules: AddedRules | null }> = new Map();
  let fault: string | null = null;
  /** Tenants whose own rules in the store are not what Gate put there, or cannot be loaded, and why. Everybody else has the newest. */
  let damaged: ReadonlyMap<string, unknown> = new Map();
  /** A policy is not what Gate left: nothing can be changed, and what is in force is not touched by that. */
  let unchangeable: string | null = null;
  /** Rows in the store that Gate did not write and that judge nothing. */
  let madeUp: string | null = null;
  /** Nothing that is stored is loaded, since it is not what Gate left. */
  let refusal: GateError | null = null;
  /** That of the store when it was last read, and when everything in it was verified. */
  let mark: string | null = null;
  let verifiedAt = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  /** Compiled modules that are in force, by the digest of their sources. */
  let modules: ReadonlyMap<string, Loaded> = new Map();

  const isFaulty = (): boolean => damaged.size > 0 || unchangeable !== null || refusal !== null;

  async function load(look: Look): Promise<void> {
    const marked = await store.mark();
    const every = (isFaulty() ? FAULTY_EVERY : WHOLE_EVERY) * watchMs;
    const whole = look === 'whole' || (look === 'now' && isFaulty()) || performance.now() - verifiedAt >= every;
    if (!whole && marked === mark) {
      if (refusal) throw refusal;
      return;
    }
    try {
      // While something is not as it was left, no part is taken for whole.
      await loadWith(whole || isFaulty());
      refusal = null;
    } catch (error) {
      if (!isEdited(error)) throw error;
      refusal = error;
    }
    mark = marked;
    if (whole) verifiedAt = performance.now();
    if (refusal) throw refusal;
  }
  async function loadWith(whole: boolean): Promise<void> {
    const stored = await store.sets();
    // No change makes the number less: somebody put back all that is in force at once, or a backup.
    if (stored.generation < generation)
      throw edited(`the store was put back to generation ${stored.generation}, and ${generation} is in force`);
    const next = new Map<string, { set: SetInForce; rules: AddedRules | null }>();
    const used = new Map<string, Loaded>();
    const broken = new Map<string, unknown>(stored.unreadable.map(({ tenant, why }) => [tenant, edited(why)]));
    for (const set of stored.sets)
      await loaded(set).catch((error: unknown) => {
        if (isOfStore(error)) throw error;
        broken.set(set.tenant, error);
      });
    for (const [tenant, error] of broken) {
      // What holds for everybody is in the place of every policy that a tenant has no copy of.
      if (tenant === EVERYBODY) throw error;
      const before = inForce.get(tenant);
      if (!before) continue;
      next.set(tenant, before);
      const sources = before.set.sources_sha256;
      const module = sources === null ? undefined : modules.get(sources);
      if (sources !== null && module) used.set(sources, module);
    }
    [inForce, modules, generation] = [next, used, stored.generation];
    damaged = broken;
    unchangeable = stored.tampered;
    madeUp = stored.madeUp;

    async function loaded(set: SetInForce): Promise<void> {
      const before = inForce.get(set.tenant);
      const { sources_sha256: sources } = set;
      // After a backup was put back another set may have the number of this one.
      const isSame = before?.set.mac === set.mac;
      if (whole || !isSame) await assertUnedited(set);
      if (sources === null) {
        next.set(set.tenant, { set, rules: null });
        return;
      }
      const known = modules.get(sources);
      const module = used.get(sources) ?? (known && !whole ? known : await moduleOf(sources, known));
      const isNew = module !== known && !used.has(sources);
      used.set(sources, module);
      if (before && isSame && module === known) next.set(set.tenant, before);
      else {
        // Each step takes some milliseconds of hundreds of policies; calls go on between two.
        await nextTurn();
        const rules = rulesOf(module, set);
        next.set(set.tenant, { set, rules });
        await nextTurn();
        // No call waits while a process starts, and the start does not wait for this.
        const rehearsed = isNew ? rehearse(rules).catch(() => undefined) : null;
        if (generation !== -1) await rehearsed;
      }
    }
  }
  /** Throws where the set is not what was kept of the change that made it: somebody wrote to the store beside Gate. */
  async function assertUnedited({ tenant, version, files, data, sources_sha256: sources }: StoredSet): Promise<void> {
    const made = await store.pastSet(tenant, version);
    // Both were read from JSON, so that equal ones are equal texts; to compare what is nested takes a deeper stack.
    if (
      made === null ||
      made.sources_sha256 !== sources ||
      JSON.stringify([made.files, made.data]) !== JSON.stringify([files, data])
    )
      throw edited(`the set ${version} of ${tenant} is not what its policies say`);
  }
  /** The one that is known, where that is what is stored. */
  async function moduleOf(sources: string, known?: Loaded): Promise<Loaded> {
    const found = await store.module(sources);
    if (!found) throw edited(`the module of ${sources} is gone`);
    if (sha256Hex(found.wasm) !== found.wasm_sha256) throw edited(`the module of ${sources} is not what was compiled`);
    if (known?.wasm_sha256 === found.wasm_sha256) return known;
    // Off the event loop.
    const module = await WebAssembly.compile(found.wasm).catch((error: unknown) => {
      throw edited(`the module of ${sources} is none: ${errorText(error)}`);
    });
    try {
      assertAdded({ module, maxMemoryPages: floor.material.maxMemoryPages });
    } catch (error) {
      throw edited(`the module of ${sources} holds no rules: ${errorText(error)}`);
    }
    return { module, wasm_sha256: found.wasm_sha256 };
  }
  const rulesOf = (
    { module, wasm_sha256: wasm }: Loaded,
    { files, data, version }: Pick<StoredSet, 'files' | 'data' | 'version'>,
  ): AddedRules =>
    createAddedRules({
      module,
      data: { ...floor.material.data, gate: { ...floor.material.data.gate, ...data } },
      bundle: bundleOf(files, version, wasm),
      maxMemoryPages: floor.material.maxMemoryPages,
    });
  const withFloor = (files: StoredSet['files']) =>
    [...floor.files, ...files].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const bundleOf = (files: StoredSet['files'], version: string, wasm: string): PolicyDecision['policy_bundle'] => {
    const all = withFloor(files);
    return { schema_version: 1, version, hash_sha256: addedBundleHash(all, wasm), policy_count: all.length };
  };
  /** Whose newest rules are not in force, and what is instead. */
  function damageTold(): string | null {
    const told = [...damaged].map(
      ([tenant, why]) =>
        `of the tenant ${tenant}: ${errorText(why)}; ${inForce.has(tenant) ? 'its rules of before stay in force' : 'its calls are denied'}`,
    );
    if (unchangeable !== null) told.push(`no policy can be changed: ${unchangeable}`);
    if (madeUp !== null) told.push(`rows in the store that judge nothing and that Gate did not write: ${madeUp}`);
    return told.length === 0 ? null : told.join('. ');
  }
  const told = (reason: string | null): void => {
    if (reason !== fault && !closed) onFault(reason);
    fault = reason;
  };
  /** One at a time; each sees what was stored before it was asked. */
  function looked(look: Look): Promise<void> {
    loading = loading
      .catch(() => undefined)
      .then(() => load(look))
      .then(
        () => told(damageTold()),
        (error: unknown) => {
          told(errorText(error));
          throw error;
        },
      );
    return loading;
  }
  function watch(): void {
    if (closed) return;
    timer = setTimeout(
      () =>
        void looked('due')
          .catch(() => undefined)
          .finally(watch),
      watchMs,
    );
    timer.unref();
  }
  const ofTenant = (tenant: string | null | undefined) =>
    (typeof tenant === 'string' ? inForce.get(tenant) : undefined) ?? inForce.get(EVERYBODY);
  /** Why a tenant's calls cannot be judged at all: its own rules are damaged, and none from before are here. */
  function refusedFor(tenant: string | null | undefined): GateError | null {
    if (typeof tenant !== 'string' || !damaged.has(tenant) || inForce.has(tenant)) return null;
    const refused = `policy evaluation failed: the stored policies of the tenant ${tenant}`;
    return isEdited(damaged.get(tenant))
      ? new GateError('policy_tampered', `${refused} were edited past Gate`)
      : new GateError('policy_unavailable', `${refused} cannot be loaded`);
  }

  return {
    /** Loads what is stored. Rejects where that fails: a process that starts has nothing older to judge by. */
    start: async (): Promise<void> => {
      await looked('now');
    },
    /** From now on the store is watched. */
    begin: watch,
    /** What is stored is in force when this resolves. Where it cannot be loaded, at all or for one of these tenants: why; what was is kept. */
    refresh: async (tenants: readonly string[]): Promise<string | null> => {
      try {
        await looked('now');
      } catch (error) {
        return errorText(error);
      }
      const why = tenants.filter((tenant) => damaged.has(tenant)).map((tenant) => errorText(damaged.get(tenant)));
      return why.length > 0 ? why.join('; ') : null;
    },
    /** All that is in force is compared with the store again: somebody found there what Gate did not leave. Rejects where it cannot be loaded. */
    verify: () => looked('whole'),
    addedFor: ((input) => {
      const refused = refusedFor(input?.tenant);
      return refused === null ? (ofTenant(input?.tenant)?.rules ?? null) : { refused: refused.message };
    }) satisfies AddedFor,
    /** The rules by which a call of the tenant would be judged now. Throws `policy_tampered` or `policy_unavailable` where none of its calls can be. */
    judgingNow(tenant: string): RulesOfCall {
      const refused = refusedFor(tenant);
      if (refused !== null) throw refused;
      const now = ofTenant(tenant);
      return now ? { rules: now.rules, files: now.set.files } : FLOOR_ALONE;
    },
    /** The bundle of a tenant that has rules beside the floor. */
    bundleFor: (tenant: string): PolicyDecision['policy_bundle'] | null => ofTenant(tenant)?.rules?.bundle ?? null,
    /**
     * The rules that a call of the tenant was judged by. Throws `bundle_gone` where the floor was another one, and for rules that the store does
     * not know; `policy_tampered` for a module that is not what was compiled.
     */
    async judgedBy(
      tenant: string,
      { version, hash_sha256: hash }: Pick<PolicyDecision['policy_bundle'], 'version' | 'hash_sha256'>,
    ): Promise<RulesOfCall> {
      if (hash === bundleHash(floor.files)) return FLOOR_ALONE;
      for (const scope of isStorable(version) ? new Set([tenant, EVERYBODY]) : []) {
        const now = inForce.get(scope);
        if (now?.rules?.bundle.hash_sha256 === hash) return { rules: now.rules, files: now.set.files };
        const set = await store.pastSet(scope, version);
        if (set === null || set.sources_sha256 === null) continue;
        const loaded = await moduleOf(set.sources_sha256);
        // An earlier Gate's decisions name the files alone.
        if (
          ![addedBundleHash(withFloor(set.files), loaded.wasm_sha256), bundleHash(withFloor(set.files))].includes(hash)
        )
          continue;
        return { rules: rulesOf(loaded, set), files: set.files };
      }
      throw new GateError(
        'bundle_gone',
        `the rules ${version} (${hash}) are not here any more: the rules that ship were others then, or the store has no such set`,
      );
    },
    /** Rules that are not in force, for trying them. Throws `policy_invalid` for what is no module of added rules. */
    async tried(wasm: Uint8Array, data: JsonObject, files: StoredSet['files']): Promise<AddedRules> {
      try {
        const loaded = { module: await WebAssembly.compile(wasm), wasm_sha256: sha256Hex(wasm) };
        assertAdded({ module: loaded.module, maxMemoryPages: floor.material.maxMemoryPages });
        await nextTurn();
        return rulesOf(loaded, { files, data, version: 'candidate' });
      } catch (error) {
        throw new GateError('policy_invalid', `the rules cannot be loaded: ${errorText(error)}`, { cause: error });
      }
    },
    /** Why this process does not judge the tenant's calls by what is stored; null where it does. A tenant is told nothing of another one's rows. */
    notInForce(tenant: string): string | null {
      const told: string[] = [];
      const isForAll = tenant === EVERYBODY;
      if (fault !== null && fault !== damageTold())
        told.push(`what is stored is not in force${isForAll ? `: ${fault}` : ''}`);
      const own = damaged.get(tenant);
      if (own !== undefined) told.push(`the newest rules of the tenant are not in force: ${errorText(own)}`);
      return told.length === 0 ? null : told.join('. ');
    },
    /** Why no policy can be changed now, also where what is stored judges; null where each can. */
    takesNoChange: (tenant: string): string | null =>
      unchangeable === null ? null : tenant === EVERYBODY ? unchangeable : 'somebody edited the store',
    /** Fails where nobody has the newest. Of tenants whose own rules were edited it says so: for all others this process is ready. */
    ready(): number | string {
      const damage = damageTold();
      if (fault !== null && fault !== damage)
        throw new Error(`policies: generation ${generation} is in force, and not what is stored: ${fault}`);
      return damage ?? generation;
    },
    /** Behind it nothing asks the store any more, and nothing is told: what a look meets in a process that stops is no fault of the policies. */
    async close(): Promise<void> {
      closed = true;
      if (timer) clearTimeout(timer);
      await loading.catch(() => undefined);
    },
  };
}
