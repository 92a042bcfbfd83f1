/**
 * What must be seen to be read: controls (C0, C1), formatting and bidirectional marks, unassigned and private characters, lone surrogates
 * (category C); whatever a font draws as nothing, such as variation selectors, joiners, fillers and tags (Default_Ignorable_Code_Point);
 * line and paragraph separators; spaces other than the usual one; and the blank of Braille, which is none of these.
 */
const UNSEEN = /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}|[\p{Zl}\p{Zp}]|[^\P{Zs} ]|\u2800/gu;

/**
 * What an agent, a tool or an upstream wrote must not steer its reader's terminal or page, nor say less to the eye than to a machine: what
 * cannot be seen is shown, not obeyed. Lines stay lines.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);

/** The same for what is to stay in its line or its cell. */
export const oneLine = (text: string): string => printable(text).replaceAll('\n', '\\n');
