import type { DecoyHit, DecoyRecord } from '../contracts/decoys.js';
import type { SavedSearch } from '../contracts/console.js';
import type { AssertionJson, OwnPasskey } from '../contracts/approval.js';
import type { VerifiedDecisionLink } from '../contracts/decision-link.js';
import type { PolicyDecision, PolicyFileShown, PolicyList, PolicyStanding } from '../contracts/policy.js';
import type {
  KeptVersion,
  MutatedPolicy,
  PolicyVersion,
  ShownTemplate,
  TemplateFile,
  ValidatedPolicy,
  ValidatePolicy,
} from '../contracts/policy-library.js';
import type { MinedSuggestion, MineLine, MinePolicies } from '../contracts/policy-mining.js';
import type { LabLine, PolicyLab } from '../contracts/policy-studies.js';
import type { DecisionSurface, ListedStatus, PendingRequest, PendingSummary } from '../contracts/review.js';
import type { CaseStatus, CaseWithEvidence, IncidentCase } from '../contracts/cases.js';
import type {
  AgentRecord,
  AgentReleased,
  KeptStopReport,
  StopRecord,
  StopReleased,
  StopReport,
  TenantBudget,
} from '../contracts/identity.js';
import type { Measurement } from '../contracts/attestation.js';
import type { UpstreamRecord } from '../contracts/upstreams.js';
import type { ListedGrant } from '../contracts/grants.js';
import type { TenantSpend } from '../contracts/spend.js';
import type { ModelSnapshot } from '../contracts/inspection.js';
import type { DecisionNarrated, NarrateDecision } from '../contracts/narration.js';
import type { ComplianceRegister } from '../contracts/compliance.js';
import type { LifecycleReceipt } from '../contracts/erasure.js';
import type { ListedTenantOperation } from '../contracts/tenant-lifecycle.js';
import type { TenantReviews } from '../contracts/tenant-reviews.js';
import type { ExportPass, ExportRecord } from '../contracts/ledger-export.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { InclusionProof } from '../contracts/ledger-proof.js';
import type {
  AgentActivity,
  FleetBehavioralDiff,
  Hunt,
  Narrative,
  NarrativeWindow,
  SilentAgents,
  Spend,
} from '../contracts/ledger-reports.js';
import type { Chat, ChatLink, ChatLinkRemoved } from '../contracts/chat-link.js';
import type { Json, JsonObject } from '../contracts/json.js';
import { errorText, GateError } from '../domain/errors.js';
import type { Download } from './download.js';

export interface QueueQuery {
  readonly status: ListedStatus;
  readonly cursor?: string | undefined;
  readonly q?: string | undefined;
  readonly riskTier?: string | undefined;
  readonly sort: 'newest' | 'oldest';
  readonly limit: number;
}

export interface QueuePage {
  readonly items: readonly PendingSummary[];
  readonly next_cursor: string | null;
  /** When the last call was asked for that a search looked at, where it stopped early. */
  readonly searched_to: string | null;
  readonly pending_count: number;
}

export interface Deciding {
  readonly decision: 'approve' | 'deny' | 'modify';
  readonly reason: string | null;
  /** The digest of the arguments as the person saw them. */
  readonly actionDigest: string;
  readonly modificationDiff?: JsonObject;
  /** What the person's passkey signed of this decision. */
  readonly passkey?: AssertionJson;
  /** The same decision sent again has the same id. */
  readonly requestId: string;
  /** What the person decided on, where it is not the page of a call as it was chosen there. */
  readonly via?: Extract<DecisionSurface, 'signed-link' | 'bulk'> | undefined;
}

