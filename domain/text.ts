/** Text that every store keeps unchanged. Replaces lone surrogates, which have no UTF-8 form, and U+0000 by U+FFFD. */
export const storableText = (text: string): string => {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
};

/** The start of a text, at most `units` UTF-16 code units long, never ending inside a surrogate pair. */
export function clipped(text: string, units: number): string {
  if (text.length <= units) return text;
  const last = text.charCodeAt(units - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? units - 1 : units);
}

/** The same, which says so where something is missing. */
export const shortened = (text: string, units: number): string =>
  text.length <= units ? text : `${clipped(text, units - 1)}…`;

/** Text from an agent or an upstream for use in an error, a row or a log: clipped, and safe for every store. */
export const foreignText = (text: string, units: number): string => storableText(clipped(text, units));

export const capitalized = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

/** The words of a list that is written as one text. */
export const words = (list: string): ReadonlySet<string> => new Set(list.split(/\s+/));
