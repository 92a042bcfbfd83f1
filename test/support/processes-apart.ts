import { afterEach, beforeEach } from '@jest/globals';
import type { NoteTables } from '../../adapters/mcp/kept-notes.js';
import type { QuestionTables } from '../../adapters/mcp/kept-questions.js';
import { openStore, type Store } from '../../adapters/store/database.js';
import { mcpQuestionMigrations } from '../../migrations/mcp-questions.js';
import { ledgerPlace, type STORES, type TestLedgerPlace } from './ledger.js';

/**
 * For tests of what proxies and workers tell each other by rows: a store anew for each test, to which each process that is played has a connection of
 * its own. What the test opens over them is closed before they are.
 */
export function processesApart(kind: (typeof STORES)[number]): {
  readonly opened: { close(): void }[];
  readonly connected: () => Promise<Store<QuestionTables & NoteTables>>;
} {
  let place: TestLedgerPlace;
  const stores: Store<QuestionTables & NoteTables>[] = [];
  const opened: { close(): void }[] = [];
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: mcpQuestionMigrations });
  });
  afterEach(async () => {
    for (const talks of opened.splice(0)) talks.close();
    for (const store of stores.splice(0)) await store.close();
    await place.remove();
  });
  return {
    opened,
    async connected() {
      const store = await openStore<QuestionTables & NoteTables>(place.target, mcpQuestionMigrations);
      stores.push(store);
      return store;
    },
  };
}
