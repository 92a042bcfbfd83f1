import { setImmediate } from 'node:timers/promises';
import { type CallContract, SERVER_EXECUTION_CONTRACT } from '../contracts/call.js';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import { type PendingRequest, toolOf } from '../contracts/review.js';
import type { CallRecord } from '../domain/call-record/record.js';
import { isFinal } from '../domain/call-record/transitions.js';
import { sinceLastTold } from '../domain/review/since-last.js';
import { whyItWaits } from '../domain/review/why-it-waits.js';
import { predictionOf, reasonsOf } from '../domain/sandbox/told.js';
import { deadlineOf } from '../domain/review/transitions.js';
import { DEFAULT_TENANT } from './access.js';
import { notice, shownTime, text } from '../api/pages/html.js';
import { shownJson } from '../domain/shown-json.js';

/** How much an approver can read on a page; a larger call cannot be approved here. */
const MAX_SHOWN = 100_000;
/** Most markup of one call. A character that must be made visible becomes eight, and nobody reads 100,000 of those either. */
const MAX_MARKUP = 2 * MAX_SHOWN;
const SHOWN_OF_ESCAPES = MAX_MARKUP / 8;
/** The calls of one page together; those behind them are on the next page. */
const PAGE_MARKUP = 1_000_000;
/** Longer arguments scroll in their box, which a keyboard must be able to reach. */
const SCROLLS_FROM = { characters: 400, lines: 11 };
const SHOWN_CALLS = 50;
/** Names on buttons are cut: a screen reader reads them aloud. */
const SAID = 60;
/** The whole reason stands in the ledger: `gate audit`. */
const REASON = 160;

/** A call as the page shows it: its verdict and what happened since. */
interface ShownCall {
  readonly verdict: LedgerEntry;
  readonly since: readonly string[];
}

