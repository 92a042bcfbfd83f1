import type { JsonObject } from '../../contracts/json.js';
import type { Taint, ValueKind } from '../../contracts/policy.js';
import type { KeyRing } from '../crypto/key-ring.js';
import type { Log } from '../log.js';
import { foreignText } from '../text.js';
import type { FirstBrought, KeptAnswer, KnownValues } from './known-values.js';
import { LONGEST_POINTER, valuesOfAnswer, valuesOfArguments } from './read-values.js';
import { ADDRESS_KINDS, domainsOf, valuesOfArgument } from './values.js';

/** What a deployment says of what its agents read (docs/architecture/information-flow.md). */
export interface FlowSettings {
  /** How long what an answer brought in counts; 0 turns all of it off. */
  readonly windowMs: number;
  /** Tools whose answers nobody outside can write to. */
  readonly trustedTools: readonly string[];
  /** Addresses, hosts and account numbers that may go anywhere, as somebody would write them. */
  readonly trustedValues: readonly string[];
}
export const NO_TRUST: FlowSettings = { windowMs: 86_400_000, trustedTools: [], trustedValues: [] };

/** What operators are told. */
export const flowLog = (logger: Pick<Log, 'warn'>) => ({
  onTooManyAnswers: ({ tenant, agent }: FlowOwner): void =>
    logger.warn(
      { tenant, agent, answers: AGENT_LIMITS.answers, values: AGENT_LIMITS.values },
      'this agent read more answers within GATE_TAINT_WINDOW_SECS than are kept: what it sends to an address that they may have held waits for a person',
    ),
});

/** Whose answers they are. */
export interface FlowOwner {
  readonly tenant: string;
  readonly agent: string;
}

/** One call of a request, as it was asked for or as it ran. */
export interface FlowCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** How many answers of an agent count, and how many values of them all. */
export interface AgentLimits {
  readonly answers: number;
  readonly values: number;
  /** How many values a process keeps in memory, of the answers of all agents. An agent's go together. */
  readonly held: number;
}
export const AGENT_LIMITS: AgentLimits = { answers: 1_024, values: 131_072, held: 500_000 };
const USE = 'information-flow';
const DIGEST_LENGTH = 11;
/** Listed of a call, and of all calls of a batch. */
const MOST_TAINTS = 32;
const MOST_TAINTS_OF_BATCH = 512;

const joined = (digests: Iterable<string>): string => [...digests].join('');
function parts(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += DIGEST_LENGTH) found.push(text.slice(at, at + DIGEST_LENGTH));
  return found;
}

interface Written {
  readonly key: string;
  readonly brought: string;
  readonly at: readonly number[];
  readonly fields: KeptAnswer['fields'];
  readonly own: string;
  readonly vouched: string;
  readonly lost: readonly [addresses: boolean, names: boolean];
}

/** The digests of values, and their sealed form. A digest is of one agent: another agent's is another one for the same value. */
export function flowSealing(keys: KeyRing) {
  const digester = ({ tenant, agent }: FlowOwner, key: string) => {
    const digest = keys.digesting(USE, key);
    return (
      digest &&
      ((kind: ValueKind, form: string) => digest(JSON.stringify([tenant, agent, kind, form])).slice(0, DIGEST_LENGTH))
    );
  };
  const context = ({ tenant, agent }: FlowOwner, id: string) => `gate.information-flow/${tenant}/${agent}/${id}`;
  return {
    activeKey: keys.activeKeyId,
    digester,
    seal(owner: FlowOwner, answer: KeptAnswer): Buffer {
      const written: Written = {
        key: answer.key,
        brought: joined(answer.brought.keys()),
        at: [...answer.brought.values()],
        fields: answer.fields,
        own: joined(answer.own),
        vouched: joined(answer.vouched),
        lost: [answer.lostAddresses, answer.lostNames],
      };
      return keys.seal(JSON.stringify(written), context(owner, answer.id));
    },
    /** Throws where this is not what was sealed for this call of this agent. */
    open(owner: FlowOwner, id: string, sealed: Uint8Array): KeptAnswer {
      const { key, brought, at, fields, own, vouched, lost } = JSON.parse(
        keys.open(sealed, context(owner, id)).toString('utf8'),
      ) as Written;
      return {
        id,
        key,
        brought: new Map(parts(brought).map((digest, place) => [digest, at[place] as number])),
        fields,
        own: new Set(parts(own)),
        vouched: new Set(parts(vouched)),
        lostAddresses: lost[0],
        lostNames: lost[1],
      };
    },
  };
}
export type FlowSealing = ReturnType<typeof flowSealing>;

