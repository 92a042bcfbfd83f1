import type { ReviewedDefinition } from '../call-record/record.js';
import { foreignText } from '../text.js';
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
const named = (tool: string, words: string): string => `${JSON.stringify(foreignText(tool, 100))}: ${words}`;

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
  return {
    reviewed: {
      sha256: null,
      ...(upstream !== undefined && { upstream }),
      tools: Object.fromEntries(each.map(({ tool, reviewed }) => [tool, reviewed.sha256])),
    },
    told: each.map(({ tool, told }) => named(tool, told)),
    says: each.length > MAX_SAYING ? [] : each.flatMap(({ tool, says }) => says.map((words) => named(tool, words))),
  };
}

/** `ReviewGuard.fault`: the first reason. A batch whose review is bound to none of its tools does not run. */
export async function definitionFault(
  guard: ReviewGuard,
  call: ReviewedCall,
  tools: readonly string[] | null,
  reviewed: ReviewedDefinition | undefined,
  leftMs: () => number,
): Promise<string | null> {
  if (tools === null) return guard.fault(call, reviewed, leftMs());
  for (const tool of distinct(tools)) {
    const bound = reviewed?.tools && Object.hasOwn(reviewed.tools, tool) ? reviewed.tools[tool] : undefined;
    const of =
      bound === undefined
        ? undefined
        : { sha256: bound, ...(reviewed?.upstream !== undefined && { upstream: reviewed.upstream }) };
    const fault = await guard.fault({ ...call, tool }, of, leftMs());
    if (fault !== null) return named(tool, fault);
  }
  return null;
}
