const AGAIN_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/**
 * Follows the ledger's rows on the audit page. New ones come as the page's own rows, made by the server with the same filter, so the page
 * never holds more than one page of them. While somebody has scrolled down or paused, they are only counted.
 */
export function tail(): void {
  const root = document.querySelector<HTMLElement>('[data-tail]');
  const address = root?.dataset['tail'];
  const status = root?.querySelector<HTMLElement>('[data-tail-status]');
  if (!root || !address || !status) return;
  const pause = document.createElement('button');
  const badge = document.createElement('button');
  pause.type = badge.type = 'button';
  badge.className = 'act';
  badge.hidden = true;
  const words = document.createElement('span');
  status.append(pause, ' ', badge, ' ', words);

  let isPaused = false;
  let fresh: HTMLElement | null = null;
  let waiting: number | undefined;
  let isAsking = false;
  let failures = 0;
  const say = (text: string) => {
    if (words.textContent !== text) words.textContent = text;
  };
  const shown = () => root.querySelector<HTMLElement>('[data-tail-rows]');
  const label = () => {
    pause.textContent = isPaused ? 'Follow' : 'Pause';
    pause.setAttribute('aria-pressed', String(isPaused));
  };
  const put = () => {
    if (fresh) shown()?.replaceWith(fresh);
    fresh = null;
    badge.hidden = true;
  };
  const look = async () => {
    isAsking = true;
    try {
      const found = await ask(say);
      if (!found) return;
      fresh = found;
      const count = newer(found, Number(shown()?.dataset['newest'] ?? 0));
      if (count === '0') fresh = null;
      else if (isPaused || window.scrollY > 0) {
        badge.textContent = `${count} new`;
        badge.hidden = false;
      } else put();
    } finally {
      isAsking = false;
    }
  };
  const later = () => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      if (isAsking) later();
      else void look();
    }, AGAIN_MS);
  };
  pause.addEventListener('click', () => {
    isPaused = !isPaused;
    label();
    if (!isPaused) put();
  });
  badge.addEventListener('click', () => {
    put();
    window.scrollTo(0, 0);
  });
  const follow = () => {
    const stream = new EventSource(address);
    for (const event of ['entry', 'reset']) stream.addEventListener(event, later);
    stream.addEventListener('open', () => {
      // What was written while nobody listened comes with the rows.
      if (failures > 0) later();
      failures = 0;
      say('');
    });
    stream.addEventListener('error', () => {
      failures += 1;
      say('Not live: the connection was lost. Trying again; what is shown may be old.');
      if (stream.readyState === EventSource.CLOSED)
        setTimeout(follow, Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(failures, 4)));
    });
  };
  label();
  follow();
}

/** The rows as the server has them now; `null` where it does not say. */
async function ask(say: (text: string) => void): Promise<HTMLElement | null> {
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (new URL(answer.url).pathname === '/login') {
      say('You are signed out. Load the page again to sign in.');
      return null;
    }
    if (!answer.ok) return null;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return page.querySelector<HTMLElement>('[data-tail-rows]');
  } catch {
    return null;
  }
}

/** How many rows are newer than that place; with a `+` where all on the page are. */
function newer(rows: HTMLElement, than: number): string {
  const places = [...rows.querySelectorAll<HTMLElement>('tbody td.number:first-child')].map((cell) =>
    Number(cell.textContent),
  );
  const count = places.filter((place) => place > than).length;
  return count > 0 && count === places.length && than > 0 ? `${count}+` : String(count);
}
