import type { HeldRows, LedgerEntry } from '../../contracts/ledger.js';
import type { SidecarKind } from './entry.js';
import type { RowFilter } from './row-filter.js';

/** Without `limit`, every row, oldest first. `offset` and `before` page from the newest row, `after` pages from the oldest. */
export interface AgentQuery extends Omit<RowFilter, 'agentId' | 'correlationId'> {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly before?: number | undefined;
  readonly after?: number | undefined;
}

/** The bytes an entry committed to, or the time they were purged. */
export type Sidecar =
  | { readonly kind: SidecarKind; readonly text: string; readonly purged_at: null }
  | { readonly kind: SidecarKind; readonly text: null; readonly purged_at: string };

/**
 * Reads for people and reports. They verify nothing; for evidence use `verify`. Rows of erased tenants and of a cleaned demonstration are
 * left out unless the filter says otherwise. A store that cannot be read is `ledger_store_unavailable`.
 */
export interface LedgerReader extends HeldRows {
  /** Every row of one call, in chain order; `[]` when the id is unknown or belongs to another tenant. */
  byCorrelation(
    correlationId: string,
    scope?: Pick<RowFilter, 'tenant' | 'demoPrefix' | 'hiding'>,
  ): Promise<LedgerEntry[]>;
  byAgent(agentId: string, query?: AgentQuery): Promise<LedgerEntry[]>;
  /** The same rows page by page, in bounded memory. */
  agentPages(agentId: string, query?: AgentQuery): AsyncGenerator<LedgerEntry[]>;
  /** Rows in chain order, page by page, in bounded memory; for reads without a limit. */
  pages(filter: RowFilter): AsyncGenerator<LedgerEntry[]>;
  count(filter: RowFilter): Promise<number>;
  /** How many rows match the query, across all pages. */
  agentCount(agentId: string, query?: AgentQuery): Promise<number>;
  /** Distinct agent labels, sorted. */
  agents(): Promise<string[]>;
  get(id: string): Promise<LedgerEntry | null>;
  /** Newest first. */
  newest(limit: number): Promise<LedgerEntry[]>;
  /** `null` when the entry is unknown or committed to nothing. Throws when no key of the ring opens it. */
  sidecar(id: string): Promise<Sidecar | null>;
}
