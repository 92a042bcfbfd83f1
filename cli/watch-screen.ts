import { toolOf } from '../contracts/call-methods.js';
import type { PendingRequest, PendingSummary, ReviewChangeType } from '../contracts/review.js';
import { oneLine } from '../domain/printable.js';
import { isRehearsal, REHEARSAL } from '../domain/review/rehearsal.js';
import { details, expiry, whatRuns } from './review-text.js';
import { gateCommand } from './output.js';
import { columnsOf, linesOf, wrapped } from './wrapped.js';

/** What `gate pending --watch` shows. Every key and every event makes a new one of it. */
export interface Watched {
  /** What waits, oldest first. */
  readonly rows: readonly PendingSummary[];
  /** Calls that wait beside these, and came later. */
  readonly more: number;
  readonly selected: string | null;
  /** One call in full, and the decision that a key asks for. */
  readonly open: Open | null;
  /** The last thing that happened. */
  readonly note: string;
  /** What the sandbox predicts of the listed calls, by id: null where nothing more is known than the row says. */
  readonly predicted: ReadonlyMap<string, string | null>;
  /** No key counts before. */
  readonly quietUntilMs: number;
  /** Another key was pressed since the last Enter, Esc or question: `a` is then a letter of a word, and asks nothing. */
  readonly inWord: boolean;
}

export interface Open {
  readonly row: PendingRequest;
  readonly decision: 'approve' | 'deny' | null;
  /** The first line that is shown; 0 without it. */
  readonly from?: number;
  /** Why it is denied, as far as it is typed. */
  readonly reason?: string;
}

export const NOTHING: Watched = {
  rows: [],
  more: 0,
  selected: null,
  open: null,
  note: '',
  predicted: new Map(),
  quietUntilMs: 0,
  inWord: false,
};

/**
 * Keys are ignored for so long after a question was asked or cancelled, and each ignored key begins the time anew:
 * the rest of a word that somebody types does nothing.
 */
export const QUIET_MS = 500;

export const quiet = (watched: Watched, nowMs: number): Watched => ({ ...watched, quietUntilMs: nowMs + QUIET_MS });

/** What a key means for the ones after it, wherever it goes. Arrows and the like are no part of a word, and end none. */
export const afterKey = (watched: Watched, key: string): Watched =>
  key === ESC || ENTER.has(key)
    ? { ...watched, inWord: false }
    : key.startsWith(ESC)
      ? watched
      : { ...watched, inWord: true };

/** The call, with the question that a key asked for. The reason of a denial may be typed at once. */
export function shown(watched: Watched, open: Open, nowMs: number): Watched {
  const next = { ...watched, open, note: '', inWord: false };
  return open.decision === 'approve' ? quiet(next, nowMs) : next;
}

/** What a key asks for beside another look. */
export type Asked =
  | { readonly do: 'quit' }
  | { readonly do: 'open'; readonly id: string; readonly decision: 'approve' | 'deny' | null }
  | {
      readonly do: 'decide';
      readonly row: PendingRequest;
      readonly decision: 'approve' | 'deny';
      readonly reason?: string;
    };

const byAge = (one: PendingSummary, other: PendingSummary): number =>
  one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id);

/** A list that was read anew. What was selected stays so where it still waits. */
export function listed(watched: Watched, rows: readonly PendingSummary[], waiting = rows.length): Watched {
  const wait = rows.filter(({ status }) => status === 'pending').toSorted(byAge);
  return reselected({ ...watched, rows: wait, more: Math.max(0, waiting - rows.length) }, 0);
}

/** A change of one row. */
export function changed(watched: Watched, type: ReviewChangeType, row: PendingSummary): Watched {
  const at = watched.rows.findIndex(({ id }) => id === row.id);
  const others = watched.rows.filter(({ id }) => id !== row.id);
  const waits = row.status === 'pending' && type !== 'withdrawn';
  // What is not listed comes with the next list.
  if (at < 0 && waits && watched.more > 0) return { ...watched, more: watched.more + (type === 'created' ? 1 : 0) };
  const rows = waits ? [...others, row].toSorted(byAge) : others;
  const ended = at >= 0 && !waits ? { note: endOf(type, row) } : {};
  // Nothing is decided about a call that has ended, or changed, while it was read.
  // Who types a reason goes on, and is told at its end: what he types next must not be keys of the list.
  const closes = watched.open?.row.id === row.id && !waits && watched.open.decision !== 'deny';
  const open = closes ? null : watched.open;
  const more = at < 0 && !waits ? Math.max(0, watched.more - 1) : watched.more;
  return reselected({ ...watched, ...ended, rows, more, open }, Math.max(0, at));
}

