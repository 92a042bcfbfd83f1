import { z } from 'zod';
import type { ChainHealth, ServiceHealth, Services } from '../../console/services.js';
import type { Person } from '../../console/visit.js';
import { verifiedDecisionLink } from '../../contracts/decision-link.js';
import { ledgerEntry } from '../../contracts/ledger.js';
import { policyList } from '../../contracts/policy.js';
import { inclusionProof } from '../../contracts/ledger-proof.js';
import { agentActivity, fleetBehavioralDiff, hunt, narrative, silentAgents } from '../../contracts/ledger-reports.js';
import { jsonObject } from '../../contracts/json.js';
import { orchestratorStanding, pendingRequest, pendingSummary } from '../../contracts/review.js';
import { createServiceClient } from '../../activities/clients/service-client.js';
import { errorText, GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';
import type { Over } from '../plugins/declaration.js';
import type { ReadinessChecks } from '../plugins/health.js';
import type { keptAnswers } from './kept.js';
import type { ReviewProof } from './sign-in/mode.js';

/** How long somebody waits for a service, milliseconds. */
export interface AskLimits {
  /** Before a page shows the rest. */
  readonly readMs: number;
  /** A report reads many rows. */
  readonly reportMs: number;
  /** A decision waits for its turn and then for its call; HIL gives up first, and says what it knows. */
  readonly decideMs: number;
  readonly healthMs: number;
  /** An open stream says something every 15 s, be it that nothing came. */
  readonly quietMs: number;
}
export const ASK_LIMITS: AskLimits = {
  readMs: 5_000,
  reportMs: 20_000,
  decideMs: 45_000,
  healthMs: 2_000,
  quietMs: 60_000,
};

export interface NeighboursOver {
  readonly hil: Promise<Over>;
  readonly ledger: Promise<Over>;
  readonly policy: Promise<Over>;
  /** Whether each service is ready, by its name for people. */
  readonly readiness: ReadinessChecks;
  /** `ASK_LIMITS` unless said otherwise. */
  readonly limits?: AskLimits;
}

/** Decided calls of an agent among which those of a tool are looked for. */
const LATELY = 50;

/** The neighbours, and what is kept of one for all who ask. */
export interface Reached extends NeighboursOver {
  readonly chain: () => Promise<ChainHealth | 'walking'>;
  /** Reports over all agents of a tenant read many rows, and everybody's are the same. */
  readonly kept: ReturnType<typeof keptAnswers>;
}

const queuePage = z.object({
  items: z.array(pendingSummary),
  next_cursor: z.string().nullable(),
  pending_count: z.number().int(),
});
const rows = z.array(ledgerEntry);
const masked = z.object({ masked_params: jsonObject.nullable(), retention_class: z.string().nullable() });

/** Says to the review service what somebody may do from now on. */
export async function tellStanding(hil: Promise<Over>, proof: ReviewProof, tenant: string): Promise<void> {
  const away = (detail: string, cause?: unknown) => new GateError('console_neighbour_away', detail, { cause });
  const { readMs } = ASK_LIMITS;
  const reached = await within(readMs, hil, () => away('the review service is not there yet'));
  const ask = createServiceClient('the review service', reached, away);
  const headers = { ...proof, 'x-gate-tenant-scope': tenant };
  await ask(null, { method: 'POST', path: '/people/standing', headers, timeoutMs: readMs });
}

/**
 * The services over mutual TLS with the console's own certificate. `proof` is what proves the person to the review service, which alone gets
 * it; the tenant of every question is the person's.
 */
export function servicesFor(
  { tenant }: Person,
  proof: ReviewProof,
  { hil, ledger, policy, readiness, chain, kept, limits = ASK_LIMITS }: Reached,
): Services {
  const asking = (name: string, over: Promise<Over>, shown: Readonly<Record<string, string>> = {}) => {
    const headers = { ...shown, 'x-gate-tenant-scope': tenant };
    const away = (detail: string, cause?: unknown) => new GateError('console_neighbour_away', detail, { cause });
    const asked = over.then((reached) => createServiceClient(name, reached, away));
    return async <Type extends z.ZodType | null>(
      type: Type,
      question: { method: 'GET' | 'POST'; path: string; headers?: Record<string, string>; body?: object },
      timeoutMs = limits.readMs,
    ) => {
      // A service that is being started is one that does not answer.
      const ask = await within(timeoutMs, asked, () => away(`${name} is not there yet`));
      return ask(type, { ...question, timeoutMs, headers: { ...headers, ...question.headers } });
    };
  };
  const askHil = asking('the review service', hil, proof);
  const askToDecide = asking(
    'the review service, which may have taken the decision: look at the call before you decide again. It',
    hil,
    proof,
  );
  const askLedger = asking('the ledger', ledger);
  const askPolicy = asking('the policy engine', policy);
  const get = (path: string, query: Readonly<Record<string, string | number | undefined>> = {}) => {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return { method: 'GET' as const, path: `${path}?${new URLSearchParams(given).toString()}` };
  };
  const unlessUnknown = async <Value>(asked: Promise<Value>): Promise<Value | null> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof GateError && error.code === 'not_found') return null;
      throw error;
    }
  };
  /** The review service has a connection to the engine; the console has none. */
  const engine = async (): Promise<ServiceHealth> => {
    const name = 'workflow engine';
    try {
      const { available, reason } = await askHil(orchestratorStanding, get('/orchestrator'), limits.healthMs);
      return {
        name,
        ok: available,
        words: available ? 'answers' : `nothing can be decided: ${reason ?? 'it is away'}`,
      };
    } catch (error) {
      return { name, ok: false, words: `not known: ${errorText(error)}` };
    }
  };
  return {
    hil: {
      summaries: ({ riskTier, ...query }) =>
        askHil(queuePage, get('/pending/summaries', { ...query, risk_tier: riskTier })),
      row: (id) => unlessUnknown(askHil(pendingRequest, get(`/pending/${encodeURIComponent(id)}`))),
      byCorrelation: (id) =>
        unlessUnknown(askHil(pendingRequest, get(`/pending/by-correlation/${encodeURIComponent(id)}`))),
      lately: (agentId) =>
        askHil(z.array(pendingRequest), get('/pending', { status: 'decided', agent_id: agentId, limit: LATELY })),
      decide: (id, { decision, reason, actionDigest, modificationDiff, passkey, requestId }) =>
        askToDecide(
          pendingRequest,
          {
            method: 'POST',
            path: `/decide/${encodeURIComponent(id)}`,
            headers: { 'x-request-id': requestId },
            body: {
              decision,
              reason,
              action_digest: actionDigest,
              ...(passkey && { passkey }),
              ...(modificationDiff && { modification_diff: modificationDiff }),
            },
          },
          limits.decideMs,
        ),
      assign: (id, to) =>
        askHil(pendingRequest, {
          method: 'POST',
          path: `/pending/${encodeURIComponent(id)}/assign`,
          body: { assigned_to: to },
        }),
      verifyLink: (token) =>
        askHil(verifiedDecisionLink, { method: 'POST', path: '/decision-link/verify', body: { token } }),
    },
    ledger: {
      call: (id) => askLedger(rows, get(`/audit/correlation/${id}`, { tenant })),
      rows: ({ agent, ...query }) => askLedger(rows, get(`/audit/${encodeURIComponent(agent)}`, { tenant, ...query })),
      maskedParams: (id) => askLedger(masked, get(`/audit/entry/${id}/masked-params`, { tenant })),
      async inclusion(seq) {
        const proof = await unlessUnknown(askLedger(inclusionProof, get('/proof/inclusion', { seq })));
        // The route proves any row. Without its content nobody can say whose it is.
        return proof?.entry?.['tenant'] === tenant ? proof : null;
      },
      hunt: (query) => askLedger(hunt, get('/audit/hunt', { tenant, ...query }), limits.reportMs),
      narrative: (agent, window) =>
        askLedger(
          narrative,
          get(`/audit/agents/${encodeURIComponent(agent)}/narrative`, { tenant, window }),
          limits.reportMs,
        ),
      activity: (since_hours, limit) =>
        kept([tenant, 'activity', since_hours, limit], () =>
          askLedger(agentActivity, get('/analysis/agent-activity', { tenant, since_hours, limit }), limits.reportMs),
        ),
      drift: (limit) =>
        kept([tenant, 'drift', limit], () =>
          askLedger(fleetBehavioralDiff, get('/analysis/fleet-behavioral-diff', { tenant, limit }), limits.reportMs),
        ),
      silent: (since_hours) =>
        kept([tenant, 'silent', since_hours], () =>
          askLedger(silentAgents, get('/analysis/silent-agents', { tenant, since_hours }), limits.reportMs),
        ),
      chain,
    },
    policy: { list: () => askPolicy(policyList, get('/policies')) },
    health: () =>
      Promise.all([
        ...Object.entries(readiness).map(async ([name, check]) => {
          try {
            await within(limits.healthMs, Promise.resolve().then(check), () => new Error('no answer in time'));
            return { name, ok: true, words: 'answers' };
          } catch (error) {
            return { name, ok: false, words: errorText(error) };
          }
        }),
        engine(),
      ]),
  };
}