/** The newest calls of these rows, which are newest first. */
export function callsOf(rows: readonly LedgerEntry[]): ShownCall[] {
  const since = new Map<string, string[]>();
  const calls: ShownCall[] = [];
  for (const row of rows) {
    const id = row.correlation_id ?? row.id;
    const { stage } = row.policy_decision ?? {};
    // A call that was refused for its rate may have come again under its id; the verdict's row then tells the rest.
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

/** The waiting calls of one page. */
export interface WaitingCalls {
  readonly rows: readonly PendingRequest[];
  /** The markup of each. */
  readonly cards: readonly string[];
  /** The last row of this page; more rows wait after it. */
  readonly next: string | null;
}

/**
 * Makes the cards of the listed rows, as many as fit on one page; at least one. Opening a row and escaping it each take up to some 50 ms,
 * so other work runs between two rows. `open` returns the whole row and the contract of its call.
 */
export async function waitingCalls(
  listed: { readonly rows: readonly PendingRequest[]; readonly next: string | null },
  open: (row: PendingRequest) => Promise<{ readonly row: PendingRequest; readonly contract: CallContract | null }>,
  { csrf, nowMs }: Pick<MainPage, 'nowMs'> & { readonly csrf: string },
): Promise<WaitingCalls> {
  const rows: PendingRequest[] = [];
  const cards: string[] = [];
  let markup = 0;
  for (const summary of listed.rows) {
    if (markup > PAGE_MARKUP) return { rows, cards, next: rows.at(-1)?.id ?? null };
    const { row, contract } = await open(summary);
    const made = card(row, contract, rows.length, { csrf, nowMs });
    rows.push(row);
    cards.push(made);
    markup += made.length;
    await setImmediate();
  }
  return { rows, cards, next: listed.next };
}

export interface MainPage {
  readonly waiting: WaitingCalls;
  readonly calls: readonly ShownCall[];
  /** Of the session; goes into every form. */
  readonly csrf: string;
  readonly openAgents: boolean;
  readonly chain: VerifyResult | null;
  /** Shown first: the outcome of a decision. */
  readonly said: string;
  /** The address that says whether the waiting calls have changed since. */
  readonly since: string;
  readonly nowMs: number;
}

export function mainPage(page: MainPage): string {
  const { waiting, calls, csrf, openAgents, nowMs } = page;
  const { rows, cards, next } = waiting;
  const count = `${rows.length}${next === null ? '' : ', and more behind them'}`;
  return `
${page.said}
${atAGlance(page)}
${openAgents ? '<p class="bad fine">Anonymous agents: whoever reaches this port can call. Set GATE_LITE_TOKEN.</p>' : ''}
<div class="sides"><main>
<h2 id="waiting">Waiting for you (${count})</h2>
${rows.length === 0 ? '' : `<iframe title="What came since this page was made" src="${page.since}"></iframe><p class="dim fine">Where the line above says nothing, Gate does not answer: start it, then look again.</p>`}
${cards.join('') || '<p>Nothing waits.</p>'}
${next === null ? '' : `<p><a href="/?before=${text(next)}">Show what waits behind these</a></p>`}
</main><aside aria-labelledby="lately">
<h2 id="lately">Newest verdicts</h2>
${calls.length === 0 ? '<p>No call yet. <code>npx gate lite</code> printed three to try.</p>' : `<ol class="calls" role="list">${calls.map((call) => shownCall(call, nowMs)).join('')}</ol>`}
</aside></div>
<footer class="head"><p><a href="/">Look again</a> <small>as of ${text(new Date(nowMs).toISOString().slice(11, 19))} UTC</small></p>
<form method="post" action="/logout"><input type="hidden" name="csrf" value="${csrf}"><button>Sign out</button></form></footer>`;
}

/** The waiting calls, the latest calls, and whether the chain holds. */
function atAGlance({ waiting: { rows, next }, calls, chain, nowMs }: MainPage): string {
  const first = rows.map(deadlineOf).sort((one, other) => one - other)[0];
  const ends = first === undefined ? '' : `, the first ends ${shownTime(new Date(first).toISOString(), nowMs)}`;
  const waits = `${rows.length}${next === null ? '' : ' and more'} ${rows.length === 1 ? 'waits' : 'wait'} for you`;
  const newest = calls[0]?.verdict;
  const last = newest
    ? `<a href="#lately">last verdict</a> ${shownTime(newest.timestamp, nowMs)}: ${outcomeOf(newest, [])} ${text(said(newest.tool_type ?? ''))}`
    : 'no call yet';
  return `<ul class="glance" role="list"><li>${rows.length === 0 ? 'nothing waits for you' : `<a href="#waiting">${waits}</a>${ends}`}</li><li>${last}</li><li>${chainText(chain)}</li></ul>`;
}

function card(
  row: PendingRequest,
  contract: CallContract | null,
  index: number,
  { csrf, nowMs }: { readonly csrf: string; readonly nowMs: number },
): string {
  if (row.status === 'tampered')
    return `
<article aria-labelledby="call-${index}">
  <h3 id="call-${index}" class="bad">tampered</h3>
  <p>${text(row.risk_summary)} Its call ends at its deadline.</p>
  <p><small>call <code>${text(row.correlation_id)}</code></small></p>
</article>`;
  const { title, text: given, html, isWhole } = requestShown(row);
  const whole = isWhole && !('payload_summary' in row);
  const scrolls = given.length > SCROLLS_FROM.characters || given.split('\n').length > SCROLLS_FROM.lines;
  const tenant = row.tenant === DEFAULT_TENANT ? '' : `, tenant ${text(row.tenant)}`;
  // Agent and the beginning of the id tell two cards of one tool apart, also in a screen reader.
  const which = `<span class="vh"> ${text(said(toolOf(row)))} for ${text(said(row.agent_id))}, call ${text(row.correlation_id.slice(0, 8))}</span>`;
  return `
<article aria-labelledby="call-${index}">
  <div class="head"><h3 id="call-${index}">${text(toolOf(row))} <small>by ${text(row.agent_id)}${tenant}</small></h3>
  <small>asked ${shownTime(row.created_at, nowMs)}, ends ${shownTime(new Date(deadlineOf(row)).toISOString(), nowMs)}</small></div>
  ${whyItWaits(row)
    .map((reason) => `<p>${text(reason)}</p>`)
    .join('')}
  ${prediction(row)}
  <pre${scrolls ? ` tabindex="0" role="region"` : ''} aria-label="${title}">${html}</pre>
  ${scrolls ? `<p class="dim fine">${given.split('\n').length} lines, ${given.length} characters: scroll within the box to read all of it.</p>` : ''}
  ${sinceLast(row)}
  ${whole ? '' : `<p class="bad">Cut after ${given.length} characters. What cannot be read here is not approved here: see <code>gate pending --json</code>, and approve with <code>gate decide ${text(row.id)} approve</code>.</p>`}
  <form method="post" action="/page/decide" class="decide">
    <input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="id" value="${text(row.id)}"><input type="hidden" name="action_digest" value="${text(row.original_payload_digest)}">
    <label><span>Reason${which}</span> <input name="reason" maxlength="1000" autocomplete="off" placeholder="optional; Enter denies"></label>
    <button name="decision" value="deny">Deny${which}</button>
    <button name="decision" value="approve" class="go"${whole ? '' : ' disabled'}>${approveText(contract)}${which}</button>
  </form>
  <small>call <code>${text(row.correlation_id)}</code></small>
</article>`;
}

/** What the sandbox predicts, above what would run: read from the call's text, and no permission. */
function prediction(row: PendingRequest): string {
  const kind = row.sandbox_report?.severity === 'destructive' ? 'bad' : row.sandbox_report ? 'wait' : 'dim';
  const why = reasonsOf(row).map((reason) => `<li>${text(reason)}</li>`);
  return `<p>Predicted from its text: <span class="${kind}">${text(predictionOf(row))}</span></p>${why.length === 0 ? '' : `<ul class="fine" role="list">${why.join('')}</ul>`}`;
}

/** What is new in the call, below what would run. */
function sinceLast({ since_last_call: last }: PendingRequest): string {
  if (last === undefined) return '';
  const [which = '', ...differences] = sinceLastTold(last);
  const lines = differences.map((line) => `<li>${text(line)}</li>`);
  return `<p class="fine">Since the last such call: ${text(which)}</p>${lines.length === 0 ? '' : `<ul class="fine" role="list">${lines.join('')}</ul>`}`;
}

/** Whether the page shows all that would run; what it cuts is not approved there. */
export const isShownWhole = (row: PendingRequest): boolean => !('payload_summary' in row) && requestShown(row).isWhole;

const cut = (words: string, longest: number): string =>
  words.length > longest ? `${words.slice(0, longest).trimEnd()}…` : words;
const said = (name: string): string => cut(name, SAID);

/** Everything the tool would get. A call that is nothing but its name and arguments is its arguments; the name stands above them. */
function requestShown({ request_payload: payload }: PendingRequest) {
  const { params } = payload;
  const plain =
    payload['method'] === 'tools/call' &&
    params !== null &&
    typeof params === 'object' &&
    !Array.isArray(params) &&
    typeof params.name === 'string' &&
    Object.keys(params).every((name) => name === 'name' || name === 'arguments');
  const shown = shownJson(plain ? (params.arguments ?? {}) : (params ?? payload), MAX_SHOWN);
  const html = text(shown.text);
  const title = plain ? 'arguments' : 'request';
  if (html.length <= MAX_MARKUP) return { title, html, ...shown };
  const beginning = shown.text.slice(0, SHOWN_OF_ESCAPES);
  return { title, html: text(beginning), text: beginning, isWhole: false };
}

function shownCall({ verdict, since }: ShownCall, nowMs: number): string {
  return `<li><div class="head"><b>${text(verdict.tool_type ?? '')}</b> <small>${shownTime(verdict.timestamp, nowMs)}</small></div>
<p>${outcomeOf(verdict, since)} <small>for ${text(verdict.agent_id)}</small></p>
<p class="dim fine">${text(cut(verdict.reasoning, REASON))}</p><code class="dim">${text(verdict.correlation_id ?? '')}</code></li>`;
}

/** The state of the chain: its length, its head, and where it does not hold. */
function chainText(chain: VerifyResult | null): string {
  if (chain === null) return '<span class="bad" role="alert">The ledger cannot be read now.</span>';
  if (!chain.valid)
    return `<span class="bad" role="alert">The ledger does not hold from entry ${chain.first_invalid_seq ?? '-'} on: <code>npx gate verify</code> says more. Decide nothing on what it says.</span>`;
  const { length = 0, head_hash: head = '' } = chain.commitment ?? {};
  return `The ledger holds: ${length} ${length === 1 ? 'entry' : 'entries'}${head === '' ? '' : `, head <code title="${text(head)}">${text(head.slice(0, 16))}</code>`}`;
}

/** Names the effect: Gate executes what was asked for under the execution contract; a decision's caller acts itself. */
const approveText = (contract: CallContract | null): string =>
  contract === SERVER_EXECUTION_CONTRACT ? 'Approve and execute' : 'Approve';

function outcomeOf({ policy_decision: decision }: LedgerEntry, since: readonly string[]): string {
  const outcome = typeof decision?.['outcome'] === 'string' ? decision['outcome'] : '';
  const wouldHave = decision?.['would'];
  const would = typeof wouldHave === 'string' ? `, would ${wouldHave === 'pend' ? 'park' : wouldHave}` : '';
  const words = [`${outcome}${would}`, ...since].map(text).join(' → ');
  const kind =
    outcome === 'deny' || outcome === 'rate_limited' ? 'bad' : outcome === 'park' && since.length === 0 ? 'wait' : '';
  return `<span class="${kind}">${words}</span>`;
}

/** The outcome of a decision, read from the row and the record, not from the request. */
export function decidedText(row: PendingRequest, record: CallRecord | null): string {
  const call = `<b>${text(said(toolOf(row)))}</b> for ${text(said(row.agent_id))}`;
  const reason = row.decision_reason === null ? '' : ` Reason: ${text(said(row.decision_reason))}.`;
  if (row.status === 'denied')
    return notice('good', `Denied: ${call}. Nothing was executed; its agent is told so.${reason}`);
  if (row.status !== 'approved') return '';
  const [kind, words] = record === null ? (['good', ''] as const) : executionText(record);
  return notice(kind, `Approved: ${call}. ${words}${reason}`);
}

function executionText({ state, outcome, evidence }: CallRecord): readonly ['good' | 'bad', string] {
  if (evidence.call.contract !== SERVER_EXECUTION_CONTRACT)
    return ['good', 'Gate executes nothing here: its agent asked for the decision, and may act now.'];
  if (!isFinal(state, evidence.call.contract))
    return ['good', 'Gate executes it now; <a href="/">look again</a> for what came of it.'];
  const why = outcome?.error ? `: ${text(outcome.error)}` : '';
  if (outcome?.stage === 'completed') return ['good', 'Gate executed it, once.'];
  if (outcome?.stage === 'failed') return ['bad', `Gate executed it, once, and the tool answered with an error${why}.`];
  if (outcome?.stage === 'uncertain')
    return ['bad', `Nobody knows whether it ran${why}. It is not sent again; look at the tool itself.`];
  return ['bad', `It was not executed${why}.`];
}

/** Why a decision came too late, according to the row. */
export function lateText(code: string, row: PendingRequest | null, nowMs: number): string | null {
  const call = row ? `${text(said(toolOf(row)))} for ${text(said(row.agent_id))}` : 'this call';
  if (code === 'already_decided' && row?.decided_by)
    return `This call is ${row.status} already, by ${text(row.decided_by)}${row.decided_at ? ` (${shownTime(row.decided_at, nowMs)})` : ''}: ${call}. The first decision stands; yours was not taken.`;
  if (code === 'pending_expired')
    return `Too late: ${call} expired before anybody decided. Nothing was executed; its agent has to ask again under a new id.`;
  if (code === 'call_tampered')
    return `Not taken: the stored record of ${call} is not what Gate wrote, so Gate closed it. Nothing more is executed under its id. Its ledger rows say what happened before; look at who can write to the call store.`;
  if (code === 'not_found') return 'No such call waits here: it may have been withdrawn. Nothing was decided.';
  return null;
}
