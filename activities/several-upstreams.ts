import { setTimeout as after } from 'node:timers/promises';
import type { ReadCall } from '../contracts/call-methods.js';
import type { Json, JsonObject } from '../contracts/json.js';
import type { ControlMethodName } from '../domain/mcp/control-methods.js';
import {
  lookOf,
  ownNameOf,
  ownUriOf,
  passesForAnother,
  prefixedName,
  prefixedUri,
  uriPassesForAnother,
} from '../domain/mcp/prefixed-names.js';
import { itemsMember, renamedPage, renamedResult, renamedUri } from '../domain/mcp/renamed-answers.js';
import { membersOf, objectText } from '../domain/mcp/reply.js';
import { READ_METHODS } from '../domain/mcp/read-methods.js';
import type { HeardResources, Listener } from '../domain/upstream/call-talks.js';
import { faultOf } from '../domain/upstream/noted-upstream.js';
import {
  createUpstreamCircuit,
  type UpstreamCircuit,
  type UpstreamFault,
} from '../domain/upstream/upstream-circuit.js';
import {
  togetherSaid,
  type Upstream,
  type UpstreamCaller,
  type UpstreamInstructions,
  type UpstreamOutcome,
} from '../domain/upstream/upstream.js';
import { within } from '../domain/within.js';
import { requestedVersion } from './mcp-handshake.js';
import { TimedOut, unknownOutcome } from './unknown-outcome.js';
import { causeText } from './clients/unsent.js';

/** One of several upstreams. */
export interface NamedUpstream {
  readonly name: string;
  readonly prefix: string;
  readonly upstream: Upstream;
  /** The longest that one of its calls may take; a call's own limit counts where it is shorter. */
  readonly timeoutMs?: number | undefined;
}

export interface SeveralOptions {
  readonly now?: () => number;
  /** Called when an upstream begins to fail, and when it answers again. */
  readonly onChange?: (name: string, fault: UpstreamFault | null) => void;
  /** How long a list waits for one upstream, and the first time, when a command may still be starting. */
  readonly listLimitMs?: number;
  readonly firstLimitMs?: number;
}

interface Member extends NamedUpstream {
  readonly circuit: UpstreamCircuit;
  readonly looksOfOthers: ReadonlySet<string>;
}
interface Owned {
  readonly member: Member;
  readonly own: string;
}
type ControlOutcome = Awaited<ReturnType<Upstream['control']>>;
/** `fault`: what the outcome says of the upstream. */
type Asked =
  | { readonly kind: 'asked'; readonly outcome: ControlOutcome; readonly fault: UpstreamFault | null }
  | { readonly kind: 'held'; readonly fault: UpstreamFault };
type Answered =
  | { readonly member: Member; readonly result: string }
  | { readonly member: Member; readonly fault: UpstreamFault };

const LIST_LIMIT_MS = 5_000;
const FIRST_LIMIT_MS = 20_000;
/** What is left of a limit after the upstreams had theirs, to put their lists together. */
const MERGING_MS = 200;
/** An upstream whose client gives up by itself has not answered in time all the same. */
const LATE_MS = 500;
/** A refusal that takes longer costs everybody who asks for a list that time. */
const AT_ONCE_MS = 500;
const LISTEN_AGAIN_MS = 10_000;
const LISTS_CHANGED = [
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
] as const;
/** Capabilities with a list, which changes when an upstream fails or comes back. */
const LISTED: ReadonlySet<string> = new Set(['tools', 'prompts', 'resources']);
/**
 * How several upstreams are asked: each introduces itself, lists what it has or is told the same, and the answers are put together; or the
 * one is asked that an address or a reference names.
 */
const ASKED: Readonly<Record<ControlMethodName, 'introduced' | 'listed' | 'told' | 'of-uri' | 'of-ref'>> = {
  initialize: 'introduced',
  ping: 'told',
  'tools/list': 'listed',
  'resources/list': 'listed',
  'resources/templates/list': 'listed',
  'resources/subscribe': 'of-uri',
  'resources/unsubscribe': 'of-uri',
  'prompts/list': 'listed',
  'completion/complete': 'of-ref',
  'logging/setLevel': 'told',
};
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const SERVER_INFO = { name: 'gate', version: '1' };

/**
 * Several MCP servers as one (docs/how-to/several-upstreams.md). A name says whose it is, and the upstream is sent its own name. What all
 * of them have is one list; one that fails is named in `_meta["gate/upstreams"]` and the others are served. A call goes to one upstream,
 * once.
 */
