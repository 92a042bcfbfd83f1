import type { KeyObject } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { AgentOwner, Operator } from '../../config/hil.js';
import type { JsonObject } from '../../contracts/json.js';
import { parseStrictJson } from '../../domain/mcp/strict-json.js';
import type { NotificationMode } from '../../contracts/notification.js';
import { placesOf } from '../../domain/notification/lines.js';
import { createNotifier, type Notifier } from '../../domain/notification/notifier.js';
import { createAskForReview } from '../../domain/review/asked-review.js';
import { createLinkCodes } from '../../domain/review/link-code.js';
import { createDecisionLinks } from '../../domain/review/decision-link.js';
import type { QuorumRule } from '../../domain/decision/quorum.js';
import { createDecisionTurns, DECISION_TURNS } from '../../domain/review/decision-turns.js';
import { createDecisions } from '../../domain/review/decisions.js';
import type { ReviewsWithNotices } from '../../domain/notification/ports.js';
import type { ReviewStarter, RowSettler } from '../../domain/review/ports.js';
import { createPasskeys, relyingPartyOf } from '../../domain/review/passkeys.js';
import type { PasskeyRequired } from '../../domain/review/passkey-required.js';
import { createVouchedPeople } from '../../domain/review/vouched-people.js';
import { createTenantLifecycle } from '../../domain/review/tenant-lifecycle.js';
import { errorHandler, plainErrorBody } from '../plugins/errors.js';
import { readJsonBodies } from '../plugins/json-bodies.js';
import type { ReadinessChecks } from '../plugins/health.js';
import type { Caller, ServiceApp } from '../plugins/app.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import { approversIn, vouchedLifeMs } from './approvers.js';
import type { DecisionParts } from './decision-parts.js';
import { refuseDemoSessions } from './demo-sessions.js';
import { reviewMetrics } from './metrics.js';
import { assignRoutes, type NoteRoutes } from './routes/assign.js';
import { chatWebhookRoutes } from './routes/chat-webhooks.js';
import { identityRoutes } from './routes/identities.js';
import { type DecideRoutes, decideRoutes } from './routes/decide.js';
import { notificationRoutes } from './routes/notifications.js';
import { decisionLinkRoutes } from './routes/decision-link.js';
import { incidentRoutes } from './routes/incident.js';
import { orchestratorRoutes } from './routes/orchestrator.js';
import { passkeyHolders, passkeyPeopleRoutes } from './routes/passkey-people.js';
import { passkeyRoutes } from './routes/passkeys.js';
import { type LegalHoldRoutes, legalHoldRoutes } from './routes/legal-hold.js';
import { type ListRoutes, listRoutes } from './routes/list.js';
import { pendingRoutes } from './routes/pending.js';
import { settleRoutes } from './routes/settle.js';
import { type StatsRoutes, statsRoutes } from './routes/stats.js';
import { type StreamRoutes, streamRoutes } from './routes/stream.js';
import { type SummaryRoutes, summaryRoutes } from './routes/summaries.js';
import { peopleRoutes } from './routes/people.js';
import { tenantRoutes } from './routes/tenants.js';
import { operatorsOf, PRINCIPAL_HEADER, scopeReader } from './scope.js';

