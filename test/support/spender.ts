import { writeSync } from 'node:fs';
import { openCallStore } from '../../adapters/call/call-store.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import type { CallInput } from '../../contracts/call.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { RecordedStep } from '../../domain/call/record.js';
import { BATCH_CONTRACT } from '../../domain/mcp/batch.js';
import { askedSpend } from '../../domain/spend/spend.js';
import { foldVerdict } from '../../domain/call/verdict.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { callInput } from './call-input.js';
import { decisionOf, inspectionOf } from './judgements.js';

/**
 * A process that admits, judges and ends calls as fast as it is answered, all of one budget, to be killed in the middle of it. Some are batches, some come
 * to no verdict and are asked for again, and what was lost is given back meanwhile. Arguments: target as JSON, key as hex, the budget, a seed. Each call is
 * a line on stdout when it has ended, or was refused.
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

const PAY = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } };
const PAY_TWICE = {
  jsonrpc: '2.0',
  id: 1,
  method: BATCH_METHOD,
  params: { contract: BATCH_CONTRACT, calls: ['a', 'b'].map((id) => ({ id, name: 'pay', arguments: {} })) },
};
/** So short that some are swept under their run. */
const DEADLINE_MS = 25;
/** While models are paid nothing is swept: the product waits for a minute behind the time of the call, and nothing is paid behind that. */
const PAYING_MS = 60_000;
const INSPECTION_MICROS = 3;

interface Asked {
  readonly call: CallInput;
  readonly price: number;
  readonly tools: readonly string[];
  /** What its inspection costs, which is paid once. */
  readonly inspection: number;
  readonly isPaid: boolean;
}
/** What came to no verdict, and is asked for again. */
const unended: Asked[] = [];

function anew(): Asked {
  const tools = random() < 0.2 ? ['pay', 'pay'] : ['pay'];
  return {
    call: callInput(Date.now(), {
      tool: 'pay',
      agent: `bot-${Math.floor(random() * 3)}`,
      ...(tools.length > 1 && { method: BATCH_METHOD }),
    }),
    price: 1 + Math.floor(random() * 20),
    tools,
    inspection: tools.length * Math.floor(random() * (INSPECTION_MICROS + 1)),
    isPaid: false,
  };
}

async function spend(): Promise<string> {
  if (random() < 0.1) await store.spend.settleLost(Date.now(), 20);
  const asked = (random() < 0.5 && unended.shift()) || anew();
  const { price, tools, inspection } = asked;
  const pays = inspection > 0 && !asked.isPaid;
  const call = { ...asked.call, not_after_ms: Date.now() + (pays ? PAYING_MS : DEADLINE_MS) };
  const { method } = call;
  const id = call.correlation_id;
  const budgets = { tenantMicros: Number(budget), agentMicros: Number(budget) / 2 };
  const admission = await store.admit(
    call,
    { body: tools.length > 1 ? PAY_TWICE : PAY, callback_url: null },
    { limit: 0, windowMs: 60_000 },
    askedSpend(tools, () => price, INSPECTION_MICROS, budgets),
  );
  if (!admission.admitted) return 'refused';
  const told: CallInput = { ...call, ...(admission.spend && { spend: admission.spend }) };
  const isSpent = admission.spend?.reserved_micros === 0;
  const found = { ...inspectionOf(true), cost_micros: inspection };
  if (!isSpent && pays) await store.keepInspection(told, { asked_sha256: '0'.repeat(64), inspection: found });
  if (!isSpent && random() < 0.2) {
    unended.push({ ...asked, isPaid: true });
    return 'unended';
  }
  const isAllowed = !isSpent && random() < 0.6;
  const decision = decisionOf(isAllowed ? 'green' : 'red');
  try {
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
      ...(method === BATCH_METHOD && { sibling_tools: tools }),
    });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'store_unavailable') throw error;
    // What it reserved was given back under it.
    unended.push({ ...asked, isPaid: true });
    return 'swept';
  }
  if (!isAllowed) return 'denied';
  const ended = {
    status_code: 200,
    duration_ms: 1,
    result_sha256: null,
    error: null,
    at: new Date().toISOString(),
  };
  await store.move(id, 'claim');
  if (method === BATCH_METHOD)
    for (const [index, tool] of tools.entries()) {
      const step: RecordedStep = {
        ...ended,
        id: String(index),
        tool,
        params_sha256: 'a'.repeat(64),
        stage: 'completed',
      };
      await store.move(id, 'step', { step });
    }
  await store.move(id, 'complete', { outcome: { ...ended, stage: 'completed' } });
  return 'completed';
}

async function spendForever(): Promise<never> {
  for (;;) writeSync(1, `${await spend()}\n`);
}
await Promise.all(Array.from({ length: 8 }, spendForever));
