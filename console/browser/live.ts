import { type Came, follow, pageAgain } from './follow.js';
import { ENDED_MEANWHILE, isSaid, renewed, say, sayHowLive, TYPED_STAYS } from './detail.js';
import { CAME, ENDED, OPENED } from './heard.js';
import { type FreshRows, freshRows, noteOver, renewRows } from './long-list.js';
import { whatIsAwaited } from './opening.js';
import { notPressed } from './pressed.js';
import { markTicked } from './ticked.js';

const TICKED = '[data-row] input[type="checkbox"]:checked';
const AGAIN_MS = 400;
/** How often another call, or the same one anew, came or was seen to be decided: an answer that was on its way then is older. */
let moves = 0;

/**
 * Follows the stream that the page names. The list is asked for again when something changed, never more often than a person can read. The
 * chosen call is replaced only when it was decided (before, only what says whom it is for and who approved), and nothing that somebody types is
 * lost: where a field has text, the page only says so.
 */
export function liveList(): void {
  const root = document.querySelector<HTMLElement>('[data-live]');
  const address = root?.dataset['live'];
  if (!root || !address) return;
  document.addEventListener(OPENED, () => {
    moves += 1;
    if (isSaid(TYPED_STAYS) || isSaid(ENDED_MEANWHILE)) say('');
  });
  document.addEventListener(ENDED, () => void (moves += 1));
  follow({
    address,
    events: ['created', 'updated', 'decided', 'expired', 'aborted', 'withdrawn', 'reset'],
    everyMs: AGAIN_MS,
    heard: noteOver,
    ask: (mayHaveMissed) => refresh(root, mayHaveMissed),
    say: sayHowLive,
  });
}

/** Asks for the page again and puts what changed in its place. */
async function refresh(root: HTMLElement, mayHaveMissed: boolean): Promise<Came> {
  let before: number;
  let fresh: Awaited<ReturnType<typeof pageAgain>>;
  let more: FreshRows | null = null;
  do {
    before = moves;
    fresh = await pageAgain(root.dataset['self'] ?? location.href, say);
    if (typeof fresh !== 'string') more = await freshRows(fresh, mayHaveMissed);
    await notPressed();
    // The list that came has the call chosen that was left, or says of one that it waits which does not any more.
  } while (before !== moves);
  if (typeof fresh === 'string') return fresh;
  if (more) renewRows(fresh, more);
  else replace('[data-list]', fresh);
  for (const part of ['.list h1', '.back']) {
    const count = (more?.first[0] ?? fresh).querySelector(part) ?? fresh.querySelector(part);
    if (count) document.querySelector(part)?.replaceWith(count);
  }
  document.title = fresh.title;
  const was = renewed(root, fresh);
  // What is awaited is said there.
  if (whatIsAwaited() === null) say(was === 'typed' ? TYPED_STAYS : '');
  return more?.came ?? 'here';
}

/** Puts the fresh part in the place of the shown one, and the focus back on the row that had it. */
function replace(selector: string, fresh: Document): boolean {
  const shown = document.querySelector(selector);
  const next = fresh.querySelector(selector);
  if (!shown || !next) return false;
  const focused = document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset['row'];
  const ticked = new Set([...shown.querySelectorAll<HTMLInputElement>(TICKED)].map(({ value }) => value));
  for (const box of next.querySelectorAll<HTMLInputElement>('[data-row] input[type="checkbox"]'))
    box.checked = ticked.has(box.value);
  markTicked(next.querySelector('form'));
  // Where somebody scrolled to stays where it is.
  const list = shown.closest('.list');
  const place = list?.scrollTop ?? 0;
  shown.replaceWith(next);
  if (list) list.scrollTop = place;
  document.dispatchEvent(new Event(CAME));
  if (focused !== undefined)
    next.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"] > a`)?.focus({ preventScroll: true });
  return true;
}
