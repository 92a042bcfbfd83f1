/**
 * The dialog that stands open. Each is a child of the body: a selector that names no class of it has the browser look at every element of the page,
 * which among ten thousand rows takes milliseconds at every key (docs/architecture/console.md).
 */
export const openDialog = (): HTMLDialogElement | null => {
  for (const child of document.body.children) if (child instanceof HTMLDialogElement && child.open) return child;
  return null;
};

/** A dialog that gives the focus back when it closes, unless a key led elsewhere before the browser tells that it closed. */
export function dialogOf(title: string): HTMLDialogElement {
  const before = document.activeElement;
  const dialog = document.createElement('dialog');
  const heading = document.createElement('h2');
  heading.textContent = title;
  dialog.append(heading);
  dialog.setAttribute('aria-label', title);
  dialog.addEventListener('close', () => {
    const { activeElement } = document;
    const isNowhere = activeElement === null || activeElement === document.body || dialog.contains(activeElement);
    dialog.remove();
    if (isNowhere && before instanceof HTMLElement) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function buttonThatCloses(dialog: HTMLDialogElement, text: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.textContent = text;
  button.addEventListener('click', () => dialog.close());
  return button;
}
