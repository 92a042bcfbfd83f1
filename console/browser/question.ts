import { ENDED_MEANWHILE } from './detail.js';
import { buttonThatCloses, dialogOf, openDialog } from './dialogs.js';
import { ENDED } from './heard.js';
import { whatIsAwaited } from './opening.js';
import { isOnItsWay } from './sending.js';
import { readToTheEnd } from './stays.js';
import { typing } from './typing.js';

/** The shown call, where its button was pressed before all of it was seen. */
let pressedTooSoon: Element | null = null;

/**
 * The button stands below the arguments, where a jump to the end leads as well. So it approves only what was on screen, as the key does: before,
 * it scrolls on, and after that it asks, so that nobody approves by the press that was meant to read on. Without scripts every press approves:
 * nothing knows what was on screen.
 */
export function approvesWhatWasRead(): void {
  document.addEventListener(
    'submit',
    (event) => {
      const { submitter } = event;
      if (!(submitter instanceof HTMLButtonElement) || submitter.dataset['decide'] !== 'a') return;
      const call = submitter.closest('[data-review]');
      const isRead = readToTheEnd();
      if (isRead && pressedTooSoon !== call) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isRead) return askToApprove();
      pressedTooSoon = call;
    },
    { capture: true },
  );
}

/** What was pressed or typed after the key is what is meant: another call is awaited then, a form is on its way, or there is a reason to deny. */
function askOnceDrawn(): void {
  const isElsewhere = openDialog() !== null || typing(document.activeElement);
  if (whatIsAwaited() === null && !isOnItsWay() && !isElsewhere) askToApprove();
}

/**
 * Asks whether to approve the shown call. What was not on screen is not approved: where the end of the arguments was not, the page scrolls there,
 * and only the next key asks.
 */
export function askToApprove(): void {
  const button = document.querySelector<HTMLButtonElement>('.detail button[data-decide="a"]');
  if (!button || button.disabled) return;
  if (!readToTheEnd(askOnceDrawn)) return;
  const what = document.querySelector('.detail [data-review] h2')?.textContent ?? '';
  const dialog = dialogOf(`Approve? ${what}`);
  const asks = document.createElement('div');
  // What it does stands in the question too: on a small window the question covers the call.
  for (const part of ['.detail [data-rehearsal]', '.detail [data-predicted]', '.detail [data-folded]']) {
    const told = document.querySelector(part)?.cloneNode(true);
    if (told) asks.append(told);
  }
  const yes = document.createElement('button');
  yes.className = 'act';
  yes.textContent = button.textContent;
  yes.addEventListener('click', () => {
    dialog.close();
    pressedTooSoon = null;
    if (!button.disabled) button.form?.requestSubmit(button);
  });
  const no = buttonThatCloses(dialog, 'Not now');
  const keys = document.createElement('p');
  keys.className = 'dim by-keys';
  keys.textContent = 'Keys: Enter or Esc leaves it as it is; Shift+Tab, then Enter, approves.';
  asks.append(yes, ' ', no, keys);
  dialog.append(asks);
  const isOver = () => {
    const why = document.createElement('p');
    why.setAttribute('role', 'alert');
    why.textContent = ENDED_MEANWHILE;
    const close = buttonThatCloses(dialog, 'Close');
    asks.replaceWith(why, close);
    close.focus();
  };
  document.addEventListener(ENDED, isOver, { once: true });
  dialog.addEventListener('close', () => document.removeEventListener(ENDED, isOver));
  // What acts is never where the focus begins.
  no.focus();
}
