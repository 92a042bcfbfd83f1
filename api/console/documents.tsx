import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { render } from 'preact-render-to-string';
import { Document, Problem } from '../../console/ui/document.js';
import type { Action, Page, Shown } from '../../console/visit.js';
import { GateError, isInDoubt } from '../../domain/errors.js';
import { plainErrorBody, retryAfterSecs, toGateError } from '../plugins/errors.js';
import type { ServiceApp } from '../plugins/service.js';
import { whenLeft } from '../plugins/when-left.js';
import type { Assets } from './assets.js';
import type { Entered, EnteredOf } from './entered.js';
import { formOf } from './form.js';
import { signInFor } from './sign-in-again.js';
import { UNREAD, watched } from './watched.js';

/** `leave` is where the form for signing out leads in the end. */
export const headersWith = (leave: string | undefined) => ({
  'Content-Security-Policy': `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'${leave === undefined ? '' : ` ${leave}`}; frame-ancestors 'none'; base-uri 'none'`,
  'X-Content-Type-Options': 'nosniff',
  // Not `no-referrer`: with it a browser sends `Origin: null` with every form, and such a form is refused as one from another site.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
});

/** Sends a page, to whom it names or to nobody in particular. */
export type Send = (reply: FastifyReply, shown: Shown, entered: Entered | null, status?: number) => FastifyReply;

/** How everything that people see is answered: pages whole, and refusals as pages for who looks at pages. */
export function documents({
  assets,
  pages,
  actions,
  standing,
  isStopped,
  entered,
  stands,
  drainMs,
  signInAgain,
  clock,
}: {
  readonly assets: Assets;
  readonly pages: readonly Page[];
  readonly actions: readonly Pick<Action, 'path' | 'written'>[];
  readonly standing: readonly string[];
  /** Whether all of a tenant is stopped, as far as that was heard. */
  readonly isStopped: (tenant: string | null) => boolean;
  readonly entered: EnteredOf;
  /** Whether the session of a request still stands; to look is no use of it. */
  readonly stands: (request: FastifyRequest) => Promise<boolean>;
  /** How long a page that is still being sent waits for its reader. */
  readonly drainMs: number;
  /** Where somebody signs in who was on a page of the console. */
  readonly signInAgain: (request: FastifyRequest) => string;
  readonly clock: () => number;
}): { readonly send: Send; readonly answers: (to: ServiceApp) => void } {
  const send: Send = (reply, shown, who, status = 200) => {
    const page = render(
      <Document
        here={reply.request.url.split('?')[0] ?? '/'}
        shown={shown}
        person={who?.person ?? null}
        csrf={who?.session.csrf ?? ''}
        assets={assets}
        pages={pages}
        standing={standing}
        isStopped={who !== null && isStopped(who.person.tenant)}
        ends={endingSoon(who, clock(), reply.request)}
      />,
    );
    if (shown.keptForBack) void reply.header('Cache-Control', 'private, no-cache');
    void reply.code(shown.status ?? status).type('text/html; charset=utf-8');
    const whole = `<!doctype html>${page}`;
    if (shown.later === undefined) return reply.send(whole);
    const ended = new AbortController();
    const { taken } = watched(reply, ended, { stands: () => stands(reply.request), drainMs });
    whenLeft(reply, () => ended.abort());
    ended.signal.addEventListener('abort', () => {
      // What is left at any other end is still sent.
      if (ended.signal.reason === UNREAD) reply.raw.destroy();
    });
    return reply
      .header('x-accel-buffering', 'no')
      .send(Readable.from(bitByBit(whole, shown.later, ended, taken), { objectMode: false }));
  };
  return {
    send,
    answers(to) {
      to.setErrorHandler(async (error: Error & { statusCode?: number }, request, reply) => {
        const refusal = toGateError(error);
        const waitSecs = retryAfterSecs(refusal);
        if (waitSecs !== null) void reply.header('Retry-After', String(waitSecs));
        if (refusal.status >= 500) request.log.error({ err: error }, 'a page of the console failed');
        if (!wantsPage(request))
          return reply
            .code(refusal.status)
            .type('application/json')
            .send(JSON.stringify(plainErrorBody(refusal, request.correlationId)));
        const who = await entered(request).catch(() => null);
        // Nobody types a reason twice because a form was refused.
        const action = actions.find(({ path }) => request.method === 'POST' && path === request.routeOptions.url);
        const form = action ? formOf(request.body, action.written) : null;
        const inDoubt = isInDoubt(refusal);
        const body = (
          <Problem
            code={refusal.code}
            words={refusal.message}
            id={request.correlationId}
            signIn={signInAgain(request)}
            form={form}
            inDoubt={inDoubt}
          />
        );
        return send(
          reply,
          { title: inDoubt ? 'Not known whether it was done' : 'Not done', body },
          who,
          refusal.status,
        );
      });
      to.setNotFoundHandler(async (request, reply) => {
        const who = await entered(request).catch(() => null);
        const words = `There is no page ${request.url.split('?')[0]}.`;
        if (!wantsPage(request)) throw new GateError('not_found', words);
        const body = <Problem code="not_found" words={words} id={request.correlationId} signIn="/login" />;
        return send(reply, { title: 'No such page', body }, who, 404);
      });
    },
  };
}

/** How long before its end a session is said to end: time enough to finish what somebody is about. */
const SOON_MS = 600_000;

/** For a session that the provider, the certificate or whatever else opened it ends at a time. */
function endingSoon(who: Entered | null, nowMs: number, { method, url }: FastifyRequest) {
  const endsMs = who?.session.endsMs ?? null;
  if (endsMs === null || endsMs - nowMs > SOON_MS) return null;
  return { at: new Date(endsMs).toISOString(), nowMs, signIn: signInFor(method === 'GET' ? url : '/') };
}

/** Parts of a page are handed on in pieces of so many bytes, so that it is seen that a slow reader takes some. */
const PIECE = 16_384;

/**
 * A page whose end is still being found out. A reader who leaves, or takes nothing, ends that, and so does the end of his session, which the
 * page says.
 */
async function* bitByBit(
  page: string,
  later: NonNullable<Shown['later']>,
  ended: AbortController,
  taken: () => void,
): AsyncGenerator<Uint8Array> {
  const isOver = new Promise<null>((resolve) => ended.signal.addEventListener('abort', () => resolve(null)));
  const parts = later(ended.signal)[Symbol.asyncIterator]();
  // What anybody wrote is escaped, so the last one is the page's own.
  const end = page.lastIndexOf('</main>');
  async function* texts(): AsyncGenerator<string> {
    yield page.slice(0, end);
    for (;;) {
      const part = await Promise.race([isOver, parts.next()]);
      if (part === null) yield render(<NotSignedIn />);
      if (part === null || part.done) break;
      yield render(part.value);
    }
    yield page.slice(end);
  }
  try {
    for await (const text of texts()) {
      const bytes = Buffer.from(text);
      for (let from = 0; from < bytes.length; from += PIECE) {
        yield bytes.subarray(from, from + PIECE);
        taken();
      }
    }
  } finally {
    ended.abort();
  }
}

const NotSignedIn = () => (
  <section class="lab">
    <p class="notice bad" role="alert">
      This ended before its result, as you are not signed in any more, or your role was taken away, or nobody can say
      whether you still have it (<code>unauthenticated</code>). <a href="/login">Sign in</a>
    </p>
  </section>
);

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false;
