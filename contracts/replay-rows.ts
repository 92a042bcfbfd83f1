import { z } from 'zod';
import { parsedObject } from './json.js';

/** Rows that a page may be asked for; it has fewer where the ledger reads fewer at once. */
export const MOST_REPLAY_ROWS = 500;
/**
 * Characters of the inputs of a page, beyond which it ends: each may be as large as a request. Who asks for it reads a page in one step, some 20 ms
 * for so many, and calls wait for that.
 */
export const MOST_REPLAY_CHARACTERS = 1_048_576;

/** An evaluation of policy as it was recorded, with what became of the call where a person was asked. */
export const replayRow = z.object({
  seq: z.int(),
  at: z.string(),
  correlation_id: z.string().nullable(),
  agent_id: z.string(),
  tool: z.string().nullable(),
  /** As it was judged; `null` when it was purged. */
  input: parsedObject.nullable(),
  /** The whole request, where it is a batch. */
  request: parsedObject.nullable(),
  decision: z.object({ allow: z.boolean(), reasons: z.array(z.string()), review_reasons: z.array(z.string()) }),
  /** `expired`: nobody decided. `null` also where a rule or Gate itself did, the agent took its call back, or policy denied it as a person changed it. */
  people: z.enum(['approved', 'denied', 'expired']).nullable(),
});
export type ReplayRow = z.infer<typeof replayRow>;

/** `next` is where the following page begins (`after`); `null` behind the last. */
export const replayPage = z.object({ rows: z.array(replayRow), next: z.int().nullable() });
export type ReplayPage = z.infer<typeof replayPage>;

/** Half-open window of commit times, in the chain's spelling. */
export interface ReplayQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
  readonly tenant?: string | undefined;
  readonly agentId?: string | undefined;
  readonly tool?: string | undefined;
}

/** Recorded evaluations in chain order, page by page: from the ledger in process, or over mutual TLS. */
export interface ReplaySource {
  replayPage(query: ReplayQuery): Promise<ReplayPage>;
}
