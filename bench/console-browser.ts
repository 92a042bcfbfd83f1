import { chromiumPath, openBrowser } from '../test/support/browser.js';
import { firstPaint, measureFelt, spread } from './console-felt.js';
import { measureFrames } from './console-frames.js';
import { type AskedPage, firstOfEach } from './console-pages.js';
import { quantile, rounded } from './numbers.js';

const LOADS = 3;

export interface BrowserFigures {
  readonly first_paint: readonly object[];
  readonly interaction: readonly object[];
  readonly [table: string]: readonly object[];
}

/** What somebody at a browser feels: first paint, keys, and the frames of a list that scrolls to its end. */
export async function measureBrowser(options: {
  readonly address: string;
  readonly cookie: string;
  readonly review: string;
  readonly asked: readonly AskedPage[];
  readonly pending: number;
  readonly say: (line: string) => void;
}): Promise<BrowserFigures> {
  const { address, cookie, review, asked, pending, say } = options;
  const browser = await openBrowser(chromiumPath() ?? '');
  const visit = async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
    return context.newPage();
  };
  try {
    const first_paint = [];
    for (const { page, address: path } of firstOfEach(asked)) {
      const sample: number[] = [];
      for (let at = 0; at < LOADS; at += 1) {
        const tab = await visit();
        await tab.goto(address + path);
        sample.push(await firstPaint(tab));
        await tab.context().close();
      }
      first_paint.push({ page, ...spread(sample) });
      say(`first paint, ${page}: ${rounded(quantile(sample, 0.5))} ms`);
    }
    const tab = await visit();
    const interaction = await measureFelt({ tab, address, review, pending, say });
    await tab.context().close();
    return { first_paint, interaction, ...(await measureFrames({ browser, visit, address, pending, say })) };
  } finally {
    await browser.close();
  }
}
