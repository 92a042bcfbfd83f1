import type { DecidedCall } from '../../../contracts/decided-calls.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { PolicyInput, ToolClassFact } from '../../../contracts/policy.js';
import type { ApprovedPart, LeftTool, LeftWhy } from '../../../contracts/policy-mining.js';
import { nameOf } from '../../argument-values.js';
import type { createMoneyFacts } from '../../money/read-money.js';
import { words } from '../../text.js';
import { kindOf } from './bounds.js';
import { canBeFenced } from './fence.js';
import { type Layout, layoutOf, namesOf } from './layout.js';
import {
  ENOUGH,
  ENOUGH_OF_A_PART,
  isEnough,
  mostDifferent,
  type SeenCall,
  type Support,
  supportOf,
  tightestParts,
} from './tightest.js';

type ReadMoney = ReturnType<typeof createMoneyFacts>;

/** What one answer looks at: more are refused, because a rule that was mined from a part of the denials would say more than it knows. */
export const MOST = { decisions: 100_000, characters: 64 * 1_048_576 };
/** Decisions about one tool that are compared; of a tool with more nothing is suggested. */
const MOST_OF_A_TOOL = 5_000;

/** The input as it would be judged with the tool classed `change`, whatever it was classed then. */
export const classedInput = (input: JsonObject): PolicyInput => {
  const call = input as unknown as PolicyInput;
  return { ...call, tool_classes: { [call.tool_type]: { class: 'change' } } };
};

/** A single call of a tool: of a batch nobody said which of its calls was approved. */
export const isOneCall = ({ tool, input }: DecidedCall): boolean =>
  input === null || (input['method'] === 'tools/call' && input['tool_type'] === tool);

/** What the rules that are in force say of a call whose tool is classed `change`. */
export type WithClass = { readonly runs: true } | { readonly runs: false; readonly why: string };

interface OfTool {
  approvals: number;
  denials: number;
  readonly approved: SeenCall[];
  readonly denied: SeenCall[];
  /** Approvals that say nothing for a rule, by why. */
  readonly aside: Map<LeftWhy, number>;
  readonly reasons: Map<string, number>;
  /** A denied call that nobody can compare any more. */
  unknown: boolean;
  /** The last decision about a call whose definition had changed: what was approved before it was approved of another tool. */
  changedSeq: number;
}

/** A rule that can be suggested, and what it was found in. */
export interface Found {
  readonly tool: string;
  readonly parts: readonly ApprovedPart[];
  readonly support: Support;
}

/** A rule of one tool, or why there is none: at once, or from what `comparedCalls` says of these, which takes long. */
export type OfOneTool =
  | { readonly is: LeftTool }
  | { readonly compare: Compared; readonly is: (found: InCommon) => Found | LeftTool };
export interface Compared {
  readonly approved: readonly SeenCall[];
  readonly denied: readonly SeenCall[];
}
export interface InCommon extends Pick<Found, 'parts' | 'support'> {
  /** Whether the approvals alone would be enough. */
  readonly isDeniedAlike: boolean;
  readonly most: ReturnType<typeof mostDifferent>;
}

export interface Evidence {
  /** Of an approved call, what the rules would say with the class. */
  add(call: DecidedCall, withClass: WithClass | null): void;
  counts(): { readonly approvals: number; readonly denials: number; readonly changed: number };
  /** Every tool, by name. The same decisions give the same answer, in whatever order they came. */
  tools(): readonly OfOneTool[];
}

