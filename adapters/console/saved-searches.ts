import { z } from 'zod';
import type { SavedSearch } from '../../contracts/console.js';
import { GateError } from '../../domain/errors.js';
import type { Store } from '../store/database.js';
import { askedOf } from './asked.js';

export interface SearchTables {
  console_searches: { tenant: string; subject: string; name: string; query: string; saved_ms: number | string };
}

/** Whose searches they are. */
export interface Owner {
  readonly subject: string;
  readonly tenant: string;
}

/** Searches that people keep. A store fault is `store_unavailable`. */
export interface SavedSearches {
  /** By name. */
  list(owner: Owner): Promise<readonly SavedSearch[]>;
  /** Keeps it; one of the same name is replaced. Throws `invalid_request` beyond 50 of a person. */
  save(owner: Owner, search: SavedSearch): Promise<void>;
  /** Safe to repeat. */
  forget(owner: Owner, name: string): Promise<void>;
}

const MOST = 50;
const query = z.record(z.string(), z.string());

export function searchesOver({ db }: Store<SearchTables>, clock: () => number = Date.now): SavedSearches {
  const asked = askedOf('the saved searches');
  const list: SavedSearches['list'] = ({ tenant, subject }) =>
    asked(async () => {
      const rows = await db
        .selectFrom('console_searches')
        .select(['name', 'query'])
        .where('tenant', '=', tenant)
        .where('subject', '=', subject)
        .orderBy('name')
        .limit(MOST)
        .execute();
      return rows.map((row) => ({ name: row.name, query: query.parse(JSON.parse(row.query)) }));
    });
  return {
    list,
    async save(owner, { name, query: said }) {
      const kept = await list(owner);
      if (kept.length >= MOST && !kept.some((one) => one.name === name))
        throw new GateError('invalid_request', `you keep ${MOST} searches already: forget one first`);
      const text = JSON.stringify(said);
      const { tenant, subject } = owner;
      await asked(() =>
        db
          .insertInto('console_searches')
          .values({ tenant, subject, name, query: text, saved_ms: clock() })
          .onConflict((conflict) =>
            conflict.columns(['tenant', 'subject', 'name']).doUpdateSet({ query: text, saved_ms: clock() }),
          )
          .execute(),
      );
    },
    async forget({ tenant, subject }, name) {
      await asked(() =>
        db
          .deleteFrom('console_searches')
          .where('tenant', '=', tenant)
          .where('subject', '=', subject)
          .where('name', '=', name)
          .execute(),
      );
    },
  };
}
