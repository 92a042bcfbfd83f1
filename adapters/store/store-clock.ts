import type { StoreKind } from './database.js';
import { type Ask, statement } from './statement.js';

const CLOCK_OF_DATABASE = statement<{ at: number | string }>(
  `select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as at`,
);

/** What the database's clock says; `null` for a file, which is on this host and has no other clock than this process. */
export const storeClock =
  ({ ask, kind }: { readonly ask: Ask; readonly kind: StoreKind }) =>
  async (): Promise<number | null> =>
    kind === 'postgres' ? Number((await ask(CLOCK_OF_DATABASE)).rows[0]?.at) : null;
