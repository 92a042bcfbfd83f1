import { relativeTime } from '../../domain/time-told.js';

const EVERY_MS = 1_000;
/** Times that are looked at in one frame: of a list of thousands all at once would take a frame's time. */
const PER_FRAME = 400;

/** Keeps relative times and deadlines at the clock. */
export function times(): void {
  const tick = () => {
    const now = Date.now();
    const all = document.querySelectorAll<HTMLTimeElement>('time[data-time]');
    const tell = (from: number): void => {
      for (let at = from; at < Math.min(from + PER_FRAME, all.length); at += 1) {
        const time = all.item(at);
        const text = relativeTime(Date.parse(time.dateTime) - now);
        const first = time.firstChild;
        if (first && first.textContent !== text) first.textContent = text;
      }
      if (from + PER_FRAME < all.length) requestAnimationFrame(() => tell(from + PER_FRAME));
    };
    tell(0);
    for (const meter of document.querySelectorAll<HTMLMeterElement>('meter[data-due]'))
      meter.value = Math.max(0, (Number(meter.dataset['due']) - now) / 1_000);
  };
  setInterval(tick, EVERY_MS);
}
