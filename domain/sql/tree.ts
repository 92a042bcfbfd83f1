/** A node of the Postgres parse tree, as libpg_query prints it. */
export type SqlNode = { readonly [field: string]: unknown };

/** The statements of a text, or null when the Postgres grammar rejects it. */
export type SqlParser = (text: string) => readonly SqlNode[] | null;
