import type { Json } from '../../../contracts/json.js';
import type { PolicyFile } from '../policy-files.js';
import { literal } from '../rule-metadata.js';

/** What rules and their documents compare facts with, in the order of the texts: where a verdict turns, as far as a text shows it. */
export interface Hints {
  readonly numbers: readonly number[];
  readonly words: readonly string[];
  /** Arguments that rules read by name. */
  readonly names: readonly string[];
}

export type RuleText = Pick<PolicyFile, 'name' | 'content_type' | 'body'>;

const MOST = { numbers: 40, words: 24, names: 16 };
/** A word that a rule compares with is short; reasons and patterns are long. */
const LONGEST_WORD = 40;
/** Strings, raw strings, comments, names with their path, numbers, and every other sign by itself. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|[^\s]/g;
const OF_ARGUMENTS = 'input.arguments';

export function hintsIn(texts: readonly RuleText[]): Hints {
  const [numbers, words, names] = [new Set<number>(), new Set<string>(), new Set<string>()];
  const word = (text: string): void => {
    if (text !== '' && text.length <= LONGEST_WORD && !text.includes('%')) words.add(text);
  };
  const inDocument = (value: Json): void => {
    if (typeof value === 'number') numbers.add(value);
    else if (typeof value === 'string') word(value);
    else if (value !== null && typeof value === 'object') for (const part of Object.values(value)) inDocument(part);
  };
  for (const { content_type: type, body } of texts) {
    if (type === 'json') {
      inDocument(JSON.parse(body) as Json);
      continue;
    }
    const tokens = body.match(TOKENS) ?? [];
    for (const [at, token] of tokens.entries()) {
      const text = literal(token);
      const isKey = (tokens[at - 1] === '[' || tokens[at - 1] === ',') && tokens[at - 2] === OF_ARGUMENTS;
      if (/^\d/.test(token)) numbers.add(Number(token));
      else if (token.startsWith(`${OF_ARGUMENTS}.`))
        names.add(token.slice(OF_ARGUMENTS.length + 1).split('.')[0] ?? '');
      else if (text !== null && isKey) names.add(text);
      else if (text !== null) word(text);
    }
  }
  return {
    numbers: [...numbers].slice(0, MOST.numbers),
    words: [...words].slice(0, MOST.words),
    names: [...names].slice(0, MOST.names),
  };
}
