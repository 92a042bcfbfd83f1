import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { PolicyDecision } from '../../contracts/policy.js';
import { bytesOf, type CompiledPolicy, instanceOf } from './compiled.js';
import { ADDED_ENTRYPOINT, WATCHED_ENTRYPOINT } from './policy-files.js';

/** What operators' rules say about one call. Members may be anything; only texts become reasons. */
export interface AddedRuling {
  readonly deny: readonly unknown[];
  readonly review: readonly unknown[];
}

/** What a thread needs to judge by the same rules. The compiled module is shared with it, not copied. */
export interface AddedMaterial {
  readonly module: object;
  readonly data: object;
  readonly bundle: PolicyDecision['policy_bundle'];
  readonly maxMemoryPages: number;
}

/**
 * What they cost is not bounded: a process that serves evaluates them in threads alone, which can be ended.
 *
 * The rules that operators added, in a module of their own: they can deny and ask for review, and cannot change what the floor says. The
 * bundle names the floor and these rules together.
 */
export interface AddedRules {
  readonly bundle: PolicyDecision['policy_bundle'];
  readonly material: AddedMaterial;
  /** Throws when the rules cannot be evaluated; the call is then denied. */
  judge(input: object): AddedRuling;
  /** Which of the policies watch a tool, by its name alone; kept from call to call. Throws as `judge`. */
  watched(tool: string): Watched;
  /** Of the memory that their instance has here; 0 before the first evaluation, which makes it. */
  bytes(): number;
}

export type Watched = Readonly<Record<string, true>>;

/** Callers choose the names. */
const NAMES_KEPT = { max: 4_096, maxSize: 1_048_576 };
const NOBODY: Watched = {};

const ruling = z.object({ deny: z.array(z.unknown()), review: z.array(z.unknown()) });
const oneRuling = z.compile(z.array(z.object({ result: ruling })).length(1));
const oneWatched = z.array(z.object({ result: z.record(z.string(), z.literal(true)) })).length(1);

/** Throws when the module is no compiled policy with the entry point of added rules, or does not fit into the memory. */
export function assertAdded({ module, maxMemoryPages }: Pick<AddedMaterial, 'module' | 'maxMemoryPages'>): void {
  const { entrypoints } = instanceOf(module, {}, maxMemoryPages);
  if (!(ADDED_ENTRYPOINT in entrypoints)) throw new Error(`the module has no ${ADDED_ENTRYPOINT}`);
}

/** There is no instance until something is evaluated: the process that hands rules to its threads needs none of its own. */
export function createAddedRules(material: AddedMaterial): AddedRules {
  const instantiate = (): CompiledPolicy => instanceOf(material.module, material.data, material.maxMemoryPages);
  let instance: CompiledPolicy | null = null;
  const names = new LRUCache<string, Watched>({ ...NAMES_KEPT, sizeCalculation: (_by, name) => name.length + 1 });
  const evaluated = (input: object, entrypoint: string): unknown => {
    try {
      instance ??= instantiate();
      return instance.evaluate(input, entrypoint);
    } catch (error) {
      // After a trap the instance's memory cannot be trusted.
      instance = null;
      throw error;
    }
  };
  return {
    bundle: material.bundle,
    material,
    judge(input) {
      const [first] = oneRuling.parse(evaluated(input, ADDED_ENTRYPOINT));
      return (first as { result: AddedRuling }).result;
    },
    watched(tool) {
      const kept = names.get(tool);
      if (kept) return kept;
      // A module that was compiled before there was anything to watch for.
      if (!(WATCHED_ENTRYPOINT in (instance ??= instantiate()).entrypoints)) return NOBODY;
      const [first] = oneWatched.parse(evaluated({ tool_type: tool }, WATCHED_ENTRYPOINT));
      const { result } = first as { result: Watched };
      names.set(tool, result);
      return result;
    },
    bytes: () => (instance ? bytesOf(instance) : 0),
  };
}
