import { callPart, type Came, type Held } from './follow.js';
import { rowOfFar, rowsOf, withRows } from './far.js';
import { CAME, OPENED } from './heard.js';

/** Which way keys moved last. */
let heading: 1 | -1 = 1;
/** Beside the call that is shown: what the key of that way opens, what it opens then, and what the other one does. */
const beside = () => [heading, 2 * heading, -heading] as const;

/** How long a call may take to come: less than the page around it would. */
export const OPENS_WITHIN_MS = 5_000;

const held = new Map<string, Held>();
const coming = new Map<string, Promise<Held | Exclude<Came, 'here'> | 'same'>>();

/**
 * Holds the calls beside the shown one, so that a key opens one in the next frame. What is held may be old: whoever shows it asks whether it
 * still is so before anything of it is sent (`opening.ts`). Nothing is held for a page that nobody sees.
 */
export function holdAhead(): void {
  const again = (): void => void fetchBeside();
  document.addEventListener(OPENED, again);
  document.addEventListener(CAME, again);
  document.addEventListener('visibilitychange', again);
  if (document.readyState === 'complete') again();
  else addEventListener('load', again, { once: true });
}

let isFetching = false;
let isDue = false;

/** One after the other, what is likeliest to be asked for first; once more where the list changed meanwhile. */
async function fetchBeside(): Promise<void> {
  isDue = true;
  if (isFetching) return;
  isFetching = true;
  try {
    while (isDue) {
      isDue = false;
      const wanted = document.hidden || !document.querySelector('[data-live] .detail') ? [] : hrefsBeside();
      for (const href of held.keys()) if (!wanted.includes(href)) held.delete(href);
      for (const href of wanted) {
        if (isDue) break;
        if (held.has(href)) continue;
        const came = await asked(href);
        if (typeof came === 'string') return;
      }
    }
  } finally {
    isFetching = false;
  }
}

function asked(href: string): Promise<Held | Exclude<Came, 'here'> | 'same'> {
  const known = coming.get(href);
  if (known) return known;
  const asking = callPart(href, null, { priority: 'low', signal: AbortSignal.timeout(OPENS_WITHIN_MS) }).then(
    (came) => {
      coming.delete(href);
      if (typeof came !== 'string') held.set(href, came);
      return came;
    },
  );
  coming.set(href, asking);
  return asking;
}

/** What is held of a call, or on its way; it is shown once. `null`: nothing. */
export function taken(href: string): Held | Promise<Held | null> | null {
  const known = held.get(href);
  held.delete(href);
  if (known) return known;
  return (
    coming.get(href)?.then((came) => {
      held.delete(href);
      return typeof came === 'string' ? null : came;
    }) ?? null
  );
}

/** Keys move that way: the calls that lie there are held first from now on. */
export function head(by: number): void {
  heading = by < 0 ? -1 : 1;
}

function hrefsBeside(): string[] {
  return beside().flatMap((by) => {
    const row = rowBeside(by);
    return row ? [row.href] : [];
  });
}

/** The row so many places after the chosen one, or after the place that it had before it was decided. */
export function rowBeside(by: number): HTMLAnchorElement | null {
  const chosen = chosenRow();
  let row: Element | null;
  if (chosen) {
    row = chosen;
    for (let step = 0; row && step < Math.abs(by); step += 1) row = by > 0 ? rowAfter(row) : rowBefore(row);
  } else {
    const place = Number(document.querySelector<HTMLElement>('[data-place]')?.dataset['place'] ?? 0);
    row = rowAt(by > 0 ? place + by - 1 : place + by);
  }
  return row?.querySelector<HTMLAnchorElement>(':scope > a') ?? null;
}

const CHOSEN = 'a[aria-current="true"]';
/** The row that was chosen last: to look for it, a browser looks at every element before it. */
let lastChosen: HTMLElement | null = null;

export function chosenRow(): HTMLElement | null {
  if (!lastChosen?.isConnected || !lastChosen.querySelector(`:scope > ${CHOSEN}`))
    lastChosen = document.querySelector<HTMLElement>(`[data-row] > ${CHOSEN}`)?.parentElement ?? null;
  return lastChosen;
}

/** The row of a call. What a key opens stands beside the chosen one, and only what stands elsewhere is looked for in the whole list. */
export function rowOf(call: string): HTMLElement | null {
  const chosen = chosenRow();
  for (const row of chosen ? [chosen, rowAfter(chosen), rowBefore(chosen)] : [])
    if (row instanceof HTMLElement && row.dataset['row'] === call) return row;
  return document.querySelector<HTMLElement>(`[data-row="${CSS.escape(call)}"]`) ?? rowOfFar(call);
}

/** Rows stand by few in lists below each other. */
const rowAfter = (row: Element): Element | null =>
  row.nextElementSibling ??
  row.parentElement?.nextElementSibling?.firstElementChild ??
  withRows(row.closest('.rows')?.nextElementSibling)?.firstElementChild?.firstElementChild ??
  null;
const rowBefore = (row: Element): Element | null =>
  row.previousElementSibling ??
  row.parentElement?.previousElementSibling?.lastElementChild ??
  withRows(row.closest('.rows')?.previousElementSibling)?.lastElementChild?.lastElementChild ??
  null;

/** How many rows stand before it. */
export function placeOf(row: Element): number {
  let place = 0;
  for (let before = row.previousElementSibling; before; before = before.previousElementSibling) place += 1;
  for (let few = row.parentElement?.previousElementSibling; few; few = few.previousElementSibling)
    place += few.childElementCount;
  for (let list = row.closest('.rows')?.previousElementSibling; list; list = list.previousElementSibling)
    place += rowsOf(list);
  return place;
}

/** The row before which so many stand. */
function rowAt(place: number): Element | null {
  let left = place;
  for (const list of document.querySelector('[data-rows]')?.children ?? []) {
    const count = rowsOf(list);
    if (left < count) return withRows(list)?.querySelectorAll('[data-row]')[left] ?? null;
    left -= count;
  }
  return null;
}

/** Marks the row of a call as the chosen one, and brings it into sight where the list scrolls by itself. */
export function choose(call: string | undefined): void {
  const row = call === undefined ? null : rowOf(call);
  chosenRow()?.querySelector(':scope > a')?.removeAttribute('aria-current');
  row?.querySelector(':scope > a')?.setAttribute('aria-current', 'true');
  lastChosen = row;
  const list = row?.closest<HTMLElement>('.list');
  if (!row || !list || getComputedStyle(list).overflowY !== 'auto') return;
  // Not `scrollIntoView`, which moves the call beside it as well.
  const [at, seen] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
  const acts = list.querySelector('.ticked .bulk-acts')?.getBoundingClientRect().height ?? 0;
  const [top, bottom] = [Math.max(seen.top, 0), Math.min(seen.bottom, innerHeight) - acts];
  if (at.top < top) list.scrollTop -= top - at.top;
  else if (at.bottom > bottom) list.scrollTop += at.bottom - bottom;
}