export function severalUpstreams(
  given: readonly NamedUpstream[],
  { now = Date.now, onChange, listLimitMs = LIST_LIMIT_MS, firstLimitMs = FIRST_LIMIT_MS }: SeveralOptions = {},
): Upstream {
  const members: readonly Member[] = given.map((one) => ({
    ...one,
    circuit: createUpstreamCircuit(now),
    looksOfOthers: new Set(given.filter((other) => other !== one).map(({ prefix }) => lookOf(prefix))),
  }));
  const byPrefix = new Map(members.map((member) => [member.prefix, member]));

  const listening = new Set<Listener>();
  const note = (member: Member, fault: UpstreamFault | null, how?: { readonly holds: boolean }) => {
    const before = member.circuit.standing().fault;
    if (fault === null) member.circuit.answered();
    else member.circuit.failed(fault, how);
    if ((before === null) === (fault === null)) return;
    onChange?.(member.name, fault);
    // Who asked for a list meanwhile has a part of it.
    if (fault === null) for (const listener of listening) for (const list of LISTS_CHANGED) listener.told(list, '{}');
  };

  /** Whose thing it is. What no list shows, because it passes for another upstream's, is nobody's. */
  const ownerOf = (of: 'name' | 'uri', text: Json | undefined): Owned | null => {
    if (typeof text !== 'string') return null;
    const named = of === 'uri' ? ownUriOf(text) : ownNameOf(text);
    const member = named && byPrefix.get(named.prefix);
    const passes = of === 'uri' ? uriPassesForAnother : passesForAnother;
    return member && !passes(named.own, member.looksOfOthers) ? { own: named.own, member } : null;
  };

  /** A control request to one upstream; it never rejects, and waits no longer than the limit. */
  async function ask(member: Member, caller: UpstreamCaller, request: JsonObject, timeoutMs: number): Promise<Asked> {
    // Whoever has a session already is introduced without a word of the upstream, which so says nothing of how it is now.
    const remembered = request['method'] === 'initialize';
    const { state, fault: known } = member.circuit.standing();
    const held = remembered && state === 'held' ? known : remembered ? null : member.circuit.held();
    if (held !== null) return { kind: 'held', fault: held };
    const limitMs = Math.max(1, timeoutMs);
    const late = new TimedOut();
    const begunMs = now();
    let outcome: ControlOutcome;
    let noneGiven = false;
    try {
      outcome = await within(
        limitMs,
        member.upstream.control(caller, request, { timeoutMs: limitMs + LATE_MS }),
        () => late,
      );
    } catch (error) {
      noneGiven = error === late && member.upstream.awaitsCredentials?.() === true;
      outcome = unknownOutcome(error === late ? 'the upstream gave no answer in time' : causeText(error), error);
    }
    const fault = noneGiven ? 'no_credentials' : faultOf(outcome);
    // What an agent wrote may be refused, or take long, and says nothing of how others are served: then only who cannot be reached fails.
    const isAgents =
      request['method'] !== 'initialize' && Object.keys(paramsOf(request)).some((name) => name !== '_meta');
    const asked: Asked = { kind: 'asked', outcome, fault };
    if (isRefusedForNow(outcome)) return asked;
    const how = { holds: !noneGiven && holdsOthers(outcome, now() - begunMs) };
    if (isAgents) {
      if (fault === null || outcome.kind === 'not_sent' || noneGiven) note(member, fault, how);
    } else if (fault !== null || !remembered || state === 'unknown') note(member, fault, how);
    return asked;
  }

  async function resultOf(
    member: Member,
    caller: UpstreamCaller,
    request: JsonObject,
    timeoutMs: number,
  ): Promise<Answered> {
    const asked = await ask(member, caller, request, timeoutMs);
    if (asked.kind === 'held') return { member, fault: asked.fault };
    const { outcome, fault } = asked;
    if (fault !== null) return { member, fault };
    const text = outcome.kind === 'reply' ? outcome.text : '{}';
    const said = membersOf(text);
    const result = said?.get('result');
    if (result !== undefined) return { member, result };
    const code = Number(membersOf(said?.get('error') ?? '')?.get('code'));
    // A server without prompts has none of them, which is no fault.
    return code === METHOD_NOT_FOUND ? { member, result: '{}' } : { member, fault: 'refused' };
  }

  const askAll = (caller: UpstreamCaller, limitMs: number, asked: readonly (readonly [Member, JsonObject])[]) => {
    const within = (member: Member) => (member.circuit.standing().state === 'unknown' ? firstLimitMs : listLimitMs);
    return Promise.all(
      asked.map(([member, request]) =>
        resultOf(member, caller, request, Math.min(within(member), limitMs - MERGING_MS)),
      ),
    );
  };

  async function introduce(caller: UpstreamCaller, request: JsonObject, limitMs: number): Promise<ControlOutcome> {
    const answers = await askAll(
      caller,
      limitMs,
      members.map((member) => [member, request]),
    );
    const capabilities: Record<string, JsonObject> = {};
    const instructions: UpstreamInstructions[] = [];
    for (const { member, ...answer } of answers) {
      if (!('result' in answer)) continue;
      const said = JSON.parse(answer.result) as { capabilities?: Record<string, JsonObject>; instructions?: unknown };
      for (const [name, of] of Object.entries(said.capabilities ?? {}))
        capabilities[name] = { ...capabilities[name], ...of, ...(LISTED.has(name) && { listChanged: true }) };
      if (typeof said.instructions === 'string')
        instructions.push({
          prefix: member.prefix,
          text: `${prefixedName(member.prefix, '*')}: ${said.instructions}`,
        });
    }
    const result: JsonObject = {
      protocolVersion: requestedVersion(request),
      capabilities,
      serverInfo: SERVER_INFO,
      ...(instructions.length > 0 && { instructions: togetherSaid(instructions) }),
    };
    const told = together(
      request['id'],
      answers,
      Object.entries(result).map(([name, value]) => [name, JSON.stringify(value)]),
    );
    return told.kind === 'reply' ? { ...told, instructions } : told;
  }

  async function list(caller: UpstreamCaller, request: JsonObject, limitMs: number): Promise<ControlOutcome> {
    const method = request['method'] as string;
    const cursor = paramsOf(request)['cursor'];
    const from = cursor === undefined ? members.map((member) => [member, null] as const) : placesIn(cursor, byPrefix);
    if (from === null) return refusal(request['id'], INVALID_PARAMS, 'the cursor is none of this list');
    const answers = await askAll(
      caller,
      limitMs,
      from.map(([member, place]) => [member, { ...request, params: place === null ? {} : { cursor: place } }] as const),
    );
    const items: string[] = [];
    const leftOut: Record<string, number> = {};
    const next: Record<string, string> = {};
    const judged = answers.map((answer): Answered => {
      if (!('result' in answer)) return answer;
      const { member, result } = answer;
      const page = result === '{}' ? NOTHING : renamedPage(method, result, member.prefix, member.looksOfOthers);
      if (!page) {
        note(member, 'invalid_answer');
        return { member, fault: 'invalid_answer' };
      }
      items.push(...page.items);
      if (page.leftOut > 0) leftOut[member.name] = page.leftOut;
      if (page.nextCursor !== null) next[member.prefix] = page.nextCursor;
      return answer;
    });
    const more = Object.keys(next).length > 0;
    const prefixes = (are: (answer: Answered) => boolean) => judged.filter(are).map(({ member }) => member.prefix);
    const parts = { listed: prefixes((one) => 'result' in one), missing: prefixes((one) => 'fault' in one) };
    const told = together(
      request['id'],
      judged,
      [
        [itemsMember(method), `[${items.join(',')}]`],
        ...(more ? [['nextCursor', JSON.stringify(cursorOf(next))] as const] : []),
      ],
      leftOut,
    );
    return told.kind === 'reply' ? { ...told, parts } : told;
  }

  /** A method that asks all of them the same; it succeeds where one does. */
  async function tell(caller: UpstreamCaller, request: JsonObject, limitMs: number): Promise<ControlOutcome> {
    return together(
      request['id'],
      await askAll(
        caller,
        limitMs,
        members.map((member) => [member, request]),
      ),
      [],
    );
  }

  /** A control method about one thing of one upstream. */
  async function one(
    caller: UpstreamCaller,
    request: JsonObject,
    at: { readonly member: Member; readonly params: JsonObject } | null,
    timeoutMs: number,
  ): Promise<ControlOutcome> {
    if (!at) return refusal(request['id'], INVALID_PARAMS, 'no upstream has this prefix');
    const asked = await ask(at.member, caller, { ...request, params: at.params }, timeoutMs);
    return asked.kind === 'held' ? { kind: 'not_sent', reason: heldWords(at.member, asked.fault) } : asked.outcome;
  }

  return {
    async callTool(caller, request, limits) {
      const method = request['method'] as string;
      const params = paramsOf(request);
      const isRead = READ_METHODS.has(method);
      const of = namedBy(method);
      const at = ownerOf(of, params[of]);
      if (!at) return { kind: 'not_sent', reason: NO_PREFIX };
      const { member, own } = at;
      const held = member.circuit.held();
      if (held !== null) return { kind: 'not_sent', reason: heldWords(member, held) };
      const { listener } = limits;
      const outcome = await member.upstream.callTool(
        caller,
        { ...request, params: { ...params, [of]: own } },
        {
          ...limits,
          timeoutMs: Math.min(limits.timeoutMs, member.timeoutMs ?? limits.timeoutMs),
          ...(listener && { listener: renamingListener(listener, member) }),
        },
      );
      // A call that takes long, or whose answer nobody can read, says something of a tool and its arguments; only who cannot be reached fails.
      if (outcome.kind === 'not_sent' && !outcome.refused)
        note(member, faultOf(outcome), { holds: holdsOthers(outcome) });
      else if (outcome.kind === 'reply') note(member, null);
      return outcome.kind === 'reply' ? renamedReply(outcome, isRead ? method : 'tools/call', member.prefix) : outcome;
    },

    control(caller, request, { timeoutMs }) {
      const method = request['method'] as string;
      const params = paramsOf(request);
      switch (Object.hasOwn(ASKED, method) ? ASKED[method as ControlMethodName] : null) {
        case 'introduced':
          return introduce(caller, request, timeoutMs);
        case 'listed':
          return list(caller, request, timeoutMs);
        case 'of-uri': {
          const at = ownerOf('uri', params['uri']);
          return one(caller, request, at && { member: at.member, params: { ...params, uri: at.own } }, timeoutMs);
        }
        case 'of-ref':
          return one(caller, request, completed(params, ownerOf), timeoutMs);
        case 'told':
          return tell(caller, request, timeoutMs);
        case null:
          return Promise.resolve(refusal(request['id'], METHOD_NOT_FOUND, 'no method of several upstreams'));
      }
    },

    async listen(caller, listener, signal) {
      listening.add(listener);
      const over = new Promise((resolve) => {
        if (signal.aborted) resolve(null);
        signal.addEventListener('abort', resolve, { once: true });
      });
      const unopened = new Set(members);
      await Promise.all([
        over,
        ...members.map(async (member) => {
          const { upstream } = member;
          const opened = () => {
            if (unopened.delete(member) && unopened.size === 0) listener.opened?.();
          };
          while (upstream.listen && !signal.aborted) {
            const renaming = { ...renamingListener(listener, member), opened };
            await upstream.listen(caller, renaming, signal).catch(() => undefined);
            // One that says nothing now is waited for no longer.
            opened();
            await after(LISTEN_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
          }
          opened();
        }),
      ]);
      listening.delete(listener);
    },

    nameFault(request) {
      const of = namedBy(request['method']);
      if (ownerOf(of, paramsOf(request)[of])) return null;
      const prefixed = of === 'uri' ? prefixedUri : prefixedName;
      return `${NO_PREFIX}; names begin with ${members.map(({ prefix }) => prefixed(prefix, '')).join(', ')}`;
    },

    standings: () => members.map(({ name, circuit }) => ({ name, ...circuit.standing() })),

    async close() {
      await Promise.all(members.map(({ upstream }) => upstream.close()));
    },
  };
}

const NO_PREFIX = 'no upstream has the prefix of this name';
/** The member of `params` that says of which upstream a call is. */
const READ_BY: Readonly<Record<ReadCall, 'uri' | 'name'>> = { 'resources/read': 'uri', 'prompts/get': 'name' };
const namedBy = (method: Json | undefined): 'uri' | 'name' =>
  typeof method === 'string' && Object.hasOwn(READ_BY, method) ? READ_BY[method as ReadCall] : 'name';

const NOTHING = { items: [], nextCursor: null, leftOut: 0 };

const paramsOf = ({ params }: JsonObject): JsonObject =>
  params !== null && typeof params === 'object' && !Array.isArray(params) ? params : {};

/** The answer of a limit to who asked: it says nothing of how the upstream serves others, and closes it to nobody. */
const isRefusedForNow = (outcome: ControlOutcome): boolean =>
  (outcome.kind === 'not_sent' && outcome.refused === true) || (outcome.kind === 'reply' && outcome.statusCode === 429);

/**
 * Whether an outcome like this, three times, keeps everybody from the upstream. Not where it is not the upstream that fails, but who gives Gate
 * its token. And not 503 that comes at once and costs its callers no time: it may be meant for one list alone, or for a moment, and a client that
 * starts asks for four lists at once.
 */
const holdsOthers = (outcome: ControlOutcome, tookMs = 0): boolean =>
  !(outcome.kind === 'not_sent' && outcome.noCredentials) && (tookMs > AT_ONCE_MS || !is503(outcome));

const is503 = (outcome: ControlOutcome): boolean =>
  (outcome.kind === 'unknown' && outcome.status === 503) || (outcome.kind === 'reply' && outcome.statusCode === 503);

const heldWords = ({ name }: Member, fault: UpstreamFault): string =>
  `the upstream ${name} does not answer (${fault}) and is asked again later`;

const refusal = (id: Json | undefined, code: number, message: string): UpstreamOutcome => ({
  kind: 'reply',
  statusCode: 200,
  text: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error: { code, message } }),
  failed: true,
});

