import { ERROR_CODES } from '../../contracts/error-codes.js';
import { consoleOf } from '../../cli/stack-target.js';
import type { DevelopmentFile } from '../../stack/development-file.js';
import { createHttp, type Reply } from '../support/agent.js';
import type { Operation } from './history.js';
import { fieldIn, fieldsIn, linksIn, partsIn, rowsOf, wordsIn } from '../support/html.js';

/** A call as a form of the console names it. */
export interface Ticked {
  readonly id: string;
  readonly digest: string;
  readonly request: string;
}

/** Somebody who is signed in at the console. `null` is no answer, or one that leaves open whether anything happened. */
export interface AtConsole {
  /** Decides several calls with one press; what became of each. */
  decideMany(
    decision: 'approve' | 'deny',
    calls: readonly Ticked[],
  ): Promise<ReadonlyMap<string, Operation['output'] | null>>;
  /** Opens the page of a decision link; `null` where it offers no decision. Each page is a decision of its own. */
  redeem(token: string, id: string): Promise<Redeeming | null>;
  close(): Promise<void>;
}

export interface Redeeming {
  readonly request: string;
  /** Presses the button, and hangs up when `signal` fires. */
  press(decision: 'approve' | 'deny', required: number, signal: AbortSignal): Promise<Operation['output'] | null>;
}

export async function atConsole(development: DevelopmentFile, ca: string, token: string): Promise<AtConsole> {
  const origin = consoleOf(development);
  const http = createHttp(origin, { ca });
  const linked = await http.request('POST', '/auth/links', { headers: { authorization: `Bearer ${token}` } });
  if (linked.status !== 200) throw new Error(`no link to sign in: ${linked.status} ${linked.text}`);
  const { path } = linked.body as { path: string };
  const signedIn = await http.request('GET', path, { headers: { accept: 'text/html' } });
  const cookies = [signedIn.headers['set-cookie'] ?? []].flat();
  const cookie = cookies.map((one) => one.split(';')[0]).join('; ');
  const headers = { cookie, accept: 'text/html' };
  const page = (path: string) => http.request('GET', path, { headers });
  const press = (path: string, form: readonly (readonly [string, string])[], signal?: AbortSignal) =>
    http.request('POST', path, {
      headers: { ...headers, origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form.map(([name, value]) => [name, value])).toString(),
      ...(signal && { signal }),
    });
  if (signedIn.status !== 303) throw new Error(`not signed in at ${origin}: ${signedIn.status}`);
  const csrf = fieldIn((await page('/hil')).text, 'csrf');

  return {
    async decideMany(decision, calls) {
      const rows = calls.map(({ id, digest, request }) => ['row', `${id} ${digest} ${request}`] as const);
      const reply = await press(`/hil/bulk/${decision}`, [['csrf', csrf], ...rows]).catch(() => null);
      return new Map(calls.map(({ id }) => [id, reply?.status === 200 ? cameOf(reply.text, id) : null]));
    },
    async redeem(link, id) {
      const shown = await page(`/decide/redeem?token=${encodeURIComponent(link)}`).catch(() => null);
      const [form] =
        shown?.status === 200 ? partsIn(shown.text, 'form', { action: new RegExp(`/hil/${id}/deny`) }) : [];
      if (form === undefined) return null;
      const fields = fieldsIn(form);
      return {
        request: fieldIn(form, 'request'),
        async press(decision, required, signal) {
          const reply = await press(`/hil/${id}/${decision}`, Object.entries(fields), signal).catch(() => null);
          return reply && pressed(reply, decision, required);
        },
      };
    },
    close: () => http.close(),
  };
}

/** A refusal ends with its code; what Gate could not do now is as if nobody had answered. */
function refusedWith(code: string): Operation['output'] | null {
  const known = (ERROR_CODES as Readonly<Record<string, { status: number }>>)[code];
  return known === undefined || known.status >= 500 ? null : { known: true, refused: code };
}

/** What the page says of one of several. */
function cameOf(html: string, id: string): Operation['output'] | null {
  const row = rowsOf(html, 'What became of each').find((one) =>
    linksIn(one).some(({ href }) => href.split('?', 1)[0] === `/hil/${id}`),
  );
  if (row === undefined) return null;
  const code = /\((\w+)\)$/.exec(wordsIn(row))?.[1];
  if (code !== undefined) return refusedWith(code);
  const [tag] = partsIn(row, 'span', { class: /^tag \w+$/ });
  return { known: true, status: tag?.attributes['class']?.slice('tag '.length) ?? 'pending' };
}

/** The console leads back to the call where its decision was taken, and says why where it was not. */
function pressed({ status, text }: Reply, decision: string, required: number): Operation['output'] | null {
  if (status === 303)
    return { known: true, status: decision === 'deny' ? 'denied' : required === 1 ? 'approved' : 'counted' };
  const [notice = ''] = partsIn(text, 'p', { class: 'notice bad' });
  const code = /\((\w+)\)/.exec(wordsIn(notice))?.[1];
  return code === undefined ? null : refusedWith(code);
}
