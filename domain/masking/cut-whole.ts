import { clipped } from '../text.js';
import { mask } from './mask.js';
import type { NamedSecrets } from './named-secrets.js';

/** What is masked by its shape reaches no further over blanks, and has no more of them. */
const REACH = 256;
const MOST_BLANKS = 64;

/**
 * The beginning of a text, which says where it ends before the text does. No word is cut, and nothing that is masked as one: of a part of a
 * secret, a number or a key nobody would know that it is one.
 */
export function cutWhole(text: string, most: number, secrets: NamedSecrets): string {
  if (text.length <= most) return text;
  let end = lastBlank(clipped(text, most));
  for (let left = MOST_BLANKS; left > 0 && end > 0; left -= 1) {
    const before = beforeSecret(text, end, secrets) ?? (isTogether(text, end) ? lastBlank(text.slice(0, end)) : end);
    if (before === end) break;
    end = before;
  }
  return `${text.slice(0, end)}…`;
}

const lastBlank = (text: string): number => Math.max(0, ...[' ', '\n', '\t'].map((blank) => text.lastIndexOf(blank)));

/** The beginning of a secret that this place is within. */
function beforeSecret(text: string, at: number, secrets: NamedSecrets): number | null {
  for (const secret of secrets()) {
    const from = Math.max(0, at - secret.length + 1);
    const found = text.slice(from, at + secret.length).lastIndexOf(secret, at - 1 - from);
    if (found >= 0 && from + found < at) return from + found;
  }
  return null;
}

const masked = (text: string): string => mask(text) as string;

/** Whether what stands on both sides is masked otherwise than each side by itself. */
function isTogether(text: string, at: number): boolean {
  const [before, after] = [text.slice(Math.max(0, at - REACH), at), text.slice(at, at + REACH)];
  return masked(before + after) !== masked(before) + masked(after);
}
