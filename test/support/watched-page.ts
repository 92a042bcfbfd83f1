import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** A page of a browser of its own, at a desk; what it complains of, and what of it is not allowed, goes into `complaints`. */
export async function watchedPage(
  browser: Browser,
  complaints: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.on('pageerror', (error) => void complaints.push(error.message));
  page.on('dialog', (dialog) => void complaints.push(`a dialog: ${dialog.message()}`));
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) complaints.push(message.text());
  });
  return page;
}
