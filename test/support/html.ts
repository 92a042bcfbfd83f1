/** An element of a page. */
export interface Part {
  readonly tag: string;
  /** An attribute without a value has an empty one. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly inside: readonly (Part | string)[];
}

/** A page, a piece of one, or an element that was found in it. */
export type Html = string | Part;

/**
 * What a page says and offers, read from its elements: in which order attributes stand is nobody's promise. The page has to be written as the
 * product writes it, every element closed and every value quoted. Whatever else is in it ends the test: text that became markup is found so.
 */
function partOf(html: Html): Part {
  if (typeof html !== 'string') return html;
  const root = { tag: '', attributes: {}, inside: [] as (Part | string)[] };
  const open = [root];
  let at = 0;
  const next = (piece: RegExp): RegExpExecArray | null => {
    piece.lastIndex = at;
    const found = piece.exec(html);
    if (found !== null) at += found[0].length;
    return found;
  };
  while (at < html.length) {
    const last = open.at(-1) ?? root;
    const words = next(RAW.has(last.tag) ? rawTextOf(last.tag) : TEXT);
    if (words !== null) {
      last.inside.push(RAW.has(last.tag) ? words[0] : unescaped(words[0]));
      continue;
    }
    const close = next(CLOSE);
    if (close !== null) {
      if (close[1] !== last.tag || open.length === 1) throw new Error(`</${close[1]}> ends <${last.tag}>`);
      open.pop();
      continue;
    }
    if (next(DECLARATION) !== null) continue;
    const begin = next(BEGIN);
    if (begin === null) throw new Error(`no markup of the product: ${html.slice(at, at + 80)}`);
    const { tag = '', attributes = '', empty } = begin.groups ?? {};
    const part = { tag, attributes: attributesOf(attributes), inside: [] as (Part | string)[] };
    last.inside.push(part);
    if (empty === '' && !VOID.has(tag)) open.push(part);
    if (FIRST_LINE_IS_DROPPED.has(tag)) next(/\r?\n/y);
  }
  if (open.length > 1) throw new Error(`<${open.at(-1)?.tag}> is not closed`);
  return root;
}

const TEXT = /[^<]+/y;
const CLOSE = /<\/([a-zA-Z][\w-]*)>/y;
const DECLARATION = /<!doctype html>|<!--.*?-->/isy;
const BEGIN = /<(?<tag>[a-zA-Z][\w-]*)(?<attributes>(?:\s+[^\s"'<>/=]+(?:="[^"]*")?)*)\s*(?<empty>\/?)>/y;
const ATTRIBUTE = /([^\s"'<>/=]+)(?:="([^"]*)")?/g;
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));
const RAW = new Set(['script', 'style']);
const FIRST_LINE_IS_DROPPED = new Set(['pre', 'textarea']);
const rawTextOf = (tag: string): RegExp => new RegExp(`(?:(?!</${tag}).)+`, 'sy');

const attributesOf = (written: string): Record<string, string> =>
  Object.fromEntries([...written.matchAll(ATTRIBUTE)].map(([, name, value = '']) => [name, unescaped(value)]));

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: '\u00a0' };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (entity, hex?: string, decimal?: string, name = '') => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    const character = ENTITIES[name];
    if (character === undefined) throw new Error(`${entity} is nothing that the product writes`);
    return character;
  });
}

const everyPart = (part: Part): Part[] =>
  part.inside.flatMap((one) => (typeof one === 'string' ? [] : [one, ...everyPart(one)]));

const is = (text: string, wanted: string | RegExp): boolean =>
  typeof wanted === 'string' ? text === wanted : wanted.test(text);

/** The elements of a kind, in the order of the page, which have these attributes among others. */
export const partsIn = (
  html: Html,
  tag: string | RegExp,
  having: Readonly<Record<string, string | RegExp>> = {},
): Part[] =>
  everyPart(partOf(html)).filter(
    (part) =>
      is(part.tag, tag) &&
      Object.entries(having).every(([name, wanted]) => {
        const value = part.attributes[name];
        return value !== undefined && is(value, wanted);
      }),
  );

/** Words that are not apart from those beside them. */
const IN_LINE = new Set('a abbr b bdi code em i kbd mark q s small span strong sub sup time u'.split(' '));

