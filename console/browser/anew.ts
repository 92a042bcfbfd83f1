/** Where the tab keeps who it was until it loaded a page for somebody else. */
const KEPT = 'gate.anew';

/** Who is signed in, as the page names him; nobody is ''. */
export const person = (): string => document.querySelector('.top .who span bdi')?.textContent ?? '';

/** The next page of this tab says that it is for another session, and why it came. */
export function tellsWhoSignedIn(): void {
  try {
    sessionStorage.setItem(KEPT, person());
  } catch {
    // A browser that keeps nothing: the page names who is signed in, as always.
  }
}

/** Says on a page that came for another session whose it is now: whoever was looking did not ask for it. */
export function saysWhoSignedIn(): void {
  const before = taken();
  const now = person();
  if (before === null || now === '') return;
  const words = document.createElement('p');
  words.className = 'notice bad';
  words.setAttribute('role', 'alert');
  words.textContent =
    before === now
      ? 'You signed in anew in this browser, so the page was loaded again. Nothing of yours was sent.'
      : `Somebody else signed in in this browser: you were ${before}, and this page is for ${now}. Nothing of yours was sent.`;
  document.querySelector('main')?.prepend(words);
}

function taken(): string | null {
  try {
    const kept = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    return kept;
  } catch {
    return null;
  }
}
