import { Readable } from 'node:stream';
import { MessageChannel, Worker } from 'node:worker_threads';
import { type KeyRing, keysOf } from '../../domain/crypto/key-ring.js';
import { askToEnd, endedWithin, endFlag } from '../threads/end-thread.js';
import { GateError } from '../../domain/errors.js';
import type { StoreTarget } from '../store/database.js';
import { answerCalls, callsOver, type ThreadCalls, type ThreadStream } from '../threads/thread-calls.js';
import { compiledScript } from '../threads/threads.js';
import type { ColdPlace } from './cold-tier/cold-place.js';
import type { Derived, EvidenceLedger } from './derived.js';
import type { DerivedThreadInput, SharedTime } from './derived-thread-input.js';
import { REPORT_HEAP_MB } from './heap-room.js';
import type { Bundle } from './regulatory/bundle.js';

export interface DerivedThreadOptions {
  readonly target: StoreTarget;
  /** A file that somebody else alone writes: it must be there, and be migrated. What would write to it fails. */
  readonly readOnly?: boolean;
  readonly sidecarKeys: KeyRing;
  readonly coldPlace: ColdPlace | undefined;
  readonly legalHold: boolean;
  readonly scratch?: string | undefined;
  readonly time?: SharedTime | undefined;
  /** What the thread may hold, in megabytes. */
  readonly heapMb?: number | undefined;
}

/** A bundle as the thread sends it. */
export interface SentBundle extends Omit<Bundle, 'stream' | 'discard'> {
  readonly bytes: ThreadStream<Uint8Array>;
}

const END_LIMIT_MS = 4_000;
const gone = (why: string): GateError => new GateError('ledger_store_unavailable', `the thread of the reports ${why}`);

/**
 * Runs everything that reads many rows in one thread with its own connection. The thread starts with the first question. When it fails,
 * open questions get `ledger_store_unavailable`, and the next question starts a new thread; asking again is safe. A question whose answer would
 * take more memory than the thread may have is `report_too_large`, and the ledger goes on.
 */
export function derivedInThread(
  {
    target,
    readOnly = false,
    sidecarKeys,
    coldPlace,
    legalHold,
    scratch,
    time,
    heapMb = REPORT_HEAP_MB,
  }: DerivedThreadOptions,
  ledger: EvidenceLedger,
): Derived & { close(): Promise<void> } {
  const { signer, ...asked } = ledger;
  let running: { readonly worker: Worker; readonly calls: ThreadCalls } | null = null;
  const ending = endFlag();
  let closed = false;

  function start(): ThreadCalls {
    const { port1, port2 } = new MessageChannel();
    answerCalls(port1, { ...asked, ...(signer && { sign: signer.sign.bind(signer) }) });
    const workerData: DerivedThreadInput = {
      target,
      readOnly,
      keys: [...keysOf(sidecarKeys)],
      coldPlace: coldPlace ?? null,
      legalHold,
      signs: signer !== null,
      ending,
      scratch,
      time: time ?? null,
      ledger: port2,
    };
    const worker = new Worker(compiledScript(new URL('./derived-thread.js', import.meta.url)), {
      workerData,
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    // An idle thread must not keep the process alive.
    worker.unref();
    port1.unref();
    const calls = callsOver(worker);
    const lost = (why: GateError) => {
      calls.refuseAll(why);
      port1.close();
      if (running?.worker === worker) running = null;
    };
    worker.on('error', (error: NodeJS.ErrnoException) =>
      lost(
        error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? new GateError('report_too_large')
          : gone(`failed: ${error.message}`),
      ),
    );
    worker.on('exit', () => lost(gone('ended')));
    running = { worker, calls };
    return calls;
  }

  const call = async (path: string, ...args: readonly unknown[]): Promise<unknown> => {
    if (closed) throw gone('is being stopped');
    return (running?.calls ?? start()).call(path, ...args);
  };
  /** A proxy for one part: each function calls its namesake in the thread. `members` must list all of them for the compiler. */
  const part = <Part extends object>(name: string, members: Readonly<Record<keyof Part & string, true>>): Part =>
    Object.fromEntries(
      Object.keys(members).map((member) => [
        member,
        (...args: readonly unknown[]) => call(`${name}.${member}`, ...args),
      ]),
    ) as Part;

  return {
    activeAgents: part<Derived['activeAgents']>('activeAgents', { invoice: true, adjust: true }),
    caseEvidence: (subjects) => call('caseEvidence', subjects) as ReturnType<Derived['caseEvidence']>,
    coldTier: part<Derived['coldTier']>('coldTier', {
      export: true,
      exports: true,
      table: true,
      overlapping: true,
      parquet: true,
    }),
    complianceEvidence: (window) => call('complianceEvidence', window) as ReturnType<Derived['complianceEvidence']>,
    async exportRegulatory(request) {
      const { bytes, ...bundle } = (await call('exportRegulatory', request)) as SentBundle;
      return {
        ...bundle,
        // `Readable.from` also ends `bytes` when the reader leaves before the first piece, which deletes the temporary files.
        stream: () => Readable.from(bytes, { objectMode: false }),
        discard: async () => void (await bytes.return()),
      };
    },
    reports: part<Derived['reports']>('reports', {
      narrative: true,
      hunt: true,
      replayCorpus: true,
      replayPage: true,
      decidedPage: true,
      behavioralBaseline: true,
      fleetBehavioralDiff: true,
      driftedAgents: true,
      agentActivity: true,
      envelopeRecommendations: true,
      modelUpgradeCanary: true,
      silentAgents: true,
      spend: true,
    }),
    tenantLifecycle: {
      ...part<Pick<Derived['tenantLifecycle'], 'step' | 'receipts'>>('tenantLifecycle', { step: true, receipts: true }),
      async *artifact(sha256) {
        yield* (await call('tenantLifecycle.artifact', sha256)) as ThreadStream<Uint8Array>;
      },
    },
    watchdogs: part<Derived['watchdogs']>('watchdogs', { silence: true, drift: true }),
    async close() {
      closed = true;
      if (!running) return;
      const { calls, worker } = running;
      askToEnd(ending);
      calls.call('end').catch(() => undefined);
      // The thread ends after its current statement; do not wait for a very long one.
      await endedWithin(END_LIMIT_MS, [worker]);
    },
  };
}
