/**
 * What an agent, a tool or an upstream wrote must not steer the reader's terminal: control and formatting characters are shown, not
 * obeyed. Lines stay lines.
 */
export const printable = (text: string): string =>
  text.replaceAll(/[^\P{C}\n]/gu, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);

/** The same for what is to stay in its line or its cell. */
export const oneLine = (text: string): string => printable(text).replaceAll('\n', '\\n');
