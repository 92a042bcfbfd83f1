import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PolicyDecision } from '../../contracts/policy.js';
import type { JsonObject } from '../../contracts/json.js';
import { isStorable } from '../../contracts/storable.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import { type AddedRules, createAddedRules } from '../../domain/policy/added-rules.js';
import { EVERYBODY, type PolicyStore, type StoredSet } from '../../domain/policy/library-ports.js';
import { bundleHash } from '../../domain/policy/policy-files.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import type { AddedFor } from './local-evaluator.js';

// Node's types leave the standard WebAssembly namespace to the DOM library, which a server does not load.
declare const WebAssembly: { readonly compile: (bytes: Uint8Array) => Promise<object> };

export interface LiveOptions {
  readonly floor: Pick<PolicySet, 'files' | 'material'>;
  readonly store: Pick<PolicyStore, 'generation' | 'sets' | 'module' | 'pastSet'>;
  /** How often the store is asked whether somebody changed something. */
  readonly watchMs?: number;
  /** Told once per fault, and null when it is over. */
  readonly onFault?: (reason: string | null) => void;
}

/** One row of one table; a change on another replica is in force here after about this time. */
const WATCH_MS = 500;

/** Rules beside the floor, null where there are none, and the files that they were compiled from. */
export interface RulesOfCall {
  readonly rules: AddedRules | null;
  readonly files: StoredSet['files'];
}
const FLOOR_ALONE: RulesOfCall = { rules: null, files: [] };

export type LivePolicies = ReturnType<typeof createLivePolicies>;

/**
 * What is in force in this process, by tenant. A change of the store is loaded whole, by the hash of each module, and then replaces everything
 * at once; what cannot be loaded replaces nothing, and `ready` says so. A call keeps the rules that it began with.
 */
export function createLivePolicies({ floor, store, watchMs = WATCH_MS, onFault = () => undefined }: LiveOptions) {
  let generation = -1;
  let inForce: ReadonlyMap<string, { readonly set: StoredSet; readonly rules: AddedRules | null }> = new Map();
  let fault: string | null = null;
  let loading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  /** Compiled modules that are in force, by the hash of their bytes. */
  let modules: ReadonlyMap<string, object> = new Map();

  async function load(): Promise<void> {
    if ((await store.generation()) === generation) return;
    const stored = await store.sets();
    const next = new Map<string, { set: StoredSet; rules: AddedRules | null }>();
    const used = new Map<string, object>();
    for (const set of stored.sets) {
      const before = inForce.get(set.tenant);
      const { sources_sha256: sources } = set;
      if (sources === null) {
        next.set(set.tenant, { set, rules: null });
        continue;
      }
      const module = used.get(sources) ?? modules.get(sources) ?? (await moduleOf(sources));
      used.set(sources, module);
      if (before?.set.version === set.version) next.set(set.tenant, before);
      else {
        next.set(set.tenant, { set, rules: rulesOf(module, set) });
        // The data is read into each instance; calls go on between two.
        await nextTurn();
      }
    }
    [inForce, modules, generation] = [next, used, stored.generation];
  }
  async function moduleOf(sources: string): Promise<object> {
    const found = await store.module(sources);
    if (!found) throw new Error(`the module of ${sources} is not stored`);
    if (sha256Hex(found.wasm) !== found.wasm_sha256)
      throw new Error(`the module of ${sources} is not what was compiled`);
    // Off the event loop.
    return WebAssembly.compile(found.wasm);
  }
  const rulesOf = (
    module: object,
    { files, data, version }: Pick<StoredSet, 'files' | 'data' | 'version'>,
  ): AddedRules =>
    createAddedRules({
      module,
      data: { ...floor.material.data, gate: { ...floor.material.data.gate, ...data } },
      bundle: bundleOf(files, version),
      maxMemoryPages: floor.material.maxMemoryPages,
    });
  const bundleOf = (files: StoredSet['files'], version: string): PolicyDecision['policy_bundle'] => {
    const all = [...floor.files, ...files];
    const sorted = all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    return { schema_version: 1, version, hash_sha256: bundleHash(sorted), policy_count: all.length };
  };
  const told = (reason: string | null): void => {
    if (reason !== fault) onFault(reason);
    fault = reason;
  };
  /** One at a time; each sees what was stored before it was asked. */
  function refresh(): Promise<void> {
    loading = loading
      .catch(() => undefined)
      .then(load)
      .then(
        () => told(null),
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
        void refresh()
          .catch(() => undefined)
          .finally(watch),
      watchMs,
    );
    timer.unref();
  }
  const ofTenant = (tenant: string | null | undefined) =>
    (typeof tenant === 'string' ? inForce.get(tenant) : undefined) ?? inForce.get(EVERYBODY);

  return {
    /** Loads what is stored. Rejects where that fails: a process that starts has nothing older to judge by. */
    start: async (): Promise<void> => {
      await refresh();
    },
    /** From now on the store is watched. */
    begin: watch,
    /** What is stored is in force when this resolves. Rejects, and keeps what was, where it cannot be loaded. */
    refresh,
    addedFor: ((input) => ofTenant(input?.tenant)?.rules ?? null) satisfies AddedFor,
    /** The rules by which a call of the tenant would be judged now. */
    judgingNow(tenant: string): RulesOfCall {
      const now = ofTenant(tenant);
      return now ? { rules: now.rules, files: now.set.files } : FLOOR_ALONE;
    },
    /** The bundle of a tenant that has rules beside the floor. */
    bundleFor: (tenant: string): PolicyDecision['policy_bundle'] | null => ofTenant(tenant)?.rules?.bundle ?? null,
    /**
     * The rules that a call of the tenant was judged by. Throws `bundle_gone` where the floor was another one, and for rules that the store does
     * not know.
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
        if (set === null || set.sources_sha256 === null || bundleOf(set.files, version).hash_sha256 !== hash) continue;
        return { rules: rulesOf(await moduleOf(set.sources_sha256), set), files: set.files };
      }
      throw new GateError(
        'bundle_gone',
        `the rules ${version} (${hash}) are not here any more: the rules that ship were others then, or the store has no such set`,
      );
    },
    /** Rules that are not in force, for trying them. Throws `policy_invalid` for what is no module of added rules. */
    async tried(wasm: Uint8Array, data: JsonObject, files: StoredSet['files'] = []): Promise<AddedRules> {
      try {
        return rulesOf(await WebAssembly.compile(wasm), { files, data, version: 'candidate' });
      } catch (error) {
        throw new GateError('policy_invalid', `the rules cannot be loaded: ${errorText(error)}`, { cause: error });
      }
    },
    ready(): number {
      if (fault !== null) throw new Error(`policies: generation ${generation} is in force, not the newest: ${fault}`);
      return generation;
    },
    close(): void {
      closed = true;
      if (timer) clearTimeout(timer);
    },
  };
}
