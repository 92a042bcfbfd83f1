import type { Json } from '../../contracts/json.js';
import type { LedgerEntry } from '../../contracts/ledger.js';

/** Whether an export has every row, or where it was cut. */
export type ExportEnd =
  | { readonly export: 'complete'; readonly rows: number }
  | { readonly export: 'cut'; readonly rows: number; readonly before: number };

/** How rows are written into a file. The last line is what `end` says. */
export interface ExportFormat {
  readonly type: string;
  readonly filename: string;
  readonly head: string;
  row(row: LedgerEntry): string;
  end(end: ExportEnd): string;
}

export const JSON_LINES: ExportFormat = {
  type: 'application/x-ndjson; charset=utf-8',
  filename: 'gate-audit.jsonl',
  head: '',
  row: (row) => `${JSON.stringify(row)}\n`,
  end: (end) => `${JSON.stringify(end)}\n`,
};

const COLUMNS: readonly (readonly [string, (row: LedgerEntry) => Json | undefined])[] = [
  ['seq', ({ seq }) => seq],
  ['timestamp', ({ timestamp }) => timestamp],
  ['event', ({ event_kind, method }) => event_kind ?? method],
  ['agent_id', ({ agent_id }) => agent_id],
  ['tool', ({ tool_type }) => tool_type],
  ['outcome', ({ policy_decision }) => policy_decision?.['outcome'] ?? policy_decision?.['stage']],
  ['authorized', ({ authorized }) => authorized],
  ['reasoning', ({ reasoning }) => reasoning],
  ['decided_by', ({ decided_by }) => decided_by],
  ['correlation_id', ({ correlation_id }) => correlation_id],
  ['entry_hash', ({ entry_hash }) => entry_hash],
];

const FORMULA = /[=+\-@\uff0b\uff0d\uff1d\uff20]/;
const DIVIDES = /[;\p{Cc}\u2028\u2029]/u;
/** Spreadsheets skip these at the start of a cell. */
const NOTHING_YET = /["'\s]/;

/** RFC 4180, for spreadsheets; some of them divide cells at `;` or a tab as well. What a row holds beside these columns is in the JSON lines. */
export const CSV: ExportFormat = {
  type: 'text/csv; charset=utf-8',
  filename: 'gate-audit.csv',
  head: lineOf(COLUMNS.map(([name]) => name)),
  row: (row) => lineOf(COLUMNS.map(([, of]) => of(row))),
  end: (end) =>
    lineOf([`export ${end.export}`, `${end.rows} rows`, ...('before' in end ? [`before ${end.before}`] : [])]),
};

function lineOf(cells: readonly (Json | undefined)[]): string {
  return `${cells.map(cell).join(',')}\r\n`;
}

function cell(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = withoutFormulas(text);
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/**
 * A spreadsheet runs a cell that begins as a formula, and an agent chooses some of these words: such a cell begins with an apostrophe. So does
 * what stands behind a `;`, a tab or the end of a line inside a text, where a reader that divides there sees the next cell.
 */
function withoutFormulas(text: string): string {
  let safe = '';
  let begins = true;
  for (const character of text) {
    if (begins && FORMULA.test(character)) safe += "'";
    begins = DIVIDES.test(character) || (begins && NOTHING_YET.test(character));
    safe += character;
  }
  return safe;
}
