import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { LedgerService } from '../../console/services.js';
import { complianceRegister } from '../../contracts/compliance.js';
import { lifecycleReceipt } from '../../contracts/erasure.js';
import { jsonObject } from '../../contracts/json.js';
import { ledgerEntry } from '../../contracts/ledger.js';
import { exportPass, exportRecord } from '../../contracts/ledger-export.js';
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
import type { Person } from '../../console/visit.js';
import { GateError } from '../../domain/errors.js';
import { endOf } from '../../domain/evidence/ended.js';
import { nameInPath } from '../../domain/name-in-path.js';
import type { AskLimits } from './ask-limits.js';
import { casesOver } from './cases.js';
import type { ChainWatch } from './chain-health.js';
import type { keptAnswers } from './kept.js';
import { get, type Neighbour, unlessUnknown } from './neighbour.js';
import type { OneAtATime } from './one-at-a-time.js';
import type { RegulatoryBundles } from './regulatory.js';

/** What is kept of the ledger for all who ask. */
export interface LedgerForAll {
  readonly chain: ChainWatch;
  readonly regulatory: RegulatoryBundles;
  /** Registers of a tenant, each of which walks the whole chain. */
  readonly counting: OneAtATime;
  /** Copies of the chain, which is everybody's. */
  readonly copying: OneAtATime;
  /** Reports over all agents of a tenant read many rows, and everybody's are the same. */
  readonly kept: ReturnType<typeof keptAnswers>;
}

interface Asking extends LedgerForAll {
  readonly person: Person;
  /** Throws for somebody who has all tenants. */
  readonly ownTenant: () => string;
  readonly limits: Pick<AskLimits, 'reportMs' | 'exportMs'>;
  readonly clock: () => number;
}

/** How often a call is looked at that somebody waits for. */
const LOOK_EVERY_MS = 150;
const HOUR_MS = 3_600_000;
/** What stays in doubt where no answer came. */
const MAY_BE_COPIED = 'It may have copied rows, or still be copying them: look at the list before you copy again.';
/** What pages show of a policy input: classes of findings, and pointers to arguments. */
const FACTS_SHOWN = ['taint', 'injection_suspicions', 'injected_at', 'intent_suspicions'] as const;

const rows = z.array(ledgerEntry);
// An older ledger says neither of these.
const unlessOlder = z.number().int().nullable().default(null);
const drift = fleetBehavioralDiff.extend({ agents_total: unlessOlder, insufficient_total: unlessOlder });
const unlessCounted = z.number().int().default(0);
const story = narrative.extend({
  hil: narrative.shape.hil.extend({
    changed_then_denied: unlessCounted,
    approved_by_rule: unlessCounted,
    denied_by_gate: unlessCounted,
    withdrawn: unlessCounted,
    unreachable: unlessCounted,
  }),
});
const masked = z.object({ masked_params: jsonObject.nullable(), retention_class: z.string().nullable() });

/** What policy was told of a call, as the ledger recorded it, and what it said. */
export const recordedInput = (ledger: Neighbour, correlationId: string) =>
  ledger.ask(recordedPolicyInput, get(`/audit/correlation/${encodeURIComponent(correlationId)}/policy-input`));

