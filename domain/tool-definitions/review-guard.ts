import { LRUCache } from 'lru-cache';
import type { ReviewedDefinition, UnboundReview } from '../call/record.js';
import type { Upstream, UpstreamCaller } from '../upstream/upstream.js';
import { nearestNames } from '../nearest-names.js';
import { foreignText } from '../text.js';
import { within } from '../within.js';
import { definedLine, saysLine, shownDigest, unansweredLine, unlistedLine } from './definition-lines.js';
import { addPage, digestsOf, nothingSeen, toolPageOf } from './definitions.js';
import type { PinnedTools, ToolPinStore } from './ports.js';

/** A call whose review is opened, or that was approved. */
export interface ReviewedCall extends UpstreamCaller {
  readonly correlation_id: string;
  readonly tool: string;
}

/** Binds a review to the tool's definition at that time. Under another definition the approved call does not run. */
export interface ReviewGuard {
  /**
   * The definition that the review is bound to, for the call's record, and sentences for the operator: one about it, and what the tool
   * says of itself there; `says` is empty when it says nothing or that definition cannot be looked up. With `seenOnly` nothing is asked of
   * the upstream: a tool that was never listed here is one of the caller's own, and bound to nothing.
   */
  open(
    call: ReviewedCall,
    seenOnly?: boolean,
  ): Promise<{ readonly reviewed: ReviewedDefinition; readonly told: string; readonly says: readonly string[] }>;
  /** Why an approved call must not run; `null` when it may. Lists the tools again, within the time left for the call. */
  fault(
    call: ReviewedCall,
    reviewed: ReviewedDefinition | UnboundReview | undefined,
    leftMs: number,
  ): Promise<string | null>;
}

type Seen = ReturnType<typeof nothingSeen> & {
  /** Some of the tools are not in it, because an upstream did not list its own. */
  partial?: true;
  /** It ended. */
  whole?: true;
  /** The definitions, by their digest. */
  readonly texts: Map<string, string>;
};

/** The tool-call workflow gives an activity at least this much beyond the call's own time. */
const LIST_LIMIT_MS = 5_000;
/** Parking has 4 s in all. */
const LIST_AT_OPENING_MS = 1_500;
/** A list that parking does not wait for goes on for so long, and is kept for the agent's next calls. */
const LATE_LIST_LIMIT_MS = 10_000;
/** How long a list serves the agent's other calls that are parked. */
const LISTED_FOR_MS = 1_000;
const AGENTS_KEPT = 1_000;
const DESCRIPTIONS_KEPT = 5_000;
const DESCRIPTION_UNITS = 300;
/** How soon a list is asked for again to describe a definition that the last one did not hold. */
const DESCRIBED_AGAIN_AFTER_MS = 30_000;
const MAX_PAGES = 100;
const OF_AN_EARLIER_GATE = 'the call was reviewed at an earlier Gate, which bound no definition of the tool';

/** The listed names that the caller, or whoever made it call, may have meant to be taken for. */
function likeness(tool: string, names: Iterable<string>): string {
  const near = nearestNames(tool, names).map((name) => JSON.stringify(foreignText(name, 100)));
  return near.length === 0 ? '' : `; the name is like ${near.join(', ')}`;
}

/** The upstream answered, and that was no list of tools. */
class ListsNone extends Error {
  constructor() {
    super('the upstream does not list its tools');
  }
}

