import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { PolicyInput } from '../../contracts/policy.js';
import { type AddedMaterial, type AddedRules, createAddedRules } from '../../domain/policy/added-rules.js';
import { unlimited } from '../../domain/in-place.js';
import { answerInThread } from '../threads/threads.js';
import { createPolicySet, type PolicyMaterial } from '../../domain/policy/policy-set.js';
import { readersOf } from './argument-readers.js';

/** Calls, and the added rules that hold for them. */
export interface PolicyQuestion {
  readonly inputs: readonly PolicyInput[];
  readonly added: AddedMaterial | null;
}

/** Tenants have rules of their own; a thread keeps the instances that it used last. */
const INSTANCES_KEPT = 8;

/** One policy thread: the set that the process loaded, in its own instance. The thread ends if it cannot create the set. */
async function start(material: PolicyMaterial): Promise<void> {
  const policies = createPolicySet({ ...material, ...(await readersOf(material.data)) });
  const instances = new LRUCache<string, AddedRules>({ max: INSTANCES_KEPT });
  const rulesOf = (added: AddedMaterial): AddedRules => {
    const key = added.bundle.hash_sha256;
    const kept = instances.get(key) ?? createAddedRules(added);
    instances.set(key, kept);
    return kept;
  };
  answerInThread(({ inputs, added }: PolicyQuestion) => {
    const rules = added && rulesOf(added);
    return inputs.map((input) => policies.judge(input, unlimited, rules));
  });
}
void start(workerData as PolicyMaterial);
