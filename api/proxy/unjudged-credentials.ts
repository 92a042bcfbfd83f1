import type { IncomingHttpHeaders } from 'node:http';
import { GateError } from '../../domain/errors.js';
import { ACTOR_HEADER } from './actor-tokens.js';
import { GRANT_HEADER } from './grants.js';

/** Headers with which an agent shows a grant, a token of somebody who sent it, or what it was measured as. */
const UNJUDGED = [GRANT_HEADER, ACTOR_HEADER, 'x-gate-attestation', 'x-gate-attestation-absent'] as const;

/**
 * Throws `credential_not_judged` for a credential that nothing here can judge. Ignored, it would be taken for one that holds: an expired
 * grant would run as if there were none, and a token without a signature would look accepted.
 */
export function assertJudgedCredentials(
  headers: IncomingHttpHeaders,
  judged: { readonly grants: boolean; readonly actors: boolean },
): void {
  const isJudged = (name: string) =>
    (name === GRANT_HEADER && judged.grants) || (name === ACTOR_HEADER && judged.actors);
  const header = UNJUDGED.find((name) => headers[name] !== undefined && !isJudged(name));
  if (header !== undefined) throw notJudged(header);
}

/** The refusal of a credential in this header. */
export const notJudged = (header: string): GateError =>
  new GateError('credential_not_judged', `${header}: this Gate judges no such credential; send the call without it`, {
    fields: { header },
  });
