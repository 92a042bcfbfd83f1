import { setTimeout as after } from 'node:timers/promises';
import type { Mode } from '../../../contracts/call.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { DECOY_DENIAL } from '../../../domain/call/verdict.js';
import { canonicalDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import type { McpRequest } from '../../../domain/mcp/envelope.js';
import { isList, sentBy } from '../../../domain/mcp/control-methods.js';
import type { ListCursors } from '../../../domain/mcp/list-cursors.js';
import { membersOf, objectText, present } from '../../../domain/mcp/reply.js';
import { foundInControl } from '../../../domain/inspection/control-texts.js';
import type { SubscriptionStore } from '../../../domain/mcp/held-subscriptions.js';
import { SUBSCRIBE, UNSUBSCRIBE } from '../../../domain/mcp/subscriptions.js';
import type { Listener } from '../../../domain/upstream/call-talks.js';
import type { Upstream } from '../../../domain/upstream/upstream.js';
import { withoutClaim } from '../../../domain/review/told-change.js';
import type { AgentLimitsCheck } from '../agent-limits.js';
import type { Decoys } from '../calls.js';
import type { ControlCall, ControlLog } from './control-log.js';
import { type ControlReply, emptyReply } from './control-replies.js';
import { type HeldSubscriptions, heldSubscriptions, type Holder } from './held-subscriptions.js';
import type { AgentCaller } from '../mcp-requests.js';
import { sharedListening } from './shared-listening.js';

export type ControlRequest = McpRequest & { readonly kind: 'control' };

export interface ControlOptions {
  readonly limits: AgentLimitsCheck;
  readonly controlLog: ControlLog;
  readonly upstream: Upstream;
  readonly upstreamTimeoutMs: number;
  readonly mode: Mode;
  /** Seals where in a list an upstream goes on. */
  readonly cursors: ListCursors;
  /** Absent where nobody says what they are. */
  readonly decoys?: Decoys | undefined;
  /** Who of an agent's clients is subscribed to what. */
  readonly subscriptions: SubscriptionStore;
  /** Called before a control method is forwarded. Throws to refuse it. */
  readonly admitControl?: (caller: AgentCaller, method: string, correlationId: string) => Promise<void> | void;
}

const LISTEN_AGAIN_MS = 10_000;
/** How long the upstream may take where no client waits for its answer. */
const ASIDE_LIMIT_MS = 5_000;
/** Of sessions and streams: outside of them nobody is told anything, so that they are answered and change nothing. */
const OF_SESSIONS: ReadonlySet<string> = new Set(['logging/setLevel', SUBSCRIBE, UNSUBSCRIBE]);

/** A control method, and its request. */
interface Asked {
  readonly method: string;
  readonly body: JsonObject;
}

const NEXT = 'nextCursor';

/** What an agent says in a control call beyond where in a list it is; `null` where that is nothing. */
function wordsOf(method: string, { params }: JsonObject): JsonObject | null {
  const { cursor: _place, ...words } = sentBy(method, params);
  return Object.keys(words).length === 0 ? null : words;
}

/** Methods without a verdict: what they say is bounded and read by rules; counted, limited, forwarded. */
export function createControls(options: ControlOptions) {
  const held = heldSubscriptions({
    store: options.subscriptions,
    tell(caller, method, uri) {
      const timeoutMs = Math.min(options.upstreamTimeoutMs, ASIDE_LIMIT_MS);
      return options.upstream.control(caller, { jsonrpc: '2.0', id: 1, method, params: { uri } }, { timeoutMs });
    },
  });
  const shared = sharedListening(async (caller, told, signal) => {
    const listener = { ...told, resources: held.resources(caller) };
    if (!options.upstream.listen) listener.opened?.();
    while (options.upstream.listen && !signal.aborted) {
      // An upstream that is away, or has no stream, is asked again later: its restart must not silence it for good.
      await options.upstream.listen(caller, listener, signal).catch(() => undefined);
      listener.opened?.();
      await after(LISTEN_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  });
  /**
   * What an agent says in it, for the record. Throws `policy_denied` where rules find something there, unless Gate observes; and in every mode where a decoy
   * stands there, which is counted.
   */
  async function judged(
    caller: AgentCaller,
    { method, body }: Asked,
    correlationId: string,
  ): Promise<Pick<ControlCall, 'sent' | 'found'>> {
    const words = wordsOf(method, body);
    if (words === null) return {};
    const decoy = options.decoys?.of(caller.tenant).touched([], words) ?? null;
    if (decoy) {
      await options.decoys?.touched(caller, correlationId, decoy);
      throw new GateError('policy_denied', DECOY_DENIAL, { fields: { layer: 'policy', reasons: [DECOY_DENIAL] } });
    }
    const found = foundInControl(words);
    if (found.length > 0 && options.mode === 'enforce')
      throw new GateError('policy_denied', `\`${method}\` was not sent: its parameters hold ${found.join(', ')}`, {
        fields: { layer: 'proxy', reasons: [...found] },
      });
    return { sent: canonicalDigest(words), found };
  }
  /** The request with the upstream's own cursor. Throws `invalid_mcp` for one that Gate did not give this agent for this list. */
  function atPlace(caller: AgentCaller, method: string, body: JsonObject): JsonObject {
    const params = body['params'] as JsonObject | undefined;
    const cursor = params?.['cursor'];
    if (typeof cursor !== 'string' || !isList(method)) return body;
    const own = options.cursors.open(caller, method, cursor);
    if (own === null)
      throw new GateError('invalid_mcp', 'Invalid MCP request: the cursor is none of this list', {
        fields: { field: 'params.cursor' },
      });
    return { ...body, params: { ...params, cursor: own } };
  }
  /** The answer with Gate's cursor in the place of the upstream's. */
  function placeSealed(caller: AgentCaller, method: string, text: string): string {
    const members = isList(method) ? membersOf(text) : null;
    const result = membersOf(members?.get('result') ?? '');
    const next = result?.get(NEXT);
    if (!members?.has('result') || (result && next === undefined)) return text;
    const own = present(next);
    const sealed = own && options.cursors.seal(caller, method, JSON.parse(own) as Json);
    if (!result || sealed === null)
      throw new GateError(
        'upstream_invalid_response',
        `\`${method}\` was answered with a cursor that is no text, or too long`,
      );
    const all = new Map(result);
    if (sealed === undefined) all.delete(NEXT);
    else all.set(NEXT, JSON.stringify(sealed));
    return objectText(new Map(members).set('result', objectText(all)));
  }
  async function sent(
    caller: AgentCaller,
    { method, body }: Asked,
    correlationId: string,
    known: Pick<ControlCall, 'sent' | 'found'> | null = null,
  ): Promise<ControlReply> {
    const said = known ?? (await judged(caller, { method, body }, correlationId));
    const placed = atPlace(caller, method, body);
    const note = (answered: boolean) => options.controlLog.note({ caller, method, correlationId, answered, ...said });
    const asking = options.upstream.control(caller, placed, { timeoutMs: options.upstreamTimeoutMs });
    const reply = await asking.catch((error: unknown) => {
      note(false);
      throw error;
    });
    if (reply.kind !== 'not_sent') note(reply.kind === 'accepted' || (reply.kind === 'reply' && !reply.failed));
    if (reply.kind === 'accepted') return null;
    if (reply.kind === 'reply')
      return {
        status: reply.statusCode,
        text: placeSealed(caller, method, withoutClaim(reply.text)),
        failed: reply.failed,
      };
    if (reply.kind === 'not_sent') throw new GateError('upstream_unreachable', reply.reason);
    throw new GateError(reply.cause === 'timeout' ? 'upstream_timeout' : 'upstream_invalid_response', reply.reason);
  }

  return {
    async admit(caller: AgentCaller, method: string, correlationId: string): Promise<void> {
      await options.admitControl?.(caller, method, correlationId);
      await options.limits.control({ caller, correlationId, name: method });
    },

    async forward(caller: AgentCaller, asked: Asked, correlationId: string): Promise<ControlReply> {
      // A level and a subscription are of the agent's session or stream: the session with the upstream is shared, and hears everything.
      if (OF_SESSIONS.has(asked.method)) return emptyReply(asked.body['id'] ?? null);
      return sent(caller, asked, correlationId);
    },

    /** `resources/subscribe` and `resources/unsubscribe` of a session or stream. */
    async watch(caller: AgentCaller, holder: Holder, asked: Asked, correlationId: string): Promise<ControlReply> {
      // Before it is kept: what is kept is sent again in each new session with the upstream.
      const said = await judged(caller, asked, correlationId);
      const id = asked.body['id'] ?? null;
      const send = () => sent(caller, asked, correlationId, said);
      const { uri } = asked.body['params'] as { readonly uri: string };
      return asked.method === SUBSCRIBE
        ? held.subscribe(caller, holder, { uri, id }, send)
        : held.unsubscribe(caller, holder.id, { uri, id }, send);
    },
    held: held as Pick<HeldSubscriptions, 'giveUp' | 'renew' | 'hearing'>,

    /** Until the signal, what the upstream says outside of calls. */
    listen: (caller: AgentCaller, listener: Listener, signal: AbortSignal): Promise<void> =>
      shared(caller, listener, signal),

    /** A request of the upstream that was handed on to the agent's client. */
    handedOn: (caller: AgentCaller, method: string, correlationId: string, answered: boolean): void =>
      options.controlLog.note({ caller, method, correlationId, answered }),
  };
}

export type Controls = ReturnType<typeof createControls>;
