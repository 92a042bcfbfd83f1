import { type Came, follow, pageAgain } from './follow.js';
import { RENEWED } from './heard.js';
import { notPressed } from './pressed.js';

const AGAIN_MS = 1_000;

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
  const [live, words] = [document.createElement('span'), document.createElement('span')];
  status.append(pause, ' ', badge, ' ', live, ' ', words);

  let isPaused = false;
  let fresh: HTMLElement | null = null;
  const sayIn = (place: HTMLElement) => (text: string) => {
    if (place.textContent !== text) place.textContent = text;
  };
  const say = sayIn(words);
  const shown = () => root.querySelector<HTMLElement>('[data-tail-rows]');
  const label = () => {
    pause.textContent = isPaused ? 'Follow' : 'Pause';
    pause.setAttribute('aria-pressed', String(isPaused));
  };
  const put = () => {
    if (fresh) {
      shown()?.replaceWith(fresh);
      document.dispatchEvent(new Event(RENEWED));
    }
    fresh = null;
    badge.hidden = true;
  };
  const look = async (): Promise<Came> => {
    const page = await pageAgain(location.href, say);
    if (typeof page === 'string') return page;
    await notPressed();
    const found = page.querySelector<HTMLElement>('[data-tail-rows]');
    if (!found) return 'away';
    const count = newer(found, Number(shown()?.dataset['newest'] ?? 0));
    fresh = count === '0' ? null : found;
    if (fresh && (isPaused || window.scrollY > 0)) {
      badge.textContent = `${count} new`;
      badge.hidden = false;
    } else put();
    say('');
    return 'here';
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
  label();
  follow({ address, events: ['entry', 'reset'], everyMs: AGAIN_MS, ask: look, say: sayIn(live) });
}

/** How many rows are newer than that place; with a `+` where all on the page are. */
function newer(rows: HTMLElement, than: number): string {
  const places = [...rows.querySelectorAll<HTMLElement>('tbody td.number:first-child')].map((cell) =>
    Number(cell.textContent),
  );
  const count = places.filter((place) => place > than).length;
  return count > 0 && count === places.length && than > 0 ? `${count}+` : String(count);
}
