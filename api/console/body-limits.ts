import type { FastifyRequest } from 'fastify';
import { MAX_POLICY_BYTES } from '../../contracts/policy-library.js';
import { GateError } from '../../domain/errors.js';

/** What anybody may send: more than any form for signing in holds. */
export const ANYBODYS_BODY = 16_384;
/** What a form of somebody who is signed in holds: every changed argument of a call. */
const LARGE_BODY = 1_048_576;
/** What a form holds that a policy is typed into: the largest, of which a form writes a byte as three and a line's end as six. */
export const POLICY_BODY = 6 * MAX_POLICY_BYTES + ANYBODYS_BODY;

/**
 * How a route reads that people use who are signed in: of anybody else nothing that is larger than `ANYBODYS_BODY`, or of which it is not said
 * how large it is, and nothing that another site's page sends in the name of somebody who is. A small form is read, so that what was typed
 * into it is not lost with the session.
 */
export const largeOf = (
  stands: (request: FastifyRequest) => Promise<boolean>,
  /** Throws for a form of another site; without it for who proves himself by what no browser sends. */
  assertOrigin: (request: FastifyRequest) => void = () => undefined,
) => ({
  bodyLimit: LARGE_BODY,
  async onRequest(request: FastifyRequest): Promise<void> {
    const said = request.headers['content-length'];
    const isSmall =
      said === undefined ? request.headers['transfer-encoding'] === undefined : Number(said) <= ANYBODYS_BODY;
    if (isSmall) return;
    if (!(await stands(request)))
      throw new GateError('unauthenticated', 'You are not signed in any more: nothing was done.');
    assertOrigin(request);
  },
});

export type LargeRoute = ReturnType<typeof largeOf>;
