import { performance } from 'node:perf_hooks';
import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { PolicyInput } from '../../contracts/policy.js';
import type { AddedRules } from '../../domain/policy/added-rules.js';
import { answerInThread } from '../threads/threads.js';
import { createPolicySet, ORDINARY, type PolicyMaterial } from '../../domain/policy/policy-set.js';
import { readersOf } from './argument-readers.js';
import { type HandedRules, rulesHanded } from './handed-rules.js';

/** What a thread is started with: what ships, and the rules beside it that an ordinary call is judged by before any other. */
export interface PolicyStart {
  readonly floor: PolicyMaterial;
  readonly added: HandedRules | null;
}

/** Calls, and the added rules that hold for them. */
export interface PolicyQuestion {
  readonly inputs: readonly PolicyInput[];
  readonly added: HandedRules | null;
}

/**
 * Tenants have rules of their own; a thread keeps the instances that it used last, for so many bytes. An instance begins with 1 MiB and grows with its
 * texts, its documents and the calls that it judges, so some dozens are kept where they are small, and four threads have 256 MiB at most. A call for
 * which one is made anew takes some 15 ms more.
 */
const INSTANCES_BYTES = 64 * 1_048_576;
const now = (): number => performance.now();

/** One policy thread: the set that the process loaded, in its own instance. The thread ends if it cannot create the set. */
async function start({ floor, added: inForce }: PolicyStart): Promise<void> {
  const policies = createPolicySet({ ...floor, ...(await readersOf(floor.data)) });
  const instances = new LRUCache<string, AddedRules>({
    maxSize: INSTANCES_BYTES,
    sizeCalculation: (rules) => Math.max(1, rules.bytes()),
  });
  const rulesOf = (added: HandedRules): AddedRules => instances.get(added.bundle.hash_sha256) ?? rulesHanded(added);
  const answer = ({ inputs, added }: PolicyQuestion) => {
    const rules = added && rulesOf(added);
    const judged = inputs.flatMap((input) => policies.judgeEach(input, [rules], { now }));
    if (rules) {
      // With the size that it has by now: what is set again is not measured again.
      instances.delete(rules.bundle.hash_sha256);
      instances.set(rules.bundle.hash_sha256, rules);
    }
    return judged;
  };
  await answerInThread(answer, () => answer({ inputs: [ORDINARY], added: inForce }));
}
void start(workerData as PolicyStart);
