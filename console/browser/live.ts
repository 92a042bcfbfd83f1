import { type Came, follow, pageAgain } from './follow.js';
import { renewed, say, TYPED_STAYS } from './detail.js';
import { CAME, OPENED } from './heard.js';
import { markTicked } from './ticked.js';

const TICKED = '[data-row] input[type="checkbox"]:checked';
const AGAIN_MS = 400;

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
    if (document.querySelector('[data-live-status]')?.textContent === TYPED_STAYS) say('');
  });
  follow({
    address,
    events: ['created', 'updated', 'decided', 'expired', 'withdrawn', 'reset'],
    everyMs: AGAIN_MS,
    ask: () => refresh(root),
    say,
  });
}

/** Asks for the page again and puts what changed in its place. */
async function refresh(root: HTMLElement): Promise<Came> {
  let address: string;
  let fresh: Awaited<ReturnType<typeof pageAgain>>;
  do {
    address = root.dataset['self'] ?? location.href;
    fresh = await pageAgain(address, say);
    // Another call was opened meanwhile: the list that came has the one chosen that was left.
  } while (address !== (root.dataset['self'] ?? location.href));
  if (typeof fresh === 'string') return fresh;
  // Where more was loaded, a fresh first page would take away what somebody scrolled to.
  const more = document.querySelector('[data-rows="more"]') !== null;
  const list = more ? 'The list changed meanwhile: load the page to see how.' : '';
  if (!more) replace('[data-list]', fresh);
  const count = fresh.querySelector('.list h1');
  const here = document.querySelector('.list h1');
  if (count && here) here.replaceWith(count);
  document.title = fresh.title;
  say(renewed(root, fresh) === 'typed' ? TYPED_STAYS : list);
  return 'here';
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
  shown.replaceWith(next);
  document.dispatchEvent(new Event(CAME));
  if (focused !== undefined) next.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"] > a`)?.focus();
  return true;
}
