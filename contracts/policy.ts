import { verifiedAttestation } from './verified-attestation.js';
import { z } from 'zod';
import { decoyKind } from './decoy-kinds.js';
import { injectedPlace } from './inspection.js';
import { jsonObject } from './json.js';

export const historyEvent = z.object({
  tool: z.string(),
  method: z.string(),
  ts_ms: z.number().int(),
  replica: z.string(),
});
export type HistoryEvent = z.infer<typeof historyEvent>;

/** How many of an agent's steps inspection and policy see. */
export const HISTORY_LENGTH = 16;
export const agentHistory = z.object({
  last_tool: z.string().nullable(),
  recent_sequence: z.array(historyEvent).max(HISTORY_LENGTH),
  /**
   * Steps after which policy watches what leaves (`sensitive` reads): the newest of each tool within the window. Kept separately, so that
   * no number of harmless calls pushes them out.
   */
  sensitive_steps: z.array(historyEvent).max(HISTORY_LENGTH).optional(),
});
export type AgentHistory = z.infer<typeof agentHistory>;

/** What an operator said a tool does. `read` and `change` run unless another rule objects; calls of the others wait or are denied. */
export const toolClass = z.enum(['read', 'change', 'review', 'strict', 'deny']);
export type ToolClass = z.infer<typeof toolClass>;

/** The operator's class of a tool. `suspended` says why it does not apply, or why the name alone lets no call run (`not_listed`). */
export const toolClassFact = z.object({
  class: toolClass.optional(),
  suspended: z.enum(['definition_changed', 'definition_not_seen', 'not_listed', 'unreadable']).optional(),
});
export type ToolClassFact = z.infer<typeof toolClassFact>;

/**
 * What a value is that an answer brought in. Addresses: `mail`, `url` with its path, `host`, `account` (IBAN, card and account numbers), `phone`.
 * `number`: five significant digits or more. `name`: up to three words. `text`: four words in their order.
 */
export const valueKind = z.enum(['mail', 'url', 'host', 'account', 'phone', 'number', 'name', 'text']);
export type ValueKind = z.infer<typeof valueKind>;

/**
 * Why nobody knows whether an answer held a value: its agent had more answers than are kept, it was larger than is kept, its row does not open, the
 * arguments hold more than is compared, or more values of answers than are listed.
 */
const LOST_BECAUSE = ['too_many_answers', 'too_large', 'unreadable', 'arguments', 'too_many_values'] as const;

/** A value in the arguments that an answer of a tool brought in, and that nothing vouches for (docs/architecture/information-flow.md). */
export const taint = z.object({
  /** The correlation id of the call whose answer brought it, the first one that did. */
  from: z.string(),
  /** The tool that gave the answer; empty where the answer was not kept whole, and may or may not hold the value. */
  tool: z.string(),
  /** With an empty tool: why it is not known. An earlier Gate did not say it. */
  lost: z.enum(LOST_BECAUSE).optional(),
  /** Where it stands in the answer, a JSON Pointer; `null` where that is not known. */
  field: z.string().nullable(),
  /** Where it stands in the arguments, a JSON Pointer. */
  argument: z.string(),
  kind: valueKind,
  /** Which call of a batch, from 0. */
  call: z.number().int().optional(),
});
export type Taint = z.infer<typeof taint>;

