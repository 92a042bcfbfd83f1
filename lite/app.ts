import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { registerProbes } from '../api/plugins/health.js';
import type { ServiceApp } from '../api/plugins/service.js';
import { toolRoutes } from '../api/proxy/routes/tools.js';
import { namedTenant } from '../api/hil/scope.js';
import { createProxyService, type ProxyOptions } from '../api/proxy/app.js';
import type { Mode } from '../contracts/call.js';
import { decideRequest, reviewOrder, reviewStatus, type PendingRequest } from '../contracts/review.js';
import { isFinal } from '../domain/call-record/transitions.js';
import { isGatesOwn } from '../domain/own-names.js';
import { GateError } from '../domain/errors.js';
import type { LedgerInFile } from '../domain/ledger/ledger-in-file.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import type { Decision } from '../domain/review/decisions.js';
import type { ReviewStore } from '../domain/review/review-store.js';
import type { Operator } from '../domain/operator.js';
import type { ToolClassing } from '../domain/tool-classes/tool-classes.js';
import { DEFAULT_TENANT, type Access, type LiteOperator } from './access.js';
import { isAllowedAddress } from './hosts.js';
import { registerPage } from './page.js';
import { LINK_LIFE_MS, type SignInLinks } from './sign-in-links.js';

export interface LiteAppOptions {
  readonly logger: Logger;
  readonly registry: Registry;
  readonly mode: Mode;
  readonly access: Access;
  readonly links: SignInLinks;
  readonly reviews: ReviewStore;
  readonly ledger: LedgerInFile;
  readonly policies: Pick<PolicySet, 'ready'>;
  readonly decide: (decision: Decision) => Promise<PendingRequest>;
  /** Resolves when what was done so far is on disk; rejects when it was undone. */
  readonly durable: () => Promise<void>;
  readonly allowedHosts: readonly string[];
  readonly loopback: boolean;
  readonly classing: ToolClassing;
  readonly proxy: Omit<
    ProxyOptions,
    'logger' | 'registry' | 'trustDomain' | 'tls' | 'resolveCaller' | 'readiness' | 'mode'
  >;
  readonly now: () => number;
}

