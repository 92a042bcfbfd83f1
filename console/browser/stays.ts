import { OPENED } from './heard.js';

const END = '.detail [data-arguments-end]';

/**
 * Keeps the buttons that decide at the lower edge of the window once the end of the arguments was on screen. Before that they stand below the
 * arguments, where they cover none of them: on a telephone they would cover most, and could be pressed before anything was read.
 */
export function staysOnceRead(): void {
  watch();
  document.addEventListener(OPENED, watch);
}

/** The buttons of the shown call; they take so much of the lower edge of the window once they stay there. */
const barOf = (end: Element): HTMLElement | null =>
  end.closest('.detail')?.querySelector<HTMLElement>('.decide') ?? null;
const heightOf = (bar: HTMLElement | null): number => bar?.offsetHeight ?? 0;

function watch(): void {
  const end = document.querySelector(END);
  if (!end) return;
  // Of this call: another one may stand there when it is told.
  const bar = barOf(end);
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      bar?.classList.add('stays');
      seen.disconnect();
    },
    // Seen is what the buttons will not cover.
    { rootMargin: `0px 0px -${heightOf(bar)}px 0px` },
  );
  seen.observe(end);
}

/** Whether the end of the shown call's arguments was on screen; where it was not, scrolls towards it, by a window at most. */
export function readToTheEnd(): boolean {
  const end = document.querySelector(END);
  if (!end) return true;
  const bar = barOf(end);
  if (bar?.classList.contains('stays')) return true;
  const room = innerHeight - heightOf(bar);
  // Windows scroll by whole pixels.
  const top = Math.floor(end.getBoundingClientRect().top);
  if (top >= 0 && top <= room) return true;
  scrollBy(0, Math.max(-room, Math.min(room, top - room)));
  return false;
}
