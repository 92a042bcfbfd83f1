import { chosenRow, placeOf } from './ahead.js';
import { heldRows, takeAway, withRows } from './far.js';
import { type Came, type Heard, rowsPart } from './follow.js';
import { CAME } from './heard.js';
import { endsWith, loadedMore, MOST_LISTS } from './more.js';
import { markTicked } from './ticked.js';

const MOST_NOTED = 1_000;
/** As the server lays them out (`console/pages/queue/list.tsx`). */
const [IN_A_LIST, BY] = [100, 5];
const STEP = 20;

/** How the calls stand that events named, until their rows say so. */
const noted = new Map<string, string>();
/** How often there were more events than are noted, and up to which of these times the whole list was asked for since. */
let [floods, looked] = [0, 0];

/** What the server says of a list that more than its first page was loaded of. */
export interface FreshRows {
  /** Its pages from the beginning on; none where nothing came of them. */
  readonly first: readonly Document[];
  /** The address of the last of them. */
  readonly firstTo: string;
  /** Where nothing leads on, the page that its last rows came from: newer ones stand behind them. */
  readonly last: { readonly page: Document; readonly end: Element } | null;
  /** `here` where all of it came. Otherwise what is shown may be old. */
  readonly came: Came;
  /** Up to which flood of events it is whole. */
  readonly floods: number;
}

/** Notes how the call of an event stands now: its row may be far behind the page that is asked for. */
export function noteOver({ data }: Heard): void {
  let pending: { readonly id?: unknown; readonly status?: unknown } | undefined;
  try {
    ({ pending } = JSON.parse(data) as { readonly pending?: typeof pending });
  } catch {
    return;
  }
  if (typeof pending?.id !== 'string' || typeof pending.status !== 'string') return;
  noted.set(pending.id, pending.status);
  if (noted.size <= MOST_NOTED) return;
  noted.clear();
  floods += 1;
}

/**
 * Asks for what may have changed of a list that more was loaded of: its first page and its end, and every page of it after a time in which
 * nobody listened. `null` where the page that came is all that there is to show.
 */
export async function freshRows(fresh: Document, mayHaveMissed: boolean): Promise<FreshRows | null> {
  const loaded = loadedMore();
  const begin = loaded && (await beginning(loaded.first, fresh));
  // A list that has nothing any more says so.
  if (!loaded || begin?.querySelector('[data-list] > .empty')) {
    noted.clear();
    return null;
  }
  // Where its first rows went, nobody knows which of the others a page from the beginning would have.
  const first = loaded.isCut || !begin?.querySelector('[data-rows]') ? [] : [begin];
  const asked = floods;
  const most = mayHaveMissed || looked < asked ? MOST_LISTS : 1;
  let came: Came = begin ? 'here' : 'away';
  let firstTo = loaded.first;
  const held = [...heldRows()].map(idOf);
  while (first.length > 0 && first.length < most && !isPast(first, held)) {
    const link = first.at(-1)?.querySelector('[data-next] a[rel="next"]')?.getAttribute('href');
    if (link == null) break;
    const address = new URL(link, location.href).href;
    const next = await rowsPart(address);
    if (typeof next === 'string') {
      came = next;
      break;
    }
    firstTo = address;
    first.push(next);
  }
  const end = loaded.rows.nextElementSibling;
  if (!end || end.querySelector('a')) return { first, firstTo, last: null, came, floods: asked };
  const page = await rowsPart(loaded.last);
  return typeof page === 'string'
    ? { first, firstTo, last: null, came: page, floods: asked }
    : { first, firstTo, last: { page, end }, came, floods: asked };
}

/** Whether what came reaches the end of the rows that the list has: they are in order, and newer ones stand at one end. */
function isPast(pages: readonly Document[], held: readonly string[]): boolean {
  const rows = pages.flatMap(rowsIn).map(idOf);
  const last = rows.at(-1);
  if (last === undefined) return false;
  if (last === held.at(-1)) return true;
  const known = new Set(held);
  return !known.has(last) && rows.some((id) => known.has(id));
}

