import type { FastifyRequest } from 'fastify';
import type { Session } from '../../adapters/console/session-store.js';
import type { Person } from '../../console/visit.js';
import type { ReviewProof } from './sign-in/mode.js';

/** Somebody who is signed in, by the session of a request. */
export interface Entered {
  readonly session: Session;
  readonly person: Person;
  readonly proof: ReviewProof;
}

/** Who is signed in by a request's cookie; `null` for nobody. */
export type EnteredOf = (request: FastifyRequest) => Promise<Entered | null>;
