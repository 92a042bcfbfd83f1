import { chosenRow, placeOf, taken } from './ahead.js';
import { renewed, say, TYPED_STAYS } from './detail.js';
import { callPart } from './follow.js';
import { OPENED } from './heard.js';
import { isOnItsWay } from './sending.js';

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

/** Shows a call in the place of the shown one: at once where it is held, and where it cannot be had by going to its page. */
export async function openCall(href: string, back?: Kept): Promise<void> {
  const root = document.querySelector<HTMLElement>('[data-live][data-self]');
  const go = () => leave(() => (back ? location.reload() : location.assign(href)));
  // What answers a form will be shown in the place of this page.
  if (!root?.querySelector('.detail') || isOnItsWay()) return go();
  asked += 1;
  const mine = asked;
  for (const dialog of document.querySelectorAll<HTMLDialogElement>('dialog[open]')) dialog.close();
  let held = taken(href);
  if (held instanceof Promise) {
    holdFor('call');
    held = await held;
    if (mine !== asked) return;
  }
  if (held) {
    if (!shows(root, held.page, href, back)) return go();
    return makeSure(root, href, held.tag);
  }
  holdFor('call');
  const came = await callPart(href, null);
  if (mine !== asked) return;
  if (typeof came === 'string' || !shows(root, came.page, href, back)) return go();
}

/** Puts what came of a call in the place of the shown one; `false` where it is about another one, or nothing is shown here any more. */
function shows(root: HTMLElement, page: Document, href: string, back: Kept | undefined): boolean {
  const come = page.querySelector<HTMLElement>('[data-self]');
  const id = come?.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  if (!come || id === undefined || new URL(href).pathname !== `/hil/${id}` || isOnItsWay()) return false;
  const self = come.dataset['self'] ?? href;
  if (!back) {
    const left: Kept = { call: root.dataset['self'] ?? '', isOne: root.classList.contains('one') };
    if (root.querySelector('[data-review]')) history.replaceState(left, '');
    history.pushState({ call: self, isOne: true } satisfies Kept, '', href);
  }
  root.dataset['self'] = self;
  root.classList.toggle('one', back?.isOne ?? true);
  document.title = page.title;
  put(root, come, id);
  stay();
  document.dispatchEvent(new Event(OPENED));
  return true;
}

/** Whether the shown call, which was held before, still is as it is shown: while that is asked nothing of it is sent. */
let unsure: Promise<boolean> | null = null;

function makeSure(root: HTMLElement, href: string, tag: string): void {
  const mine = asked;
  const asking = callPart(href, tag)
    .then((came) => {
      // Where nobody answers, or nobody is signed in any more, whoever sends something is told so.
      if (typeof came === 'string' || mine !== asked) return true;
      putBroken(root, came.page);
      const was = renewed(root, came.page);
      if (was === 'typed') say(TYPED_STAYS);
      return was === 'open';
    })
    .finally(() => {
      if (unsure === asking) unsure = null;
    });
  unsure = asking;
}

/** A decision about a call that was held waits until it is known that the call still is so; where it is not, nothing is sent. */
export function sendWhatIsSure(): void {
  document.addEventListener(
    'submit',
    (event) => {
      const { target: form, submitter } = event;
      if (unsure === null || !(form instanceof HTMLFormElement) || !form.closest('.decide')) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      void unsure.then((isSure) => {
        if (isSure && form.isConnected) form.requestSubmit(submitter);
      });
    },
    { capture: true },
  );
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
  putBroken(root, come);
  shown.replaceWith(next);
  chosenRow()?.querySelector(':scope > a')?.removeAttribute('aria-current');
  const row = root.querySelector<HTMLAnchorElement>(`[data-row="${CSS.escape(id)}"] > a`);
  row?.setAttribute('aria-current', 'true');
  const list = root.querySelector<HTMLElement>('[data-rows]');
  // From where the keys go on when it is decided.
  if (row?.parentElement && list) list.dataset['place'] = String(placeOf(row.parentElement));
  if (next.getBoundingClientRect().top < 0) scrollTo(0, 0);
  next.tabIndex = -1;
  if (wasInList && row) row.focus({ preventScroll: true });
  else if (!document.activeElement || document.activeElement === document.body) next.focus({ preventScroll: true });
}

/** Says that the chain does not hold where that is so now. */
function putBroken(root: HTMLElement, come: ParentNode): void {
  root.querySelector('.broken')?.remove();
  const broken = come.querySelector('.broken');
  if (broken) root.querySelector('.list')?.before(broken);
}
