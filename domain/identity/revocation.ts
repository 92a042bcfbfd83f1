import type { Json } from '../../contracts/json.js';
import type { AgentState, RevocationContent } from '../../contracts/identity.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import type { ToldGrant } from './grants.js';
import type { RevokedBy } from './revoked-by.js';
import type { ToldBudget } from './budgets.js';
import type { ToldDecoy } from './decoys.js';
import type { ToldUpstream } from './upstreams.js';
import type { ListedStop, ToldStop } from './stops.js';

/** Of an agent whose standing changed, as proxies are told it. */
export interface ToldStanding {
  readonly tenant: string;
  readonly agent: string;
  readonly state: AgentState;
  readonly forceHilUntilMs: number | null;
  readonly changedMs: number;
}

/** The certificates that count no more, or soon, although they have not ended: those after a number. */
export interface Revocations {
  /** The list is whole up to this number, which grows with whatever is taken back. */
  readonly generation: number;
  /** The number now; greater than `generation` where one answer would be too long. */
  readonly latest: number;
  /** The digest of the list up to `generation`, and up to the number that was asked for: `null` where this store has no such number. */
  readonly history: string;
  readonly afterHistory: string | null;
  /** Agents that were taken back whole, within the longest life of a certificate. */
  readonly agents: readonly { readonly tenant: string; readonly agent: string; readonly revokedMs: number }[];
  /** Agents whose standing changed. */
  readonly standings: readonly ToldStanding[];
  /** Tools and tenants that were stopped, or let go again. */
  readonly stops: readonly ListedStop[];
  /** Budgets that were set, or taken away. */
  readonly budgets: readonly ToldBudget[];
  /** Decoys that were set, or taken away. */
  readonly decoys: readonly ToldDecoy[];
  /** Upstreams that somebody vouched for, or retired. */
  readonly upstreams: readonly ToldUpstream[];
  /** Grants that were taken back before their end. */
  readonly grants: readonly ToldGrant[];
  readonly svids: readonly {
    readonly id: string;
    readonly serial: string;
    readonly spiffe: string;
    readonly fingerprint: string;
    readonly notAfterMs: number;
    readonly why: 'revoked' | 'superseded';
    readonly refusedFromMs: number;
  }[];
}

/** The bytes of a list that are signed: their beginning tells them from everything else that a CA signs. */
export const revocationBytes = (content: RevocationContent): Buffer =>
  Buffer.from(`gate.revocation-list/1\n${canonicalJson(content as Json)}`, 'utf8');

/** The digest of a list that nothing came onto. */
export const NO_HISTORY = sha256Hex('gate.revocation-history/1');

/**
 * The digest of a list up to a number, made of that up to the number before and of what came onto it: a store that was put back to an earlier day
 * has, under a number that it gives again, another one.
 */
export const historyWith = (
  before: string,
  generation: number,
  what: readonly ListedChange[],
  agent: { readonly tenant: string; readonly agent: string } | null,
  {
    standing,
    stop,
    budget,
    decoy,
    upstream,
    grant,
  }: {
    readonly standing?: ToldStanding;
    readonly stop?: ToldStop;
    readonly budget?: ToldBudget;
    readonly decoy?: ToldDecoy;
    readonly upstream?: ToldUpstream;
    readonly grant?: ToldGrant;
  } = {},
): string =>
  sha256Hex(
    `gate.revocation-history/1\n${canonicalJson([
      before,
      generation,
      what.map(({ fingerprint, why }) => [fingerprint, why]),
      agent && [agent.tenant, agent.agent],
      ...(standing
        ? [[standing.tenant, standing.agent, standing.state, standing.forceHilUntilMs, standing.changedMs]]
        : []),
      ...(stop ? [['stop', stop.tenant, stop.tool, stop.state, stop.changedMs]] : []),
      ...(budget ? [['budget', budget.tenant, budget.agent, budget.budgetMicros, budget.changedMs]] : []),
      ...(decoy
        ? [
            [
              'decoy',
              decoy.tenant,
              decoy.name,
              decoy.kind,
              decoy.value,
              decoy.isAdvertised,
              decoy.action,
              decoy.schemaJson,
              decoy.description,
              decoy.isRetired,
              decoy.changedMs,
            ],
          ]
        : []),
      ...(upstream
        ? [
            [
              'upstream',
              upstream.id,
              upstream.tenant,
              upstream.name,
              upstream.url,
              upstream.tlsPin,
              upstream.spiffe,
              upstream.isRetired,
              upstream.changedMs,
            ],
          ]
        : []),
      ...(grant ? [['grant', grant.jti, grant.expiresMs]] : []),
    ])}`,
  );

export interface ListedChange {
  readonly fingerprint: string;
  readonly why: 'revoked' | 'superseded';
}

/** Every method throws `not_found` for what is another tenant's, as for what is not there. */
export interface RevocationStore {
  /**
   * Takes back one certificate, by its id or its serial. Repeated, it changes nothing and says when that was; `null` for one that has ended
   * by itself.
   */
  revokeSvid(
    svidId: string,
    tenant: string,
    by: RevokedBy,
  ): Promise<{ readonly id: string; readonly revokedMs: number | null }>;
  /**
   * Takes back every certificate of an agent and says how many still counted. One that somebody edited is left, after all others were taken back: throws
   * `identity_tampered`.
   */
  revokeAgent(agentId: string, tenant: string, by: RevokedBy): Promise<number>;
  /**
   * Takes back every certificate of an agent and lets it have a first one again, once, by a new token. Throws `recovery_pending` or
   * `bootstrap_not_retired`.
   */
  openRecovery(
    agentId: string,
    tenant: string,
    by: RevokedBy,
  ): Promise<{ readonly recoveryGeneration: number; readonly revokedSvids: number }>;
  revocations(nowMs: number, after: number): Promise<Revocations>;
}
