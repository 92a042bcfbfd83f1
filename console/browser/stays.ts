import { say } from './detail.js';
import { openDialog } from './dialogs.js';
import { OPENED, RENEWED } from './heard.js';

/** What was on screen of one argument as it was laid out then, without a gap from its upper edge on: down to so many pixels below that. */
interface Seen {
  readonly width: number;
  readonly height: number;
  down: number;
}
/**
 * Of each argument by itself: what moves another one, as a text above it that is unfolded and folded again, changes nothing. Of one that is laid
 * out anew, as on a telephone that is turned, nothing was seen yet; nor of a call that comes anew, which has other elements.
 */
const seen = new WeakMap<Element, Seen>();
/** Whether the window as it stands was drawn: one that keys waiting in a row would scroll past before that was never on screen. */
let isDrawn = true;

/**
 * Keeps the buttons that decide at the lower edge of the window once all of the arguments were on screen, above where the buttons will be. Before
 * that they stand below the arguments, where they cover none of them: on a telephone they would cover most, and could be pressed before
 * anything was read.
 */
export function staysOnceRead(): void {
  addEventListener('scroll', look, { passive: true });
  addEventListener('resize', look);
  // What came was not on screen before it was drawn. Before the keys that waited for it, which are heard in the same step.
  document.addEventListener(OPENED, untilDrawn, { capture: true });
  document.addEventListener(RENEWED, look);
  // What somebody unfolds has to be seen too. Neither event goes up to any other element.
  document.addEventListener('toggle', look, { capture: true });
  document.addEventListener('close', look, { capture: true });
  // The page itself may not be drawn yet.
  untilDrawn();
}

interface Place {
  readonly bar: HTMLElement;
  /** Of the window, above the buttons; of all of it where they would leave less than half, and then they never stay. */
  readonly room: number;
  readonly mayStay: boolean;
  /** Each value by its name, and what stands beside their table: the JSON, and what is said of them. */
  readonly units: readonly Element[];
  readonly end: Element;
}

function placeOf(): Place | null {
  const all = document.querySelector('.detail .arguments');
  const end = all?.querySelector('[data-arguments-end]');
  const bar = all?.closest('.detail')?.querySelector<HTMLElement>('.decide');
  if (!all || !end || !bar) return null;
  const left = innerHeight - bar.offsetHeight;
  const mayStay = left >= innerHeight / 2;
  const units = [...all.querySelectorAll(':scope > .values tr, :scope > :not(h3, .values, [data-arguments-end])')];
  return { bar, room: mayStay ? left : innerHeight, mayStay, units, end };
}

/** What was seen of it, which is nothing where it has another size than it had then. */
function seenOf(unit: Element, { width, height }: DOMRect): Seen {
  const was = seen.get(unit);
  const isSame = was && Math.abs(was.width - width) < 1 && Math.abs(was.height - height) < 1;
  return isSame ? was : { width, height, down: 0 };
}

/** The only place of the values, folded. */
const isFolded = (unit: Element): unit is HTMLDetailsElement =>
  unit instanceof HTMLDetailsElement && 'onlyHere' in unit.dataset && !unit.open;

// Windows scroll by whole pixels.
const isSeen = (unit: Element): boolean => {
  if (isFolded(unit)) return false;
  const box = unit.getBoundingClientRect();
  // One that is not laid out is on no screen.
  return box.height > 0 && seenOf(unit, box).down >= Math.floor(box.height);
};

/** What was not yet seen. */
function look(): readonly Element[] {
  const place = placeOf();
  if (!place) return [];
  const { bar, room, mayStay, units } = place;
  const edge = covered();
  // Behind a question nothing is seen.
  if (isDrawn && openDialog() === null) for (const unit of units) note(unit, edge, room);
  const left = units.filter((unit) => !isSeen(unit));
  // What is not drawn yet may be all of it: until then nothing of the bar moves.
  if (isDrawn) {
    bar.classList.toggle('stays', mayStay && left.length === 0);
    tellNotSeen(bar, left.length > 0 ? notSeen(left) : null);
  }
  return left;
}

/** Notes what of it is on screen, between these two heights of the window. */
function note(unit: Element, edge: number, room: number): void {
  const box = unit.getBoundingClientRect();
  const known = seenOf(unit, box);
  if (edge - box.top <= known.down + 1) known.down = Math.max(known.down, room - box.top);
  seen.set(unit, known);
}

/** What is missing, in words. */
function notSeen(left: readonly Element[]): string {
  const rows = left.filter(({ tagName }) => tagName === 'TR').length;
  if (left.some(isFolded)) return 'Open the JSON and scroll through it first. Until then Approve does that.';
  const what = rows > 0 ? `${rows} not yet seen` : 'their end was not yet seen';
  return `Scroll through the arguments first: ${what}. Until then Approve scrolls on.`;
}

/** Beside the button, as long as it does not approve; below it, so that what somebody is about to press stays where it is. */
function tellNotSeen(bar: HTMLElement, words: string | null): void {
  const button = bar.querySelector<HTMLButtonElement>('button[data-decide="a"]');
  let place = bar.querySelector<HTMLElement>('#not-seen');
  // One that cannot be pressed has a reason of its own.
  if (!button || button.disabled || (words === null && !place)) return;
  button.classList.toggle('not-yet', words !== null);
  if (words === null) {
    place?.remove();
    return button.removeAttribute('aria-describedby');
  }
  if (!place) {
    place = document.createElement('p');
    place.id = 'not-seen';
    place.className = 'dim';
    bar.append(place);
    button.setAttribute('aria-describedby', place.id);
  }
  if (place.textContent !== words) place.textContent = words;
}

/** What the page says of itself covers the upper edge of the window, where it was scrolled; elsewhere it stands above the arguments. */
const covered = (): number => Math.max(0, status()?.getBoundingClientRect().bottom ?? 0);
const status = (): HTMLElement | null => document.querySelector<HTMLElement>('[data-live-status]');

/**
 * Whether all of the shown call's arguments were on screen; where they were not, says so and scrolls on from where they were seen to. Before
 * the window is drawn it does neither: `again` is called then.
 */
export function readToTheEnd(again?: () => void): boolean {
  const [first] = look();
  if (!first) return true;
  if (!isDrawn) {
    onceDrawn = again;
    return false;
  }
  // Before anything is measured: it takes a line.
  say('Read the arguments to their end: then a and Approve ask.');
  if (isFolded(first)) first.open = true;
  const place = placeOf();
  if (!place) return true;
  const box = first.getBoundingClientRect();
  // What follows stands at the upper edge of the window, below what is said there, or as much of it as there is at the lower one.
  const follows = box.top + seenOf(first, box).down - (status()?.offsetHeight ?? 0);
  const end = place.end.getBoundingClientRect().top;
  scrollBy(0, Math.floor(Math.min(follows, Math.ceil(end - place.room))));
  untilDrawn();
  return false;
}

let drawing = 0;
/** What a key asked for before the window was drawn; another one that asks meanwhile is the same press. */
let onceDrawn: (() => void) | undefined;

/** The frame that comes may show the window before; after the one behind it this window was on screen. */
function untilDrawn(): void {
  isDrawn = false;
  drawing += 1;
  const mine = drawing;
  onceDrawn = undefined;
  look();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (mine !== drawing) return;
      isDrawn = true;
      look();
      onceDrawn?.();
    }),
  );
}
