import type { Services } from '../../console/services.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import { policyDecision } from '../../contracts/policy.js';
import { heldAgainst, keptReasons } from '../../domain/masking/kept-reasons.js';
import { namedSecrets } from '../../domain/masking/named-secrets.js';
import { recordedInput } from './ledger.js';
import type { Neighbour } from './neighbour.js';

/** The recorded input of a call, asked again of the rules of now. */
export const judgedAgainOver =
  ({ ledger, policy }: { readonly ledger: Neighbour; readonly policy: Neighbour }): Services['judgedAgain'] =>
  async (correlationId) => {
    const { seq, input, decision } = await recordedInput(ledger, correlationId);
    if (seq === null || decision === null) return null;
    if (input === null) return { seq, not: 'purged' };
    // The rules are asked about each call of a batch by itself, which only its pipeline does.
    if (input['method'] === BATCH_METHOD) return { seq, not: 'batch' };
    const now = await policy.ask(policyDecision, { method: 'POST', path: '/evaluate', body: input, isOfAll: true });
    // What was said then is as the ledger keeps it, or kept it.
    const secrets = namedSecrets(input['arguments'] ?? null);
    const held = (name: 'reasons' | 'review_reasons') => [
      ...heldAgainst<readonly string[]>(decision[name], now[name], keptReasons, secrets),
    ];
    return { seq, then: decision, now: { ...now, reasons: held('reasons'), review_reasons: held('review_reasons') } };
  };
