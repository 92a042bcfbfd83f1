import { z } from 'zod';

/**
 * Whether every store keeps this text unchanged. SQLite truncates at U+0000, Postgres refuses it, and a lone surrogate is not valid UTF-8.
 */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Refuses text that a store would change. */
export const storableString = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine(isStorable, 'holds a character no store keeps: U+0000, or half of a surrogate pair');

/** A tool as an operator names it. `__proto__` is refused, because JSON readers treat it specially. */
export const toolName = storableString(1, 256).refine(
  (name) => name !== '__proto__',
  '"__proto__" is no name of a tool',
);
