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

function watch(): void {
  const end = document.querySelector(END);
  if (!end) return;
  // Of this call: another one may stand there when it is told.
  const decide = end.closest('.detail')?.querySelector('.decide');
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    decide?.classList.add('stays');
    seen.disconnect();
  });
  seen.observe(end);
}

/** Whether the end of the shown call's arguments was on screen; where it was not, scrolls there. */
export function readToTheEnd(): boolean {
  const end = document.querySelector(END);
  if (!end || document.querySelector('.decide.stays')) return true;
  const { top } = end.getBoundingClientRect();
  if (top >= 0 && top <= innerHeight) return true;
  end.scrollIntoView({ block: 'nearest' });
  return false;
}
