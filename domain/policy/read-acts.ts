import { eachText, lowered } from '../argument-texts.js';
import { ACTION_WORDS } from '../sql/words.js';

/** What the arguments of a call ask for beyond a read, each in a few words of Gate's own. Takes linear time and never throws. */
export function readActs(argumentsOfCall: unknown): readonly string[] {
  const acts = new Set<string>();
  eachText(argumentsOfCall, {
    text(text, path, isName) {
      const last = lowered(path.slice(-1))[0] ?? '';
      if (isName) {
        if (OPERATORS.has(text.toLowerCase())) acts.add('an operator that writes or runs code');
        else if (ACTIONS.has(last) && acting(text)) acts.add('an action');
        return;
      }
      if (METHODS.has(last.replaceAll(/[^a-z]/g, '')) && CHANGES.has(text.trim().toUpperCase()))
        acts.add('a request that changes what it reaches');
      if (ACTIONS.has(last) && acting(text)) acts.add('an action');
      if (ARGUMENTS.has(last) && writesFile(text.split(/\s/, MOST_WORDS))) acts.add('a file to write');
      if (text.includes('_by_query') && /_(?:delete|update)_by_query/.test(text))
        acts.add('a request that changes what it reaches');
      if (/^\s*mutation\b/.test(text.slice(0, HEAD)) && text.includes('{')) acts.add('a mutation');
    },
    list(items, path) {
      if (!ARGUMENTS.has(lowered(path.slice(-1))[0] ?? '')) return;
      // Behind an option may stand its value: -n prod delete.
      const heads = items[0]?.startsWith('-') ? items.slice(0, HEADS) : items.slice(0, 1);
      if (heads.some(acting)) acts.add('an action');
      if (writesFile(items)) acts.add('a file to write');
    },
  });
  return [...acts].toSorted();
}

const HEAD = 256;
/** The first arguments, where options come before the action. */
const HEADS = 5;
const MOST_WORDS = 256;
const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const OPERATORS = names('$out $merge $where $function $accumulator dropdatabase');
const METHODS = names('method httpmethod requestmethod httpverb');
const CHANGES = names('POST PUT PATCH DELETE MERGE MOVE COPY PURGE CONNECT TRACE MKCOL LINK UNLINK PROPPATCH');
const ACTIONS = names('action op operation command cmd subcommand verb');
const ARGUMENTS = names('args argv arguments flags options');

/** Nouns and prepositions among the action words, and what a search is told: "index", "out", "script". */
const NO_DEED = names('index out script copy call debug move load call run set import touch restore install write add');

/** Whether a text begins with what an order begins with: `delete`, `dropDatabase`, `drop_database now`. */
function acting(text: string): boolean {
  const [first = ''] = text.slice(0, HEAD).trimStart().split(/\s/, 1);
  if (first.length > 32) return false;
  if (ACTION_WORDS.has(first.toLowerCase())) return !NO_DEED.has(first.toLowerCase()) || /\s\S/.test(text.trim());
  const [verb = ''] = first
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]/, 1);
  return verb !== first.toLowerCase() && ACTION_WORDS.has(verb);
}

/** `--output=/etc/x`, `--output ../x`: a path, not the name of a format. */
function writesFile(words: readonly string[]): boolean {
  return words.some((word, at) => {
    if (!word.startsWith('--output')) return false;
    const equals = word.indexOf('=');
    return /^[/~.]|^[a-z]:/i.test(equals < 0 ? (words[at + 1] ?? '') : word.slice(equals + 1));
  });
}