/** The list from its beginning: the page that came, unless its call is of another page of the list. */
async function beginning(address: string, fresh: Document): Promise<Document | null> {
  const self = fresh.querySelector<HTMLElement>('[data-self]')?.dataset['self'] ?? '';
  if (new URL(self, location.href).search === new URL(address).search) return fresh;
  const came = await rowsPart(address);
  return typeof came === 'string' ? null : came;
}

/** Takes away the rows that are over and puts in those that came: what somebody looks at stays where it is, and so does the focus. */
export function renewRows(fresh: Document, { first, firstTo, last, came, floods: seen }: FreshRows): void {
  if (came === 'here') looked = Math.max(looked, seen);
  const rows = loadedMore()?.rows;
  const scrolls = rows && scrollerOf(rows);
  if (!rows || !scrolls) return;
  const over = overNow(first);
  const stays = rowsInSight(rows).find((row) => !over.has(row));
  const wasAt = stays?.getBoundingClientRect().top ?? 0;
  const focused = document.activeElement?.closest<HTMLElement>('[data-row]') ?? null;
  const beside = focused && over.has(focused) ? rowBeside(focused, over) : null;
  keepPlace(rows, over);
  // Before its rows are put in, and it has them no more.
  const ends = endOf(first, firstTo);
  const had = new Set(heldRows());
  putIn(rows, first);
  if (last && rows.nextElementSibling === last.end) {
    append(rows, rowsIn(last.page));
    const end = last.page.querySelector('[data-next]');
    if (end) last.end.replaceWith(end);
  }
  takeAway(over);
  leadOn(rows, ends, had);
  sayWaitsNoMore(fresh);
  markTicked(rows.closest('form'));
  if (stays) scrolls.scrollTop += stays.getBoundingClientRect().top - wasAt;
  beside?.querySelector<HTMLElement>(':scope > a')?.focus({ preventScroll: true });
  document.dispatchEvent(new Event(CAME));
}

const idOf = (row: HTMLElement): string => row.dataset['row'] ?? '';
const rowsIn = (page: Document): HTMLElement[] => [...page.querySelectorAll<HTMLElement>('[data-rows] [data-row]')];

/** The rows that the list has no more: as its beginning came, and as events say of those behind that. */
function overNow(first: readonly Document[]): ReadonlySet<HTMLElement> {
  const fresh = new Set(first.flatMap(rowsIn).map(idOf));
  const listed = document.querySelector<HTMLSelectElement>('.list select[name="status"] option[selected]')?.value;
  const rows = [...heldRows()];
  const isWhole = first.length > 0 && !first.at(-1)?.querySelector('[data-next] a');
  // What came says nothing of rows behind its last one.
  const known = isWhole ? rows.length : rows.reduce((end, row, at) => (fresh.has(idOf(row)) ? at + 1 : end), 0);
  const over = new Set<HTMLElement>();
  for (const [at, row] of rows.entries()) {
    const id = idOf(row);
    const status = noted.get(id) ?? listed;
    if (!fresh.has(id) && (at < known || status !== listed)) over.add(row);
  }
  // The page that still has it was made before.
  for (const id of noted.keys()) if (!fresh.has(id)) noted.delete(id);
  return over;
}

/** From where the keys go on when the chosen call is decided: so many rows stand before it once these are away. */
function keepPlace(rows: Element, over: ReadonlySet<HTMLElement>): void {
  if (!(rows instanceof HTMLElement)) return;
  const chosen = chosenRow();
  const place = chosen ? placeOf(chosen) : Number(rows.dataset['place'] ?? 0);
  let before = 0;
  for (const row of [...heldRows()].slice(0, place)) if (!over.has(row)) before += 1;
  rows.dataset['place'] = String(before);
}

