import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createBrowserSessions } from '../api/pages/browser-sessions.js';
import { notice, sendDocument, text } from '../api/pages/html.js';
import type { SignInLinks } from '../api/pages/sign-in-links.js';
import type { Mode } from '../contracts/call.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import type { CallRecord } from '../domain/call-record/record.js';
import { GateError } from '../domain/errors.js';
import { isUuid } from '../domain/uuid.js';
import type { Access, LiteOperator } from './access.js';
import { callsOf, decidedText, isShownWhole, lateText, mainPage, waitingCalls } from './page-calls.js';
import { layout, line, loginForm } from './page-layout.js';

/** What the page shows and does; the same reads and the same decision as the routes. */
export interface PageOptions {
  readonly access: Access;
  readonly links: SignInLinks<LiteOperator>;
  readonly mode: Mode;
  readonly now: () => number;
  /** The result of a quick check of the chain. Throws if the file cannot be read. */
  readonly chain: () => Promise<VerifyResult>;
  /** Rows of the newest calls, newest first, as the ledger has them. */
  readonly newestRows: () => Promise<readonly LedgerEntry[]>;
  /** The record of a call; `null` for one that is not known. */
  readonly callOf: (correlationId: string) => Promise<CallRecord | null>;
  /** The same once the call has ended, or as it is after the given time. */
  readonly endOf: (correlationId: string, withinMs: number) => Promise<CallRecord | null>;
  /** A row by its id, whatever its status; `null` where this operator may not see it. */
  readonly review: (operator: LiteOperator, id: string) => Promise<PendingRequest | null>;
  /** A listed row with its payload; the summary itself where it cannot be opened. */
  readonly whole: (row: PendingRequest) => Promise<PendingRequest>;
  /** The ids of what waits, as the first page lists them. */
  readonly waitingIds: (operator: LiteOperator) => Promise<readonly string[]>;
  /** Summaries of what waits, the first to expire first; `next_before` says behind which row the next page begins. */
  readonly pending: (
    operator: LiteOperator,
    before: string | undefined,
  ) => Promise<{ readonly rows: readonly PendingRequest[]; readonly next_before: string | null }>;
  readonly decide: (
    operator: LiteOperator,
    id: string,
    decision: 'approve' | 'deny',
    reason: string | null,
    actionDigest: string | undefined,
  ) => Promise<PendingRequest>;
}

interface Session {
  readonly id: string;
  readonly operator: LiteOperator;
}

/** How long the answer to a wrong token is delayed. Other requests do not wait. */
const WRONG_TOKEN_MS = 500;
/** A page without a form reloads itself. One with a form has a line above it that says what came since. */
const REFRESH_SECS = 15;
const SINCE_SECS = 5;
/** Most tools answer within this time; the page after a decision then shows the result. */
const EXECUTION_SHOWN_MS = 1_500;

/** A refusal as a page, with the way back. */
export const refusalPage = (mode: Mode, status: number, words: string): string =>
  layout(
    mode,
    `${notice('bad', text(words))}${status === 401 ? loginForm() : '<p><a href="/">Back to the calls that wait</a></p>'}`,
  );

/**
 * The operator's page: server-rendered, no scripts, nothing loaded from elsewhere. The decide token opens a session; every form carries
 * a token derived from that session, so that no other site can post a decision.
 */
