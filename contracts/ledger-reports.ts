import { z } from 'zod';
import { jsonObject } from './json.js';

const count = z.number().int().min(0);
const rate = z.number().min(0).max(1);

/** Rolling windows of a narrative (docs/architecture/ledger-reads.md#narrative). */
export const narrativeWindow = z.enum(['1d', '7d', '30d', '90d']);
export type NarrativeWindow = z.infer<typeof narrativeWindow>;

/** An agent's activity as a story, with the numbers it is made of. Derived from rows; never evidence itself. */
export const narrative = z.object({
  agent_id: z.string(),
  window: narrativeWindow,
  from: z.string(),
  to: z.string(),
  generated_at: z.string(),
  /** Requests: one per verdict. */
  total: count,
  headline: z.string(),
  /** Sentences in reading order, each with the places of up to five rows behind it. */
  story: z.array(z.object({ text: z.string(), seqs: z.array(z.number().int()) })),
  sparkline: z.object({
    bucket: z.enum(['hour', 'day']),
    points: z.array(z.object({ at: z.string(), total: count, denied: count, reviewed: count })),
  }),
  outcomes: z.object({ allowed: count, denied: count, reviewed: count, would_deny: count, would_review: count }),
  executions: z.object({ completed: count, failed: count, uncertain: count, not_run: count }),
  intents: z.array(z.object({ intent_category: z.string(), count, percent: z.number() })),
  tools: z.array(z.object({ tool_name: z.string(), count })),
  signals: z.array(z.object({ signal: z.string(), count })),
  deny_reasons: z.array(
    z.object({ reason: z.string(), count, sample_reasoning: z.string(), sample_seq: z.number().int() }),
  ),
  /**
   * How reviews ended: `approved` and `denied` by people. `changed_then_denied`: a person approved it with changes, and policy denied that.
   * `denied_by_gate`: its tenant left, or its demonstration was cleaned up.
   */
  hil: z.object({
    pending: count,
    approved: count,
    denied: count,
    expired: count,
    changed_then_denied: count,
    approved_by_rule: count,
    denied_by_gate: count,
    withdrawn: count,
    unreachable: count,
  }),
  notable: z.array(
    z.object({
      seq: z.number().int(),
      at: z.string(),
      event_kind: z.string(),
      summary: z.string(),
      correlation_id: z.string().nullable(),
    }),
  ),
  deep_review: z.object({
    findings_7d: count,
    brain_delta: z.object({ Agreed: count, Escalated: count, Downgraded: count }),
    top_disagreement: z
      .object({
        seq: z.number().int(),
        at: z.string(),
        verdict: z.string().nullable(),
        brain_delta: z.string(),
        confidence: z.number(),
        reasoning: z.string(),
        original_correlation_id: z.string().nullable(),
      })
      .nullable(),
  }),
});
export type Narrative = z.infer<typeof narrative>;

/** The agents behind the rows that a search found (docs/architecture/ledger-reads.md#hunt-and-corpus). */
export const hunt = z.object({
  agents: z.array(
    z.object({
      agent_id: z.string(),
      agent_name: z.string().nullable(),
      hit_count: count,
      deny_count: count,
      worst_signal: z.string().nullable(),
      /** An agent, or what of Gate itself wrote such rows, told by all rows of the window. */
      principal: z.enum(['agent', 'service', 'tenant']),
      latest_hit_ts: z.string(),
      latest_correlation_id: z.string().nullable(),
      methods: z.array(z.string()),
    }),
  ),
  returned: count,
  from: z.string().nullable(),
  to: z.string().nullable(),
});
export type Hunt = z.infer<typeof hunt>;

/** Recorded policy inputs with their verdicts, to be judged again. */
export const replayCorpus = z.object({
  corpus: z.array(
    z.object({
      correlation_id: z.string(),
      captured_at: z.string(),
      agent_id: z.string(),
      method: z.string(),
      input: z.looseObject({}),
      historical_verdict: z.object({
        allow: z.boolean(),
        reasons: z.array(z.string()),
        review_reasons: z.array(z.string()),
      }),
    }),
  ),
  /** Rows of the window whose input is still stored. */
  total_in_window: count,
  returned: count,
  /** True when there were more than `limit`; the returned ones are then spread evenly over the window. */
  sampled: z.boolean(),
});
export type ReplayCorpus = z.infer<typeof replayCorpus>;

const period = z.object({
  since: z.string(),
  until: z.string(),
  total: count,
  authorized: count,
  denied: count,
  deny_rate: rate,
  intent_mean: z.number().nullable(),
});

const behavior = period.extend({
  tool_mix: z.array(z.object({ tool_type: z.string(), count })),
  /** Requests by hour of the day, UTC. */
  hourly: z.array(count).length(24),
});
export type Behavior = z.infer<typeof behavior>;

const change = {
  new_tools: z.array(z.string()),
  vanished_tools: z.array(z.string()),
  deny_rate_delta: z.number(),
  intent_delta: z.number(),
  total_delta: z.number().int(),
};
const judged = {
  drifted: z.boolean(),
  /** One of the windows has too few requests to call a difference drift. */
  insufficient: z.boolean(),
};

/** An agent's recent behaviour compared with its earlier behaviour. The windows do not overlap. */
export const behavioralBaseline = z.object({
  agent_id: z.string(),
  baseline_days: z.number().int(),
  recent_days: z.number().int(),
  baseline: behavior,
  recent: behavior,
  deviation: z.object({ tool_mix: rate, hourly: rate, intent: rate, deny_rate: rate, overall: rate }),
  diff: z.object(change),
  ...judged,
});
export type BehavioralBaseline = z.infer<typeof behavioralBaseline>;

