/** What a MAC over a row is made of: its columns as they are hashed. A sealed value is its authentication tag, which no two values share. */
export type RowContent<Column extends string> = { readonly [Name in Column]: string | number | null };

/** AES-GCM's tag is the end of a sealed value (`domain/crypto/key-ring.ts`). */
const TAG_BYTES = 16;

/** The authenticated columns of one table, in the order in which they are hashed; `numbers` are those that hold numbers. */
export function rowContent<Column extends string>(columns: readonly Column[], numbers: readonly Column[]) {
  const hashed = (column: Column, value: unknown): string | number | null => {
    if (value === null || value === undefined) return null;
    if (value instanceof Uint8Array) {
      const sealed = column.endsWith('_sealed');
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      return `${sealed ? '' : 'bytes:'}${bytes.toString('hex', sealed ? Math.max(0, bytes.length - TAG_BYTES) : 0)}`;
    }
    // Postgres gives its bigint columns back as text. What is no number must not look like none at all.
    return numbers.includes(column) && Number.isFinite(Number(value))
      ? Number(value)
      : String(value as string | number);
  };
  const some = (names: readonly Column[], row: Readonly<Partial<Record<Column, unknown>>>) =>
    Object.fromEntries(names.map((column) => [column, hashed(column, row[column])]));
  return {
    of: (row: Readonly<Record<Column, unknown>>) => some(columns, row) as RowContent<Column>,
    /** The content after a change of some columns, without a look at the store. */
    after: (was: RowContent<Column>, changed: Readonly<Partial<Record<Column, unknown>>>): RowContent<Column> => ({
      ...was,
      ...some(
        columns.filter((column) => changed[column] !== undefined),
        changed,
      ),
    }),
    /** What is authenticated; `form` names the table and the number of this form. */
    message: (form: string, content: RowContent<Column>): string =>
      JSON.stringify([form, ...columns.map((column) => content[column])]),
  };
}
