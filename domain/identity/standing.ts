import type { AgentRecord, AgentState } from '../../contracts/identity.js';
import { GateError } from '../errors.js';
import type { AgentEntry } from './registry.js';
import type { RevokedBy } from './revoked-by.js';
import type { Envelope } from './scopes.js';

/** What an agent may do, as identity keeps it (docs/architecture/identity.md#standing). */
export interface RegisteredAgent {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly createdBy: string;
  readonly createdMs: number;
  readonly state: AgentState;
  /** `null` where it never changed. */
  readonly stateChangedMs: number | null;
  readonly stateChangedBy: string | null;
  readonly reason: string | null;
  /** Whether it may have a first certificate. */
  readonly bootstrap: AgentRecord['svid_bootstrap_state'];
  readonly forceHil: ForcedReview | null;
  readonly release: ReleaseRequest | null;
}

/** Until then every call of the agent waits for a person. */
export interface ForcedReview {
  readonly untilMs: number;
  readonly appliedMs: number;
  readonly by: string;
  readonly reason: string;
}

export interface ReleaseRequest {
  readonly by: string;
  readonly atMs: number;
  readonly reason: string | null;
}

/** So long somebody else may confirm the end of a suspension. */
export const RELEASE_LIFE_MS = 86_400_000;

/** Every method throws `not_found` for what is another tenant's, as for what is not there, and `agent_decommissioned` instead of a change. */
export interface StandingStore {
  /** At most `AGENTS_LISTED`, by their names. */
  agents(
    of: {
      readonly tenant: string;
      readonly state?: AgentState | undefined;
      readonly agent?: string | undefined;
      readonly ownerTeam?: string | undefined;
      readonly after?: string | undefined;
    },
    nowMs: number,
  ): Promise<readonly RegisteredAgent[]>;
  agent(id: string, tenant: string, nowMs: number): Promise<RegisteredAgent>;
  /** Throws `agent_name_taken` or `agent_name_retired`. */
  register(
    of: { readonly tenant: string; readonly agent: string; readonly envelope?: Envelope; readonly entry?: AgentEntry },
    by: Omit<RevokedBy, 'reason'>,
  ): Promise<RegisteredAgent>;
  /**
   * Takes back every certificate of the agent too. Repeated, it changes nothing but that nobody's release counts any more. A row that somebody edited
   * keeps nobody from being stopped: that of what the agent may do is written anew.
   */
  suspend(id: string, tenant: string, by: RevokedBy): Promise<RegisteredAgent>;
  /** Asks for the end of a suspension, or ends it where somebody else asked before. */
  unsuspend(id: string, tenant: string, by: RevokedBy): Promise<RegisteredAgent>;
  /** Takes back every certificate of the agent too, whatever somebody edited. Repeated, it changes nothing. */
  decommission(id: string, tenant: string, by: RevokedBy): Promise<RegisteredAgent>;
  forceHil(
    id: string,
    tenant: string,
    by: RevokedBy & { readonly reason: string },
    untilMs: number,
  ): Promise<RegisteredAgent>;
  clearForceHil(id: string, tenant: string, by: RevokedBy): Promise<RegisteredAgent>;
}

/** Why an agent in this state may do nothing, or `null`. */
export const stateFault = (state: AgentState, who = ''): GateError | null =>
  state === 'active'
    ? null
    : new GateError(
        state === 'suspended' ? 'agent_suspended' : 'agent_decommissioned',
        who === '' ? undefined : `${who} ${STOPPED[state]}; nothing was executed`,
      );

/** How an agent, its tenant, or the tool that it asks for may be stopped, as refusals, rows and outcomes say it. */
export type Stopped =
  | 'agent_suspended'
  | 'agent_decommissioned'
  | 'tenant_suspended'
  | 'tenant_decommissioned'
  | 'tool_suspended';
export const STOPPED_CODES = [
  'agent_suspended',
  'agent_decommissioned',
  'tenant_suspended',
  'tenant_decommissioned',
  'tool_suspended',
] as const satisfies readonly Stopped[];
export const isStopped = (code: string | null | undefined): code is Stopped =>
  STOPPED_CODES.some((known) => known === code);

const STOPPED = {
  suspended: 'is suspended by an operator',
  decommissioned: 'was decommissioned by an operator, for good',
} as const;
