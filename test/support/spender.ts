import { writeSync } from 'node:fs';
import { openCallStore } from '../../adapters/call-record/call-store.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import type { CallInput } from '../../contracts/call.js';
import { foldVerdict } from '../../domain/call-record/verdict.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { callInput } from './call-input.js';
import { decisionOf, inspectionOf } from './judgements.js';

/**
 * A process that admits, judges and ends calls as fast as it is answered, all of one budget, to be killed in the middle of it. Arguments: target as
 * JSON, key as hex, the budget, a seed. Each call is a line on stdout when it has ended, or was refused.
 */
const [target, key, budget, seed] = process.argv.slice(2) as [string, string, string, string];
const store = await openCallStore({
  target: JSON.parse(target) as StoreTarget,
  keys: keyRing(new Map([['test', Buffer.from(key, 'hex')]])),
});
let state = Number(seed) >>> 0;
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};

async function spend(): Promise<string> {
  const price = 1 + Math.floor(random() * 20);
  const inspection = Math.floor(random() * 4);
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } };
  const call = callInput(Date.now(), { tool: 'pay', agent: `bot-${Math.floor(random() * 3)}` });
  const admission = await store.admit(
    call,
    { body, callback_url: null },
    { limit: 0, windowMs: 60_000 },
    { tenantMicros: Number(budget), agentMicros: Number(budget) / 2, mostMicros: price + 3, prices: { pay: price } },
  );
  if (!admission.admitted) return 'refused';
  const told: CallInput = { ...call, ...(admission.spend && { spend: admission.spend }) };
  const isSpent = admission.spend?.reserved_micros === 0;
  const found = { ...inspectionOf(true), cost_micros: inspection };
  if (!isSpent && inspection > 0)
    await store.keepInspection(call.correlation_id, call.digest, { asked_sha256: '0'.repeat(64), inspection: found });
  const isAllowed = !isSpent && random() < 0.6;
  const decision = decisionOf(isAllowed ? 'green' : 'red');
  await store.commitVerdict(isAllowed ? 'allowed' : 'denied', {
    call: told,
    verdict: foldVerdict(found, decision, 'enforce'),
    inspection: isSpent ? null : found,
    inspection_failure: null,
    policy_failure: null,
    decision,
    facts: null,
    params_sha256: 'a'.repeat(64),
    callback_url: null,
  });
  if (!isAllowed) return 'denied';
  await store.move(call.correlation_id, 'claim');
  await store.move(call.correlation_id, 'complete', {
    outcome: {
      stage: 'completed',
      status_code: 200,
      duration_ms: 1,
      result_sha256: null,
      error: null,
      at: new Date().toISOString(),
    },
  });
  return 'completed';
}

async function spendForever(): Promise<never> {
  for (;;) writeSync(1, `${await spend()}\n`);
}
await Promise.all(Array.from({ length: 8 }, spendForever));
