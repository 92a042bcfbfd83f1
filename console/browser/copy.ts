import { OPENED, RENEWED } from './heard.js';

const SHOWN_MS = 1_200;

/** A click on an id copies it, and so do the keys of a button. */
export function copyOnClick(): void {
  document.addEventListener('click', (event) => copy(event.target));
  document.addEventListener('keydown', (event) => {
    if ((event.key === 'Enter' || event.key === ' ') && copy(event.target)) event.preventDefault();
  });
  for (const came of [OPENED, RENEWED]) document.addEventListener(came, () => reachable('.detail [data-copy]'));
  reachable('[data-copy]');
}

/** An id inside a link cannot be focused by itself: the link is, and it leads to a page where the id stands alone. */
function reachable(ids: string): void {
  for (const id of document.querySelectorAll<HTMLElement>(ids)) {
    if (id.closest('a')) continue;
    id.tabIndex = 0;
    id.setAttribute('role', 'button');
  }
}

/** Copies the id that was hit; `false` where none was. */
function copy(target: EventTarget | null): boolean {
  const found = target instanceof Element ? target.closest<HTMLElement>('[data-copy]') : null;
  const text = found?.dataset['copy'];
  if (!found || text === undefined || found.closest('a')) return false;
  void navigator.clipboard?.writeText(text).then(() => {
    found.classList.add('copied');
    setTimeout(() => found.classList.remove('copied'), SHOWN_MS);
  });
  return true;
}