/** One answer of those who gave one, with the names of the others; none where nobody did. */
function together(
  id: Json | undefined,
  answers: readonly Answered[],
  members: readonly (readonly [string, string])[],
  leftOut: Readonly<Record<string, number>> = {},
): UpstreamOutcome {
  const failing = answers.flatMap((answer) =>
    'fault' in answer ? [{ name: answer.member.name, fault: answer.fault }] : [],
  );
  if (failing.length === answers.length && failing.length > 0) {
    const named = failing.map(({ name, fault }) => `${name} (${fault})`).join(', ');
    return { kind: 'not_sent', reason: `no upstream answers: ${named}` };
  }
  const told = {
    ...(failing.length > 0 && { failing }),
    // How many, and not their names: an upstream chooses those, and a model reads this.
    ...(Object.keys(leftOut).length > 0 && { left_out: leftOut }),
  };
  const note = Object.keys(told).length > 0 ? [['_meta', JSON.stringify({ 'gate/upstreams': told })] as const] : [];
  const text = objectText([
    ['jsonrpc', '"2.0"'],
    ['id', JSON.stringify(id ?? null)],
    ['result', objectText([...members, ...note])],
  ]);
  return { kind: 'reply', statusCode: 200, text, failed: false, ...(failing.length > 0 && { partial: true as const }) };
}