export interface RowsQuery {
  /** A name, or with `*` for any characters. */
  readonly agent: string;
  readonly limit: number;
  readonly before?: number | undefined;
  /** The oldest place that is looked at. */
  readonly seqFrom?: number | undefined;
  readonly verdict?: string | undefined;
  readonly methods?: string | undefined;
  readonly tool?: string | undefined;
  readonly signal?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface HuntQuery {
  readonly method?: string | undefined;
  readonly signal?: string | undefined;
  readonly authorized?: 'true' | 'false' | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit: number;
}

/** Whom and what a case is about. */
export interface CaseSubjects {
  readonly agent_ids: readonly string[];
  readonly correlation_ids: readonly string[];
}

/** What policy said of a call, and what it says of the same input now; or why it is not asked. */
export type JudgedAgain =
  | { readonly seq: number; readonly then: JsonObject; readonly now: PolicyDecision }
  | { readonly seq: number; readonly not: 'purged' | 'batch' };

/** A window, both ends as RFC 3339; it holds `from` and ends before `to`. */
export interface ExactWindow {
  readonly from: string;
  readonly to: string;
}

export interface RegulatoryQuery extends ExactWindow {
  readonly includeExports: boolean;
  readonly includeCompliance: boolean;
  /** Documentation after Annex IV, with what the person wrote for it. */
  readonly annexIv: boolean;
  readonly postMarketPlan: boolean;
  readonly documentation: string;
}

/** What the last walk of the chain found, and the newest checkpoint where the ledger signs any. */
export interface ChainHealth {
  readonly valid: boolean;
  readonly entries_checked: number;
  /** Rows in all. */
  readonly length: number;
  readonly head_hash: string | null;
  readonly checked_at: string;
  readonly checkpoint: {
    readonly origin: string;
    readonly size: number;
    readonly root: string;
    /** Whose cosignature the ledger has of it, and when they signed. */
    readonly witnesses: readonly { readonly name: string; readonly signed_at: string }[];
  } | null;
}

/** A version of a policy as somebody looked at it; `digest` names its text, 64 hex digits, where the form says it. */
export interface SeenVersion {
  readonly version: number;
  readonly digest: string | null;
}

/** A policy with its text; `null`, and why in `tampered`, where that was edited in the store. */
export type KeptFile = Omit<PolicyFileShown, 'current_body'> & { readonly current_body: string | null };

/**
 * The policies that the person's tenant has: its own, and those for everybody. What is changed becomes a copy of the tenant's, in the person's
 * name; a change throws what the policy engine refused, `version_conflict` where somebody else was first.
 */
export interface PolicyService {
  /** The rules that judge now, and the policies that do not. */
  list(): Promise<PolicyList>;
  /** How the engine stands to what is stored, without the list: that has every text read and its seal verified. */
  standing(): Promise<PolicyStanding>;
  /** One of their files; `null` where there is none of that name. */
  file(name: string): Promise<PolicyFileShown | null>;
  /** The same also of one whose text somebody edited in the store, without that text. */
  kept(name: string): Promise<KeptFile | null>;
  /** Whether the tenant had a copy of it, which was deleted. */
  hadCopy(name: string): Promise<boolean>;
  /** Newest first; `null` where there is none of that name. */
  versions(name: string): Promise<readonly KeptVersion[] | null>;
  version(name: string, version: number): Promise<PolicyVersion | null>;
  /** In the unified form; `null` where there is no such version. */
  diff(name: string, from: number, to: number): Promise<string | null>;
  /** Whether a text could be stored. */
  validate(policy: ValidatePolicy): Promise<ValidatedPolicy>;
  create(policy: ValidatePolicy & { readonly active: boolean }, reason: string): Promise<MutatedPolicy>;
  /** `on` is what it was written on, here and below. */
  update(name: string, body: string, on: SeenVersion, reason: string): Promise<MutatedPolicy>;
  setState(name: string, state: 'activate' | 'deactivate', on: SeenVersion, reason: string): Promise<MutatedPolicy>;
  /** The text for everybody that is in force again without the tenant's copy; `null` where none is. */
  behind(name: string): Promise<PolicyFileShown | null>;
  /** `back`: the digest of what is in force again without it; `null` for nothing. Another one is `version_conflict`. */
  remove(name: string, on: SeenVersion, back: string | null, reason: string): Promise<MutatedPolicy>;
  /** A new version with the text of this one. */
  rollback(name: string, version: number, on: SeenVersion, reason: string): Promise<MutatedPolicy>;
  templates(): Promise<readonly ShownTemplate[]>;
  template(name: string): Promise<TemplateFile | null>;
  /** `on`: the document of its parameters as somebody looked at it; `null` for none, `undefined` of a template that has no parameters. */
  install(
    name: string,
    parameters: JsonObject | null,
    on: SeenVersion | null | undefined,
    reason: string,
  ): Promise<MutatedPolicy>;
  /** Tries rules on the tenant's recorded calls: how far it is, and at last what was found, or why nothing. Leaving it ends it. */
  lab(asked: PolicyLab, until: AbortSignal): AsyncIterable<LabLine>;
  /** Rules that were mined before, each compared with what people decided since. */
  suggestions(): Promise<readonly MinedSuggestion[]>;
  /** Looks for the tightest rules that people's approvals support; told and left like a lab. */
  mine(asked: MinePolicies, until: AbortSignal): AsyncIterable<MineLine>;
  /** Puts the rule of a suggestion in force. Throws `suggestion_withdrawn` where somebody denied such a call since. */
  accept(id: string, reason: string): Promise<MutatedPolicy>;
  /** Whether the engine is ready: it is not where it judges by older policies than are stored. */
  health(): Promise<ServiceHealth>;
}

/** What pages tell of, each as people call it in a sentence: the other services, and the store of the console itself. */
export const SERVICE_WORDS = {
  hil: 'the review service',
  ledger: 'the ledger',
  policy: 'the policy engine',
  brain: 'Brain',
  sandbox: 'the sandbox',
  proxy: 'the proxy',
  identity: 'the identity service',
  engine: 'the workflow engine',
  worker: 'the worker',
  upstreams: 'the upstream tools',
  store: 'the console’s store',
} as const;
export type ServiceName = keyof typeof SERVICE_WORDS;

const THE = 'the ';
/** The same as the head of a row. */
export const serviceHead = (name: ServiceName): string => {
  const words = SERVICE_WORDS[name];
  return words.startsWith(THE) ? words.slice(THE.length) : words;
};

/** The reviews that the person may see; who only looks on gets them masked. */
export interface ReviewsService {
  summaries(query: QueueQuery): Promise<QueuePage>;
  /** A row with its payload and what people were told of it; `null` where there is none for this person. */
  row(id: string): Promise<PendingRequest | null>;
  byCorrelation(correlationId: string): Promise<PendingRequest | null>;
  /** The calls of an agent that wait, without their values, oldest first. */
  waitingOf(agentId: string, limit: number): Promise<readonly PendingRequest[]>;
  /** The newest calls of an agent that somebody decided, without their values. */
  lately(agentId: string): Promise<readonly PendingRequest[]>;
  decide(id: string, decision: Deciding): Promise<PendingRequest>;
  assign(id: string, to: string | null): Promise<PendingRequest>;
  /** Notes what came of a decided call, under the person's name, in the place of `expected`. Throws `still_pending`, `note_conflict`. */
  note(id: string, summary: string, expected: string | null): Promise<PendingRequest>;
  /** What was done with the reviews of the person's tenant when it came or left. */
  tenant(): Promise<TenantReviews>;
  /** The person's own passkeys, the oldest first. */
  passkeys(): Promise<readonly OwnPasskey[]>;
  /** From which accounts of chats this person decides; `null` where from none. */
  chatLink(): Promise<ChatLink | null>;
  /** Links the account to which a chat showed the code. Throws `link_code_invalid`, `channel_already_linked`. */
  linkChat(code: string): Promise<ChatLink>;
  unlinkChat(chat: Chat): Promise<void>;
  /** Unlinks somebody else's account, as an administrator. Throws `not_found` where nobody of that name has one. */
  unlinkChatOf(name: string, chat: Chat): Promise<ChatLinkRemoved>;
  /** Where a decision link leads. It decides nothing. */
  verifyLink(token: string): Promise<VerifiedDecisionLink>;
}

/** Cases of the person's tenant. */
export interface CasesService {
  /** Newest first. */
  cases(status: CaseStatus | undefined, limit: number): Promise<readonly IncidentCase[]>;
  /** A case and the newest rows about it; `null` where there is none for this person. */
  case(id: string): Promise<CaseWithEvidence | null>;
  /** The same form sent again, under its id, opens no second one; so with a note. */
  openCase(title: string, subjects: CaseSubjects, requestId?: string): Promise<IncidentCase>;
  /** These throw `case_not_found` also for a case of another tenant. */
  noteInCase(id: string, note: string, requestId?: string): Promise<void>;
  classifyCase(id: string, severity: string): Promise<void>;
  setCaseStatus(id: string, status: string): Promise<void>;
  attachToCase(id: string, subjects: CaseSubjects): Promise<void>;
}

/** The rows of the person's tenant, and what is made of them. */
export interface LedgerService extends CasesService {
  /** The rows of one call, in the order of the chain. */
  call(correlationId: string): Promise<readonly LedgerEntry[]>;
  /** The same once the call has ended, or as they are after that time. */
  ended(correlationId: string, withinMs: number): Promise<readonly LedgerEntry[]>;
  /** Newest first. */
  rows(query: RowsQuery): Promise<readonly LedgerEntry[]>;
  /** The parameters that a row commits to, masked; `null` where it commits to none, or where they were purged. */
  maskedParams(entryId: string): Promise<{ readonly masked_params: Json; readonly retention_class: string | null }>;
  /** What policy was told of a call beside its arguments: where values of answers stand in these, and what inspection suspected. */
  facts(correlationId: string): Promise<JsonObject>;
  /** Proves a row under the newest checkpoint; `null` for a row of another tenant. */
  inclusion(seq: number): Promise<InclusionProof | null>;
  hunt(query: HuntQuery): Promise<Hunt>;
  narrative(agent: string, window: NarrativeWindow): Promise<Narrative>;
  activity(sinceHours: number, limit: number): Promise<AgentActivity>;
  /** What rules said in the newest verdicts of so many hours, at most as old as `activity`. */
  saidByRules(sinceHours: number, limit: number): Promise<readonly Pick<LedgerEntry, 'policy_decision'>[]>;
  /** The same of one agent, by tier over time too. */
  activityOf(agent: string, sinceHours: number): Promise<AgentActivity>;
  drift(limit: number): Promise<Drift>;
  silent(sinceHours: number): Promise<SilentAgents>;
  /** What inspections of a month, as in 2026-11, are estimated to have cost, by agent, highest first. */
  spend(month: string, limit: number): Promise<Spend>;
  /** What was done with the rows of the person's tenant when it came or left, newest first. */
  tenant(): Promise<readonly LifecycleReceipt[]>;
  /** Copies of the whole chain in the cold tier, newest first; why there is no place for them, where the settings name none. */
  exports(): Promise<readonly ExportRecord[] | { readonly noPlace: string }>;
  /** Copies the oldest rows that are old enough and not copied yet. */
  exportNow(): Promise<ExportPass>;
  /** The tenant's rows of a window as a signed archive. One at a time for a tenant. */
  regulatory(query: RegulatoryQuery): Promise<Download>;
  compliance(window: ExactWindow): Promise<ComplianceRegister>;
  /** Not older than five minutes, unless the ledger is slow to say. */
  chain(): Promise<ChainHealth | 'walking'>;
  /** The same where the last walk found that it does not hold; at once, and without a walk. */
  broken(): ChainHealth | null;
}

/** What of the person's tenant is stopped, and by whom; whoever changes it is named in the ledger. */
export interface IdentityService {
  /** The agent of that name; `null` where identity knows none. */
  agent(name: string): Promise<AgentRecord | null>;
  /** The agents that are stopped, by their names. */
  stoppedAgents(): Promise<readonly AgentRecord[]>;
  /** Has identity know an agent by its name, whoever issues what it comes with. */
  register(name: string): Promise<AgentRecord>;
  /** Gives it to a team. */
  transfer(id: string, team: string, reason: string | null): Promise<void>;
  /** Says what it is for; `null`: nothing any more. */
  describe(id: string, description: string | null, reason: string | null): Promise<void>;
  /** What may be delegated to it from now on, whole. */
  narrow(
    id: string,
    to: { readonly scope: readonly string[]; readonly yellow: readonly string[] },
    reason: string | null,
  ): Promise<void>;
  /** Ends it for good. */
  decommission(id: string, reason: string | null): Promise<void>;
  suspend(id: string, reason: string): Promise<AgentRecord>;
  /** Asks for the end of a suspension, or ends it where somebody else asked before. */
  unsuspend(id: string, reason: string | null): Promise<AgentReleased>;
  /** Has a person decide about every call of it that would have run, for so long. */
  forceHil(id: string, reason: string, seconds: number): Promise<void>;
  clearForceHil(id: string): Promise<void>;
  /** The tools that are stopped, or ever were, and the tenant. */
  stops(): Promise<readonly StopRecord[]>;
  /** Stops a tool for everybody of the tenant; `null`: the tenant whole. */
  stop(tool: string | null, reason: string): Promise<StopRecord>;
  /** Like `unsuspend`. */
  releaseStop(id: string, reason: string | null): Promise<StopReleased>;
  /** What the tenant, and each agent of it, may spend in a month. */
  budget(): Promise<TenantBudget>;
  /** Sets it, of one agent or (`null`) of the tenant whole; `null` micro-units: no limit. */
  setBudget(agent: string | null, micros: number | null, reason: string | null): Promise<TenantBudget>;
  /** What nobody of the tenant should call or use. */
  decoys(): Promise<readonly DecoyRecord[]>;
  /** Who did, the newest first. */
  decoyHits(): Promise<readonly DecoyHit[]>;
  /** Sets a tool, or with a value that; `null`: what happens to who touches it is as usual. */
  addDecoy(decoy: {
    readonly name: string;
    readonly value: string | null;
    readonly isAdvertised: boolean;
    readonly action: DecoyRecord['action'] | null;
    readonly reason: string | null;
  }): Promise<DecoyRecord>;
  removeDecoy(name: string): Promise<void>;
  /** The servers of tools for which somebody vouched, retired ones too. */
  upstreams(): Promise<readonly UpstreamRecord[]>;
  addUpstream(upstream: {
    readonly name: string;
    readonly url: string;
    readonly tlsPin: string | null;
    readonly spiffe: string | null;
    readonly ownerTeam: string | null;
    readonly reason: string | null;
  }): Promise<UpstreamRecord>;
  retireUpstream(id: string): Promise<void>;
  /** What people delegated to an agent and is neither over nor taken back, oldest first. */
  grants(agent: string): Promise<readonly ListedGrant[]>;
  /** The same of all agents, behind one of them (`null`: from the first): 1,000 at most. */
  grantsAfter(jti: string | null): Promise<readonly ListedGrant[]>;
  revokeGrant(jti: string, reason: string | null): Promise<void>;
  /** What the platforms of agents may measure, behind one of these (`null`: from the first), by their ids: 1,000 at most. */
  measurementsAfter(id: string | null): Promise<readonly Measurement[]>;
  withdrawMeasurement(id: string, reason: string): Promise<void>;
  /** The newest reports of what was running at a stop. */
  reports(): Promise<readonly KeptStopReport[]>;
  /** One as it is signed; `null` where it is not made yet. Throws `not_found`. */
  report(id: string): Promise<StopReport | null>;
  /** What was begun with the tenant, newest first, and how far it is. */
  tenantOperations(): Promise<readonly ListedTenantOperation[]>;
}

/** The other services as one person may ask them. Each throws `GateError`: a refusal, or `console_neighbour_away` for one that is away. */
export interface Services {
  readonly hil: ReviewsService;
  readonly ledger: LedgerService;
  readonly brain: {
    /** What judges now, and how the providers of its models stand for the person's tenant. */
    snapshot(): Promise<ModelSnapshot>;
    /** A model's sentence about a decision. Throws `provider_unavailable`, `rate_limited`. */
    narrate(question: NarrateDecision): Promise<DecisionNarrated>;
  };
  /** The searches that the person keeps at the console. */
  readonly searches: {
    list(): Promise<readonly SavedSearch[]>;
    /** Replaces one of the same name. */
    save(search: SavedSearch): Promise<void>;
    forget(name: string): Promise<void>;
  };
  readonly identity: IdentityService;
  /** What the tenant and its agents spent this month, as the proxies count it. */
  spend(): Promise<TenantSpend>;
  /** Asks the rules of now about a call as it was judged; inspection counts as it was recorded. `null` where policy judged no such call. */
  judgedAgain(correlationId: string): Promise<JudgedAgain | null>;
  readonly policy: PolicyService;
  /** Whether each service answers, and is ready. */
  health(): Promise<readonly ServiceHealth[]>;
}

/** As the ledger tells it; one of before it counted all agents says `null` of how many there are. */
export interface Drift extends Omit<FleetBehavioralDiff, 'agents_total' | 'insufficient_total'> {
  readonly agents_total: number | null;
  readonly insufficient_total: number | null;
}

export interface ServiceHealth {
  readonly name: string;
  readonly ok: boolean;
  /** Of several things some answer. */
  readonly isPartly?: boolean;
  readonly words: string;
  /** How long the answer took, or the wait for none. */
  readonly tookMs: number;
}

/** What a page asked for; or which service is away, for the page to say beside what it can show: the service as in a sentence, and why. */
export type Settled<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly service: string; readonly why: string; readonly isEdited?: boolean };

/**
 * Lets a page go on without a service, or without what somebody edited in its store. Any other refusal stays an error. The service is the one
 * that the error is of, and where it does not say so, one of those that were asked.
 */
export async function settled<Value>(
  of: ServiceName | readonly ServiceName[],
  asked: Promise<Value>,
): Promise<Settled<Value>> {
  try {
    return { ok: true, value: await asked };
  } catch (error) {
    const isEdited = error instanceof GateError && ['policy_tampered', 'identity_tampered'].includes(error.code);
    if (error instanceof GateError && error.status < 500 && !isEdited) throw error;
    const why = errorText(error);
    const service =
      wordsOf(error) ??
      [of]
        .flat()
        .map((name) => SERVICE_WORDS[name])
        .join(' or ');
    return {
      ok: false,
      service,
      // The page has named it by then.
      why: why.startsWith(`${service} `) ? `it ${why.slice(service.length + 1)}` : why,
      ...(isEdited && { isEdited }),
    };
  }
}

/** The words for the service that an error is of. */
const wordsOf = (error: unknown): string | null =>
  error instanceof GateError && error.service !== undefined && Object.hasOwn(SERVICE_WORDS, error.service)
    ? SERVICE_WORDS[error.service as ServiceName]
    : null;
