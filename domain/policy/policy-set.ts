import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Tier } from '../../contracts/call.js';
import type { JsonObject } from '../../contracts/json.js';
import {
  approvalTier,
  type PolicyDecision,
  type PolicyInput,
  policyInput,
  type ToolClass,
} from '../../contracts/policy.js';
import { type ResponseDecision, type ResponseQuestion, responseAction } from '../../contracts/response-scan.js';
import type { ToolRule } from '../../contracts/tools.js';
import { knownText } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { cutWhole } from '../masking/cut-whole.js';
import { namedSecrets, type NamedSecrets } from '../masking/named-secrets.js';
import { createNameReadings } from './name-readings.js';
import { type Checkpoint, TookTooLong, unlimited } from '../in-place.js';
import type { createMoneyFacts } from '../money/read-money.js';
import { Allowance } from '../shell/allowance.js';
import { type ShellReader, shellTold } from '../shell/read-shell.js';
import type { SqlReader } from '../sql/read-sql.js';
import { foreignText } from '../text.js';
import type { AddedRules, AddedRuling, Watched } from './added-rules.js';
import { type CompiledPolicy, instanceOf } from './compiled.js';
import type { PolicyData } from './policy-data.js';
import { bundleHash, RESPONSE_ENTRYPOINT, ENTRYPOINT, type PolicyFile, TOOL_ENTRYPOINT } from './policy-files.js';
import { actTold, readActs } from './read-acts.js';
import { readEnvironments } from './read-environments.js';
import { readFields } from './read-fields.js';

/** A decision, with what the engine counts about it. */
export interface Judgement {
  readonly decision: PolicyDecision;
  readonly tier: Tier;
  /** No verb and no list contains the tool's name. */
  readonly unknownTool: boolean;
  readonly budgetExceeded: boolean;
  /** The rules could not be evaluated; the decision is a deny. */
  readonly failed: boolean;
}

/** `now`, in milliseconds, for who wants to know how long it took. */
export interface JudgeOptions {
  readonly checkpoint?: Checkpoint;
  readonly now?: () => number;
}
export interface TimedJudgement {
  readonly judgement: Judgement;
  readonly ms: number;
}

/** A compiled set of rules with its data, loaded once. */
export interface PolicySet {
  readonly bundle: PolicyDecision['policy_bundle'];
  readonly files: readonly PolicyFile[];
  /**
   * The decision on one call. The same input and bundle hash give the same answer. Throws GateError `policy_input_invalid` for an input
   * without the required fields. An error while the rules run is a deny, never an exception.
   */
  evaluate(input: PolicyInput): PolicyDecision;
  /** The class that the data or the name alone gives a tool; `null` when it waits for an operator's class. */
  classOf(upstream: string, tool: string): { readonly class: ToolClass; readonly source: 'shipped' | 'name' } | null;
  /** The rule that stops every call of a tool because of its name alone, whatever its class; `null` when none does. */
  ruleOn(tool: string): ToolRule | null;
  /** What is done about classes of findings in an answer. Throws `policy_unavailable` where the rules say nothing that is an action. */
  judgeResponse(question: ResponseQuestion): ResponseDecision;
  /**
   * As `evaluate`. Throws TookTooLong where `checkpoint`, called while the arguments are read, does. The rules of this set always speak;
   * `added` rules can only add reasons to deny or to ask.
   */
  judge(input: PolicyInput, checkpoint?: Checkpoint, added?: AddedRules | null): Judgement;
  /** Denies an input by none of the rules, for a reason of whoever judges. Throws for an invalid input, as `judge`. */
  denied(input: PolicyInput, reason: string): Judgement;
  /** As `judge`, by each of these sets beside the rules of this one, which speak once; `ms` is what it would have taken by itself. */
  judgeEach(
    input: PolicyInput,
    sets: readonly (AddedRules | null)[],
    options?: JudgeOptions,
  ): readonly TimedJudgement[];
  /** The hash of the set. Throws when an ordinary call cannot be judged, or SQL cannot be read. */
  ready(): string;
  readonly origin: PolicyOrigin;
  /** What a thread needs to create the same set, even if the files have changed since. */
  readonly material: PolicyMaterial;
}

