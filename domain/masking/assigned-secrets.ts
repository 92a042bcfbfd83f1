import { endsInSpokenName, isAmbiguous, mayBeNumber, namesSecretItself, SCHEME } from './secret-names.js';

/** A value in a text that stands behind the name of a secret, without its quotes. */
export interface AssignedSecret {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const LONGEST_NAME = 64;
const LONGEST_VALUE = 4_096;
const LONGEST_GAP = 64;
const GAP = 4;
const SHORTEST = 4;
const SHORTEST_NUMBER = 3;
const MOST_IN_LIST = 64;
/** What stands between a name and its value: a sign, or the blank behind a flag and before the password of a statement. `::` is none. */
const SIGN = /::|:=|={1,3}>?|[:：﹕＝﹦]|--[\w-]{1,64}(?=[ \t])|\b(?:password|identified by)(?=[ \t]{1,8}')/gi;
const COLON = /^[:：﹕]$/;
const NAME = /[\p{L}\p{N}_-]/u;
const QUOTES = /["'\\`]/;
/** Quotes before a value, escaped where they stand in JSON that is a text. */
const OPENING = /^(?:\\{0,3}["'`]){1,3}/;
const ASSIGNS_QUOTED = /^[ \t]{0,8}[[\\"'`]/;
const BLANK = /[ \t]/;
const BLANK_OR_LINE = /[ \t\r\n]/;
/** Behind the name in `os.environ["PASSWORD"]` and `password?`. */
const BEHIND_NAME = /[\]?!]/;
/** Without quotes a shell, SQL, a cookie and a connection string go on to something else behind `;`, and a shell behind `|`, `<` and `>`. */
const ENDS_VALUE = /[\s"'`&{}\\;|<>]/;
/** A comma ends a value only where something else follows, or nothing. */
const FOLLOWS = /^(?:$|[\s"'`[({]|[\w.-]{1,64}[ \t]{0,4}[=:])/;
/** As manuals write what somebody is to put there. */
const IN_BRACKETS = /^<[^\s<>"'`&;|\\{}]{1,200}>(?![^\s,;.)])/;
const IS_COOKIE = /cookie$/i;
const COOKIES = /^[\w.-]{1,64}=[^\s;"'`\\|<>]{0,4096}(?:;[ \t]{0,8}[\w.-]{1,64}=[^\s;"'`\\|<>]{0,4096}){0,64}/;
/** What Gate itself writes where something was taken out. */
const SENTINEL =
  /^\[(?:SECRET|MASKED|CREDIT_CARD|CC|SSN|EMAIL|API_TOKEN|PRIVATE_KEY|PEM_PRIVATE_KEY|DB_URI|AWS_ACCESS_KEY|AWS_ACCESS_KEY_ID|JWT|TOKEN|IPV4|IBAN)\]/;
/** A type of a language, where one may stand behind a name. */
const TYPE =
  /^(?:str|string|String|&str|bytes|bytearray|char|text|varchar|any|unknown|object|number|int|integer|float|bool|boolean|null|None|nil|undefined|true|false|True|False|Secret|SecretStr|SecretString|(?:Optional|Option|Annotated|Secret|List|list|Array|Vec|Set|set)[[<][\w<>[\]., |&]{0,64})$/;
const ENDS_TYPE = /^[\s\]>]{0,8}(?:\| ?(?:null|undefined|None))?\s{0,8}$/;
/** What is read where the program runs: a call, a member, `${…}`. */
const CALLS =
  /^(?:await |new )?(?:[A-Za-z_$][A-Za-z_$.]{0,80})?\([^()\n]{0,200}(?:\([^()\n]{0,100}\)[^()\n]{0,100}){0,8}\)(?![^\s;,.!?:)\]}"'`])/;
const REFERS = /^\$(?:[({]|[A-Z_][A-Z\d_]{0,63}(?![^\s"'`,;:)&]))/;

/**
 * Secrets that a text assigns: `password=…`, `"api_key": "…"` also where it is escaped or in a list, `password: str = "…"`, `Authorization:
 * Bearer …`, `Cookie: …`, `--token …`, and the password of `https://user:…@host`. In order, in time linear in the text.
 */
export function* assignedSecrets(text: string): Generator<AssignedSecret> {
  let from = 0;
  const isSecret = remembered(namesSecretItself);
  // `password: string` says what comes behind the next sign.
  let declared: { readonly name: string; readonly end: number } | undefined;
  for (const { 0: sign, index } of text.matchAll(SIGN)) {
    if (index < from || sign === '::') continue;
    const isFlag = /^(?:--|[a-z])/i.test(sign);
    const typed =
      sign === '=' && declared !== undefined && ENDS_TYPE.test(text.slice(declared.end, index).slice(0, 32));
    const name = typed && declared !== undefined ? declared.name : isFlag ? nameOfFlag(sign) : nameBefore(text, index);
    declared = undefined;
    if (!typed && !isFlag && !isSecret(name) && isSpoken(text, index)) {
      for (const found of valuesFrom(text, index + sign.length, name, COLON.test(sign))) {
        // `Private key: see the wiki` says where it is.
        if (!/\d/.test(text.slice(found.start, found.end))) continue;
        from = found.end;
        yield { ...found, name: 'secret' };
      }
      continue;
    }
    if (!(typed || isSecret(name))) {
      const found = sign === ':' ? passwordOfUrl(text, index) : null;
      if (found === null) continue;
      from = found.end;
      yield found;
      continue;
    }
    // `echo token=> file`: a shell writes there. Who assigns with `=>` puts the name in quotes, a blank before the sign, or the value in quotes.
    const writes =
      sign.endsWith('>') &&
      NAME.test(text[index - 1] ?? '') &&
      !ASSIGNS_QUOTED.test(text.slice(index + sign.length, index + sign.length + 16));
    if (writes) continue;
    for (const found of valuesFrom(text, index + sign.length, name, COLON.test(sign))) {
      from = found.end;
      const value = text.slice(found.start, found.end);
      if (COLON.test(sign)) declared = { name, end: found.end };
      if (TYPE.test(value) || (isAmbiguous(name) && !isLikeToken(name, value))) continue;
      yield found;
    }
  }
}

/** A text has the same few names again and again. */
const MOST_REMEMBERED = 1_024;
function remembered(isSecret: (name: string) => boolean): (name: string) => boolean {
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const is = isSecret(name);
    if (known.size < MOST_REMEMBERED) known.set(name, is);
    return is;
  };
}

const nameOfFlag = (sign: string): string => (sign.startsWith('--') ? sign : 'password');
const isSpoken = (text: string, sign: number): boolean =>
  endsInSpokenName(text.slice(Math.max(0, sign - LONGEST_NAME), sign).trimEnd());

const back = (text: string, at: number, most: number, is: RegExp): number => {
  let start = at;
  while (start > 0 && at - start < most && is.test(text[start - 1] as string)) start -= 1;
  return start;
};
const ahead = (text: string, at: number, most: number, is: (unit: string) => boolean): number => {
  let end = at;
  while (end < text.length && end - at < most && is(text[end] as string)) end += 1;
  return end;
};

function nameBefore(text: string, sign: number): string {
  const behind = back(text, back(text, sign, LONGEST_GAP, BLANK), GAP, BEHIND_NAME);
  const end = back(text, behind, GAP, QUOTES);
  const start = back(text, end, LONGEST_NAME, NAME);
  // `[SSN]: …` is what was taken out, and no name.
  return text[start - 1] === '[' && SENTINEL.test(text.slice(start - 1, start + 60)) ? '' : text.slice(start, end);
}

/** Whether a value is one that a secret has rather than a word, a path or a count. */
export const isLikeToken = (name: string, value: string): boolean =>
  isDigits(value) ? mayBeNumber(name) && value.length >= SHORTEST_NUMBER : isMixed(value);
const isDigits = (value: string): boolean => value !== '' && !/\D/.test(value);
const isMixed = (value: string): boolean =>
  !/\s/.test(value) && !/^[.~]{0,2}\//.test(value) && /[^\p{L}_.,:;!?-]/u.test(value);

function* valuesFrom(text: string, sign: number, name: string, isColon: boolean): Generator<AssignedSecret> {
  let begins = ahead(text, sign, LONGEST_GAP, (unit) => BLANK.test(unit));
  const line = isColon ? /^[|>]?[+-]?\r?\n/.exec(text.slice(begins, begins + 4)) : null;
  if (line !== null) {
    begins = ahead(text, begins + line[0].length, LONGEST_GAP, (unit) => BLANK_OR_LINE.test(unit));
    if (text.startsWith('- ', begins)) begins += 2;
    const found = valueFrom(text, begins, name);
    const value = found === null ? '' : text.slice(found.start, found.end);
    if (found !== null && isMixed(value) && !/^[\w.-]{1,64}(?:=|:$)/.test(value)) yield found;
    return;
  }
  if (text[begins] !== '[') {
    const found = valueFrom(text, begins, name);
    if (found !== null) yield found;
    return;
  }
  const item = ahead(text, begins + 1, LONGEST_GAP, (unit) => BLANK_OR_LINE.test(unit));
  if (!QUOTES.test(text[item] ?? '')) {
    const found = valueFrom(text, begins, name);
    if (found !== null) yield found;
    return;
  }
  begins = item;
  for (let count = 0; count < MOST_IN_LIST; count += 1) {
    const found = valueFrom(text, begins, name);
    if (found !== null) yield found;
    const end = found?.end ?? begins;
    const next = ahead(text, end, LONGEST_GAP, (unit) => BLANK_OR_LINE.test(unit) || QUOTES.test(unit) || unit === ',');
    if (found === null || !text.slice(end, next).includes(',') || !QUOTES.test(text[next - 1] ?? '')) return;
    begins = back(text, next, GAP, QUOTES);
  }
}

function valueFrom(text: string, at: number, name: string): AssignedSecret | null {
  // `<b>password:</b> …`
  const tag = /^<\/[a-z]{1,16}>[ \t]{0,8}/i.exec(text.slice(at, at + 32));
  const begins = at + (tag?.[0].length ?? 0);
  const start = begins + (OPENING.exec(text.slice(begins, begins + 16))?.[0].length ?? 0);
  if (SENTINEL.test(text.slice(start, start + 60))) return null;
  if (start > begins) {
    // Nothing stands between `""`.
    if (/^(\\?["'`])\1$/.test(text.slice(begins, start))) return null;
    const end = endOfQuoted(text, start, text[begins] === '\\');
    return end - start < 1 ? null : { name, start, end };
  }
  if (IS_COOKIE.test(name)) {
    const cookies = COOKIES.exec(text.slice(start, start + LONGEST_VALUE))?.[0] ?? '';
    if (cookies.length >= SHORTEST) return { name, start, end: start + cookies.length };
  }
  const rest = text.slice(start, start + 300);
  if (REFERS.test(rest) || CALLS.test(rest)) return null;
  let end = endOfValue(text, start);
  const first = text.slice(start, end);
  if (text[end] === ' ') {
    const isScheme = SCHEME.test(first);
    const isAuthorization = /authorization$/i.test(name) && /^[A-Za-z][\w-]{1,31}$/.test(first);
    const next = endOfValue(text, end + 1);
    const second = text.slice(end + 1, next);
    if ((isScheme || isAuthorization) && SENTINEL.test(second)) return null;
    if (isScheme) end = next;
    else if (isAuthorization && second.length >= 8 && isMixed(second)) return { name, start: end + 1, end: next };
  }
  const shortest = isDigits(text.slice(start, end)) && mayBeNumber(name) ? SHORTEST_NUMBER : SHORTEST;
  const value = text.slice(start, end);
  return value.length < shortest && !TYPE.test(value) ? null : { name, start, end };
}

/** A backslash before a quote is part of the value, but where the first quote has one too. */
function endOfQuoted(text: string, start: number, isEscaped: boolean): number {
  const quote = text[start - 1];
  let end = start;
  while (end < text.length && end - start < LONGEST_VALUE) {
    const unit = text[end];
    if (unit === quote || unit === '\n' || (unit === '\\' && isEscaped)) break;
    end += unit === '\\' ? 2 : 1;
  }
  return Math.min(end, text.length);
}

function endOfValue(text: string, start: number): number {
  const inBrackets = IN_BRACKETS.exec(text.slice(start, start + 256));
  if (inBrackets !== null) return start + inBrackets[0].length;
  let end = start;
  let open = 0;
  for (; end < text.length && end - start < LONGEST_VALUE; end += 1) {
    const unit = text[end] as string;
    if (ENDS_VALUE.test(unit) || (unit === '(' && end === start)) break;
    if (unit === ',' && FOLLOWS.test(text.slice(end + 1, end + 72))) break;
    if (unit === '(') open += 1;
    if (unit === ')' && open-- === 0) break;
  }
  return end;
}

/**
 * `https://user:password@host`, from its second colon to the last `@` before the host, and no farther than where a shell goes on to
 * something else.
 */
function passwordOfUrl(text: string, colon: number): AssignedSecret | null {
  const user = back(text, colon, LONGEST_USER, /[^\s/@:"'<>]/);
  if (text.slice(user - 3, user) !== '://') return null;
  const ends = OF_DATABASE.test(text.slice(Math.max(0, user - 24), user)) ? /[\s/"'<>]/ : /[\s/?#"'<>]/;
  const authority = ahead(text, colon + 1, LONGEST_AUTHORITY, (unit) => !ends.test(unit));
  const host = text.slice(colon + 1, authority).lastIndexOf('@');
  if (host < 1 || text[colon + 1] === '[') return null;
  const end = ahead(text, colon + 1, host, (unit) => !GOES_ON_TO_ELSE.test(unit));
  return end > colon + 1 ? { name: 'password', start: colon + 1, end } : null;
}
const LONGEST_USER = 128;
const LONGEST_AUTHORITY = 512;
/** Their passwords are written with `?` and `#` too. */
const OF_DATABASE =
  /\b(?:postgres|postgresql|mysql|mariadb|mongodb|mongodb\+srv|rediss?|amqps?|mssql|sqlserver):\/\/$/i;
/** What a shell goes on from to something else. */
export const GOES_ON_TO_ELSE = /[;|&`]/;
