import { OPENED } from './heard.js';

/**
 * Keeps the buttons that decide at the lower edge of the window once the end of the arguments was on screen. Before that they stand below the
 * arguments, where they cover none of them: on a telephone they would cover most, and could be pressed before anything was read.
 */
export function staysOnceRead(): void {
  watch();
  document.addEventListener(OPENED, watch);
}

function watch(): void {
  const end = document.querySelector('[data-arguments-end]');
  if (!end) return;
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    document.querySelector('.decide')?.classList.add('stays');
    seen.disconnect();
  });
  seen.observe(end);
}