/** What a set is made from, without its functions. */
export interface PolicyMaterial {
  readonly wasm: Uint8Array;
  readonly data: PolicyData;
  readonly files: readonly PolicyFile[];
  readonly version: string;
  readonly maxMemoryPages: number;
  readonly origin: PolicyOrigin;
}

/** Where a set came from. */
export interface PolicyOrigin {
  readonly directory: string;
  /** ISO 8601. */
  readonly loaded_at: string;
  readonly wasm_sha256: string;
  readonly opa_version: string;
  readonly entrypoints: readonly string[];
}

/** Judged to test readiness, and what rules that somebody changes must be able to judge; any call would do. */
export const ORDINARY: PolicyInput = {
  tool_type: 'query_database',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  arguments: { sql: 'select 1' },
};

/** A call that says nothing but the tool's name, which the operator has classed as harmless, in the middle of a working day. */
const namedOnly = (tool: string): PolicyInput => ({
  tool_type: tool,
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0,
  current_time: '2026-01-07T12:00:00Z',
  tool_classes: { [tool]: { class: 'change' } },
});

/** The shape of `data.gate.entrypoint.decision`. The event comes from a JSON parser and is not checked further. */
const ruling = z.object({
  allow: z.boolean(),
  deny: z.array(z.unknown()),
  review: z.array(z.unknown()),
  retention_class: z.enum(['standard', 'extended']),
  approval_tier: approvalTier,
  unknown_tool: z.boolean(),
  budget_exceeded: z.boolean(),
  event: z.record(z.string(), z.unknown()),
});

/** Compiled once, because interpreted checks cost a third of an evaluation. */
const oneRuling = z.compile(z.array(z.object({ result: ruling })).length(1));

/**
 * Arguments must be an object, but are not checked further: they came through a JSON parser, and a deep check of a megabyte would cost more
 * than the verdict.
 */
const shallowInput = z.compile(policyInput.extend({ arguments: z.record(z.string(), z.unknown()).optional() }));

/** The traits of a tool's name (policies/gate/authz/tool_name.rego). */
type NameSays = Readonly<Record<string, true>>;
/** A name with what it may mean, itself first. */
interface ReadName {
  readonly says: NameSays;
  readonly readings: readonly string[];
}
/** Traits by which a call passes: they count where every reading of the name has them. Any other counts where one reading has it. */
const PASSING = /^(?:readable|plainly_reads|unknown|carries_.{1,64})$/;
function saidTogether(readings: readonly NameSays[]): NameSays {
  const [first = {}, ...others] = readings;
  if (others.length === 0) return first;
  const traits = new Set(readings.flatMap((says) => Object.keys(says)));
  return Object.fromEntries(
    [...traits]
      .filter((trait) => !PASSING.test(trait) || readings.every((says) => says[trait]))
      .map((trait) => [trait, true as const]),
  );
}
const oneName = z.array(z.object({ result: z.record(z.string(), z.literal(true)) })).length(1);

/** The shape of `data.gate.entrypoint.egress`. */
const responseRuling = z.object({ actions: z.record(z.string(), responseAction), default_action: responseAction });
const oneResponseRuling = z.array(z.object({ result: responseRuling })).length(1);

/** Limits on the number of cached names and on their total characters, because callers choose them. */
const NAMES_KEPT = { max: 4_096, maxSize: 1_048_576 };

/** What finds SQL, shell commands and money in the arguments of a call. */
export interface ArgumentReaders {
  readonly readSql: SqlReader;
  readonly readShell: ShellReader;
  readonly readMoney: ReturnType<typeof createMoneyFacts>;
}

export const faultOf = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => `${path.join('.') || 'the value'}: ${message}`).join('; ');

// Node's types leave the standard WebAssembly namespace to the DOM library, which a server does not load.
declare const WebAssembly: { readonly Module: new (bytes: Uint8Array) => object };

