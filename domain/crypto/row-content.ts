/** What a MAC over a row is made of: its columns as they are hashed. A sealed value is its authentication tag, which no two values share. */
export type RowContent<Column extends string> = { readonly [Name in Column]: string | number | null };

/** AES-GCM's tag is the end of a sealed value (`domain/crypto/key-ring.ts`). */
const TAG_BYTES = 16;

/** The authenticated columns of one table, in the order in which they are hashed; `numbers` are those that hold numbers. */
export function rowContent<Column extends string>(columns: readonly Column[], numbers: readonly Column[]) {
  const known = columns.map((name) => ({ name, number: numbers.includes(name), sealed: name.endsWith('_sealed') }));
  type Known = (typeof known)[number];
  const hashed = ({ number, sealed }: Known, value: unknown): string | number | null => {
    if (value === null || value === undefined) return null;
    if (typeof value === 'string' && !number) return value;
    if (value instanceof Uint8Array) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      return `${sealed ? '' : 'bytes:'}${bytes.toString('hex', sealed ? Math.max(0, bytes.length - TAG_BYTES) : 0)}`;
    }
    // Postgres gives its bigint columns back as text. A text that is no number is hashed as it is, not as an absent value.
    return number && Number.isFinite(Number(value)) ? Number(value) : String(value as string | number);
  };
  return {
    of(row: Readonly<Record<Column, unknown>>): RowContent<Column> {
      const content: Partial<Record<Column, string | number | null>> = {};
      for (const column of known) content[column.name] = hashed(column, row[column.name]);
      return content as RowContent<Column>;
    },
    /** The content after a change of some columns, without a look at the store. */
    after(was: RowContent<Column>, changed: Readonly<Partial<Record<Column, unknown>>>): RowContent<Column> {
      const content: Record<Column, string | number | null> = { ...was };
      for (const column of known)
        if (changed[column.name] !== undefined) content[column.name] = hashed(column, changed[column.name]);
      return content;
    },
    /** The same of a row itself, without its content in between. */
    messageOf(form: string, row: Readonly<Record<Column, unknown>>): string {
      const parts: (string | number | null)[] = [form];
      for (const column of known) parts.push(hashed(column, row[column.name]));
      return JSON.stringify(parts);
    },
    /** What is authenticated; `form` names the table and the number of this form. */
    message(form: string, content: RowContent<Column>): string {
      const parts: (string | number | null)[] = [form];
      for (const { name } of known) parts.push(content[name]);
      return JSON.stringify(parts);
    },
  };
}
