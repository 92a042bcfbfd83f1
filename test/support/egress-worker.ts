import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { createEgressActivities } from '../../activities/egress.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { egressSource } from '../../domain/evidence/egress/source.js';
import { datadogSink, genericSink, type Sink, splunkSink } from '../../domain/evidence/egress/sinks.js';
import { openLedger } from './whole-ledger.js';
import { connectNative, dataConverter } from '../../workers/client.js';
import { installEngineRuntime } from '../../workers/runtime.js';
import { streamsForEngine } from '../../workers/worker.js';
import { LeanWorker } from '../../workers/workflow-threads.js';
import { TEST_PAYLOAD_KEYS } from './engine-keys.js';

/** What `egress-worker` is told. */
export interface EgressWorkerConfig {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly bundleFile: string;
  readonly ledgerFile: string;
  readonly sidecarKey: string;
  readonly urls: { readonly splunk: string; readonly datadog: string; readonly generic: string };
}

/** A worker that serves streams to sinks and nothing else, as a process to be killed. Argument: its configuration as JSON. */
const config = JSON.parse(process.argv[2] as string) as EgressWorkerConfig;
installEngineRuntime(pino({ level: 'silent' }));
const ledger = await openLedger({
  target: { file: config.ledgerFile },
  sidecarKeys: keyRing(new Map([['test', Buffer.from(config.sidecarKey, 'hex')]])),
});
const routing = { tenants: [], minSeverity: 'info' } as const;
const sinks: Sink[] = [
  splunkSink({ ...routing, url: config.urls.splunk, token: 'splunk-token' }),
  datadogSink({ ...routing, site: 'unused', apiKey: 'datadog-key', url: config.urls.datadog }),
  genericSink({ tenants: ['acme'], minSeverity: 'info', url: config.urls.generic, bearer: 'generic-bearer' }),
];
const worker = await LeanWorker.create({
  connection: await connectNative(config),
  namespace: config.namespace,
  taskQueue: config.taskQueue,
  workflowBundle: { code: readFileSync(config.bundleFile, 'utf8') },
  dataConverter: dataConverter(TEST_PAYLOAD_KEYS),
  activities: { ...streamsForEngine(createEgressActivities({ source: egressSource(ledger), sinks })) },
  stickyQueueScheduleToStartTimeout: '1s',
});
await worker.run();
