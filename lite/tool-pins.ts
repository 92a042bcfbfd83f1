import { DatabaseSync } from '@photostructure/sqlite';
import { GateError } from '../domain/errors.js';
import { forgottenRow } from '../domain/tool-definitions/pinning.js';
import { ledgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { sqliteStore } from '../adapters/store/database.js';
import { openLocalFile } from '../adapters/store/local-file.js';
import { storeFaultText } from '../domain/store-faults.js';
import { forgetPinsIn, pinOwnersIn, type ToolPinTables } from '../adapters/tools/pin-store.js';
import { keysBeside } from './keys.js';
import { liteMigrations } from './migrations.js';
import type { PinOwner } from '../domain/tool-definitions/ports.js';

/** The agents whose tools are pinned in a file. Only reads. */
export async function pinOwners(
  file: string,
): Promise<(PinOwner & { readonly tools: number; readonly since: string })[]> {
  const connection = new DatabaseSync(file, { readOnly: true });
  try {
    const has = (table: string) => connection.prepare('select 1 from sqlite_master where name = ?').get(table);
    if (has('tool_pin_sets')) return await pinOwnersIn(sqliteStore<ToolPinTables>(connection).db);
    // A file that no newer Gate has opened yet, or one of before tools were pinned.
    if (!has('tool_pins')) return [];
    return connection
      .prepare(
        'select tenant, agent, count(*) as tools, min(pinned_at) as since from tool_pins group by tenant, agent order by 1, 2',
      )
      .all() as unknown as (PinOwner & { readonly tools: number; readonly since: string })[];
  } catch (error) {
    throw new GateError('store_unavailable', `${file}: ${storeFaultText(error)}`, { cause: error });
  } finally {
    connection.close();
  }
}

/** The person who works on the file itself. No token was checked, but only the owner can read the file and its keys. */
const LOCAL_OPERATOR = 'operator:local';

/** Deletes an agent's pins and appends a row about it, in one transaction. Returns how many tools were pinned. */
export async function forgetPins(file: string, owner: PinOwner): Promise<number> {
  const keys = keysBeside(file);
  if (!keys) throw new GateError('store_unavailable', `the keys of ${file} are missing: set GATE_LITE_KEYS`);
  const opened = await openLocalFile({ file, migrations: liteMigrations });
  try {
    const forgotten = await forgetPinsIn(opened.store<ToolPinTables>(), keys, owner);
    if (forgotten > 0)
      await ledgerInFile(opened, { sidecarKeys: keys }).append([forgottenRow(owner, LOCAL_OPERATOR, forgotten, null)]);
    await opened.durable();
    return forgotten;
  } finally {
    await opened.close();
  }
}
