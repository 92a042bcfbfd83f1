import type { Json } from '../../../contracts/json.js';
import type { PolicyFile } from '../policy-files.js';
import { literal } from '../rule-metadata.js';

/** What rules and their documents compare facts with, those of the rules that spoke first: where a verdict turns, as far as a text shows it. */
export interface Hints {
  readonly numbers: readonly number[];
  /** Those of the rules that spoke, and of what they read. */
  readonly near: readonly number[];
  readonly words: readonly string[];
  /** Arguments that rules read by name. */
  readonly names: readonly string[];
}

export type RuleText = Pick<PolicyFile, 'name' | 'content_type' | 'body'>;

const MOST = { numbers: 40, near: 40, words: 24, names: 16 };
/** A word that a rule compares with is short; reasons and patterns are long. */
const LONGEST_WORD = 40;
/** Strings, raw strings, comments, names with their path, numbers, and every other sign by itself. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|#[^\n]*|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|[^\s]/g;
const REASON = /^(?:Violation|Review):/;
const OF_ARGUMENTS = 'input.arguments';
/** Names of arguments are listed under such a name, by which rules find any one of them; and names of tools, which no argument is compared with. */
const FIELDS = /(?:^|_)fields$/;
const TOOLS = /(?:^|_)tools$/;
/** Of a list of words one is as good as another. */
const OF_A_LIST = 3;

/** `spoke`: the files whose rules spoke. */
export function hintsIn(texts: readonly RuleText[], spoke: ReadonlySet<string> = new Set()): Hints {
  const [numbers, words, names] = [new Set<number>(), new Set<string>(), new Set<string>()];
  const word = (text: string): void => {
    if (text !== '' && text.length <= LONGEST_WORD && !text.includes('%') && !REASON.test(text)) words.add(text);
  };
  const list = (under: string, members: readonly string[]): void => {
    if (FIELDS.test(under)) for (const name of members.slice(0, 1)) names.add(name);
    else if (!TOOLS.test(under)) for (const text of members.slice(0, OF_A_LIST)) word(text);
  };
  const inDocument = (value: Json, under = ''): void => {
    if (typeof value === 'number') numbers.add(value);
    else if (typeof value === 'string') word(value);
    else if (Array.isArray(value)) {
      list(
        under,
        value.filter((one) => typeof one === 'string'),
      );
      for (const part of value) if (typeof part !== 'string') inDocument(part, under);
    } else if (value !== null && typeof value === 'object')
      for (const [name, part] of Object.entries(value)) inDocument(part, name);
  };
  const inRules = (body: string): void => {
    const tokens = body.match(TOKENS) ?? [];
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at] ?? '';
      const text = literal(token);
      const isKey = (tokens[at - 1] === '[' || tokens[at - 1] === ',') && tokens[at - 2] === OF_ARGUMENTS;
      if (token === '[' || token === '{') {
        const members = stringsFrom(tokens, at + 1);
        if (members.length === 0 || (members.length === 1 && underIn(tokens, at) === '')) continue;
        list(underIn(tokens, at), members);
        at += 2 * members.length - 1;
      } else if (/^\d/.test(token)) numbers.add(Number(token));
      else if (token.startsWith(`${OF_ARGUMENTS}.`))
        names.add(token.slice(OF_ARGUMENTS.length + 1).split('.')[0] ?? '');
      else if (text !== null && isKey) names.add(text);
      // A key is what a value is called, and no value.
      else if (text !== null && !(tokens[at + 1] === ':' && tokens[at + 2] !== '=')) word(text);
    }
  };
  const documents = new Map(texts.flatMap((text) => (text.content_type === 'json' ? mountedIn(text) : [])));
  const rules = texts.filter(({ content_type: type }) => type === 'rego');
  const spoken = rules.filter(({ name }) => spoke.has(name));
  for (const { body } of spoken) inRules(body);
  for (const name of new Set(spoken.flatMap(({ body }) => body.match(READ) ?? [])))
    inDocument(documents.get(name.slice(READ_AT.length)) ?? null, name);
  const near = [...numbers].slice(0, MOST.near);
  for (const { name, body } of rules) if (!spoke.has(name)) inRules(body);
  for (const [name, document] of documents) inDocument(document, name);
  return {
    numbers: [...numbers].slice(0, MOST.numbers),
    near,
    words: [...words].slice(0, MOST.words),
    names: [...names].slice(0, MOST.names),
  };
}

const READ_AT = 'data.gate.';
const READ = /\bdata\.gate\.[A-Za-z_]\w{0,200}/g;
/** What stands in a document, by its name behind `data.gate`; the one that ships has many. */
function mountedIn({ name, body }: RuleText): [name: string, value: Json][] {
  const value = JSON.parse(body) as Json;
  const isOfFloor = name === 'data.json' && value !== null && typeof value === 'object' && 'gate' in value;
  return isOfFloor
    ? Object.entries((value as { readonly gate: { readonly [name: string]: Json } }).gate)
    : [[name.slice(0, -'.json'.length), value]];
}

/** The strings that stand there one behind the other, with commas between them. */
function stringsFrom(tokens: readonly string[], from: number): readonly string[] {
  const found: string[] = [];
  for (let at = from; ; at += 2) {
    const text = literal(tokens[at] ?? '');
    const behind = tokens[at + 1];
    if (text === null || (behind !== ',' && behind !== ']' && behind !== '}')) return found;
    found.push(text);
    if (behind !== ',') return found;
  }
}
/** What a list is called: `"amount_fields": [`, `amount_fields := [`, and by a function that takes names (`lib.given([`). */
function underIn(tokens: readonly string[], at: number): string {
  if (tokens[at - 1] === '(' && (tokens[at - 2] ?? '').startsWith('lib.'))
    return (tokens[at - 2] ?? '').startsWith('lib.tool_') ? 'tools' : 'fields';
  const name = tokens[at - 1] === '=' ? tokens[at - 3] : tokens[at - 1] === ':' ? tokens[at - 2] : undefined;
  return name === undefined ? '' : (literal(name) ?? name);
}
