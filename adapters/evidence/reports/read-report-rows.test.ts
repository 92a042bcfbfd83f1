import { expect, it } from '@jest/globals';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { ledgerPlace, testRow } from '../../../test/support/ledger.js';
import { openToRead } from '../../store/database.js';
import { placesOfPage, reportPages } from './read-report-rows.js';

it('a page of a window is looked for at its places, which are looked up once', async () => {
  const place = await ledgerPlace('sqlite');
  let now = Date.parse('2026-03-10T12:00:00.000Z');
  const ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
  for (let rows = 0; rows < 40; rows += 1) {
    now += 1_000;
    await ledger.append([testRow()]);
  }
  const statements: string[] = [];
  const { db, close } = openToRead<LedgerTables>((place.target as { file: string }).file, {
    beforeStatement: (text) => void statements.push(text),
  });
  const filter = { from: '2026-03-10T12:00:11.000Z', to: '2026-03-10T12:00:31.000Z', seqFrom: 15 };
  const { places, next } = await placesOfPage(db, filter, 100);
  const lookedUp = statements.length;
  const rows = [];
  for await (const page of reportPages(db, filter, { places })) rows.push(...page);
  expect([places, next, rows.map(({ seq }) => seq)]).toEqual([
    { low: 15, high: 30 },
    null,
    Array.from({ length: 16 }, (_, at) => at + 15),
  ]);
  expect([lookedUp > 2, statements.length - lookedUp]).toEqual([true, 1]);
  await close();
  await ledger.close();
  await place.remove();
});