/** Collects what people decided, by tool. */
export function createEvidence(readMoney: ReadMoney): Evidence {
  const tools = new Map<string, OfTool>();
  const seqs = new WeakMap<SeenCall, number>();
  const counts = { approvals: 0, denials: 0, changed: 0 };
  const ofTool = (tool: string): OfTool => {
    const known = tools.get(tool);
    if (known) return known;
    const made: OfTool = {
      approvals: 0,
      denials: 0,
      approved: [],
      denied: [],
      aside: new Map(),
      reasons: new Map(),
      unknown: false,
      changedSeq: -1,
    };
    tools.set(tool, made);
    return made;
  };
  return {
    counts: () => counts,
    add(call, withClass) {
      const { decided, tool, input } = call;
      if (tool === null || !isOneCall(call)) return;
      const of = ofTool(tool);
      if (input && saidOf(input, tool)?.suspended === 'definition_changed')
        of.changedSeq = Math.max(of.changedSeq, call.seq);
      const seen = input && seenCall(call, input, tool, readMoney);
      if (decided !== 'approved') {
        counts[decided === 'denied' ? 'denials' : 'changed'] += 1;
        of.denials += 1;
        if (seen) of.denied.push(seen);
        // Arguments of which no rule can say what they are lie in no part.
        else if (input === null) of.unknown = true;
        return;
      }
      counts.approvals += 1;
      of.approvals += 1;
      const aside = (why: LeftWhy): void => void of.aside.set(why, (of.aside.get(why) ?? 0) + 1);
      if (input === null || seen === null || !canBeFenced(tool)) aside('too_large');
      else if (isForPeople(input, tool)) aside('classed_for_people');
      else if (withClass?.runs) {
        of.approved.push(seen);
        seqs.set(seen, call.seq);
      } else {
        aside('rules_ask');
        if (withClass) of.reasons.set(withClass.why, (of.reasons.get(withClass.why) ?? 0) + 1);
      }
    },
    tools: () =>
      [...tools]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([tool, whole]): OfOneTool => {
          const of = sinceItChanged(whole, (seen) => seqs.get(seen) ?? -1);
          const { approvals, denials, approved, denied } = of;
          const left = (reason: Pick<LeftTool, 'why' | 'detail'>): LeftTool => ({
            tool,
            approvals,
            denials,
            ...reason,
          });
          const reason = atOnce(of);
          if (reason) return { is: left(reason) };
          return {
            compare: { approved, denied },
            is: ({ parts, support, ...rest }) =>
              isEnough(support) ? { tool, parts, support } : left(afterwards(support, approvals, rest)),
          };
        }),
  };
}

/** What people's decisions about one tool have in common. */
export function comparedCalls({ approved, denied }: Compared): InCommon {
  const { parts, calls } = tightestParts(approved, denied);
  const support = supportOf(calls);
  const isDeniedAlike =
    !isEnough(support) && denied.length > 0 && isEnough(supportOf(tightestParts(approved, []).calls));
  return { parts, support, isDeniedAlike, most: isEnough(support) ? null : mostDifferent(approved) };
}

function atOnce({ approved, denied, aside, reasons, unknown }: OfTool): Pick<LeftTool, 'why' | 'detail'> | null {
  if (approved.length + denied.length > MOST_OF_A_TOOL)
    return {
      why: 'too_large',
      detail: `people decided more than ${MOST_OF_A_TOOL} of its calls; ask for a shorter window`,
    };
  const all = supportOf(approved);
  if (!isEnough(all)) {
    const [most] = [...aside].toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
    return most && most[1] > approved.length
      ? { why: most[0], detail: detailOf(most[0], reasons) }
      : { why: 'too_few', detail: whatItTakes(all) };
  }
  return unknown
    ? { why: 'denied_alike', detail: 'the arguments of a denied call were purged, so nothing can be told from it' }
    : null;
}

function afterwards(
  support: Support,
  approvals: number,
  { isDeniedAlike, most }: Pick<InCommon, 'isDeniedAlike' | 'most'>,
): Pick<LeftTool, 'why' | 'detail'> {
  if (isDeniedAlike) return { why: 'denied_alike', detail: 'people denied calls among those that others approved' };
  return most !== null && most.values > 1
    ? { why: 'differs_each_time', detail: `${most.pointer} had ${most.values} values in ${approvals} approvals` }
    : {
        why: 'too_few',
        detail: support.approvals === 0 ? `no ${supportTold(ENOUGH_OF_A_PART)} are alike` : whatItTakes(support),
      };
}

