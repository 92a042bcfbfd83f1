const SHOWN_MS = 1_200;

/** A click on an id copies it. */
export function copyOnClick(): void {
  document.addEventListener('click', (event) => {
    const found = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-copy]') : null;
    const text = found?.dataset['copy'];
    if (!found || text === undefined || found.closest('a')) return;
    void navigator.clipboard?.writeText(text).then(() => {
      found.classList.add('copied');
      setTimeout(() => found.classList.remove('copied'), SHOWN_MS);
    });
  });
}
