import { parse } from 'yaml';

/** What a rule file says about one of its rules. */
export interface RuleMetadata {
  /** `deny`, `review`, or the name of a rule that has metadata. */
  readonly rule: string;
  /** The line at which it begins, with its metadata; the first is 1. */
  readonly line: number;
  readonly title: string | null;
  readonly description: string | null;
  /** The reason given to a call, whole; `%s` stands for what the rule fills in. */
  readonly reason: string | null;
}

/** The package of a rule file (`package a.b`), or null. */
export const packageOf = (body: string): string | null => /^package[ \t]+([\w.]+)[ \t]*$/m.exec(body)?.[1] ?? null;

/** The rules of a file that deny, ask for review, or carry metadata, in order (OPA's manual, "Annotations"). */
export function rulesOf(body: string): readonly RuleMetadata[] {
  const found: RuleMetadata[] = [];
  let annotation: string[] | null = null;
  let metadata: Readonly<Record<string, unknown>> = {};
  let begins: number | null = null;
  const lines = body.split('\n');
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('# METADATA')) {
      annotation = [];
      begins = at + 1;
    } else if (line.startsWith('#')) annotation?.push(line.slice(1).replace(/^ /, ''));
    else {
      if (annotation) metadata = annotated(annotation.join('\n'));
      annotation = null;
      const head = /^(?:default )?([a-z_]\w*)/.exec(line)?.[1];
      if (head === 'package') begins = null;
      if (head === undefined || head === 'package' || head === 'import') continue;
      const verdict = /^(?:deny|review) contains /.test(line);
      if (verdict || Object.keys(metadata).length > 0)
        found.push({
          rule: head,
          line: begins ?? at + 1,
          title: textOf(metadata['title']),
          description: textOf(metadata['description']),
          reason: verdict ? reasonIn(wholeRule(lines, at)) : null,
        });
      metadata = {};
      begins = null;
    }
  }
  return found;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function annotated(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Strings, raw strings, comments, names (with their path), and every other sign by itself. */
const TOKENS = /"(?:[^"\\]|\\.)*"|`[^`]*`|#[^\n]*|[A-Za-z_][\w.]*|[^\s]/g;
const REASON = /^["`](?:Violation|Review): /;

/** The string in a rule that starts like a reason: the reason itself, what it is formatted from, or all that it is joined from. */
function reasonIn(rule: string): string | null {
  const tokens = (rule.match(TOKENS) ?? []).filter((token) => !token.startsWith('#'));
  for (const [at, token] of tokens.entries()) {
    const words = REASON.test(token) ? literal(token) : null;
    if (words === null) continue;
    const begin = isFormat(tokens, at) ? at - 2 : at;
    const [name, open, separator = '', comma, list] = tokens.slice(Math.max(0, begin - 5), begin);
    if (`${name}${open}${comma}${list}` !== 'concat(,[') return begin === at ? words : formatted(words);
    return elementsFrom(tokens, begin).join(literal(separator) ?? PLACE);
  }
  return null;
}

const PLACE = '%s';
/** A percent sign, or a verb with its flags, width, precision and index (the manual of Go's package fmt, which Rego's sprintf is). */
const VERB = /%(?:%|[-+# 0-9.*[\]]*[A-Za-z])/g;

/** What a format says: a place for each verb. */
const formatted = (format: string): string => format.replaceAll(VERB, (verb) => (verb === '%%' ? '%' : PLACE));
const isFormat = (tokens: readonly string[], at: number): boolean =>
  at >= 2 && tokens[at - 2] === 'sprintf' && tokens[at - 1] === '(';
const DEPTH: Readonly<Record<string, number>> = { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 };

/** The elements of a list up to its end: what a literal says, and a place for everything else. */
function elementsFrom(tokens: readonly string[], begin: number): readonly string[] {
  const elements: string[][] = [[]];
  let depth = 0;
  for (const token of tokens.slice(begin)) {
    depth += DEPTH[token] ?? 0;
    if (depth < 0) break;
    if (token === ',' && depth === 0) elements.push([]);
    else elements.at(-1)?.push(token);
  }
  // A comma may stand after the last one.
  return elements.filter(({ length }) => length > 0).map((element) => wordsOf(element) ?? PLACE);
}

/** What a literal or a format by itself says. */
function wordsOf(tokens: readonly string[]): string | null {
  const [first = '', , format = ''] = tokens;
  if (tokens.length === 1) return literal(first);
  const words = isFormat(tokens, 2) && tokens.at(-1) === ')' ? literal(format) : null;
  return words && formatted(words);
}

/** What a string in quotes or backticks says; null for anything else, also with an escape of Rego that JSON does not have. */
export function literal(token: string): string | null {
  if (token.startsWith('`')) return token.slice(1, -1);
  if (!token.startsWith('"')) return null;
  try {
    return JSON.parse(token) as string;
  } catch {
    return null;
  }
}

/** The rule from its head to the closing bracket at the beginning of a line, or only the head. */
function wholeRule(lines: readonly string[], head: number): string {
  const last = (lines[head]?.match(TOKENS) ?? []).findLast((token) => !token.startsWith('#')) ?? '';
  if (!'{(['.includes(last) || last === '') return lines[head] ?? '';
  const end = lines.findIndex((line, at) => at > head && /^[})\]]/.test(line));
  return lines.slice(head, end < 0 ? head + 1 : end).join('\n');
}
