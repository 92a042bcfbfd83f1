import { type ErrorCodeName, ERROR_CODES } from '../../contracts/error-codes.js';
import type { JsonObject } from '../../contracts/json.js';

interface Help {
  /** Whether a person can bring it about that this action is done. */
  readonly person: boolean;
  /** What would be allowed, or what to do instead. By code alone: it says nothing of what was found, or of where a limit lies. */
  readonly allowed: string;
}

const HELP: Partial<Record<ErrorCodeName, Help>> = {
  policy_denied: {
    person: false,
    allowed:
      'A call that none of the reasons is about. Nobody can approve this one; only an operator can change the rules or the class of the tool.',
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

/** What an agent can do about a refusal (docs/architecture/mcp-sessions.md#answers); `null` for a code that Gate does not have. */
export function adviceOf(code: string | null): JsonObject | null {
  if (code === null || !Object.hasOwn(ERROR_CODES, code)) return null;
  const name = code as ErrorCodeName;
  const help = HELP[name];
  return {
    retry: ERROR_CODES[name].retry,
    person_can_help: help?.person ?? false,
    ...(help && { allowed: help.allowed }),
  };
}
