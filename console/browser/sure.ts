import { OPENS_WITHIN_MS } from './ahead.js';
import { tellsWhoSignedIn } from './anew.js';
import { ENDED_MEANWHILE, renewed, say, TYPED_STAYS } from './detail.js';
import { callPart, type Held } from './follow.js';
import { beginsItsWay, endsItsWay, isOnItsWay, tellOnItsWay } from './sending.js';

/**
 * What is known of a call that was held before it was shown: `left` where another one is shown meanwhile, `not known` where nobody answered.
 */
type Stands = 'open' | 'over' | 'typed' | 'left' | 'not known';

/** The shown call, where it was held before and is not known to be still as it is shown: nothing of it is sent. */
interface Unsure {
  readonly self: string | undefined;
  readonly ask: () => Promise<Stands>;
  asking: Promise<Stands> | null;
  /** Why nothing is known, where a page says so. */
  words: string;
}
let unsure: Unsure | null = null;

const NO_ANSWER = 'Gate does not answer whether the call is still as it is shown. Try again.';

/** Asks whether the shown call, which was held before, still is as it is shown. */
export function makeSure(root: HTMLElement, href: string, held: Held): void {
  const self = root.dataset['self'];
  const known = (stands: Stands): Stands => {
    if (unsure === one) unsure = null;
    return stands;
  };
  const notKnown = (words: string): Stands => {
    one.asking = null;
    one.words = words;
    return 'not known';
  };
  const ask = async (): Promise<Stands> => {
    const came = await callPart(href, held, { signal: AbortSignal.timeout(OPENS_WITHIN_MS) });
    // Another one is shown, or the same one was opened again, of which this answer may be older.
    if (root.dataset['self'] !== self || unsure !== one) return known('left');
    if (came === 'away') return notKnown(NO_ANSWER);
    if (came === 'someone else') {
      tellsWhoSignedIn();
      location.reload();
      return known('over');
    }
    // The page says so, and nothing of it is sent.
    if (came === 'signed out') return known('over');
    if (came === 'same') return known('open');
    putBroken(root, came.page);
    const was = renewed(root, came.page);
    // It is past its retention.
    if (was === 'other' && came.page.querySelector('.detail > .empty')) {
      say(ENDED_MEANWHILE);
      return known('over');
    }
    // A page that only says which service is away tells nothing of the call.
    if (was === 'other') return notKnown(came.page.querySelector('.detail > .notice.bad')?.textContent ?? NO_ANSWER);
    if (was === 'typed') say(TYPED_STAYS);
    if (was === 'over') say(ENDED_MEANWHILE);
    return known(was);
  };
  const one: Unsure = { self, ask, asking: null, words: NO_ANSWER };
  unsure = one;
  one.asking = ask();
}

/** Another call is shown, as it is now. */
export function isSure(): void {
  unsure = null;
}

/** A decision about a call that was held waits until it is known that the call still is so; where it is not, or nobody says so, nothing is sent. */
export function sendWhatIsSure(): void {
  document.addEventListener(
    'submit',
    (event) => {
      const { target: form, submitter } = event;
      if (!(form instanceof HTMLFormElement) || !form.closest('.decide')) return;
      document.querySelector('[data-not-sent]')?.remove();
      if (unsure === null) return;
      const root = form.closest<HTMLElement>('[data-self]');
      // What was not known was not known of another call.
      if (unsure.self !== root?.dataset['self']) return isSure();
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isOnItsWay()) return tellOnItsWay();
      // What was meant to be sent is lost where another call is opened before.
      beginsItsWay(form, 'Looking whether the call is still as it is shown.');
      const asked = unsure;
      asked.asking ??= asked.ask();
      void asked.asking.then((stands) => {
        endsItsWay();
        if (stands === 'open' && form.isConnected) form.requestSubmit(submitter);
        else if (stands === 'not known') notSent(form, asked.words);
        else if (stands === 'open' || stands === 'left')
          notSent(form, 'the call was opened anew, or another one is shown.');
      });
    },
    { capture: true },
  );
}

/** Stands beside the buttons until the next press: what the page says of itself otherwise changes with each event. */
function notSent(form: HTMLFormElement, why: string): void {
  const words = document.createElement('p');
  words.dataset['notSent'] = 'true';
  words.setAttribute('role', 'alert');
  words.textContent = `Nothing was sent: ${why}`;
  const place = form.isConnected ? form : document.querySelector('.detail .decide');
  if (place) place.after(words);
  else say(words.textContent);
}

/** Says that the chain does not hold where that is so now. */
export function putBroken(root: HTMLElement, come: ParentNode): void {
  root.querySelector('.broken')?.remove();
  const broken = come.querySelector('.broken');
  if (broken) root.querySelector('.list')?.before(broken);
}
