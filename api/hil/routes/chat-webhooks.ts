import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Chat, slackInteraction, teamsClick as teamsBody } from '../../../contracts/chat-link.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { errorText, GateError } from '../../../domain/errors.js';
import { parseStrictJson } from '../../../domain/mcp/strict-json.js';
import type { Places } from '../../../domain/notification/lines.js';
import { noticeOfAnswer } from '../../../domain/notification/notice.js';
import { slackCard } from '../../../domain/notification/slack-card.js';
import { teamsCard } from '../../../domain/notification/teams-card.js';
import type { Notice } from '../../../contracts/notification.js';
import type { ChatLinkStore } from '../../../domain/review/chat-links.js';
import { isRecentClick, type SignedClick, slackClick, teamsClick } from '../../../domain/review/chat-signature.js';
import type { createDecisions } from '../../../domain/review/decisions.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { subjectOf } from '../scope.js';

/** Largest click that is read; a real one has a few thousand bytes. */
const MOST_BYTES = 65_536;

export interface ChatWebhookRoutes {
  readonly reviews: Pick<OpenedReviews, 'reads'>;
  readonly links: ChatLinkStore;
  readonly decide: ReturnType<typeof createDecisions>;
  readonly mayApprove: (subject: string, tenant: string) => boolean;
  /** Without a chat's secret no click of it is accepted. */
  readonly slackSecret: string | undefined;
  readonly teamsSecret: Uint8Array | undefined;
  readonly places: (notice: Notice) => Places;
  readonly clock: () => number;
}

interface Click {
  readonly chat: Chat;
  readonly userId: string;
  readonly action: 'approve' | 'deny';
  readonly pendingId: string;
  readonly digest: string;
}

const SLACK_ACTION = /^(approve|deny):([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/**
 * Clicks in chats, passed on by the console byte for byte (docs/architecture/notifications.md#clicks). A click decides as the person whose
 * account it is, through the same function as every other decision.
 */
export function chatWebhookRoutes(app: ServiceApp, options: ChatWebhookRoutes): void {
  const { reviews, links, decide, mayApprove, slackSecret, teamsSecret, places, clock } = options;

  function refused(request: FastifyRequest, chat: Chat): GateError {
    request.log.warn(
      { chat, correlation_id: request.correlationId },
      'a click was not signed by the chat, or came again',
    );
    return new GateError('chat_signature_invalid');
  }

  /** Runs `act` once for each signed click. One that came to nothing here may be sent again. */
  async function once<Answer>(
    request: FastifyRequest,
    chat: Chat,
    { digest }: SignedClick,
    act: () => Promise<Answer>,
  ): Promise<Answer> {
    if (!(await links.accept(digest))) throw refused(request, chat);
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof GateError) || error.status >= 500) await links.release(digest);
      throw error;
    }
  }

  async function decided({ chat, userId, action, pendingId, digest }: Click): Promise<PendingRequest> {
    const known = await links.linksOf(chat, userId);
    if (known.length === 0) throw new GateError('identity_not_linked');
    const row = await reviews.reads.get(pendingId);
    const link = known.find(({ tenant }) => tenant === row?.tenant);
    if (row === null || link === undefined) throw new GateError('not_found');
    const subject = subjectOf({ name: link.oidc_sub });
    if (!mayApprove(subject, row.tenant))
      throw new GateError('capability_denied', 'this person may not decide for the tenant any more');
    await links.verified(link);
    return decide({
      id: row.id,
      tenant: row.tenant,
      decision: action,
      reason: null,
      decided_via: `${chat}-card`,
      principal: (tenant) => ({
        subject,
        tenant,
        method: `${chat}-card`,
        credential: `${chat}-link:${link.linked_at}`,
        credential_kind: 'console-bearer',
      }),
      request_id: `${chat}:${digest.slice(0, 64)}`,
    });
  }

  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    // The signature is over the bytes as they came.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MOST_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );

    scope.post('/webhook/slack', async (request) => {
      const body = bytesOf(request);
      const { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature } = request.headers;
      const signed =
        slackSecret === undefined ? null : slackClick(slackSecret, { timestamp, signature, body }, clock());
      if (signed === null) throw refused(request, 'slack');
      const { user, actions, type } = read(slackInteraction, new URLSearchParams(body.toString('utf8')).get('payload'));
      const [, action, pendingId] = actions.map(({ action_id }) => SLACK_ACTION.exec(action_id)).find(Boolean) ?? [];
      // A button that leads to the console tells Slack's application of the click as well.
      if (type !== 'block_actions' || pendingId === undefined) return {};
      return once(request, 'slack', signed, async () => {
        const row = await decided({
          chat: 'slack',
          userId: user.id,
          action: action === 'deny' ? 'deny' : 'approve',
          pendingId,
          digest: signed.digest,
        });
        const notice = noticeOfAnswer(row);
        return { replace_original: true, ...slackCard(notice, places(notice), true) };
      });
    });

    scope.post('/webhook/teams', async (request, reply: FastifyReply) => {
      const body = bytesOf(request);
      const signed = teamsSecret === undefined ? null : teamsClick(teamsSecret, request.headers.authorization, body);
      if (signed === null) throw refused(request, 'teams');
      const { action, pending_id: pendingId, user, timestamp } = read(teamsBody, body.toString('utf8'));
      if (!isRecentClick(timestamp, clock())) throw refused(request, 'teams');
      return once(request, 'teams', signed, async () => {
        const row = await decided({ chat: 'teams', userId: user, action, pendingId, digest: signed.digest });
        const notice = noticeOfAnswer(row);
        void reply.header('CARD-UPDATE-IN-BODY', 'true');
        return teamsCard(notice, places(notice), true);
      });
    });
    done();
  });
}

const bytesOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** What a chat sent, once its signature holds. */
function read<Shape>(shape: { parse(value: unknown): Shape }, text: string | null): Shape {
  try {
    return shape.parse(parseStrictJson(text ?? ''));
  } catch (cause) {
    throw new GateError('invalid_request', `the click cannot be read: ${errorText(cause).slice(0, 200)}`, { cause });
  }
}
