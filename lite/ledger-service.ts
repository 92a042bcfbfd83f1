import type { KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type AnchorTables, createAnchors } from '../adapters/ledger/anchors/anchors.js';
import { createAssurance } from '../adapters/ledger/assurance/assurance.js';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import { createLedgerReads } from '../api/ledger/reads.js';
import type { Caller, ServiceApp } from '../api/plugins/service.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { type ChainHead, EMPTY_CHAIN } from '../domain/ledger/chain.js';
import type { LedgerTables } from '../domain/ledger/tables.js';
import { ownConsole } from './console-caller.js';
import { liteEvidence } from './ledger-evidence.js';
import { liteTransparency } from './ledger-transparency.js';

export interface LedgerServiceOptions {
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  readonly sidecarKeys: KeyRing;
  readonly checkpointKey: KeyObject;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly headers: Readonly<Record<string, string>>;
  readonly resolveCaller: (request: FastifyRequest) => Caller | null;
  readonly now: () => number;
}

export interface LiteLedgerService {
  /** For requests of lite's own listener. */
  readonly app: ServiceApp;
  /** For the console of this process. */
  readonly forConsole: ServiceApp;
  /** Ends streams and accepts no more requests. Requests in progress are finished. */
  stop(): Promise<void>;
  /** Ends the rest. */
  close(): Promise<void>;
}

/** The ledger's service over lite's file, without a listener: its requests come from lite's own, and from the console of this process. */
export async function openLedgerService({
  file,
  ledger,
  sidecarKeys,
  checkpointKey,
  ...options
}: LedgerServiceOptions): Promise<LiteLedgerService> {
  const { now } = options;
  const { db } = file.store<LedgerTables & AnchorTables>();
  /** The newest row that can no longer be undone. */
  async function head(): Promise<ChainHead> {
    const onDisk = file.durableFromHere();
    const [newest] = await ledger.newest(1);
    await onDisk();
    return newest ? { length: newest.seq, hash: newest.entry_hash } : EMPTY_CHAIN;
  }
  const anchors = createAnchors({
    db: db as unknown as Kysely<AnchorTables & LedgerTables>,
    head,
    append: ledger.append,
    trust: null,
    timeStampsRequired: false,
    clock: now,
  });
  const assurance = createAssurance({
    db: db as unknown as Kysely<LedgerTables>,
    verifier: ledger,
    keySet: null,
    requireCryptography: false,
    anchors,
    clock: now,
  });
  const { evidence, tick, close } = await liteEvidence({ file, ledger, assurance, head, sidecarKeys, now });
  /** Listeners are told of a row only once it is on disk. */
  async function* durable(pages: AsyncGenerator<LedgerEntry[]>): AsyncGenerator<LedgerEntry[]> {
    for await (const page of pages) {
      await file.durable();
      yield page;
    }
  }
  const parts = {
    ...options,
    trustDomain: 'gate.local',
    evidence,
    verifier: assurance,
    transparency: liteTransparency({ file, ledger, checkpointKey, now }),
    // Listeners read after the commit.
    writer: { observe: (listener: () => void) => file.beforeCommit(listener) },
    reader: {
      ...ledger,
      head,
      pages: (filter: Parameters<typeof ledger.pages>[0]) => durable(ledger.pages(filter)),
      agentPages: (...asked: Parameters<typeof ledger.agentPages>) => durable(ledger.agentPages(...asked)),
    },
  };
  const openFor = async (resolveCaller: LedgerServiceOptions['resolveCaller']) => {
    const service = createLedgerReads({ ...parts, resolveCaller });
    service.app.addHook('onRequest', (_request, _reply, done) => {
      tick();
      done();
    });
    service.app.addHook('onSend', async (_request, _reply, payload) => {
      await file.durable();
      return payload;
    });
    await service.app.ready();
    // Opening runs in its own turn of the event loop.
    await setImmediate();
    return service;
  };
  const [own, forConsole] = [await openFor(options.resolveCaller), await openFor(() => ownConsole)];
  return {
    app: own.app,
    forConsole: forConsole.app,
    stop: async () => void (await Promise.all([own.close(), forConsole.close()])),
    close,
  };
}
