import { CONTENT_FIELDS } from '../../domain/ledger/canonical-bytes.js';
import { GENESIS_HASH } from '../../domain/ledger/entry-hash.js';
import { CURSOR_COLUMNS } from '../../domain/ledger/vacuum/cursor.js';

/**
 * SQL that renders the bytes that an entry's hash covers (docs/architecture/ledger-rows.md#canonical-bytes). It only makes reading fast:
 * for some entries it may be NULL or differ from the canonical bytes, but different columns never give the same text.
 */
export function renderingSql(dialect: {
  /** JSON text of a text column; 'null' for NULL. */
  quoted(column: string): string;
  /** Digits of an integer column, 'null' for NULL, and anything else for a value that is not an integer. */
  digits(column: string): string;
  /** True when a text column holds one complete JSON object. */
  holdsObject(column: string): string;
}): string {
  const literal = (text: string) => `'${text}'`;
  const value = ([name, kind]: (typeof CONTENT_FIELDS)[number]): string => {
    if (kind === 'text') return dialect.quoted(name);
    if (kind === 'bool') return `case ${name} when 1 then 'true' when 0 then 'false' else '?' end`;
    if (kind === 'int') return dialect.digits(name);
    return `case when ${name} is null then 'null' when ${dialect.holdsObject(name)} then ${name} else '?' end`;
  };
  const position = [
    ['chain_version', dialect.digits('chain_version')],
    ['id', dialect.quoted('id')],
    ['timestamp', dialect.quoted('timestamp')],
    ['seq', dialect.digits('seq')],
    ['prev_hash', dialect.quoted('prev_hash')],
  ] as const;
  const content = CONTENT_FIELDS.map((field) => [field[0], value(field)] as const);
  const members = [...position, ...content].flatMap(([name, rendered], index) => [
    literal(`${index === 0 ? '{' : ','}"${name}":`),
    rendered,
  ]);
  return ['prev_hash', literal('|'), ...members, literal('}')].join(', ');
}

export const VACUUMED_ROW = `select v.id, v.seq, v.entry_hash, v.timestamp, coalesce(before.entry_hash, '${GENESIS_HASH}')
  from ledger_vacuumed_rows v left join ledger_vacuumed_rows before on before.seq = v.seq - 1`;

/** SQL that joins the newest cursor to another query's columns. */
export const NEWEST_CURSOR = `(select 1) one left join (select * from ledger_vacuum_cursors order by seq desc limit 1) v on true`;

export const cursorColumns = (from: string): string => CURSOR_COLUMNS.map((column) => `${from}.${column}`).join(', ');

/** When the tenant of a row that comes now was hidden for good; NULL where it was not. */
export const hiddenAt = (tenant: string): string =>
  `(select hidden_at from ledger_tombstones t where t.tenant = ${tenant})`;
