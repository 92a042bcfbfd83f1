import type { Json, JsonObject } from '../../../contracts/json.js';
import type { FactOwner } from '../../../contracts/policy-studies.js';
import type { PolicyInput } from '../../../contracts/policy.js';
import { batchCalls } from '../../mcp/batch.js';
import type { RecordedCall } from '../judged-again.js';
import { ORDINARY_CALL } from '../ordinary-call.js';
import type { Hints } from './hints.js';

/** One fact of a call, and other values that it could have; `undefined` is none. */
export interface Fact {
  readonly name: string;
  readonly whose: FactOwner;
  readonly from: Json | undefined;
  readonly others: readonly (Json | undefined)[];
  with(call: RecordedCall, to: Json | undefined): RecordedCall;
}

/** Stands for any other text. */
export const ANOTHER = 'something else';

const MOST_ARGUMENTS = 64;
const DEEPEST = 8;
const MOST_NUMBERS = 12;
const MOST_WORDS = 6;
/** A Wednesday at noon, and the night of a Saturday, UTC: inside and outside of any business hours. */
const NOON = '2026-01-07T12:00:00.000Z';
const NIGHT = '2026-01-10T03:00:00.000Z';

/** What the verdict on a call may rest on, in the order in which somebody would change it: the call, the agent, the time, the rest. */
export function factsOf(call: RecordedCall, hints: Hints): readonly Fact[] {
  const { input } = call;
  const ofBatch = call.request && batchCalls(input.method ?? '', call.request);
  return [
    ...(ofBatch ? batchFacts(ofBatch) : argumentFacts(input.arguments ?? {}, hints)),
    ...agentFacts(input),
    ...timeFacts(input),
    ...classFacts(input),
    ...inspectionFacts(input),
    ...(ofBatch ? [] : [toolFact(input)]),
  ];
}

const top = (name: string, whose: FactOwner, others: readonly (Json | undefined)[]) => ({
  name,
  whose,
  others,
  with: ({ input, request }: RecordedCall, to: Json | undefined): RecordedCall => ({
    input: changed(input as unknown as JsonObject, [name], to) as unknown as PolicyInput,
    request,
  }),
});

/** Each call of a batch may be left out of it. */
function batchFacts(calls: readonly { readonly id: string; readonly name: string }[]): Fact[] {
  if (calls.length < 2) return [];
  return calls.map(({ id, name }, at) => ({
    name: `call ${at + 1} (${name})`,
    whose: 'call',
    from: name,
    others: [undefined],
    with: ({ input, request }) => ({ input, request: request && withoutCall(request, id) }),
  }));
}

function withoutCall(request: JsonObject, id: string): JsonObject {
  const without = (of: Json | undefined): Json => {
    const holder = objectOf(of);
    return Array.isArray(holder['calls'])
      ? { ...holder, calls: holder['calls'].filter((one) => objectOf(one)['id'] !== id) }
      : { ...holder, arguments: without(holder['arguments']) };
  };
  return { ...request, params: without(request['params']) };
}

function argumentFacts(given: JsonObject, hints: Hints): Fact[] {
  const found: Fact[] = [];
  const fact = (path: readonly string[], from: Json | undefined, others: readonly (Json | undefined)[]): void => {
    const name = `arguments.${path.join('.')}`;
    found.push({
      name,
      whose: 'call',
      from,
      others,
      with: ({ input, request }, to) => ({
        input: { ...input, arguments: changed(input.arguments ?? {}, path, to) as JsonObject },
        request,
      }),
    });
  };
  const look = (value: Json, path: readonly string[]): void => {
    if (found.length >= MOST_ARGUMENTS) return;
    const isInner = value !== null && typeof value === 'object' && path.length < DEEPEST;
    if (!isInner) return fact(path, value, otherValues(value, hints));
    if (path.length > 0) fact(path, value, [undefined]);
    for (const [name, part] of Object.entries(value)) look(part as Json, [...path, name]);
  };
  look(given, []);
  for (const name of hints.names)
    if (!Object.hasOwn(given, name)) fact([name], undefined, [true, ANOTHER, ...hints.numbers.slice(0, 2), 1]);
  return found;
}

function otherValues(value: Json, hints: Hints): readonly (Json | undefined)[] {
  if (typeof value === 'boolean') return [!value, undefined];
  if (typeof value === 'number') return [...closest(value, hints), undefined];
  const { words } = hints;
  if (typeof value === 'string' && A_NUMBER.test(value))
    return [...closest(Number(value), hints).map(String), ANOTHER, undefined];
  if (typeof value === 'string')
    return [ANOTHER, ...words.slice(0, MOST_WORDS), 'select 1', undefined].filter((other) => other !== value);
  return [undefined];
}

const A_NUMBER = /^-?\d{1,15}(?:\.\d{1,6})?$/;