const endOf = (type: ReviewChangeType, { tool, agent_id, status, decided_by, rehearsal }: PendingSummary): string =>
  `${rehearsal ? `${REHEARSAL} ` : ''}${oneLine(`${tool} for ${agent_id}`)}: ${type === 'withdrawn' && status === 'pending' ? 'withdrawn, its caller was answered 503' : status}${decided_by ? ` by ${oneLine(decided_by)}` : ''}`;

const reselected = (watched: Watched, at: number): Watched =>
  watched.rows.some(({ id }) => id === watched.selected)
    ? watched
    : { ...watched, selected: watched.rows[Math.min(at, watched.rows.length - 1)]?.id ?? null };

/**
 * A key, by the bytes that a terminal sends for it. Nobody approves a call of which a part is not on the screen, and nobody by typing a word:
 * `a` asks only as the first key after Enter, Esc or another question, and every key but Enter withdraws what it asked.
 */
export function pressed(
  before: Watched,
  key: string,
  size: ScreenSize,
  nowMs: number,
): { readonly watched: Watched; readonly asked?: Asked } {
  const { rows, selected, open } = before;
  if (key === '\u0003') return { watched: before, asked: { do: 'quit' } };
  if (open?.decision === 'deny' && nowMs >= before.quietUntilMs) return typed(before, open, key, nowMs);
  const watched = afterKey(before, key);
  if (nowMs < watched.quietUntilMs)
    return open?.decision === 'approve' && !ENTER.has(key)
      ? cancelled(watched, nowMs)
      : { watched: quiet(watched, nowMs) };
  if (key === 'a' && before.inWord && open?.decision !== 'approve')
    return { watched: { ...watched, note: 'a after other keys asks nothing: press esc, then a' } };
  if (open !== null) return pressedIn(watched, open, key, size, nowMs);
  if (key === 'q') return { watched, asked: { do: 'quit' } };
  const at = rows.findIndex(({ id }) => id === selected);
  const step = key === 'j' || key === '\u001B[B' ? 1 : key === 'k' || key === '\u001B[A' ? -1 : 0;
  if (step !== 0) {
    const next = rows[Math.min(Math.max(at + step, 0), rows.length - 1)];
    return { watched: { ...watched, selected: next?.id ?? null } };
  }
  if (selected === null) return { watched };
  if (ENTER.has(key)) return { watched, asked: { do: 'open', id: selected, decision: null } };
  if (key === 'a') return { watched, asked: { do: 'open', id: selected, decision: 'approve' } };
  if (key === 'd') return { watched, asked: { do: 'open', id: selected, decision: 'deny' } };
  return { watched };
}

type Pressed = ReturnType<typeof pressed>;

/** A key while one call is shown. */
function pressedIn(watched: Watched, open: Open, key: string, size: ScreenSize, nowMs: number): Pressed {
  if (open.decision === 'approve' && !fits(open, size))
    return { watched: quiet({ ...watched, open: { ...open, decision: null }, note: '' }, nowMs) };
  // No letter approves: a word that somebody types may have any of them.
  if (open.decision === 'approve')
    return ENTER.has(key) ? sent(watched, { row: open.row, decision: 'approve' }) : cancelled(watched, nowMs);
  // What would run is on the screen while it is asked about.
  if (key === 'a') return { watched: shown(watched, { ...open, decision: 'approve', from: 0 }, nowMs) };
  if (key === 'd') return { watched: shown(watched, { ...open, decision: 'deny' }, nowMs) };
  const step = SCROLLS[key]?.(Math.max(1, shownLines(size) - 1));
  if (step === undefined) return { watched: { ...watched, open: null, note: '' } };
  return { watched: { ...watched, open: { ...open, from: firstLine(open, size) + step } } };
}

const ESC = '\u001B';
const ENTER: ReadonlySet<string> = new Set(['\r', '\n']);

const cancelled = (watched: Watched, nowMs: number): Pressed => ({
  watched: quiet({ ...watched, open: null, note: 'nothing was decided' }, nowMs),
});

