import { LRUCache } from 'lru-cache';
import type { Json } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import {
  beyond,
  concerns,
  type Hold,
  LONGEST_URI,
  type SubscriptionStore,
} from '../../../domain/mcp/held-subscriptions.js';
import { membersOf } from '../../../domain/mcp/reply.js';
import { SUBSCRIBE, UNSUBSCRIBE, UPDATED } from '../../../domain/mcp/subscriptions.js';
import type { HeardResources, Listener } from '../../../domain/upstream/call-talks.js';
import type { UpstreamCaller } from '../../../domain/upstream/upstream.js';
import { type ControlReply, emptyReply } from './control-replies.js';

/** A session, or a stream that a client listens to. */
export interface Holder {
  readonly id: string;
  /** When it holds nothing any more, unless it renews. */
  readonly untilMs: number;
  /** Whether it has ended. Asked again after its subscription was stored: the end may have cleaned up just before that. */
  readonly isOver: () => Promise<boolean> | boolean;
}

export interface HeldSubscriptionsOptions {
  readonly store: SubscriptionStore;
  /** Asks the upstream in the agent's name. Nobody looks at its answer. */
  readonly tell: (caller: UpstreamCaller, method: string, uri: string) => Promise<unknown>;
  readonly now?: () => number;
}

/** What the upstream was told last and what is held agree after one correction, unless somebody changed his mind meanwhile. */
const MOST_CORRECTIONS = 5;
const SWEPT_AT_ONCE = 50;
/** Agents whose upstreams are being told. */
const MOST_SWEEPING = 100;
/** For so long after a change at one replica, the others may still act on what was held before. */
const READ_MS = 1_000;
const MOST_AGENTS = 1_000;
/** Of the addresses that are remembered for it, of all agents together. */
const MOST_CHARACTERS = 8_000_000;
/** So many notifications of a stream wait until it is known who hears them. */
const MOST_WAITING = 1_000;
const INVALID_PARAMS = -32_602;

/**
 * Who is subscribed to what, of all clients of an agent, which share its session with the upstream (docs/architecture/mcp-sessions.md#subscriptions).
 * The store says what is held; whoever changed it, or told the upstream something, looks afterwards whether the upstream was told last what is
 * held now. So replicas need no lock: the last of them to look finds what the others left, and corrects it.
 */