/**
 * Both sides of each number that rules compare with, those of the rules that spoke before all others, nearest first: the first that alters a verdict is
 * where it turns.
 */
function closest(value: number, { near, numbers }: Hints): readonly number[] {
  const away = (one: number): number => Math.abs(one - value);
  const nearest = (limits: readonly number[]): readonly number[] =>
    [...new Set([...limits.flatMap((limit) => [limit - 1, limit, limit + 1]), 0, 1])]
      .filter((other) => other !== value)
      .toSorted((one, other) => away(one) - away(other))
      .slice(0, MOST_NUMBERS);
  return [...new Set([...nearest(near), ...nearest(numbers)])].toSorted((one, other) => away(one) - away(other));
}

function agentFacts(input: PolicyInput): Fact[] {
  const { agent_history: history, recent_request_count: count, velocity_limit: limit, agent_id: agent } = input;
  const read = input.taint ?? [];
  const steps = [...history.recent_sequence, ...(history.sensitive_steps ?? [])];
  return [
    ...(steps.length > 0
      ? [
          {
            ...top('agent_history', 'agent', [{ last_tool: null, recent_sequence: [] }]),
            from: [...new Set(steps.map(({ tool }) => tool))],
          } satisfies Fact,
        ]
      : []),
    // Whether no answer had brought anything into it.
    ...(read.length > 0
      ? [{ ...top('taint', 'agent', [[]]), from: [...new Set(read.map(({ tool }) => tool))] } satisfies Fact]
      : []),
    ...(count === undefined
      ? []
      : [{ ...top('recent_request_count', 'agent', [1, ...(limit ? [limit, limit + 1] : [])]), from: count }]),
    ...(agent ? [{ ...top('agent_id', 'agent', ['another agent']), from: agent }] : []),
  ];
}

const timeFacts = ({ current_time: time }: PolicyInput): Fact[] =>
  time === undefined ? [] : [{ ...top('current_time', 'time', [NOON, NIGHT]), from: time }];

/** Whether an operator had classed the tool otherwise. */
function classFacts({ tool_type: tool, tool_classes: classes = {} }: PolicyInput): Fact[] {
  const of = classes[tool];
  return [
    {
      name: `class of ${tool}`,
      whose: 'operator',
      from: (of?.class ?? of?.suspended ?? 'none') as string,
      others: ['read', 'change', 'deny'].filter((other) => other !== of?.class),
      with: ({ input, request }, to) => ({
        input: {
          ...input,
          tool_classes: { ...input.tool_classes, [tool]: { class: to as 'read' | 'change' | 'deny' } },
        },
        request,
      }),
    },
  ];
}

/** What inspection found, as if it had found nothing; where it found nothing, nobody asks what would be if it had. */
function inspectionFacts(input: PolicyInput): Fact[] {
  const nothing = {
    intent_score: 0.1,
    persona_drift_score: 0,
    injection_detected: false,
    injection_suspicions: [],
    intent_suspicions: [],
    brain_degraded: false,
    force_hil: false,
    cumulative_spend_micros: 0,
    velocity_degraded: false,
  } as const;
  const drift: Fact[] =
    (input.drift?.score ?? 0) > 0
      ? [
          {
            ...top('drift', 'inspection', [{ available: false, score: 0, reasons: [], kinds: [] }]),
            from: input.drift as Json,
          },
        ]
      : [];
  const others = Object.entries(nothing).flatMap(([name, other]): Fact[] => {
    const from = input[name] as Json | undefined;
    return from === undefined || JSON.stringify(from) === JSON.stringify(other)
      ? []
      : [{ ...top(name, isScore(name) ? 'inspection' : 'operator', [other as Json]), from }];
  });
  return [...others, ...drift];
}
const isScore = (name: string): boolean => /^(?:intent|persona|injection|brain)_/.test(name);

const toolFact = ({ tool_type: tool }: PolicyInput): Fact => ({
  ...top('tool_type', 'call', tool === ORDINARY_CALL.tool_type ? ['delete_file'] : [ORDINARY_CALL.tool_type]),
  from: tool,
});

/** The value with another one at the path; objects and lists along it are copies. */
function changed(value: Json, path: readonly string[], to: Json | undefined): Json {
  const [name, ...rest] = path;
  if (name === undefined) return to ?? null;
  if (Array.isArray(value)) {
    const at = Number(name);
    if (rest.length === 0 && to === undefined) return value.filter((_, index) => index !== at);
    return value.map((part, index) => (index === at ? changed(part, rest, to) : part));
  }
  const { [name]: part, ...others } = objectOf(value);
  if (rest.length === 0 && to === undefined) return others;
  return { ...others, [name]: rest.length === 0 ? (to as Json) : changed(part ?? {}, rest, to) };
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