/** Where each upstream goes on. It comes back from clients, and says no more than they could ask an upstream themselves. */
const cursorOf = (next: Readonly<Record<string, string>>): string =>
  Buffer.from(JSON.stringify(next)).toString('base64url');

function placesIn(cursor: Json, byPrefix: ReadonlyMap<string, Member>): readonly (readonly [Member, string])[] | null {
  if (typeof cursor !== 'string') return null;
  let places: unknown;
  try {
    places = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
  if (places === null || typeof places !== 'object' || Array.isArray(places)) return null;
  const found = Object.entries(places).map(([prefix, place]: [string, unknown]) => {
    const member = byPrefix.get(prefix);
    return member && typeof place === 'string' ? ([member, place] as const) : null;
  });
  return found.length > 0 && found.every((one) => one !== null) ? found : null;
}

/** What is completed is an argument of a prompt or of a resource's address. */
function completed(
  params: JsonObject,
  ownerOf: (of: 'name' | 'uri', text: Json | undefined) => Owned | null,
): { readonly member: Member; readonly params: JsonObject } | null {
  const ref = paramsOf({ params: params['ref'] ?? null });
  const of = typeof ref['uri'] === 'string' ? 'uri' : 'name';
  const at = ownerOf(of, ref[of]);
  return at && { member: at.member, params: { ...params, ref: { ...ref, [of]: at.own } } };
}

function renamedReply(
  reply: UpstreamOutcome & { kind: 'reply' },
  method: string,
  prefix: string,
): UpstreamOutcome & { kind: 'reply' } {
  const members = membersOf(reply.text);
  const result = members?.get('result');
  if (!members || result === undefined) return reply;
  const renamed = renamedResult(method, result, prefix);
  return renamed === result ? reply : { ...reply, text: objectText(new Map(members).set('result', renamed)) };
}

const renamingListener = (listener: Listener, { name, prefix }: Pick<Member, 'name' | 'prefix'>): Listener => ({
  ...listener,
  ...(listener.resources && { resources: renamedResources(listener.resources, prefix) }),
  told: (method, params) =>
    listener.told(method, method === 'notifications/resources/updated' ? renamedUri(params, prefix) : params),
  asked: (method, params, timeoutMs, key, of) => listener.asked(method, params, timeoutMs, key, { ...of, from: name }),
});

const renamedResources = (resources: HeardResources, prefix: string): HeardResources => ({
  of: async () =>
    (await resources.of()).flatMap((uri) => {
      const named = ownUriOf(uri);
      return named?.prefix === prefix ? [named.own] : [];
    }),
  askedFor: (own) => resources.askedFor(prefixedUri(prefix, own)),
});