export function createReviewGuard(
  upstream: Pick<Upstream, 'control'>,
  pins: Pick<ToolPinStore, 'seen' | 'read' | 'listedToGate' | 'gateSaw' | 'keep' | 'texts'>,
  /** The name under which this upstream's tools are classed and pinned. */
  upstreamName: string,
): ReviewGuard {
  /**
   * Lists asked for on behalf of an agent a moment ago, for all of its calls that are parked meanwhile. The review of each is bound to what
   * was listed, and an approved call is compared with a list of its own before it runs. A list that nobody gave is asked for again.
   */
  const lately = new LRUCache<string, Promise<Seen>>({ max: AGENTS_KEPT, ttl: LISTED_FOR_MS });
  const asked = new Map<string, Promise<Seen>>();
  const agentOf = ({ tenant, agent }: ReviewedCall): string => JSON.stringify([tenant, agent]);
  function listedLately(call: ReviewedCall): Promise<Seen> {
    const agent = agentOf(call);
    const known = asked.get(agent) ?? lately.get(agent);
    if (known) return known;
    const asking = listed(call, LATE_LIST_LIMIT_MS).finally(() => asked.delete(agent));
    asked.set(agent, asking);
    lately.set(agent, asking);
    asking.then(
      (seen) => keep(call, seen),
      () => lately.get(agent) === asking && lately.delete(agent),
    );
    return asking;
  }

  /** The newest list of each agent that is to be kept. */
  const unkept = new Map<string, Seen>();
  const keeping = new Set<string>();
  /** One list of an agent at a time, and the newest last: one that the store is slow to keep takes the place of no newer one. */
  function keep(call: ReviewedCall, seen: Seen): void {
    const agent = agentOf(call);
    unkept.set(agent, seen);
    if (keeping.has(agent)) return;
    keeping.add(agent);
    void (async () => {
      for (let next = unkept.get(agent); next; next = unkept.get(agent)) {
        unkept.delete(agent);
        await kept(call, next);
      }
      keeping.delete(agent);
    })();
  }

  /**
   * Keeps a list for the agent's next calls, in whichever process, where the next list is late: their reviews are bound to it. Without a store it
   * serves none.
   */
  async function kept({ tenant, agent }: ReviewedCall, seen: Seen): Promise<void> {
    const digests = [...seen.digests.keys()].flatMap((name) =>
      digestsOf(seen, name)
        .slice(0, 1)
        .map((sha256) => [name, sha256] as const),
    );
    try {
      await pins.gateSaw({ tenant, agent }, new Map(digests), seen.whole === true && !seen.partial);
      await pins.keep(tenant, seen.texts);
    } catch {
      // What the review or the attempt was asked for stands without it.
    } finally {
      // The list itself is remembered for a while, and is read by its digests alone.
      seen.texts.clear();
    }
  }

  /** The tools as they are now, before an approved call runs; its next ones are bound to them where no list comes in time. */
  async function listedNow(call: ReviewedCall, leftMs: number): Promise<Seen> {
    const seen = await listed(call, Math.min(LIST_LIMIT_MS, leftMs));
    // The call goes on; what is kept is of its next ones.
    keep(call, seen);
    return seen;
  }

  /** The upstream's current tools. Throws when it does not list them in time. */
  async function listed(call: ReviewedCall, limitMs: number): Promise<Seen> {
    const untilMs = Date.now() + limitMs;
    const seen: Seen = { ...nothingSeen(), texts: new Map() };
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const request = {
        jsonrpc: '2.0',
        id: call.correlation_id,
        method: 'tools/list',
        params: cursor === null ? {} : { cursor },
      };
      const reply = await upstream.control(call, request, { timeoutMs: Math.max(1, untilMs - Date.now()) });
      const page = reply.kind === 'reply' ? toolPageOf(reply.text) : null;
      if (!page)
        throw reply.kind === 'reply' && reply.statusCode < 500
          ? new ListsNone()
          : new Error('the upstream does not list its tools');
      addPage(seen, page);
      if (reply.kind === 'reply' && reply.partial) seen.partial = true;
      for (const { sha256, text, description } of page.tools) {
        descriptions.set(sha256, foreignText(description, DESCRIPTION_UNITS));
        seen.texts.set(sha256, text);
      }
      cursor = page.nextCursor;
      if (cursor === null) {
        seen.whole = true;
        break;
      }
    }
    return seen;
  }

  /** What tools say of themselves, by the digest of the definition that says it, and the lists that were asked for to know it. */
  const descriptions = new LRUCache<string, string>({ max: DESCRIPTIONS_KEPT });
  const describing = new LRUCache<string, Promise<unknown>>({ max: DESCRIPTIONS_KEPT, ttl: DESCRIBED_AGAIN_AFTER_MS });
  /**
   * What the tool says of itself in that definition: as it is known here, or was kept by whoever saw it, or else as the upstream tells, where
   * that may be asked.
   */
  async function saysOf(call: ReviewedCall, sha256: string, ask: boolean): Promise<readonly string[]> {
    if (!descriptions.has(sha256)) await readKept(call, sha256);
    if (ask && !descriptions.has(sha256)) {
      const asking = describing.get(sha256) ?? listed(call, LIST_AT_OPENING_MS).catch(() => undefined);
      describing.set(sha256, asking, { noUpdateTTL: true });
      await asking;
    }
    const description = descriptions.get(sha256);
    return description ? [saysLine(description)] : [];
  }
  async function readKept({ tenant }: ReviewedCall, sha256: string): Promise<void> {
    const text = (await pins.texts(tenant, [sha256])).get(sha256);
    if (text === undefined) return;
    const { description } = JSON.parse(text) as { readonly description?: unknown };
    descriptions.set(sha256, foreignText(typeof description === 'string' ? description : '', DESCRIPTION_UNITS));
  }

  /** The definition that the upstream lists, `undefined` where it lists none; `null` where it did not say so in time. */
  async function firstListed(call: ReviewedCall): Promise<string | undefined | null> {
    try {
      const seen = await within(LIST_AT_OPENING_MS, listedLately(call), () => new Error('the list is late'));
      return digestsOf(seen, call.tool)[0] ?? (seen.partial ? null : undefined);
    } catch (error) {
      return error instanceof ListsNone ? undefined : null;
    }
  }

  /**
   * The same for a call whose review is bound to no definition. Its operator approved what the tool's name does, as the Gate that opened the
   * review would have run it: as it is today, unless the agent's pins speak against that.
   */
  async function unboundFault(call: ReviewedCall, leftMs: number): Promise<string | null> {
    const pinned = await pins.read(call).catch(() => null);
    if (!pinned) return `${OF_AN_EARLIER_GATE}, and the pins of the agent's tools cannot be read`;
    if (pinned.tampered) return `${OF_AN_EARLIER_GATE}, and the pins of the agent's tools were changed in the store`;
    const pin = pinned.digests.get(call.tool);
    if (pin === undefined) return null;
    const seen = await listedNow(call, leftMs).catch(() => null);
    const found = seen && digestsOf(seen, call.tool);
    if (!found || (found.length === 0 && seen.partial))
      return `${OF_AN_EARLIER_GATE}, and the one of today cannot be compared with the pinned one: the upstream does not list its tools`;
    if (found.length === 0) return `${OF_AN_EARLIER_GATE}, and the pinned tool is not listed any more`;
    const now = pinned.narrow.has(call.tool) ? seen.narrow.get(call.tool) : found[0];
    return found.length === 1 && now === pin
      ? null
      : `${OF_AN_EARLIER_GATE}, and the one of today is not the pinned one: ask anew under another id`;
  }

  const shown = foreignText(upstreamName, 200);
  const silent = 'did not list its tools in time';
  const EARLIER = `; it ${silent}, this is what it listed before, and the call runs under no other`;

  /**
   * Of a call whose upstream did not list its tools in time. Gate knew the pinned definition all along: the review is bound to that, and the
   * call runs under it alone. Without one nobody knows what would be approved but the name.
   */
  async function unanswered(
    call: ReviewedCall,
    { digests, narrow, tampered }: PinnedTools,
    names: Iterable<string>,
  ): ReturnType<ReviewGuard['open']> {
    const pin = tampered || narrow.has(call.tool) ? undefined : digests.get(call.tool);
    if (pin === undefined)
      return {
        reviewed: { sha256: null, upstream: upstreamName, unanswered: [call.tool] },
        told: unansweredLine(`: ${shown} ${silent}${likeness(call.tool, names)}`),
        says: [],
      };
    return {
      reviewed: { sha256: pin, upstream: upstreamName },
      told: definedLine(pin, ` of ${shown}: the pinned one; it ${silent}, and the call runs under no other`),
      says: await saysOf(call, pin, false),
    };
  }

  return {
    async open(call, seenOnly = false) {
      const [seen, pinned] = await Promise.all([pins.seen(call), pins.read(call)]);
      // An agent need not list tools before it calls them.
      const first = seen.get(call.tool) ?? (seenOnly ? undefined : await firstListed(call));
      const earlier = first === null ? (await pins.listedToGate(call)).get(call.tool) : undefined;
      if (first === null && earlier === undefined) return unanswered(call, pinned, seen.keys());
      const sha256 = first ?? earlier;
      if (sha256 === undefined)
        return {
          reviewed: { sha256: null, upstream: upstreamName },
          told: unlistedLine(`: ${shown} tells none${likeness(call.tool, seen.keys())}`),
          says: [],
        };
      const known = pinned.digests.get(call.tool);
      const how = pinned.tampered
        ? 'its pins were changed in the store'
        : known === undefined
          ? 'not among the pins'
          : known === sha256
            ? 'as pinned'
            : 'CHANGED since it was pinned';
      return {
        reviewed: { sha256, upstream: upstreamName },
        told: definedLine(sha256, ` of ${shown}: ${how}${earlier === undefined ? '' : EARLIER}`),
        says: await saysOf(call, sha256, earlier === undefined && !seenOnly),
      };
    },

    async fault(call, reviewed, leftMs) {
      if (!reviewed) return 'the review of the call is bound to no definition of the tool: ask anew under another id';
      if ('unbound' in reviewed) return unboundFault(call, leftMs);
      const { sha256: bound, upstream: reviewedAt = upstreamName } = reviewed;
      if (reviewedAt !== upstreamName)
        return `the call was reviewed for the tools of ${foreignText(reviewedAt, 200)}, and these are those of ${shown}`;
      // The operator was told that the tool is unlisted, and approved the call by its name.
      if (bound === null) {
        const now = await listedNow(call, leftMs).then(
          (seen) => digestsOf(seen, call.tool).length,
          () => 0,
        );
        if (now === 0) return null;
        if (reviewed.unanswered?.includes(call.tool))
          return 'the upstream did not list its tools in time when the call was reviewed, so that nobody approved a definition of the tool, and lists it now: ask anew under another id';
        // What names no upstream may have waited in a store that an earlier Gate took over as reviewed UNLISTED, whatever was listed then.
        const or = reviewed.upstream === undefined ? ', or its review was bound to no definition' : '';
        return `the tool was not listed when its call was reviewed${or}, and is listed now: ask anew under another id`;
      }
      let found: readonly string[];
      try {
        const seen = await listedNow(call, leftMs);
        found = digestsOf(seen, call.tool);
        if (found.length === 0 && seen.partial) throw new Error('an upstream does not list its tools');
      } catch {
        return 'the definition of the tool cannot be compared with the one the call was reviewed under: the upstream does not list its tools';
      }
      if (found.length === 0) return 'the tool the call was reviewed for is not listed any more';
      if (found.every((sha256) => sha256 === bound)) return null;
      const now = found.map(shownDigest).join(', ');
      return `the definition of the tool is ${now} now, and the call was reviewed under ${shownDigest(bound)}`;
    },
  };
}
