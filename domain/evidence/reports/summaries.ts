import type { JsonObject } from '../../../contracts/json.js';
import { modificationDiff } from '../../../contracts/review.js';
import { oneLine, quoted } from '../../printable.js';
import { changesTold } from '../../decision/modification.js';
import { type ReportRow } from './report-rows.js';
import { outcomeOf, reviewEndOf } from './outcome.js';

/**
 * A sentence inside another one: one line, what nobody sees as escapes, and then at most `most` characters. What it quotes stays a quote, and ends
 * in it. A name is no sentence: it is `quoted`.
 */
export function told(text: string, most = 160): string {
  const line = oneLine(text.replaceAll(/[ \t\r\n]+/g, ' ').trim());
  // Neither half a character nor half an escape at the end.
  const short =
    line.length <= most ? line : `${line.slice(0, most).replace(/\p{Surrogate}$|\\(?:u(?:\{[0-9a-f]{0,6})?)?$/u, '')}…`;
  return short.split('`').length % 2 === 1 ? short : `${short}${'`'}`;
}

const because = (text: string): string => (text.trim() === '' ? '' : `: ${told(text)}`);
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** What a row about a modify changed, as far as a line has room: `amount = 20`. Its words are the call's and a person's. */
export function changesIn(decision: JsonObject | null): string | null {
  const diff = modificationDiff.safeParse(decision?.['modification_diff']);
  return diff.success ? told(changesTold(diff.data), 400) : null;
}

/** What an entry says, in one sentence without its time. The sentence is an annotation; the row is the evidence. */
export function summaryOf(reportRow: ReportRow): string {
  const { kind, decision, reasoning } = reportRow;
  const tool = reportRow.tool === null ? 'the call' : quoted(reportRow.tool, 80);
  const decider = text(decision?.['decided_by']);
  const by = decider === null ? 'an operator' : quoted(decider, 80);
  switch (kind) {
    case 'proxy.verdict':
      return verdictSummary(reportRow, tool);
    case 'proxy.control':
      return told(reasoning);
    case 'brain.inspection':
      return decision?.['available'] === false
        ? `${tool} was judged without inspection${because(reasoning)}`
        : `${tool} was inspected${because(reasoning)}`;
    case 'policy.evaluated':
      return decision?.['available'] === false
        ? `the rules could not be asked about ${tool}${because(reasoning)}`
        : `the rules ${reportRow.authorized ? 'let' : 'do not let'} ${tool} through${because(reasoning)}`;
    case 'hil.created':
      return `${tool} waits for a person${because(reasoning)}`;
    case 'hil.modified': {
      const changes = changesIn(decision);
      return `${by} changed the arguments of ${tool}${changes === null ? '' : `: ${quoted(changes)}`}${because(reasoning)}`;
    }
    case 'hil.vote':
      return `${by} approved ${tool}, which still waits for others${because(reasoning)}`;
    case 'hil.escalated':
      return `nobody had decided about ${tool} yet, and people were told again`;
    case 'hil.approved':
      return `${reviewEndOf(reportRow) === 'approved_by_rule' ? 'a rule' : by} approved ${tool}${because(reasoning)}`;
    case 'hil.denied': {
      const end = reviewEndOf(reportRow);
      if (end === 'withdrawn') return `its agent took ${tool} back${because(reasoning)}`;
      if (end === 'changed_then_denied') return `policy denied ${tool} as ${by} changed it${because(reasoning)}`;
      return `${end === 'denied_by_gate' ? 'Gate' : by} denied ${tool}${because(reasoning)}`;
    }
    case 'hil.expired':
      return `nobody decided about ${tool} in time; it was not executed`;
    case 'upstream.outcome':
      return executionSummary(reportRow, tool);
    case 'callback.delivered':
      return `the caller's callback address was told: ${told(text(decision?.['status']) ?? 'ended', 40)}`;
    case 'call.aborted':
    case 'call.abandoned':
      return `${tool} was closed without being executed${because(reasoning)}`;
    case 'deep_review_finding':
      return `deep review judged a call ${told(text(decision?.['verdict']) ?? 'without verdict', 40)}${deltaText(decision?.['brain_delta'])}${because(text(decision?.['reasoning']) ?? reasoning)}`;
    default: {
      const [subject, verb] = kind.split('.', 2) as [string, string | undefined];
      if (subject === 'agent' && verb !== undefined)
        return `the agent: ${told(verb.replaceAll('_', ' '), 64)}${because(reasoning)}`;
      return `${told(kind, 64)}${reportRow.signal === null ? '' : ` (${told(reportRow.signal, 64)})`}${because(reasoning)}`;
    }
  }
}

function verdictSummary(reportRow: ReportRow, tool: string): string {
  const why = because(reportRow.reasoning);
  const would = reportRow.decision?.['would'];
  if (would === 'deny' || would === 'pend')
    return `${tool} was let through; enforcing would have ${would === 'deny' ? 'denied it' : 'sent it to a person'}${why}`;
  const outcome = outcomeOf(reportRow);
  if (outcome === 'denied') return `${tool} was denied${why}`;
  return outcome === 'reviewed' ? `${tool} was sent to a person${why}` : `${tool} was allowed${why}`;
}

function executionSummary({ decision, reasoning }: ReportRow, tool: string): string {
  const by = decision?.['reconciled'];
  if (typeof by === 'string')
    return `a ${by === 'probe' ? 'probe' : 'person'} established that ${tool} ${decision?.['stage'] === 'completed' ? 'ran' : 'did not run'}${because(reasoning)}`;
  switch (decision?.['stage']) {
    case 'probed':
      return `a probe looked whether ${tool} ran${because(reasoning)}`;
    case 'step':
      return `one call of a batch${because(reasoning)}`;
    case 'completed':
      return `${tool} was executed`;
    case 'failed':
      return `${tool} was executed and answered with an error${because(reasoning)}`;
    case 'uncertain':
      return `nobody knows whether ${tool} ran${because(reasoning)}`;
    default:
      return `${tool} was not executed${because(reasoning)}`;
  }
}

const deltaText = (delta: unknown): string => {
  if (delta === 'Escalated') return ', graver than inspection did';
  return delta === 'Downgraded' ? ', milder than inspection did' : '';
};

export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export const times = (count: number): string => ['never', 'once', 'twice'][count] ?? `${count} times`;

/** `a`, `a and b`, or `a, b and c`. */
export const listed = (items: readonly string[]): string =>
  items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items.at(-1) as string}`;
