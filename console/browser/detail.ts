import { ENDED, RENEWED } from './heard.js';
import { SAID_ABOVE } from './signed-out.js';

/** The field of the reason, beside the call that is shown. */
export const REASON_FIELD = '.detail [data-review] .decide input[name="reason"]';

export const TYPED_STAYS =
  'The call you look at was decided or ended meanwhile: load the page to see how. What you typed is still here.';
export const ENDED_MEANWHILE = 'The call was decided or ended meanwhile: it shows how. Nothing of yours was sent.';

/** What is said of the page: that it is not live, which only its stream takes back, and what else. */
const said = { live: '', else: '' };

/** Says what of the page is old, or what is awaited; nothing where nothing is. */
export const say = (text: string): void => told({ else: text });
/** Says that the page is not live; nothing where it is. */
export const sayHowLive = (text: string): void => told({ live: text });
export const isSaid = (text: string): boolean => said.else === text;

function told(now: Partial<typeof said>): void {
  Object.assign(said, now);
  const text = [said.live, said.else].filter((words) => words !== '').join(' ');
  // Asked for each time: a list that came anew has another one.
  const status = document.querySelector<HTMLElement>('[data-live-status]');
  if (status && status.textContent !== text) status.textContent = text;
}

/**
 * Brings the shown call to what came of it, and returns what it was: `open` as before, where only what says whom it is for and who approved is
 * replaced; `over`, and shown as it stands now; `typed`, and left because somebody types into it; `other`, where what came is about another
 * call, which would be under the hand that is about to decide.
 */
export function renewed(root: HTMLElement, fresh: Document): 'open' | 'over' | 'typed' | 'other' {
  const shown = root.querySelector<HTMLElement>('.detail');
  const next = fresh.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return 'other';
  tellAnew(root, fresh);
  const id = shown.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const freshId = next.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  if (id === freshId && next.querySelector('.decide') && shown.querySelector('.decide')) {
    freshen(shown, next);
    document.dispatchEvent(new Event(RENEWED));
    return 'open';
  }
  // A page that only lost its service keeps what it shows.
  if (id !== undefined && id !== freshId) return 'other';
  const fields = [...shown.querySelectorAll<HTMLInputElement>('input:not([type="hidden"])')];
  if (shown.querySelector('.decide')) document.dispatchEvent(new Event(ENDED));
  if (fields.some(({ value }) => value !== '')) return 'typed';
  // Another one is being opened.
  next.inert = shown.inert;
  next.ariaBusy = shown.ariaBusy;
  shown.replaceWith(next);
  const self = fresh.querySelector<HTMLElement>('[data-live]')?.dataset['self'];
  if (self !== undefined) root.dataset['self'] = self;
  document.dispatchEvent(new Event(RENEWED));
  return 'over';
}

/**
 * Brings what is said of a decision that was sent to what it came to: a vote waits for others until one of them decides. The page was asked for
 * with that decision (`done`); what else is said above the call, such as why something was refused, is of the press and stays.
 */
function tellAnew(root: HTMLElement, fresh: Document): void {
  const self = new URL(root.dataset['self'] ?? location.href, location.href);
  if (!self.searchParams.has('done')) return;
  const [was, now] = [document, fresh].map((page) => page.querySelector(SAID_ABOVE));
  if (!was || was.isEqualNode(now ?? null)) return;
  if (now) was.replaceWith(now);
  else was.remove();
}

/** Replaces what changed of a call that is still open, such as whom it is assigned to; its fields stay as they are. */
function freshen(shown: HTMLElement, next: HTMLElement): void {
  for (const part of shown.querySelectorAll<HTMLElement>('[data-fresh]')) {
    const now = next.querySelector<HTMLElement>(`[data-fresh="${part.dataset['fresh']}"]`);
    if (now && now.dataset['on'] !== part.dataset['on']) part.replaceWith(now);
  }
}
