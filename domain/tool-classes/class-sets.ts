import type { ClassedTool, ToolTraffic } from '../../contracts/tools.js';

/** All classes of one upstream and tenant, stored as one value, so that no single class can be removed or restored. */
export interface ClassSet {
  readonly generation: number;
  readonly tools: ReadonlyMap<string, ClassedTool>;
}

/** The next version of a set, stored before the ledger is told. It is in force once the ledger has its row. */
export interface UnfinishedChange {
  /** The id of that ledger row. */
  readonly row: string;
  /** `null` means every tool. */
  readonly tool: string | null;
  /** `null` means no longer classed. */
  readonly said: ClassedTool | null;
}

/** Where a set was found, readable or not, for the compare-and-set. */
export interface FoundClasses {
  readonly row: { readonly content: string; readonly tag: string | null } | undefined;
}

/** A set as stored. */
export interface StoredClasses extends ClassSet {
  readonly unfinished: UnfinishedChange | null;
  readonly found: FoundClasses;
}

/** The sets of all tenants and upstreams (`adapters/tools/class-store.ts`). */
export interface ToolClassStore {
  /** Throws `tool_classes_unreadable` when they were changed, belong elsewhere, or were written with another key. */
  read(tenant: string, upstream: string): Promise<StoredClasses>;
  /** The stored row, readable or not. */
  lies(tenant: string, upstream: string): Promise<FoundClasses>;
  /** Stores the set if the stored row is still the one that was found. False when it is not. */
  replace(
    tenant: string,
    upstream: string,
    found: FoundClasses,
    set: ClassSet & { readonly unfinished?: UnfinishedChange | null },
  ): Promise<boolean>;
  /** The tenants and upstreams that have sets. */
  places(): Promise<{ tenant: string; upstream: string }[]>;
  /**
   * How the calls of each tool of the upstream ended since that time; each call of a batch counts. `ran` counts what is in the agent's
   * history; an answer that is an error, by JSON-RPC or by the tool itself, counts as failed.
   */
  traffic(tenant: string, upstream: string, sinceMs: number): Promise<Map<string, ToolTraffic>>;
}