/** What a person reads, in one line. What stands here with a `<` in it was escaped on the page. */
export function wordsIn(html: Html): string {
  const words = (part: Part): string =>
    part.inside
      .map((one) => {
        if (typeof one === 'string') return one;
        if (RAW.has(one.tag)) return '';
        return IN_LINE.has(one.tag) ? words(one) : ` ${words(one)} `;
      })
      .join('');
  return words(partOf(html)).replaceAll(/\s+/g, ' ').trim();
}

/** The text of an element as it stands there, with its lines. */
export const textOf = (html: Html): string =>
  partOf(html)
    .inside.map((one) => (typeof one === 'string' ? one : textOf(one)))
    .join('');

const FIELDS = new Set(['input', 'select', 'textarea']);

function valueOf(field: Part): string {
  if (field.tag === 'textarea') return textOf(field);
  if (field.tag !== 'select') return field.attributes['value'] ?? '';
  const options = partsIn(field, 'option');
  const chosen = options.find(({ attributes }) => 'selected' in attributes) ?? options[0];
  return chosen === undefined ? '' : (chosen.attributes['value'] ?? wordsIn(chosen));
}

const fields = (html: Html) => everyPart(partOf(html)).filter(({ tag }) => FIELDS.has(tag));

/** Each value of the fields of a name, ticked or not. */
export const valuesIn = (html: Html, name: string): string[] =>
  fields(html)
    .filter(({ attributes }) => attributes['name'] === name)
    .map(valueOf);

/** The value of the first field of a name. Throws where there is none: a field that is empty is another thing. */
export function fieldIn(html: Html, name: string): string {
  const [value] = valuesIn(html, name);
  if (value === undefined) throw new Error(`no field is named ${name}`);
  return value;
}

/** What a browser would send of the fields, by their names, without the button; the first of each name. */
export function fieldsIn(html: Html): Record<string, string> {
  const sent = fields(html).filter(
    ({ attributes: { name, type, checked } }) =>
      name !== undefined && (!/^(?:checkbox|radio)$/.test(type ?? '') || checked !== undefined),
  );
  return Object.fromEntries(sent.map((field) => [field.attributes['name'], valueOf(field)] as const).toReversed());
}

/** The form that is sent there. Throws where there is none. */
export function formIn(html: Html, action: string | RegExp): Part {
  const [form] = partsIn(html, 'form', { action });
  if (form === undefined) throw new Error(`no form is sent to ${action}`);
  return form;
}

export interface Pressable {
  readonly words: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const pressable = (part: Part): Pressable => ({ words: wordsIn(part), attributes: part.attributes });

export const buttonsIn = (html: Html): Pressable[] => partsIn(html, 'button').map(pressable);

/** Where the links lead, with their words, in the order of the page. */
export const linksIn = (html: Html): { readonly words: string; readonly href: string; readonly rel?: string }[] =>
  partsIn(html, 'a', { href: /^/ }).map((part) => ({
    words: wordsIn(part),
    href: part.attributes['href'] ?? '',
    ...(part.attributes['rel'] !== undefined && { rel: part.attributes['rel'] }),
  }));

/** Where the first link of these words leads. Throws where there is none. */
export function linkOf(html: Html, words: string | RegExp): string {
  const found = linksIn(html).find((link) => is(link.words, words));
  if (!found) throw new Error(`no link says ${words}`);
  return found.href;
}

/** The rows of what has this name, a table or what it scrolls in, without those of its heads. */
export const rowsOf = (html: Html, label: string): Part[] =>
  everyPart(partOf(html))
    .filter(({ attributes }) => attributes['aria-label'] === label)
    .flatMap((named) => partsIn(named, 'tr'))
    .filter((row) => partsIn(row, 'td').length > 0);

/** The tags in the row that this heads, each as it looks and in words. */
export const tagsBeside = (html: Html, head: string): [look: string, words: string][] =>
  partsIn(html, 'tr')
    .filter((row) => partsIn(row, 'th').some((one) => wordsIn(one) === head))
    .flatMap((row) => partsIn(row, 'span', { class: /^tag / }))
    .map((tag) => [tag.attributes['class'] ?? '', wordsIn(tag)]);
