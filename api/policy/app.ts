import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createLocalEvaluator } from '../../adapters/policy/local-evaluator.js';
import type { PolicySet } from '../../domain/policy/policy-set.js';
import type { ReadinessChecks } from '../plugins/health.js';
import type { Caller } from '../plugins/app.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import { EVALUATION_LIMIT_MS, type PolicyManagement } from './management.js';
import { policyMetrics } from './metrics.js';
import { policyChangeRoutes } from './routes/changes.js';
import { evaluateRoutes } from './routes/evaluate.js';
import { judgeResponseRoutes } from './routes/judge-response.js';
import { policyRoutes } from './routes/policies.js';
import { policyTenantRoutes } from './routes/tenants.js';
import { policyTemplateRoutes } from './routes/templates.js';
import { policySuggestionRoutes } from './routes/suggestions.js';
import { policyStudyRoutes } from './routes/studies.js';
import { policyTrialRoutes } from './routes/trials.js';

export interface PolicyServiceOptions {
  /** Must be loaded before the port is bound. */
  readonly policies: PolicySet;
  /** The policies of operators; without it the loaded set alone is judged by and shown. */
  readonly management?: PolicyManagement;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly readiness?: ReadinessChecks;
  /** Starts a thread for the first large input when the port is bound. */
  readonly warm?: boolean;
}

/** The policy engine: deterministic rules over one input, for the console and the proxy. */
export function createPolicyService(options: PolicyServiceOptions): Service {
  const { policies, registry, management = null } = options;
  const service = createService({
    name: 'policy-engine',
    governed: 'policy-engine',
    logger: options.logger,
    registry,
    trustDomain: options.trustDomain,
    readiness: {
      storage: () => policies.ready(),
      ...(management && {
        policies: () => management.live.ready(),
        policy_store: () => management.store.ready(),
        outbox_worker: () => management.outbox.ready(),
      }),
      ...options.readiness,
    },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  const evaluator = createLocalEvaluator(
    policies,
    policyMetrics(registry),
    { limitMs: EVALUATION_LIMIT_MS },
    (input) => (management === null ? null : management.live.addedFor(input)),
  );
  if (options.warm) service.app.addHook('onListen', () => evaluator.warm());
  service.app.addHook('onClose', () => evaluator.close());
  evaluateRoutes(service.app, evaluator);
  judgeResponseRoutes(service.app, { judgeResponse: async (question) => policies.judgeResponse(question) });
  policyRoutes(service.app, policies, management);
  policyChangeRoutes(service.app, management);
  policyTrialRoutes(service.app, management);
  policyTemplateRoutes(service.app, management);
  policyTenantRoutes(service.app, management, options.tls);
  policyStudyRoutes(service.app, policies, management);
  policySuggestionRoutes(service.app, policies, management);
  return service;
}
