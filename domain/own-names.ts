import { skeletonWords } from './skeleton.js';

/** A name without invisible characters, and with compatibility forms (full-width, mathematical) replaced by plain letters. */
export const plainName = (name: string): string =>
  name
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .normalize('NFKC')
    .trim();

/**
 * Whether a name reads like one reserved for Gate itself: `system`, alone or followed by other words, in any alphabet. A reader of a row or
 * list sees only the name.
 */
export const isGatesOwn = (name: string): boolean => skeletonWords(plainName(name)).startsWith(' system ');
