import { ENDED_MEANWHILE, say } from './detail.js';
import { buttonThatCloses, dialogOf } from './dialogs.js';
import { ENDED } from './heard.js';
import { readToTheEnd } from './stays.js';

/**
 * Asks whether to approve the shown call. What was not on screen is not approved: where the end of the arguments was not, the page scrolls there,
 * and only the next key asks.
 */
export function askToApprove(): void {
  const button = document.querySelector<HTMLButtonElement>('button[data-decide="a"]');
  if (!button || button.disabled) return;
  if (!readToTheEnd()) return say('Read the arguments to their end: then a asks.');
  const what = document.querySelector('[data-review] h2')?.textContent ?? '';
  const dialog = dialogOf(`Approve? ${what}`);
  const asks = document.createElement('div');
  // What it does stands in the question too: on a small window the question covers the call.
  for (const part of ['[data-predicted]', '[data-folded]']) {
    const told = document.querySelector(part)?.cloneNode(true);
    if (told) asks.append(told);
  }
  const yes = document.createElement('button');
  yes.className = 'act';
  yes.textContent = button.textContent;
  yes.addEventListener('click', () => {
    dialog.close();
    button.form?.requestSubmit(button);
  });
  const no = buttonThatCloses(dialog, 'Not now');
  asks.append(yes, ' ', no);
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
