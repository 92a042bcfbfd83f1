import type { Upstream, UpstreamCaller } from '../pipeline/upstream.js';
import { addPage, digestsOf, nothingSeen, toolPageOf } from './definitions.js';
import type { ToolPinStore } from './pin-store.js';

/** The call whose review is opened, or that was approved. */
export interface ReviewedCall extends UpstreamCaller {
  readonly correlation_id: string;
  readonly tool: string;
}

/** A person approves a call of a tool as its definition stands then: as another one it does not run. */
export interface ReviewGuard {
  /** Binds the review to the definition the agent saw last. What the operator is to be told of it, `null` where none was seen. */
  open(call: ReviewedCall): Promise<string | null>;
  /** Why an approved call is not to run, `null` where it may. Lists the tools anew. */
  fault(call: ReviewedCall): Promise<string | null>;
}

const LIST_LIMIT_MS = 5_000;
const MAX_PAGES = 100;
const SHOWN_DIGITS = 16;

export function createReviewGuard(upstream: Pick<Upstream, 'control'>, pins: ToolPinStore): ReviewGuard {
  /** What the upstream says of the tool now; throws where it does not list its tools. */
  async function listed(call: ReviewedCall): Promise<readonly string[]> {
    const untilMs = Date.now() + LIST_LIMIT_MS;
    const seen = nothingSeen();
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
      if (!page) throw new Error('the upstream does not list its tools');
      addPage(seen, page);
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    return digestsOf(seen, call.tool);
  }

  return {
    async open(call) {
      const [seen, pinned] = await Promise.all([pins.seen(call), pins.read(call)]);
      const sha256 = seen.get(call.tool);
      if (sha256 === undefined) return null;
      await pins.bind(call.correlation_id, sha256);
      const known = pinned.digests.get(call.tool);
      const how = pinned.tampered
        ? 'its pins were changed in the store'
        : known === undefined
          ? 'not among the pins'
          : known === sha256
            ? 'as pinned'
            : 'CHANGED since it was pinned';
      return `definition of the tool ${sha256.slice(0, SHOWN_DIGITS)}: ${how}`;
    },

    async fault(call) {
      let bound: string | null;
      try {
        // A review from before reviews were bound, or one whose binding is gone: the pin says what the tool was.
        bound = (await pins.bound(call.correlation_id)) ?? (await pins.read(call)).digests.get(call.tool) ?? null;
      } catch {
        return 'the definition the call was reviewed under is not as Gate wrote it';
      }
      if (bound === null) return null;
      let found: readonly string[];
      try {
        found = await listed(call);
      } catch {
        return 'the definition of the tool cannot be compared with the one the call was reviewed under: the upstream does not list its tools';
      }
      if (found.length === 0) return 'the tool the call was reviewed for is not listed any more';
      if (found.every((sha256) => sha256 === bound)) return null;
      const now = found.map((sha256) => sha256.slice(0, SHOWN_DIGITS)).join(', ');
      return `the definition of the tool is ${now} now, and the call was reviewed under ${bound.slice(0, SHOWN_DIGITS)}`;
    },
  };
}
