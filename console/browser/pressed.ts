/** A finger that is lifted where this page does not hear of it holds nothing for longer. */
const LONGEST_PRESS_MS = 5_000;
/** The click of a finger follows its lifting that late. */
const CLICK_FOLLOWS_MS = 100;
const ENDS = ['pointerup', 'pointercancel'] as const;

let press: Promise<void> | null = null;

/** What comes anew by itself. */
const LISTS = '[data-list], [data-tail-rows]';

/** Once nobody presses on a list: a press on what is replaced before it ends is no click. */
export async function notPressed(): Promise<void> {
  while (press) await press;
}

/** Notes presses on the lists that follow what happens. */
export function heedsPresses(): void {
  document.addEventListener(
    'pointerdown',
    ({ target }) => {
      if (!(target instanceof Element) || !target.closest(LISTS)) return;
      const mine = new Promise<void>((done) => {
        const over = () => {
          if (press === mine) press = null;
          done();
        };
        const longest = window.setTimeout(over, LONGEST_PRESS_MS);
        const lifted = new AbortController();
        for (const end of ENDS)
          document.addEventListener(
            end,
            () => {
              lifted.abort();
              clearTimeout(longest);
              window.setTimeout(over, CLICK_FOLLOWS_MS);
            },
            { capture: true, signal: lifted.signal },
          );
      });
      press = mine;
    },
    { capture: true },
  );
}
