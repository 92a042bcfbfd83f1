import { OPENS_WITHIN_MS } from './ahead.js';
import { ENDED_MEANWHILE, renewed, say, TYPED_STAYS } from './detail.js';
import { callPart } from './follow.js';
import { beginsItsWay, endsItsWay, isOnItsWay, tellOnItsWay } from './sending.js';

/** What is known of a call that was held before it was shown: `not known` where nobody answered. */
type Stands = 'open' | 'over' | 'typed' | 'not known';

/** The shown call, where it was held before and is not known to be still as it is shown: nothing of it is sent. */
let unsure: { readonly ask: () => Promise<Stands>; asking: Promise<Stands> | null } | null = null;

/** Asks whether the shown call, which was held before, still is as it is shown. */
export function makeSure(root: HTMLElement, href: string, tag: string): void {
  const self = root.dataset['self'];
  const ask = async (): Promise<Stands> => {
    const came = await callPart(href, tag, { signal: AbortSignal.timeout(OPENS_WITHIN_MS) });
    if (root.dataset['self'] !== self) return 'over';
    if (came === 'away') {
      one.asking = null;
      return 'not known';
    }
    if (unsure === one) unsure = null;
    if (came === 'someone else') {
      location.reload();
      return 'over';
    }
    // Where nobody is signed in any more, whoever sends something is told so.
    if (typeof came === 'string') return 'open';
    putBroken(root, came.page);
    const was = renewed(root, came.page);
    if (was === 'typed') say(TYPED_STAYS);
    if (was === 'over') say(ENDED_MEANWHILE);
    return was === 'other' ? 'over' : was;
  };
  const one: NonNullable<typeof unsure> = { ask, asking: null };
  unsure = one;
  one.asking = ask();
}

/** A decision about a call that was held waits until it is known that the call still is so; where it is not, or nobody says so, nothing is sent. */
export function sendWhatIsSure(): void {
  document.addEventListener(
    'submit',
    (event) => {
      const { target: form, submitter } = event;
      if (unsure === null || !(form instanceof HTMLFormElement) || !form.closest('.decide')) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (isOnItsWay()) return tellOnItsWay();
      // What was meant to be sent is lost where another call is opened before.
      beginsItsWay(form, 'Looking whether the call is still as it is shown.');
      unsure.asking ??= unsure.ask();
      void unsure.asking.then((stands) => {
        endsItsWay();
        if (stands === 'open' && form.isConnected) form.requestSubmit(submitter);
        else if (stands === 'not known')
          say('Nothing was sent: Gate does not answer whether the call is still as it is shown. Try again.');
      });
    },
    { capture: true },
  );
}

/** Says that the chain does not hold where that is so now. */
export function putBroken(root: HTMLElement, come: ParentNode): void {
  root.querySelector('.broken')?.remove();
  const broken = come.querySelector('.broken');
  if (broken) root.querySelector('.list')?.before(broken);
}
