import { pageAgain } from './follow.js';
import { isOnItsWay } from './sending.js';

/** What is heard when another call was put in the place of the shown one. */
export const OPENED = 'gate:opened';

interface Kept {
  /** The address of the call that was shown. */
  readonly call: string;
  /** Whether it was shown as a page of its own, which on a small window hides the list. */
  readonly isOne: boolean;
}

/** What is awaited: a call that is being opened beside the list, or another page. Meanwhile nobody acts on the call that is left. */
let awaited: 'call' | 'page' | null = null;
/** Counts what was asked for, so that only the last one is shown. */
let asked = 0;

export const whatIsAwaited = (): 'call' | 'page' | null => awaited;

/** Rows of the list open beside it, also backwards and forwards in the browser's history. Without this their links do so. */
export function openInPlace(): void {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('[data-row] > a') : null;
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain || event.defaultPrevented) return;
    event.preventDefault();
    void openCall(link.href);
  });
  addEventListener('popstate', ({ state }) => {
    const kept = state as Partial<Kept> | null;
    // A place within the page is no other call.
    if (typeof kept?.call === 'string') void openCall(new URL(kept.call, location.href).href, kept as Kept);
  });
  // A browser shows a page again as it was left.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) stay();
  });
}

/** Shows a call in the place of the shown one; where that cannot be had, goes to its page. */
export async function openCall(href: string, back?: Kept): Promise<void> {
  const root = document.querySelector<HTMLElement>('[data-live][data-self]');
  const go = () => leave(() => (back ? location.reload() : location.assign(href)));
  // What answers a form will be shown in the place of this page.
  if (!root?.querySelector('.detail') || isOnItsWay()) return go();
  asked += 1;
  const mine = asked;
  holdFor('call');
  for (const dialog of document.querySelectorAll<HTMLDialogElement>('dialog[open]')) dialog.close();
  const address = new URL(href);
  // The list beside the call stays as it is.
  address.searchParams.set('part', 'detail');
  const fresh = await pageAgain(address.href, () => undefined);
  if (mine !== asked) return;
  const come = typeof fresh === 'string' ? null : fresh.querySelector<HTMLElement>('[data-self]');
  const id = come?.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  if (typeof fresh === 'string' || !come || id === undefined || address.pathname !== `/hil/${id}` || isOnItsWay())
    return go();
  const self = come.dataset['self'] ?? href;
  if (!back) {
    const left: Kept = { call: root.dataset['self'] ?? '', isOne: root.classList.contains('one') };
    if (root.querySelector('[data-review]')) history.replaceState(left, '');
    history.pushState({ call: self, isOne: true } satisfies Kept, '', href);
  }
  root.dataset['self'] = self;
  root.classList.toggle('one', back?.isOne ?? true);
  document.title = fresh.title;
  put(root, come, id);
  stay();
  document.dispatchEvent(new Event(OPENED));
}

/** Goes to another page; until it is there no key acts on this one. */
export function leave(go: () => void): void {
  asked += 1;
  holdFor('page');
  go();
}

/** Nothing is awaited any more. */
export function stay(): void {
  asked += 1;
  awaited = null;
  const shown = document.querySelector<HTMLElement>('.detail');
  if (shown) shown.inert = false;
}

function holdFor(what: 'call' | 'page'): void {
  awaited = what;
  const shown = document.querySelector<HTMLElement>('.detail');
  if (shown) shown.inert = true;
}

/** Puts what came in its place: nothing that was said of the other call or typed about it stays. */
function put(root: HTMLElement, come: HTMLElement, id: string): void {
  const shown = root.querySelector<HTMLElement>('.detail');
  const next = come.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return;
  const wasInList = document.activeElement?.closest('[data-row]') != null;
  document.querySelector('main > .notice')?.remove();
  root.querySelector('.broken')?.remove();
  const broken = come.querySelector('.broken');
  if (broken) root.querySelector('.list')?.before(broken);
  shown.replaceWith(next);
  const rows = [...root.querySelectorAll<HTMLAnchorElement>('[data-row] > a')];
  for (const row of rows) row.removeAttribute('aria-current');
  const at = rows.findIndex((row) => row.parentElement?.dataset['row'] === id);
  const row = rows[at];
  row?.setAttribute('aria-current', 'true');
  const list = root.querySelector<HTMLElement>('[data-rows]');
  // From where the keys go on when it is decided.
  if (row && list) list.dataset['place'] = String(at);
  if (next.getBoundingClientRect().top < 0) scrollTo(0, 0);
  next.tabIndex = -1;
  if (wasInList && row) row.focus({ preventScroll: true });
  else if (!document.activeElement || document.activeElement === document.body) next.focus({ preventScroll: true });
}