/** The Rego `input` (docs/architecture/verdict.md#policy-decision). Extra properties are allowed and visible to the rules. */
export const policyInput = z.looseObject({
  tool_type: z.string().min(1),
  agent_history: agentHistory,
  intent_score: z.number(),
  agent_id: z.string().nullish(),
  agent_kind: z.string().optional(),
  correlation_id: z.string().nullish(),
  method: z.string().nullish(),
  arguments: jsonObject.optional(),
  /** This call's share of its request, by size. It divides the limit for reading SQL among the calls of a batch. */
  request_share: z.number().min(0).max(1).optional(),
  current_time: z.string().optional(),
  recent_request_count: z.number().int().optional(),
  velocity_degraded: z.boolean().optional(),
  velocity_limit: z.number().int().optional(),
  force_hil: z.boolean().optional(),
  /** The call touches a decoy; absent where it does not. */
  decoy: z.object({ kind: decoyKind }).nullish(),
  request_cost_micros: z.number().int().optional(),
  cumulative_spend_micros: z.number().int().optional(),
  budget_micros: z.number().int().optional(),
  agent_spiffe: z.string().nullish(),
  tenant: z.string().nullish(),
  persona_drift_score: z.number().optional(),
  /** How far the call is from what its agent did before. Without enough history it is not `available`, and its score is 0. */
  drift: z
    .object({
      available: z.boolean(),
      score: z.number(),
      /** For a person to read. */
      reasons: z.array(z.string()),
      /** The kinds of the reasons, each once. */
      kinds: z.array(z.string()),
    })
    .optional(),
  injection_detected: z.boolean().optional(),
  injection_suspicions: z.array(z.string()).optional(),
  injected_at: z.array(injectedPlace).optional(),
  intent_suspicions: z.array(z.string()).optional(),
  brain_degraded: z.boolean().optional(),
  taint: z.array(taint).optional(),
  /** On whose behalf the agent asks, by a grant that was verified, and what it covers; absent without one. */
  grant: z
    .object({ act_sub: z.string(), idp: z.string(), scope: z.array(z.string()), yellow_scope: z.array(z.string()) })
    .nullish(),
  /** As which agent of another Gate the call is asked for, by a token that was used up for it; absent without one. */
  actor: z
    .object({
      sub: z.string(),
      trust_domain: z.string(),
      /** At that Gate. */
      tenant: z.string().optional(),
      agent: z.string().optional(),
    })
    .nullish(),
  /** What was verified of the platform of its agent, `null` where nothing counts; absent where the deployment does not ask. */
  attestation: verifiedAttestation.nullish(),
  /** The upstream's name, under which data and operators class its tools. */
  upstream: z.string().optional(),
  /** The operators' classes of this call's tools, by name. */
  tool_classes: z.record(z.string(), toolClassFact).optional(),
});
export type PolicyInput = z.infer<typeof policyInput>;

/**
 * What rules of operators find in `input`: what is told of a call, and what the policy engine sets itself (docs/architecture/policies.md#what-rules-read).
 */
export const RULE_INPUT: readonly string[] = [
  ...Object.keys(policyInput.shape),
  'acts',
  'environments',
  'found_in_arguments',
  'money',
  'names_say',
  'shell',
  'sql',
  'watched_by',
];

/** One text of the arguments that is SQL, or looks like it. */
export const sqlFinding = z.object({
  /**
   * From harmless to worst. `text` cannot be read as SQL, but is where only statements are expected or begins like one; `session` affects
   * only the connection; `unreadable` looks like SQL of some database and may do anything; `destructive` drops, truncates, or changes every
   * row of a table.
   */
  effect: z.enum(['text', 'none', 'read', 'session', 'change', 'unreadable', 'destructive']),
  /** The statement in a few words. */
  kind: z.string(),
  /**
   * How certain it is. `statement`: the whole text, or a whole statement in it. `phrase`: could also be English ("truncate description").
   * `mention`: in the middle of a text. `prose`: names no table ("delete from my list").
   */
  form: z.enum(['statement', 'phrase', 'mention', 'prose']),
  /** The argument names that lead to it. */
  path: z.array(z.string()),
});
export type SqlFinding = z.infer<typeof sqlFinding>;

/**
 * The SQL found in the arguments. The policy engine computes it from `arguments` and sets it as `input.sql`; a caller's field of that name
 * is overwritten.
 */
export const sqlInArguments = z.object({
  worst: sqlFinding.shape.effect,
  /** Worst first. */
  found: z.array(sqlFinding),
  /** True when there are more than are listed. */
  more: z.boolean(),
  /** Paths with texts that are not proven to be one plain read of SQL: one path for each argument name the rules know, and one for the rest. */
  other: z.array(
    z.object({
      path: z.array(z.string()),
      /** True when all texts there are single words that name no action, under the name of a setting: a table, an order, a format. */
      plain: z.boolean(),
      /** Next to one plain read: a `value` it has a placeholder for, or `prose` about it. Otherwise `text`, which may be what is asked. */
      role: z.enum(['text', 'value', 'prose']),
    }),
  ),
});
export type SqlInArguments = z.infer<typeof sqlInArguments>;

/** One text of the arguments that is a shell command which does more than look. */
export const shellFinding = z.object({
  /**
   * `changes` destroys, stops or alters something; `takes_over` runs foreign code, hands a shell to somebody or overwrites a disk;
   * `removes_root` removes a root, a home or everything.
   */
  effect: z.enum(['changes', 'takes_over', 'removes_root']),
  /** What it does, in a few words of Gate's own. */
  kind: z.string(),
  /** `prose` reads like text about commands: code shown in sentences, or followed by English words. A shell would still run it. */
  form: z.enum(['command', 'prose']),
  /** The argument names that lead to it. */
  path: z.array(z.string()),
});
export type ShellFinding = z.infer<typeof shellFinding>;

