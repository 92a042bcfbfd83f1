import { z } from 'zod';

/** Whether every store keeps this text as it is: SQLite cuts it at U+0000, Postgres refuses that, and a lone surrogate is no UTF-8. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** Text that is refused where a store would keep another one. */
export const storableString = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine(isStorable, 'holds a character no store keeps: U+0000, or half of a surrogate pair');

/** A tool as an operator names it. JSON readers take `__proto__` for something else than a name, so nothing is kept under it. */
export const toolName = storableString(1, 256).refine(
  (name) => name !== '__proto__',
  '"__proto__" is no name of a tool',
);
