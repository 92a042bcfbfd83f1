import { z } from 'zod';
import { parsedObject } from './json.js';
import type { VerifyResult } from './ledger.js';

/**
 * A call that people decided, with what policy was told of it. `changed`: approved with other arguments than these, whatever policy said of
 * those. Decisions of Gate itself (expiry, the tier `auto`, a withdrawal) are none.
 */
export const decidedCall = z.object({
  /** The place of the decision's row. */
  seq: z.int(),
  at: z.string(),
  correlation_id: z.string().nullable(),
  agent_id: z.string(),
  tool: z.string().nullable(),
  decided: z.enum(['approved', 'changed', 'denied']),
  /** Who: of an approval by several people, all of them. */
  people: z.array(z.string()),
  /** As policy judged it; `null` when it was purged, or is not what the row commits to. */
  input: parsedObject.nullable(),
});
export type DecidedCall = z.infer<typeof decidedCall>;

/** `next` is where the following page begins (`after`); `null` behind the last. */
export const decidedPage = z.object({ rows: z.array(decidedCall), next: z.int().nullable() });
export type DecidedPage = z.infer<typeof decidedPage>;

/** Half-open window of the times at which the decisions were committed. */
export interface DecidedQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
  readonly tenant: string;
  readonly tool?: string | undefined;
}

/** People's decisions in chain order, page by page, and whether the chain that holds them verifies: from the ledger in process, or over mutual TLS. */
export interface DecisionSource {
  decidedPage(query: DecidedQuery): Promise<DecidedPage>;
  verify(options?: { readonly sinceCheckpoint?: boolean }): Promise<VerifyResult>;
}
