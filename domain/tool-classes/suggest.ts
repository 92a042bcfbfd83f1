import type { ToolClass } from '../../contracts/policy.js';
import type { ListedTool } from '../../contracts/tools.js';

export interface Suggestion {
  readonly tool: string;
  readonly class: ToolClass;
  readonly why: string;
}

/** Words that call for a closer look: money, access, secrets, machines, other people. */
const WEIGHTY: ReadonlySet<string> = new Set(
  (
    'pay payment payout charge refund transfer withdraw withdrawal deposit sepa ach wire invoice order buy purchase sell trade mint ' +
    'password passwd secret credential token key mfa otp permission role grant admin policy privilege invite ' +
    'exec execute eval run shell command terminal script process kubectl deploy rollout apply terraform migrate migration restore ' +
    'delete remove drop purge wipe truncate terminate kill cancel revoke disable reset ban suspend archive merge push publish release send'
  ).split(' '),
);
const JOINING: ReadonlySet<string> = new Set(['and', 'or', 'then', 'plus', 'to', 'into', 'sign']);
/** Fewest runs before a tool without problems is considered harmless. */
const SEEN_OFTEN = 3;

/**
 * Suggests classes for tools that were called but not classed, from their names and from how their calls ended in observe mode. A proposal
 * for a person; it changes nothing.
 */
export function suggestClasses(tools: readonly ListedTool[]): Suggestion[] {
  return tools.flatMap(
    ({ tool, class: classed, suspended, definition_sha256: definition, rule, lately }): Suggestion[] => {
      const calls = lately.ran + lately.asked + lately.denied + lately.failed;
      // No class lets a tool run that a rule denies by its name.
      if (classed !== null || suspended || calls === 0 || rule?.effect === 'denies') return [];
      const words = tool.match(/[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*/g)?.map((word) => word.toLowerCase()) ?? [];
      const weighty = words.find((word) => WEIGHTY.has(word) || WEIGHTY.has(word.replace(/s$/, '')));
      if (weighty !== undefined)
        return [{ tool, class: 'strict', why: `"${weighty}" is worth a close look at each call` }];
      if (lately.denied > 0)
        return [{ tool, class: 'review', why: `${lately.denied} of its calls were or would have been denied` }];
      // A name that joins actions or disguises letters is not a read because of one of its words.
      const odd =
        words.some((word) => JOINING.has(word)) || /[A-Za-z][0-9]+[a-z]/.test(tool) || !/^[\w./:-]+$/.test(tool);
      if (odd) return [{ tool, class: 'review', why: 'the name says more than one thing' }];
      // An agent can call any name, so a call proves nothing about a tool that no list has shown.
      if (definition === null) return [{ tool, class: 'review', why: 'no list of the upstream has shown it' }];
      // A name that clearly reads needs no class; any other tool may change something, whatever one of its words says.
      if (lately.ran >= SEEN_OFTEN && lately.failed === 0)
        return [
          { tool, class: 'change', why: `ran ${lately.ran} times, and may change something: look at what it does` },
        ];
      return [{ tool, class: 'review', why: `called fewer than ${SEEN_OFTEN} times: too seldom to say` }];
    },
  );
}