/** A key, or a pasted text, while the reason of a denial is asked for. */
function typed(watched: Watched, open: Open, key: string, nowMs: number): Pressed {
  const { reason = '' } = open;
  if (key === ESC) return cancelled(watched, nowMs);
  const become = (text: string): Watched => ({ ...watched, open: { ...open, reason: text } });
  if (key === '\u007F' || key === '\b') return { watched: become(Array.from(reason).slice(0, -1).join('')) };
  if (key.startsWith('\u001B')) return { watched };
  const text = Array.from(`${reason}${key}`.replaceAll(/\p{Cc}/gu, ' '))
    .slice(0, LONGEST_REASON)
    .join('');
  if (!key.endsWith('\r') && !key.endsWith('\n')) return { watched: become(text) };
  const said = text.trim();
  return sent(watched, { row: open.row, decision: 'deny', ...(said !== '' && { reason: said }) });
}

const sent = (watched: Watched, decided: Omit<Extract<Asked, { do: 'decide' }>, 'do'>): Pressed => ({
  watched: { ...watched, open: null, note: 'sent …' },
  asked: { do: 'decide', ...decided },
});

/** What HIL takes, with room for characters that count twice. */
const LONGEST_REASON = 500;

/** How far a key moves a call that is longer than the screen, of which so many lines are shown. */
const SCROLLS: Readonly<Partial<Record<string, (page: number) => number>>> = {
  j: () => 1,
  k: () => -1,
  '\u001B[B': () => 1,
  '\u001B[A': () => -1,
  ' ': (page) => page,
  '\u001B[6~': (page) => page,
  '\u001B[5~': (page) => -page,
};

export interface ScreenSize {
  readonly columns: number;
  readonly lines: number;
}

/** The screen, at most so many lines and columns. What does not fit in a line is cut from the right, where the less urgent stands. */
export function screenOf(watched: Watched, { columns, lines }: ScreenSize, nowMs: number): string[] {
  const { open } = watched;
  const body = open ? opened(open, { columns, lines }) : table(watched, lines - 2, nowMs);
  const help = open ? helpOf(open, { columns, lines }, watched.inWord) : shortened(listHelp(watched.inWord), columns);
  return [...body, ...(watched.open ? [] : [watched.note]), help].slice(-lines).map((line) => cut(line, columns));
}

function cut(line: string, columns: number): string {
  if (wrapped(line, columns).length === 1) return line;
  return columns < 3 ? '' : `${wrapped(line, columns - 1)[0]}…`;
}

/** The first of these that fits, each shorter than the one before. */
const shortened = (helps: readonly string[], columns: number): string =>
  helps.find((help) => wrapped(help, columns).length === 1) ?? helps.at(-1) ?? '';

/** While letters are read as a word (after `j` or `k`), `a` does nothing until another key ends the word. Arrow keys begin no word. */
const listHelp = (inWord: boolean): readonly string[] =>
  inWord ? LIST_HELP.map((help) => help.replace('  a approve', '  esc, then a approve')) : LIST_HELP;

const LIST_HELP = [
  'up/down or j/k choose  enter look  a approve (asks first)  d deny (asks why)  q end',
  'up/down or j/k choose  enter look  a approve  d deny  q end',
  'j/k  enter look  a/d decide  q end',
  'enter a d q',
];

function helpOf(open: Open, size: ScreenSize, inWord: boolean): string {
  const { columns } = size;
  const whole = fits(open, size);
  if (open.decision === 'deny') {
    const label = shortened(
      ['why (optional)? enter: deny, esc: cancel > ', 'why? (enter: deny) > ', 'why? '],
      columns - 16,
    );
    return `${label}${tailOf(oneLine(open.reason ?? ''), columns - label.length - 1)}_`;
  }
  if (open.decision === 'approve' && !whole)
    return shortened(
      [
        'too long for this screen to be approved here; any key: on',
        'too long to approve here; any key: on',
        'too long',
      ],
      columns,
    );
  if (open.decision === 'approve') {
    const [tool, agent] = [oneLine(toolOf(open.row)).slice(0, 32), oneLine(open.row.agent_id).slice(0, 24)];
    const what = isRehearsal(open.row) ? `${REHEARSAL} ${tool}` : tool;
    return shortened(
      [
        `approve ${what} for ${agent}? enter: yes, any other key: no`,
        `approve ${what}? enter: yes, else: no`,
        'approve? enter: yes, else: no',
        'sure? enter',
      ],
      columns,
    );
  }
  const scrolls = linesOf(details(open.row), columns).length > shownLines(size);
  const [approve, short] = !whole ? ['', ''] : inWord ? ['esc, then a approve  ', ''] : ['a approve  ', 'a '];
  return shortened(
    [
      `${approve}d deny  ${scrolls ? 'up/down or j/k, PgUp/PgDn scroll  ' : ''}any other key: back`,
      `${approve}d deny  ${scrolls ? 'j/k scroll  ' : ''}esc back`,
      `${short}d ${scrolls ? 'j/k ' : ''}esc`,
    ],
    columns,
  );
}

