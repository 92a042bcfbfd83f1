import { z } from 'zod';
import { isAtLeast } from '../../console/roles.js';
import type { ReviewsService } from '../../console/services.js';
import type { Person } from '../../console/visit.js';
import { ownPasskeys } from '../../contracts/approval.js';
import { chatLink, chatLinkRemoved, chatUnlinked, linkOwnerOf } from '../../contracts/chat-link.js';
import { verifiedDecisionLink } from '../../contracts/decision-link.js';
import { type PendingRequest, pendingRequest, summariesPage } from '../../contracts/review.js';
import { tenantReviews } from '../../contracts/tenant-reviews.js';
import { maskedList, maskedRows } from '../../domain/review/masked-review.js';
import type { AskLimits } from './ask-limits.js';
import { get, MAY_BE_DECIDED, type Neighbour, unlessUnknown } from './neighbour.js';

interface Asking {
  readonly person: Person;
  /** Throws for somebody who has all tenants. */
  readonly ownTenant: () => string;
  readonly limits: Pick<AskLimits, 'decideMs'>;
}

/** Decided calls of an agent among which those of a tool are looked for. */
const LATELY = 50;
/** What stays in doubt where no answer came. */
const MAY_BE_UNLINKED = 'It may have unlinked the account: load the page again.';

/** An older review service does not say how far it searched. */
const queuePage = summariesPage.extend({ searched_to: summariesPage.shape.searched_to.default(null) });

/** The review service as one person may ask it. Who only looks on gets reviews masked, whatever page he looks at. */
export function reviewsOver(
  { ask }: Neighbour,
  { person: { subject, role }, ownTenant, limits }: Asking,
): ReviewsService {
  const isWhole = isAtLeast(role, 'approver');
  const askRow = async (question: Parameters<typeof ask>[1], timeoutMs?: number): Promise<PendingRequest> => {
    const row = await ask(pendingRequest, question, timeoutMs);
    return isWhole ? row : (maskedRows([row])[0] as PendingRequest);
  };
  const askRows = async (question: Parameters<typeof ask>[1]): Promise<PendingRequest[]> => {
    const all = await ask(z.array(pendingRequest), question);
    return isWhole ? all : maskedRows(all);
  };
  const links = `/identities/${encodeURIComponent(linkOwnerOf(subject))}`;
  return {
    async summaries({ riskTier, ...query }) {
      const page = await ask(
        queuePage,
        get('/pending/summaries', { ...query, risk_tier: riskTier, ...(!isWhole && { masked: 'true' }) }),
      );
      return isWhole ? page : { ...page, items: maskedList(page.items) };
    },
    row: (id) => unlessUnknown(askRow(get(`/pending/${encodeURIComponent(id)}`))),
    byCorrelation: (id) => unlessUnknown(askRow(get(`/pending/by-correlation/${encodeURIComponent(id)}`))),
    waitingOf: (agentId, limit) =>
      askRows(get('/pending', { status: 'pending', sort: 'oldest', agent_id: agentId, limit })),
    lately: (agentId) => askRows(get('/pending', { status: 'decided', agent_id: agentId, limit: LATELY })),
    decide: (id, { decision, reason, actionDigest, modificationDiff, passkey, requestId, via }) =>
      askRow(
        {
          method: 'POST',
          path: `/decide/${encodeURIComponent(id)}`,
          doubt: MAY_BE_DECIDED,
          headers: { 'x-request-id': requestId },
          body: {
            decision,
            reason,
            action_digest: actionDigest,
            ...(passkey && { passkey }),
            ...(modificationDiff && { modification_diff: modificationDiff }),
            ...(via && { decided_via: via }),
          },
        },
        limits.decideMs,
      ),
    assign: (id, to) =>
      askRow({
        method: 'POST',
        path: `/pending/${encodeURIComponent(id)}/assign`,
        body: { assigned_to: to },
        doubt: 'It may have assigned the call: look at it before you assign it again.',
      }),
    note: (id, summary, expected) =>
      askRow({
        method: 'PATCH',
        path: `/pending/${encodeURIComponent(id)}/incident`,
        body: { incident_summary: summary, expected_summary: expected },
        doubt: 'It may have saved the note: look at the call before you write it again.',
      }),
    tenant: () => ask(tenantReviews, get(`/admin/tenants/${encodeURIComponent(ownTenant())}/lifecycle`)),
    passkeys: async () => (await ask(ownPasskeys, get('/auth/passkeys'))).passkeys,
    chatLink: () => unlessUnknown(ask(chatLink, get(links))),
    linkChat: (code) =>
      ask(chatLink, {
        method: 'POST',
        path: '/identities/upsert',
        body: { oidc_sub: linkOwnerOf(subject), link_code: code },
        doubt: 'It may have linked the account: load the page again before you take another code.',
      }),
    async unlinkChat(chat) {
      await ask(chatUnlinked, {
        method: 'DELETE',
        path: `${links}/${chat}`,
        doubt: MAY_BE_UNLINKED,
      });
    },
    unlinkChatOf: (name, chat) =>
      ask(chatLinkRemoved, {
        method: 'POST',
        path: '/identities/removals',
        body: { oidc_sub: linkOwnerOf(name), chat },
        doubt: MAY_BE_UNLINKED,
      }),
    verifyLink: (token) =>
      ask(verifiedDecisionLink, { method: 'POST', path: '/decision-link/verify', body: { token } }),
  };
}
