/**
 * Keeps the buttons for several calls at the edge of the window while one is ticked. Style alone could say so, by looking for a tick among ten
 * thousand rows whenever some come: longer than a frame.
 */
export function tickedStays(): void {
  const shown = (): void => markTicked(document.querySelector('.bulk-acts')?.closest('form') ?? null);
  shown();
  // A browser that goes back puts ticks back by itself.
  addEventListener('pageshow', shown);
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.name === 'id')) return;
    // Only where a tick was taken away is another one looked for.
    if (target.checked) mark(target.form, true);
    else markTicked(target.form);
  });
}

export const markTicked = (form: HTMLFormElement | null): void =>
  mark(form, form?.querySelector('[data-row] input:checked') != null);

/** Where none is ticked there is nothing to press. */
function mark(form: HTMLFormElement | null, isTicked: boolean): void {
  const acts = form?.querySelector('.bulk-acts');
  if (!form || !acts) return;
  form.classList.toggle('ticked', isTicked);
  for (const button of acts.children) if (button instanceof HTMLButtonElement) button.disabled = !isTicked;
}
