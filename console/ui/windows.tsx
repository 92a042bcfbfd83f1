import { z } from 'zod';
import { GateError } from '../../domain/errors.js';
import type { Notice } from '../visit.js';

/** Relative windows of the pages, with their words and their length. */
export const WINDOWS = {
  '15m': ['15 minutes', 900_000],
  '1h': ['hour', 3_600_000],
  '24h': ['24 hours', 86_400_000],
  '7d': ['7 days', 604_800_000],
  '30d': ['30 days', 2_592_000_000],
} as const satisfies Readonly<Record<string, readonly [words: string, ms: number]>>;

export type WindowName = keyof typeof WINDOWS;
export const isWindow = (text: string): text is WindowName => Object.hasOwn(WINDOWS, text);

/** The window that an address names, of those that a page has; else the usual one, and where another is named, that there is no such window. */
export function windowOf<Name extends string>(
  asked: string | undefined,
  options: readonly Name[],
  usual: Name,
): { readonly window: Name; readonly misread: Notice | null } {
  const window = options.find((option) => option === asked);
  if (window !== undefined || asked === undefined || asked === '') return { window: window ?? usual, misread: null };
  const text = `This page has no such window as this address names, only ${options.join(', ')}: ${usual} is shown (invalid_window).`;
  return { window: usual, misread: { kind: 'bad', text } };
}

/** A window as it is asked for: a relative one, or its ends. */
export type WindowAsked = Readonly<Partial<Record<'window' | 'from' | 'to', string>>>;

/**
 * The exact ends of a window; an end that is typed counts before a relative one. Throws `invalid_window` for a relative one that is none of
 * these: all rows would be taken for those of a window.
 */
export function windowAsked(
  { window, from, to }: WindowAsked,
  nowMs: number,
): { readonly from?: string; readonly to?: string } {
  if (window !== undefined && !isWindow(window))
    throw new GateError('invalid_window', `window is one of ${Object.keys(WINDOWS).join(', ')}`);
  const isRelative = from === undefined && to === undefined && window !== undefined;
  const since = isRelative ? new Date(nowMs - WINDOWS[window][1]).toISOString() : from && exact(from, 'from');
  return { ...(since && { from: since }), ...(to && { to: exact(to, 'to') }) };
}

/** A window with both ends, as people type them; `null` where one is missing. */
export function exactWindow(from: string, to: string): { readonly from: string; readonly to: string } | null {
  const [first, end] = [from.trim(), to.trim()];
  return first === '' || end === '' ? null : { from: exact(first, 'from'), to: exact(end, 'to') };
}

/**
 * A day, or a day with a time, is read as UTC; a time with a zone as it is. Throws `invalid_window` for anything else, in the words of the field and
 * not in those of the ledger, whose form nobody typed.
 */
function exact(text: string, field: 'from' | 'to'): string {
  const [day = '', time = '00:00:00', ...rest] = text.replace(/Z$/, '').split(/[ T]/);
  if (rest.length === 0 && /^\d{4}-\d\d-\d\d$/.test(day) && /^\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(time)) {
    const whole = `${day}T${time.length === 5 ? `${time}:00` : time}Z`;
    if (ZONED.safeParse(whole).success) return whole;
  } else if (ZONED.safeParse(text).success) return text;
  throw new GateError(
    'invalid_window',
    `${field === 'from' ? 'From' : 'To'} is no time: write a day, 2026-01-02, or a day and a time in UTC, 2026-01-02 03:04`,
  );
}
const ZONED = z.iso.datetime({ offset: true });

/** Leads to the same page over each of them. */
export const WindowLinks = <Name extends string>({
  options,
  at,
  window,
}: {
  readonly options: readonly Name[];
  readonly at: (said: { readonly window: Name }) => string;
  readonly window: Name;
}) => (
  <>
    {options.map((option) => (
      <span key={option}>
        <a href={at({ window: option })} aria-current={option === window ? 'page' : undefined}>
          {option}
        </a>{' '}
      </span>
    ))}
  </>
);