/** Puts in the rows that the list has not, where what came has them, and brings the others to how they stand. */
function putIn(rows: Element, first: readonly Document[]): void {
  const held = new Map([...heldRows()].map((row) => [idOf(row), row]));
  let before: HTMLElement | null = null;
  for (const row of first.flatMap(rowsIn)) {
    const there = held.get(idOf(row));
    if (there) stand(there, row);
    else {
      unchosen(row);
      if (before) before.after(row);
      else if (rows.firstElementChild?.firstElementChild)
        withRows(rows.firstElementChild)?.firstElementChild?.prepend(row);
      else append(rows, [row]);
    }
    before = there ?? row;
  }
}

/** How the last page that came ends. */
function endOf(first: readonly Document[], address: string) {
  const page = first.at(-1);
  const row = page && rowsIn(page).at(-1);
  return { id: row && idOf(row), next: page?.querySelector('[data-next]'), address };
}

/**
 * Where the list ends as that page does, what leads on is what leads on there: behind its old end stand rows that came with another page then. Behind
 * a row that was there already its own link leads on, which may be of a search that came further.
 */
function leadOn(rows: Element, { id, next, address }: ReturnType<typeof endOf>, had: ReadonlySet<HTMLElement>): void {
  const row = [...heldRows()].at(-1);
  if (!row || !next || had.has(row) || idOf(row) !== id) return;
  rows.nextElementSibling?.replaceWith(next);
  endsWith(address);
}

/** Who approved, and whom it is for. */
function stand(there: HTMLElement, fresh: HTMLElement): void {
  const [is, now] = [there, fresh].map((row) => row.querySelector(':scope > a > .dim:last-child'));
  if (is && now && is.textContent !== now.textContent) is.replaceWith(now);
}

/** Puts the rows that the list has not at its end. */
function append(rows: Element, come: readonly HTMLElement[]): void {
  const held = new Set([...heldRows()].map(idOf));
  for (const row of come) {
    if (held.has(idOf(row))) continue;
    unchosen(row);
    let list = withRows(rows.lastElementChild);
    if (!list || list.querySelectorAll('[data-row]').length >= IN_A_LIST) {
      list = document.createElement('div');
      list.className = 'rows';
      list.role = 'list';
      rows.append(list);
    }
    let few = list.lastElementChild;
    if (!few || few.childElementCount >= BY) {
      few = document.createElement('div');
      few.className = 'few';
      list.append(few);
    }
    few.append(row);
  }
}

/** The page that a row came with has chosen one of its own. */
const unchosen = (row: HTMLElement): void => row.querySelector('a[aria-current]')?.removeAttribute('aria-current');

/** The list scrolls by itself where there is room beside it, and with the page where there is none. */
function scrollerOf(rows: Element): Element | null {
  const list = rows.closest('.list');
  return list && getComputedStyle(list).overflowY === 'auto' ? list : document.scrollingElement;
}

/** The rows in sight, from above. */
function rowsInSight(rows: Element): HTMLElement[] {
  const { left, width, top, bottom } = rows.getBoundingClientRect();
  const seen = new Set<HTMLElement>();
  for (let at = Math.max(0, top) + 1; at < Math.min(innerHeight, bottom); at += STEP) {
    const row = document.elementFromPoint(left + width / 2, at)?.closest<HTMLElement>('[data-row]');
    if (row && rows.contains(row)) seen.add(row);
  }
  return [...seen];
}

/** The row that takes the place of one that goes: the next one that stays, or the one before. */
function rowBeside(gone: HTMLElement, over: ReadonlySet<HTMLElement>): HTMLElement | null {
  const rows = [...heldRows()];
  const at = rows.indexOf(gone);
  const stays = (row: HTMLElement): boolean => !over.has(row);
  return rows.slice(at).find(stays) ?? rows.slice(0, at).filter(stays).at(-1) ?? null;
}

/** Of an opened call that was decided, the list says so. */
function sayWaitsNoMore(fresh: Document): void {
  const list = document.querySelector('[data-list]');
  const says = fresh.querySelector('[data-waits-no-more]');
  list?.querySelector(':scope > [data-waits-no-more]')?.remove();
  if (says) list?.prepend(says);
}
