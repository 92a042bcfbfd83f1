const AGAIN_MS = 400;
const LONGEST_WAIT_MS = 15_000;

/**
 * Follows the stream that the page names. The list is asked for again when something changed, never more often than a person can read. The
 * chosen call is replaced only when it was decided, and nothing that somebody types is lost: where a field has text, the page only says so.
 */
export function liveList(): void {
  const root = document.querySelector<HTMLElement>('[data-live]');
  const address = root?.dataset['live'];
  const status = document.querySelector<HTMLElement>('[data-live-status]');
  if (!root || !address || !status) return;
  let waiting: number | undefined;
  let failures = 0;
  const say = (text: string) => {
    if (status.textContent !== text) status.textContent = text;
  };
  const later = () => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      void refresh(say);
    }, AGAIN_MS);
  };
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
      // A refusal ends the stream for the browser; it may be a restart.
      if (stream.readyState === EventSource.CLOSED)
        setTimeout(follow, Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(failures, 4)));
    });
  };
  follow();
}

async function refresh(say: (text: string) => void): Promise<void> {
  let text: string;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (new URL(answer.url).pathname === '/login') {
      say('You are signed out. Load the page again to sign in.');
      return;
    }
    if (!answer.ok && answer.status !== 404) return;
    text = await answer.text();
  } catch {
    return;
  }
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  if (!replace('[data-rows]', fresh)) replace('.list', fresh);
  const count = fresh.querySelector('.list h1');
  const here = document.querySelector('.list h1');
  if (count && here) here.replaceWith(count);
  document.title = fresh.title;
  const shown = document.querySelector<HTMLElement>('.detail');
  const next = fresh.querySelector<HTMLElement>('.detail');
  if (!shown || !next) return;
  const id = shown.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const freshId = next.querySelector<HTMLElement>('[data-review]')?.dataset['review'];
  const stillOpen = next.querySelector('.decide') !== null;
  const typed = [...shown.querySelectorAll<HTMLInputElement>('input:not([type="hidden"])')].some(
    ({ value }) => value !== '',
  );
  if (id === freshId && stillOpen && shown.querySelector('.decide') !== null) {
    say('');
    return;
  }
  if (typed) {
    say('The call you look at was decided or ended meanwhile: load the page to see how. What you typed is still here.');
    return;
  }
  shown.replaceWith(next);
}

/** Puts the fresh part in the place of the shown one, and the focus back on the row that had it. */
function replace(selector: string, fresh: Document): boolean {
  const shown = document.querySelector(selector);
  const next = fresh.querySelector(selector);
  if (!shown || !next) return false;
  const focused = document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset['row'];
  shown.replaceWith(next);
  if (focused !== undefined) next.querySelector<HTMLElement>(`[data-row="${CSS.escape(focused)}"] > a`)?.focus();
  return true;
}
