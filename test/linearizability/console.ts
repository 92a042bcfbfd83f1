import { ERROR_CODES } from '../../contracts/error-codes.js';
import { consoleOf } from '../../cli/stack-target.js';
import type { DevelopmentFile } from '../../stack/development-file.js';
import { createHttp, type Reply } from '../support/agent.js';
import type { Operation } from './history.js';

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
  const csrf = fieldsOf((await page('/hil')).text).get('csrf');
  if (csrf === undefined) throw new Error(`not signed in at ${origin}: ${signedIn.status}`);

  return {
    async decideMany(decision, calls) {
      const rows = calls.map(({ id, digest, request }) => ['row', `${id} ${digest} ${request}`] as const);
      const reply = await press(`/hil/bulk/${decision}`, [['csrf', csrf], ...rows]).catch(() => null);
      return new Map(calls.map(({ id }) => [id, reply?.status === 200 ? cameOf(reply.text, id) : null]));
    },
    async redeem(link, id) {
      const shown = await page(`/decide/redeem?token=${encodeURIComponent(link)}`).catch(() => null);
      const form =
        shown?.status === 200 ? new RegExp(`<form[^>]*/hil/${id}/deny.*?</form>`, 's').exec(shown.text) : null;
      if (form === null) return null;
      const fields = fieldsOf(form[0]);
      return {
        request: fields.get('request') ?? '',
        async press(decision, required, signal) {
          const reply = await press(`/hil/${id}/${decision}`, [...fields], signal).catch(() => null);
          return reply && pressed(reply, decision, required);
        },
      };
    },
    close: () => http.close(),
  };
}

const fieldsOf = (html: string): ReadonlyMap<string, string> =>
  new Map(
    [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
    ]),
  );

/** A refusal ends with its code; what Gate could not do now is as if nobody had answered. */
function refusedWith(code: string): Operation['output'] | null {
  const known = (ERROR_CODES as Readonly<Record<string, { status: number }>>)[code];
  return known === undefined || known.status >= 500 ? null : { known: true, refused: code };
}

/** What the page says of one of several. */
function cameOf(html: string, id: string): Operation['output'] | null {
  const row = new RegExp(`data-came="${id}">.*?</tr>`, 's').exec(html)?.[0];
  if (row === undefined) return null;
  const code = /\(<code>(\w+)<\/code>\)/.exec(row)?.[1];
  if (code !== undefined) return refusedWith(code);
  const status = /class="tag (\w+)"/.exec(row)?.[1];
  return { known: true, status: status ?? 'pending' };
}

/** The console leads back to the call where its decision was taken, and says why where it was not. */
function pressed({ status, text }: Reply, decision: string, required: number): Operation['output'] | null {
  if (status === 303)
    return { known: true, status: decision === 'deny' ? 'denied' : required === 1 ? 'approved' : 'counted' };
  const code = /class="notice bad"[^>]*>[^<]*\((\w+)\)/.exec(text)?.[1];
  return code === undefined ? null : refusedWith(code);
}
