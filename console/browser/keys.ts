import { chosenRow, head, rowBeside } from './ahead.js';
import { REASON_FIELD } from './detail.js';
import { dialogOf, openDialog } from './dialogs.js';
import { OPENED, STAYED } from './heard.js';
import { leave, openCall, stay, whatIsAwaited } from './opening.js';
import { askToApprove } from './question.js';
import { isOnItsWay, tellOnItsWay } from './sending.js';
import { typing } from './typing.js';

const HELP: readonly (readonly [string, string])[] = [
  ['j, k', 'next, previous call'],
  ['a', 'approve: asks first; there Shift+Tab, then Enter'],
  ['d', 'deny: type the reason, then Enter'],
  ['m', 'change the arguments'],
  ['x', 'tick the call, to decide several at once'],
  ['/', 'search'],
  ['?', 'this help'],
  ['Esc', 'close'],
];
const AFTER_G_MS = 1_500;
/** Where the browser keeps that somebody switched the keys off: who speaks to a computer, or has a key that sticks, hits one unmeant. */
const KEPT = 'gate.keys';

const areOff = (): boolean => {
  try {
    return localStorage.getItem(KEPT) === 'off';
  } catch {
    // A browser that keeps nothing.
    return false;
  }
};

/** The switch of the keys, on the page about oneself. */
export function keysSwitch(): void {
  const place = document.querySelector<HTMLElement>('[data-keys]');
  const box = place?.querySelector<HTMLInputElement>('input');
  if (!place || !box) return;
  place.hidden = false;
  box.checked = !areOff();
  box.addEventListener('change', () => {
    try {
      localStorage.setItem(KEPT, box.checked ? 'on' : 'off');
    } catch {
      box.checked = true;
    }
  });
}

/** Until when a key goes to a page, after `g`. */
let goingUntil = 0;

/** Keys that were pressed while a call is being opened. */
let waiting: readonly string[] = [];
/** Somebody pressed what acts on a call that nobody has seen yet, nor will before another one: from there on nothing is heard. */
let areDropped = false;

/**
 * The keys of the queue. No key decides by itself: each opens what then has to be sent. While another call is being opened they wait for it,
 * and act on it alone; while another page comes, or the answer to a form, nothing hears them.
 */
export function keys(): void {
  // What leads to the help by hand stands in pages that come later, too.
  document.documentElement.classList.toggle('with-keys', !areOff());
  document.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('[data-keys-help]')) help();
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || openDialog()) return;
    if (typing(event.target)) {
      if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (areOff()) return;
    const awaited = whatIsAwaited();
    if (event.key === 'Escape') return awaited === null ? undefined : stay();
    // Tab and arrows change nothing.
    if (event.key.length > 1 && (event.key !== 'Enter' || awaited === null)) return;
    if (isOnItsWay()) {
      if (!(event.key in ACTS)) return;
      event.preventDefault();
      return tellOnItsWay();
    }
    // A key that is held moves on as fast as calls are shown; nothing of it is done later, and nothing else is done twice.
    if (event.repeat && (awaited !== null || !(event.key in STEPS))) return event.preventDefault();
    if (awaited === null) {
      if (heard(event.key)) event.preventDefault();
      return;
    }
    event.preventDefault();
    if (awaited === 'call') wait(event.key);
  });
  const forget = () => {
    waiting = [];
    areDropped = false;
  };
  document.addEventListener(STAYED, forget);
  document.addEventListener(OPENED, () => {
    const pressed = waiting;
    forget();
    // Whoever went into a field meanwhile means that.
    if (!typing(document.activeElement)) waiting = pressedAgain(pressed);
  });
}

/** What a key waits for is the call that comes next; what acts on one behind that is dropped, because nobody saw which that will be. */
function wait(key: string): void {
  const isText = waiting.includes('d') || waiting.includes('/');
  areDropped ||= !isText && !(key in STEPS) && waiting.some((before) => before in STEPS);
  if (!areDropped) waiting = [...waiting, key];
}

/** Does what a key stands for; `false` where it stands for nothing. */
function heard(key: string): boolean {
  const going = Date.now() < goingUntil;
  goingUntil = 0;
  if (going) {
    const to = document.querySelector<HTMLAnchorElement>(`.top a[data-go="${CSS.escape(key)}"]`);
    if (to) leave(() => location.assign(to.href));
    return to !== null;
  }
  const act = ACTS[key];
  if (key === 'g') goingUntil = Date.now() + AFTER_G_MS;
  else if (act) act();
  else return false;
  return true;
}

/**
 * Keys that were pressed before the call was there. What was typed goes into the field that one of them opened; what would send it does not:
 * nobody decides about a call that was not shown yet. Returns those that wait for yet another call.
 */
function pressedAgain(pressed: readonly string[]): readonly string[] {
  for (let at = 0; at < pressed.length; at += 1) {
    if (whatIsAwaited() === 'call') return pressed.slice(at);
    const key = pressed[at] ?? '';
    const field = document.activeElement;
    if (key === 'Enter' || openDialog()) return [];
    if (typing(field) && field instanceof HTMLInputElement) {
      field.setRangeText(key, field.value.length, field.value.length, 'end');
      field.dispatchEvent(new Event('input', { bubbles: true }));
    } else if (key in STEPS) {
      // All that follow each other are one step.
      let by = 0;
      while (at < pressed.length && (pressed[at] ?? '') in STEPS) by += STEPS[pressed[at++] ?? ''] ?? 0;
      at -= 1;
      move(by);
    } else heard(key);
  }
  return [];
}

const STEPS: Readonly<Record<string, 1 | -1>> = { j: 1, k: -1 };
const ACTS: Readonly<Record<string, () => void>> = {
  j: () => move(1),
  k: () => move(-1),
  '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
  a: askToApprove,
  d: () => document.querySelector<HTMLInputElement>(REASON_FIELD)?.focus(),
  m: () => {
    const link = document.querySelector<HTMLAnchorElement>('.detail a[data-decide="m"]');
    if (link) leave(() => location.assign(link.href));
  },
  x: tick,
  '?': help,
};

/** Opens the row so many further in the list, or its last one on that way; from the chosen one, or from where it stood before it was decided. */
function move(by: number): void {
  if (by !== 0) head(by);
  for (let step = by; step !== 0; step -= Math.sign(by)) {
    const row = rowBeside(step);
    if (row) return void openCall(row.href);
  }
}

/** Ticks the chosen call in the list, or takes the tick away. */
function tick(): void {
  chosenRow()?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
}

function help(): void {
  const dialog = dialogOf('Keys');
  const list = document.createElement('dl');
  const pages = [...document.querySelectorAll<HTMLAnchorElement>('.top a[data-go]')].map(
    ({ dataset, textContent }) => [`g ${dataset['go'] ?? ''}`, `go to: ${textContent}`] as const,
  );
  for (const [key, meaning] of [...HELP, ...pages]) {
    const dt = document.createElement('dt');
    const dd = document.createElement('dd');
    dt.textContent = key;
    dd.textContent = meaning;
    list.append(dt, dd);
  }
  const off = document.createElement('a');
  off.href = '/me';
  off.textContent = 'Switch these keys off';
  dialog.append(list, off);
}
