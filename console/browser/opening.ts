import { tellsWhoSignedIn } from './anew.js';
import { choose, OPENS_WITHIN_MS, placeOf, rowOf, taken } from './ahead.js';
import { say } from './detail.js';
import { openDialog } from './dialogs.js';
import { callPart } from './follow.js';
import { CAME, OPENED, STAYED } from './heard.js';
import { isOnItsWay, tellOnItsWay } from './sending.js';
import { isSignedOut, SAID_ABOVE } from './signed-out.js';
import { isSure, makeSure, putBroken } from './sure.js';

interface Kept {
  /** The address of the call that was shown. */
  readonly call: string;
  /** Whether it was shown as a page of its own, which on a small window hides the list. */
  readonly isOne: boolean;
}

const NOTICED_MS = 200;
const NOT_COME = 'The call did not come: Gate does not answer. The one before it is still shown.';

/** What is awaited: a call that is being opened beside the list, or another page. Meanwhile nobody acts on the call that is left. */
let awaited: { readonly what: 'call' | 'page'; readonly call: string | undefined; readonly noticed: number } | null =
  null;
/** Counts what was asked for, so that only the last one is shown. */
let asked = 0;

export const whatIsAwaited = (): 'call' | 'page' | null => awaited?.what ?? null;

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
  // A list that came anew has the call chosen that is left.
  document.addEventListener(CAME, () => {
    if (awaited?.what === 'call') choose(awaited.call);
  });
  choose(shownCall());
}

/**
 * Shows a call in the place of the shown one: at once where it is held. Where it does not come the shown one stays, and where this page cannot
 * show it, its own page does.
 */
export async function openCall(href: string, back?: Kept): Promise<void> {
  const root = document.querySelector<HTMLElement>('[data-live][data-self]');
  // The answer to what was sent takes the place of this page: to go now would throw it away.
  if (isOnItsWay()) {
    tellOnItsWay();
    return addressed(root);
  }
  const go = () => leave(() => (back ? location.reload() : location.assign(href)));
  if (!root?.querySelector('.detail')) return go();
  asked += 1;
  const mine = asked;
  openDialog()?.close();
  const limit = AbortSignal.timeout(OPENS_WITHIN_MS);
  let held = taken(href);
  if (held instanceof Promise) {
    holdFor('call', href);
    held = await held;
    if (mine !== asked) return;
  }
  // Of one that was held before the session ended nobody says whether it still is so: its own page leads to the sign-in.
  if (held && !isSignedOut()) {
    const known = held;
    if (!shows(root, known.page, href, back, () => makeSure(root, href, known))) return isOnItsWay() ? stay() : go();
    return;
  }
  holdFor('call', href);
  const came = await callPart(href, null, { signal: limit });
  if (mine !== asked) return;
  if (typeof came !== 'string' && shows(root, came.page, href, back, isSure)) return;
  const away = typeof came === 'string' ? null : came.page.querySelector('.detail > .notice.bad');
  if (isOnItsWay()) return stay();
  if (came === 'someone else') tellsWhoSignedIn();
  if (came !== 'away' && !away) return go();
  stay();
  say(away?.textContent ?? NOT_COME);
}

/** Puts what came of a call in the place of the shown one; `false` where it is about another one, or nothing is shown here any more. */
function shows(root: HTMLElement, page: Document, href: string, back: Kept | undefined, know: () => void): boolean {
  const come = page.querySelector<HTMLElement>('[data-self]');
  const id = come?.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  if (!come || id === undefined || new URL(href).pathname !== `/hil/${id}` || isOnItsWay()) return false;
  const self = come.dataset['self'] ?? href;
  if (!back) {
    addressed(root);
    const left: Kept = { call: root.dataset['self'] ?? '', isOne: root.classList.contains('one') };
    const before = shownCall();
    // A form that was refused left its own address, where nothing is to be had.
    const isForms = location.pathname.startsWith(`/hil/${before}/`);
    if (before !== undefined) history.replaceState(left, '', isForms ? left.call : undefined);
    history.pushState({ call: self, isOne: true } satisfies Kept, '', href);
  }
  root.dataset['self'] = self;
  root.classList.toggle('one', back?.isOne ?? true);
  document.title = page.title;
  put(root, come, id);
  settle();
  // Before keys that waited open another one.
  know();
  document.dispatchEvent(new Event(OPENED));
  return true;
}

/** Goes to another page; until it is there no key acts on this one. */
export function leave(go: () => void): void {
  if (isOnItsWay()) return tellOnItsWay();
  asked += 1;
  holdFor('page');
  go();
}

/** Nothing is awaited any more, and the shown call stays. */
export function stay(): void {
  settle();
  choose(shownCall());
  addressed(document.querySelector<HTMLElement>('[data-live][data-self]'));
  document.dispatchEvent(new Event(STAYED));
}

function settle(): void {
  asked += 1;
  clearTimeout(awaited?.noticed);
  awaited = null;
  const shown = document.querySelector<HTMLElement>('.detail');
  if (!shown) return;
  shown.inert = false;
  if (shown.ariaBusy === null) return;
  shown.ariaBusy = null;
  say('');
}

/** Until it is there nobody acts on what is left; and where that takes longer than anybody notices, the page says so. */
function holdFor(what: 'call' | 'page', href?: string): void {
  const call = href === undefined ? undefined : new URL(href).pathname.split('/')[2];
  if (awaited?.what === 'call' && awaited.call === call) return;
  clearTimeout(awaited?.noticed);
  const shown = document.querySelector<HTMLElement>('.detail');
  if (shown) shown.inert = true;
  if (what === 'call') choose(call);
  const notice = () => {
    const left = document.querySelector<HTMLElement>('.detail');
    if (left) left.ariaBusy = 'true';
    say(what === 'call' ? 'Opening the call…' : 'Opening the page…');
  };
  awaited = { what, call, noticed: window.setTimeout(notice, NOTICED_MS) };
}

const shownCall = (): string | undefined =>
  document.querySelector<HTMLElement>('.detail [data-review]')?.dataset['review'];

/** Where somebody went back or forward to a call that is not shown, the address is that of the shown one again. */
function addressed(root: HTMLElement | null): void {
  const kept = history.state as Partial<Kept> | null;
  const self = root?.dataset['self'];
  if (self === undefined || typeof kept?.call !== 'string' || kept.call === self) return;
  history.replaceState({ call: self, isOne: root?.classList.contains('one') ?? true } satisfies Kept, '', self);
}

/** Puts what came in its place: nothing that was said of the other call or typed about it stays. */
function put(root: HTMLElement, come: HTMLElement, id: string): void {
  const shown = root.querySelector<HTMLElement>('.detail');
  const next = come.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return;
  const wasBusy = shown.ariaBusy;
  const wasInList = document.activeElement?.closest('[data-row]') != null;
  document.querySelector(SAID_ABOVE)?.remove();
  putBroken(root, come);
  next.ariaBusy = wasBusy;
  shown.replaceWith(next);
  choose(id);
  const row = rowOf(id);
  const list = root.querySelector<HTMLElement>('[data-rows]');
  // From where the keys go on when it is decided.
  if (row && list) list.dataset['place'] = String(placeOf(row));
  if (next.getBoundingClientRect().top < 0) scrollTo(0, 0);
  next.tabIndex = -1;
  if (wasInList && row) row.querySelector<HTMLElement>(':scope > a')?.focus({ preventScroll: true });
  else if (!document.activeElement || document.activeElement === document.body) next.focus({ preventScroll: true });
}