export interface HilOptions extends DecisionParts {
  readonly reviews: Pick<
    ReviewsWithNotices,
    | 'reads'
    | 'parking'
    | 'settling'
    | 'lists'
    | 'walk'
    | 'notes'
    | 'feed'
    | 'retention'
    | 'tenants'
    | 'passkeys'
    | 'notices'
    | 'chatLinks'
    | 'vouchings'
    | 'changeSeal'
    | 'ready'
  >;
  /** For a row that waits although its call is over; it stays as it is when absent. */
  readonly settleRow?: RowSettler;
  /** Starts what waits for the decision of a review without a call. */
  readonly starter: ReviewStarter;
  /** Ed25519 private key. The workers hold its public half. */
  readonly decisionKey: KeyObject;
  readonly operators: readonly Operator[];
  /** What proves that the console vouches for somebody. Without it nobody is known by its word. */
  readonly decideToken?: string | undefined;
  /** How long its word holds. */
  readonly vouchedSeconds?: number;
  /** Whose agents they are: who calls by an agent of his own does not approve it. */
  readonly agentOwners: readonly AgentOwner[];
  /** 32 bytes; links to decisions are derived from it. */
  readonly sessionKey: Uint8Array;
  readonly linkSeconds?: number;
  readonly consoleUrl?: string | undefined;
  /** Whom it tells of rows that wait; nobody when absent. */
  readonly notifications?: { readonly mode: NotificationMode; readonly notifier: Notifier } | undefined;
  /** What chats sign clicks with. Without its secret no click of a chat is accepted. */
  readonly chats?: {
    readonly slackSecret?: string | undefined;
    readonly slackApiUrl?: string | undefined;
    /** Sends what a click of Slack came to; told to nobody when absent. */
    readonly answerSlack?: ((url: string, message: JsonObject) => Promise<void>) | undefined;
    readonly teamsSecret?: Uint8Array | undefined;
  };
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly clock?: () => number;
  /** Makes the first administrator who signs in by a passkey; nobody without it. */
  readonly bootstrapToken?: string | undefined;
  /** Which calls are approved only with a passkey. */
  readonly passkeyRequired: PasskeyRequired;
  /** How many people predicted effects ask for. */
  readonly quorum: QuorumRule;
  readonly simulatorTenant?: string | undefined;
  readonly decisionLifeSeconds?: number;
  readonly bodyLimit?: number;
  /** Readiness checks besides `storage`; the composition adds the engine (`orchestrator`). */
  readonly readiness?: ReadinessChecks;
}

/** The routes for operators, in their own Fastify scope. The service and lite register the same code. */
export function operatorRoutes(
  app: ServiceApp,
  options: ListRoutes & SummaryRoutes & StatsRoutes & StreamRoutes & NoteRoutes & LegalHoldRoutes & DecideRoutes,
  more: (scope: ServiceApp) => void = () => undefined,
): void {
  void app.register((child, _options, done) => {
    const scope = child as unknown as ServiceApp;
    scope.setErrorHandler(errorHandler(plainErrorBody));
    readJsonBodies(scope, parseStrictJson);
    listRoutes(scope, options);
    summaryRoutes(scope, options);
    statsRoutes(scope, options);
    streamRoutes(scope, options);
    assignRoutes(scope, options);
    incidentRoutes(scope, options);
    legalHoldRoutes(scope, options);
    decideRoutes(scope, options);
    more(scope);
    done();
  });
}

