import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type CallContract, SERVER_EXECUTION_CONTRACT } from '../contracts/call.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import { type PendingRequest, toolOf } from '../contracts/review.js';
import { GateError } from '../domain/errors.js';
import { printable } from '../domain/printable.js';
import { composed } from '../domain/expressions/linear.js';
import type { Access, LiteOperator } from './access.js';
import type { SignInLinks } from './sign-in-links.js';

/** What the page shows and does; the same reads and the same decision as the routes. */
export interface PageOptions {
  readonly access: Access;
  readonly links: SignInLinks;
  readonly mode: string;
  readonly now: () => number;
  /** What a quick look at the chain finds. Throws where the file cannot be read. */
  readonly chain: () => Promise<VerifyResult>;
  /** Rows of the newest calls, newest first, as the ledger has them. */
  readonly newestRows: () => Promise<readonly LedgerEntry[]>;
  /** Under which contract a call came; `null` for one that is not known. */
  readonly contractOf: (correlationId: string) => Promise<CallContract | null>;
  /** What waits, the first to expire first; `next_before` says behind which row the next page begins. */
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
  readonly operator: LiteOperator;
}

const COOKIE = 'gate_lite_session';
const SESSION_COOKIE = composed(`(?:^|; )${COOKIE}=([0-9a-f]{64})(?:;|$)`);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
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
    const id = SESSION_COOKIE.exec(request.headers.cookie ?? '')?.[1];
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
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      )
      .header('X-Content-Type-Options', 'nosniff')
      // Not `no-referrer`: with it a browser sends `Origin: null` with every form, which is refused as a foreign page's.
      .header('Referrer-Policy', 'same-origin')
      .header('Cache-Control', 'no-store')
      .send(body);

  // People read these answers: a refusal is a page too.
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const known = error instanceof GateError ? error : null;
    const status = known?.status ?? error.statusCode ?? 500;
    if (status >= 500) request.log.error({ err: error }, 'the page failed');
    const words = known?.message ?? (status < 500 ? error.message : 'Gate could not make this page; see its log.');
    return html(reply, status, layout(options.mode, refusal(words)));
  });

  app.get('/login', async (request, reply) => {
    const { link } = request.query as { link?: unknown };
    if (link === undefined) return reply.redirect('/', 303);
    const operator = typeof link === 'string' ? options.links.redeem(link) : null;
    if (operator) {
      openSession(reply, operator);
      return reply.redirect('/', 303);
    }
    await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
    return html(
      reply,
      401,
      layout(
        options.mode,
        `<p class="bad" role="alert">This link was used already, or is too old. <code>npx gate lite link</code> prints a new one.</p>${loginForm()}`,
      ),
    );
  });
  app.get('/', async (request, reply) => {
    const known = sessionOf(request);
    if (!known) return html(reply, 200, layout(options.mode, loginForm()));
    const before = UUID.exec((request.query as Record<string, string>)['before'] ?? '')?.[0];
    const [{ rows, next_before: next }, newest, chain] = await Promise.all([
      options.pending(known.session.operator, before),
      options.newestRows(),
      options.chain().catch(() => null),
    ]);
    const { tenant } = known.session.operator;
    const calls = callsOf(tenant === null ? newest : newest.filter((row) => row['tenant'] === tenant));
    const page = mainPage({
      waiting: await Promise.all(
        rows.map(async (row) => ({ row, contract: await options.contractOf(row.correlation_id) })),
      ),
      next,
      calls,
      csrf: formToken(known.id),
      openAgents: access.agents === 'open',
      chain,
      nowMs: options.now(),
    });
    // With nothing to fill in the page may come again by itself; a reason that somebody types must not be lost.
    return html(reply, 200, layout(options.mode, page, rows.length === 0 ? REFRESH_SECS : null));
  });

  app.post('/login', async (request, reply) => {
    const { token = '' } = (request.body ?? {}) as Record<string, string>;
    const operator = access.operatorByToken(token);
    if (!operator) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
      return html(
        reply,
        401,
        layout(options.mode, `<p class="bad" role="alert">This is not a decide token.</p>${loginForm()}`),
      );
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
    const { id = '', decision = '', reason = '', action_digest } = fields;
    if (decision !== 'approve' && decision !== 'deny')
      throw new GateError('invalid_request', 'decision: is approve or deny');
    try {
      await options.decide(operator, id, decision, reason.trim() === '' ? null : reason.slice(0, 1_000), action_digest);
      return await reply.redirect('/', 303);
    } catch (error) {
      if (!(error instanceof GateError) || error.status >= 500) throw error;
      return html(reply, error.status, layout(options.mode, refusal(decidedBefore(error) ?? error.message)));
    }
  });
}

/** Everything an agent sent goes through here: it is text and never markup. */
export const text = (value: string): string =>
  printable(value).replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Who was faster, and how it ended. */
function decidedBefore({ fields }: GateError): string | null {
  const { status, decided_by: by } = fields;
  return typeof status === 'string' && typeof by === 'string' ? `This call is ${status} already, by ${by}.` : null;
}