/** The recent and earlier behaviour of every agent (docs/architecture/ledger-reads.md#reports). */
export const fleetBehavioralDiff = z.object({
  baseline_days: z.number().int(),
  recent_days: z.number().int(),
  since_baseline: z.string(),
  since_recent: z.string(),
  now: z.string(),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      recent_total: count,
      baseline_total: count,
      ...change,
      drift_overall: rate,
      ...judged,
    }),
  ),
  /** Of all agents, `agents` being the first of them. */
  agents_total: count,
  /** Of whom nothing can be said. */
  insufficient_total: count,
  returned: count,
});
export type FleetBehavioralDiff = z.infer<typeof fleetBehavioralDiff>;

const judgedCalls = { allowed: count, denied: count, reviewed: count };

/** How much attention a call took by its verdict: nobody's, a rule's, a person's, several people's; or it was refused. */
export const callTier = z.enum(['green', 'auto', 'standard', 'strict', 'red']);
export type CallTier = z.infer<typeof callTier>;
/** Counts for each part of the window, oldest first, of the tiers that there were. */
const tiersOverTime = z.partialRecord(callTier, z.array(count));
export type TiersOverTime = z.infer<typeof tiersOverTime>;

/** What the agents of a window did, by tool and verdict; those with most calls first. Derived from rows; never evidence itself. */
export const agentActivity = z.object({
  since: z.string(),
  until: z.string(),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      /** Calls: one per verdict. */
      total: count,
      ...judgedCalls,
      /** Of the reviewed ones, those that a person refused within the window. */
      denied_by_people: count,
      last_at: z.string(),
      last_correlation_id: z.string().nullable(),
      /** The tools that were called most. */
      tools: z.array(z.object({ tool_name: z.string(), ...judgedCalls, tiers: tiersOverTime.optional() })),
      /** As those of its tools, and with the tools that are not told: where one agent is asked for. */
      tiers: tiersOverTime.optional(),
      /** How many tools there were. */
      tools_total: count,
      /** Equal parts of the window, oldest first. */
      points: z.array(z.object({ at: z.string(), total: count, denied: count, reviewed: count })),
    }),
  ),
  returned: count,
  /** How many agents called anything, also those not returned. */
  agents_total: count,
});
export type AgentActivity = z.infer<typeof agentActivity>;

/** The tools an agent needs, derived from what it was allowed to do. */
export const envelopeRecommendations = z.object({
  agent_id: z.string(),
  window_days: z.number().int(),
  since: z.string(),
  until: z.string(),
  total_calls: count,
  used_tools: z.array(
    z.object({ tool_type: z.string(), used_count: count, confidence: z.enum(['high', 'medium', 'low']) }),
  ),
});
export type EnvelopeRecommendations = z.infer<typeof envelopeRecommendations>;

const canaryWindow = period.extend({
  signal_mix: z.array(z.object({ signal: z.string(), count })),
  models: z.array(
    z.object({
      brain_version: z.string(),
      mock_mode: z.boolean(),
      provider_models: z.record(z.string(), z.string()),
      observed: count,
    }),
  ),
  /** Inspections whose sealed evidence was opened for `models`. */
  models_sampled: count,
});
export type CanaryWindow = z.infer<typeof canaryWindow>;

/** Compares windows of equal length before and after a change of models. */
export const modelUpgradeCanary = z.object({
  cutover: z.string(),
  window_hours: z.number().int(),
  before: canaryWindow,
  after: canaryWindow,
  deltas: z.object({
    deny_rate_delta: z.number(),
    intent_mean_delta: z.number(),
    total_delta: z.number().int(),
    new_signals: z.array(z.string()),
    vanished_signals: z.array(z.string()),
  }),
  model_changed: z.boolean(),
  insufficient: z.boolean(),
});
export type ModelUpgradeCanary = z.infer<typeof modelUpgradeCanary>;

/** Agents that were active and have gone silent. */
export const silentAgents = z.object({
  threshold_hours: z.number(),
  generated_at: z.string(),
  silent_agents: z.array(
    z.object({
      agent_name: z.string(),
      tenant: z.string().nullable(),
      last_activity: z.string().nullable(),
      /** `null` for an agent that is known only by its traffic. */
      enrolled_at: z.string().nullable(),
      silent_hours: z.number(),
      never_active: z.boolean(),
    }),
  ),
  active_total: count,
});
export type SilentAgents = z.infer<typeof silentAgents>;

/** Estimated inspection cost; never an invoice. Totals cover every agent, also those not returned. */
export const spend = z.object({
  window: z.string().nullable(),
  agents: z.array(
    z.object({
      agent_id: z.string(),
      agent_name: z.string().nullable(),
      spend_micros: count,
      request_count: count,
      priced_count: count,
      latest_ts: z.string(),
    }),
  ),
  total_spend_micros: count,
  total_requests: count,
  total_priced: count,
  returned: count,
});
export type Spend = z.infer<typeof spend>;

/** What a call was judged by, to be judged again (docs/architecture/ledger-reads.md#hunt-and-corpus). */
export const recordedPolicyInput = z.object({
  /** The place of the row that commits to it; `null` where policy judged no such call. */
  seq: z.number().int().min(1).nullable(),
  /** The whole policy input, unmasked; `null` when it was purged. */
  input: jsonObject.nullable(),
  /** What policy said then. */
  decision: jsonObject.nullable(),
  /** The whole request, where it is a batch: policy judges each call of one by itself. `null` for others, and when it was purged. */
  request: jsonObject.nullable(),
  /** What the row of the verdict says; `null` without one. */
  verdict: jsonObject.nullable(),
  /** Whether inspection answered, what it said, why, and in which lanes a model did; `null` without a row of it. */
  inspection: jsonObject.nullable(),
});
export type RecordedPolicyInput = z.infer<typeof recordedPolicyInput>;
