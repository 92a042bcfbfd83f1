export type Value = string | number | Uint8Array | null;

/** One text for both databases; `Row` is the type of its result. */
export interface Statement<Row = never> {
  /** With `?` for each value, as SQLite takes it. */
  readonly text: string;
  /** With `$1`, `$2` and so on, as Postgres takes it. */
  readonly numbered: string;
  readonly row?: Row;
}

export function statement<Row = never>(text: string): Statement<Row> {
  let values = 0;
  return { text, numbered: text.replaceAll('?', () => `$${(values += 1)}`) };
}

/** The result of one statement that is not part of a job. */
export interface Answered<Row> {
  readonly rows: Row[];
  readonly changes: number;
}
export type Ask = <Row>(of: Statement<Row>, ...values: Value[]) => Promise<Answered<Row>>;