/** What an agent has read, as far as it is kept. */
export interface AgentFlow {
  readonly known: KnownValues;
  /** The newest answer of which something was not kept, or cannot be read; its values may stand anywhere. */
  readonly lost: {
    readonly from: string;
    readonly why: Exclude<Taint['lost'], undefined>;
    readonly addresses: boolean;
    readonly names: boolean;
  } | null;
}

/** Values that the deployment vouches for. */
export function trustedForms({ trustedValues }: FlowSettings): ReadonlySet<string> {
  const forms = new Set<string>();
  for (const value of trustedValues)
    valuesOfArgument(value.replace(/^@/, ''), (kind, form) => {
      if (ADDRESS_KINDS.has(kind) || kind === 'name') forms.add(`${kind}\0${form}`);
    });
  return forms;
}

/** What the arguments of calls hold that an answer may have brought in; `null` where that is nothing. */
export function readCalls(calls: readonly FlowCall[]): ReturnType<typeof valuesOfArguments>[] | null {
  const read = calls.map(({ arguments: given }) => valuesOfArguments(given));
  return read.some(({ values, more }) => more || values.length > 0) ? read : null;
}

/** What the answers that an agent read brought into the arguments of its calls (docs/architecture/information-flow.md#what-is-matched). */
export function taintOf(
  calls: ReturnType<typeof valuesOfArguments>[],
  { known, lost }: AgentFlow,
  { digester, activeKey }: Pick<FlowSealing, 'digester' | 'activeKey'>,
  owner: FlowOwner,
  trusted: ReadonlySet<string>,
): Taint[] {
  if (known.newest === null && !lost) return [];
  const digests = new Map([...new Set([activeKey, ...known.keys()])].map((key) => [key, digester(owner, key)]));
  const newest = known.newest ?? lost?.from ?? '';
  const most = Math.min(MOST_TAINTS, Math.floor(MOST_TAINTS_OF_BATCH / calls.length));
  return calls.flatMap(taintOfCall);

  function taintOfCall({ values, more }: ReturnType<typeof valuesOfArguments>, call: number): readonly Taint[] {
    const found = new Map<string, Taint>();
    const texts = new Map<string, { all: number; hits: Taint[] }>();
    const addressed = new Set<string>();
    const unknown = (why: Taint['lost'], kind: ValueKind): Taint => ({
      from: newest,
      tool: '',
      lost: why,
      field: null,
      argument: '',
      kind,
      ...(calls.length > 1 && { call }),
    });
    // What is not read may be from anywhere.
    if (more) found.set('', unknown('arguments', 'mail'));
    for (const { kind, form, pointer } of values) {
      const counted = kind === 'text' && texts.get(pointer);
      if (counted) counted.all += 1;
      else if (kind === 'text') texts.set(pointer, { all: 1, hits: [] });
      const hit = heardIn(kind, form);
      if (hit === null) continue;
      // Rules read from it what the argument is for.
      if (pointer.length > LONGEST_POINTER && (ADDRESS_KINDS.has(kind) || kind === 'name')) {
        found.set('', unknown('arguments', 'mail'));
        continue;
      }
      const taint: Taint = {
        ...hit,
        argument: foreignText(pointer, LONGEST_POINTER),
        kind,
        ...(calls.length > 1 && { call }),
      };
      if (kind === 'text') texts.get(pointer)?.hits.push(taint);
      else if (kind !== 'host' || !addressed.has(pointer)) found.set(`${pointer}\0${kind}\0${hit.from}`, taint);
      if (kind === 'url') addressed.add(pointer);
    }
    // A few words in common are a language; most of a text is a copy.
    for (const [pointer, { all, hits }] of texts)
      if (hits[0] && hits.length * 2 >= all) found.set(`${pointer}\0text`, hits[0]);
    const all = [...found.values()].sort((one, other) => standingOf(one) - standingOf(other));
    const [first] = all.slice(most);
    if (!first) return all;
    // Of names nobody knows here which one says where the call goes.
    return [unknown('too_many_values', standingOf(first) < WORDS ? 'mail' : first.kind), ...all.slice(0, most)];
  }

  /** The answer that brought a value in; `null` where none did, or something vouches for it. */
  function heardIn(kind: ValueKind, form: string): Omit<Taint, 'argument' | 'kind' | 'call'> | null {
    const forms = kind === 'host' ? domainsOf(form) : [form];
    if (isTrusted(kind, form)) return null;
    let first = null as Brought | null;
    for (const each of forms)
      for (const [key, digestOf] of digests) {
        const digest = digestOf?.(kind, each);
        if (digest === undefined) continue;
        if (each === form && known.isCleared(key, digest)) return null;
        const one = known.first(key, digest);
        if (one && (each !== first?.each || one.age < first.age)) first = { ...one, each };
      }
    if (first) {
      const { id, field } = first;
      return { from: id, tool: foreignText(field.tool, LONGEST_NAME), field: field.pointer };
    }
    const mayBeLost = lost && (ADDRESS_KINDS.has(kind) ? lost.addresses : kind === 'name' && lost.names);
    return mayBeLost ? { from: lost.from, tool: '', lost: lost.why, field: null } : null;
  }

  function isTrusted(kind: ValueKind, form: string): boolean {
    if (trusted.has(`${kind}\0${form}`)) return true;
    const host =
      kind === 'mail'
        ? form.slice(form.indexOf('@') + 1)
        : kind === 'host'
          ? form
          : kind === 'url'
            ? /^[^/?#:]{1,255}/.exec(form)?.[0]
            : null;
    return host != null && domainsOf(host).some((domain) => trusted.has(`host\0${domain}`));
  }
}

/** What says where a call goes comes before what it says: addresses, then names, then words and numbers. */
const WORDS = 2;
const standingOf = ({ kind }: Taint): number => (ADDRESS_KINDS.has(kind) ? 0 : kind === 'name' ? 1 : WORDS);

interface Brought extends FirstBrought {
  readonly each: string;
}
const LONGEST_NAME = 64;

/** A call that ran, with what was found in its arguments when it was judged. */
export interface AnsweredCall {
  readonly id: string;
  readonly asked: readonly FlowCall[];
  /** What ran: as it was asked, or as its approver changed it. */
  readonly ran: readonly FlowCall[];
  readonly taint: readonly Taint[];
  /** The answer as its agent gets it; `null` where it is withheld. */
  readonly released: string | null;
}

/** What is kept of an answer before its agent gets it; `null` where it holds nothing that counts. */
export function keptOf(
  { id, asked, ran, taint, released }: AnsweredCall,
  { digester, activeKey: key }: Pick<FlowSealing, 'digester' | 'activeKey'>,
  owner: FlowOwner,
  trustedTools: ReadonlySet<string>,
): { readonly answer: KeptAnswer; readonly values: number } | null {
  const digest = digester(owner, key);
  if (!digest) throw new Error('the active key makes no digests');
  // What a person typed into a call is nobody's but his; what its agent had read stays so.
  const foreign = new Set<string>();
  for (const [call, { arguments: given }] of asked.entries())
    for (const { kind, form, pointer } of valuesOfArguments(given).values)
      if (taint.some((known) => (known.call ?? 0) === call && known.argument === foreignText(pointer, LONGEST_POINTER)))
        foreign.add(digest(kind, form));
  const own = new Set<string>();
  // Where not everything that was found is listed, nothing is known to be the agent's own.
  if (taint.length < MOST_TAINTS && taint.every(({ lost }) => lost !== 'too_many_values' && lost !== 'arguments'))
    for (const { arguments: given } of ran)
      for (const { kind, form } of valuesOfArguments(given).values) {
        const value = digest(kind, form);
        if (!foreign.has(value)) own.add(value);
      }
  const read = released === null ? NOTHING : valuesOfAnswer(released);
  const tools = ran.map(({ tool }) => tool);
  const brought = new Map<string, number>();
  const vouched = new Set<string>();
  const fields: { pointer: string; tool: string }[] = [];
  const places = new Map<string, number>();
  for (const { kind, form, pointer } of read.values) {
    const tool = tools.length === 1 ? (tools[0] as string) : (tools[callIn(pointer)] ?? '');
    const value = digest(kind, form);
    if (trustedTools.has(tool)) {
      // What it was asked with it may only repeat: `nobody found under eve@evil.example`.
      if (!foreign.has(value)) vouched.add(value);
    } else if (!own.has(value)) {
      // The row of an answer is not to be many times as large as the answer: behind so many places the answer is named alone.
      const shown = places.size < MOST_FIELDS || places.has(pointer) ? pointer : '';
      const place = places.get(shown) ?? fields.push({ pointer: shown, tool }) - 1;
      places.set(shown, place);
      brought.set(value, place);
    }
  }
  const isTrusted = tools.every((tool) => trustedTools.has(tool));
  const lostAddresses = read.lostAddresses && !isTrusted;
  const lostNames = read.lostNames && !isTrusted;
  const values = brought.size + own.size + vouched.size;
  if (values === 0 && !lostAddresses && !lostNames) return null;
  return { answer: { id, key, brought, fields, own, vouched, lostAddresses, lostNames }, values };
}
const MOST_FIELDS = 1_024;
const NOTHING = { values: [], lostAddresses: false, lostNames: false } as const;

/** Which call of a batch a place in its answer belongs to. */
const callIn = (pointer: string): number => Number(/^\/result\/calls\/(\d{1,3})\//.exec(pointer)?.[1] ?? -1);
