import { heldRows } from './far.js';
import { rowsPart } from './follow.js';
import { CAME } from './heard.js';

/**
 * Lists of 100 rows that a page holds at most, so that somebody scrolls back as well; beyond, the first ones go. Each is skipped as a
 * whole where nobody looks: a browser that asks of ten thousand rows one by one whether they are seen draws two frames a second.
 */
export const MOST_LISTS = 100;
const BEFORE_THE_END = '800px';
/** Pages of a search that brought nothing, one after the other, after which only a click searches on: each is work for the review service. */
const MOST_IN_VAIN = 10;
let inVain = 0;

interface Loaded {
  readonly rows: Element;
  /** Where its first rows came from: the address of a call that is opened names the page that its row came with. */
  readonly first: string;
  /** Where its last rows came from. */
  readonly last: string;
  /** Whether its first rows went. */
  readonly isCut: boolean;
}
let held: Loaded | null = null;

/** The list, where more than its first page was loaded of it. */
export function loadedMore(): Loaded | null {
  return held?.rows.isConnected ? held : null;
}

/** Its end is that of the page of this address now: rows of that page were put in behind those that it ended with. */
export function endsWith(last: string): void {
  if (held) held = { ...held, last };
}

/** Loads the next page of the list when its end is near. Without this the link at the end does so. */
export function moreRows(): void {
  let isLoading = false;
  const near = new IntersectionObserver(
    (seen) => {
      const link = seen.find(({ isIntersecting }) => isIntersecting)?.target;
      if (!(link instanceof HTMLAnchorElement) || isLoading) return;
      isLoading = true;
      void next(link).finally(() => {
        isLoading = false;
        document.dispatchEvent(new Event(CAME));
      });
    },
    // The list scrolls by itself where there is room beside it, and with the page where there is none.
    { rootMargin: BEFORE_THE_END, scrollMargin: BEFORE_THE_END },
  );
  const watch = () => {
    near.disconnect();
    const link = document.querySelector('[data-rows]')?.nextElementSibling?.querySelector('a[rel="next"]');
    if (link) near.observe(link);
  };
  watch();
  // A list that came anew has a link of its own.
  document.addEventListener(CAME, watch);
}

async function next(link: HTMLAnchorElement): Promise<void> {
  const fresh = await rowsPart(link.href);
  const rows = document.querySelector('[data-rows]');
  // By its place: a selector would look at every row before it.
  const end = rows?.nextElementSibling;
  if (typeof fresh === 'string' || !rows || !end) return link.removeAttribute('rel');
  const come = fresh.querySelector('[data-rows]');
  const after = fresh.querySelector('[data-next]');
  if (!come || !after) return link.removeAttribute('rel');
  const was = loadedMore();
  // A search that found nothing so far has no row that says what is searched for.
  const self = document.querySelector<HTMLElement>('[data-self]')?.dataset['self'] ?? '';
  const { search } = rows.querySelector<HTMLAnchorElement>('[data-row] > a') ?? new URL(self, location.href);
  const first = was?.first ?? new URL(search, `${location.origin}/hil`).href;
  const brought = come.querySelectorAll('[data-row]').length;
  const chosen = rows.querySelector('a[aria-current]') !== null;
  dropHeld(come);
  for (let list = come.firstElementChild; list; list = come.firstElementChild) {
    // The page that was asked for has chosen its own first row.
    if (chosen) list.querySelector('a[aria-current]')?.removeAttribute('aria-current');
    rows.append(list);
  }
  inVain = brought > 0 ? 0 : inVain + 1;
  if (inVain >= MOST_IN_VAIN) after.querySelector('a')?.removeAttribute('rel');
  end.replaceWith(after);
  let isCut = was?.isCut === true;
  for (const list of [...rows.children].slice(0, Math.max(0, rows.children.length - MOST_LISTS)))
    if (!list.querySelector('input:checked, [aria-current], :focus')) {
      list.remove();
      isCut = true;
    }
  held = { rows, first, last: link.href, isCut };
}

/** Of the rows of a page that came, those that the list has stand there already: which page a row is on changes while calls are decided. */
function dropHeld(come: Element): void {
  const ids = new Set([...heldRows()].map((row) => row.dataset['row']));
  for (const row of come.querySelectorAll<HTMLElement>('[data-row]')) if (ids.has(row.dataset['row'])) row.remove();
  for (const few of come.querySelectorAll('.few')) if (few.childElementCount === 0) few.remove();
  for (const list of come.querySelectorAll(':scope > *')) if (list.childElementCount === 0) list.remove();
}