/** Creates a set from its parts. Evaluation is synchronous, so nothing else runs during one. */
export function createPolicySet({
  readSql,
  readShell,
  readMoney,
  ...parts
}: PolicyMaterial & ArgumentReaders): PolicySet {
  const module = new WebAssembly.Module(parts.wasm);
  const instantiate = (): CompiledPolicy => instanceOf(module, parts.data, parts.maxMemoryPages);
  let instance: CompiledPolicy | null = instantiate();
  const bundle: PolicySet['bundle'] = {
    schema_version: 1,
    version: parts.version,
    hash_sha256: bundleHash(parts.files),
    policy_count: parts.files.length,
  };

  // What a name says depends only on the name and the data, and a set's data never changes, so the rules' answer is cached.
  const names = new LRUCache<string, ReadName>({
    ...NAMES_KEPT,
    sizeCalculation: ({ readings }) => readings.reduce((all, one) => all + one.length + 1, 0),
  });
  const readingsOf = createNameReadings(parts.data.gate);
  const readName = (rules: CompiledPolicy, name: string): ReadName => {
    const kept = names.get(name);
    if (kept !== undefined) return kept;
    const readings = readingsOf(name);
    const says = saidTogether(
      readings.map((tool_type) => {
        const [first] = oneName.parse(rules.evaluate({ tool_type }, TOOL_ENTRYPOINT));
        return (first as { result: NameSays }).result;
      }),
    );
    const read = { says, readings };
    names.set(name, read);
    return read;
  };
  /** The input as the rules get it. The engine sets these fields itself and overwrites a caller's fields of the same names. */
  const withOwnFacts = (rules: CompiledPolicy, input: PolicyInput, checkpoint: Checkpoint) => {
    const says: Record<string, NameSays> = Object.create(null) as Record<string, NameSays>;
    says[input.tool_type] = readName(rules, input.tool_type).says;
    const { recent_sequence, sensitive_steps = [] } = input.agent_history;
    for (const { tool } of [...recent_sequence, ...sensitive_steps]) says[tool] ??= readName(rules, tool).says;
    return {
      ...input,
      names_say: says,
      sql: readSql(input.arguments, input.request_share, checkpoint),
      shell: shellTold(readShell(input.arguments, new Allowance(input.arguments, checkpoint))),
      money: readMoney(input.arguments, input.tool_type, checkpoint),
      // Asked of tools alone that write where it matters.
      environments: says[input.tool_type]?.['writes_database']
        ? readEnvironments(input.arguments, parts.data.gate.production_writes.environment_arguments, checkpoint)
        : [],
      // Asked of tools alone that run by their names.
      acts: says[input.tool_type]?.['plainly_reads'] ? readActs(input.arguments, input.tool_type).map(actTold) : [],
    };
  };

  // There is no time limit, because a running evaluation cannot be interrupted from its own thread. The rules of this set have no recursion,
  // and their expressions run in linear time (RE2); the size of the input and the memory limit bound them. Nothing bounds added rules: who
  // serves evaluates them in threads, which can be ended.
  const judgeEach = (
    input: PolicyInput,
    sets: readonly (AddedRules | null)[],
    { checkpoint = unlimited, now = untimed }: JudgeOptions = {},
  ): readonly TimedJudgement[] => {
    const checked = checkedInput(input);
    let stage = 'instantiate';
    const failed = (error: unknown, added: AddedRules | null): Judgement => {
      if (error instanceof TookTooLong) throw error;
      // After a trap the instance's memory cannot be trusted. The next call gets a new instance, which takes about a millisecond.
      instance = null;
      return failedClosed(`policy evaluation failed: ${stage}: ${failureText(error)}`, input, added?.bundle ?? bundle);
    };
    const began = now();
    let floor: FloorRuling;
    try {
      instance ??= instantiate();
      stage = 'facts';
      const prepared = withOwnFacts(instance, checked, checkpoint);
      stage = 'evaluate';
      const results: unknown = instance.evaluate(asBytes(prepared), ENTRYPOINT);
      stage = 'result';
      const [first] = oneRuling.parse(results);
      const { result } = first as { result: z.infer<typeof ruling> };
      const sensitive = prepared.names_say[checked.tool_type]?.['sensitive'] ? [checked.tool_type] : [];
      // Found in the arguments where somebody may ask for it: the rules that ship do not.
      let found: ReturnType<typeof readFields> | null = null;
      const { readings } = readName(instance, checked.tool_type);
      const inputOf = (added: AddedRules): object =>
        asBytes({
          ...prepared,
          watched_by: Object.assign({}, ...readings.map((name) => added.watched(name))) as Watched,
          found_in_arguments: (found ??= readFields(checked.arguments, checkpoint)),
        });
      floor = { ruling: result, inputOf, sensitive, secrets: namedSecrets(checked.arguments ?? null) };
    } catch (error) {
      return sets.map((added) => ({ judgement: failed(error, added), ms: now() - began }));
    }
    const floorMs = now() - began;
    stage = 'added rules';
    return sets.map((added) => {
      const begins = now();
      let judgement: Judgement;
      try {
        judgement = judgementOf(floor, added, added?.bundle ?? bundle);
      } catch (error) {
        judgement = failed(error, added);
      }
      return { judgement, ms: floorMs + now() - begins };
    });
  };
  const judge = (input: PolicyInput, checkpoint: Checkpoint = unlimited, added: AddedRules | null = null): Judgement =>
    (judgeEach(input, [added], { checkpoint })[0] as TimedJudgement).judgement;
  const rulesOnNames = new LRUCache<string, { readonly rule: ToolRule | null }>({
    ...NAMES_KEPT,
    sizeCalculation: (_rule, name) => name.length + 1,
  });
  const ruleOf = (tool: string): ToolRule | null => {
    const { failed, decision } = judge(namedOnly(tool));
    const [denied] = decision.reasons;
    const [asked] = decision.review_reasons;
    if (failed) return null;
    return denied !== undefined
      ? { effect: 'denies', reason: denied }
      : asked !== undefined
        ? { effect: 'asks', reason: asked }
        : null;
  };
  const ready = (): string => {
    const { failed, decision } = judge(ORDINARY);
    if (failed) throw new Error(decision.reasons.join('; '));
    if (readSql(ORDINARY.arguments).worst !== 'read') throw new Error('the SQL parser does not answer');
    return bundle.hash_sha256;
  };
  return {
    bundle,
    files: parts.files,
    origin: parts.origin,
    material: parts,
    ready,
    judge,
    judgeEach,
    denied: (input, reason) => failedClosed(reason, checkedInput(input), bundle),
    evaluate: (input) => judge(input).decision,
    judgeResponse(question) {
      try {
        instance ??= instantiate();
        const [first] = oneResponseRuling.parse(instance.evaluate(question, RESPONSE_ENTRYPOINT));
        return { ...(first as { result: z.infer<typeof responseRuling> }).result, policy_bundle: bundle };
      } catch (error) {
        instance = null;
        throw new GateError('policy_unavailable', `what an answer holds cannot be judged: ${failureText(error)}`, {
          cause: error,
        });
      }
    },
    classOf(upstream, tool) {
      const shipped = parts.data.gate.tool_classes;
      const said = Object.hasOwn(shipped, upstream) ? shipped[upstream] : undefined;
      if (said && Object.hasOwn(said, tool)) return { class: said[tool] as ToolClass, source: 'shipped' };
      instance ??= instantiate();
      return readName(instance, tool).says['plainly_reads'] ? { class: 'read', source: 'name' } : null;
    },
    ruleOn(tool) {
      if (tool === '') return null;
      const kept = rulesOnNames.get(tool) ?? { rule: ruleOf(tool) };
      rulesOnNames.set(tool, kept);
      return kept.rule;
    },
  };
}

