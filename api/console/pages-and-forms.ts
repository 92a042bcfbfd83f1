import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Download } from '../../console/download.js';
import type { Role } from '../../console/roles.js';
import type { Action, Page, Person, Visit } from '../../console/visit.js';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';
import { printable } from '../../domain/printable.js';
import { ANSWERS_PAGES, takesForm } from '../plugins/openapi.js';
import type { ServiceApp } from '../plugins/service.js';
import type { Send } from './documents.js';
import { type LargeRoute, POLICY_BODY } from './body-limits.js';
import type { Entered, EnteredOf } from './entered.js';
import { assertOnce, formOf } from './form.js';
import { signInFor } from './sign-in-again.js';
import { watchedFile, type Watching } from './watched.js';

export interface PagesOptions {
  readonly pages: readonly Page[];
  readonly actions: readonly Action[];
  readonly entered: EnteredOf;
  /** Throws for a form that is not of this console and this session. */
  readonly assertForm: (request: FastifyRequest, entered: Entered) => void;
  /** Throws for somebody of a lower role. */
  readonly assertRole: (person: Person, needed: Role) => void;
  readonly visitOf: (request: FastifyRequest, entered: Entered) => Visit;
  /** Hears what every page says of who is signed in. It never throws. */
  readonly hear: (entered: Entered) => Promise<void>;
  /** Whether all of a tenant is stopped, as every page says it. */
  readonly isStopped: (tenant: string | null) => boolean;
  readonly send: Send;
  readonly watching: Watching;
  /** How forms are read. */
  readonly large: LargeRoute;
}

/** Every page and every form of `console/routes.ts`, for who is signed in and may. */
export function servePages(
  app: ServiceApp,
  {
    pages,
    actions,
    entered: enteredOf,
    assertForm,
    assertRole,
    visitOf,
    hear,
    isStopped,
    send,
    watching,
    large,
  }: PagesOptions,
): void {
  const readOf = ({ holdsPolicy }: Action): LargeRoute => (holdsPolicy ? { ...large, bodyLimit: POLICY_BODY } : large);
  for (const page of pages)
    app.get(page.path, { config: ANSWERS_PAGES }, async (request, reply) => {
      const entered = await enteredOf(request);
      if (entered === null) return reply.redirect(signInFor(request.url), 303);
      assertRole(entered.person, page.role);
      const heard = hear(entered);
      const shown = await page.show(visitOf(request, entered));
      await heard;
      if (shown.version === undefined) return send(reply, shown, entered);
      // Weak: the same of it is told in other times and ids (RFC 9110, 8.8.1).
      const { person, session } = entered;
      const tag = `W/"${sha256Hex(JSON.stringify([shown.version, session.csrf, person, isStopped(person.tenant)]))}"`;
      void reply.header('etag', tag);
      return request.headers['if-none-match'] === tag ? reply.code(304).send() : send(reply, shown, entered);
    });
  for (const action of actions)
    app.post(action.path, { ...readOf(action), config: takenBy(action) }, async (request, reply) => {
      const entered = await enteredOf(request);
      if (entered === null) throw new GateError('unauthenticated', 'You are not signed in any more: nothing was done.');
      assertForm(request, entered);
      assertRole(entered.person, action.role);
      const visit = visitOf(request, entered);
      const form = formOf(request.body, action.written);
      try {
        assertOnce(form, action.several);
        const came = await action.act(visit, form);
        if (typeof came === 'string') return await reply.redirect(came, 303);
        return 'filename' in came ? download(reply, came, watching) : await send(reply, came, entered);
      } catch (error) {
        if (!(error instanceof GateError)) throw error;
        const words = `${told(error)} (${error.code})`;
        const shown = await action.refused(visit, form, error).catch((another: unknown) => {
          request.log.warn({ err: another }, 'the page of a refusal cannot be shown');
          // What became of the form comes first, and may be in doubt.
          throw error;
        });
        const text = shown.behind === undefined ? words : [words, ' ', shown.behind];
        const notice = shown.notice ?? { kind: 'bad', text };
        return send(reply, { ...shown, notice }, entered, ERROR_CODES[error.code].status);
      }
    });
}

/** What its document says of a form: the session's `csrf` and what people write into it; a page puts more there. */
const takenBy = ({ written }: Action): typeof ANSWERS_PAGES => {
  const typed = Object.keys(written).filter((name) => !name.endsWith('.*'));
  return { described: { ...ANSWERS_PAGES.described, ...takesForm(['csrf'], typed) } };
};

/** What a refusal says, with the rule that it names. */
const told = ({ message, fields: { detail } }: GateError): string =>
  typeof detail === 'string' ? `${message} ${printable(detail)}` : message;

/** A fault in the middle cuts the connection, so that the browser says that the file is not whole. */
const download = (reply: FastifyReply, { type, filename, headers, body }: Download, watching: Watching): FastifyReply =>
  reply
    .type(type)
    .headers(headers)
    .header('content-disposition', `attachment; filename="${filename}"`)
    .send(watchedFile(reply, body, watching));
