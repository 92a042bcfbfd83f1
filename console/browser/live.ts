const TICKED = '[data-row] input[type="checkbox"]:checked';
const AGAIN_MS = 400;
const LONGEST_WAIT_MS = 15_000;

/**
 * Follows the stream that the page names. The list is asked for again when something changed, never more often than a person can read. The
 * chosen call is replaced only when it was decided, and nothing that somebody types is lost: where a field has text, the page only says so.
 */
export function liveList(): void {
  const root = document.querySelector<HTMLElement>('[data-live]');
  const address = root?.dataset['live'];
  if (!root || !address) return;
  let waiting: number | undefined;
  let failures = 0;
  const say = (text: string) => {
    // Asked for each time: a list that came anew has another one.
    const status = document.querySelector<HTMLElement>('[data-live-status]');
    if (status && status.textContent !== text) status.textContent = text;
  };
  const later = () => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      void refresh(own(), say);
    }, AGAIN_MS);
  };
  const own = () => root.dataset['self'] ?? location.href;
  const follow = () => {
    const stream = new EventSource(address);
    for (const event of ['created', 'updated', 'decided', 'expired', 'withdrawn', 'reset'])
      stream.addEventListener(event, later);
    stream.addEventListener('open', () => {
      // What happened while nobody listened comes with the list.
      if (failures > 0) later();
      failures = 0;
      say('');
    });
    stream.addEventListener('error', () => {
      failures += 1;
      say('Not live: the connection was lost. Trying again; what is shown may be old.');
      if (stream.readyState !== EventSource.CLOSED) return;
      // A refusal ends the stream for the browser: the session is over, or Gate is being restarted.
      void refresh(own(), say).then((came) => {
        if (came === 'signed out') return;
        setTimeout(follow, Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(failures, 4)));
      });
    });
  };
  follow();
}

/** Asks for the page again and puts what changed in its place. */
async function refresh(address: string, say: (text: string) => void): Promise<'here' | 'away' | 'signed out'> {
  let text: string;
  try {
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    if (new URL(answer.url).pathname === '/login') {
      say('You are signed out. Load the page again to sign in.');
      return 'signed out';
    }
    if (!answer.ok && answer.status !== 404) return 'away';
    text = await answer.text();
  } catch {
    return 'away';
  }
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  // Where more was loaded, a fresh first page would take away what somebody scrolled to.
  const more = document.querySelector('[data-rows="more"]') !== null;
  const list = more ? 'The list changed meanwhile: load the page to see how.' : '';
  if (!more) replace('[data-list]', fresh);
  const count = fresh.querySelector('.list h1');
  const here = document.querySelector('.list h1');
  if (count && here) here.replaceWith(count);
  document.title = fresh.title;
  const shown = document.querySelector<HTMLElement>('.detail');
  const next = fresh.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return 'here';
  const id = shown.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const freshId = next.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const stillOpen = next.querySelector('.decide') !== null;
  const typed = [...shown.querySelectorAll<HTMLInputElement>('input:not([type="hidden"])')].some(
    ({ value }) => value !== '',
  );
  if (id === freshId && stillOpen && shown.querySelector('.decide') !== null) {
    say(list);
    return 'here';
  }
  // Another call in its place would be under the hand that is about to decide; and a page that only lost its service keeps what it shows.
  if (id !== undefined && id !== freshId) {
    say(list);
    return 'here';
  }
  if (typed) {
    say('The call you look at was decided or ended meanwhile: load the page to see how. What you typed is still here.');
    return 'here';
  }
  shown.replaceWith(next);
  const root = document.querySelector<HTMLElement>('[data-live]');
  const self = fresh.querySelector<HTMLElement>('[data-live]')?.dataset['self'];
  if (root && self !== undefined) root.dataset['self'] = self;
  say(list);
  return 'here';
}

/** Puts the fresh part in the place of the shown one, and the focus back on the row that had it. */
function replace(selector: string, fresh: Document): boolean {
  const shown = document.querySelector(selector);
  const next = fresh.querySelector(selector);
  if (!shown || !next) return false;
  const focused = document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset['row'];
  const ticked = new Set([...shown.querySelectorAll<HTMLInputElement>(TICKED)].map(({ value }) => value));
  for (const box of next.querySelectorAll<HTMLInputElement>('[data-row] input[type="checkbox"]'))
    box.checked = ticked.has(box.value);
  shown.replaceWith(next);
  document.dispatchEvent(new Event('gate:list'));
  if (focused !== undefined) next.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"] > a`)?.focus();
  return true;
}