/** The ledger as one person may ask it, of the rows of his tenant. */
export function ledgerOver(
  ledger: Neighbour,
  { person: { tenant, subject }, ownTenant, chain, regulatory, counting, copying, kept, limits, clock }: Asking,
): LedgerService {
  const { ask } = ledger;
  const keptOf = <Value>(key: readonly unknown[], asked: () => Promise<Value>): Promise<Value> =>
    kept([tenant ?? '', ...key], asked);
  const callRows = (id: string) => ask(rows, get(`/audit/correlation/${encodeURIComponent(id)}`));
  return {
    ...casesOver(ledger, { subject, limits, clock }),
    call: callRows,
    async ended(id, withinMs) {
      for (let leftMs = withinMs; ; leftMs -= LOOK_EVERY_MS) {
        const found = await callRows(id);
        if (leftMs <= 0 || endOf(found) !== null) return found;
        await sleep(LOOK_EVERY_MS);
      }
    },
    rows: ({ agent, seqFrom, ...query }) =>
      ask(rows, get('/audit/agent/rows', { agent_id: agent, ...query, seq_from: seqFrom })),
    maskedParams: (id) => ask(masked, get(`/audit/entry/${encodeURIComponent(id)}/masked-params`)),
    async facts(correlationId) {
      const { input } = await recordedInput(ledger, correlationId);
      // Its arguments are not masked: no page has them.
      return Object.fromEntries(FACTS_SHOWN.map((name) => [name, input?.[name] ?? null]));
    },
    async inclusion(seq) {
      const proof = await unlessUnknown(ask(inclusionProof, { ...get('/proof/inclusion', { seq }), isOfAll: true }));
      // The route proves any row. Without its content nobody can say whose it is.
      const entry = proof?.entry;
      return entry && (tenant === null || entry['tenant'] === tenant) ? proof : null;
    },
    hunt: (query) => ask(hunt, get('/audit/hunt', { ...query }), limits.reportMs),
    narrative: (agent, window) => {
      const { part, query: agent_id } = nameInPath(agent);
      const question = get(`/audit/agents/${part}/narrative`, { ...(agent_id && { agent_id }), window });
      return ask(story, question, limits.reportMs);
    },
    activity: (since_hours, limit) =>
      keptOf(['activity', since_hours, limit], () =>
        ask(agentActivity, get('/analysis/agent-activity', { since_hours, limit }), limits.reportMs),
      ),
    activityOf: (agent_id, since_hours) =>
      keptOf(['activity of', since_hours, agent_id], () =>
        ask(agentActivity, get('/analysis/agent-activity', { since_hours, agent_id }), limits.reportMs),
      ),
    saidByRules: (since_hours, limit) =>
      keptOf(['said by rules', since_hours, limit], async () => {
        const from = new Date(clock() - since_hours * HOUR_MS).toISOString();
        const asked = { agent_id: '*', methods: 'proxy.verdict', from, limit };
        const verdicts = await ask(rows, get('/audit/agent/rows', asked));
        // Nothing else of thousands of rows is kept.
        return verdicts.map(({ policy_decision: decision }) => ({
          policy_decision: decision && {
            reasons: decision['reasons'] ?? null,
            review_reasons: decision['review_reasons'] ?? null,
          },
        }));
      }),
    drift: (limit) =>
      keptOf(['drift', limit], () => ask(drift, get('/analysis/fleet-behavioral-diff', { limit }), limits.reportMs)),
    silent: (since_hours) =>
      keptOf(['silent', since_hours], () =>
        ask(silentAgents, get('/analysis/silent-agents', { since_hours }), limits.reportMs),
      ),
    spend: (window, limit) =>
      keptOf(['spend', window, limit], () => ask(spend, get('/finops/spend', { window, limit }), limits.reportMs)),
    tenant: () => ask(z.array(lifecycleReceipt), get(`/admin/tenants/${encodeURIComponent(ownTenant())}/lifecycle`)),
    async exports() {
      try {
        return await ask(z.array(exportRecord), { ...get('/exports'), isOfAll: true });
      } catch (error) {
        if (error instanceof GateError && error.code === 'export_sink_unavailable') return { noPlace: error.message };
        throw error;
      }
    },
    exportNow: () =>
      copying('the chain', () =>
        ask(exportPass, { method: 'POST', path: '/export', isOfAll: true, doubt: MAY_BE_COPIED }, limits.exportMs),
      ),
    regulatory: (query) => regulatory(ownTenant(), query),
    compliance: (window) =>
      counting(ownTenant(), () =>
        ask(
          complianceRegister,
          { method: 'POST', path: '/compliance/evidence', query: { ...window } },
          limits.exportMs,
        ),
      ),
    chain: chain.health,
    broken: chain.broken,
  };
}
