import type {
  DefinitionScanRequest,
  DefinitionScanResult,
  ToolNameScanRequest,
  ToolNameScanResult,
} from '../../contracts/definition-scan.js';

/** Brain, for what an upstream tells of its tools. Throws when it cannot say; then nothing is known of what was asked. */
export interface DefinitionScanner {
  scanDefinitions(request: DefinitionScanRequest): Promise<DefinitionScanResult>;
  /** Whether a name that no list has is taken for one that a list has. */
  scanToolName(request: ToolNameScanRequest): Promise<ToolNameScanResult>;
}

/** The agent whose list of tools is pinned. */
export interface PinOwner {
  readonly tenant: string;
  readonly agent: string;
}

/** An agent's tools when it first saw them: digest by tool. */
export interface PinnedTools {
  readonly digests: ReadonlyMap<string, string>;
  /** Tools whose pin is from an older Gate and covers only description and input schema. */
  readonly narrow: ReadonlySet<string>;
  /** When the first of them was pinned, ISO 8601. It changes after they were forgotten. */
  readonly since: string | null;
  /** A complete list was seen. */
  readonly complete: boolean;
  /** The prefixes of those of several upstreams whose complete list was seen while others were missing. */
  readonly parts: ReadonlySet<string>;
  /** Somebody other than Gate wrote them. They prove nothing, and nothing is pinned until they are forgotten. */
  readonly tampered: boolean;
}

/** The names that a tenant's agents were shown; `complete` once any of them saw a whole list. */
export interface ListedTools {
  readonly names: ReadonlySet<string>;
  readonly complete: boolean;
}

/** Stores what was seen first; only `accept`, `widen` and `forget` replace it. Its content is authenticated with Gate's keys. */
export interface ToolPinStore {
  read(owner: PinOwner): Promise<PinnedTools>;
  /** Does not change tools that are pinned already. */
  pin(owner: PinOwner, digests: ReadonlyMap<string, string>): Promise<void>;
  complete(owner: PinOwner): Promise<void>;
  /** The same for some of several upstreams. */
  completeParts(owner: PinOwner, prefixes: readonly string[]): Promise<void>;
  /** Replaces narrow digests with digests of whole definitions. */
  widen(owner: PinOwner, digests: ReadonlyMap<string, string>): Promise<void>;
  owners(): Promise<(PinOwner & { readonly tools: number; readonly since: string })[]>;
  /** What the agent's last list of this upstream said about each tool, whether or not it is pinned. */
  seen(owner: PinOwner): Promise<ReadonlyMap<string, string>>;
  /** What any of a tenant's agents was last told about each tool of this upstream. */
  seenByAny(tenant: string): Promise<ReadonlyMap<string, string>>;
  listed(tenant: string): Promise<ListedTools>;
  /** Keeps the texts of definitions by their digest, up to a limit: the oldest of a tenant go first. */
  keep(tenant: string, texts: ReadonlyMap<string, string>): Promise<void>;
  /** Those of these definitions whose text is kept, and is what its digest says. */
  texts(tenant: string, digests: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Adds to the names that were seen, up to a limit. With `whole`, names that are not in the list are removed. */
  saw(owner: PinOwner, digests: ReadonlyMap<string, string>, whole: boolean): Promise<void>;
  /** What the upstream said of each tool in the last list that Gate asked for on behalf of the agent, for a review. The agent saw none of it. */
  listedToGate(owner: PinOwner): Promise<ReadonlyMap<string, string>>;
  /** Keeps such a list beside those that the agent saw. */
  gateSaw(owner: PinOwner, digests: ReadonlyMap<string, string>, whole: boolean): Promise<void>;
  /** Pins exactly these digests, whatever was seen meanwhile; `null` removes a tool. Returns the tools whose pin changed. */
  accept(owner: PinOwner, accepted: ReadonlyMap<string, string | null>): Promise<readonly string[]>;
  /** Removes the pins; the next list is pinned again. Returns how many tools were pinned. */
  forget(owner: PinOwner): Promise<number>;
}
