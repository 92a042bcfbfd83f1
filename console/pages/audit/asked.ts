import { GateError } from '../../../domain/errors.js';
import { oneLine } from '../../../domain/printable.js';
import type { RowsQuery } from '../../services.js';
import { windowAsked } from '../../ui/windows.js';

/** What an address of the audit pages may say. */
export const NAMES = ['agent', 'verdict', 'methods', 'tool', 'window', 'from', 'to', 'signal', 'authorized'] as const;
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

/** Names that the addresses of rows have besides. */
export const ROWS_ALSO = ['before'] as const;

/**
 * Throws for an address that says something else than it is read by: a name that is not known, or one that is given twice. More rows than were
 * asked for would be taken for those.
 */
export function assertAsked(names: readonly string[], twice: readonly string[], known: readonly string[]): void {
  const [again] = twice;
  if (again !== undefined)
    throw new GateError('invalid_request', `${oneLine(again)}: stands twice in this address: give it once`);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new GateError(
      'invalid_request',
      `${oneLine(unknown)}: is asked of nothing here${known.length > 0 ? `, only ${known.join(', ')}` : ''}`,
    );
}

/** For how much in particular an address asks. */
export const asksFor = (said: Asked): number => Object.keys(said).length;

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
