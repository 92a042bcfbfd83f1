import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.js';
import { evidenceText } from './evidence-text.js';
import { type Completion, ModelFailure, type Models, type Question } from './port.js';

/** What is asked about a document that somebody hostile may have written; `promptFor` puts the nonce into Gate's own words. */
export interface BoundQuestion<Value extends { readonly nonce: string }>
  extends Pick<Question<Value>, 'workload' | 'tenant' | 'schema' | 'signal'> {
  readonly promptFor: (nonce: string) => string;
  readonly document: JsonObject;
}

/** Asks with the document delimited. Only the prompt holds the nonce: an answer without it was not given to this question, and counts as none. */
export async function askBound<Value extends { readonly nonce: string }>(
  models: Models,
  { promptFor, document, ...question }: BoundQuestion<Value>,
): Promise<Completion<Value>> {
  const nonce = randomBytes(12).toString('hex');
  const said = await models.complete({ ...question, system: promptFor(nonce), data: evidenceText(document) });
  if (said.value.nonce !== nonce) throw new ModelFailure('parse', { costMicros: said.costMicros });
  return said;
}
