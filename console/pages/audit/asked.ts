import { z } from 'zod';
import { GateError } from '../../../domain/errors.js';
import type { RowsQuery } from '../../services.js';
import { isWindow, WINDOWS } from '../../ui/windows.js';

/** What an address of the audit pages may say. */
const NAMES = ['agent', 'verdict', 'methods', 'tool', 'window', 'from', 'to', 'signal', 'authorized'] as const;
export type Asked = Readonly<Partial<Record<(typeof NAMES)[number], string>>>;

/** What the address says, without what is empty. */
export const asked = (query: Readonly<Record<string, unknown>>): Asked =>
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = query[name];
      const text = typeof value === 'string' ? value.trim() : '';
      return text === '' ? [] : [[name, text]];
    }),
  );

/** For how much in particular an address asks. */
export const asksFor = (said: Asked): number => Object.keys(said).length;

/**
 * The exact ends of a window; an end that is typed counts before a relative one. Throws `invalid_window` for a relative one that is none of
 * these: all rows would be taken for those of a window.
 */
export function windowAsked(
  { window, from, to }: Asked,
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

/** The row before which a page of rows begins; `null` where the address names none that can be one. */
export function placeAsked(address: Readonly<Record<string, unknown>>): { readonly before?: number } | null {
  const before = address['before'];
  if (before === undefined || before === '') return {};
  return typeof before === 'string' && /^\d{1,15}$/.test(before) ? { before: Number(before) } : null;
}

/** What an address asks of the ledger. Throws for what only a hunt is asked: all rows would be taken for those. */
export function rowsAsked(address: Readonly<Record<string, unknown>>, nowMs: number): Omit<RowsQuery, 'limit'> {
  const said = asked(address);
  const { agent = '*', verdict, methods, tool, signal } = said;
  if (said.authorized !== undefined)
    throw new GateError('invalid_request', 'authorized: is asked of a hunt alone; rows are found by their verdict');
  return {
    agent,
    ...(verdict && { verdict }),
    ...(methods && { methods }),
    ...(tool && { tool }),
    ...(signal && { signal }),
    ...windowAsked(said, nowMs),
    ...placeAsked(address),
  };
}

/** An address that says the same to whoever opens it. */
export function addressOf(path: string, said: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(said).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
