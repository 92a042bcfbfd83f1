import { uuidFromDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { RevokedBy } from './revoked-by.js';
import type { ReleaseRequest } from './standing.js';

/** What is stopped beside single agents: a tool, whoever asks for it, or a tenant whole (docs/architecture/identity.md#stops). */
export interface Stopping {
  readonly tenant: string;
  /** `null`: the tenant whole. */
  readonly tool: string | null;
}

/** A tool or a tenant that somebody ever stopped. */
export interface Stop extends Stopping {
  readonly id: string;
  readonly state: StopState;
  readonly changedMs: number;
  readonly changedBy: string;
  readonly reason: string | null;
  readonly release: ReleaseRequest | null;
}
export type StopState = 'suspended' | 'active';

/** As proxies and workers are told it. */
export interface ToldStop extends Stopping {
  readonly state: StopState;
  readonly changedMs: number;
}
/** The same in a list of revocations; of a tenant, whether it was offboarded. */
export type ListedStop = ToldStop & { readonly isOffboarded: boolean };

export interface StopStore {
  /** Those of a tenant that are stopped, or ever were; at most `STOPS_LISTED`, by their ids. */
  stops(
    of: { readonly tenant: string; readonly state?: StopState | undefined; readonly after?: string | undefined },
    nowMs: number,
  ): Promise<readonly Stop[]>;
  /** Repeated, it changes nothing but that nobody's release counts any more. */
  stop(what: Stopping, by: RevokedBy): Promise<Stop>;
  /** Asks for the end of a stop, or ends it where somebody else asked before. Throws `not_found`. */
  releaseStop(id: string, tenant: string, by: RevokedBy): Promise<Stop>;
}

/** A stop has one row, however often it is set and released. */
export const stopIdOf = ({ tenant, tool }: Stopping): string =>
  tool === null
    ? uuidFromDigest('gate.identity-stop/tenant', tenant)
    : uuidFromDigest('gate.identity-stop/tool', tenant, tool);

/** Why nothing of a tenant that was offboarded is done. */
export const offboardedFault = (tenant: string): GateError =>
  new GateError('tenant_decommissioned', `tenant ${tenant} was offboarded, for good; nothing was executed`);

/** Why nothing of what is stopped is done. */
export const stopFault = ({ tenant, tool }: Stopping): GateError =>
  tool === null
    ? new GateError('tenant_suspended', `tenant ${tenant} is suspended by an operator; nothing was executed`)
    : new GateError('tool_suspended', `the tool ${tool} is suspended by an operator; nothing was executed`);
