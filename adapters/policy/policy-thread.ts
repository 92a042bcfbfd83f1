import { workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { PolicyInput } from '../../contracts/policy.js';
import { type AddedMaterial, type AddedRules, createAddedRules } from '../../domain/policy/added-rules.js';
import { unlimited } from '../../domain/in-place.js';
import { answerInThread } from '../threads/threads.js';
import { createPolicySet, type PolicyMaterial } from '../../domain/policy/policy-set.js';
import { readersOf } from './argument-readers.js';

/** One call, and the added rules that hold for it. */
export interface PolicyQuestion {
  readonly input: PolicyInput;
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
  answerInThread(({ input, added }: PolicyQuestion) => policies.judge(input, unlimited, added && rulesOf(added)));
}
void start(workerData as PolicyMaterial);
