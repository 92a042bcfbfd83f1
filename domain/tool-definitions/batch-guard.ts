import type { ReviewedDefinition, UnboundReview } from '../call/record.js';
import { lineOf } from './definition-lines.js';
import type { ReviewedCall, ReviewGuard } from './review-guard.js';

/** Of a batch of more tools than this, what each says of itself is not repeated: nobody would read it. */
const MAX_SAYING = 16;

/** What a review is bound to, and the sentences for the operator about it; `told` must stand in its row. */
export interface OpenedDefinitions {
  readonly reviewed: ReviewedDefinition;
  readonly told: readonly string[];
  readonly says: readonly string[];
}

const distinct = (tools: readonly string[]): readonly string[] => [...new Set(tools)];

/** `ReviewGuard.open`, for each tool of a batch; `tools` is `null` for any other call. */
export async function openDefinitions(
  guard: ReviewGuard,
  call: ReviewedCall,
  tools: readonly string[] | null,
): Promise<OpenedDefinitions> {
  if (tools === null) {
    const { told, ...opened } = await guard.open(call);
    return { ...opened, told: [told] };
  }
  const each = await Promise.all(
    distinct(tools).map(async (tool) => ({ tool, ...(await guard.open({ ...call, tool })) })),
  );
  const upstream = each.find(({ reviewed }) => reviewed.upstream !== undefined)?.reviewed.upstream;
  const unanswered = each.flatMap(({ reviewed }) => reviewed.unanswered ?? []);
  return {
    reviewed: {
      sha256: null,
      ...(upstream !== undefined && { upstream }),
      ...(unanswered.length > 0 && { unanswered }),
      tools: Object.fromEntries(each.map(({ tool, reviewed }) => [tool, reviewed.sha256])),
    },
    told: each.map(({ tool, told }) => lineOf(tool, told)),
    says: each.length > MAX_SAYING ? [] : each.flatMap(({ tool, says }) => says.map((words) => lineOf(tool, words))),
  };
}

/**
 * The same for a call that its host executes, with tools of its own: what was listed here is bound, and asked for again when it is authorized.
 * `undefined` where none of its tools ever was.
 */
export async function openSeenDefinitions(
  guard: ReviewGuard,
  call: ReviewedCall,
  tools: readonly string[] | null,
): Promise<OpenedDefinitions | undefined> {
  const each = await Promise.all(
    distinct(tools ?? [call.tool]).map(async (tool) => ({ tool, ...(await guard.open({ ...call, tool }, true)) })),
  );
  const seen = each.filter(({ reviewed }) => reviewed.sha256 !== null);
  const [first] = seen;
  if (!first) return undefined;
  if (tools === null) return { reviewed: first.reviewed, told: [first.told], says: first.says };
  const { upstream } = first.reviewed;
  return {
    reviewed: {
      sha256: null,
      ...(upstream !== undefined && { upstream }),
      tools: Object.fromEntries(seen.map(({ tool, reviewed }) => [tool, reviewed.sha256])),
    },
    told: seen.map(({ tool, told }) => lineOf(tool, told)),
    says: [],
  };
}

/** `ReviewGuard.fault`: the first reason. A batch whose review is bound to none of its tools does not run. */
export async function definitionFault(
  guard: Pick<ReviewGuard, 'fault'>,
  call: ReviewedCall,
  tools: readonly string[] | null,
  reviewed: ReviewedDefinition | UnboundReview | undefined,
  leftMs: () => number,
): Promise<string | null> {
  if (tools === null) return guard.fault(call, reviewed, leftMs());
  for (const tool of distinct(tools)) {
    const fault = await guard.fault({ ...call, tool }, boundOf(reviewed, tool), leftMs());
    if (fault !== null) return lineOf(tool, fault);
  }
  return null;
}

/** What the review of a batch is bound to of one of its tools. */
function boundOf(
  reviewed: ReviewedDefinition | UnboundReview | undefined,
  tool: string,
): ReviewedDefinition | UnboundReview | undefined {
  if (!reviewed || 'unbound' in reviewed) return reviewed;
  const { tools, upstream, unanswered } = reviewed;
  const sha256 = tools && Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  return sha256 === undefined
    ? undefined
    : { sha256, ...(upstream !== undefined && { upstream }), ...(unanswered && { unanswered }) };
}
