import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { CALLER_IDS } from '../../../contracts/route-authority.js';
import { decideRequest, type DecideRequest } from '../../../contracts/review.js';
import { isGatesOwn } from '../../../domain/own-names.js';
import { GateError } from '../../../domain/errors.js';
import type { createDecisions } from '../../../domain/review/decisions.js';
import type { ServiceApp } from '../../plugins/service.js';
import { principalOf, type ReviewScope, type scopeReader } from '../scope.js';
import { ById, PendingRow } from './schemas.js';

export interface DecideRoutes {
  readonly decide: ReturnType<typeof createDecisions>;
  readonly scopeOf: ReturnType<typeof scopeReader>;
}

/** The first accepted decision wins. */
export function decideRoutes(app: ServiceApp, { decide, scopeOf }: DecideRoutes): void {
  app.post(
    '/decide/:id',
    {
      schema: { params: ById, body: decideRequest, response: { 200: PendingRow } },
      // Checked before the body is read, so that callers who may not decide learn nothing about the form of a decision.
      onRequest: (request, _reply, done) => {
        principalOf(scopeOf(request));
        if (request.headers['x-gate-decided-by'] !== undefined) throw new GateError('legacy_identity_header');
        done();
      },
    },
    (request) => {
      const scope = scopeOf(request);
      // The decider comes from the certificate and the token, never from the body (docs/architecture/identity-and-routes.md#surfaces).
      const principal = principalOf(scope);
      return decide({
        id: request.params.id,
        tenant: scope.tenant,
        decision: available(request.body),
        reason: request.body.reason ?? null,
        decided_via: surfaceOf(scope, request.body),
        principal,
        request_id: requestIdOf(request),
        action_digest: request.body.action_digest,
      });
    },
  );
}

/** The decision in a body. Throws for a modification, which is not available. */
function available(body: DecideRequest): 'approve' | 'deny' {
  if ('modified_payload' in body) throw new GateError('modified_payload_rejected');
  const diff = body.modification_diff ?? null;
  if (body.decision === 'modify') {
    throw diff === null
      ? new GateError('modification_diff_required')
      : new GateError('unsupported_decision', 'modify is not available; approve or deny the call as it is');
  }
  if (diff !== null)
    throw new GateError('invalid_request', 'modification_diff: belongs to modify, not to approve or deny');
  return body.decision;
}

/**
 * The channel the operator used (docs/architecture/reviews.md#channels). The console may name it, except for reserved names; for other
 * callers HIL sets it.
 */
function surfaceOf({ caller }: ReviewScope, { decided_via }: DecideRequest): string {
  if (caller.callerId !== CALLER_IDS.console) return 'simulator';
  if (decided_via == null) return 'console';
  if (isGatesOwn(decided_via)) throw new GateError('invalid_request', 'decided_via: this name is reserved');
  return decided_via;
}

/**
 * One request id is one decision to the workflow, so that a 503 can be repeated with the same `X-Request-Id`. Without one, every request is
 * a new decision: an id derived from row and decision would give a late refusal to every later attempt.
 */
function requestIdOf(request: FastifyRequest): string {
  const offered = request.headers['x-request-id'];
  if (offered === undefined) return randomUUID();
  if (typeof offered !== 'string' || !/^[A-Za-z0-9._:-]{1,128}$/.test(offered))
    throw new GateError('invalid_request', 'X-Request-Id: 1 to 128 characters of A-Z a-z 0-9 . _ : -');
  return offered;
}