/** The end of a text, in so many columns. */
function tailOf(text: string, columns: number): string {
  let tail = '';
  let taken = 0;
  for (const character of Array.from(text).toReversed()) {
    taken += columnsOf(character);
    if (taken > columns) break;
    tail = character + tail;
  }
  return tail;
}

/** Lines for a call, above the line of keys. */
const shownLines = ({ lines }: ScreenSize): number => lines - 1;

/** The first line of a call that is shown: never so far down that there is room below its end. */
function firstLine({ row, from = 0 }: Open, size: ScreenSize): number {
  const all = linesOf(details(row), size.columns).length;
  const room = shownLines(size);
  return all <= room ? 0 : Math.max(0, Math.min(from, all - room + 1));
}

/** Whether all that would run is on the screen. What it is compared with may go on below, in one line less than there is. */
function fits({ row }: Open, size: ScreenSize): boolean {
  const [all, runs] = [details(row), whatRuns(row)].map((told) => linesOf(told, size.columns).length);
  return Math.min(all ?? 0, (runs ?? 0) + 1) <= shownLines(size);
}

/** One call, above the line of keys, from the line that it was scrolled to. What does not fit says so. */
function opened(open: Open, size: ScreenSize): string[] {
  const all = linesOf(details(open.row), size.columns);
  const room = shownLines(size);
  if (all.length <= room) return all;
  const first = firstLine(open, size);
  const shown = all.slice(first, first + room - 1);
  const below = all.length - first - shown.length;
  const where = [below > 0 ? `${below} more lines` : 'the end', ...(first > 0 ? [`${first} above`] : [])].join(', ');
  return [...shown, `… ${where}: ${gateCommand()} pending ${open.row.id}`];
}

/** Heads of the columns, the most urgent first: a narrow terminal shows how long, which tool, for whom. */
const HEADS = ['expires', 'tool', 'agent', 'state', 'sandbox', 'why'];

function table({ rows, more, selected, predicted }: Watched, lines: number, nowMs: number): string[] {
  const all = rows.length + more;
  const counted = `${all} ${all === 1 ? 'call waits' : 'calls wait'}${more > 0 ? `, the oldest ${rows.length} are listed` : ''}`;
  if (rows.length === 0) return [counted];
  const heads = lines < 3 ? [] : [{ id: null, cells: HEADS }];
  const room = Math.max(1, lines - 1 - heads.length);
  const at = Math.max(
    0,
    rows.findIndex(({ id }) => id === selected),
  );
  const first = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
  const calls = rows
    .slice(first, first + room)
    .map((row) => ({ id: row.id, cells: cellsOf(row, predicted.get(row.id) ?? null, nowMs) }));
  const filled = HEADS.map((_, column) => calls.some(({ cells }) => cells[column] !== ''));
  const told = [...heads, ...calls].map(({ id, cells }) => ({
    id,
    cells: cells.filter((_, column) => filled[column]),
  }));
  const widths = told[0]?.cells.map((_, column) => Math.max(...told.map(({ cells }) => cells[column]?.length ?? 0)));
  return [
    counted,
    ...told.map(({ id, cells }) => {
      const padded = cells.map((cell, column) => cell.padEnd(widths?.[column] ?? 0));
      return `${id !== null && id === selected ? '>' : ' '} ${padded.join('  ').trimEnd()}`;
    }),
  ];
}

/** A cell per head; a column without any is left out. */
function cellsOf(row: PendingSummary, prediction: string | null, nowMs: number): string[] {
  const people = row.required_approvers > 1 ? `${row.approvals_count} of ${row.required_approvers}` : '';
  return [
    expiry(row, nowMs),
    oneLine(row.tool).slice(0, 32),
    oneLine(row.agent_id).slice(0, 24),
    [row.rehearsal ? REHEARSAL : '', people, row.escalated_at ? 'escalated' : '']
      .filter((word) => word !== '')
      .join(', '),
    cut(oneLine(prediction ?? row.severity ?? ''), 72),
    oneLine(row.risk_summary),
  ];
}