export function heldSubscriptions({ store, tell, now = Date.now }: HeldSubscriptionsOptions) {
  const turns = new Map<string, { readonly caller: UpstreamCaller; readonly last: Promise<unknown> }>();
  const turnOf = (caller: UpstreamCaller, uri: string) => JSON.stringify([agentOf(caller), uri]);
  /** In this process one request about a resource of an agent follows another: the upstream may take two at once in either order. */
  async function inTurn<Result>(caller: UpstreamCaller, uri: string, work: () => Promise<Result>): Promise<Result> {
    const key = turnOf(caller, uri);
    const mine = (turns.get(key)?.last ?? Promise.resolve()).then(work, work);
    turns.set(key, { caller, last: mine });
    try {
      return await mine;
    } finally {
      if (turns.get(key)?.last === mine) turns.delete(key);
    }
  }

  const known = new LRUCache<string, { readonly readMs: number; readonly holds: Promise<readonly Hold[]> }>({
    max: MOST_AGENTS,
    maxSize: MOST_CHARACTERS,
  });
  const changed = (caller: UpstreamCaller): void => void known.delete(agentOf(caller));
  function holdsOf(caller: UpstreamCaller): Promise<readonly Hold[]> {
    const key = agentOf(caller);
    const last = known.get(key);
    const ageMs = now() - (last?.readMs ?? 0);
    if (last && ageMs >= 0 && ageMs < READ_MS) return last.holds;
    const read = { readMs: now(), holds: store.of(caller) };
    known.set(key, read, { size: 1 });
    read.holds.then(
      (holds) => {
        if (known.peek(key) === read) known.set(key, read, { size: charactersOf(holds) });
      },
      () => {
        if (known.peek(key) === read) known.delete(key);
      },
    );
    return read.holds;
  }

  const isHeld = async (caller: UpstreamCaller, uri: string): Promise<boolean> =>
    (await store.of(caller)).some((hold) => hold.uri === uri);

  /** Tells the upstream until what it was told last, `said`, is what is held. */
  async function agree(caller: UpstreamCaller, uri: string, said: boolean): Promise<void> {
    for (let last = said, times = 0; times < MOST_CORRECTIONS; times += 1) {
      const held = await isHeld(caller, uri);
      if (held === last) return;
      await tell(caller, held ? SUBSCRIBE : UNSUBSCRIBE, uri).catch(() => undefined);
      last = held;
    }
  }

  const sweeping = new Map<string, UpstreamCaller>();
  let reading = false;
  let askedAgain = false;
  /**
   * Tells the upstreams what is held no more, whoever gave it up or died before it told. In the background: who gives up waits for nobody, and no
   * agent for another one's upstream.
   */
  async function sweep(): Promise<void> {
    askedAgain = true;
    if (reading) return;
    reading = true;
    try {
      while (askedAgain && sweeping.size < MOST_SWEEPING) {
        askedAgain = false;
        // An agent that just tells its upstream something looks again once that answered: whoever ends a turn sweeps after it, not in it.
        const busy = new Map([...turns.values()].map(({ caller }) => [agentOf(caller), caller] as const));
        const over = await store.over(SWEPT_AT_ONCE, [...new Map([...busy, ...sweeping]).values()]);
        // Whoever is telling it now removes it.
        const left = over.filter(({ caller, uri }) => !turns.has(turnOf(caller, uri)));
        const callers = new Map(left.map(({ caller }) => [agentOf(caller), caller]));
        for (const [agent, caller] of callers) {
          sweeping.set(agent, caller);
          sweptOf(left.filter((one) => agentOf(one.caller) === agent)).then(
            () => (sweeping.delete(agent), swept()),
            () => sweeping.delete(agent),
          );
        }
        askedAgain ||= left.length > 0 && over.length === SWEPT_AT_ONCE;
      }
    } finally {
      reading = false;
    }
  }
  /** One after another of one agent. */
  async function sweptOf(over: Awaited<ReturnType<SubscriptionStore['over']>>): Promise<void> {
    for (const { id, caller, uri } of over)
      await inTurn(caller, uri, async () => {
        await agree(caller, uri, true);
        await store.remove([id]);
      });
  }
  const swept = (): void => void sweep().catch(() => undefined);

  async function giveUp(caller: UpstreamCaller, holder: string): Promise<void> {
    await store.letGoOf(holder);
    changed(caller);
    swept();
  }

  async function letGo(caller: UpstreamCaller, holds: readonly Hold[]): Promise<void> {
    await store.letGo(holds.map(({ id }) => id));
    changed(caller);
  }

  return {
    /** Subscribes by `send`. What the upstream does not take is not held; one that says nothing is told that it is not wanted. */
    async subscribe(
      caller: UpstreamCaller,
      holder: Holder,
      { uri, id }: { readonly uri: string; readonly id: Json },
      send: () => Promise<ControlReply>,
    ): Promise<ControlReply> {
      if (uri.length > LONGEST_URI) return tooLong(id);
      return inTurn(caller, uri, async () => {
        const isOwn = (hold: Hold) => hold.holder === holder.id && hold.uri === uri;
        const isNew = !(await store.of(caller)).some(isOwn);
        if (isNew) await store.add(caller, { holder: holder.id, uri, untilMs: holder.untilMs });
        const holds = await store.of(caller);
        await letGo(caller, beyond(holds));
        const own = isNew ? holds.filter(isOwn) : [];
        try {
          const reply = await send();
          if (!reply || reply.failed) {
            await letGo(caller, own);
            await store.remove(own.map(({ id: of }) => of));
            return reply;
          }
          await agree(caller, uri, true);
          if (!(await holder.isOver())) return reply;
        } catch (error) {
          await letGo(caller, own);
          throw error;
        }
        await giveUp(caller, holder.id);
        throw new GateError('session_not_found');
      }).finally(swept);
    },

    /** Ends what this holder has, and by `send` the upstream's subscription where nobody else of the agent has it. */
    async unsubscribe(
      caller: UpstreamCaller,
      holder: string,
      { uri, id }: { readonly uri: string; readonly id: Json },
      send: () => Promise<ControlReply>,
    ): Promise<ControlReply> {
      return inTurn(caller, uri, async () => {
        const own = (await store.of(caller)).filter((hold) => hold.holder === holder && hold.uri === uri);
        await letGo(caller, own);
        const isLast = !(await isHeld(caller, uri));
        const reply = isLast ? await send() : emptyReply(id);
        if (isLast) await agree(caller, uri, false);
        await store.remove(own.map(({ id: of }) => of));
        return reply;
      }).finally(swept);
    },

    giveUp,

    /** What a stream holds would be given up without it: its process may die. `false` where it holds nothing any more. */
    async renew(holder: string, untilMs: number): Promise<boolean> {
      const holds = await store.renew(holder, untilMs);
      swept();
      return holds;
    },

    /** The listener, told of no resource that this session is not subscribed to. Where that cannot be read, of all of the agent. */
    hearing(caller: UpstreamCaller, holder: string, listener: Listener): Listener {
      let waiting = 0;
      const tellIfHeard = async (params: string): Promise<void> => {
        const holds = await holdsOf(caller).catch(() => null);
        if (!holds || isHeardBy(holder, holds, params)) listener.told(UPDATED, params);
      };
      return {
        ...listener,
        told(method, params) {
          if (method !== UPDATED) return listener.told(method, params);
          if (waiting >= MOST_WAITING) return;
          waiting += 1;
          void tellIfHeard(params).finally(() => (waiting -= 1));
        },
      };
    },

    resources: (caller: UpstreamCaller): HeardResources => ({
      of: async () => [...new Set((await store.of(caller)).map(({ uri }) => uri))],
      askedFor: (uri) => inTurn(caller, uri, () => agree(caller, uri, true)).finally(swept),
    }),
  };
}
export type HeldSubscriptions = ReturnType<typeof heldSubscriptions>;

const agentOf = ({ tenant, agent, client_can: can = [] }: UpstreamCaller): string =>
  JSON.stringify([tenant, agent, can]);

/** One text is counted once, however many hold it: the store gives it as one. */
const charactersOf = (holds: readonly Hold[]): number =>
  [...new Set(holds.map(({ uri }) => uri))].reduce((sum, uri) => sum + uri.length, 1 + holds.length * HOLD_CHARACTERS);
/** About what the ids of a hold take. */
const HOLD_CHARACTERS = 100;

function isHeardBy(holder: string, holds: readonly Hold[], params: string): boolean {
  const uri = membersOf(params)?.get('uri');
  const updated: unknown = uri === undefined ? undefined : JSON.parse(uri);
  const own = holds.filter((hold) => hold.holder === holder).map((hold) => hold.uri);
  return typeof updated === 'string' && concerns(updated, own);
}

const tooLong = (id: Json): ControlReply => ({
  status: 200,
  text: JSON.stringify({
    jsonrpc: '2.0',
    id,
    error: {
      code: INVALID_PARAMS,
      message: `a resource whose uri has more than ${LONGEST_URI} characters is not watched`,
    },
  }),
  failed: true,
});
