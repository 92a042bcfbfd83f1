/**
 * Keeps the buttons for several calls at the edge of the window while one is ticked. Style alone could say so, by looking for a tick among ten
 * thousand rows whenever some come: longer than a frame.
 */
export function tickedStays(): void {
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.name === 'id')) return;
    // Only where a tick was taken away is another one looked for.
    if (target.checked) target.form?.classList.add('ticked');
    else markTicked(target.form);
  });
}

export const markTicked = (form: HTMLFormElement | null): void =>
  void form?.classList.toggle('ticked', form.querySelector('[data-row] input:checked') !== null);
