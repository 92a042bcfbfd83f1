import type { Allowance } from './allowance.js';
import { expandBraces } from './braces.js';
import type { Command, Word } from './command.js';

/** A word as far as it was read. */
export interface OpenWord {
  text: string;
  raw: string;
  from: number;
  quoted: boolean;
  runs: Command[];
  unknown: string;
  operated: boolean;
  bare: string;
  /** Where the expansions in the text begin and end, one after the other. */
  gaps: number[];
  /** Where braces and commas stand in the text that are not quoted, and how many of the braces are open. */
  marks: number[];
  braces: number;
  /** Brackets that the word itself opened: `f(x`. */
  brackets: number;
}

/** One that begins here. */
export const wordAt = (from: number): OpenWord => ({
  text: '',
  raw: '',
  from,
  quoted: false,
  runs: [],
  unknown: '',
  operated: false,
  bare: '',
  gaps: [],
  marks: [],
  braces: 0,
  brackets: 0,
});

/** A text without the parts that begin and end at these places. */
export function without(text: string, gaps: readonly number[]): string {
  let left = '';
  let from = 0;
  for (let at = 0; at < gaps.length; at += 2) {
    left += text.slice(from, gaps[at]);
    from = gaps[at + 1] ?? from;
  }
  return from === 0 ? text : left + text.slice(from);
}

/** Commas count within braces only. */
export function mark(word: OpenWord, code: number, place: number): void {
  if (code === 0x7b) word.braces += 1;
  else if (word.braces === 0) return;
  else if (code === 0x7d) word.braces -= 1;
  word.marks.push(place);
}

/** Puts an expansion whose value is not known into the word, as it is written. */
export function putUnknown(word: OpenWord, called: string, operated: boolean, written: string): void {
  word.gaps.push(word.text.length, word.text.length + written.length);
  word.text += written;
  if (word.unknown === '') word.unknown = called;
  word.operated ||= operated;
}

/** The words that a shell makes of one with braces; `isWhole` where they are no more than are read. */
export function expanded(
  word: OpenWord,
  allowance: Allowance,
): { readonly words: readonly Word[]; readonly isWhole: boolean } {
  const made = word.marks.length < 2 ? null : expandBraces(word.text, word.marks, allowance);
  if (made === null) return { words: [word], isWhole: true };
  const { quoted, runs, operated } = word;
  const isPlain = word.gaps.length === 0;
  const words = made.words.map((one) => ({
    text: one,
    raw: word.raw.includes('$') ? word.raw : one,
    quoted,
    runs,
    unknown: operated || one.includes('$') ? word.unknown : '',
    operated,
    bare: isPlain ? one : one.replaceAll(/\$(?:\w{1,64}|\S)/g, ''),
  }));
  return { words, isWhole: made.isWhole };
}
