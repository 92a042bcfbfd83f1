import { type Came, follow, pageAgain } from './follow.js';
import { OPENED } from './opening.js';

const TICKED = '[data-row] input[type="checkbox"]:checked';
const AGAIN_MS = 400;
const TYPED_STAYS =
  'The call you look at was decided or ended meanwhile: load the page to see how. What you typed is still here.';

/**
 * Follows the stream that the page names. The list is asked for again when something changed, never more often than a person can read. The
 * chosen call is replaced only when it was decided (before, only what says whom it is for and who approved), and nothing that somebody types is
 * lost: where a field has text, the page only says so.
 */
export function liveList(): void {
  const root = document.querySelector<HTMLElement>('[data-live]');
  const address = root?.dataset['live'];
  if (!root || !address) return;
  const say = (text: string) => {
    // Asked for each time: a list that came anew has another one.
    const status = document.querySelector<HTMLElement>('[data-live-status]');
    if (status && status.textContent !== text) status.textContent = text;
  };
  document.addEventListener(OPENED, () => {
    if (document.querySelector('[data-live-status]')?.textContent === TYPED_STAYS) say('');
  });
  follow({
    address,
    events: ['created', 'updated', 'decided', 'expired', 'withdrawn', 'reset'],
    everyMs: AGAIN_MS,
    ask: () => refresh(root, say),
    say,
  });
}

/** Asks for the page again and puts what changed in its place. */
async function refresh(root: HTMLElement, say: (text: string) => void): Promise<Came> {
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
  const shown = document.querySelector<HTMLElement>('.detail');
  const next = fresh.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return 'here';
  const id = shown.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const freshId = next.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const stillOpen = next.querySelector('.decide') !== null;
  const typed = [...shown.querySelectorAll<HTMLInputElement>('input:not([type="hidden"])')].some(
    ({ value }) => value !== '',
  );
  if (id === freshId && stillOpen && shown.querySelector('.decide') !== null) {
    freshen(shown, next);
    say(list);
    return 'here';
  }
  // Another call in its place would be under the hand that is about to decide; and a page that only lost its service keeps what it shows.
  if (id !== undefined && id !== freshId) {
    say(list);
    return 'here';
  }
  if (typed) {
    say(TYPED_STAYS);
    return 'here';
  }
  // Another one is being opened.
  next.inert = shown.inert;
  shown.replaceWith(next);
  const self = fresh.querySelector<HTMLElement>('[data-live]')?.dataset['self'];
  if (self !== undefined) root.dataset['self'] = self;
  say(list);
  return 'here';
}

/** Replaces what changed of a call that is still open, such as whom it is assigned to; its fields stay as they are. */
function freshen(shown: HTMLElement, next: HTMLElement): void {
  for (const part of shown.querySelectorAll<HTMLElement>('[data-fresh]')) {
    const now = next.querySelector<HTMLElement>(`[data-fresh="${part.dataset['fresh']}"]`);
    if (now && now.dataset['on'] !== part.dataset['on']) part.replaceWith(now);
  }
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
  shown.replaceWith(next);
  document.dispatchEvent(new Event('gate:list'));
  if (focused !== undefined) next.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"] > a`)?.focus();
  return true;
}
