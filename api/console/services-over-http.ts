import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { isAtLeast } from '../../console/roles.js';
import { serviceHead, type ServiceHealth, type ServiceName, type Services } from '../../console/services.js';
import type { Person } from '../../console/visit.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import { chatLink, chatLinkRemoved, linkOwnerOf } from '../../contracts/chat-link.js';
import { ownPasskeys } from '../../contracts/approval.js';
import { verifiedDecisionLink } from '../../contracts/decision-link.js';
import type { SavedSearches } from '../../adapters/console/saved-searches.js';
import { decisionNarrated } from '../../contracts/narration.js';
import { caseClassification, caseWithEvidence, incidentCase } from '../../contracts/cases.js';
import { modelSnapshot } from '../../contracts/inspection.js';
import { complianceRegister } from '../../contracts/compliance.js';
import { lifecycleReceipt } from '../../contracts/erasure.js';
import { tenantReviews } from '../../contracts/tenant-reviews.js';
import { exportPass, exportRecord } from '../../contracts/ledger-export.js';
import { ledgerEntry } from '../../contracts/ledger.js';
import { policyDecision } from '../../contracts/policy.js';
import { nameInPath } from '../../domain/name-in-path.js';
import { inclusionProof } from '../../contracts/ledger-proof.js';
import {
  agentActivity,
  fleetBehavioralDiff,
  hunt,
  narrative,
  recordedPolicyInput,
  silentAgents,
  spend,
} from '../../contracts/ledger-reports.js';
import { jsonObject } from '../../contracts/json.js';
import { orchestratorStanding, type PendingRequest, pendingRequest, pendingSummary } from '../../contracts/review.js';
import { errorText, GateError } from '../../domain/errors.js';
import { endOf } from '../../domain/evidence/ended.js';
import { heldAgainst, keptReasons } from '../../domain/masking/kept-reasons.js';
import { namedSecrets } from '../../domain/masking/named-secrets.js';
import { maskedList, maskedRows } from '../../domain/review/masked-review.js';
import { within } from '../../domain/within.js';
import type { Over } from '../plugins/declaration.js';
import type { ChainWatch } from './chain-health.js';
import type { ReadinessChecks } from '../plugins/health.js';
import type { OneAtATime } from './one-at-a-time.js';
import { policiesOver } from './policies.js';
import type { RegulatoryBundles } from './regulatory.js';
import type { AskLimits } from './ask-limits.js';
import type { keptAnswers } from './kept.js';
import { type AskedFor, MAY_BE_DECIDED, neighbourOf, type NeighbourQuestion } from './neighbour.js';
import type { ReviewProof } from './sign-in/mode.js';

export type ServiceChecks = Readonly<Partial<Record<ServiceName, ReadinessChecks[string]>>>;

export interface NeighboursOver {
  /** Whether the review service has a workflow engine behind it. */
  readonly hasEngine?: boolean;
  readonly hil: Promise<Over>;
  readonly ledger: Promise<Over>;
  readonly policy: Promise<Over>;
  /** Absent where no page is about it. */
  readonly brain?: Promise<Over>;
  /** Whether each service is ready. */
  readonly readiness: ServiceChecks;
  /** Those that the page of health tells of as well, and that no page needs. */
  readonly seen?: ServiceChecks;
  /** `ASK_LIMITS` unless said otherwise. */
  readonly limits?: AskLimits;
}

/** How often a call is looked at that somebody waits for. */
const LOOK_EVERY_MS = 150;

/** Decided calls of an agent among which those of a tool are looked for. */
const LATELY = 50;

const HOUR_MS = 3_600_000;

/** What stays in doubt where no answer came. */
const MAY_BE_OPENED =
  'It may have opened the case: look at the cases first. The same form sent again opens no second one.';
const MAY_BE_NOTED = 'It may have written the note: look at the case first. The same form sent again writes it once.';
const MAY_BE_CHANGED = 'It may have changed the case: look at it before you do so again.';
const MAY_BE_UNLINKED = 'It may have unlinked the account: load the page again.';
const MAY_BE_COPIED = 'It may have copied rows, or still be copying them: look at the list before you copy again.';

