import type { FastifyReply, FastifyRequest } from 'fastify';
import { render } from 'preact-render-to-string';
import { Document, Problem } from '../../console/ui/document.js';
import type { Page, Shown } from '../../console/visit.js';
import { GateError } from '../../domain/errors.js';
import { plainErrorBody, retryAfterSecs, toGateError } from '../plugins/errors.js';
import type { ServiceApp } from '../plugins/service.js';
import type { Assets } from './assets.js';
import type { Entered, EnteredOf } from './entered.js';
import { formOf } from './form.js';

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
  standing,
  entered,
  signInAgain,
}: {
  readonly assets: Assets;
  readonly pages: readonly Page[];
  readonly standing: readonly string[];
  readonly entered: EnteredOf;
  /** Where somebody signs in who was on a page of the console. */
  readonly signInAgain: (request: FastifyRequest) => string;
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
      />,
    );
    if (shown.keptForBack) void reply.header('Cache-Control', 'private, no-cache');
    return reply
      .code(shown.status ?? status)
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${page}`);
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
        const form = request.method === 'POST' ? formOf(request.body) : null;
        const body = (
          <Problem
            code={refusal.code}
            words={refusal.message}
            id={request.correlationId}
            signIn={signInAgain(request)}
            form={form}
          />
        );
        return send(reply, { title: 'Not done', body }, who, refusal.status);
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

const wantsPage = ({ headers }: FastifyRequest): boolean => headers.accept?.includes('text/html') ?? false;
