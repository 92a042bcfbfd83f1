import type { FastifyReply, FastifyRequest } from 'fastify';
import { ZodError } from 'zod';
import {
  cardOf,
  type Chat,
  LARGEST_CLICK_BYTES,
  slackInteraction,
  teamsClick as teamsBody,
} from '../../../contracts/chat-link.js';
import { type LinkedAction, linkedAction } from '../../../contracts/decision-link.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { errorText, GateError } from '../../../domain/errors.js';
import type { JsonObject } from '../../../contracts/json.js';
import { parseStrictJson } from '../../../domain/mcp/strict-json.js';
import type { Places } from '../../../domain/notification/lines.js';
import { noticeOfAnswer } from '../../../domain/notification/notice.js';
import { slackAnswerUrl, slackRefusal } from '../../../domain/notification/slack-answer.js';
import { oneLine } from '../../../domain/printable.js';
import { slackCard } from '../../../domain/notification/slack-card.js';
import { teamsCard } from '../../../domain/notification/teams-card.js';
import type { Notice } from '../../../contracts/notification.js';
import { type ChatLinkStore, unlessFailed } from '../../../domain/review/chat-links.js';
import type { LinkCodes } from '../../../domain/review/link-code.js';
import { isRecentClick, type SignedClick, slackClick, teamsClick } from '../../../domain/review/chat-signature.js';
import type { createDecisions } from '../../../domain/review/decisions.js';
import type { OpenedReviews } from '../../../domain/review/ports.js';
import type { ServiceApp } from '../../plugins/app.js';
import { utf8Of } from '../../plugins/utf8.js';
import { subjectOfLink } from '../scope.js';

export interface ChatWebhookRoutes {
  readonly reviews: Pick<OpenedReviews, 'reads'>;
  readonly links: ChatLinkStore;
  readonly decide: ReturnType<typeof createDecisions>;
  readonly codes: Pick<LinkCodes, 'codeOf'>;
  /** Who may approve for a tenant now, but for whoever has had the name of somebody earlier only since `at_ms`. */
  readonly approversOf: (tenant: string, at_ms: number) => Promise<readonly string[]>;
  /** Without a chat's secret no click of it is accepted. */
  readonly slackSecret: string | undefined;
  /** Where Slack's API is. */
  readonly slackApiUrl: string;
  /** Sends what a click came to. An error of it names no address. */
  readonly answerSlack: (url: string, message: JsonObject) => Promise<void>;
  readonly teamsSecret: Uint8Array | undefined;
  readonly places: (notice: Notice) => Places;
  readonly clock: () => number;
}

interface Click {
  readonly chat: Chat;
  readonly userId: string;
  readonly action: LinkedAction;
  readonly pendingId: string;
  /** Of the call as the card told of it; absent on a card of an earlier Gate. */
  readonly actionDigest: string | undefined;
  readonly digest: string;
}

