import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@temporalio/client';
import type { JsonObject } from '../../contracts/json.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { SINK_KINDS, type SinkKind } from '../../domain/evidence/egress/sinks.js';
import { type WholeLedger, openLedger } from '../support/whole-ledger.js';
import { ensureStreams, streamIdOf } from '../../workers/streams.js';
import { EGRESS, type Stream, streamProgress } from '../../workflows/egress/messages.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { bundleToFile, ENGINE_START_LIMIT_MS, startTestEngine, type TestEngine } from '../support/engine.js';
import type { EgressWorkerConfig } from '../support/egress-worker.js';
import { until } from '../support/kill-host-driver.js';
import { testRow } from '../support/ledger.js';
import { timesOf } from '../support/some-of.js';

const TASK_QUEUE = 'egress-test';
const SETTINGS = { interval_ms: 200, batch_size: 20 };
const ATTEMPTS_PER_RUN = 30;

type Row = JsonObject & { readonly id: string };

/** A log platform on loopback: keeps what it confirmed, in the order it came. */
class Receiver {
  readonly confirmed: Row[] = [];
  /** Rows that arrived in a request which never got its answer. */
  readonly unanswered: string[] = [];
  headers: IncomingMessage['headers'] = {};
  path = '';
  /** What to answer; `cut` hangs up without an answer. */
  answer: (rows: Row[]) => number | 'cut' = () => 200;
  private server: Server | null = null;
  private port = 0;

  constructor(readonly read: (text: string) => Row[]) {}

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const rows = this.read(Buffer.concat(parts).toString('utf8'));
        this.headers = request.headers;
        this.path = request.url ?? '';
        const answer = this.answer(rows);
        if (answer === 'cut') {
          this.unanswered.push(...rows.map(({ id }) => id));
          request.socket.destroy();
          return;
        }
        if (answer === 200) this.confirmed.push(...rows);
        response.writeHead(answer).end('{}');
      });
    });
    await new Promise<void>((listening) => server.listen(this.port, '127.0.0.1', listening));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  /** Connections under way are cut, new ones refused. */
  async kill(): Promise<void> {
    const { server } = this;
    this.server = null;
    server?.closeAllConnections();
    await new Promise((closed) => (server ? server.close(closed) : closed(undefined)));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ids in the order in which each first arrived. */
  get ids(): string[] {
    return [...new Set(this.confirmed.map(({ id }) => id))];
  }
}

let engine: TestEngine;
let client: Client;
let ledger: WholeLedger;
let worker: ChildProcess;
let workerConfig: EgressWorkerConfig;
const receivers: Record<SinkKind, Receiver> = {
  splunk: new Receiver((text) => text.split('\n').map((line) => (JSON.parse(line) as { event: Row }).event)),
  datadog: new Receiver((text) =>
    (JSON.parse(text) as { message: string }[]).map(({ message }) => JSON.parse(message) as Row),
  ),
  generic: new Receiver((text) => JSON.parse(text) as Row[]),
};
const expected: string[] = [];

async function append(count: number, id?: string): Promise<string[]> {
  const receipts = await ledger.append(Array.from({ length: count }, () => testRow(id === undefined ? {} : { id })));
  const ids = receipts.map(({ id }) => id);
  expected.push(...ids);
  return ids;
}
const startWorker = () => {
  const program = join(PROJECT_ROOT, 'dist', 'test', 'support', 'egress-worker.js');
  worker = spawn(process.execPath, [program, JSON.stringify(workerConfig)], { stdio: ['ignore', 'ignore', 'inherit'] });
};
const killWorker = () =>
  new Promise((ended) => {
    worker.once('exit', ended);
    worker.kill('SIGKILL');
  });
const arrived = (kind: SinkKind, count = expected.length) =>
  until(
    `${kind} has everything`,
    () => Promise.resolve(receivers[kind].ids.length),
    (length) => length >= count,
    120_000,
  );
/** Nothing missing, nothing out of order; what came twice has the id it had before. */
const complete = (kind: SinkKind) => expect(receivers[kind].ids).toEqual(expected);
const progressOf = (kind: SinkKind) => client.workflow.getHandle(streamIdOf(kind)).query(streamProgress);

beforeAll(async () => {
  engine = await startTestEngine();
  client = await engine.client();
  const sidecarKey = randomBytes(32);
  const ledgerFile = join(engine.folder, 'ledger.db');
  ledger = await openLedger({ target: { file: ledgerFile }, sidecarKeys: keyRing(new Map([['test', sidecarKey]])) });
  for (const receiver of Object.values(receivers)) await receiver.start();
  workerConfig = {
    address: engine.address,
    namespace: engine.namespace,
    taskQueue: TASK_QUEUE,
    bundleFile: await bundleToFile(engine.folder),
    ledgerFile,
    sidecarKey: sidecarKey.toString('hex'),
    urls: { splunk: receivers.splunk.url, datadog: receivers.datadog.url, generic: receivers.generic.url },
  };
  startWorker();
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await killWorker();
  for (const receiver of Object.values(receivers)) await receiver.kill();
  await ledger.close();
  await engine.end();
}, 60_000);

