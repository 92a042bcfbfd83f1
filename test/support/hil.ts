import { generateKeyPairSync } from 'node:crypto';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { hilService, type HilTestOptions } from './hil-service.js';
import type { Service } from '../../api/plugins/service.js';
import type { Modification, NewReview, PendingRequest, SettledReview } from '../../contracts/review.js';
import { isPerson } from '../../domain/decision/deciders.js';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerPlace, type STORES, type TestLedgerPlace } from './ledger.js';
import { openReviewStore, type WholeReviews } from './whole-reviews.js';

export const T0 = Date.parse('2026-11-02T10:00:00.000Z');
export const OPERATOR = 'dev-token-0123456789abcdefghijklmnop';
export const OTHER_OPERATOR = 'glx-token-0123456789abcdefghijklmnop';

export interface HilAsk {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The service that asks; `null` for a caller without a certificate. */
  readonly as?: string | null;
  readonly tenant?: string | null;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export interface HilAnswer {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** What a browser sends of the answer's cookies from then on. */
  readonly cookie: string;
}

/** Without those that the answer takes away. */
const sentBack = (set: string | readonly string[] = []): string =>
  [set]
    .flat()
    .map((each) => each.split(';')[0] ?? '')
    .filter((each) => !each.endsWith('='))
    .join('; ');

/** The challenge of an answer with which a ceremony begins. */
export const challengeIn = ({ body }: HilAnswer): string =>
  (body['publicKey'] as { challenge?: string } | undefined)?.challenge ?? 'none';

/** HIL over a store of its own, whose clock the test sets; callers say who they are. */
export interface HilFixture {
  readonly reviews: WholeReviews;
  readonly service: Service;
  readonly place: TestLedgerPlace;
  /** What the clocks of store and service show. */
  now: number;
  ask(url: string, asked?: HilAsk): Promise<HilAnswer>;
  /** Parks a call with the number `n`, a second after the one before it. */
  park(n: number, over?: Partial<NewReview>): Promise<PendingRequest>;
  settle(
    row: PendingRequest,
    over?: { by?: string; status?: SettledReview['status']; at?: number; modification?: Modification },
  ): Promise<void>;
  /** Serves the same rows in another way. */
  serve(over: Partial<HilTestOptions>): Promise<void>;
  close(): Promise<void>;
}

export async function openHil(kind: (typeof STORES)[number], over: Partial<HilTestOptions> = {}): Promise<HilFixture> {
  const place = await ledgerPlace(kind, { migrated: hilMigrations });
  const clock = () => fixture.now;
  const reviews = await openReviewStore({
    target: place.target,
    payloadKeys: place.keys,
    clock,
    quorum: over.quorum ?? { strict: 2, risky: 1, destructive: 1 },
  });
  const serviceOf = (more: Partial<HilTestOptions>): Service =>
    hilService({
      reviews,
      sender: { decide: () => Promise.reject(new Error('nothing is decided here')) },
      starter: { start: () => Promise.reject(new Error('nothing is asked for here')) },
      decisionKey: generateKeyPairSync('ed25519').privateKey,
      sessionKey: Buffer.alloc(32, 7),
      operators: [
        { name: 'dev', tenant: 'acme', token: OPERATOR },
        { name: 'glx', tenant: 'globex', token: OTHER_OPERATOR },
      ],
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      trustDomain: 'gate.local',
      simulatorTenant: 'acme',
      clock,
      resolveCaller: ({ headers: { 'x-test-caller': name } }) =>
        typeof name === 'string'
          ? {
              kind: 'service',
              spiffe: `spiffe://gate.local/service/${name}`,
              callerId: `service-${name}`,
              fingerprint: 'cd'.repeat(32),
            }
          : null,
      ...over,
      ...more,
    });
  let service = serviceOf({});
  const fixture: HilFixture = {
    reviews,
    get service() {
      return service;
    },
    place,
    now: T0,
    async ask(url, { method = 'GET', as = 'console', tenant = 'acme', token, headers, body } = {}) {
      const answer = await service.app.inject({
        method,
        url,
        headers: {
          ...(as !== null && { 'x-test-caller': as }),
          ...(tenant !== null && { 'x-gate-tenant-scope': tenant }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body !== undefined && { payload: body as object }),
      });
      return {
        status: answer.statusCode,
        text: answer.body,
        body: JSON.parse(answer.body || '{}') as Record<string, unknown>,
        cookie: sentBack(answer.headers['set-cookie']),
      };
    },
    async park(n, change = {}) {
      const { row } = await reviews.createOnce({
        agent_id: 'payments-agent',
        correlation_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        method: 'tools/call',
        request_payload: {
          method: 'tools/call',
          params: { name: 'wire_transfer', arguments: { amount: n, to: 'IBAN-9999-SECRET-VALUE' } },
        },
        risk_summary: 'money movement',
        state_namespace: 'operator',
        ttl_seconds: 600,
        created_at: new Date(T0 + n * 1_000).toISOString(),
        review_reasons: ['money movement'],
        approval_tier: 'standard',
        tenant: 'acme',
        ...change,
      });
      return row;
    },
    async settle(row, { by = 'operator:dev', status = 'approved', at = fixture.now, modification } = {}) {
      await reviews.settle({
        pending_id: row.id,
        status,
        decided_at: new Date(at).toISOString(),
        decided_by: by,
        decision_reason: null,
        decided_via: isPerson(by) ? 'console' : by,
        principal: null,
        ...(modification && { modification }),
      });
    },
    async serve(more) {
      await service.close();
      service = serviceOf(more);
    },
    async close() {
      await service.close();
      await reviews.close();
      await place.remove();
    },
  };
  return fixture;
}
