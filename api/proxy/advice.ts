import { type ErrorCodeName, ERROR_CODES } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';

interface Help {
  /** Whether a person can bring it about that this action is done. */
  readonly person: boolean;
  /** What would be allowed, or what to do instead. It says nothing of what was found, or of where a limit lies. */
  readonly allowed: string;
}

const NOBODY = 'Nobody can approve this one; only an operator can change the rules or the class of the tool.';
const HELP: Partial<Record<ErrorCodeName, Help>> = {
  policy_denied: {
    person: false,
    allowed: `A call that none of the reasons is about. ${NOBODY}`,
  },
  review_denied: {
    person: false,
    allowed: 'Another call, which is judged and may wait again. The person who decided has said no to this one.',
  },
  review_expired: {
    person: true,
    allowed: 'The same action under a new request, while somebody is there who may decide it.',
  },
  call_withdrawn: { person: true, allowed: 'The same action under a new request, which waits again.' },
  review_backlog_full: { person: true, allowed: 'A new call once some of those that wait are decided or withdrawn.' },
  rate_limited: { person: false, allowed: 'The same action after the wait.' },
  server_execution_uncertain: {
    person: true,
    allowed: 'Nothing that would do the same again, until a person or a read has shown whether it happened.',
  },
  upstream_unreachable: {
    person: false,
    allowed: 'The same action under a new request, once the upstream answers again.',
  },
  tool_unknown: { person: false, allowed: 'A tool, prompt or resource under its name in the list.' },
  tool_definition_changed: {
    person: true,
    allowed: 'The same action under a new request: the tool is then reviewed as it is now.',
  },
  policy_changed: { person: true, allowed: 'The same action under a new request, judged by the rules of now.' },
};

/** What a rule that denied would allow: another call, or the same one, in other words or at another time. */
type Instead = { readonly call: string } | { readonly without: string } | { readonly when: string };

/**
 * What would be allowed instead, by the rule that denied: the beginning of its reason, which the agent is told beside it. It says nothing of what was
 * found, where a limit lies, or how a detector is passed. Rules that work with texts of models, or with what an agent did before, say the same
 * whatever they saw.
 */
const INSTEAD: readonly (readonly [reason: string, instead: Instead])[] = [
  ['raw SQL execution', { call: 'The same data by a tool that is made for it and takes no SQL.' }],
  ['shell execution', { call: 'The same work by a tool that is made for it and runs no commands.' }],
  ['destructive tools', { call: 'A tool that reads, adds or changes, and removes nothing.' }],
  ['destructive SQL statement', { without: 'without a statement that removes or empties something' }],
  ['a shell command', { without: 'without a command in its arguments' }],
  ['identity permission rewrites', { call: 'Reading who may do what; who may change it does so outside of Gate.' }],
  [
    'the operator denied this tool',
    { call: 'Another tool: this one is allowed to nobody until an operator classes it anew.' },
  ],
  [
    'this tool needs an agent whose platform',
    { when: 'once the platform of the agent was attested, which its operator brings about' },
  ],
  ['Bulk export', { when: 'in business hours' }],
  ['the budget of this agent', { when: 'once the budget begins anew or an operator raised it' }],
  ['Token velocity: more calls', { when: 'after the time that the reason names' }],
  ['kill chain', { call: 'A call that sends nothing out.' }],
  ['prompt injection', { call: 'A call whose arguments are data alone.' }],
  ['Intent score', { call: 'A call whose arguments are data alone.' }],
  ['persona drift', { call: 'A call of the kind that this agent makes; an operator can change what that is.' }],
];
const VIOLATION = 'Violation: ';
/** By this rule inspection refuses. What it says itself stands before the reasons of the rules. */
const OF_INSPECTION = `${VIOLATION}Intent score`;
/** Reasons of templates name their rule, and say at their end what to do: `Violation: rule: what; what to do.` */
const TO_DO = '; ';
/** Who has to heed more than these at once is told the reasons alone. */
const MOST_SAID = 3;

function isNamed(words: string): boolean {
  const end = words.indexOf(': ');
  return end > 0 && !words.slice(0, end).includes(' ');
}

/** `null` where the rule does not say it. */
function insteadBy(reason: unknown): Instead | null {
  if (typeof reason !== 'string' || !reason.startsWith(VIOLATION)) return null;
  const words = reason.slice(VIOLATION.length);
  const known = INSTEAD.find(([beginning]) => words.startsWith(beginning))?.[1];
  if (known) return known;
  const at = words.lastIndexOf(TO_DO);
  const own = at < 0 || !isNamed(words) ? '' : words.slice(at + TO_DO.length);
  return own === '' ? null : { call: `${own.charAt(0).toUpperCase()}${own.slice(1)}` };
}

/**
 * What would be allowed by all the rules whose reasons these are; `null` where one of them does not say that, since it would still deny. One that was
 * denied stays so under its id, so the same call at another time is a new request.
 */
function insteadOf(reasons: readonly unknown[]): string | null {
  const [first, ...rules] = reasons;
  const isInspected = typeof first === 'string' && !first.startsWith(VIOLATION) && rules.some(isOfInspection);
  const said = (isInspected ? rules : reasons).map(insteadBy);
  if (said.length === 0 || said.includes(null)) return null;
  const calls = new Set<string>();
  const [without, when] = [new Set<string>(), new Set<string>()];
  for (const one of said as readonly Instead[])
    if ('call' in one) calls.add(one.call);
    else if ('without' in one) without.add(one.without);
    else when.add(one.when);
  const conditions = [...without, ...when];
  if (calls.size + conditions.length > MOST_SAID) return null;
  if (calls.size === 0)
    return `The same call ${conditions.join(', and ')}${when.size > 0 ? ', as a new request' : ''}.`;
  const sentences = [...calls, ...(conditions.length > 0 ? [`And only ${conditions.join(', and ')}.`] : [])];
  return `${sentences.length > 1 ? 'All of this at once: ' : ''}${sentences.join(' ')}`;
}
const isOfInspection = (reason: unknown): boolean => typeof reason === 'string' && reason.startsWith(OF_INSPECTION);

/**
 * What an agent can do about a refusal (docs/architecture/mcp-sessions.md#answers); `null` for a code that Gate does not have. `reasons` are those
 * that it is told.
 */
export function adviceOf(code: string | null, reasons: readonly unknown[] = []): JsonObject | null {
  if (code === null || !Object.hasOwn(ERROR_CODES, code)) return null;
  const name = code as ErrorCodeName;
  const help = HELP[name];
  const instead = name === 'policy_denied' ? insteadOf(reasons) : null;
  return {
    retry: ERROR_CODES[name].retry,
    person_can_help: help?.person ?? false,
    ...(help && { allowed: instead === null ? help.allowed : `${instead} ${NOBODY}` }),
  };
}
