import type {
  KeptVersion,
  PolicyEventKind,
  PolicyVersion,
  TenantPoliciesReceipt,
} from '../../contracts/policy-library.js';
import type { JsonObject } from '../../contracts/json.js';
import type { MinedFacts } from '../../contracts/policy-mining.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import type { PolicyFile } from './policy-files.js';
import type { PolicyHeader } from './policy-header.js';

/** The tenant of rules that hold for everybody. */
export const EVERYBODY = '';

/** A policy as it is now. Its text is that of its current version, which never changes. */
export interface StoredPolicy {
  readonly tenant: string;
  readonly name: string;
  readonly content_type: 'rego' | 'json';
  readonly active: boolean;
  readonly current_version: number;
  readonly body_sha256: string;
  readonly header: PolicyHeader;
  readonly deleted_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** One change: a new version, and what the policy is after it. */
export interface PolicyChange {
  readonly policy: StoredPolicy;
  readonly body: string;
  readonly reason: string;
  readonly actor_sub: string;
  readonly actor_idp: string;
  readonly event_kind: PolicyEventKind;
  readonly row: NewLedgerRow & { readonly id: string };
}

type FileOfSet = Pick<PolicyFile, 'name' | 'content_type' | 'version' | 'body_sha256'>;

/** The rules in force of a tenant, beside the floor. A tenant without a set has what holds for everybody. */
export interface StoredSet {
  readonly tenant: string;
  /** `<UTC date>.<generation>` of the change that made it. */
  readonly version: string;
  readonly files: readonly FileOfSet[];
  /** The JSON documents among them, by their names without the ending. */
  readonly data: JsonObject;
  /** The digest of what was compiled; names the module. Null for a tenant that has switched off every rule but the floor. */
  readonly sources_sha256: string | null;
}

/** One of the store, with the MAC by which it is told from every other. */
export interface SetInForce extends StoredSet {
  readonly mac: string;
}

export interface StoredModule {
  readonly sources_sha256: string;
  readonly wasm_sha256: string;
  readonly wasm: Uint8Array;
  readonly opa_version: string;
}

export interface Catalogue {
  /** Counts the changes of the store. */
  readonly generation: number;
  readonly policies: readonly StoredPolicy[];
}

/** The text of a policy's current version, or why it is not shown. */
export type CurrentText = { readonly tenant: string; readonly name: string } & (
  | { readonly body: string; readonly tampered: null }
  | { readonly body: null; readonly tampered: string }
);

/** A change of the store as one transaction. */
export interface Write {
  /** The generation that it was planned on. */
  readonly expected: number;
  readonly at: string;
  readonly changes: readonly PolicyChange[];
  /** The sets that are other ones now; null where a tenant has none any more. */
  readonly sets: readonly { readonly tenant: string; readonly set: StoredSet | null }[];
  readonly modules: readonly StoredModule[];
  /** Ends the operation that the change is of: what it did and what it says of that are stored together. */
  readonly receipt?: TenantPoliciesReceipt | undefined;
}

export interface Undelivered {
  readonly row: NewLedgerRow & { readonly id: string };
  readonly tenant: string;
  readonly name: string;
  readonly version: number;
}

export interface TenantOperation {
  readonly operation_id: string;
  readonly tenant: string;
  readonly kind: TenantPoliciesReceipt['kind'];
  /** Counts the operations of the tenant. */
  readonly generation: number;
  readonly begun_at: string;
  /** Null while it is not finished. */
  readonly receipt: TenantPoliciesReceipt | null;
}

/** A rule that was mined, with what spoke for it. */
export interface KeptSuggestion {
  /** Of the tenant and the text: what is found again is the same one. */
  readonly id: string;
  readonly tenant: string;
  readonly tool: string;
  readonly rule_name: string;
  readonly body: string;
  readonly body_sha256: string;
  readonly facts: MinedFacts;
  /** What people decided since that speaks against it; never null again. */
  readonly withdrawn_why: string | null;
  /** The place in the ledger up to which that was looked for. */
  readonly checked_seq: number;
  readonly created_at: string;
}

/** Suggestions of tenants. What cannot be read or written is `store_unavailable`. */
export interface SuggestionStore {
  /** Newest first. One that somebody else wrote is withdrawn, and nothing speaks for it. */
  suggestions(tenant: string): Promise<readonly KeptSuggestion[]>;
  /** Adds those that are not there, has the facts of the others anew, checked no further than they were, and deletes those that were overtaken. One that was withdrawn stays as it is, and one that somebody else wrote is replaced. */
  keepSuggestions(tenant: string, found: readonly KeptSuggestion[], overtaken: readonly string[]): Promise<void>;
  withdrawSuggestion(tenant: string, id: string, why: string): Promise<void>;
  /** Nothing up to this place speaks against them. */
  checkedSuggestions(tenant: string, ids: readonly string[], seq: number): Promise<void>;
}

/** Policies and their versions. What cannot be read or written is `store_unavailable`; what somebody else wrote is `policy_tampered`. */
export interface PolicyStore extends SuggestionStore {
  catalogue(): Promise<Catalogue>;
  /**
   * The same to look at, where no change is planned: policies that Gate did not leave so are told, by `policyKey`, and keep nobody from the others. Throws
   * `policy_tampered` where policies are missing.
   */
  shown(): Promise<Catalogue & { readonly tampered: ReadonlyMap<string, string> }>;
  /** Another text after every change, also where the generation is one that there was before: the MAC of what says which sets there are. */
  mark(): Promise<string | null>;
  /** Newest first; all of a policy. One that somebody else wrote is `tampered` and keeps no other from being read. */
  versions(tenant: string, name: string): Promise<readonly KeptVersion[]>;
  version(tenant: string, name: string, version: number): Promise<PolicyVersion | null>;
  /** The texts of the current versions of these tenants, deleted policies included. No text, and why, of a version that somebody else wrote. */
  texts(tenants: readonly string[]): Promise<readonly CurrentText[]>;
  /**
   * `unreadable`: the sets of these tenants are not what Gate put there last. `tampered`: a policy is not, so that nothing can be changed.
   * `madeUp` names rows with later numbers that Gate did not write, which judge nothing. Throws `policy_tampered` where somebody else wrote what says which sets there are.
   */
  sets(): Promise<{
    readonly generation: number;
    readonly sets: readonly SetInForce[];
    readonly unreadable: readonly { readonly tenant: string; readonly why: string }[];
    readonly tampered: string | null;
    readonly madeUp: string | null;
  }>;
  /**
   * The rules that a tenant had in force under this version, also ones that were replaced since. `policy_tampered` where they are not what was stored
   * then.
   */
  pastSet(tenant: string, version: string): Promise<StoredSet | null>;
  module(sourcesSha256: string): Promise<StoredModule | null>;
  /** False, and nothing is written, where somebody else was first. */
  write(change: Write): Promise<boolean>;
  /**
   * A step in a tenant's life as it was begun, now or before. A new one moves the generation on: what an earlier step of the tenant has planned
   * is planned anew then, and finds itself overtaken.
   */
  beginOperation(asked: Omit<TenantOperation, 'generation' | 'receipt'>): Promise<TenantOperation>;
  /** The number of the tenant's newest operation; 0 where there is none. */
  newestOperation(tenant: string): Promise<number>;
  /** The receipt that is stored: this one, or that of whoever was first. */
  endOperation(receipt: TenantPoliciesReceipt): Promise<TenantPoliciesReceipt>;
  /** Rows that the ledger does not have yet, oldest first. `tampered` names some of those before their end that Gate did not write, which wait for good. */
  undelivered(
    most: number,
  ): Promise<{ readonly waiting: readonly Undelivered[]; readonly tampered: readonly string[] }>;
  delivered(of: Undelivered, chainSeq: number): Promise<void>;
  /** Throws when nothing can be written. */
  ready(): Promise<void>;
  close(): Promise<void>;
}
