import type { FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { bearerOf } from '../api/plugins/bearer.js';
import type { Caller, Service, ServiceApp } from '../api/plugins/service.js';
import { CALLER_IDS } from '../contracts/route-authority.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import { GateError } from '../domain/errors.js';
import type { LedgerInFile } from '../adapters/ledger/ledger-in-file.js';
import type { LedgerTables } from '../domain/ledger/tables.js';
import type { AnchorTables } from '../adapters/ledger/anchors/anchors.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import type { Access } from './access.js';

export interface LedgerRoutesOptions {
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  readonly access: Access;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly headers: Readonly<Record<string, string>>;
  readonly now: () => number;
}

/** What of the ledger's service is reached under lite's address. */
const PATHS = ['/agents', '/audit/*', '/verify'] as const;

/** What the service would have under these paths, and lite does not: reports, each a command over the file where there is one. */
const ABSENT = {
  '/audit/agents/:agent_id/narrative': 'Lite has this as a command: gate narrative <agent> --ledger FILE.',
  '/audit/hunt': 'Lite has no hunts; its file opens in the full edition, which has.',
  '/audit/replay/corpus': 'Lite has no corpus; gate replay <correlation id> judges one call again.',
} as const;

const NOBODY =
  "The bearer token is missing or wrong. An operator's reads the ledger; an agent's checks the chain (GET /verify) and nothing more.";

/**
 * The ledger's reads in lite: its service, in this process and without a listener of its own, so that requests are checked, refused and
 * answered by the code of the full edition. It is loaded by the first request that asks for it.
 */
export function ledgerRoutes(app: ServiceApp, options: LedgerRoutesOptions): void {
  const { access } = options;
  let opened: Promise<Service> | undefined;
  app.addHook('onClose', async () => (await opened)?.close());
  // The service would call for a certificate, and leave what is public to everybody: behind it nobody comes without one.
  const knownOnly = (request: FastifyRequest) => {
    if (callerOf(access, request) === null) throw new GateError('unauthenticated', NOBODY);
  };
  for (const [path, words] of Object.entries(ABSENT))
    app.get(path, (request) => {
      knownOnly(request);
      throw new GateError('not_found', words);
    });
  for (const path of PATHS)
    app.get(path, {
      // Before anything of the request is read: the service reads all of it.
      async onRequest(request, reply) {
        knownOnly(request);
        opened ??= open(options).catch((error: unknown) => {
          // The next request tries again.
          opened = undefined;
          throw error;
        });
        const { app: service } = await opened;
        reply.hijack();
        service.routing(request.raw, reply.raw);
      },
      handler: () => {
        throw new Error('the service of the ledger answers');
      },
    });
}

/** To be called when there is time for it: a load that fails, because no descriptor is left, fails in this process for good. */
export const loadLedgerReads = () =>
  Promise.all([
    import('../api/ledger/reads.js'),
    import('../adapters/ledger/anchors/anchors.js'),
    import('../adapters/ledger/assurance/assurance.js'),
    import('../domain/ledger/chain.js'),
  ]);

async function open({ file, ledger, access, now, ...options }: LedgerRoutesOptions): Promise<Service> {
  const [{ createLedgerReads }, { createAnchors }, { createAssurance }, { EMPTY_CHAIN }] = await loadLedgerReads();
  const { db } = file.store<LedgerTables & AnchorTables>();
  const anchors = createAnchors({
    db: db as unknown as Kysely<AnchorTables & LedgerTables>,
    async head() {
      const [newest] = await ledger.newest(1);
      return newest ? { length: newest.seq, hash: newest.entry_hash } : EMPTY_CHAIN;
    },
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
  /** No row is told of before it is on disk. */
  async function* durable(pages: AsyncGenerator<LedgerEntry[]>): AsyncGenerator<LedgerEntry[]> {
    for await (const page of pages) {
      await file.durable();
      yield page;
    }
  }
  const service = createLedgerReads({
    ...options,
    trustDomain: 'gate.local',
    now,
    resolveCaller: (request) => callerOf(access, request),
    ledger: {
      ...ledger,
      ...assurance,
      pages: (filter) => durable(ledger.pages(filter)),
      agentPages: (agentId, query) => durable(ledger.agentPages(agentId, query)),
    },
  });
  service.app.addHook('onSend', async (_request, _reply, payload) => {
    await file.durable();
    return payload;
  });
  await service.app.ready();
  return service;
}

/**
 * An operator is to the ledger what the console is, and an agent is an agent. The console is trusted to name the tenant it asks for; an
 * operator of one tenant is not, stands in no row of the table, and reaches what is public.
 */
function callerOf(access: Access, request: FastifyRequest): Caller | null {
  const operator = access.operatorByToken(bearerOf(request) ?? '');
  if (operator === null) return access.agentOf(request);
  const { credential } = operator.principal('');
  return {
    kind: 'service',
    spiffe: 'spiffe://gate.local/service/console',
    callerId: operator.tenant === null ? CALLER_IDS.console : 'operator-of-one-tenant',
    fingerprint: credential.slice(credential.lastIndexOf(':') + 1),
  };
}