const LIST_LIMIT = 500;
const PAGE_ROWS = 50;
const ListQuery = z.object({
  status: z.union([reviewStatus, z.enum(['parked', 'decided', 'all'])]).default('parked'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .default(50)
    .transform((limit) => Math.min(limit, LIST_LIMIT)),
  sort: reviewOrder.optional(),
  /** Goes on behind that row. */
  before: z.uuid().optional(),
  /** One row, by its own id or its call's; whatever its status. */
  id: z.uuid().optional(),
});
const ById = z.object({ id: z.uuid() });
const LiteDecide = z.strictObject({ decision: z.enum(['allow', 'deny']), note: z.string().max(1000).nullish() });

/**
 * The whole of lite on one plain listener: the proxy's own routes, the operator's, the probes and the page
 * (docs/architecture/lite.md).
 */
export function createLiteApp(options: LiteAppOptions): ServiceApp {
  const { access, reviews, ledger, mode } = options;
  const { app } = createProxyService({
    ...options.proxy,
    mode,
    logger: options.logger,
    registry: options.registry,
    trustDomain: 'gate.local',
    resolveCaller: access.agentOf,
    // In lite an id names a parked call whether it is the call's or its review's.
    lookUp: async (id) => {
      const found = await options.proxy.calls.find(id);
      if (found) return found;
      const row = z.uuid().safeParse(id).success ? await reviews.get(id) : null;
      return row && options.proxy.calls.find(row.correlation_id);
    },
    pendingPaths: ['/pending/:correlation_id', '/pending/by-correlation/:correlation_id'],
  });

  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('X-Gate-Mode', mode);
    done(isAllowedAddress(request, options) ? undefined : new GateError('host_not_allowed'));
  });
  // No answer leaves before what it says is on disk: the one place where requests wait for the shared sync.
  app.addHook('onSend', async (_request, _reply, payload) => {
    await options.durable();
    return payload;
  });

  // The process is up whatever its file is like; the answer says which.
  app.get('/health', () => ({ status: 'ok', mode, ledger: ledgerState() }));
  registerProbes(
    app as never,
    options.registry,
    { ledger: () => ledger.ready(), calls: () => options.proxy.calls.ready(), policy: () => options.policies.ready() },
    // Agents share this listener: that something is not well is everybody's to know, what exactly is the operator's.
    {
      facts: { mode },
      showsDetails(request) {
        try {
          return access.operatorOf(request) !== null;
        } catch {
          return false;
        }
      },
    },
  );

  // As the review service does it: rows without payloads, where to go on beside them, and the whole of one row by its id.
  app.get('/pending', { schema: { querystring: ListQuery } }, async (request, reply): Promise<PendingRequest[]> => {
    const { status, limit, sort, before, id } = request.query;
    const operator = access.operatorOf(request);
    if (id !== undefined) {
      const tenant = operator.tenant ?? undefined;
      const row = (await reviews.get(id, tenant)) ?? (await reviews.byCorrelation(id, tenant));
      return row ? [row] : [];
    }
    const { rows, next_before } = await reviews.list({
      tenant: tenantsOf(operator),
      status: STATUSES[status],
      limit,
      sort: sort ?? (status === 'parked' || status === 'pending' ? 'oldest' : 'newest'),
      ...(before !== undefined && { before }),
    });
    if (next_before !== null) void reply.header('X-Gate-Next-Before', next_before);
    return rows;
  });

  app.post('/decide/:id', { schema: { params: ById, body: decideRequest }, onRequest: authorised }, (request) => {
    const { decision, reason, modification_diff, decided_via, action_digest } = request.body;
    if ('modified_payload' in request.body) throw new GateError('modified_payload_rejected');
    if (decision === 'modify' || modification_diff != null)
      throw new GateError('unsupported_decision', 'lite takes approve and deny; modify needs the full edition');
    return decideAs(access.operatorOf(request), request, decision, reason ?? null, decided_via ?? 'api', action_digest);
  });

  app.post('/pending/:id/decide', { schema: { params: ById, body: LiteDecide }, onRequest: authorised }, (request) => {
    const { decision, note } = request.body;
    return decideAs(
      access.operatorOf(request),
      request,
      decision === 'allow' ? 'approve' : 'deny',
      note ?? null,
      'api',
    );
  });

  // For whoever holds the token and sits elsewhere than before the terminal that printed the first link.
  app.post('/login/link', (request) => {
    const code = options.links.issue(access.operatorOf(request));
    return { path: `/login?link=${code}`, expires_in_secs: LINK_LIFE_MS / 1_000 };
  });

  void app.register((scope, _options, done) => {
    toolRoutes(scope as never, { classing: options.classing, operatorOf: classerOf });
    done();
  });

  void app.register((scope, _options, done) => {
    registerPage(scope as never, {
      access,
      links: options.links,
      mode,
      now: options.now,
      chain: () => ledger.verify({ sinceCheckpoint: true }),
      newestRows: () => ledger.newest(400),
      callOf: (correlationId) => options.proxy.calls.find(correlationId),
      endOf: (correlationId, withinMs) =>
        options.proxy.calls.waitFor(
          correlationId,
          ({ state, evidence }) => isFinal(state, evidence.call.contract),
          Date.now() + withinMs,
        ),
      review: (operator, id) => reviews.get(id, operator.tenant ?? undefined),
      waitingIds: async (operator) => (await listed(operator, undefined)).rows.map(({ id }) => id),
      pending: shown,
      decide: (operator, id, decision, reason, action_digest) =>
        decideRow(operator, {
          id,
          decision,
          reason,
          action_digest,
          decided_via: 'lite-page',
          request_id: crypto.randomUUID(),
        }),
    });
    done();
  });
  return app;

  function ledgerState(): 'ready' | 'unavailable' {
    try {
      ledger.ready();
      return 'ready';
    } catch {
      return 'unavailable';
    }
  }

  /** Whoever may decide may class. */
  function classerOf(request: FastifyRequest): Operator {
    const operator = access.operatorOf(request);
    const named = namedTenant(request);
    const only = access.tenants.length === 1 ? access.tenants[0] : undefined;
    const tenant = operator.tenant ?? named ?? only;
    if (tenant === undefined) throw new GateError('tenant_scope_required');
    const principal = operator.principal(tenant);
    if (named !== null && named !== tenant) throw new GateError('unauthenticated');
    return { tenant, subject: principal.subject };
  }

  /** Before the body is read: who may not decide learns nothing about what a decision looks like. */
  function authorised(request: FastifyRequest, _reply: unknown, done: () => void): void {
    access.operatorOf(request);
    done();
  }

  function tenantsOf({ tenant }: LiteOperator): readonly string[] {
    return tenant === null ? [...new Set([...access.tenants, DEFAULT_TENANT])] : [tenant];
  }

  function listed(operator: LiteOperator, before: string | undefined) {
    return reviews.list({
      tenant: tenantsOf(operator),
      sort: 'oldest',
      limit: PAGE_ROWS,
      ...(before !== undefined && { before }),
    });
  }

  /** What the page shows: the rows that expire first, each whole, for what is not read is not approved. */
  async function shown(operator: LiteOperator, before: string | undefined) {
    const { rows, next_before } = await listed(operator, before);
    const whole: PendingRequest[] = [];
    // A row that does not open is left a summary; it hides no other.
    for (const row of rows) whole.push((await reviews.get(row.id).catch(() => row)) ?? row);
    return { rows: whole, next_before };
  }

  function decideAs(
    operator: LiteOperator,
    request: FastifyRequest<{ Params: { id: string } }>,
    decision: 'approve' | 'deny',
    reason: string | null,
    decidedVia: string,
    shownDigest?: string,
  ): Promise<PendingRequest> {
    if (isGatesOwn(decidedVia)) throw new GateError('invalid_request', 'decided_via: this name is reserved');
    const offered = request.headers['x-request-id'];
    const request_id =
      typeof offered === 'string' && /^[A-Za-z0-9._:-]{1,128}$/.test(offered) ? offered : crypto.randomUUID();
    return decideRow(operator, {
      id: request.params.id,
      decision,
      reason,
      decided_via: decidedVia,
      request_id,
      action_digest: shownDigest,
    });
  }

  async function decideRow(
    operator: LiteOperator,
    asked: Pick<Decision, 'id' | 'decision' | 'reason' | 'decided_via' | 'request_id' | 'action_digest'>,
  ): Promise<PendingRequest> {
    const scope = operator.tenant ?? undefined;
    const row = (await reviews.get(asked.id, scope)) ?? (await reviews.byCorrelation(asked.id, scope));
    if (!row) throw new GateError('not_found');
    // Who decided comes from the token alone; a name in the body is nobody's.
    return options.decide({ ...asked, id: row.id, tenant: row.tenant, principal: operator.principal(row.tenant) });
  }
}

const STATUSES: Readonly<Record<z.infer<typeof ListQuery>['status'], readonly z.infer<typeof reviewStatus>[]>> = {
  pending: ['pending'],
  parked: ['pending'],
  approved: ['approved'],
  denied: ['denied'],
  expired: ['expired'],
  tampered: ['tampered'],
  decided: ['approved', 'denied'],
  all: ['pending', 'approved', 'denied', 'expired', 'tampered'],
};
