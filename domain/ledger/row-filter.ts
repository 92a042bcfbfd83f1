import type { JsonObject } from '../../contracts/json.js';

/** Keys of `policy_decision` that reads can filter by (docs/architecture/ledger-reads.md#routes). */
export const DETAIL_KEYS = ['original_method', 'reason', 'verdict', 'brain_delta'] as const;

type DetailKey = (typeof DETAIL_KEYS)[number];

/** Selects rows of the chain. All given conditions must hold. */
export interface RowFilter {
  readonly agentId?: string | undefined;
  /** Agent labels with `*` for any characters; capital and small ASCII letters are alike. */
  readonly agentLike?: string | undefined;
  readonly tool?: string | undefined;
  readonly correlationId?: string | undefined;
  readonly tenant?: string | undefined;
  /**
   * Rows of one demonstration session, by the first group of their correlation id, and rows of the simulator. Takes precedence over
   * `tenant`.
   */
  readonly demoPrefix?: string | undefined;
  /** Both inclusive. */
  readonly seqFrom?: number | undefined;
  readonly seqTo?: number | undefined;
  /** Half-open window of commit times, as the chain writes them. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly methods?: readonly string[] | undefined;
  readonly eventKinds?: readonly string[] | undefined;
  readonly signal?: string | undefined;
  readonly source?: string | undefined;
  readonly authorized?: boolean | undefined;
  readonly detail?: Readonly<Partial<Record<DetailKey, string>>> | undefined;
  readonly hiding?: Hiding | undefined;
}

/**
 * Which rows are left out: those of erased tenants and of the cleaned demonstration (`reads`, also for streams to sinks), only those of
 * erased tenants (`erased`, for evidence and the rows of a regulatory bundle), or none (`nothing`, for cold exports and a bundle's chain
 * links, which are only hashes).
 */
type Hiding = 'reads' | 'erased' | 'nothing';

/** `reason` also matches the reasons of a verdict, and `verdict` also matches a verdict row's outcome. */
export function detailMatches(detail: RowFilter['detail'], decision: JsonObject | null): boolean {
  return Object.entries(detail ?? {}).every(([key, wanted]) => {
    if (decision === null) return false;
    if (decision[key] === wanted) return true;
    if (key === 'verdict') return decision['outcome'] === wanted;
    if (key !== 'reason') return false;
    return [decision['reasons'], decision['review_reasons']].some(
      (list) => Array.isArray(list) && list.includes(wanted),
    );
  });
}
