import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type KeyRing, keysOf } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import type { StoreTarget } from '../store/database.js';
import { answerCalls, bytesOf, callsOver, streamOf, type ThreadCalls } from '../thread-calls.js';
import { compiledScript } from '../threads.js';
import type { ColdPlace } from './cold-tier/cold-place.js';
import type { Derived, EvidenceLedger } from './derived.js';
import type { Bundle } from './regulatory/bundle.js';
import type { ChosenCorpus } from './reports/corpus.js';

/** What the thread is started with. */
export interface DerivedThreadInput {
  readonly target: StoreTarget;
  readonly keys: readonly (readonly [string, Uint8Array])[];
  readonly coldPlace: ColdPlace | null;
  readonly legalHold: boolean;
  /** Where bundles are signed by the ledger's side; nobody signs otherwise. */
  readonly signs: boolean;
  /** Over it the thread asks the ledger. */
  readonly ledger: MessagePort;
}

export interface DerivedThreadOptions {
  readonly target: StoreTarget;
  readonly sidecarKeys: KeyRing;
  readonly coldPlace: ColdPlace | undefined;
  readonly legalHold: boolean;
}

const gone = (why: string): GateError => new GateError('ledger_store_unavailable', `the thread of the reports ${why}`);

/**
 * Everything that reads many rows, in one thread with a connection of its own. It is started for the first question, and anew for the next
 * one after it failed; what it was asked then is `ledger_store_unavailable`, and asking again is safe.
 */
export function derivedInThread(
  { target, sidecarKeys, coldPlace, legalHold }: DerivedThreadOptions,
  ledger: EvidenceLedger,
): Derived & { close(): Promise<void> } {
  const { signer, ...asked } = ledger;
  let running: { readonly worker: Worker; readonly calls: ThreadCalls } | null = null;
  let closed = false;

  function start(): ThreadCalls {
    const { port1, port2 } = new MessageChannel();
    answerCalls(port1, { ...asked, ...(signer && { sign: signer.sign.bind(signer) }) });
    const workerData: DerivedThreadInput = {
      target,
      keys: [...keysOf(sidecarKeys)],
      coldPlace: coldPlace ?? null,
      legalHold,
      signs: signer !== null,
      ledger: port2,
    };
    const worker = new Worker(compiledScript(new URL('./derived-thread.js', import.meta.url)), {
      workerData,
      transferList: [port2],
    });
    // An idle thread keeps no process alive.
    worker.unref();
    port1.unref();
    const calls = callsOver(worker);
    const lost = (why: string) => {
      calls.refuseAll(gone(why));
      port1.close();
      if (running?.worker === worker) running = null;
    };
    worker.on('error', (error) => lost(`failed: ${error.message}`));
    worker.on('exit', () => lost('ended'));
    running = { worker, calls };
    return calls;
  }

  const call = async (path: string, ...args: readonly unknown[]): Promise<unknown> => {
    if (closed) throw gone('is being stopped');
    return (running?.calls ?? start()).call(path, ...args);
  };
  /** Functions of one part, each asked over there under its own name. */
  const part = <Part extends object>(name: string, members: readonly (keyof Part & string)[]): Part =>
    Object.fromEntries(
      members.map((member) => [member, (...args: readonly unknown[]) => call(`${name}.${member}`, ...args)]),
    ) as Part;

  return {
    activeAgents: part('activeAgents', ['invoice', 'adjust']),
    coldTier: {
      ...part<Derived['coldTier']>('coldTier', [
        'export',
        'exports',
        'table',
        'overlapping',
        'parquet',
        'copiedThrough',
      ]),
      copyCheck() {
        const check = call('coldTier.copyCheck') as Promise<(seqFrom: number, seqTo: number) => Promise<void>>;
        return async (seqFrom, seqTo) => (await check)(seqFrom, seqTo);
      },
    },
    complianceEvidence: (window) => call('complianceEvidence', window) as ReturnType<Derived['complianceEvidence']>,
    async exportRegulatory(request) {
      type Sent = Omit<Bundle, 'stream'> & { stream(): Promise<unknown> };
      const bundle = (await call('exportRegulatory', request)) as Sent;
      return { ...bundle, stream: () => bytesOf(bundle.stream()) };
    },
    reports: {
      ...part<Derived['reports']>('reports', [
        'narrative',
        'hunt',
        'behavioralBaseline',
        'fleetBehavioralDiff',
        'driftedAgents',
        'envelopeRecommendations',
        'modelUpgradeCanary',
        'silentAgents',
        'spend',
      ]),
      replayCorpus: (filter, query) => call('reports.replayCorpus', filter, query) as Promise<ChosenCorpus>,
    },
    tenantLifecycle: {
      ...part<Derived['tenantLifecycle']>('tenantLifecycle', ['step']),
      artifact: (sha256) => streamOf<Uint8Array>(call('tenantLifecycle.artifact', sha256)),
    },
    watchdogs: part('watchdogs', ['silence', 'drift']),
    async close() {
      closed = true;
      await running?.worker.terminate();
    },
  };
}
