import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { cardOf, chat } from '../../../contracts/chat-link.js';
import { decideRequest, type DecideRequest, modificationDiff } from '../../../contracts/review.js';
import { isGatesOwn } from '../../../domain/own-names.js';
import { canonicalDiff } from '../../../domain/decision/modification.js';
import { GateError } from '../../../domain/errors.js';
import type { createDecisions, Decision } from '../../../domain/review/decisions.js';
import type { ServiceApp } from '../../plugins/app.js';
import { whenLeft } from '../../plugins/when-left.js';
import { deciderOf, type ReviewScope, subjectOf } from '../scope.js';
import { ById, PendingRow } from './schemas.js';

export interface DecideRoutes {
  readonly decide: ReturnType<typeof createDecisions>;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
}

/** The first accepted decision wins. */
export function decideRoutes(app: ServiceApp, { decide, scopeOf }: DecideRoutes): void {
  app.post(
    '/decide/:id',
    {
      schema: { params: ById, body: decideRequest, response: { 200: PendingRow } },
      onRequest: mayDecide(scopeOf),
    },
    (request, reply) => {
      const { reason, decided_via, action_digest, passkey } = request.body;
      const asked = { ...available(request.body), reason, decided_via, action_digest, passkey };
      return decide({ ...decisionOf(request, scopeOf(request), asked), left: leftOf(reply) });
    },
  );
}

/** Checked before the body is read, so that callers who may not decide learn nothing about the form of a decision. */
export const mayDecide =
  (scopeOf: DecideRoutes['scopeOf']) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    deciderOf(scopeOf(request));
    if (request.headers['x-gate-decided-by'] !== undefined) throw new GateError('legacy_identity_header');
    done();
  };

/** The decision in a request. The decider comes from the scope, never from the body (docs/architecture/identity-and-routes.md#surfaces). */
export const decisionOf = (
  request: FastifyRequest<{ Params: z.infer<typeof ById> }>,
  scope: ReviewScope,
  asked: Pick<Decision, 'decision' | 'modification_diff' | 'action_digest' | 'passkey'> &
    Pick<DecideRequest, 'reason' | 'decided_via'>,
): Decision => ({
  id: request.params.id,
  tenant: scope.tenant,
  decision: asked.decision,
  modification_diff: asked.modification_diff,
  reason: asked.reason ?? null,
  decided_via: channelOf(scope, asked.decided_via ?? null),
  principal: deciderOf(scope),
  ...(scope.operator && { operator: subjectOf(scope.operator) }),
  request_id: requestIdOf(request),
  action_digest: asked.action_digest,
  passkey: asked.passkey,
});

/** Aborts when the connection of whoever asked ends before the answer. */
function leftOf(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  whenLeft(reply, () => left.abort());
  return left.signal;
}

/** The decision in a body, with the change of a `modify`. Whether that fits the row is seen when the row is read. */
function available(body: DecideRequest): Pick<Decision, 'decision' | 'modification_diff'> {
  if ('modified_payload' in body) throw new GateError('modified_payload_rejected');
  const diff = body.modification_diff ?? null;
  if (body.decision !== 'modify') {
    if (diff === null) return { decision: body.decision };
    throw new GateError('invalid_request', 'modification_diff: belongs to modify, not to approve or deny');
  }
  if (diff === null) throw new GateError('modification_diff_required');
  const read = modificationDiff.safeParse(diff);
  if (read.success) return { decision: 'modify', modification_diff: canonicalDiff(read.data) };
  const [issue] = read.error.issues;
  const where = ['modification_diff', ...(issue?.path ?? [])].join('.');
  throw new GateError('invalid_modification_diff', undefined, {
    fields: { detail: `${where}: ${issue?.message ?? 'not a modification diff'}` },
  });
}

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
/** What nobody says of himself: lite's page, which decided rows before lite had the console, and a card of a chat, whose click says so itself. */
const RESERVED: ReadonlySet<string> = new Set(['lite-page', ...chat.options.map(cardOf)].map(lettersOf));

/** The channel the operator used (docs/architecture/reviews.md#channels). Reserved names are refused. */
function channelOf({ channel }: ReviewScope, named: string | null): string {
  if (channel.fixed || named === null) return channel.name;
  if (isGatesOwn(named) || RESERVED.has(lettersOf(named)))
    throw new GateError('invalid_request', 'decided_via: this name is reserved');
  return named;
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
