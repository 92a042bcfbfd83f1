import type { InspectedTexts } from '../inspection/texts.js';

/**
 * Signs that a definition is written for a model behind its user's back, beside the phrases that the inspector knows everywhere: what it asks
 * for no tool needs, or it rules other tools, or it is kept out of sight (docs/architecture/requests-and-answers.md#tool-definitions). Read word by
 * word, so in time proportional to the text. `known` are names that a text may tell of beside its own. Returns the names of the rules that found
 * something.
 */
export function poisonIn(
  name: string,
  inspected: InspectedTexts,
  known: ReadonlySet<string> = new Set(),
): readonly string[] {
  const words = inspected.words.trim().split(' ');
  const finds = signsIn(words, othersNamedIn(name, inspected, known));
  const found = new Set<string>();
  const { secrets, context, conceals, first, threatens, rulesOthers } = finds;
  const tags = tagsIn(inspected.plain);
  const pressed = first || threatens || tags.block;
  if (secrets.carried || (secrets.read && (pressed || conceals))) found.add('asks_for_secrets');
  if (context && (pressed || conceals)) found.add('asks_for_context');
  if (conceals && (pressed || secrets.read || rulesOthers)) found.add('hidden_from_user');
  if (rulesOthers) found.add('rules_other_tools');
  if (tags.speaker) found.add('speaker_tag');
  if (inspected.texts.some(({ hidden, text }) => hidden && lettersIn(text) >= HIDDEN_LETTERS)) found.add('hidden_text');
  if (inspected.texts.some(({ text }) => isPadded(text))) found.add('padded_text');
  return [...found].toSorted();
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(' '));
/** Rows of words, by their first one. */
type Rows = ReadonlyMap<string, readonly (readonly string[])[]>;
function rowsOf(rows: readonly (readonly string[])[]): Rows {
  const byFirst = new Map<string, (readonly string[])[]>();
  for (const row of rows) byFirst.set(row[0] as string, [...(byFirst.get(row[0] as string) ?? []), row]);
  return byFirst;
}
const sequences = (...texts: string[]): Rows => rowsOf(texts.map((text) => text.split(' ')));

const READS = setOf('read open cat load access fetch retrieve get print view extract collect gather copy obtain find');
const CARRIES = setOf(
  'pass send put include provide append attach submit supply upload forward post paste insert add store place transmit encode',
);
const CONTENTS = setOf('content contents');
/** What no tool has to be told the contents of: keys, and files that hold them. */
const SECRETS = sequences(
  'id rsa',
  'id ed25519',
  'id ecdsa',
  'id dsa',
  'ssh key',
  'ssh keys',
  'ssh config',
  'private key',
  'private keys',
  'aws credentials',
  'git credentials',
  'netrc',
  'npmrc',
  'pgpass',
  'etc shadow',
  'etc passwd',
  'kube config',
  'docker config',
  'mcp json',
  'desktop config json',
  'env file',
  'bash history',
  'environment variables',
  'seed phrase',
  'wallet dat',
  'keychain',
  'browser cookies',
  'saved passwords',
);
/** What a model knows and a tool has no business with. */
const CONTEXT = sequences(
  'system prompt',
  'chain of thought',
  'conversation history',
  'chat history',
  'full conversation',
  'entire conversation',
  'whole conversation',
  'previous messages',
  'earlier messages',
  'list of tools',
);
const CONCEALED = setOf(
  'tell telling mention mentioning inform informing disclose disclosing alert alerting notify notifying let',
);
const NOT = sequences('do not', 'dont', 'never', 'must not', 'should not', 'without', 'not to');
const PEOPLE = setOf('user users human humans customer person people anyone anybody');
const FIRST = sequences('before', 'prior to', 'whenever', 'every time', 'each time', 'when', 'after');
const USES = setOf('using calling invoking running use call invoke run executing');
const OTHERWISE = sequences('otherwise', 'or else', 'if you do not', 'if you dont', 'if this is not');
const FAILS = setOf('fail fails crash crashes break breaks lock locked lost deleted refuse refuses blocked work works');
const RULES = setOf('when whenever if must always every each all any before');
const REDIRECTS = setOf('bcc cc recipient recipients redirect reroute forward copy replace instead regardless proxy');

/** How many words may stand between the parts of one order. */
const NEAR = 8;
const SAME_ORDER = 25;
const HIDDEN_LETTERS = 8;

interface Signs {
  readonly secrets: { readonly read: boolean; readonly carried: boolean };
  readonly context: boolean;
  readonly conceals: boolean;
  /** Asks for something before a tool is used. */
  readonly first: boolean;
  readonly threatens: boolean;
  readonly rulesOthers: boolean;
}