/** What pages show of a policy input: classes of findings, and pointers to arguments. */
const FACTS_SHOWN = ['taint', 'injection_suspicions', 'intent_suspicions'] as const;

/** The neighbours, and what is kept of one for all who ask. */
export interface Reached extends NeighboursOver {
  readonly limits: AskLimits;
  readonly chain: ChainWatch;
  readonly regulatory: RegulatoryBundles;
  /** Registers of a tenant, each of which walks the whole chain. */
  readonly counting: OneAtATime;
  /** Copies of the chain, which is everybody's. */
  readonly copying: OneAtATime;
  readonly searches: SavedSearches;
  /** Reports over all agents of a tenant read many rows, and everybody's are the same. */
  readonly kept: ReturnType<typeof keptAnswers>;
  readonly clock: () => number;
}

const queuePage = z.object({
  items: z.array(pendingSummary),
  next_cursor: z.string().nullable(),
  // An older review service does not say it.
  searched_to: z.string().nullable().default(null),
  pending_count: z.number().int(),
});
const rows = z.array(ledgerEntry);
const masked = z.object({ masked_params: jsonObject.nullable(), retention_class: z.string().nullable() });

/** Says to the review service what somebody may do from now on. */
export async function tellStanding(hil: Promise<Over>, asked: AskedFor): Promise<void> {
  await neighbourOf('hil', hil, asked).ask(null, { method: 'POST', path: '/people/standing' });
}

/**
 * The services over mutual TLS with the console's own certificate. `proof` is what proves the person to the review service, which alone gets
 * it; the tenant of every question is the person's. Who only looks on gets reviews masked, whatever page he looks at.
 */
