import { CAME, OPENED } from './heard.js';

/** Of a list of 100 rows, above and below what is seen: so that whoever scrolls, or reads on by a screen reader, meets no gap. */
const NEAR = '2400px';
/** What keeps a list where it is: what is chosen, ticked or has the focus is sent, looked for and moved from. */
const STAYS = 'a[aria-current], input:checked, :focus';

/** Rows of lists that stand far from what is seen, by the list that they are taken out of. */
const taken = new Map<Element, DocumentFragment>();
/** Lists far from what is seen, also those whose rows stay. */
const far = new Set<Element>();
let near: IntersectionObserver | null = null;

/**
 * Takes rows that stand far from what is seen out of the page, and puts them back before somebody comes there: a dialog that opens, a mark that
 * moves or a call that is replaced has a browser look at every element, which among ten thousand rows takes a second. Their list keeps its height.
 */
export function farRowsAside(): void {
  near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (isIntersecting) {
          far.delete(target);
          putBack(target);
        } else if (target.isConnected) far.add(target);
      }
      takeFar();
    },
    { rootMargin: NEAR, scrollMargin: NEAR },
  );
  watch();
  document.addEventListener(CAME, watch);
  document.addEventListener(OPENED, takeFar);
  addEventListener('beforeprint', () => {
    for (const list of taken.keys()) putBack(list);
  });
}

/** The lists that the page has now. One that is watched already is watched once. */
function watch(): void {
  for (const list of far)
    if (!list.isConnected) {
      far.delete(list);
      taken.delete(list);
      near?.unobserve(list);
    }
  for (const list of document.querySelector('[data-rows]')?.children ?? []) near?.observe(list);
}

function takeFar(): void {
  for (const list of far) {
    // A key moves on into the lists beside the chosen row's.
    const isKept = [list, list.previousElementSibling, list.nextElementSibling].some((one) =>
      one?.querySelector(STAYS),
    );
    // One that is not laid out, as beside a call on a telephone, has no height to keep.
    if (taken.has(list) || isKept || !(list instanceof HTMLElement) || list.offsetHeight === 0) continue;
    const rows = document.createDocumentFragment();
    list.style.height = `${list.getBoundingClientRect().height}px`;
    rows.append(...list.childNodes);
    // A list without items is none to who listens, until they are back.
    list.ariaBusy = 'true';
    taken.set(list, rows);
  }
}

function putBack(list: Element): void {
  const rows = taken.get(list);
  if (!rows || !(list instanceof HTMLElement)) return;
  taken.delete(list);
  list.append(rows);
  list.ariaBusy = null;
  list.style.height = '';
}

/** A list with its rows in it. */
export function withRows(list: Element | null | undefined): Element | null {
  if (list) putBack(list);
  return list ?? null;
}

/** Every row that the page holds, in order, wherever it is. */
export function* heldRows(): Generator<HTMLElement> {
  for (const list of document.querySelector('[data-rows]')?.children ?? [])
    for (const few of (taken.get(list) ?? list).children) yield* few.children as Iterable<HTMLElement>;
}

/** Takes rows away, and the lists that have none left. */
export function takeAway(over: ReadonlySet<HTMLElement>): void {
  for (const list of document.querySelector('[data-rows]')?.children ?? []) {
    const rows = taken.get(list) ?? list;
    const before = rowsOf(list);
    for (const few of rows.querySelectorAll('.few')) {
      for (const row of few.querySelectorAll<HTMLElement>('[data-row]')) if (over.has(row)) row.remove();
      if (few.childElementCount === 0) few.remove();
    }
    const left = rowsOf(list);
    // One whose rows are elsewhere keeps the height of those that are left.
    if (taken.has(list) && list instanceof HTMLElement && left < before)
      list.style.height = `${(Number.parseFloat(list.style.height) * left) / before}px`;
    if (left === 0) list.remove();
  }
}

/** How many rows a list has, wherever they are. They stand by few in it. */
export function rowsOf(list: Element): number {
  let count = 0;
  for (const few of (taken.get(list) ?? list).children) count += few.childElementCount;
  return count;
}

/** The row of a call, which is put back where it was taken out. */
export function rowOfFar(call: string): HTMLElement | null {
  const selector = `[data-row="${CSS.escape(call)}"]`;
  for (const [list, rows] of taken)
    if (rows.querySelector(selector)) return withRows(list)?.querySelector<HTMLElement>(selector) ?? null;
  return null;
}
