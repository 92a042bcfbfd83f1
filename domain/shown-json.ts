import { sha256Hex } from './crypto/digest.js';
import { clipped } from './text.js';

/** How a long text is told from another with the same beginning: the digest is that of its UTF-8 bytes. */
export const sizeTold = (text: string): string =>
  `${text.length.toLocaleString('en')} characters, sha256 ${sha256Hex(text)}`;

const BEGINNING = 200;

/**
 * JSON on indented lines, its members in canonical order (RFC 8785) also where their names are numbers. Of a text of more than `longest` characters the beginning, how long it is and its digest.
 */
export function orderedJson(value: unknown, longest = Infinity): string {
  const write = (here: unknown, margin: string): string => {
    if (typeof here === 'string' && here.length > longest)
      return `${JSON.stringify(`${clipped(here, BEGINNING)}…`)} (${sizeTold(here)})`;
    if (typeof here !== 'object' || here === null) return JSON.stringify(here) ?? 'null';
    const inner = `${margin}  `;
    const [open, close, members] = Array.isArray(here)
      ? ['[', ']', here.map((item) => write(item, inner))]
      : [
          '{',
          '}',
          Object.keys(here)
            .sort()
            .map((key) => `${JSON.stringify(key)}: ${write((here as Record<string, unknown>)[key], inner)}`),
        ];
    return members.length === 0
      ? `${open}${close}`
      : `${open}\n${members.map((member) => `${inner}${member}`).join(',\n')}\n${margin}${close}`;
  };
  return write(value, '');
}

/**
 * The same up to so many characters: indenting makes forty times the size of a value made for it, and only what a person can read is shown.
 * `isWhole` where nothing was left out. `stood` is told where each value stands that is whole in the text, by its JSON Pointer.
 */
export function shownJson(
  value: unknown,
  limit: number,
  stood?: (pointer: string, from: number, to: number) => void,
): { readonly text: string; readonly isWhole: boolean } {
  let text = '';
  const isFull = (): boolean => text.length > limit;
  const write = (here: unknown, margin: string, pointer: string): void => {
    if (isFull()) return;
    const from = text.length;
    if (typeof here === 'string') text += JSON.stringify(here.slice(0, limit + 1));
    else if (typeof here !== 'object' || here === null) text += JSON.stringify(here) ?? 'null';
    else if (Array.isArray(here)) list('[', ']', margin, here.length, (at) => ['', here[at], `${pointer}/${at}`]);
    else {
      const keys = Object.keys(here).sort();
      list('{', '}', margin, keys.length, (at) => {
        const key = keys[at] ?? '';
        const inside = stood ? `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` : '';
        return [`${JSON.stringify(key.slice(0, limit + 1))}: `, (here as Record<string, unknown>)[key], inside];
      });
    }
    if (!isFull()) stood?.(pointer, from, text.length);
  };
  function list(
    open: string,
    close: string,
    margin: string,
    length: number,
    at: (index: number) => readonly [name: string, item: unknown, pointer: string],
  ): void {
    const inner = `${margin}  `;
    text += open;
    for (let index = 0; index < length && !isFull(); index += 1) {
      const [name, item, pointer] = at(index);
      text += `${index === 0 ? '' : ','}\n${inner}${name}`;
      write(item, inner, pointer);
    }
    text += length === 0 ? close : `\n${margin}${close}`;
  }
  write(value, '', '');
  return isFull() ? { text: text.slice(0, limit), isWhole: false } : { text, isWhole: true };
}
