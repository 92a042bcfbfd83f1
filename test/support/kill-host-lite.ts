import { join } from 'node:path';
import { callStoreInFile } from '../../adapters/call/call-store.js';
import { ledgerInFile } from '../../adapters/ledger/ledger-in-file.js';
import { openLocalFile } from '../../adapters/store/local-file.js';
import { createInProcessRunner } from '../../lite/in-process-runner.js';
import { callMigrations } from '../../migrations/calls.js';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { composeKillHost, KILL_PROBES, quietLogger, serveHost, storeKeys } from './kill-host.js';
import type { ReviewTables } from '../../adapters/review/tables.js';
import { reviewStoreOver } from './whole-reviews.js';

/** The in-process host over one file, as lite composes it, as a process of its own, to be killed. */
serveHost(async (config) => {
  const noEngine = { status: () => Promise.resolve('missing' as const), end: () => Promise.resolve() };
  const file = await openLocalFile({
    file: join(config.folder, 'lite.db'),
    migrations: { ledger: ledgerMigrations, calls: callMigrations, hil: hilMigrations },
  });
  const ledger = ledgerInFile(file, { sidecarKeys: storeKeys('sidecars') });
  const stores = {
    ledger,
    calls: callStoreInFile(file, { keys: storeKeys('records'), ledger }),
    reviews: reviewStoreOver(file.store<ReviewTables>(), { payloadKeys: storeKeys('payloads') }),
    durable: () => file.durable(),
    beforeCommit: file.beforeCommit,
  };
  return composeKillHost(config, stores, noEngine, undefined, async ({ calls, activities }) => {
    const host = createInProcessRunner({
      calls,
      activities,
      logger: quietLogger,
      durableFromHere: () => file.durableFromHere(),
      probed: (tool) => KILL_PROBES.has(tool),
    });
    await host.resume();
    return { runner: host, sender: host };
  });
});
