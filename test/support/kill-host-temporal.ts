import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCallStore } from '../../adapters/call/call-store.js';
import { openLedger } from './whole-ledger.js';
import { createCallRunner, createDecisionSender, createRuns } from '../../workers/call-runner.js';
import { createReviewStarter } from '../../workers/review-starter.js';
import { connectClient, connectNative } from '../../workers/client.js';
import { createProbing } from '../../workers/probing.js';
import { installEngineRuntime } from '../../workers/runtime.js';
import { ensureReconcileSchedule } from '../../workers/schedules.js';
import { createWorker } from '../../workers/worker.js';
import { TEST_PAYLOAD_KEYS } from './engine-keys.js';
import { composeKillHost, quietLogger, serveHost, storeKeys, TWO_FOR_STRICT } from './kill-host.js';
import { openReviewStore } from './whole-reviews.js';

/** The Temporal host (proxy, HIL and worker in one, as in `gate start`) as a process of its own. */
installEngineRuntime(quietLogger);

serveHost(async (config) => {
  const { engine } = config;
  if (!engine) throw new Error('the Temporal host needs an engine');
  const { taskQueue, namespace } = engine;
  const connected = await connectClient(engine, TEST_PAYLOAD_KEYS);
  const { client } = connected;

  const file = (name: string) => ({ file: join(config.folder, `${name}.db`) });
  const ledger = await openLedger({ target: file('ledger'), sidecarKeys: storeKeys('sidecars') });
  const stores = {
    ledger,
    calls: await openCallStore({ target: file('calls'), keys: storeKeys('records'), ledger }),
    reviews: await openReviewStore({
      target: file('hil'),
      payloadKeys: storeKeys('payloads'),
      quorum: TWO_FOR_STRICT,
      escalateShares: config.escalateShares,
    }),
    // Each of these stores returns when what it took is on disk.
    durable: () => Promise.resolve(),
  };

  return composeKillHost(
    config,
    stores,
    createRuns(client),
    createProbing(client, taskQueue),
    async ({ activities }) => {
      if (engine.worker) {
        const worker = await createWorker({
          connection: await connectNative(engine),
          namespace,
          taskQueue,
          keys: TEST_PAYLOAD_KEYS,
          activities,
          bundle: { code: readFileSync(engine.bundleFile, 'utf8') },
          shutdownGraceMs: config.upstreamTimeoutMs,
        });
        void worker.run();
      }
      if (engine.reconcileEverySecs !== null)
        await ensureReconcileSchedule(client, { taskQueue, everySecs: engine.reconcileEverySecs });
      return {
        runner: createCallRunner(connected, taskQueue),
        starter: createReviewStarter(connected, { taskQueue }),
        sender: createDecisionSender(connected, stores.reviews.changeSeal),
      };
    },
  );
});
