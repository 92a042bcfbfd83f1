import { relativeTime } from '../../domain/time-told.js';
import { OPENED } from './heard.js';

const EVERY_MS = 1_000;

/** Keeps relative times and deadlines at the clock. */
export function times(): void {
  const skipped = new WeakSet<Element>();
  document.addEventListener(
    'contentvisibilityautostatechange',
    (event) => {
      if (!(event instanceof ContentVisibilityAutoStateChangeEvent && event.target instanceof Element)) return;
      if (event.skipped) skipped.add(event.target);
      else skipped.delete(event.target);
    },
    { capture: true },
  );
  const tick = () => {
    tell(timesOutsideOfLists());
    for (const list of document.querySelector('[data-rows]')?.children ?? []) {
      if (skipped.has(list)) continue;
      for (const few of list.children) if (!skipped.has(few)) tell(few.querySelectorAll<HTMLTimeElement>(TIME));
    }
    const meter = document.querySelector<HTMLMeterElement>('.detail meter[data-due]');
    if (meter) meter.value = Math.max(0, (Number(meter.dataset['due']) - Date.now()) / 1_000);
  };
  setInterval(tick, EVERY_MS);
  // It may have been made a while before it was shown.
  document.addEventListener(OPENED, tick);
}

const TIME = 'time[data-time]';

function tell(shown: Iterable<HTMLTimeElement>): void {
  const now = Date.now();
  for (const time of shown) {
    const text = relativeTime(Date.parse(time.dateTime) - now);
    const first = time.firstChild;
    if (first && first.textContent !== text) first.textContent = text;
  }
}

/**
 * Rows of a list where nobody looks are told when they come into sight, and are not even looked for: among ten thousand that takes longer than
 * a frame.
 */
function* timesOutsideOfLists(): Generator<HTMLTimeElement> {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT, (node) =>
    (node as Element).hasAttribute('data-rows') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  while (walker.nextNode())
    if ((walker.currentNode as Element).matches(TIME)) yield walker.currentNode as HTMLTimeElement;
}
