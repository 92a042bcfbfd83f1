import { foldedWords } from './inspection/fold.js';

/** A name without the characters that nobody sees, and compatibility forms (full-width, mathematical) as their letters. */
export const plainName = (name: string): string =>
  name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .trim();

/**
 * Whether a name reads as one that only Gate itself goes by: `system`, or that word with others behind it. Whoever reads it in a row
 * or a list sees no more than that, in whatever alphabet it is written.
 */
export const isGatesOwn = (name: string): boolean => foldedWords(plainName(name)).startsWith(' system ');
