import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../crypto/digest.js';
import type { MovePatch } from '../call/ports.js';
import type { CallRecord, ProbeStep, Reconciled, StagedRequest } from '../call/record.js';
import type { CallMove } from '../call/transitions.js';

/** The end that somebody's evidence gives an uncertain call. */
export interface Settling extends Reconciled {
  readonly stage: 'completed' | 'not_run';
}

/**
 * The transition that ends the uncertainty of a call. A completed call gets an answer of Gate's own, because the tool's was lost: it says
 * so, and whose word it is. The tool is not asked again, and there is no receipt, which would be about the tool's answer.
 */
export function settledBy(
  { correlation_id }: CallRecord,
  request: StagedRequest | null,
  { stage, ...reconciled }: Settling,
): { readonly move: CallMove; patch(step?: ProbeStep): MovePatch } {
  const seen = (step?: ProbeStep) => (step ? { step } : {});
  if (stage === 'not_run')
    return {
      move: 'ruled_out',
      patch: (step) => ({
        reconciliation: {
          ...seen(step),
          settled: {
            status_code: null,
            result_sha256: null,
            error: `the call did not run: ${reconciled.reason}`,
            reconciled,
          },
        },
      }),
    };
  const result = Buffer.from(JSON.stringify(answerOf(correlation_id, request, reconciled)), 'utf8');
  return {
    move: 'found',
    patch: (step) => ({
      reconciliation: {
        ...seen(step),
        settled: { status_code: 200, result_sha256: sha256Hex(result), error: null, reconciled },
      },
      result,
      counted_ms: Date.parse(reconciled.at),
    }),
  };
}

const WORDS =
  'The tool ran, and its own answer was lost on the way. Do not ask for this again: Gate knows that it happened, not what the tool said.';

const answerOf = (correlationId: string, request: StagedRequest | null, { by, at }: Reconciled): JsonObject => ({
  jsonrpc: '2.0',
  id: request?.body['id'] ?? null,
  result: {
    content: [{ type: 'text', text: WORDS }],
    isError: false,
    _meta: { 'gate/reconciled': { stage: 'completed', by, at, correlation_id: correlationId } },
  },
});
