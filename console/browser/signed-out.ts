const ID = 'signed-out';
/** What is said above a page of a call or of a press: not what is said of the whole tenant, or of the session. */
export const SAID_ABOVE = `main > .notice:not([data-stopped], #${ID})`;

/** Whether it was found out that nobody is signed in here any more. */
export const isSignedOut = (): boolean => document.getElementById(ID) !== null;

/**
 * Says above everything that nobody is signed in here any more, with a link that signs in and comes back. Nothing on the page is sent by its
 * session any more, so no button that sends is left to press, also of what was put in since; what was typed stays. It is said once, however
 * often it is found out.
 */
export function tellsSignedOut(): void {
  const main = document.querySelector('main');
  if (!main) return;
  if (!isSignedOut()) main.prepend(notice());
  for (const button of main.querySelectorAll<HTMLButtonElement>('form[method="post"] button[type="submit"]')) {
    button.disabled = true;
    button.setAttribute('aria-describedby', ID);
  }
  const promise = main.querySelector('[data-by-itself]');
  if (promise) promise.textContent = 'Nothing waited while you were signed in. What waits now is not known.';
}

function notice(): HTMLElement {
  const words = document.createElement('p');
  words.className = 'notice bad';
  words.id = ID;
  words.setAttribute('role', 'alert');
  const link = document.createElement('a');
  link.href = `/login?${new URLSearchParams({ return_to: location.pathname + location.search }).toString()}`;
  link.textContent = 'Sign in';
  words.append('You are signed out. What is shown is as it was then, and nothing is sent from here. ', link);
  return words;
}