/** The shell commands found in the arguments. Set by the policy engine as `input.shell`, like `input.sql`. */
export const shellInArguments = z.object({
  worst: z.enum(['none', ...shellFinding.shape.effect.options]),
  /** Gravest first: one per effect and path, commands before prose. */
  found: z.array(shellFinding),
  /** True when there are more than are listed. */
  more: z.boolean(),
});
export type ShellInArguments = z.infer<typeof shellInArguments>;

/**
 * The money in the arguments: every amount that would move, and everybody who would get it. Set by the policy engine as `input.money`, like
 * `input.sql`. An amount that nothing says is paid (`price` without somebody to have it) is not among them.
 */
export const moneyInArguments = z.object({
  /** In the order in which they stand, each once. */
  amounts: z.array(z.object({ amount: z.string(), currency: z.string().nullable() })),
  payees: z.array(z.string()),
  /** True when there are more than are listed. */
  more: z.boolean(),
});
export type MoneyInArguments = z.infer<typeof moneyInArguments>;

export const approvalTier = z.enum(['auto', 'standard', 'strict']);
export type ApprovalTier = z.infer<typeof approvalTier>;

export const policyBundle = z.object({
  schema_version: z.literal(1),
  version: z.string(),
  hash_sha256: z.string(),
  policy_count: z.number().int(),
});

/** `reasons` are deny reasons only; both lists are sorted. */
export const policyDecision = z.object({
  allow: z.boolean(),
  reasons: z.array(z.string()),
  review_reasons: z.array(z.string()),
  retention_class: z.string().nullable(),
  approval_tier: z.string().nullable(),
  policy_bundle: policyBundle,
  /** `data.gate.forensic.event`: what the ledger stores about the evaluation, whatever the verdict. */
  forensic_event: jsonObject.optional(),
  /** Tools of the call whose success counts as a sensitive step of the agent. */
  sensitive_tools: z.array(z.string()).optional(),
});
export type PolicyDecision = z.infer<typeof policyDecision>;

const ruleFacts = z.object({
  rule: z.string(),
  /** The line of the file at which it begins, its metadata included; the first is 1. */
  line: z.int().min(1),
  title: z.string().nullable(),
  description: z.string().nullable(),
  reason: z.string().nullable(),
});

/** A file of the rules that ship, or a policy that an operator made. */
export const policyRow = z.object({
  name: z.string(),
  content_type: z.enum(['rego', 'json']),
  active: z.boolean(),
  /** A file of the rules that ship with Gate. */
  protected: z.boolean(),
  /** Whether it equals the shipped file, byte for byte. */
  as_shipped: z.boolean(),
  current_version: z.number().int(),
  summary: z.string().nullable(),
  tier: z.string().nullable(),
  package: z.string().nullable(),
  body_sha256: z.string(),
  bytes: z.number().int(),
  rules: z.array(ruleFacts),
  /** The tenant whose copy it is; null for what holds for everybody. */
  tenant: z.string().nullable(),
  domain: z.string().nullable(),
  severity: z.enum(['low', 'medium', 'high', 'critical']).nullable(),
  frameworks: z.array(z.string()),
  tags: z.array(z.string()),
  tool_surface: z.array(z.string()),
  deleted_at: z.string().nullable(),
  /** Null for the rules that ship: nobody made them here. */
  created_at: z.string().nullable(),
  updated_at: z.string().nullable(),
  /** Only of one whose text somebody edited in the store: what is wrong with it. Nothing is said of that text. */
  tampered: z.string().optional(),
});
export type PolicyRow = z.infer<typeof policyRow>;

/** How the process that answers stands to what is stored. Alone it is the answer of `GET /policies/standing`. */
export const policyStanding = z.object({
  /** Why it does not judge by it, so that what is stored as in force judges no call; null where it does. */
  not_in_force: z.string().nullable().default(null),
  /** Why no policy can be changed; null where each can. */
  takes_no_change: z.string().nullable().default(null),
});
export type PolicyStanding = z.infer<typeof policyStanding>;

/** The answer of `GET /policies/{name}`: a file with its text. */
export const policyFile = policyRow.extend({
  current_body: z.string(),
  current_body_sha256: z.string(),
  ...policyStanding.shape,
});
export type PolicyFileShown = z.infer<typeof policyFile>;

/** The answer of `GET /policies`: what this process has loaded and judges with. */
export const policyList = z.object({
  bundle: policyBundle,
  origin: z.object({
    directory: z.string(),
    loaded_at: z.string(),
    wasm_sha256: z.string(),
    opa_version: z.string(),
    entrypoints: z.array(z.string()),
  }),
  policies: z.array(policyRow),
  ...policyStanding.shape,
});
export type PolicyList = z.infer<typeof policyList>;
