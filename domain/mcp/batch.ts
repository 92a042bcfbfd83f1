import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { GateError } from '../errors.js';
import { sizeOf } from '../large.js';
import { argumentsOfRead } from './read-methods.js';
import { BATCH_METHOD } from '../../contracts/call-methods.js';
import { jsonObject, type JsonObject } from '../../contracts/json.js';
import {
  type AgentHistory,
  type ApprovalTier,
  HISTORY_LENGTH,
  type HistoryEvent,
  type PolicyDecision,
  type PolicyInput,
} from '../../contracts/policy.js';

/** The contract of a batch, and of its answer. */
export const BATCH_CONTRACT = 'gate.atomic-tool-call-batch/v1';

/** The names of a batch, without case, separators and invisible characters. */
const BATCH_NAMES: ReadonlySet<string> = new Set(['gateatomicbatch', 'gatetoolsbatch']);

/**
 * Whether a tool call is a disguised batch, by its name or by the contract in its arguments. A tool method does not unfold it, so it would
 * be judged as one tool that no rule knows.
 */
export const isBatchInDisguise = (tool: string, given: unknown): boolean =>
  isBatchName(tool) || objectOf(given)['contract'] === BATCH_CONTRACT;

/** Agents call the same few tools, and every call is looked at twice. */
const lookedAt = new LRUCache<string, boolean>({
  max: 1_000,
  maxSize: 262_144,
  sizeCalculation: (_, name) => name.length + 1,
});
function isBatchName(tool: string): boolean {
  const before = lookedAt.get(tool);
  if (before !== undefined) return before;
  const plain = tool
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
  const is = BATCH_NAMES.has(plain);
  lookedAt.set(tool, is);
  return is;
}

export const BATCH_OUT_OF_PLACE = `a batch is sent once, under the method ${BATCH_METHOD}: not as a tool call and not inside a batch`;

const batch = z.strictObject({
  contract: z.literal(BATCH_CONTRACT),
  calls: z
    .array(
      z
        .strictObject({
          id: z.string().min(1).max(256),
          name: z.string().min(1).max(256),
          arguments: jsonObject.default({}),
        })
        .refine((call) => !isBatchInDisguise(call.name, call.arguments), BATCH_OUT_OF_PLACE),
    )
    .min(1)
    .max(128)
    .refine((calls) => new Set(calls.map(({ id }) => id)).size === calls.length, 'two calls have one id'),
});

/** The batch as the SDKs send it, in the form of a tool call. */
const namedBatch = z.strictObject({ name: z.literal('gate.atomic-batch'), arguments: batch });

const isNamed = (params: unknown): boolean => params !== null && typeof params === 'object' && 'name' in params;

/** What is wrong with the `params` of a batch in either form; `null` when nothing is. */
export function batchFault(params: unknown): string | null {
  const read = (isNamed(params) ? namedBatch : batch).safeParse(params);
  if (read.success) return null;
  const [issue] = read.error.issues;
  return `params.${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'no batch'}`;
}

/** One call of a request, as inspection and policy judge it. */
export interface SiblingCall {
  readonly method: string;
  readonly tool: string;
  readonly params: JsonObject;
  readonly arguments: JsonObject;
}

/**
 * The calls of a request: those of a batch, each with its own name and arguments, or the single call. A read of a resource or a prompt is
 * judged as a tool of its method's name. A batch judged under its own name
 * would let every forbidden call in it pass. A batch under another method is refused.
 */
export function siblingsOf(method: string, tool: string, body: JsonObject): readonly SiblingCall[] {
  const params = objectOf(body['params']);
  const read = argumentsOfRead(method, params);
  if (read) return [{ method, tool, params: { name: method, arguments: read }, arguments: read }];
  if (method !== BATCH_METHOD) {
    if (isBatchInDisguise(tool, params['arguments'])) throw new GateError('invalid_mcp', BATCH_OUT_OF_PLACE);
    return [{ method, tool, params, arguments: objectOf(params['arguments']) }];
  }
  return callsOf(params).map((call) => ({
    method: 'tools/call',
    tool: call.name,
    params: { name: call.name, arguments: call.arguments },
    arguments: call.arguments,
  }));
}

/** One call of a batch, under the id that its answer has. */
export interface BatchCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

const callsOf = (params: JsonObject): readonly BatchCall[] =>
  (isNamed(params) ? namedBatch.parse(params).arguments : batch.parse(params)).calls;

/** The calls of a batch in the order in which they will run; `null` for any other request. */
export const batchCalls = (method: string, body: JsonObject): readonly BatchCall[] | null =>
  method === BATCH_METHOD ? callsOf(objectOf(body['params'])) : null;

/** The tools of a batch in the order in which they will run; `null` for any other request. */
export const batchTools = (method: string, body: JsonObject): readonly string[] | null =>
  batchCalls(method, body)?.map(({ name }) => name) ?? null;

/** The tools of a request: those of a batch, or the one. */
export const toolsOf = (method: string, tool: string, body: JsonObject): readonly string[] =>
  batchTools(method, body) ?? [tool];