const SLACK_ACTION =
  /^([a-z]{1,16}):([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?::(sha256:[0-9a-f]{64}))?$/;

/**
 * Clicks in chats, passed on by the console byte for byte (docs/architecture/notifications.md#clicks). A click decides as the person whose
 * account it is, through the same function as every other decision.
 */
export function chatWebhookRoutes(app: ServiceApp, options: ChatWebhookRoutes): void {
  const {
    reviews,
    links,
    codes,
    decide,
    approversOf,
    slackSecret,
    slackApiUrl,
    answerSlack,
    teamsSecret,
    places,
    clock,
  } = options;
  const answering = new Set<Promise<void>>();
  app.addHook('onClose', async () => void (await Promise.all(answering)));

  function refused(request: FastifyRequest, chat: Chat): GateError {
    request.log.warn(
      { chat, correlation_id: request.correlationId },
      'a click was not signed by the chat, or came again',
    );
    return new GateError('chat_signature_invalid');
  }

  /** Accepts each signed click once. */
  async function accept(request: FastifyRequest, chat: Chat, { digest }: SignedClick): Promise<void> {
    if (!(await links.accept(digest))) throw refused(request, chat);
  }

  /** Decides, and tells Slack what came of it where its click says. Whether that arrives changes nothing. */
  async function answered(
    request: FastifyRequest,
    url: string | null,
    decision: () => Promise<PendingRequest>,
  ): Promise<void> {
    const message = await decision().then(
      (row): JsonObject => {
        const notice = noticeOfAnswer(row);
        return { replace_original: true, ...slackCard(notice, places(notice), true) };
      },
      (error: unknown) => {
        if (!(error instanceof GateError)) request.log.error({ reason: errorText(error) }, 'a click failed');
        return slackRefusal(error);
      },
    );
    if (url === null)
      return request.log.warn("a click of Slack names no address of Slack's for its answer: nobody was told");
    await answerSlack(url, message).catch((error: unknown) =>
      request.log.warn({ reason: errorText(error) }, 'what a click came to could not be told in Slack'),
    );
  }

  async function decided({ chat, userId, action, pendingId, actionDigest, digest }: Click): Promise<PendingRequest> {
    const known = await links.linksOf(chat, userId);
    if (known.length === 0)
      throw new GateError('identity_not_linked', undefined, { fields: { link_code: codes.codeOf(chat, userId) } });
    const row = await reviews.reads.get(pendingId);
    const link = known.find(({ tenant }) => tenant === row?.tenant);
    if (row === null || link === undefined) throw new GateError('not_found');
    const subject = subjectOfLink(link.oidc_sub);
    if (!(await approversOf(row.tenant, Date.parse(link.linked_at))).includes(subject))
      throw new GateError(
        'capability_denied',
        'this person may not decide for the tenant now; who signs in at the console without a token does so first',
      );
    await links.verified(link);
    return decide({
      id: row.id,
      tenant: row.tenant,
      decision: action,
      reason: null,
      action_digest: actionDigest,
      decided_via: cardOf(chat),
      principal: (tenant) => ({
        subject,
        tenant,
        method: cardOf(chat),
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
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: LARGEST_CLICK_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );

    scope.post('/webhook/slack', async (request, reply: FastifyReply) => {
      const body = bytesOf(request);
      const { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature } = request.headers;
      const signed =
        slackSecret === undefined ? null : slackClick(slackSecret, { timestamp, signature, body }, clock());
      if (signed === null) throw refused(request, 'slack');
      const { user, actions, type, response_url } = read(slackInteraction, () =>
        new URLSearchParams(utf8Of(body)).get('payload'),
      );
      const [, word, pendingId, actionDigest] =
        actions.map(({ action_id }) => SLACK_ACTION.exec(action_id)).find(Boolean) ?? [];
      // A button that leads to the console tells Slack's application of the click as well.
      const action = linkedAction.safeParse(word);
      if (type !== 'block_actions' || pendingId === undefined || !action.success) return reply.send();
      await accept(request, 'slack', signed);
      const click: Click = {
        chat: 'slack',
        userId: user.id,
        action: action.data,
        pendingId,
        actionDigest,
        digest: signed.digest,
      };
      // Slack waits three seconds for this answer, and shows nothing of it.
      const telling = answered(request, slackAnswerUrl(response_url, slackApiUrl), () =>
        unlessFailed(links, signed.digest, () => decided(click)),
      ).finally(() => answering.delete(telling));
      answering.add(telling);
      return reply.send();
    });

    scope.post('/webhook/teams', async (request, reply: FastifyReply) => {
      const body = bytesOf(request);
      const signed = teamsSecret === undefined ? null : teamsClick(teamsSecret, request.headers.authorization, body);
      if (signed === null) throw refused(request, 'teams');
      const {
        action,
        pending_id: pendingId,
        action_digest: actionDigest,
        user,
        timestamp,
      } = read(teamsBody, () => utf8Of(body));
      if (!isRecentClick(timestamp, clock())) throw refused(request, 'teams');
      await accept(request, 'teams', signed);
      return unlessFailed(links, signed.digest, async () => {
        const row = await decided({
          chat: 'teams',
          userId: user,
          action,
          pendingId,
          actionDigest,
          digest: signed.digest,
        });
        const notice = noticeOfAnswer(row);
        void reply.header('CARD-UPDATE-IN-BODY', 'true');
        return teamsCard(notice, places(notice), true);
      });
    });
    done();
  });
}

const bytesOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** The first fault, in one line. */
function faultOf(cause: unknown): string {
  const [issue] = cause instanceof ZodError ? cause.issues : [];
  return oneLine(issue ? `${issue.path.join('.') || 'it'}: ${issue.message}` : errorText(cause)).slice(0, 200);
}

/** What a chat sent, once its signature holds. */
function read<Shape>(shape: { parse(value: unknown): Shape }, text: () => string | null): Shape {
  try {
    return shape.parse(parseStrictJson(text() ?? ''));
  } catch (cause) {
    throw new GateError('invalid_request', `the click cannot be read: ${faultOf(cause)}`, { cause });
  }
}