const refusal = (words: string) =>
  `<p class="bad" role="alert">${text(words)}</p><p><a href="/">Back to the calls that wait</a></p>`;

const loginForm = () => `
<form method="post" action="/login">
  <input type="text" name="username" autocomplete="username" value="operator" hidden>
  <label for="token">Decide token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <button>Sign in</button>
  <p><small><code>npx gate lite link</code>, typed where the ledger lies, prints an address that signs you in. The token is that of
  <code>GATE_LITE_DECIDE_TOKEN</code> or <code>GATE_LITE_DECIDERS</code>, else the one in the file <code>.decide-token</code> beside the ledger.</small></p>
</form>`;

const argumentsShown = ({ request_payload }: PendingRequest): string => {
  const { params } = request_payload;
  return JSON.stringify(params ?? request_payload, null, 2);
};
/** What an approver can read on a page; a call that says more is not approved from here. */
const MAX_SHOWN = 100_000;

/** A call as the page shows it: its verdict, and what came of it since. */
interface ShownCall {
  readonly verdict: LedgerEntry;
  readonly since: readonly string[];
}

const SHOWN_CALLS = 50;

/** The newest calls of these rows, which are newest first. */
function callsOf(rows: readonly LedgerEntry[]): ShownCall[] {
  const since = new Map<string, string[]>();
  const calls: ShownCall[] = [];
  for (const row of rows) {
    const id = row.correlation_id ?? row.id;
    const { stage } = row.policy_decision ?? {};
    // One that was too fast may have come again under its id; what followed is told of the verdict.
    const limited = row.policy_decision?.['outcome'] === 'rate_limited';
    if (row.event_kind === 'proxy.verdict' && limited) calls.push({ verdict: row, since: [] });
    else if (row.event_kind === 'proxy.verdict')
      calls.push({ verdict: row, since: (since.get(id) ?? []).toReversed() });
    else if (row.event_kind === 'upstream.outcome' && typeof stage === 'string') push(since, id, stage);
    else if (/^hil\.(approved|denied|expired)$|^call\./.test(row.event_kind ?? ''))
      push(since, id, `${row.event_kind?.replace(/^.*\./, '')}${row.decided_by ? ` by ${row.decided_by}` : ''}`);
  }
  return calls.slice(0, SHOWN_CALLS);
}
const push = (lists: Map<string, string[]>, key: string, value: string) =>
  lists.set(key, [...(lists.get(key) ?? []), value]);

interface MainPage {
  readonly waiting: readonly { readonly row: PendingRequest; readonly contract: CallContract | null }[];
  /** The row behind which more waits. */
  readonly next: string | null;
  readonly calls: readonly ShownCall[];
  readonly csrf: string;
  readonly openAgents: boolean;
  readonly chain: VerifyResult | null;
  readonly nowMs: number;
}

function mainPage({ waiting, next, calls, csrf, openAgents, chain, nowMs }: MainPage): string {
  const time = (iso: string) => shownTime(iso, nowMs);
  const articles = waiting.map(({ row, contract }, index) => {
    if (row.status === 'tampered')
      return `
<article aria-labelledby="call-${index}">
  <h3 id="call-${index}" class="bad">tampered</h3>
  <p>${text(row.risk_summary)} Its call ends at its deadline.</p>
  <p><small>call <code>${text(row.correlation_id)}</code></small></p>
</article>`;
    const given = argumentsShown(row);
    const whole = given.length <= MAX_SHOWN && !('payload_summary' in row);
    return `
<article aria-labelledby="call-${index}">
  <h3 id="call-${index}">${text(toolOf(row))} <small>by ${text(row.agent_id)}, tenant ${text(row.tenant)}</small></h3>
  <p>${text(row.risk_summary)}</p>
  <pre>${text(given.slice(0, MAX_SHOWN))}</pre>
  ${whole ? '' : `<p class="bad">Cut after ${MAX_SHOWN} of ${given.length} characters. What cannot be read here is not approved here: see <code>gate pending --json</code>, and approve with <code>gate decide ${text(row.id)} approve</code>.</p>`}
  <p><small>asked ${time(row.created_at)}, ends ${time(new Date(Date.parse(row.created_at) + row.ttl_seconds * 1000).toISOString())}, call <code>${text(row.correlation_id)}</code></small></p>
  <form method="post" action="/page/decide">
    <input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="id" value="${text(row.id)}"><input type="hidden" name="action_digest" value="${text(row.original_payload_digest)}">
    <label>Reason <input name="reason" maxlength="1000" autocomplete="off"></label>
    <button name="decision" value="deny">Deny</button>
    <button name="decision" value="approve" class="go"${whole ? '' : ' disabled'}>${approveWords(contract)}</button>
  </form>
</article>`;
  });
  const rows = calls.map(
    ({ verdict, since }) =>
      `<tr><td>${time(verdict.timestamp)}</td><td>${text(verdict.agent_id)}</td><td>${text(verdict.tool_type ?? '')}</td><td>${outcomeOf(verdict, since)}</td><td>${text(verdict.reasoning.slice(0, 160))}</td><td><code>${text(verdict.correlation_id ?? '')}</code></td></tr>`,
  );
  return `
${openAgents ? '<p class="bad">Anonymous agents: whoever reaches this port can call. Set GATE_LITE_TOKEN.</p>' : ''}
${chainWords(chain)}
<h2>Waiting for you (${waiting.length}${next === null ? '' : ' of more'})</h2>
${articles.join('') || '<p>Nothing waits.</p>'}
${next === null ? '' : `<p><a href="/?before=${text(next)}">Show what waits behind these</a></p>`}
<p><a href="/">Look again</a></p>
<h2>Newest verdicts</h2>
${
  rows.length === 0
    ? '<p>No call yet.</p>'
    : `<div class="wide"><table><thead><tr><th scope="col">when</th><th scope="col">agent</th><th scope="col">tool</th><th scope="col">verdict</th><th scope="col">why</th><th scope="col">correlation id</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}
