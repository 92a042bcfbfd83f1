import { names } from '../argument-names.js';

export type GraphAct = 'graph_removal' | 'graph_change';

/**
 * What a text of Cypher does to a graph beyond a read; null for a text that reads, and for one that is no Cypher: it has a pattern behind one of
 * the words that are followed by one. Comments and strings are skipped as Cypher skips them, in linear time.
 */
export function graphAct(text: string): GraphAct | null {
  if (!text.includes('(') || !CLAUSE.test(text)) return null;
  const tokens = new Tokens(text);
  let isCypher = false;
  let act: GraphAct | null = null;
  for (let token = tokens.next(); token !== undefined; token = tokens.next()) {
    const { word, before } = token;
    // `n.set`, `:Delete` and `$merge` are names.
    if (before === '.' || before === ':' || before === '$') continue;
    if (READS_PATTERN.has(word) && tokens.areNext(PATTERN)) isCypher = true;
    else if (WRITES_PATTERN.has(word) && tokens.areNext(NEW_PATTERN)) {
      isCypher = true;
      act ??= 'graph_change';
    } else if (word === 'delete' && tokens.areNext(NAME)) act = 'graph_removal';
    else if ((word === 'set' || word === 'remove') && tokens.areNext(MEMBER)) act ??= 'graph_change';
  }
  return isCypher ? act : null;
}

const CLAUSE = /delete|set|remove|merge|create/i;
const READS_PATTERN = names('match');
const WRITES_PATTERN = names('merge create');
/** Nobody writes more signs than this between a word and what shows its sense. */
const AHEAD = 8;
type Shape = RegExp;
/** Of the next tokens, each a word as `w`, a text as `s`, else as it stands. `(n:Person`, `p = (n)`, `(`name`` */
const PATTERN: Shape = /^(?:w=)?(?:w\()?\(w?[:){w]/;
const NEW_PATTERN: Shape = /^(?:w=)?\((?:w?[:{]|w?\)(?:$|[-<[,;]))/;
const NAME: Shape = /^w(?:$|[,;)}w[.(])/;
const MEMBER: Shape = /^(?:\(w\)|w)(?:[.:=[]|\+=)/;

const TOKEN =
  /\/\/[^\n\r]*|\/\*[^*]*(?:\*(?!\/)[^*]*)*(?:\*\/|$)|"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|`[^`]*`?|\w+|[^\s\w]/g;

/** The words of a text, with what stands around them. */
class Tokens {
  readonly #all: readonly string[];
  #at = -1;

  constructor(text: string) {
    this.#all = Array.from(text.matchAll(TOKEN), ([token]) => token).filter((token) => !/^\/[/*]/.test(token));
  }

  next(): { readonly word: string; readonly before: string } | undefined {
    for (this.#at += 1; this.#at < this.#all.length; this.#at += 1) {
      const token = this.#all[this.#at] as string;
      if (/^[A-Za-z]/.test(token)) return { word: token.toLowerCase(), before: this.#all[this.#at - 1] ?? '' };
    }
    return undefined;
  }

  areNext(shape: Shape): boolean {
    const ahead = this.#all.slice(this.#at + 1, this.#at + 1 + AHEAD);
    return shape.test(ahead.map(shortOf).join(''));
  }
}

const shortOf = (token: string): string =>
  /^[\w`]/.test(token) ? 'w' : token.startsWith('"') || token.startsWith("'") ? 's' : token;
