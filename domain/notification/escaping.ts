import { escaped, oneLine } from '../printable.js';
import { clipped } from '../text.js';

/** How much of one text of an agent a message shows. */
const MOST = 300;

/**
 * One line without anything that is not seen or that reorders what is: line breaks, controls and bidirectional marks are shown as escapes. So no
 * text begins a line of its own that reads like Gate's; nor by blanks, which a client wraps: of several one is left.
 */
const line = (text: string): string => {
  const start = clipped(text, MOST);
  const words = oneLine(start.toWellFormed()).split(' ');
  return (
    words.filter((word, at) => word !== '' || at === 0 || at === words.length - 1).join(' ') +
    (start.length < text.length ? '…' : '')
  );
};

/** Addresses are written so that no client makes links of them (`https[:]//`), and a reader still sees what they were. */
const withoutLinks = (text: string): string =>
  text
    .replaceAll('://', '[:]//')
    .replaceAll(/\b(mailto|tel|sms|javascript|data):/giu, '$1[:]')
    .replaceAll(/\bwww\./giu, 'www[.]');

/** No name behind an at sign is one that a chat would call: the sign is a wide one. */
const withoutMentions = (text: string): string => text.replaceAll('@', '＠');

/** Text of others in a message of Slack: no mention, link, date or channel (`<…>`), in a text object of either type. */
export const slackText = (text: string): string =>
  withoutMentions(withoutLinks(line(text)))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

/**
 * Text of others in an adaptive card: neither markup (`<at>`) nor Markdown's links and images, also where a client reads Markdown in a text
 * that should have none.
 */
export const teamsText = (text: string): string =>
  withoutMentions(withoutLinks(line(text)))
    .replaceAll('<', '＜')
    .replaceAll('>', '＞')
    .replaceAll('](', '] (')
    .split('`')
    .map((part, at) => (at % 2 === 0 ? part : `'${part.replaceAll("'", escaped)}'`))
    .join('');

/** Text of others in a mail, in its text or in one of its headers: one line, so that it ends no header and begins no other. */
export const mailText = (text: string): string => withoutLinks(line(text));

/** Text of others in a line for people that a machine passes on. */
export const plainText = (text: string): string => withoutLinks(line(text));
