/**
 * Characters that must be made visible: controls (C0, C1), formatting and bidirectional marks, unassigned and private characters, lone
 * surrogates (category C); characters that fonts draw as nothing, such as variation selectors, joiners, fillers and tags
 * (Default_Ignorable_Code_Point); line and paragraph separators; spaces other than U+0020; and the Braille blank, which is in none of these
 * groups.
 */
const UNSEEN = /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}|[\p{Zl}\p{Zp}]|[^\P{Zs} ]|\u2800/gu;

/**
 * Shows invisible characters as escapes, so that text from an agent, a tool or an upstream cannot control a terminal or page, or hide from
 * the eye what a machine reads. Line breaks are kept.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);

/** Like `printable`, for text that must stay on one line or in one cell. */
export const oneLine = (text: string): string => printable(text).replaceAll('\n', '\\n');
