import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { toolOf } from '../../../contracts/call-methods.js';
import {
  decisionLink,
  linkedAction,
  type VerifiedDecisionLink,
  verifiedDecisionLink,
  verifyDecisionLink,
} from '../../../contracts/decision-link.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { CLOCKS_APART_MS } from '../../../domain/clocks.js';
import { GateError } from '../../../domain/errors.js';
import { type DecisionLinks, LINK_LIFE_SECONDS, redeemUrl } from '../../../domain/review/decision-link.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import { whySettled } from '../../../domain/decision/transitions.js';
import type { ServiceApp } from '../../plugins/app.js';
import { type ReviewScope, scopeFirst } from '../scope.js';
import { ById } from './schemas.js';

const LinkQuery = z.strictObject({ action: linkedAction, ttl_secs: z.coerce.number().int().optional() });

export interface DecisionLinkRoutes {
  readonly reviews: Pick<OpenedReviews, 'reads'>;
  readonly links: DecisionLinks;
  readonly linkSeconds: number;
  /** Where people open a link; without it a link has no address. */
  readonly consoleUrl: string | undefined;
  readonly scopeOf: (request: FastifyRequest) => ReviewScope;
  readonly clock: () => number;
}

/** Links to a decision (docs/architecture/reviews.md#decision-links). Neither route decides anything. */
export function decisionLinkRoutes(
  app: ServiceApp,
  { reviews, links, linkSeconds, consoleUrl, scopeOf, clock }: DecisionLinkRoutes,
): void {
  app.get(
    '/pending/:id/decision-link',
    {
      schema: { params: ById, querystring: LinkQuery, response: { 200: decisionLink } },
      onRequest: scopeFirst(scopeOf),
    },
    async (request) => {
      const row = await reviews.reads.get(request.params.id, scopeOf(request).tenant);
      if (row === null) throw new GateError('not_found');
      const late = whySettled(row);
      if (late !== null) throw new GateError(late, undefined, { fields: { status: row.status } });
      const { action, ttl_secs } = request.query;
      const life = Math.min(Math.max(ttl_secs ?? linkSeconds, LINK_LIFE_SECONDS.least), LINK_LIFE_SECONDS.most);
      const exp = Math.floor(clock() / 1000) + life;
      const token = links.tokenOf({ pending_id: row.id, action, exp });
      return {
        token,
        action,
        pending_id: row.id,
        expires_at: new Date(exp * 1000).toISOString(),
        ...(consoleUrl !== undefined && { url: redeemUrl(consoleUrl, token) }),
      };
    },
  );

  app.post(
    '/decision-link/verify',
    {
      schema: { body: verifyDecisionLink, response: { 200: verifiedDecisionLink } },
      onRequest: scopeFirst(scopeOf),
    },
    async (request): Promise<VerifiedDecisionLink> => {
      const link = links.linkOf(request.body.token);
      if (link === null) return { valid: false, reason: 'invalid' };
      const { pending_id, action, exp } = link;
      const left = exp - clock() / 1000;
      // One that holds for longer than any may was made by a clock that was ahead: that of whoever asked for the review, which dates it.
      if (left <= 0 || left > LINK_LIFE_SECONDS.most + CLOCKS_APART_MS / 1000)
        return { valid: false, reason: 'expired', pending_id, action };
      const row = await readable(reviews.reads.get(pending_id, scopeOf(request).tenant));
      if (row === null) return { valid: false, reason: 'gone', pending_id, action };
      const reason = row === 'tampered' || whySettled(row) !== null ? 'not_pending' : 'ok';
      return {
        valid: reason === 'ok',
        reason,
        pending_id,
        action,
        ...(row !== 'tampered' && { pending: shownOf(row) }),
      };
    },
  );
}

/** A row that is not as Gate wrote it can be neither shown nor decided. */
const readable = (read: Promise<PendingRequest | null>): Promise<PendingRequest | null | 'tampered'> =>
  read.catch((error: unknown) => {
    if (error instanceof GateError && error.code === 'review_tampered') return 'tampered' as const;
    throw error;
  });

function shownOf(row: PendingRequest): NonNullable<VerifiedDecisionLink['pending']> {
  const { agent_id, method, risk_summary, status, correlation_id, tenant } = row;
  const tool = toolOf(row);
  return { agent_id, method, tool: tool === method ? null : tool, risk_summary, status, correlation_id, tenant };
}