export function servicesFor(
  { tenant, subject, mode, role }: Person,
  proof: ReviewProof,
  {
    hil,
    ledger,
    policy,
    brain,
    readiness,
    seen = {},
    chain,
    regulatory,
    counting,
    copying,
    searches,
    kept,
    clock,
    limits,
    hasEngine = true,
  }: Reached,
): Services {
  const owner = { tenant: tenant ?? '', subject };
  const ownTenant = (): string => {
    if (tenant === null) throw new GateError('tenant_scope_required');
    return tenant;
  };
  const { ask: askHil } = neighbourOf('hil', hil, { tenant, proof, limits });
  const { ask: askLedger } = neighbourOf('ledger', ledger, { tenant, limits });
  const { ask: askBrain } = neighbourOf('brain', brain, { tenant, limits });
  const engine = neighbourOf('policy', policy, { tenant, limits });
  const get = (path: string, query: NeighbourQuestion['query'] = {}) => ({ method: 'GET', path, query }) as const;
  const inCases = (path: string, body: object, doubt: string) =>
    ({ method: 'POST', path: `/cases${path}`, body, doubt }) as const;
  const keptOf = <Value>(key: readonly unknown[], ask: () => Promise<Value>): Promise<Value> =>
    kept([tenant ?? '', ...key], ask);
  const unlessUnknown = async <Value>(asked: Promise<Value>): Promise<Value | null> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof GateError && ['not_found', 'case_not_found'].includes(error.code)) return null;
      throw error;
    }
  };
  const isWhole = isAtLeast(role, 'approver');
  const askRow = async (question: Parameters<typeof askHil>[1], timeoutMs?: number): Promise<PendingRequest> => {
    const row = await askHil(pendingRequest, question, timeoutMs);
    return isWhole ? row : (maskedRows([row])[0] as PendingRequest);
  };
  const askRows = async (question: Parameters<typeof askHil>[1]): Promise<PendingRequest[]> => {
    const all = await askHil(z.array(pendingRequest), question);
    return isWhole ? all : maskedRows(all);
  };
  const links = `/identities/${encodeURIComponent(linkOwnerOf(subject))}`;
  const callRows = (id: string) => askLedger(rows, get(`/audit/correlation/${encodeURIComponent(id)}`));
  const standingOf = async (of: ServiceName, check: () => Promise<string>): Promise<ServiceHealth> => {
    const began = performance.now();
    const name = serviceHead(of);
    const told = (ok: boolean, words: string) => ({ name, ok, words, tookMs: Math.round(performance.now() - began) });
    const late = () => new Error(`no answer within ${limits.healthMs} ms`);
    try {
      return told(true, await within(limits.healthMs, Promise.resolve().then(check), late));
    } catch (error) {
      return told(false, errorText(error));
    }
  };
  const checks: ServiceChecks = { ...seen, ...readiness };
  const readinessOf = (name: ServiceName): Promise<ServiceHealth> =>
    standingOf(name, async () => {
      await checks[name]?.();
      return 'answers';
    });
  /** The review service has a connection to the engine; the console has none. */
  const workflows = async (): Promise<string> => {
    const { available, reason } = await askHil(orchestratorStanding, get('/orchestrator'), limits.healthMs).catch(
      (error: unknown) => {
        throw new Error(`not known: ${errorText(error)}`);
      },
    );
    if (!available) throw new Error(`nothing can be decided: ${reason ?? 'it is away'}`);
    return 'answers';
  };
  const policyInputOf = (correlationId: string) =>
    askLedger(recordedPolicyInput, get(`/audit/correlation/${encodeURIComponent(correlationId)}/policy-input`));
  return {
    hil: {
      async summaries({ riskTier, ...query }) {
        const page = await askHil(
          queuePage,
          get('/pending/summaries', { ...query, risk_tier: riskTier, ...(!isWhole && { masked: 'true' }) }),
        );
        return isWhole ? page : { ...page, items: maskedList(page.items) };
      },
      row: (id) => unlessUnknown(askRow(get(`/pending/${encodeURIComponent(id)}`))),
      byCorrelation: (id) => unlessUnknown(askRow(get(`/pending/by-correlation/${encodeURIComponent(id)}`))),
      waitingOf: (agentId, limit) =>
        askRows(get('/pending', { status: 'pending', sort: 'oldest', agent_id: agentId, limit })),
      lately: (agentId) => askRows(get('/pending', { status: 'decided', agent_id: agentId, limit: LATELY })),
      decide: (id, { decision, reason, actionDigest, modificationDiff, passkey, requestId, via }) =>
        askRow(
          {
            method: 'POST',
            path: `/decide/${encodeURIComponent(id)}`,
            doubt: MAY_BE_DECIDED,
            headers: { 'x-request-id': requestId },
            body: {
              decision,
              reason,
              action_digest: actionDigest,
              ...(passkey && { passkey }),
              ...(modificationDiff && { modification_diff: modificationDiff }),
              ...(via && { decided_via: via }),
            },
          },
          limits.decideMs,
        ),
      assign: (id, to) =>
        askRow({
          method: 'POST',
          path: `/pending/${encodeURIComponent(id)}/assign`,
          body: { assigned_to: to },
          doubt: 'It may have assigned the call: look at it before you assign it again.',
        }),
      note: (id, summary, expected) =>
        askRow({
          method: 'PATCH',
          path: `/pending/${encodeURIComponent(id)}/incident`,
          body: { incident_summary: summary, expected_summary: expected },
          doubt: 'It may have saved the note: look at the call before you write it again.',
        }),
      tenant: () => askHil(tenantReviews, get(`/admin/tenants/${encodeURIComponent(ownTenant())}/lifecycle`)),
      passkeys: async () => (await askHil(ownPasskeys, get('/auth/passkeys'))).passkeys,
      chatLink: () => unlessUnknown(askHil(chatLink, get(links))),
      linkChat: (code) =>
        askHil(chatLink, {
          method: 'POST',
          path: '/identities/upsert',
          body: { oidc_sub: linkOwnerOf(subject), link_code: code },
          doubt: 'It may have linked the account: load the page again before you take another code.',
        }),
      async unlinkChat(chat) {
        await askHil(z.object({ cleared: z.boolean() }), {
          method: 'DELETE',
          path: `${links}/${chat}`,
          doubt: MAY_BE_UNLINKED,
        });
      },
      unlinkChatOf: (name, chat) =>
        askHil(chatLinkRemoved, {
          method: 'POST',
          path: '/identities/removals',
          body: { oidc_sub: linkOwnerOf(name), chat },
          doubt: MAY_BE_UNLINKED,
        }),
      verifyLink: (token) =>
        askHil(verifiedDecisionLink, { method: 'POST', path: '/decision-link/verify', body: { token } }),
    },
    ledger: {
      call: callRows,
      async ended(id, withinMs) {
        for (let leftMs = withinMs; ; leftMs -= LOOK_EVERY_MS) {
          const found = await callRows(id);
          if (leftMs <= 0 || endOf(found) !== null) return found;
          await sleep(LOOK_EVERY_MS);
        }
      },
      rows: ({ agent, seqFrom, ...query }) =>
        askLedger(rows, get('/audit/agent/rows', { agent_id: agent, ...query, seq_from: seqFrom })),
      maskedParams: (id) => askLedger(masked, get(`/audit/entry/${encodeURIComponent(id)}/masked-params`)),
      async facts(correlationId) {
        const { input } = await policyInputOf(correlationId);
        // Its arguments are not masked: no page has them.
        return Object.fromEntries(FACTS_SHOWN.map((name) => [name, input?.[name] ?? null]));
      },
      async inclusion(seq) {
        const proof = await unlessUnknown(
          askLedger(inclusionProof, { ...get('/proof/inclusion', { seq }), isOfAll: true }),
        );
        // The route proves any row. Without its content nobody can say whose it is.
        const entry = proof?.entry;
        return entry && (tenant === null || entry['tenant'] === tenant) ? proof : null;
      },
      hunt: (query) => askLedger(hunt, get('/audit/hunt', { ...query }), limits.reportMs),
      narrative: (agent, window) => {
        const { part, query: agent_id } = nameInPath(agent);
        const question = get(`/audit/agents/${part}/narrative`, { ...(agent_id && { agent_id }), window });
        return askLedger(narrative, question, limits.reportMs);
      },
      activity: (since_hours, limit) =>
        keptOf(['activity', since_hours, limit], () =>
          askLedger(agentActivity, get('/analysis/agent-activity', { since_hours, limit }), limits.reportMs),
        ),
      activityOf: (agent_id, since_hours) =>
        keptOf(['activity of', since_hours, agent_id], () =>
          askLedger(agentActivity, get('/analysis/agent-activity', { since_hours, agent_id }), limits.reportMs),
        ),
      saidByRules: (since_hours, limit) =>
        keptOf(['said by rules', since_hours, limit], async () => {
          const from = new Date(clock() - since_hours * HOUR_MS).toISOString();
          const asked = { agent_id: '*', methods: 'proxy.verdict', from, limit };
          const verdicts = await askLedger(rows, get('/audit/agent/rows', asked));
          // Nothing else of thousands of rows is kept.
          return verdicts.map(({ policy_decision: decision }) => ({
            policy_decision: decision && {
              reasons: decision['reasons'] ?? null,
              review_reasons: decision['review_reasons'] ?? null,
            },
          }));
        }),
      drift: (limit) =>
        keptOf(['drift', limit], () =>
          askLedger(fleetBehavioralDiff, get('/analysis/fleet-behavioral-diff', { limit }), limits.reportMs),
        ),
      silent: (since_hours) =>
        keptOf(['silent', since_hours], () =>
          askLedger(silentAgents, get('/analysis/silent-agents', { since_hours }), limits.reportMs),
        ),
      spend: (window, limit) =>
        keptOf(['spend', window, limit], () =>
          askLedger(spend, get('/finops/spend', { window, limit }), limits.reportMs),
        ),
      tenant: () =>
        askLedger(z.array(lifecycleReceipt), get(`/admin/tenants/${encodeURIComponent(ownTenant())}/lifecycle`)),
      cases: (status, limit) => askLedger(z.array(incidentCase), get('/cases', { status, limit })),
      case: (id) =>
        unlessUnknown(askLedger(caseWithEvidence, get(`/cases/${encodeURIComponent(id)}`), limits.reportMs)),
      openCase: (title, subjects, request_id) =>
        askLedger(incidentCase, inCases('', { title, ...subjects, actor: subject, request_id }, MAY_BE_OPENED)),
      async noteInCase(id, detail, request_id) {
        const at = new Date(clock()).toISOString();
        await askLedger(
          null,
          inCases(
            `/${encodeURIComponent(id)}/timeline`,
            { at, kind: 'note', actor: subject, detail, request_id },
            MAY_BE_NOTED,
          ),
        );
      },
      async classifyCase(id, severity) {
        const path = `/${encodeURIComponent(id)}/classify`;
        await askLedger(caseClassification, inCases(path, { severity, actor: subject }, MAY_BE_CHANGED));
      },
      async setCaseStatus(id, status) {
        await askLedger(null, inCases(`/${encodeURIComponent(id)}/status`, { status, actor: subject }, MAY_BE_CHANGED));
      },
      async attachToCase(id, subjects) {
        await askLedger(
          null,
          inCases(`/${encodeURIComponent(id)}/attach`, { ...subjects, actor: subject }, MAY_BE_CHANGED),
        );
      },
      async exports() {
        try {
          return await askLedger(z.array(exportRecord), { ...get('/exports'), isOfAll: true });
        } catch (error) {
          if (error instanceof GateError && error.code === 'export_sink_unavailable') return { noPlace: error.message };
          throw error;
        }
      },
      exportNow: () =>
        copying('the chain', () =>
          askLedger(
            exportPass,
            { method: 'POST', path: '/export', isOfAll: true, doubt: MAY_BE_COPIED },
            limits.exportMs,
          ),
        ),
      regulatory: (query) => regulatory(ownTenant(), query),
      compliance: (window) =>
        counting(ownTenant(), () =>
          askLedger(
            complianceRegister,
            { method: 'POST', path: '/compliance/evidence', query: { ...window } },
            limits.exportMs,
          ),
        ),
      chain: chain.health,
      broken: chain.broken,
    },
    brain: {
      snapshot: () => askBrain(modelSnapshot, get('/model-snapshot')),
      narrate: (question) =>
        askBrain(
          decisionNarrated,
          { method: 'POST', path: '/narrate-decision', body: { ...question, tenant } },
          limits.narrateMs,
        ),
    },
    searches: {
      list: () => searches.list(owner),
      save: (search) => searches.save(owner, search),
      forget: (name) => searches.forget(owner, name),
    },
    async judgedAgain(correlationId) {
      const { seq, input, decision } = await policyInputOf(correlationId);
      if (seq === null || decision === null) return null;
      if (input === null) return { seq, not: 'purged' };
      // The rules are asked about each call of a batch by itself, which only its pipeline does.
      if (input['method'] === BATCH_METHOD) return { seq, not: 'batch' };
      const now = await engine.ask(policyDecision, { method: 'POST', path: '/evaluate', body: input, isOfAll: true });
      // What was said then is as the ledger keeps it, or kept it.
      const secrets = namedSecrets(input['arguments'] ?? null);
      const held = (name: 'reasons' | 'review_reasons') => [
        ...heldAgainst<readonly string[]>(decision[name], now[name], keptReasons, secrets),
      ];
      return { seq, then: decision, now: { ...now, reasons: held('reasons'), review_reasons: held('review_reasons') } };
    },
    policy: policiesOver(engine, {
      unlessUnknown,
      // The way of signing in is who says that it is this person.
      by: (reason) => ({ reason, actor_sub: subject, actor_idp: mode }),
      health: () => readinessOf('policy'),
      limits,
    }),
    health: () =>
      Promise.all([
        ...(Object.keys(checks) as ServiceName[]).map(readinessOf),
        ...(hasEngine ? [standingOf('engine', workflows)] : []),
      ]),
  };
}
