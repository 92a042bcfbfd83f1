export type RouteMethod = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';

/** Caller ids. A workload's id is `service-<name>`, from its SPIFFE id; all agents share `agent-workload`. */
export const CALLER_IDS = {
  agent: 'agent-workload',
  brain: 'service-brain',
  console: 'service-console',
  deepReview: 'service-deep-review',
  hil: 'service-hil',
  identity: 'service-identity',
  ledger: 'service-ledger',
  policyEngine: 'service-policy-engine',
  proxy: 'service-proxy',
  sandbox: 'service-sandbox',
  simulator: 'service-simulator',
} as const;
export type CallerId = (typeof CALLER_IDS)[keyof typeof CALLER_IDS];

/** A service whose routes are all governed by caller id and capability (of the proxy, those for operators), by its name as a caller. */
export type GovernedService = CallerId extends infer Id ? (Id extends `service-${infer Name}` ? Name : never) : never;

/**
 * Who may call one route. `path` is a template of literal segments and whole-segment `{param}` parts. It must match the whole path; a
 * literal takes precedence over a `{param}`. `callers: 'public'` means every workload whose certificate the CA signed; such a route is
 * registered with `config: { public: true }`.
 */
export interface RouteAuthority {
  readonly service: GovernedService;
  readonly method: RouteMethod;
  readonly path: string;
  readonly capability: string;
  readonly callers: readonly CallerId[] | 'public';
  /** False while no service registers the route; its callers are fixed already. */
  readonly built: boolean;
  /** The page that says why no service will register it. */
  readonly leftOut?: string;
}

/** `METHOD /path`: the name of a route in the lists below and in errors. */
export const routeName = (route: { readonly method: string; readonly path: string }): string =>
  `${route.method} ${route.path}`;

const { agent, console, deepReview, identity, ledger, policyEngine, proxy, simulator } = CALLER_IDS;

/** Workloads that get their certificate from identity: every service. An agent has routes of its own, and deep review is issued none here. */
const certified = Object.values(CALLER_IDS).filter((id) => id !== agent && id !== deepReview);

const row = (
  service: GovernedService,
  method: RouteMethod,
  path: string,
  capability: string,
  ...callers: readonly CallerId[]
): RouteAuthority => ({ service, method, path, capability, callers, built: true });

/** The row of a route that is not built yet. It becomes a `row` in the commit that registers the route. */
const later = (...declared: Parameters<typeof row>): RouteAuthority => ({ ...row(...declared), built: false });

/** The row of a route that nothing registers, for good: where `why` says. */
const leftOut = (why: string, ...declared: Parameters<typeof row>): RouteAuthority => ({
  ...later(...declared),
  leftOut: why,
});
const NO_SIGNING_FOR_OTHERS = 'docs/decisions/no-signing-for-others.md';

/**
 * The 141 rows of authority contract 1.12.0 (docs/architecture/identity-and-routes.md#authority-table): 29 hil, 51 identity, 36 ledger, 25
 * policy-engine. A caller that a row does not name is refused before the body is read.
 */
