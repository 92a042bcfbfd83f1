import { generateKeyPairSync } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import pino from 'pino';
import { Registry } from 'prom-client';
// Loaded here, because Jest cannot link modules that several imports ask for at once.
import '../../adapters/evidence/derived.js';
import '../../lite/ledger-service.js';
import { ledgerInFile, type LedgerInFile } from '../../adapters/ledger/ledger-in-file.js';
import { type LocalFile, openLocalFile } from '../../adapters/store/local-file.js';
import { createAccess } from '../../lite/access.js';
import { ledgerRoutes, type LedgerRoutesOptions } from '../../lite/ledger-routes.js';
import { liteMigrations } from '../../lite/migrations.js';
import { testKeys } from './ledger.js';

const TOKEN = 'operator-token-0123456789-0123456789';

/** Lite's file and the routes of the ledger over it, without the rest of lite. */
export interface TestLiteLedger {
  readonly file: LocalFile;
  readonly ledger: LedgerInFile;
  readonly app: FastifyInstance;
  readonly port: number;
  /** What an operator shows. */
  readonly headers: { readonly authorization: string };
  /** Asks as an operator. */
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  close(): Promise<void>;
}

export type LiteLedgerKeys = Pick<LedgerRoutesOptions, 'sidecarKeys' | 'checkpointKey'>;
export const newKeys = (): LiteLedgerKeys => ({
  sidecarKeys: testKeys(),
  checkpointKey: generateKeyPairSync('ed25519').privateKey,
});

/** `around` puts itself between the routes and what they are given. */
export async function liteLedger(
  at: string,
  {
    now = Date.now,
    keys = newKeys(),
    around = () => ({}),
  }: {
    readonly now?: () => number;
    readonly keys?: LiteLedgerKeys;
    readonly around?: (given: { file: LocalFile; ledger: LedgerInFile }) => Partial<LedgerRoutesOptions>;
  } = {},
): Promise<TestLiteLedger> {
  const { sidecarKeys } = keys;
  const file = await openLocalFile({ file: at, migrations: liteMigrations });
  const ledger = ledgerInFile(file, { sidecarKeys, clock: now });
  const app = Fastify();
  ledgerRoutes(app as never, {
    file,
    ledger,
    ...keys,
    access: createAccess({ token: undefined, agents: undefined, deciders: undefined }, TOKEN, 'key'),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    headers: {},
    now,
    ...around({ file, ledger }),
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${TOKEN}` };
  return {
    file,
    ledger,
    app,
    port: Number(new URL(app.listeningOrigin).port),
    headers,
    ask: (path, more = {}) => fetch(`${app.listeningOrigin}${path}`, { headers: { ...headers, ...more } }),
    async close() {
      await app.close();
      await file.close();
    },
  };
}
