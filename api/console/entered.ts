import type { FastifyRequest } from 'fastify';
import type { Session } from '../../adapters/console/session-store.js';
import type { Person } from '../../console/visit.js';
import { GateError } from '../../domain/errors.js';
import type { ReviewProof } from './sign-in/mode.js';

/** Somebody who is signed in, by the session of a request. */
export interface Entered {
  readonly session: Session;
  readonly person: Person;
  readonly proof: ReviewProof;
}

/** Throws for nobody. */
export function assertEntered<Who>(who: Who | null): asserts who is Who {
  if (who === null) throw new GateError('unauthenticated', 'You are not signed in any more: load the page.');
}

/** Who is signed in by a request's cookie; `null` for nobody. */
export type EnteredOf = (request: FastifyRequest) => Promise<Entered | null>;