<form method="post" action="/logout"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form>`;
}

/** The chain as it is now: how long, where its head is, and where it does not hold. */
function chainWords(chain: VerifyResult | null): string {
  if (chain === null) return '<p class="bad" role="alert">The ledger cannot be read now.</p>';
  if (!chain.valid)
    return `<p class="bad" role="alert">The ledger does not hold from entry ${chain.first_invalid_seq ?? '-'} on: <code>npx gate verify</code> says more. Decide nothing on what it says.</p>`;
  const { length = 0, head_hash: head = '' } = chain.commitment ?? {};
  return `<p class="dim">The ledger holds: ${length} ${length === 1 ? 'entry' : 'entries'}${head === '' ? '' : `, head <code title="${text(head)}">${text(head.slice(0, 16))}</code>`}</p>`;
}

/** Names the effect: Gate executes what was asked for under the execution contract; a decision's caller acts itself. */
const approveWords = (contract: CallContract | null): string =>
  contract === SERVER_EXECUTION_CONTRACT ? 'Approve and execute' : 'Approve';

/** How long ago or ahead, as people say it; the exact time when one points at it, and in print. */
const shownTime = (iso: string, nowMs: number): string => {
  const exact = `${text(iso.slice(0, 10))} ${text(iso.slice(11, 19))} UTC`;
  return `<time datetime="${text(iso)}" title="${exact}">${relativeTime(Date.parse(iso) - nowMs)}<span class="exact"> (${exact})</span></time>`;
};

const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** `in 9 min`, `12 s ago`, `now`. */
export function relativeTime(awayMs: number): string {
  const away = Math.abs(awayMs);
  const [unit, length] = UNITS.find(([, ms]) => away >= ms) ?? ['s', 1_000];
  const count = Math.floor(away / length);
  if (count === 0) return 'now';
  const said = `${count} ${unit}${unit === 'day' && count > 1 ? 's' : ''}`;
  return awayMs > 0 ? `in ${said}` : `${said} ago`;
}

function outcomeOf({ policy_decision: decision }: LedgerEntry, since: readonly string[]): string {
  const outcome = typeof decision?.['outcome'] === 'string' ? decision['outcome'] : '';
  const would = typeof decision?.['would'] === 'string' ? `, would ${decision['would']}` : '';
  const words = [`${outcome}${would}`, ...since].map(text).join(' → ');
  return `<span class="${outcome === 'deny' || outcome === 'rate_limited' ? 'bad' : outcome === 'park' ? 'wait' : ''}">${words}</span>`;
}

const REFRESH_SECS = 15;
const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22%3E%3Cpath d=%22M2 15V5l6-4 6 4v10h-3V7H5v8z%22 fill=%22%231b6e3c%22/%3E%3C/svg%3E';

const layout = (mode: string, body: string, refreshSecs: number | null = null) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Gate lite</title><meta name="viewport" content="width=device-width, initial-scale=1">${refreshSecs === null ? '' : `<meta http-equiv="refresh" content="${refreshSecs}">`}
<link rel="icon" href="${ICON}">
<style>
:root{color-scheme:light dark;--line:#d0d7de;--soft:#f6f8fa;--dim:#59636e;--bad:#a40e26;--wait:#7a4b00;--go:#1b6e3c}
@media (prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#151b23;--dim:#9198a1;--bad:#ff8080;--wait:#e3b341;--go:#2d8a50}}
body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:1rem auto;padding:0 1rem}
article{border:1px solid var(--line);border-radius:6px;padding:.2rem 1rem 1rem;margin:.7rem 0}
pre{background:var(--soft);padding:.6rem;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;max-height:20rem}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}td:first-child,td code{white-space:nowrap}td:nth-child(5){min-width:16rem}
small,.dim{color:var(--dim);font-weight:400}.exact{display:none}@media print{.exact{display:inline}}.bad{color:var(--bad)}.wait{color:var(--wait)}
input,button{font:inherit;padding:.3rem .6rem}input[name=reason]{width:min(30rem,60vw)}
button{border:1px solid var(--line);border-radius:4px;cursor:pointer}.go:disabled{opacity:.5;cursor:not-allowed}.go{background:var(--go);color:#fff;border-color:var(--go)}
</style></head><body><h1>Gate lite <small>${text(mode)}</small></h1>${body}</body></html>`;
