import { Readable } from 'node:stream';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createLedgerService, type LedgerServiceOptions } from '../../api/ledger/app.js';
import type { Caller } from '../../api/plugins/app.js';
import type { Over } from '../../api/plugins/declaration.js';
import { type EvidencedLedger, type LikeProductOptions, openLikeProduct } from './evidenced-ledger.js';
import { ledgerPlace, type STORES, type TestLedgerPlace } from './ledger.js';

export interface LedgerAnswer<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Body;
  readonly bytes: Buffer;
}

export interface TestLedgerService {
  readonly place: TestLedgerPlace;
  readonly ledger: EvidencedLedger;
  readonly registry: Registry;
  /** One request as the named workload, the console unless said otherwise; an object is sent as JSON. */
  call<Body = Record<string, unknown>>(
    request: string,
    body?: unknown,
    options?: { readonly as?: string | null; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<LedgerAnswer<Body>>;
  close(): Promise<void>;
}

/** The ledger's routes over a real store, called without a port; what reads many rows runs in its thread, as in the product. */
export async function ledgerService(
  kind: (typeof STORES)[number],
  {
    ledger: ledgerOptions = {},
    service: serviceOptions = {},
  }: { ledger?: Partial<LikeProductOptions>; service?: Partial<LedgerServiceOptions> } = {},
): Promise<TestLedgerService> {
  const place = await ledgerPlace(kind);
  const { ledger, tick } = await openLikeProduct({ target: place.target, sidecarKeys: place.keys, ...ledgerOptions });
  const registry = new Registry();
  const service = createLedgerService({
    ledger,
    evidence: ledger,
    logger: pino({ level: 'silent' }),
    registry,
    trustDomain: 'gate.local',
    resolveCaller(request): Caller | null {
      const callerId = request.headers['x-test-caller'];
      if (typeof callerId !== 'string' || callerId === '') return null;
      return { kind: 'service', callerId, spiffe: 'spiffe://gate.local/service/test', fingerprint: 'ab'.repeat(32) };
    },
    ...serviceOptions,
  });
  return {
    place,
    ledger,
    registry,
    async call<Body>(
      request: string,
      body?: unknown,
      { as = 'service-console', headers = {} }: { as?: string | null; headers?: Readonly<Record<string, string>> } = {},
    ): Promise<LedgerAnswer<Body>> {
      tick();
      const [method, url] = request.split(' ') as ['GET' | 'POST' | 'DELETE', string];
      const response = await service.app.inject({
        method,
        url,
        headers: {
          'x-test-caller': as ?? '',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const json = String(response.headers['content-type']).includes('json');
      return {
        status: response.statusCode,
        headers: response.headers,
        body: (json ? response.json() : response.body) as Body,
        bytes: response.rawPayload,
      };
    },
    async close() {
      await service.close();
      await ledger.close();
      await place.remove();
    },
  };
}

/** The ledger as the console reaches it, without a socket. */
export const overLedger = (of: TestLedgerService): Over => {
  const asked = (url: string, { method = 'GET', headers, body }: Parameters<Over['fetch']['stream']>[1]) => {
    const { pathname, search } = new URL(url);
    return of.call(`${method} ${pathname}${search}`, body, { ...(headers && { headers }) });
  };
  return {
    url: 'https://ledger.test',
    fetch: Object.assign(
      async (...[url, how]: Parameters<Over['fetch']>) => {
        const { status, bytes } = await asked(url, how as never);
        return { status, text: () => Promise.resolve(bytes.toString()) };
      },
      {
        async stream(...[url, how]: Parameters<Over['fetch']['stream']>) {
          const { status, bytes } = await asked(url, how);
          return { status, body: Readable.from([bytes]), text: () => Promise.resolve(bytes.toString()) };
        },
      },
    ) as Over['fetch'],
  };
};
