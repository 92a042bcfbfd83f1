import { type RawBuilder, sql } from 'kysely';
import { pagesOf } from '../store/pages.js';

/** Rows that are read, and whose MACs are verified, within one turn of the event loop: some milliseconds. */
export const ROWS_AT_ONCE = 250;

/** Rows of policies, some at a time in the order of tenant and name, which `read` keeps. Calls go on between two reads. */
export const policyPages = <Row extends { readonly tenant: string; readonly name: string }>(
  read: (isBehind: RawBuilder<boolean>) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> =>
  pagesOf<Row>(ROWS_AT_ONCE, (last) =>
    read(last ? sql<boolean>`(tenant, name) > (${last.tenant}, ${last.name})` : sql<boolean>`1 = 1`),
  );
