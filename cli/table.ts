import Table from 'cli-table3';
import { oneLine } from '../domain/printable.js';
import { wrapped } from './output.js';

export interface Column {
  readonly head: string;
  /** Never wrapped: an id that is to be copied. */
  readonly whole?: boolean;
}

/** A longer word is broken where a table would not fit otherwise. */
const LONGEST_WORD = 15;
/** What the frame adds to each cell, and once to the row. */
const FRAME = 3;

/**
 * Rows as a table that fits the terminal: the widest columns are wrapped, between words where possible. Where that is not enough, each row
 * becomes a block with a line for each of its cells. Nothing is cut. Behind a pipe, where there is no terminal, nothing is wrapped.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = process.stdout.columns ?? Infinity,
): string {
  const shown = rows.map((row) => row.map((cell) => oneLine(cell)));
  const needs = columns.map(({ head }, at) => Math.max(head.length, ...shown.map((row) => (row[at] ?? '').length)));
  const least = columns.map(({ head, whole }, at) =>
    whole
      ? (needs[at] ?? 0)
      : Math.max(head.length, ...shown.map((row) => Math.min(LONGEST_WORD, longest(row[at] ?? '')))),
  );
  const room = width - FRAME * columns.length - 1;
  const widths = shared(needs, least, room);
  if (widths === null) return blocks(columns, shown, width);
  const framed = new Table({ head: columns.map(({ head }) => head), style: { head: [], border: [] } });
  for (const row of shown) framed.push(row.map((cell, at) => wrapped(cell, widths[at] ?? 1)));
  return framed.toString();
}

const longest = (text: string): number => Math.max(...text.split(' ').map((word) => word.length));
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** The widths of columns in so much room: what the narrow ones leave goes to the wide ones. `null` where not even the least fits. */
function shared(needs: readonly number[], least: readonly number[], room: number): readonly number[] | null {
  if (sum(least) > room) return null;
  let most = Math.max(...needs);
  const widthsUnder = (limit: number) => needs.map((need, at) => Math.max(least[at] ?? 0, Math.min(need, limit)));
  while (sum(widthsUnder(most)) > room) most -= 1;
  return widthsUnder(most);
}

function blocks(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string {
  const label = Math.max(...columns.map(({ head }) => head.length)) + 2;
  const indented = (cell: string) =>
    wrapped(cell, Math.max(1, width - label)).replaceAll('\n', `\n${' '.repeat(label)}`);
  return rows
    .map((row) => columns.map(({ head }, at) => `${head.padEnd(label)}${indented(row[at] ?? '')}`.trimEnd()).join('\n'))
    .join('\n\n');
}