/** The number of tool calls in a request; each call of a batch counts towards the limits. */
export const callCount = (method: string, body: JsonObject): number => batchTools(method, body)?.length ?? 1;

/** Waiting would not help a batch that is larger than the limit. */
export const batchTooLarge = (calls: number, limit: string): GateError =>
  new GateError('batch_too_large', `a batch of ${calls} calls never fits ${limit}; send it in parts`);

/**
 * What each call of a batch is judged against: the agent's history followed by the calls before it, as if each had been sent alone. So a
 * sequence that is refused call by call is refused as a batch. Steps of the batch carry the time of the request.
 */
export function historiesOf(
  history: AgentHistory,
  siblings: readonly SiblingCall[],
  receivedMs: number,
): readonly AgentHistory[] {
  const steps = siblings.map(({ tool, method }) => ({ tool, method, ts_ms: receivedMs, replica: 'batch' }));
  return siblings.map((_, index) =>
    index === 0
      ? history
      : {
          ...history,
          last_tool: siblings[index - 1]?.tool ?? null,
          recent_sequence: [...history.recent_sequence, ...steps.slice(0, index)].slice(-HISTORY_LENGTH),
        },
  );
}

/**
 * The decision on a request: each call is judged against the agent's history and the calls before it, and the worst decision applies to
 * all. Sensitive steps are kept beside the newest sixteen, so that a long batch cannot push its own beginning out of sight.
 */
export async function judgeSiblings(
  evaluate: (input: PolicyInput) => PolicyDecision | Promise<PolicyDecision>,
  input: PolicyInput,
  siblings: readonly SiblingCall[],
  receivedMs: number,
): Promise<PolicyDecision> {
  const histories = historiesOf(input.agent_history, siblings, receivedMs);
  const shares = sharesOf(siblings);
  const judged = async (index: number, kept: readonly HistoryEvent[]) => {
    const { tool, arguments: given } = siblings[index] as SiblingCall;
    const { sensitive_steps = [], ...history } = histories[index] ?? input.agent_history;
    const steps = [...sensitive_steps, ...kept].slice(-HISTORY_LENGTH);
    const agent_history = { ...history, ...(steps.length > 0 && { sensitive_steps: steps }) };
    const share = siblings.length > 1 && {
      request_share: shares[index],
      ...(input.taint && { taint: ofCall(input.taint, index) }),
      ...(input.injected_at && { injected_at: ofCall(input.injected_at, index).map(({ at }) => ({ at })) }),
    };
    return evaluate({ ...input, tool_type: tool, agent_history, arguments: given, ...share });
  };
  const decisions = await Promise.all(siblings.map((_, index) => judged(index, [])));
  const kept = new Map<string, HistoryEvent>();
  for (const [index, { tool, method }] of siblings.entries()) {
    if (index > HISTORY_LENGTH && kept.size > 0) decisions[index] = await judged(index, [...kept.values()]);
    if (decisions[index]?.sensitive_tools?.length)
      kept.set(tool, { tool, method, ts_ms: receivedMs, replica: 'batch' });
  }
  return worstDecision(decisions);
}

const ofCall = <Place extends { readonly call?: number | undefined }>(
  places: readonly Place[],
  index: number,
): Place[] => places.filter(({ call }) => call === index);

/** Each call's share of the request, by the size of its arguments. */
function sharesOf(siblings: readonly SiblingCall[]): readonly number[] {
  const sizes = siblings.map(({ arguments: given }) => sizeOf(given, Number.MAX_SAFE_INTEGER));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.map((size) => size / total);
}

const objectOf = (value: unknown): JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : {};

const STRICTNESS: readonly ApprovalTier[] = ['auto', 'standard', 'strict'];

/** The worst decision applies to all: every reason, every event, and the strictest approval tier. */
export function worstDecision(found: readonly PolicyDecision[]): PolicyDecision {
  const worst =
    found.find(({ reasons }) => reasons.length > 0) ??
    found.find(({ allow }) => !allow) ??
    (found[0] as PolicyDecision);
  if (found.length === 1) return worst;
  const strictest = Math.max(...found.map((one) => STRICTNESS.indexOf(one.approval_tier as ApprovalTier)));
  const united = (texts: readonly string[]) => [...new Set(texts)].toSorted();
  const sensitive = united(found.flatMap(({ sensitive_tools = [] }) => sensitive_tools));
  const events = found.flatMap(({ forensic_event: event }) => (event ? [event] : []));
  return {
    ...worst,
    ...(sensitive.length > 0 && { sensitive_tools: sensitive }),
    ...(events.length > 0 && { forensic_event: { events } }),
    allow: found.every(({ allow }) => allow),
    reasons: united(found.flatMap(({ reasons }) => reasons)),
    review_reasons: united(found.flatMap(({ review_reasons }) => review_reasons)),
    retention_class: found.some((one) => one.retention_class === 'extended') ? 'extended' : worst.retention_class,
    approval_tier: STRICTNESS[strictest] ?? worst.approval_tier,
  };
}
