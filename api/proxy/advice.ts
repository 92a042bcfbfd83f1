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
  tool_unknown: { person: false, allowed: 'A tool, prompt or resource under its name in the list.' },
  tool_definition_changed: {
    person: true,
    allowed: 'The same action under a new request: the tool is then reviewed as it is now.',
  },
  policy_changed: { person: true, allowed: 'The same action under a new request, judged by the rules of now.' },
};

/**
 * What would be allowed instead, by the rule that denied: the beginning of its reason, which the agent is told beside it. It says nothing of what was
 * found, where a limit lies, or how a detector is passed. Rules that work with texts of models, or with what an agent did before, say the same
 * whatever they saw.
 */
const INSTEAD: readonly (readonly [reason: string, allowed: string])[] = [
  ['raw SQL execution', 'The same data by a tool that is made for it and takes no SQL.'],
  ['shell execution', 'The same work by a tool that is made for it and runs no commands.'],
  ['destructive tools', 'A tool that reads, adds or changes, and removes nothing.'],
  ['destructive SQL statement', 'The same call without a statement that removes or empties something.'],
  ['a shell command', 'The same call without a command in its arguments.'],
  ['identity permission rewrites', 'Reading who may do what; who may change it does so outside of Gate.'],
  ['the operator denied this tool', 'Another tool: this one is allowed to nobody until an operator classes it anew.'],
  ['Bulk export', 'The same call in business hours.'],
  ['the budget of this agent', 'The same call once the budget begins anew, or an operator raised it.'],
  ['Token velocity: more calls', 'The same call after the time that the reason names.'],
  ['kill chain', 'A call that sends nothing out.'],
  ['prompt injection', 'A call whose arguments are data alone.'],
  ['Intent score', 'A call whose arguments are data alone.'],
  ['persona drift', 'A call of the kind that this agent makes; an operator can change what that is.'],
];
const VIOLATION = 'Violation: ';
/** Reasons of templates name their rule, and say at their end what to do: `Violation: rule: what; what to do.` */
const TO_DO = '; ';
/** The first of them are enough to act on. */
const MOST_SAID = 3;

function isNamed(words: string): boolean {
  const end = words.indexOf(': ');
  return end > 0 && !words.slice(0, end).includes(' ');
}

/** What would be allowed by the rules whose reasons these are; `null` where none of them says that. */
function insteadOf(reasons: readonly unknown[]): string | null {
  const said = reasons.flatMap((reason) => {
    if (typeof reason !== 'string' || !reason.startsWith(VIOLATION)) return [];
    const words = reason.slice(VIOLATION.length);
    const known = INSTEAD.find(([beginning]) => words.startsWith(beginning))?.[1];
    const at = words.lastIndexOf(TO_DO);
    const own = at < 0 || !isNamed(words) ? '' : words.slice(at + TO_DO.length);
    return known ?? (own === '' ? [] : `${own.charAt(0).toUpperCase()}${own.slice(1)}`);
  });
  return said.length === 0 ? null : [...new Set(said)].slice(0, MOST_SAID).join(' ');
}

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
