/** Text that every store keeps as it is: what has no UTF-8 (lone surrogates), and U+0000, stand as U+FFFD. */
export const storableText = (text: string): string => {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
};

/** The beginning of a text, at most so many UTF-16 code units and never half a character. */
export function clipped(text: string, units: number): string {
  if (text.length <= units) return text;
  const last = text.charCodeAt(units - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? units - 1 : units);
}

/** What an agent or an upstream wrote, as it may stand in an error, a row or a log: clipped, and such that every store keeps it. */
export const foreignText = (text: string, units: number): string => storableText(clipped(text, units));
