import { LONGEST_ANSWER_MS } from '../answer-wait.js';

const NOTICED_MS = 200;
const SENT = 'Sent: waiting for the answer.';

/** The form whose answer is awaited, what is said of it, and when somebody is told. */
let onTheWay: { readonly words: HTMLElement; readonly text: string; readonly timers: readonly number[] } | null = null;

/** Whether a form was sent whose answer will be the next page. Until then nothing else is opened: that would throw the answer away, or the form. */
export const isOnItsWay = (): boolean => onTheWay !== null;

/** Says at once what is waited for, to who goes on as if nothing were. */
export function tellOnItsWay(): void {
  if (onTheWay) onTheWay.words.textContent = onTheWay.text;
}

/** A form is on its way, or waits to be: says so where that takes longer than anybody notices. */
export function beginsItsWay(form: HTMLFormElement, text: string): void {
  endsItsWay();
  const words = document.createElement('span');
  words.className = 'dim';
  words.setAttribute('role', 'status');
  form.append(words);
  onTheWay = {
    words,
    text,
    timers: [window.setTimeout(tellOnItsWay, NOTICED_MS), window.setTimeout(endsItsWay, LONGEST_ANSWER_MS)],
  };
}

export function endsItsWay(): void {
  onTheWay?.timers.forEach(clearTimeout);
  onTheWay?.words.remove();
  onTheWay = null;
}

/**
 * Says that a form is on its way where its answer takes longer than anybody notices: a decision waits for the review service, up to 45 s, a change of policies for the engine, up to a minute. Who
 * presses once more sends the same decision.
 */
export function sending(): void {
  document.addEventListener('submit', ({ target: form, defaultPrevented }) => {
    // A file is saved beside the page, which stays.
    if (defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== 'post' || 'file' in form.dataset)
      return;
    beginsItsWay(form, SENT);
  });
  // A browser shows a page again as it was left.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) endsItsWay();
  });
  // Somebody stopped it. Not every browser tells.
  if ('navigation' in window) window.navigation.addEventListener('navigateerror', endsItsWay);
}
