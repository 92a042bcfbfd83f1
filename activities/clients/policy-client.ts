import { z } from 'zod';
import { policyDecision, type PolicyInput } from '../../contracts/policy.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { PolicyEvaluator } from '../../domain/policy/evaluator.js';

/** As much of `fetch` as this client uses; the caller's own carries the client certificate. */
export type PolicyFetch = (
  url: string,
  init: { method: 'POST'; headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

export interface PolicyClientOptions {
  /** Base address of the policy engine. */
  readonly url: string;
  readonly fetch: PolicyFetch;
  readonly timeoutMs?: number;
}

const refusal = z.object({ error: z.string(), reason: z.string().optional() });

/**
 * Policy behind HTTP. Rejects with `policy_input_invalid` when the engine says so, and with `policy_unavailable` when no decision can be
 * had: no answer, another status, or an answer that is no decision. Evaluation changes nothing; asking again is safe.
 */
export function createPolicyClient({ url, fetch, timeoutMs = 2_000 }: PolicyClientOptions): PolicyEvaluator {
  const target = new URL('/evaluate', url).href;
  return {
    async evaluate(input: PolicyInput) {
      const { status, body } = await ask(JSON.stringify(input), input.correlation_id ?? null);
      if (status === 200) {
        const decision = policyDecision.safeParse(body);
        if (decision.success) return decision.data;
        throw new GateError('policy_unavailable', 'the policy engine answered with something that is no decision', {
          cause: decision.error,
        });
      }
      const said = refusal.safeParse(body).data;
      if (status === 400) throw new GateError('policy_input_invalid', said?.reason);
      throw new GateError(
        'policy_unavailable',
        `the policy engine answered ${status}${said ? ` ${said.error}: ${said.reason ?? ''}` : ''}`,
      );
    },
  };

  async function ask(body: string, correlationId: string | null): Promise<{ status: number; body: unknown }> {
    try {
      const response = await fetch(target, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(correlationId !== null && { 'x-gate-correlation-id': correlationId }),
        },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      throw new GateError('policy_unavailable', `the policy engine cannot be reached: ${errorText(error)}`, {
        cause: error,
      });
    }
  }
}