/** The human review service (docs/architecture/reviews.md): lists rows by tenant, and sends decisions to the call's workflow. */
export function createHilService(options: HilOptions): Service {
  const { reviews, sender, decisionKey, operators, simulatorTenant, registry, clock = Date.now } = options;
  const service = createService({
    name: 'hil',
    governed: 'hil',
    logger: options.logger,
    registry,
    trustDomain: options.trustDomain,
    readiness: { storage: () => reviews.ready(), clock: () => options.checkClock(), ...options.readiness },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
    ...(options.bodyLimit !== undefined && { bodyLimit: options.bodyLimit }),
  });
  const operatorsIn = operatorsOf({ operators });
  const mayApprove = (subject: string, tenant: string) => operatorsIn(tenant).includes(subject);
  const passkeys = createPasskeys({
    store: reviews.passkeys,
    relyingParty: options.consoleUrl === undefined ? null : relyingPartyOf(options.consoleUrl),
    required: options.passkeyRequired,
    sessionKey: options.sessionKey,
    bootstrapToken: options.bootstrapToken,
    mayApprove,
    clock,
  });
  refuseDemoSessions(service.app);
  const holderOf = passkeyHolders(service.app, passkeys);
  const scopeOf = scopeReader({ operators, simulatorTenant, decideToken: options.decideToken, holderOf });
  const people = createVouchedPeople({
    store: reviews.vouchings,
    lifeMs: vouchedLifeMs(options),
    clock,
  });
  // Whatever somebody does at the console tells HIL what he may do now, and before anything of it is done.
  service.app.addHook('preHandler', async (request) => {
    if (request.headers[PRINCIPAL_HEADER] === undefined) return;
    const { vouched } = scopeOf(request);
    if (vouched) await people.heard(vouched);
  });
  const decisionLifeMs = (options.decisionLifeSeconds ?? 10) * 1000;
  const turns = createDecisionTurns(DECISION_TURNS);
  // Whoever waits for a turn would keep the service from closing.
  service.app.addHook('preClose', (done) => {
    turns.close();
    done();
  });
  const { owners, everybody, standing } = approversIn(options);
  const everybodyOf = async (tenant: string, asked_ms?: number) => (await everybody(tenant))(asked_ms);
  const shown = standing.over(reviews);
  const codes = createLinkCodes({ sessionKey: options.sessionKey, clock });
  const decide = createDecisions({
    reviews,
    sender,
    settleRow: options.settleRow,
    decisionKey,
    clock,
    decisionLifeMs,
    approvers: everybodyOf,
    owners,
    observe: reviewMetrics(registry, reviews, clock),
    quorum: options.quorum,
    passkeys,
    turns,
  });
  pendingRoutes(service.app, {
    reviews: shown,
    scopeOf,
    askForReview: createAskForReview({ reviews, starter: options.starter, clock }),
  });
  const { mode, notifier } = options.notifications ?? nobody(reviews);
  operatorRoutes(
    service.app,
    { reviews: shown, decide, scopeOf, pools: notifier.pools, waiting: 'newest' },
    (scope) => {
      passkeyRoutes(scope, { passkeys, reviews, scopeOf, quorum: options.quorum });
      passkeyPeopleRoutes(scope, { passkeys, scopeOf });
      decisionLinkRoutes(scope, {
        reviews,
        links: createDecisionLinks(options.sessionKey),
        linkSeconds: options.linkSeconds ?? 3_600,
        consoleUrl: options.consoleUrl,
        scopeOf,
        clock,
      });
      identityRoutes(scope, { links: reviews.chatLinks, codes, scopeOf });
      chatWebhookRoutes(scope, {
        reviews,
        links: reviews.chatLinks,
        codes,
        decide,
        approversOf: everybodyOf,
        slackSecret: options.chats?.slackSecret,
        slackApiUrl: options.chats?.slackApiUrl ?? 'https://slack.com/api',
        answerSlack: options.chats?.answerSlack ?? (() => Promise.resolve()),
        teamsSecret: options.chats?.teamsSecret,
        places: placesOf(options.consoleUrl, options.sessionKey),
        clock,
      });
      notificationRoutes(scope, { mode, notifier, notices: reviews.notices, scopeOf, clock });
    },
  );
  peopleRoutes(service.app, { scopeOf });
  orchestratorRoutes(service.app, { check: options.readiness?.['orchestrator'] ?? (() => undefined), scopeOf });
  tenantRoutes(service.app, {
    scopeOf,
    tls: options.tls,
    tenantLifecycle: createTenantLifecycle({ reviews, sender, decisionKey, clock, decisionLifeMs }),
  });
  const { decideByRule, withdrawCall } = options;
  settleRoutes(service.app, { reviews, decideByRule, withdrawCall });
  return service;
}

/** No channel is set. */
function nobody(
  reviews: Pick<ReviewsWithNotices, 'feed' | 'reads' | 'notices'>,
): NonNullable<HilOptions['notifications']> {
  const unused = (): void => undefined;
  const parts = { reviews, notices: reviews.notices, channels: [], tenants: [], clock: Date.now };
  return { mode: 'disabled', notifier: createNotifier({ ...parts, observe: unused, gaveUp: unused, failed: unused }) };
}