/** What the floor says of an input, and the input as it was evaluated. */
interface FloorRuling {
  readonly ruling: z.infer<typeof ruling>;
  /** The input with what these rules ask for besides. */
  readonly inputOf: (added: AddedRules) => object;
  /** Its tool, where that is one after which policy watches what leaves. */
  readonly sensitive: readonly string[];
  /** Of its arguments. */
  readonly secrets: NamedSecrets;
}

const untimed = (): number => 0;

function judgementOf(
  { ruling: floor, inputOf, sensitive, secrets }: FloorRuling,
  added: AddedRules | null,
  judgedBy: PolicyDecision['policy_bundle'],
): Judgement {
  const { deny, review, ...rest } = added ? withAdded(floor, added.judge(inputOf(added)), secrets) : floor;
  const reasons = sortedTexts(deny);
  const reviewReasons = sortedTexts(review);
  const allow = rest.allow && deny.length === 0 && review.length === 0;
  // A deny whose text is lost must not become a review or an allow.
  if (!allow && reasons.length === 0 && (deny.length > 0 || reviewReasons.length === 0))
    throw new Error('a refusal without a reason');
  return {
    decision: {
      allow,
      reasons,
      review_reasons: reviewReasons,
      retention_class: rest.retention_class,
      approval_tier: rest.approval_tier,
      policy_bundle: judgedBy,
      forensic_event: rest.event as JsonObject,
      ...(sensitive.length > 0 && { sensitive_tools: [...sensitive] }),
    },
    tier: reasons.length > 0 ? 'red' : allow ? 'green' : 'yellow',
    unknownTool: rest.unknown_tool,
    budgetExceeded: rest.budget_exceeded,
    failed: false,
  };
}

