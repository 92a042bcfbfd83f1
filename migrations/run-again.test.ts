import { describe, expect, it } from '@jest/globals';
import { sql, type Migration } from 'kysely';
import { openStore } from '../domain/store/database.js';
import { ledgerPlace, STORES } from '../test/support/ledger.js';
import { callMigrations } from './calls.js';
import { ledgerMigrations } from './ledger.js';

interface Steps {
  tenant_lifecycle: { operation_id: string; kind: string; tenant: string; generation: number; receipt: string };
}
const upTo = (all: Record<string, Migration>, last: string): Record<string, Migration> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name <= last));

describe.each(STORES)('migrations over what an earlier version left, on %s', (kind) => {
  it('a column that was added before the migration was cut off is no obstacle', async () => {
    const place = await ledgerPlace(kind);
    const before = await openStore(place.target, upTo(callMigrations, '0002-follow-ups'));
    await sql`alter table call_records add column sibling_tools text`.execute(before.db);
    await before.close();
    const after = await openStore(place.target, callMigrations);
    await sql`select sibling_tools from call_records`.execute(after.db);
    await after.close();
    await place.remove();
  });

  it('steps of one tenant that had one number get places of their own; the first and the newest keep theirs', async () => {
    const place = await ledgerPlace(kind);
    const before = await openStore<Steps>(place.target, upTo(ledgerMigrations, '0010_zzz'));
    const step = (operation: string, tenant: string, generation: number) => ({
      operation_id: operation,
      kind: 'lifecycle_marker',
      tenant,
      generation,
      receipt: '{}',
    });
    await before.db
      .insertInto('tenant_lifecycle')
      .values([
        step('a', 'acme', 1),
        step('b', 'acme', 1),
        step('c', 'acme', 1),
        step('d', 'acme', 2),
        step('e', 'globex', 1),
      ])
      .execute();
    await before.close();
    const after = await openStore<Steps>(place.target, ledgerMigrations);
    const rows = await after.db.selectFrom('tenant_lifecycle').selectAll().orderBy('operation_id').execute();
    expect(rows.map(({ generation }) => Number(generation))).toEqual([1, -1, -2, 2, 1]);
    await after.close();
    await place.remove();
  });
});
