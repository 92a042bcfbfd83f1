import { z } from 'zod';
import type { PolicyDecision } from '../../contracts/policy.js';
import { type CompiledPolicy, instanceOf } from './compiled.js';
import { ADDED_ENTRYPOINT } from './policy-files.js';

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
 * The rules that operators added, in a module of their own: they can deny and ask for review, and cannot change what the floor says. The
 * bundle names the floor and these rules together.
 */
export interface AddedRules {
  readonly bundle: PolicyDecision['policy_bundle'];
  readonly material: AddedMaterial;
  /** Throws when the rules cannot be evaluated; the call is then denied. */
  judge(input: object): AddedRuling;
  /** Set when an evaluation took long enough to delay others; they are then evaluated in threads, which can be ended. */
  slow: boolean;
}

const ruling = z.object({ deny: z.array(z.unknown()), review: z.array(z.unknown()) });
const oneRuling = z.compile(z.array(z.object({ result: ruling })).length(1));

/** Throws when the module is no compiled policy with the entry point of added rules. */
export function createAddedRules(material: AddedMaterial): AddedRules {
  const instantiate = (): CompiledPolicy => instanceOf(material.module, material.data, material.maxMemoryPages);
  let instance: CompiledPolicy | null = instantiate();
  if (!(ADDED_ENTRYPOINT in instance.entrypoints)) throw new Error(`the module has no ${ADDED_ENTRYPOINT}`);
  return {
    bundle: material.bundle,
    material,
    slow: false,
    judge(input) {
      try {
        instance ??= instantiate();
        const [first] = oneRuling.parse(instance.evaluate(input, ADDED_ENTRYPOINT));
        return (first as { result: AddedRuling }).result;
      } catch (error) {
        // After a trap the instance's memory cannot be trusted.
        instance = null;
        throw error;
      }
    },
  };
}
