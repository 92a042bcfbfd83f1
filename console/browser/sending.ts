const NOTICED_MS = 200;
let isSent = false;

/** Whether a form was sent whose answer will be the next page. */
export const isOnItsWay = (): boolean => isSent;

/**
 * Says that a form is on its way where its answer takes longer than anybody notices: a decision waits for the review service, up to 45 s. Who
 * presses once more sends the same decision.
 */
export function sending(): void {
  const words = document.createElement('span');
  words.className = 'dim';
  words.setAttribute('role', 'status');
  let waiting: number | undefined;
  document.addEventListener('submit', ({ target: form, defaultPrevented }) => {
    // A file is saved beside the page, which stays.
    if (defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== 'post' || 'file' in form.dataset)
      return;
    isSent = true;
    clearTimeout(waiting);
    form.append(words);
    waiting = window.setTimeout(() => {
      words.textContent = 'Sent: waiting for the answer.';
    }, NOTICED_MS);
  });
  // A browser shows a page again as it was left.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) isSent = false;
    clearTimeout(waiting);
    words.textContent = '';
    words.remove();
  });
}