const detailOf = (why: LeftWhy, reasons: ReadonlyMap<string, number>): string => {
  if (why === 'classed_for_people') return 'its class, or that its definition changed, is for people to look at';
  if (why === 'too_large') return 'its name or its arguments are longer than a rule can say';
  const [most] = [...reasons].toSorted(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
  return most ? most[0] : 'the rules in force ask for a person whatever its class';
};
const whatItTakes = (has: Support): string => `${supportTold(has)}; it takes ${supportTold(ENOUGH)}`;
const supportTold = ({ approvals, days, people, agents }: Support): string =>
  `${many(approvals, 'approval', 'approvals')} on ${many(days, 'day', 'days')} by ${many(people, 'person', 'people')} for ${many(agents, 'agent', 'agents')}`;
const many = (count: number, one: string, several: string): string => `${count} ${count === 1 ? one : several}`;

/** Without what was approved of the tool before its definition changed. */
function sinceItChanged(of: OfTool, seqOf: (seen: SeenCall) => number): OfTool {
  const approved = of.approved.filter((seen) => seqOf(seen) > of.changedSeq);
  const before = of.approved.length - approved.length;
  if (before === 0) return of;
  const aside = new Map(of.aside).set('classed_for_people', (of.aside.get('classed_for_people') ?? 0) + before);
  return { ...of, approved, aside };
}

/** What the operators said of the tool when the call was judged. */
function saidOf(input: JsonObject, tool: string): ToolClassFact | undefined {
  const classes = input['tool_classes'] as Readonly<Record<string, ToolClassFact>> | undefined;
  return classes && Object.hasOwn(classes, tool) ? classes[tool] : undefined;
}

/** Somebody said that people look at this tool, or at what it has become. */
export function isForPeople(input: JsonObject, tool: string): boolean {
  const said = saidOf(input, tool);
  return said?.suspended !== undefined || said?.class === 'strict' || said?.class === 'deny';
}

function seenCall({ at, people }: DecidedCall, input: JsonObject, tool: string, readMoney: ReadMoney): SeenCall | null {
  const args = (input['arguments'] ?? {}) as JsonObject;
  const layout = layoutOf(args);
  const agent = input['agent_id'];
  if (layout === null) return null;
  const upstream = input['upstream'];
  return {
    upstream: typeof upstream === 'string' ? upstream : null,
    agent: typeof agent === 'string' ? agent : '',
    people,
    day: at.slice(0, 10),
    layout,
    ...told(layout, readMoney(args, tool)),
  };
}

/** Which values are never anything but themselves, and which numbers may be a range. */
function told(layout: Layout, money: ReturnType<ReadMoney>): Pick<SeenCall, 'fixed' | 'measured'> {
  const fixed = fixedIn(layout, money);
  const amounts = new Set(money.amounts.map(({ amount }) => amount));
  const measured = [...layout.values].flatMap(([pointer, value]) => {
    const { words: said } = nameOf(namesOf(pointer).at(-1) ?? '');
    return !fixed.has(pointer) && (measures(said) || (isNamed(value) && amounts.has(String(value)))) ? [pointer] : [];
  });
  return { fixed, measured: new Set(measured) };
}

/** `unit_price`, `max_results`, `number_of_rows`: what lies between two of them is more or less of the same. */
const measures = (said: readonly string[]): boolean => {
  const last = said.at(-1) ?? '';
  return (
    MEASURES.has(last) || (said.length > 1 && COUNTS.has(said[0] ?? '') && last.endsWith('s') && !last.endsWith('ss'))
  );
};
const MEASURES = words(
  `amount amounts total totals sum price prices cost costs fee fees budget balance discount tax salary tip usd eur gbp chf jpy cents euros dollars pounds
  count counts quantity qty limit offset page pages rows size bytes kb mb gb length width height depth distance weight
  score rate rating ratio percent percentage factor min max minimum maximum threshold timeout ttl delay interval duration
  years months weeks days hours minutes seconds secs ms millis milliseconds retries attempts replicas installments copies`,
);
const COUNTS = words('max maximum min minimum num number count total');

/** Where somebody is named who is paid, or which one of many is meant; everything, where there are more payees than the reader names. */
function fixedIn({ values }: Layout, { payees, more }: ReturnType<ReadMoney>): ReadonlySet<string> {
  const isFixed = (pointer: string, value: Json): boolean =>
    more ||
    (kindOf(value, false).of === 'number' && MEANS_ONE.has(nameOf(namesOf(pointer).at(-1) ?? '').words.at(-1) ?? '')) ||
    (isNamed(value) && payees.some((payee) => payee.includes(String(value).trim())));
  return new Set([...values].flatMap(([pointer, value]) => (isFixed(pointer, value) ? [pointer] : [])));
}
/** How names of numbers end that count nothing: the one between two of them is another thing. */
const MEANS_ONE = words(
  'account code id ids key no nr number phone pid pin port ports postcode ref reference uid gid zip',
);

const isNamed = (value: Json): value is string | number => typeof value === 'string' || typeof value === 'number';
