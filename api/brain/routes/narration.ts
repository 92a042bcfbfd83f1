import {
  decisionNarrated,
  explainPattern,
  narrateDecision,
  NARRATED_BYTES,
  patternExplained,
} from '../../../contracts/narration.js';
import type { Narrator } from '../../../domain/models/narrator.js';
import type { ServiceApp } from '../../plugins/app.js';

/**
 * A model's words for people: about a mined rule, and about a decision. 400 `invalid_request`, 413, 429 `rate_limited` with `retry_after_secs`, 503
 * `provider_unavailable` where no model is set to write, or none answered with anything of use.
 */
export function narrationRoutes(app: ServiceApp, narrator: Narrator): void {
  app.post(
    '/explain-pattern',
    { bodyLimit: NARRATED_BYTES, schema: { body: explainPattern, response: { 200: patternExplained } } },
    (request) => narrator.explainPattern(request.body),
  );
  app.post(
    '/narrate-decision',
    { bodyLimit: NARRATED_BYTES, schema: { body: narrateDecision, response: { 200: decisionNarrated } } },
    (request) => narrator.narrateDecision(request.body),
  );
}