/** The floor's ruling, and what the added rules say beside it. Nothing that the floor said is lost. */
function withAdded(floor: z.infer<typeof ruling>, said: AddedRuling, secrets: NamedSecrets): z.infer<typeof ruling> {
  if (said.deny.length === 0 && said.review.length === 0) return floor;
  const [deny, review] = [bounded(said.deny, 'Violation', secrets), bounded(said.review, 'Review', secrets)];
  const all = { deny: [...floor.deny, ...deny], review: [...floor.review, ...review] };
  return {
    ...floor,
    ...all,
    allow: false,
    retention_class: 'extended',
    // The data of the floor says which of its own reasons need no person; of these it knows nothing.
    approval_tier: review.length > 0 && floor.approval_tier === 'auto' ? 'standard' : floor.approval_tier,
    event: { ...floor.event, reasons: sortedTexts(all.deny), review_reasons: sortedTexts(all.review) },
  };
}

const MOST_REASONS = 100;
const LONGEST_REASON = 2_000;
/**
 * Reasons of policies may quote the call, and stand in its answer, its review and its rows: how many and how long they are is not up to whoever wrote it.
 * What is no text stays, since it must not pass for nothing.
 */
function bounded(members: readonly unknown[], kind: 'Violation' | 'Review', secrets: NamedSecrets): readonly unknown[] {
  const texts = sortedTexts(members);
  const kept = texts.slice(0, MOST_REASONS).map((text) => cutWhole(text, LONGEST_REASON, secrets));
  const more = texts.length - kept.length;
  return [
    ...members.filter((member) => typeof member !== 'string'),
    ...new Set(kept),
    ...(more > 0 ? [`${kind}: and ${more} more reasons of policies.`] : []),
  ];
}

const utf8 = new TextEncoder();
/** The input as the engine parses it, made of texts that were written before; the engine writes what is no plain JSON itself. */
function asBytes(input: object): object {
  const text = knownText(input);
  if (text === null) return input;
  const bytes = utf8.encode(text);
  return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
}

/** Returns the input itself, not a copy, because what is judged must be what runs. */
function checkedInput(input: unknown): PolicyInput {
  let result: ReturnType<typeof shallowInput.safeParse>;
  try {
    result = shallowInput.safeParse(input);
  } catch (error) {
    throw new GateError('policy_input_invalid', errorText(error), { cause: error });
  }
  if (!result.success) throw new GateError('policy_input_invalid', faultOf(result.error));
  return input as PolicyInput;
}

/** Sets have no order. Members that are not text are dropped. */
const sortedTexts = (members: readonly unknown[]): string[] =>
  members.filter((member): member is string => typeof member === 'string').sort();

/** The engine also throws plain strings and objects. The text is shortened, because it goes into a ledger row. */
function failureText(error: unknown): string {
  const text =
    typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : errorText(error);
  return foreignText(text.replaceAll(/\s+/g, ' '), 200);
}

const failedClosed = (reason: string, input: PolicyInput, bundle: PolicySet['bundle']): Judgement => ({
  decision: {
    allow: false,
    reasons: [reason],
    review_reasons: [],
    retention_class: 'extended',
    approval_tier: 'standard',
    policy_bundle: bundle,
    forensic_event: { tool_type: input.tool_type, reasons: [reason], review_reasons: [] },
  },
  tier: 'red',
  unknownTool: false,
  budgetExceeded: false,
  failed: true,
});
