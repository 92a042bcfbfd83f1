import { OPENED } from './heard.js';

/**
 * What was on screen of the arguments of the shown call, without a gap from their first line on: down to so many pixels below their beginning.
 * Of a call that is laid out anew, as on a telephone that is turned, nothing was yet.
 */
interface Seen {
  readonly of: Element;
  readonly width: number;
  down: number;
}
let seen: Seen | null = null;

/**
 * Keeps the buttons that decide at the lower edge of the window once all of the arguments were on screen, above where the buttons will be. Before
 * that they stand below the arguments, where they cover none of them: on a telephone they would cover most, and could be pressed before
 * anything was read.
 */
export function staysOnceRead(): void {
  addEventListener('scroll', look, { passive: true });
  addEventListener('resize', look);
  document.addEventListener(OPENED, look);
  look();
}

interface Place {
  readonly bar: HTMLElement;
  /** Of the window, above the buttons; of all of it where they would leave less than half, and then they never stay. */
  readonly room: number;
  readonly mayStay: boolean;
  /** Below the upper edge of the window. */
  readonly begins: number;
  readonly height: number;
}

function placeOf(all: Element): Place | null {
  const end = all.querySelector('[data-arguments-end]');
  const bar = all.closest('.detail')?.querySelector<HTMLElement>('.decide');
  if (!end || !bar) return null;
  const left = innerHeight - bar.offsetHeight;
  const mayStay = left >= innerHeight / 2;
  const begins = all.getBoundingClientRect().top;
  // Windows scroll by whole pixels.
  const height = Math.floor(end.getBoundingClientRect().top - begins);
  return { bar, room: mayStay ? left : innerHeight, mayStay, begins, height };
}

const isRead = ({ bar, height }: Place): boolean => bar.classList.contains('stays') || (seen?.down ?? 0) >= height;

function look(): void {
  const all = document.querySelector('.detail .arguments');
  const place = all && placeOf(all);
  if (!all || !place || isRead(place)) return;
  const width = all.clientWidth;
  if (seen?.of !== all || seen.width !== width) seen = { of: all, width, down: 0 };
  const [from, to] = [-place.begins, place.room - place.begins];
  if (from <= seen.down + 1) seen.down = Math.max(seen.down, to);
  if (place.mayStay && isRead(place)) place.bar.classList.add('stays');
}

/** Whether all of the shown call's arguments were on screen; where they were not, scrolls on from where they were seen to. */
export function readToTheEnd(): boolean {
  look();
  const all = document.querySelector('.detail .arguments');
  const place = all && placeOf(all);
  if (!place || isRead(place)) return true;
  const down = Math.max(0, seen?.down ?? 0);
  // What follows stands at the upper edge of the window, or as much of it as there is at the lower one.
  scrollBy(0, Math.ceil(Math.min(place.begins + down, place.begins + place.height - place.room)));
  return false;
}
