import { errorText } from './errors.js';

/** SQLite's primary result codes by its own texts: a statement that fails while it is read carries the text alone. */
const CODES: readonly (readonly [RegExp, number])[] = [
  [/^database (table )?is locked/, 5],
  [/^attempt to write a readonly database/, 8],
  [/^disk I\/O error/, 10],
  [/^database disk image is malformed/, 11],
  [/^database or disk is full/, 13],
  [/^unable to open database file/, 14],
  [/^file is not a database/, 26],
];

/** The primary result code of a fault of SQLite's; 0 for any other error. */
export function sqliteFault(error: unknown): number {
  const { errcode } = error as { errcode?: number };
  if (typeof errcode === 'number') return errcode & 0xff;
  const text = errorText(error);
  return CODES.find(([said]) => said.test(text))?.[1] ?? 0;
}

/** SQLite's faults in the words of whoever has to mend them; other errors in their own. */
export function storeFaultText(error: unknown): string {
  switch (sqliteFault(error)) {
    case 5:
    case 6:
      return 'the file is locked by another process; stop it or use another file';
    case 8:
      return 'the file or its folder is read-only; nothing can be recorded, so nothing is let through';
    case 10:
      return `the disk failed (${(error as { errstr?: string }).errstr ?? errorText(error)})`;
    case 11:
      return 'the file is damaged; restore a backup with `gate restore`';
    case 13:
      return 'the disk is full; free space, then go on: nothing that was answered is lost';
    case 14:
      return 'the file cannot be opened or made; see the folder and its rights';
    case 26:
      return 'this is not a ledger file';
    default:
      return errorText(error).startsWith('corrupted migrations: previously executed')
        ? 'a newer version of Gate wrote this file; use that version, or upgrade this one'
        : errorText(error);
  }
}