export function registerPage(app: FastifyInstance, options: PageOptions): void {
  const { access } = options;
  const sessions = createBrowserSessions<LiteOperator>('gate_lite_session');
  const formKey = randomBytes(32);
  const formToken = (id: string) => createHmac('sha256', formKey).update(id).digest('hex');

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16_384 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );

  const sessionOf = (request: FastifyRequest): Session | null => {
    const known = sessions.of(request);
    return known && { id: known.id, operator: known.who };
  };
  /** The session of a form that was posted from this very page. */
  const posted = (request: FastifyRequest): Session & { fields: Record<string, string> } => {
    const fields = (request.body ?? {}) as Record<string, string>;
    const known = sessionOf(request);
    if (!known) throw new GateError('unauthenticated', 'The session has ended; sign in again.');
    const expected = Buffer.from(formToken(known.id));
    const offered = Buffer.from(fields['csrf'] ?? '');
    if (expected.length !== offered.length || !timingSafeEqual(expected, offered))
      throw new GateError('unauthenticated', 'The form is not from this page; load it again.');
    return { ...known, fields };
  };
  const seenOf = (ids: readonly string[]) => createHash('sha256').update(ids.join()).digest('hex').slice(0, 16);
  /** The page of a session, with a message to show first. */
  const main = async (
    reply: FastifyReply,
    { id, operator }: Session,
    { status = 200, said = '', before }: { status?: number; said?: string; before?: string | undefined } = {},
  ) => {
    const csrf = formToken(id);
    const nowMs = options.now();
    const [listed, ids, newest, chain] = await Promise.all([
      options.pending(operator, before),
      options.waitingIds(operator),
      options.newestRows(),
      options.chain().catch(() => null),
    ]);
    const { tenant } = operator;
    const waiting = await waitingCalls(
      { rows: listed.rows, next: listed.next_before },
      async (row) => ({
        row: await options.whole(row),
        contract: (await options.callOf(row.correlation_id))?.evidence.call.contract ?? null,
      }),
      { csrf, nowMs },
    );
    const body = mainPage({
      waiting,
      calls: callsOf(tenant === null ? newest : newest.filter((row) => row['tenant'] === tenant)),
      csrf,
      openAgents: access.agents === 'open',
      chain,
      said,
      since: `/since?seen=${seenOf(ids)}`,
      nowMs,
    });
    // A page without a form may reload itself; a reason that somebody is typing must not be lost.
    const refresh = waiting.rows.length === 0 ? { refreshSecs: REFRESH_SECS } : {};
    return sendDocument(reply, status, layout(options.mode, body, { waiting: waiting.rows.length, ...refresh }));
  };

  // People read these answers: a refusal is a page too.
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const known = error instanceof GateError ? error : null;
    const status = known?.status ?? error.statusCode ?? 500;
    if (status >= 500) request.log.error({ err: error }, 'the page failed');
    const words = known?.message ?? (status < 500 ? error.message : 'Gate could not make this page; see its log.');
    return sendDocument(reply, status, refusalPage(options.mode, status, words));
  });

  app.get('/login', async (request, reply) => {
    const { link } = request.query as { link?: unknown };
    if (link === undefined) return reply.redirect('/', 303);
    const operator = typeof link === 'string' ? options.links.redeem(link) : null;
    if (operator) sessions.open(reply, operator);
    // An operator who is signed in and opens the used link again wants the page.
    if (operator || sessionOf(request)) return reply.redirect('/', 303);
    await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
    const words =
      'This link was used already, or is too old: it opens the page once. <code>npx gate lite link</code> prints a new one.';
    return sendDocument(reply, 401, layout(options.mode, `${notice('bad', words)}${loginForm()}`));
  });
  app.get('/', async (request, reply) => {
    const known = sessionOf(request);
    if (!known) return sendDocument(reply, 200, layout(options.mode, loginForm()));
    const { operator } = known;
    const { before, decided } = request.query as Record<string, string>;
    return main(reply, known, {
      before: isUuid(before ?? '') ? before : undefined,
      said: await saidOf(operator, isUuid(decided ?? '') ? decided : undefined),
    });
  });
  app.get('/since', async (request, reply) => {
    const known = sessionOf(request);
    const { seen } = request.query as Record<string, string>;
    if (!known)
      return sendDocument(
        reply,
        200,
        line('Your session has ended: <a href="/" target="_top">sign in again</a>.', SINCE_SECS),
        "'self'",
      );
    const ids = await options.waitingIds(known.operator);
    const words =
      seenOf(ids) === seen
        ? `<span class="dim">Nothing has changed since (looked at ${new Date(options.now()).toISOString().slice(11, 19)} UTC).</span>`
        : `What waits has changed (${ids.length} now): <a href="/" target="_top">show it</a>`;
    return sendDocument(reply, 200, line(words, SINCE_SECS), "'self'");
  });

  app.post('/login', async (request, reply) => {
    const { token } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    const operator = typeof token === 'string' ? access.operatorByToken(token) : null;
    if (!operator) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
      return sendDocument(
        reply,
        401,
        layout(options.mode, `${notice('bad', 'This is not a decide token.')}${loginForm()}`),
      );
    }
    sessions.open(reply, operator);
    return reply.redirect('/', 303);
  });

  app.post('/logout', async (request, reply) => {
    const { id } = posted(request);
    sessions.end(reply, id);
    return reply.redirect('/', 303);
  });

  app.post('/page/decide', async (request, reply) => {
    const { id: session, operator, fields } = posted(request);
    const { id = '', decision = '', reason = '', action_digest } = fields;
    if (decision !== 'approve' && decision !== 'deny')
      throw new GateError('invalid_request', 'decision: is approve or deny');
    try {
      const asked = decision === 'approve' && isUuid(id) ? await options.review(operator, id) : null;
      if (asked?.status === 'pending' && !isShownWhole(asked))
        throw new GateError(
          'invalid_request',
          `This call is too large to be read here, so it is not approved here: see gate pending ${id} --json, and approve with gate decide ${id} approve.`,
        );
      await options.decide(operator, id, decision, reason.trim() === '' ? null : reason.slice(0, 1_000), action_digest);
      return await reply.redirect(`/?decided=${id}`, 303);
    } catch (error) {
      if (!(error instanceof GateError) || error.status >= 500) throw error;
      const row = isUuid(id) ? await options.review(operator, id) : null;
      const words = lateText(error.code, row, options.now()) ?? text(error.message);
      return main(reply, { id: session, operator }, { status: error.status, said: notice('bad', words) });
    }
  });

  /** The outcome of a decision that was just made, from the row and the record, because anybody could write an address. */
  async function saidOf(operator: LiteOperator, id: string | undefined): Promise<string> {
    const row = id === undefined ? null : await options.review(operator, id);
    if (!row) return '';
    const wait = row.status === 'approved' ? EXECUTION_SHOWN_MS : 0;
    return decidedText(row, await options.endOf(row.correlation_id, wait));
  }
}
