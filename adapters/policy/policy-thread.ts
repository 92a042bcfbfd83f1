import { workerData } from 'node:worker_threads';
import type { PolicyInput } from '../../contracts/policy.js';
import { answerInThread } from '../threads/threads.js';
import { createPolicySet, type PolicyMaterial } from '../../domain/policy/policy-set.js';
import { readersOf } from './argument-readers.js';

/** One policy thread: the set that the process loaded, in its own instance. The thread ends if it cannot create the set. */
async function start(material: PolicyMaterial): Promise<void> {
  const policies = createPolicySet({ ...material, ...(await readersOf(material.data)) });
  answerInThread((input: PolicyInput) => policies.judge(input));
}
void start(workerData as PolicyMaterial);
