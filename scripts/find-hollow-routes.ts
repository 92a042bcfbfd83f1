/** A file of the product, without its comments. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

export interface HollowRoute {
  readonly name: string;
  readonly path: string;
}

const CLOSES: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const QUOTES: ReadonlySet<string> = new Set(["'", '"', '`']);
/** So deep is an answer followed through names and helpers; what goes deeper asks somebody, or is nobody's to read. */
const MAX_DEPTH = 12;

/** The index behind the text that begins at `from`, of a quote or a bracket. */
function behind(text: string, from: number): number {
  const first = text[from] as string;
  if (QUOTES.has(first)) {
    for (let at = from + 1; at < text.length; at += 1) {
      if (text[at] === '\\') at += 1;
      else if (first === '`' && text.startsWith('${', at)) at = behind(text, at + 1) - 1;
      else if (text[at] === first) return at + 1;
    }
    return text.length;
  }
  for (let at = from + 1; at < text.length; ) {
    const character = text[at] as string;
    if (character === CLOSES[first]) return at + 1;
    at = QUOTES.has(character) || character in CLOSES ? behind(text, at) : at + 1;
  }
  return text.length;
}

/** Cuts an expression where `ends` says so, outside every bracket and quote. Gives the parts. */
function cut(text: string, ends: (at: number) => number): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    const length = ends(at);
    if (length > 0) {
      parts.push(text.slice(from, at));
      at += length;
      from = at;
    } else at = QUOTES.has(text[at] as string) || (text[at] as string) in CLOSES ? behind(text, at) : at + 1;
  }
  return [...parts, text.slice(from)];
}
const listed = (text: string): string[] =>
  cut(text, (at) => (text[at] === ',' ? 1 : 0))
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** What an expression may come to: both sides of a choice, without what is asked to choose. */
function outcomes(expression: string): string[] {
  const text = expression
    .trim()
    .replace(/^(?:await|void)\s+/, '')
    .replace(/\s+(?:as|satisfies)\s+[\w<>[\], .'|]+$/, '');
  if (text.startsWith('(') && behind(text, 0) === text.length) return outcomes(text.slice(1, -1));
  const sides = cut(text, (at) => (/^(?:\?\?|\|\|)/.test(text.slice(at, at + 2)) ? 2 : 0));
  if (sides.length > 1) return sides.flatMap(outcomes);
  const [condition = '', ...rest] = cut(text, (at) => (text[at] === '?' && !/^\?[.?]/.test(text.slice(at)) ? 1 : 0));
  if (rest.length > 0 && !text.includes('=>')) {
    const choice = text.slice(condition.length + 1);
    const [yes = '', ...no] = cut(choice, (at) => (choice[at] === ':' ? 1 : 0));
    // Of a choice within a choice the first colon belongs to the inner one: both are looked at with whatever stands around them.
    return no.length === 1 ? [...outcomes(yes), ...outcomes(no[0] as string)] : no.concat(yes).flatMap(outcomes);
  }
  return [text];
}

/** Finds the routes whose handler asks nobody: all that it can answer is written in the source, wherever in it. */
export function literalRoutes(sources: readonly Source[]): readonly HollowRoute[] {
  const found: HollowRoute[] = [];
  for (const source of sources.filter(({ path }) => /^(api|lite)\//.test(path)))
    for (const match of source.text.matchAll(/\.(get|post|put|delete|patch)(?:<[^(]*>)?\(/g)) {
      const open = match.index + match[0].length - 1;
      const given = listed(source.text.slice(open + 1, behind(source.text, open) - 1));
      const [route = ''] = given;
      const handler = given.at(-1) ?? '';
      if (given.length < 2 || !/^'\/[^']*'$/.test(route)) continue;
      // What changes something and then says so has done its work, whatever it says; what only reads has not.
      if (match[1] !== 'get' && /\bawait\s/.test(handler)) continue;
      const answers = answersOf(source, handler, 0);
      if (answers && answers.length > 0 && answers.every((answer) => isWritten(source, answer, 0)))
        found.push({ name: `${String(match[1]).toUpperCase()} ${route.slice(1, -1)}`, path: source.path });
    }
  return found;

  /** What a function can answer, or `null` where it is none that stands in the source. */
  function answersOf(source: Source, given: string, depth: number): string[] | null {
    if (depth > MAX_DEPTH) return null;
    const text = given.trim().replace(/^async\s+/, '');
    if (/^[A-Za-z_$][\w$]*$/.test(text)) {
      const named = declared(source, text);
      return named && answersOf(named.source, named.text, depth + 1);
    }
    const block = /^function\b[^{]*?\(/.exec(text);
    const parameters = text.startsWith('(') ? 0 : block ? block[0].length - 1 : -1;
    const arrow = /^[A-Za-z_$][\w$]*\s*=>/.test(text);
    if (parameters < 0 && !arrow) return null;
    const rest = arrow ? text : text.slice(behind(text, parameters));
    const body = rest.slice(block ? rest.indexOf('{') : rest.indexOf('=>') + 2).trim();
    if (!body.startsWith('{')) return outcomes(body).flatMap(sentBy);
    return [...body.matchAll(/\breturn\s+|\breply\b/g)].flatMap(({ 0: word, index }) => {
      const from = word === 'reply' ? index : index + word.length;
      const [statement = ''] = cut(body.slice(from), (at) => (body[from + at] === ';' ? 1 : 0));
      const sent = sentBy(statement.trim());
      return word === 'reply' && sent[0] === statement.trim() ? [] : sent.flatMap(outcomes).flatMap(sentBy);
    });
  }

  /** What `reply.….send(x)` sends; everything else is its own answer. */
  function sentBy(expression: string): string[] {
    const at = /^reply\b/.test(expression) ? expression.lastIndexOf('.send(') : -1;
    return at < 0 ? [expression] : outcomes(expression.slice(at + 6, behind(expression, at + 5) - 1));
  }

  /** A constant or function by its name: in this file, or exported by another one. */
  function declared(source: Source, name: string): { readonly source: Source; readonly text: string } | null {
    const own = new RegExp(`\\b(?:const ${name}\\b[^=;]*=(?!>)|(?:async )?function ${name}\\b)`);
    const exported = new RegExp(`export (?:const ${name}\\b[^=;]*=(?!>)|(?:async )?function ${name}\\b)`);
    const imported = new RegExp(`import [^;]*\\b${name}\\b[^;]*from`).test(source.text);
    const holders = imported ? sources.filter(({ text }) => exported.test(text)) : [source];
    for (const holder of holders) {
      const match = own.exec(holder.text);
      if (!match) continue;
      const from = match[0].endsWith('=') ? match.index + match[0].length : match.index;
      const rest = holder.text.slice(from);
      const isFunction = !match[0].endsWith('=');
      const [text = ''] = isFunction
        ? [rest.slice(0, behind(rest, rest.indexOf('{', behind(rest, rest.indexOf('(')))))]
        : cut(rest, (at) => (rest[at] === ';' ? 1 : 0));
      return { source: holder, text: text.trim() };
    }
    return null;
  }

  /** Whether all of an expression is written in the source. */
  function isWritten(source: Source, expression: string, depth: number): boolean {
    if (depth > MAX_DEPTH) return false;
    const all = outcomes(expression);
    if (all.length > 1) return all.every((one) => isWritten(source, one, depth + 1));
    const text = all[0] ?? '';
    const written = (one: string) => isWritten(source, one, depth + 1);
    if (/^(?:true|false|null|undefined|-?[\d_.]+|)$/.test(text)) return true;
    if (QUOTES.has(text[0] as string) && behind(text, 0) === text.length)
      return [...text.matchAll(/\$\{([^}]*)\}/g)].every(([, inner = '']) => written(inner));
    if (text.startsWith('[') && behind(text, 0) === text.length)
      return listed(text.slice(1, -1)).every((part) => written(part.replace(/^\.\.\./, '')));
    if (text.startsWith('{') && behind(text, 0) === text.length)
      return listed(text.slice(1, -1)).every((part) => {
        const member = /^(?:[\w$]+|'[^']*'|"[^"]*"|\[[^\]]*\])\s*:(?!:)/.exec(part);
        return written(member ? part.slice(member[0].length) : part.replace(/^\.\.\./, ''));
      });
    const called = /^([A-Za-z_$][\w$.]*)\(/.exec(text);
    if (called && behind(text, called[0].length - 1) === text.length) {
      const name = called[1] as string;
      const given = listed(text.slice(called[0].length, -1));
      if (/^(?:Promise\.resolve|Object\.freeze|structuredClone|String|JSON\.stringify|[\w$]+\.parse)$/.test(name))
        return given.every(written);
      const answers = answersOf(source, name, depth + 1);
      return answers !== null && answers.length > 0 && answers.every(written);
    }
    const named = /^([A-Za-z_$][\w$]*)(?:\.[\w$.]+)?$/.exec(text);
    const value = named && declared(source, named[1] as string);
    return value !== null && isWritten(value.source, value.text, depth + 1);
  }
}