function signsIn(words: readonly string[], others: Rows): Signs {
  const starts = (some: Rows, at: number): number =>
    some.get(words[at] as string)?.find((one) => one.every((word, index) => words[at + index] === word))?.length ?? 0;
  /** Whether one of these words stands within so many words of a place; before it with a negative number. */
  const near = (some: ReadonlySet<string>, at: number, reach: number): boolean =>
    words.slice(Math.max(0, Math.min(at, at + reach)), Math.max(at, at + reach) + 1).some((word) => some.has(word));
  const secrets = { read: false, carried: false };
  let [context, conceals, first, threatens, rulesOthers] = [false, false, false, false, false];
  for (let at = 0; at < words.length; at += 1) {
    if (starts(SECRETS, at) > 0) {
      const read = near(READS, at, -NEAR);
      secrets.read ||= read;
      secrets.carried ||=
        (read && near(CARRIES, at, SAME_ORDER)) || (near(CARRIES, at, -NEAR) && near(CONTENTS, at, -NEAR));
    }
    context ||= starts(CONTEXT, at) > 0 && (near(CARRIES, at, -NEAR) || near(READS, at, -NEAR));
    const not = starts(NOT, at);
    conceals ||=
      not > 0 &&
      words
        .slice(at + not, at + not + 3)
        .some((word, index) => CONCEALED.has(word) && near(PEOPLE, at + not + index, NEAR));
    const when = starts(FIRST, at);
    first ||= when > 0 && near(USES, at + when, 2) && near(TOOL, at + when, NEAR);
    threatens ||= starts(OTHERWISE, at) > 0 && near(TOOL, at, NEAR) && near(FAILS, at, 2 * NEAR);
    rulesOthers ||=
      starts(others, at) > 0 &&
      (near(RULES, at, -NEAR) || near(RULES, at, NEAR)) &&
      near(REDIRECTS, at, SAME_ORDER) &&
      near(CHANGES, at, SAME_ORDER);
  }
  return { secrets, context, conceals, first, threatens, rulesOthers };
}
const TOOL = setOf('tool tools function functions');
const CHANGES = setOf(
  'add adds set use send sent sends change replace include append must always modify bcc cc forward redirect',
);

/** The names of other tools in a definition, as words: what is written like a name, and is neither its own nor one of its members. */
function othersNamedIn(name: string, { texts }: InspectedTexts, known: ReadonlySet<string>): Rows {
  const own = new Set([name, ...known, ...texts.filter(({ role }) => role === 'key').map(({ text }) => text)]);
  const named = texts
    .filter(({ role }) => role === 'value')
    .flatMap(({ text }) => text.split(/[^A-Za-z0-9_]/))
    .filter((word) => /[A-Za-z0-9]_[A-Za-z0-9]/.test(word) && !own.has(word));
  const some = [...new Set(named)].slice(0, MOST_NAMES).map(asWords);
  return rowsOf([...OTHER_TOOLS, ...some.filter((row) => row.length > 0)]);
}
const MOST_NAMES = 200;
const OTHER_TOOLS = ['other tool', 'other tools', 'another tool', 'mail tool', 'email tool'].map((text) =>
  text.split(' '),
);
const asWords = (name: string): readonly string[] =>
  name
    .toLowerCase()
    .split('_')
    .filter((word) => word !== '');

/** Tags as the templates of models have them: some speak for somebody, others only press. */
function tagsIn(plain: string): { readonly speaker: boolean; readonly block: boolean } {
  let [speaker, block] = [false, false];
  for (let at = plain.indexOf('<'); at !== -1; at = plain.indexOf('<', at + 1)) {
    const end = plain.indexOf('>', at);
    if (end === -1) break;
    if (end - at > LONGEST_TAG) continue;
    const tag = plain.slice(at + 1, end).trim();
    speaker ||= SPEAKERS.has(tag);
    block ||= BLOCKS.has(tag);
  }
  return { speaker, block };
}
const LONGEST_TAG = 24;
const SPEAKERS = setOf(
  'system assistant developer admin secret hidden system_prompt system-prompt system_instructions',
);
const BLOCKS = setOf('important critical instruction instructions warning note mandatory required urgent rules');

const lettersIn = (text: string): number => Array.from(text).filter((character) => /\p{L}/u.test(character)).length;

/** Text moved out of sight: behind a row of blanks, or of empty lines. */
function isPadded(text: string): boolean {
  let [blanks, lines] = [0, 0];
  for (const character of text) {
    if (character === '\n') {
      lines += 1;
      blanks = 0;
    } else if (BLANK.test(character)) blanks += 1;
    else {
      if (blanks >= MANY_BLANKS || lines >= MANY_LINES) return true;
      [blanks, lines] = [0, 0];
    }
  }
  return false;
}
const BLANK = /[\s\u2800\u3164\u200b-\u200f\u2060-\u2064\ufeff]/;
const MANY_BLANKS = 100;
const MANY_LINES = 20;
