const EVERY_MS = 1_000;
const UNITS = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** As the server writes it (console/ui/parts.tsx), so that nothing jumps when the clock goes on. */
function told(away: number): string {
  const length = Math.abs(away);
  if (length < 1_000) return 'now';
  const [unit, size] = UNITS.find(([, of]) => length >= of) ?? UNITS[3];
  const count = Math.floor(length / size);
  const words = `${count} ${unit}${unit === 'day' && count !== 1 ? 's' : ''}`;
  return away > 0 ? `in ${words}` : `${words} ago`;
}

/** Keeps relative times and deadlines at the clock. */
export function times(): void {
  const tick = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-time]')) {
      const text = told(Date.parse(time.dateTime) - now);
      const [first] = time.childNodes;
      if (first && first.textContent !== text) first.textContent = text;
    }
    for (const meter of document.querySelectorAll<HTMLMeterElement>('meter[data-due]'))
      meter.value = Math.max(0, (Number(meter.dataset['due']) - now) / 1_000);
  };
  setInterval(tick, EVERY_MS);
}
