import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { GateError } from '../domain/errors.js';
import type { Access, LiteOperator } from './access.js';

/** What the page shows and does; the same reads and the same decision as the routes. */
export interface PageOptions {
  readonly access: Access;
  readonly mode: string;
  readonly newestVerdicts: () => Promise<readonly LedgerEntry[]>;
  readonly pending: (operator: LiteOperator) => Promise<readonly PendingRequest[]>;
  readonly decide: (
    operator: LiteOperator,
    id: string,
    decision: 'approve' | 'deny',
    reason: string | null,
  ) => Promise<PendingRequest>;
}

interface Session {
  readonly operator: LiteOperator;
}

const COOKIE = 'gate_lite_session';
const SESSION_MS = 8 * 3_600_000;
/** A wrong token costs its sender this long; nobody else waits. */
const WRONG_TOKEN_MS = 500;

/**
 * The operator's page: server-rendered, no scripts, nothing loaded from elsewhere. The decide token opens a session; every form carries
 * a token derived from that session, so that no other site can post a decision.
 */
export function registerPage(app: FastifyInstance, options: PageOptions): void {
  const { access } = options;
  const sessions = new LRUCache<string, Session>({ max: 1_000, ttl: SESSION_MS });
  const formKey = randomBytes(32);
  const formToken = (id: string) => createHmac('sha256', formKey).update(id).digest('hex');

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16_384 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );

  const sessionOf = (request: FastifyRequest): { id: string; session: Session } | null => {
    const id = new RegExp(`(?:^|; )${COOKIE}=([0-9a-f]{64})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1];
    const session = id === undefined ? undefined : sessions.get(id);
    return id !== undefined && session ? { id, session } : null;
  };
  const openSession = (reply: FastifyReply, operator: LiteOperator): string => {
    const id = randomBytes(32).toString('hex');
    sessions.set(id, { operator });
    void reply.header('Set-Cookie', `${COOKIE}=${id}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1000}`);
    return id;
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
    return { ...known.session, fields };
  };
  const html = (reply: FastifyReply, status: number, body: string) =>
    reply
      .code(status)
      .type('text/html; charset=utf-8')
      .header(
        'Content-Security-Policy',
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      )
      .header('X-Content-Type-Options', 'nosniff')
      .header('Referrer-Policy', 'no-referrer')
      .header('Cache-Control', 'no-store')
      .send(body);

  app.get('/', async (request, reply) => {
    let known = sessionOf(request);
    if (!known && access.operators === 'open') {
      const operator = access.operatorOf(request);
      known = { id: openSession(reply, operator), session: { operator } };
    }
    if (!known) return html(reply, 200, layout(options.mode, loginForm()));
    const [rows, verdicts] = await Promise.all([options.pending(known.session.operator), options.newestVerdicts()]);
    const { tenant } = known.session.operator;
    const shown = tenant === null ? verdicts : verdicts.filter((row) => row['tenant'] === tenant);
    const anonymous = access.agents === 'open' || access.operators === 'open';
    return html(reply, 200, layout(options.mode, mainPage(rows, shown, formToken(known.id), anonymous)));
  });

  app.post('/login', async (request, reply) => {
    const { token = '' } = (request.body ?? {}) as Record<string, string>;
    const operator = access.operatorByToken(token);
    if (!operator) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
      return html(reply, 401, layout(options.mode, `<p class="bad">This is not a decide token.</p>${loginForm()}`));
    }
    openSession(reply, operator);
    return reply.redirect('/', 303);
  });

  app.post('/logout', async (request, reply) => {
    posted(request);
    const known = sessionOf(request);
    if (known) sessions.delete(known.id);
    return reply.header('Set-Cookie', `${COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`).redirect('/', 303);
  });

  app.post('/page/decide', async (request, reply) => {
    const { operator, fields } = posted(request);
    const { id = '', decision = '', reason = '' } = fields;
    if (decision !== 'approve' && decision !== 'deny')
      throw new GateError('invalid_request', 'decision: is approve or deny');
    try {
      await options.decide(operator, id, decision, reason.trim() === '' ? null : reason.slice(0, 1_000));
      return await reply.redirect('/', 303);
    } catch (error) {
      if (!(error instanceof GateError) || error.status >= 500) throw error;
      return html(
        reply,
        error.status,
        layout(options.mode, `<p class="bad">${text(error.message)}</p><p><a href="/">Back</a></p>`),
      );
    }
  });
}

/** Everything an agent sent goes through here: it is text and never markup. */
export const text = (value: string): string => value.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const loginForm = () => `
<form method="post" action="/login">
  <label for="token">Decide token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required>
  <button>Sign in</button>
</form>`;

const argumentsShown = ({ request_payload }: PendingRequest): string => {
  const { params } = request_payload;
  return JSON.stringify(params ?? request_payload, null, 2);
};
const toolOf = ({ request_payload: { params }, method }: PendingRequest): string =>
  params !== null && typeof params === 'object' && !Array.isArray(params) && typeof params.name === 'string'
    ? params.name
    : method;

function mainPage(
  pending: readonly PendingRequest[],
  verdicts: readonly LedgerEntry[],
  csrf: string,
  anonymous: boolean,
): string {
  const waiting = pending.map(
    (row) => `
<article aria-label="${text(toolOf(row))} by ${text(row.agent_id)}">
  <h3>${text(toolOf(row))} <small>by ${text(row.agent_id)}, tenant ${text(row.tenant)}</small></h3>
  <p>${text(row.risk_summary)}</p>
  <pre>${text(argumentsShown(row))}</pre>
  <p><small>${text(row.correlation_id)}, expires ${text(new Date(Date.parse(row.created_at) + row.ttl_seconds * 1000).toISOString())}</small></p>
  <form method="post" action="/page/decide">
    <input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="id" value="${text(row.id)}">
    <label>Reason <input name="reason" maxlength="1000"></label>
    <button name="decision" value="approve">Approve and execute</button>
    <button name="decision" value="deny">Deny</button>
  </form>
</article>`,
  );
  const rows = verdicts.map(
    (row) =>
      `<tr><td>${text(row.timestamp)}</td><td>${text(row.agent_id)}</td><td>${text(row.tool_type ?? '')}</td><td>${text(outcomeOf(row))}</td><td>${text(row.reasoning.slice(0, 160))}</td><td><code>${text(row.correlation_id ?? '')}</code></td></tr>`,
  );
  return `
${anonymous ? '<p class="bad">Anonymous mode: whoever reaches this port can call or decide. Set GATE_LITE_TOKEN and GATE_LITE_DECIDE_TOKEN.</p>' : ''}
<h2>Waiting for you (${pending.length})</h2>
${waiting.join('') || '<p>Nothing waits.</p>'}
<h2>Newest verdicts</h2>
<table><thead><tr><th>time</th><th>agent</th><th>tool</th><th>verdict</th><th>why</th><th>correlation id</th></tr></thead><tbody>${rows.join('')}</tbody></table>
<form method="post" action="/logout"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form>`;
}

function outcomeOf({ policy_decision: decision }: LedgerEntry): string {
  const outcome = typeof decision?.['outcome'] === 'string' ? decision['outcome'] : '';
  const would = typeof decision?.['would'] === 'string' ? `, would ${decision['would']}` : '';
  return `${outcome}${would}`;
}

const layout = (mode: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Gate lite</title><meta name="viewport" content="width=device-width">
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:72rem;margin:1rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
article{border:1px solid #d0d7de;border-radius:6px;padding:.5rem 1rem;margin:.7rem 0}pre{background:#f6f8fa;padding:.6rem;overflow:auto;white-space:pre-wrap}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #d0d7de;vertical-align:top}small{color:#59636e;font-weight:400}.bad{color:#a40e26}
</style></head><body><h1>Gate lite <small>${text(mode)}</small></h1>${body}</body></html>`;
