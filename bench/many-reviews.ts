import { AGENTS } from './long-ledger.js';

/** Changes at the same time, for stores that have a pool or share commits. */
const AT_ONCE = 200;

/** So many changes, several at a time; returns what came of each. */
export async function inBatches<Made>(count: number, make: (n: number) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  for (let from = 0; from < count; from += AT_ONCE)
    made.push(
      ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => make(from + at)))),
    );
  return made;
}

/** What is asked for review, of one agent of many; when, how long and for whom is the caller's. */
export const transferToReview = (n: number) => ({
  agent_id: `agent-${n % AGENTS}`,
  method: 'tools/call',
  request_payload: {
    jsonrpc: '2.0',
    id: n,
    method: 'tools/call',
    params: {
      name: 'wire_transfer',
      arguments: { amount: n, to: 'DE02 1203 0000 0000 2020 51', note: 'x'.repeat(400) },
    },
  },
  risk_summary: 'The tool moves money, and nobody of this agent has sent any to this account before.',
  state_namespace: 'operator' as const,
  review_reasons: ['money movement', 'new recipient'],
  brain_scores: { drift: 0.2, injection: 0.01 },
  projected_cost_micros: 1_200,
  approval_tier: 'standard' as const,
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/payments-agent',
});
