import { chosenRow, rowBeside } from './ahead.js';
import { OPENED } from './heard.js';
import { leave, openCall, stay, whatIsAwaited } from './opening.js';

const HELP: readonly (readonly [string, string])[] = [
  ['j, k', 'next, previous call'],
  ['a', 'approve: asks first'],
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

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  // Nobody types into a box that was just ticked.
  !target.matches('input[type="checkbox"]') &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

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

/**
 * The keys of the queue. No key decides by itself: each opens what then has to be sent. While another call is being opened they wait for it,
 * and act on it alone; while another page comes nothing hears them.
 */
export function keys(): void {
  const waiting: string[] = [];
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (typing(event.target)) {
      if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur();
      return;
    }
    if (areOff()) return;
    const awaited = whatIsAwaited();
    if (awaited === null) {
      if (heard(event.key)) event.preventDefault();
      return;
    }
    if (event.key === 'Escape') {
      waiting.length = 0;
      return stay();
    }
    // Tab and arrows change nothing.
    if (event.key.length > 1 && event.key !== 'Enter') return;
    event.preventDefault();
    if (awaited === 'call') waiting.push(event.key);
  });
  document.addEventListener(OPENED, () => {
    const pressed = waiting.splice(0);
    // Whoever went into a field meanwhile means that.
    if (!typing(document.activeElement)) waiting.push(...pressedAgain(pressed));
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) waiting.length = 0;
  });
}

/** Does what a key stands for; `false` where it stands for nothing. */
function heard(key: string): boolean {
  const going = Date.now() < goingUntil;
  goingUntil = 0;
  if (going) {
    const to = document.querySelector<HTMLAnchorElement>(`nav a[data-go="${CSS.escape(key)}"]`);
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
  for (const [at, key] of pressed.entries()) {
    if (whatIsAwaited() === 'call') return pressed.slice(at);
    const field = document.activeElement;
    if (key === 'Enter' || document.querySelector('dialog[open]')) return [];
    if (typing(field) && field instanceof HTMLInputElement) {
      field.setRangeText(key, field.value.length, field.value.length, 'end');
      field.dispatchEvent(new Event('input', { bubbles: true }));
    } else heard(key);
  }
  return [];
}

const ACTS: Readonly<Record<string, () => void>> = {
  j: () => move(1),
  k: () => move(-1),
  '/': () => document.querySelector<HTMLInputElement>('[data-search]')?.focus(),
  a: approve,
  d: () => document.querySelector<HTMLInputElement>('.decide input[name="reason"]')?.focus(),
  m: () => {
    const link = document.querySelector<HTMLAnchorElement>('a[data-decide="m"]');
    if (link) leave(() => location.assign(link.href));
  },
  x: tick,
  '?': help,
};

/** Opens the next row of the list, from the chosen one, or from where it stood before it was decided. */
function move(by: 1 | -1): void {
  const next = rowBeside(by);
  if (next) void openCall(next.href);
}

/** Ticks the chosen call in the list, or takes the tick away. */
function tick(): void {
  chosenRow()?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
}

function approve(): void {
  const button = document.querySelector<HTMLButtonElement>('button[data-decide="a"]');
  if (!button || button.disabled) return;
  const what = document.querySelector('[data-review] h2')?.textContent ?? '';
  const dialog = opened(`Approve? ${what}`);
  // What it does stands in the question too: on a small window the question covers the call.
  const predicted = document.querySelector('[data-predicted]')?.cloneNode(true);
  if (predicted) dialog.append(predicted);
  const folded = document.querySelector('[data-folded]')?.cloneNode(true);
  if (folded) dialog.append(folded);
  const yes = document.createElement('button');
  yes.className = 'act';
  yes.textContent = button.textContent;
  yes.addEventListener('click', () => {
    dialog.close();
    button.form?.requestSubmit(button);
  });
  const no = document.createElement('button');
  no.textContent = 'Not now';
  no.addEventListener('click', () => dialog.close());
  dialog.append(yes, ' ', no);
  // What acts is never where the focus begins.
  no.focus();
}

function help(): void {
  const dialog = opened('Keys');
  const list = document.createElement('dl');
  const pages = [...document.querySelectorAll<HTMLAnchorElement>('nav a[data-go]')].map(
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

/** A dialog that gives the focus back when it closes. */
function opened(title: string): HTMLDialogElement {
  const before = document.activeElement;
  const dialog = document.createElement('dialog');
  const heading = document.createElement('h2');
  heading.textContent = title;
  dialog.append(heading);
  dialog.setAttribute('aria-label', title);
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
