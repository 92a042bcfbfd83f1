import { relativeTime } from '../../domain/time-told.js';

const EVERY_MS = 1_000;

/** Keeps relative times and deadlines at the clock. */
export function times(): void {
  const tick = () => {
    const now = Date.now();
    for (const time of shownTimes()) {
      const text = relativeTime(Date.parse(time.dateTime) - now);
      const first = time.firstChild;
      if (first && first.textContent !== text) first.textContent = text;
    }
    for (const meter of document.querySelectorAll<HTMLMeterElement>('meter[data-due]'))
      meter.value = Math.max(0, (Number(meter.dataset['due']) - now) / 1_000);
  };
  setInterval(tick, EVERY_MS);
}

/** All times but those of lists where nobody looks, which are told when they come into sight: of ten thousand each second a frame is late. */
function* shownTimes(): Generator<HTMLTimeElement> {
  yield* document.querySelectorAll<HTMLTimeElement>('time[data-time]:not(ol.rows time)');
  for (const list of document.querySelectorAll('ol.rows'))
    if (list.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) ?? true)
      yield* list.querySelectorAll<HTMLTimeElement>('time[data-time]');
}