describe('streams of ledger rows to sinks', () => {
  it('bring every row to every sink in chain order, each in its own form, from the first row on', async () => {
    await append(50);
    // Runs of this one are short, so that their end is seen within a few hundred rows.
    await client.workflow.start(EGRESS, {
      workflowId: streamIdOf('generic'),
      taskQueue: TASK_QUEUE,
      args: [{ sink: 'generic', settings: SETTINGS, attempts_per_run: ATTEMPTS_PER_RUN } satisfies Stream],
    });
    await ensureStreams(client, { taskQueue: TASK_QUEUE, sinks: SINK_KINDS, settings: SETTINGS });
    // A second start changes nothing.
    await ensureStreams(client, { taskQueue: TASK_QUEUE, sinks: SINK_KINDS, settings: SETTINGS });
    await append(7);
    for (const kind of SINK_KINDS) {
      await arrived(kind);
      complete(kind);
    }
    expect(receivers.splunk).toMatchObject({
      path: '/services/collector',
      headers: { authorization: 'Splunk splunk-token' },
    });
    expect(receivers.datadog.headers['dd-api-key']).toBe('datadog-key');
    expect(receivers.generic.headers.authorization).toBe('Bearer generic-bearer');
    expect(receivers.generic.confirmed[0]).toMatchObject({
      contract: 'gate.egress-event/v1',
      seq: 1,
      event_kind: 'proxy.verdict',
      tenant: 'acme',
    });
  }, 180_000);

  it('a sink that dies in the middle of a request gets those rows again, the others wait for nothing', async () => {
    const { splunk, datadog, generic } = receivers;
    splunk.answer = () => 'cut';
    await append(45);
    await until(
      'a request was cut',
      () => Promise.resolve(splunk.unanswered.length),
      (length) => length > 0,
      120_000,
    );
    await splunk.kill();
    await arrived('datadog');
    await arrived('generic');
    expect(splunk.ids).toHaveLength(57);
    expect((await progressOf('splunk')).cursor).toBe(57);
    splunk.answer = () => 200;
    await splunk.start();
    await arrived('splunk');
    for (const kind of SINK_KINDS) complete(kind);
    // What got no answer was not confirmed, so it was sent again.
    expect(splunk.ids).toEqual(expect.arrayContaining(splunk.unanswered));
    expect([datadog.unanswered, generic.unanswered]).toEqual([[], []]);
  }, 180_000);

  it('a row that is rejected holds its own sink right before it, and nothing else', async () => {
    const bad = randomUUID();
    receivers.generic.answer = (batch) => (batch.some(({ id }) => id === bad) ? 422 : 200);
    const before = await append(33);
    await append(1, bad);
    await append(30);
    await arrived('splunk');
    await arrived('datadog');
    const badSeq = expected.indexOf(bad) + 1;
    const held = await until(
      'the stream stands before the row',
      () => progressOf('generic'),
      ({ cursor, failures }) => cursor === badSeq - 1 && failures > 0,
      120_000,
    );
    expect(held.last_error).toBe(`the receiver answered 422 to entry ${badSeq}`);
    expect(receivers.generic.ids).toEqual(expect.arrayContaining(before));
    expect(receivers.generic.ids).not.toContain(bad);
    receivers.generic.answer = () => 200;
    await arrived('generic');
    for (const kind of SINK_KINDS) complete(kind);
  }, 180_000);

  it('a worker that is killed in the middle loses no row', async () => {
    // Each one is waited for until the engine misses its heartbeats.
    for (let round = 0; round < timesOf(1, 2); round += 1) {
      await append(60);
      await until(
        'something arrived',
        () => Promise.resolve(receivers.generic.ids.length),
        (length) => length > expected.length - 60,
        120_000,
      );
      await killWorker();
      startWorker();
    }
    for (const kind of SINK_KINDS) {
      await arrived(kind);
      complete(kind);
    }
  }, 240_000);

  it('goes on in runs of its own, so that no history grows for ever', async () => {
    const handle = client.workflow.getHandle(streamIdOf('generic'));
    const { runId } = await handle.describe();
    await append(SETTINGS.batch_size * (ATTEMPTS_PER_RUN + 5));
    await until(
      'another run',
      () => handle.describe(),
      (run) => run.runId !== runId,
      180_000,
    );
    await arrived('generic');
    complete('generic');
    expect((await handle.describe()).historyLength).toBeLessThan(ATTEMPTS_PER_RUN * 12);
  }, 240_000);
});