export const ROUTE_AUTHORITY: readonly RouteAuthority[] = [
  // hil: 29 rows.
  row('hil', 'DELETE', '/identities/{oidc_sub}/slack', 'hil.identity.manage', console),
  row('hil', 'DELETE', '/identities/{oidc_sub}/teams', 'hil.identity.manage', console),
  row('hil', 'GET', '/approvals/stats', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/auth/me', 'hil.auth.ceremony', console),
  row('hil', 'GET', '/identities/{oidc_sub}', 'hil.identity.read', console),
  row('hil', 'GET', '/notifications/config', 'hil.notification.read', console),
  row('hil', 'GET', '/pending', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/pending/by-correlation/{correlation_id}', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/pending/stream', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/pending/summaries', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/pending/{id}', 'hil.pending.read', console, proxy, simulator),
  row('hil', 'GET', '/pending/{id}/decision-link', 'hil.decision-link.manage', console),
  row('hil', 'PATCH', '/pending/{id}/incident', 'hil.pending.manage', console),
  row('hil', 'POST', '/admin/namespaces/demo/cleanup', 'hil.namespace.cleanup', console),
  row('hil', 'POST', '/admin/pending/{id}/legal-hold', 'hil.retention.manage', console),
  row('hil', 'POST', '/admin/tenants/{tenant}/lifecycle', 'hil.tenant.lifecycle', console),
  row('hil', 'POST', '/auth/login/finish', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/login/start', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/logout', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/register/finish', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/register/start', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/decide/{id}', 'hil.decision.execute', console, simulator),
  row('hil', 'POST', '/decision-link/verify', 'hil.decision-link.manage', console),
  row('hil', 'POST', '/identities/upsert', 'hil.identity.manage', console),
  row('hil', 'POST', '/notifications/test', 'hil.notification.manage', console),
  row('hil', 'POST', '/pending', 'hil.pending.create', proxy, simulator),
  row('hil', 'POST', '/pending/{id}/assign', 'hil.pending.manage', console),
  row('hil', 'POST', '/webhook/slack', 'hil.webhook.receive', console),
  row('hil', 'POST', '/webhook/teams', 'hil.webhook.receive', console),
  // identity: 51 rows.
  row('identity', 'DELETE', '/decoys/{name}', 'identity.decoy.manage', console),
  row('identity', 'GET', '/agents', 'identity.agent.read', console, proxy),
  row('identity', 'GET', '/agents/orphans', 'identity.agent.read', console, proxy),
  row('identity', 'GET', '/agents/{id}', 'identity.agent.read', console, proxy),
  row('identity', 'GET', '/agents/{id}/containment', 'identity.agent.read', console, proxy),
  row(
    'identity',
    'GET',
    '/attestation/measurements',
    'identity.attestation.measurement.read',
    console,
    identity,
    policyEngine,
    proxy,
  ),
  row('identity', 'GET', '/decoys', 'identity.decoy.read', console, proxy),
  row('identity', 'GET', '/grants', 'identity.revocation.read', console, proxy),
  leftOut(
    NO_SIGNING_FOR_OTHERS,
    'identity',
    'GET',
    '/ledger-verification-keys',
    'identity.verification-keys.read',
    ledger,
  ),
  row('identity', 'GET', '/revocation/list', 'identity.revocation.read', console, proxy),
  row('identity', 'GET', '/tenants/{tenant}/budget', 'identity.budget.read', console, proxy),
  row('identity', 'GET', '/tenants/{tenant}/lifecycle/{operation_id}', 'identity.tenant.lifecycle', console),
  row('identity', 'GET', '/upstreams', 'identity.upstream.read', console, proxy),
  row('identity', 'GET', '/upstreams/{id}', 'identity.upstream.read', console, proxy),
  row('identity', 'POST', '/actor-token', 'identity.actor-token.issue', proxy),
  row('identity', 'POST', '/actor-token/redeem', 'identity.actor-token.redeem', proxy),
  row('identity', 'POST', '/agents', 'identity.agent.register', console, simulator),
  row('identity', 'POST', '/agents/{id}/attestation-kinds', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/certification', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/containment/clear', 'identity.agent.containment', console, deepReview),
  row('identity', 'POST', '/agents/{id}/decommission', 'identity.agent.lifecycle', console),
  row('identity', 'POST', '/agents/{id}/description', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/envelope/narrow', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/envelope/widen', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/owner-team', 'identity.agent.manage', console),
  row('identity', 'POST', '/agents/{id}/suspend', 'identity.agent.lifecycle', console),
  row('identity', 'POST', '/agents/{id}/svid-recovery', 'identity.agent.manage', console),
  row(
    'identity',
    'POST',
    '/agents/{id}/tpm2-enrollment-challenges',
    'identity.attestation.measurement.manage',
    console,
  ),
  row('identity', 'POST', '/agents/{id}/unsuspend', 'identity.agent.lifecycle', console),
  row('identity', 'POST', '/attestation/measurements', 'identity.attestation.measurement.manage', console),
  row('identity', 'POST', '/attestation/measurements/{id}/retire', 'identity.attestation.measurement.manage', console),
  row('identity', 'POST', '/attestation/runtime', 'identity.attestation.runtime.read', proxy),
  row('identity', 'POST', '/attestation/verify', 'identity.attestation.verify', agent, identity, proxy),
  row('identity', 'POST', '/decoys', 'identity.decoy.manage', console),
  row('identity', 'POST', '/grant', 'identity.grant.manage', console, proxy, simulator),
  row('identity', 'POST', '/revoke', 'identity.revocation.manage', console),
  leftOut(NO_SIGNING_FOR_OTHERS, 'identity', 'POST', '/sign', 'identity.sign.action', proxy),
  leftOut(NO_SIGNING_FOR_OTHERS, 'identity', 'POST', '/sign/blob', 'identity.sign.blob', ledger),
  row('identity', 'POST', '/svid', 'identity.svid.agent.issue', agent, simulator),
  row('identity', 'POST', '/svid/renew', 'identity.svid.agent.renew', proxy),
  row('identity', 'POST', '/tenants/{tenant}/budget', 'identity.budget.manage', console),
  row('identity', 'POST', '/tenants/{tenant}/lifecycle', 'identity.tenant.lifecycle', console),
  row(
    'identity',
    'POST',
    '/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/claim',
    'identity.tenant.lifecycle',
    console,
  ),
  row(
    'identity',
    'POST',
    '/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/complete',
    'identity.tenant.lifecycle',
    console,
  ),
  row(
    'identity',
    'POST',
    '/tenants/{tenant}/lifecycle/{operation_id}/steps/{step_id}/retry',
    'identity.tenant.lifecycle',
    console,
  ),
  row('identity', 'POST', '/tenants/{tenant}/offboard', 'identity.tenant.offboard', console),
  row('identity', 'POST', '/tool-definitions/pin', 'identity.tool-definition.pin', proxy),
  row('identity', 'POST', '/upstreams', 'identity.upstream.register', console, simulator),
  row('identity', 'POST', '/upstreams/{id}/retire', 'identity.upstream.manage', console),
  row('identity', 'POST', '/workload-svid', 'identity.svid.workload.issue', ...certified),
  row('identity', 'POST', '/workloads/{service}/svid-recovery', 'identity.svid.workload.recover', console),
  // ledger: 36 rows.
  row('ledger', 'DELETE', '/silence-allowlist/{agent_id}', 'ledger.silence.manage', console),
  row('ledger', 'GET', '/agents', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/analysis/agent-behavioral-baseline', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/analysis/agent-envelope-recommendations', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/analysis/fleet-behavioral-diff', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/analysis/model-upgrade-canary', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/analysis/silent-agents', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/audit/agent/{tenant}/{agent_id}/lifecycle', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/correlation/{correlation_id}', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/entry/{entry_id}/masked-params', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/hunt', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/replay/corpus', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/{agent_id}', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/audit/{agent_id}/count', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/cases', 'ledger.case.read', console, deepReview),
  row('ledger', 'GET', '/cases/{id}', 'ledger.case.read', console, deepReview),
  row('ledger', 'GET', '/exports', 'ledger.export.read', console),
  row('ledger', 'GET', '/finops/active-agents', 'ledger.active-agent.read', console),
  row('ledger', 'GET', '/finops/active-agents/export', 'ledger.active-agent.read', console),
  row('ledger', 'GET', '/finops/spend', 'ledger.spend.read', console, deepReview, proxy),
  row('ledger', 'GET', '/silence-allowlist', 'ledger.silence.read', console, deepReview),
  row('ledger', 'GET', '/stream/audit', 'ledger.audit.stream', console),
  row('ledger', 'POST', '/admin/namespaces/demo/cleanup', 'ledger.namespace.cleanup', console),
  row('ledger', 'POST', '/admin/tenants/{tenant}/lifecycle', 'ledger.tenant.lifecycle', console),
  row('ledger', 'POST', '/admin/tenants/{tenant}/tombstone', 'ledger.tombstone.execute', console),
  row('ledger', 'POST', '/cases', 'ledger.case.manage', console, deepReview),
  row('ledger', 'POST', '/cases/{id}/attach', 'ledger.case.manage', console, deepReview),
  row('ledger', 'POST', '/cases/{id}/classify', 'ledger.case.manage', console, deepReview),
  row('ledger', 'POST', '/cases/{id}/status', 'ledger.case.manage', console, deepReview),
  row('ledger', 'POST', '/cases/{id}/timeline', 'ledger.case.manage', console, deepReview),
  row('ledger', 'POST', '/compliance/evidence', 'ledger.compliance.evidence', console),
  row('ledger', 'POST', '/export', 'ledger.export.create', console),
  row('ledger', 'POST', '/export/regulatory', 'ledger.export.regulatory', console),
  row('ledger', 'POST', '/finops/active-agents/adjustments', 'ledger.active-agent.adjust', console),
  row('ledger', 'POST', '/log', 'ledger.append', deepReview, proxy),
  row('ledger', 'POST', '/silence-allowlist', 'ledger.silence.manage', console),
  // policy-engine: 25 rows.
  row('policy-engine', 'DELETE', '/policies/tenant/{prefix}', 'policy.tenant.lifecycle', console, proxy),
  row('policy-engine', 'DELETE', '/policies/{name}', 'policy.manage', console),
  row('policy-engine', 'GET', '/policies', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/templates', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/templates/{name}', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/{name}', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/{name}/diff', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/{name}/versions', 'policy.read', console),
  row('policy-engine', 'GET', '/policies/{name}/versions/{version}', 'policy.read', console),
  row('policy-engine', 'POST', '/admin/tenants/{tenant}/lifecycle', 'policy.tenant.saga', console),
  row('policy-engine', 'POST', '/evaluate', 'policy.evaluate', console, proxy),
  row('policy-engine', 'POST', '/evaluate-egress', 'policy.evaluate', console, proxy),
  row('policy-engine', 'POST', '/policies', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/categories/{domain}/activate', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/categories/{domain}/deactivate', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/evaluate-batch', 'policy.batch.evaluate', console),
  row('policy-engine', 'POST', '/policies/mine', 'policy.mine', console),
  row('policy-engine', 'POST', '/policies/templates/{name}/install', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/templates/{name}/lab', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/tenant/{prefix}/provision', 'policy.tenant.lifecycle', console, proxy),
  row('policy-engine', 'POST', '/policies/validate', 'policy.validate', console),
  row('policy-engine', 'POST', '/policies/{name}/activate', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/{name}/deactivate', 'policy.manage', console),
  row('policy-engine', 'POST', '/policies/{name}/rollback/{version}', 'policy.manage', console),
  row('policy-engine', 'PUT', '/policies/{name}', 'policy.manage', console),
];

/** Governed routes of Gate beyond the 141, each with its reason. */
export const GATE_OWN_ROUTES: readonly RouteAuthority[] = [
  // Appends the rows of one call in one transaction; same capability as POST /log. The policy engine and identity append the rows of their own changes.
  row('ledger', 'POST', '/log/batch', 'ledger.append', identity, policyEngine, proxy),
  // Whether a row was ever written, even a hidden one; reveals nothing else. A call record restored from an older copy is detected with it.
  row('ledger', 'GET', '/log/held', 'ledger.held.read', proxy),
  // Every caller with a certificate of the CA may verify the chain.
  { service: 'ledger', method: 'GET', path: '/verify', capability: 'ledger.verify', callers: 'public', built: true },
  // Not among the 141; granted like similar reads.
  row('ledger', 'GET', '/audit/agents/{agent_id}/narrative', 'ledger.audit.read', console, deepReview, proxy),
  // GET /audit/{agent_id} by a query: an agent may have the name of a route, or `.`, which no path holds.
  row('ledger', 'GET', '/audit/agent/rows', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'GET', '/analysis/agent-activity', 'ledger.analysis.read', console, deepReview),
  row('ledger', 'GET', '/export/iceberg', 'ledger.export.read', console),
  // One entry of the replay corpus, of a call that somebody looks at; the policy engine then judges it again.
  row('ledger', 'GET', '/audit/correlation/{correlation_id}/policy-input', 'ledger.audit.read', console),
  // All of them in a window, page by page; the policy engine tries rules on them.
  row('ledger', 'GET', '/audit/replay/rows', 'ledger.audit.read', console, policyEngine),
  // What people decided, from which rules are mined that need them less.
  row('ledger', 'GET', '/audit/replay/decisions', 'ledger.audit.read', console, policyEngine),
  // What the rules of then say again of such an entry.
  row('policy-engine', 'POST', '/policies/replay', 'policy.batch.evaluate', console),
  row('policy-engine', 'POST', '/policies/explain', 'policy.batch.evaluate', console),
  row('policy-engine', 'POST', '/policies/lab', 'policy.batch.evaluate', console),
  // Several changes in one step.
  row('policy-engine', 'POST', '/policies/apply', 'policy.manage', console),
  // Whether the engine judges by what is stored, for pages that show a part of it alone.
  row('policy-engine', 'GET', '/policies/standing', 'policy.read', console),
  // What was mined before, and what a person makes of it.
  row('policy-engine', 'GET', '/policies/suggestions', 'policy.mine', console),
  row('policy-engine', 'POST', '/policies/suggestions/{id}/install', 'policy.manage', console),
  // A grant for the agent whose certificate the connection shows, by RFC 8693.
  row('identity', 'POST', '/token', 'identity.token.exchange', agent),
  // How often grants were used, by whoever counts that; nothing can be used because of it.
  row('identity', 'POST', '/grants/uses', 'identity.grant.count', proxy),
  // Who touched decoys: a proxy tells it, people read it.
  row('identity', 'POST', '/decoys/hits', 'identity.decoy.count', proxy),
  row('identity', 'GET', '/decoys/hits', 'identity.decoy.read', console),
  // What was done when the person's tenant came or left; nothing is done by asking.
  row('ledger', 'GET', '/admin/tenants/{tenant}/lifecycle', 'ledger.tenant.read', console),
  row('hil', 'GET', '/admin/tenants/{tenant}/lifecycle', 'hil.tenant.read', console),
  // The ledger as a transparency log. Anybody may keep and compare checkpoints; proofs are for callers that may read rows.
  {
    service: 'ledger',
    method: 'GET',
    path: '/checkpoint',
    capability: 'ledger.verify',
    callers: 'public',
    built: true,
  },
  {
    service: 'ledger',
    method: 'GET',
    path: '/proof/consistency',
    capability: 'ledger.verify',
    callers: 'public',
    built: true,
  },
  row('ledger', 'GET', '/proof/inclusion', 'ledger.audit.read', console, deepReview, proxy),
  row('ledger', 'POST', '/checkpoint/cosignatures', 'ledger.checkpoint.cosign', console),
  // The worker, which uses the proxy's certificate, streams rows to sinks.
  row('ledger', 'GET', '/egress/rows', 'ledger.egress.read', proxy),
  // The pipeline writes the result of a decision, and withdraws the row of a call that was answered 503.
  row('hil', 'POST', '/pending/{id}/settle', 'hil.pending.settle', proxy),
  // It says of a row that nobody had decided at a share of its time.
  row('hil', 'POST', '/pending/{id}/escalated', 'hil.pending.settle', proxy),
  // It asks whether a tenant may still have calls run, right before it runs one that a person approved.
  row('hil', 'GET', '/tenants/{tenant}/standing', 'hil.pending.settle', proxy),
  // It compares the rows that nobody has decided with the records of their calls.
  row('hil', 'GET', '/undecided', 'hil.pending.settle', proxy),
  // The pipeline asks for the approval of a call that policy put into the tier `auto`.
  row('hil', 'POST', '/pending/{id}/rule-decision', 'hil.pending.settle', proxy),
  // It opens what an approver changed: the engine carried it sealed with the key of its row.
  row('hil', 'POST', '/pending/{id}/opened-change', 'hil.pending.settle', proxy),
  row('hil', 'DELETE', '/pending/by-correlation/{correlation_id}', 'hil.pending.withdraw', proxy),
  // An agent withdraws its own call that waits; the proxy has verified whose it is.
  row('hil', 'POST', '/pending/by-correlation/{correlation_id}/withdrawal', 'hil.pending.withdraw', proxy),
  // Which passkeys somebody has: his own.
  row('hil', 'GET', '/auth/passkeys', 'hil.auth.ceremony', console),
  // Somebody else allows an approver to replace lost passkeys.
  row('hil', 'POST', '/auth/enrollment/recoveries', 'hil.auth.ceremony', console),
  // People who have a passkey and no token: invited by their administrator, registered and signed in by what they hold.
  row('hil', 'POST', '/auth/enrollment/invitations', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/enrollment/removals', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/people/register/start', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/people/register/finish', 'hil.auth.ceremony', console),
  row('hil', 'POST', '/auth/people/login/start', 'hil.auth.ceremony', console),
  // An administrator takes away the account of a chat with which somebody else decides.
  row('hil', 'POST', '/identities/removals', 'hil.identity.manage', console),
  // The console says what somebody may do now whom it vouches for, also where he may do nothing any more.
  row('hil', 'POST', '/people/standing', 'hil.decision.execute', console),
  // Why nothing can be decided, where nothing can.
  row('hil', 'GET', '/orchestrator', 'hil.pending.read', console),
  // What a decision's approver signs with a passkey.
  row('hil', 'POST', '/pending/{id}/approval-challenge', 'hil.decision.execute', console),
  // The brain is on the private service network (docs/architecture/identity-and-routes.md#surfaces); its callers are in the table too.
  row('brain', 'POST', '/inspect', 'brain.inspect', console, proxy),
  // Looks at what a tool answered.
  row('brain', 'POST', '/scan-response', 'brain.inspect', console, proxy),
  // Looks at what a call sends, and at what an upstream tells of its tools.
  row('brain', 'POST', '/scan-request', 'brain.inspect', proxy),
  row('brain', 'POST', '/scan-definitions', 'brain.inspect', proxy),
  row('brain', 'POST', '/scan-tool-name', 'brain.inspect', proxy),
  // What judges now, for the console alone.
  // A model's words for people: about a rule that was mined, and about a decision.
  row('brain', 'POST', '/explain-pattern', 'brain.patterns.explain', policyEngine),
  row('brain', 'POST', '/narrate-decision', 'brain.decisions.narrate', console),
  row('brain', 'GET', '/model-snapshot', 'brain.models.read', console),
  // An agent that has no certificate gets its first one by a one-use token, which a person asks for at the console.
  row('identity', 'POST', '/enrollments', 'identity.agent.manage', console),
  // Every call of an agent waits for a person, for a while: the counterpart of POST /agents/{id}/containment/clear.
  row('identity', 'POST', '/agents/{id}/containment', 'identity.agent.containment', console),
  // A tool that nobody of a tenant may use, or a tenant of which nobody may do anything.
  row('identity', 'GET', '/stops', 'identity.agent.read', console, proxy),
  row('identity', 'POST', '/stops', 'identity.agent.containment', console),
  row('identity', 'POST', '/stops/{id}/release', 'identity.agent.containment', console),
  // What was running at each stop: a proxy tells it, people read it.
  row('identity', 'GET', '/stops/reports/due', 'identity.stop.report', proxy),
  row('identity', 'POST', '/stops/reports/{id}/calls', 'identity.stop.report', proxy),
  row('identity', 'GET', '/stops/reports', 'identity.agent.read', console),
  row('identity', 'GET', '/stops/reports/{id}', 'identity.agent.read', console),
  // The keys with which identity signs, and another one in the place of one.
  row('identity', 'GET', '/keys', 'identity.signing-keys.read', console),
  row('identity', 'POST', '/keys/rotations', 'identity.signing-keys.rotate', console),
  // What was begun with a tenant, and how far it is.
  row('identity', 'GET', '/tenants/{tenant}/lifecycle', 'identity.tenant.lifecycle', console),
  // The worker, which uses the proxy's certificate, has the steps done that a person began, each under a warrant that identity signed for its owner.
  row('identity', 'GET', '/tenant-operations/due', 'identity.tenant.drive', proxy),
  row('identity', 'GET', '/tenant-operations/{operation_id}', 'identity.tenant.drive', proxy),
  row('identity', 'POST', '/tenant-operations/{operation_id}/claim', 'identity.tenant.drive', proxy),
  row('identity', 'POST', '/tenant-operations/{operation_id}/complete', 'identity.tenant.drive', proxy),
  row('policy-engine', 'POST', '/tenant-steps', 'policy.tenant.saga', proxy),
  row('hil', 'POST', '/tenant-steps', 'hil.tenant.lifecycle', proxy),
  row('ledger', 'POST', '/tenant-steps', 'ledger.tenant.lifecycle', proxy),
  // It has none to show: the token is the proof.
  {
    service: 'identity',
    method: 'POST',
    path: '/enrollments/svid',
    capability: 'identity.svid.agent.issue',
    callers: 'public',
    built: true,
  },
  // An agent asks what evidence about its certificate has to be bound to.
  row('identity', 'POST', '/attestation/challenges', 'identity.attestation.verify', agent),
  // It has none yet: the challenge, and what its TPM signed for it, are the proof.
  {
    service: 'identity',
    method: 'POST',
    path: '/tpm2-enrollment/{challenge_id}/svid',
    capability: 'identity.svid.agent.issue',
    callers: 'public',
    built: true,
  },
  // Public keys, for whoever verifies.
  {
    service: 'identity',
    method: 'GET',
    path: '/.well-known/spiffe-bundle',
    capability: 'identity.keys.read',
    callers: 'public',
    built: true,
  },
  {
    service: 'identity',
    method: 'GET',
    path: '/jwks.json',
    capability: 'identity.keys.read',
    callers: 'public',
    built: true,
  },
  // What a call that waits for review would do.
  row('sandbox', 'POST', '/analyze', 'sandbox.analyze', proxy),
  // Whether a worker runs and upstreams answer, for the page of health.
  row('proxy', 'GET', '/standing', 'proxy.standing.read', console),
  // The operators' classes of the tools behind the proxy. The proxy's other routes are for agents.
  row('proxy', 'GET', '/tools', 'proxy.tool-class.read', console),
  row('proxy', 'POST', '/tools/class', 'proxy.tool-class.manage', console),
  row('proxy', 'POST', '/tools/forget', 'proxy.tool-class.manage', console),
  // The tool definitions pinned for agents, which operators accept or forget.
  row('proxy', 'GET', '/pins', 'proxy.tool-pin.read', console),
  row('proxy', 'GET', '/pins/{agent}', 'proxy.tool-pin.read', console),
  row('proxy', 'GET', '/pins/{agent}/tools', 'proxy.tool-pin.read', console),
  row('proxy', 'POST', '/pins/accept', 'proxy.tool-pin.manage', console),
  row('proxy', 'POST', '/pins/forget', 'proxy.tool-pin.manage', console),
  // What a tenant and its agents spent, beside what identity says that they may.
  row('proxy', 'GET', '/spend', 'proxy.spend.read', console),
  // The calls of unknown outcome, which operators settle by what they find out.
  row('proxy', 'GET', '/uncertain', 'proxy.uncertain.read', console),
  row('proxy', 'GET', '/uncertain/{correlation_id}', 'proxy.uncertain.read', console),
  row('proxy', 'POST', '/uncertain/{correlation_id}/settle', 'proxy.uncertain.settle', console),
];
