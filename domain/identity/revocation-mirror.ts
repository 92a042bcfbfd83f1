import type { RevocationContent } from '../../contracts/identity.js';
import { EVERY_TENANT } from '../../contracts/decoys.js';
import { GateError } from '../errors.js';
import { type DecoySet, decoySetOf } from './decoy-readings.js';
import type { ToldDecoy } from './decoys.js';
import type { ToldUpstream } from './upstreams.js';
import { stateFault } from './standing.js';
import { offboardedFault, stopFault, type Stopping } from './stops.js';
import type { Budgets } from '../spend/spend.js';

/** Whether a certificate that the CA signed and that has not ended counts here. */
export interface CertificateStanding {
  /** Why it does not count, or `null`. */
  faultOf(fingerprint: string): GateError | null;
  /** Called with what was revoked, when that becomes known. */
  onRevoked(listener: (revoked: RevokedNow) => void): void;
}

/** An agent by its name, whatever it came with. */
export interface NamedAgent {
  readonly tenant: string;
  readonly agent: string;
}

/** What agents may do here (docs/architecture/identity.md#standing). */
export interface AgentStanding {
  /** Why nothing of this agent is done, or `null`. */
  agentFault(agent: NamedAgent): GateError | null;
  /** Whether every call of this agent that may run waits for a person. */
  forcesReview(agent: NamedAgent): boolean;
  /** Why nobody of the tenant uses one of these tools, or `null` (docs/architecture/identity.md#stops). */
  toolFault(tenant: string, tools: readonly string[]): GateError | null;
  /** What this agent and its tenant may spend in a month (docs/architecture/budgets.md). */
  budgetsOf(agent: NamedAgent): Budgets;
  /** What nobody of the tenant should call or use (docs/architecture/decoys.md). */
  decoysOf(tenant: string): DecoySet;
}

/** What the connection to an upstream has to show; `null` where nobody said so. */
export interface ExpectedServer {
  readonly tlsPin: string | null;
  readonly spiffe: string | null;
}
/** The upstreams for which somebody vouched (docs/architecture/upstreams.md). */
export interface UpstreamRegister {
  /** The one at this address; `null` where nobody vouched for it, or nobody does any more. */
  upstreamAt(url: string): (ExpectedServer & { readonly id: string }) | null;
  /** Whether somebody vouched for any. */
  vouchesForAny(): boolean;
}

/** Whether a grant, whose signature holds, was taken back (docs/architecture/identity.md#grants). */
export interface GrantStanding {
  /** Why it does not count, or `null`. */
  grantFault(jti: string): GateError | null;
}

export interface RevokedNow {
  readonly fingerprints: readonly string[];
  /** All of whose certificates were revoked, also those that had ended by then and are on no list; or that were stopped. */
  readonly agents: readonly { readonly tenant: string; readonly agent: string }[];
  /** Tenants that were stopped whole. */
  readonly tenants: readonly string[];
}

/** What was taken back, as one who asks for it again and again knows it (docs/architecture/identity.md#revocation). */
export interface RevocationMirror extends CertificateStanding, AgentStanding, GrantStanding, UpstreamRegister {
  /** The number up to which all is known. */
  position(): number;
  /**
   * Takes a list whose signature holds, which was asked for after `position()`. Says whether there is more to ask for: also `anew`, where it is of
   * a store with another history than what is known (a backup that was restored, or a replica that lags behind). Then everything that is known
   * stays known, nothing of the list was taken, and `position()` is 0. Throws, and keeps what it had, for a list of another trust domain, that was
   * asked for otherwise, or that is over.
   */
  take(list: RevocationContent): 'whole' | 'more' | 'anew';
  /** Since when the last whole list is known, in milliseconds; `null` where it counts no more or none ever came. */
  ageMs(): number | null;
  /** When a list was last of another history than what was known, in milliseconds; `null` where none ever was. */
  otherHistoryAtMs(): number | null;
}

/** However long a list says that it counts, nobody goes on with one for longer. */
const MOST_LIFE_MS = 900_000;
/** Clocks of two machines differ. */
const SKEW_MS = 60_000;
/** A certificate that has ended is refused as such. By the clock of identity: that of a proxy may be set. */
const KEPT_AFTER_END_MS = 300_000;
/** How often those that have ended are looked for: among a hundred thousand that takes some milliseconds. */
const FORGOTTEN_EVERY_MS = 60_000;
/** For longer than a list names an agent. */
const TOLD_KEPT_MS = 7_200_000;

/** Tenants whose decoys are kept in the form in which they are looked for. */
const DECOY_SETS_MOST = 1_000;

interface Stand {
  readonly state: RevocationContent['standings'][number]['state'];
  readonly reviewedUntilMs: number;
  readonly changedMs: number;
}
const STRICTNESS = ['active', 'suspended', 'decommissioned'] as const;
const stricter = (one: Stand['state'], other: Stand['state']): boolean =>
  STRICTNESS.indexOf(one) > STRICTNESS.indexOf(other);

interface Entry {
  readonly why: 'revoked' | 'superseded';
  readonly refusedFromMs: number;
  readonly notAfterMs: number;
}

export function createRevocationMirror({
  trustDomain,
  now = Date.now,
  steadyMs = () => performance.now(),
}: {
  readonly trustDomain: string;
  readonly now?: () => number;
  /** A clock that nobody sets. */
  readonly steadyMs?: () => number;
}): RevocationMirror {
  const entries = new Map<string, Entry>();
  /** Agents whose end was told, by when that was: not twice where all is asked for anew. */
  const toldOf = new Map<string, number>();
  const stands = new Map<string, Stand>();
  const stops = new Map<string, { readonly isStopped: boolean; readonly changedMs: number }>();
  /** Tenants that have gone for good, whatever is told of them later. */
  const offboarded = new Set<string>();
  const budgets = new Map<string, { readonly micros: number | null; readonly changedMs: number }>();
  const decoys = new Map<string, ToldDecoy>();
  /** By tenant, made anew when a decoy changes. */
  const decoySets = new Map<string, DecoySet>();
  const upstreams = new Map<string, ToldUpstream>();
  /** Those for which somebody vouches, by their addresses; made anew when one changes. */
  let upstreamsAt: ReadonlyMap<string, ToldUpstream> | null = null;
  /** Those that were taken back, by when they end. */
  const grants = new Map<string, number>();
  const listeners: ((revoked: RevokedNow) => void)[] = [];
  let position = 0;
  /** Of the list up to `position`. */
  let history: string | null = null;
  let otherHistoryAtMs: number | null = null;
  /** By the clock of identity. */
  let forgotAtMs = 0;
  /** By both clocks: one may be set back, and the other stands still while a machine sleeps. */
  let whole: { readonly atMs: number; readonly untilMs: number; readonly untilSteadyMs: number } | null = null;

  function check(list: RevocationContent, nowMs: number): number {
    if (list.trust_domain !== trustDomain) throw new Error(`a list of the trust domain ${list.trust_domain}`);
    if (list.after !== position) throw new Error(`a list after number ${list.after}, which was not asked for`);
    if (list.latest < list.generation || (list.generation < list.after && list.after_history !== null))
      throw new Error('a list whose numbers do not fit together');
    const [generatedMs, expiresMs] = [Date.parse(list.generated_at), Date.parse(list.expires_at)];
    if (generatedMs > nowMs + SKEW_MS) throw new Error(`a list of the future: ${list.generated_at}`);
    if (expiresMs <= nowMs) throw new Error(`a list that is over since ${list.expires_at}`);
    return Math.min(expiresMs - nowMs, MOST_LIFE_MS);
  }

  /** What is known is never made weaker, whatever a store says that has another history. */
  function note(one: RevocationContent['svids'][number]): void {
    const known = entries.get(one.credential_fingerprint);
    entries.set(one.credential_fingerprint, {
      why: known?.why === 'revoked' ? 'revoked' : one.why,
      refusedFromMs: Math.min(Date.parse(one.refused_from), known?.refusedFromMs ?? Number.POSITIVE_INFINITY),
      notAfterMs: Date.parse(one.not_after),
    });
  }

  function forgetEnded(generatedMs: number): void {
    if (Math.abs(generatedMs - forgotAtMs) < FORGOTTEN_EVERY_MS) return;
    forgotAtMs = generatedMs;
    for (const [fingerprint, { notAfterMs }] of entries)
      if (notAfterMs + KEPT_AFTER_END_MS < generatedMs) entries.delete(fingerprint);
    for (const [jti, endsMs] of grants) if (endsMs + KEPT_AFTER_END_MS < generatedMs) grants.delete(jti);
    for (const [agent, atMs] of toldOf) if (atMs + TOLD_KEPT_MS < generatedMs) toldOf.delete(agent);
  }

  function agentsIn(list: RevocationContent): RevokedNow['agents'] {
    const news: RevokedNow['agents'][number][] = [];
    for (const { tenant, agent_name: agent, revoked_at: revokedAt } of list.agents) {
      const [name, atMs] = [`${tenant}/${agent}`, Date.parse(revokedAt)];
      if ((toldOf.get(name) ?? 0) >= atMs) continue;
      toldOf.set(name, atMs);
      news.push({ tenant, agent });
    }
    return news;
  }

  /**
   * What changed last stands. What changed before that, as a store says that was put back, stands only where it allows less. Says whether the agent is
   * stopped by it.
   */
  function noteStand(one: RevocationContent['standings'][number]): boolean {
    const name = nameOf({ tenant: one.tenant, agent: one.agent_name });
    const known = stands.get(name);
    const told: Stand = {
      state: one.state,
      reviewedUntilMs: one.force_hil_until === null ? 0 : Date.parse(one.force_hil_until),
      changedMs: Date.parse(one.changed_at),
    };
    const isNewer = known === undefined || told.changedMs > known.changedMs;
    const next =
      isNewer && known?.state !== 'decommissioned'
        ? told
        : {
            state: known !== undefined && stricter(known.state, told.state) ? known.state : told.state,
            reviewedUntilMs: Math.max(known?.reviewedUntilMs ?? 0, told.reviewedUntilMs),
            changedMs: Math.max(known?.changedMs ?? 0, told.changedMs),
          };
    stands.set(name, next);
    return stricter(next.state, known?.state ?? 'active');
  }

  /** As with agents. Says whether it is stopped by it. */
  function noteStop(one: NonNullable<RevocationContent['stops']>[number]): boolean {
    if (one.offboarded && one.tool === null) offboarded.add(one.tenant);
    const name = nameOfStop(one);
    const known = stops.get(name);
    const [isStopped, changedMs] = [one.state === 'suspended', Date.parse(one.changed_at)];
    const isNewer = known === undefined || changedMs > known.changedMs;
    const next = isNewer
      ? { isStopped, changedMs }
      : { isStopped: known.isStopped || isStopped, changedMs: known.changedMs };
    stops.set(name, next);
    return next.isStopped && !known?.isStopped;
  }
  /** What was set last stands; what was set before that, as a store says that was put back, only where it allows less. */
  function noteBudget(one: NonNullable<RevocationContent['budgets']>[number]): void {
    const name = nameOfBudget(one.tenant, one.agent_name);
    const known = budgets.get(name);
    const told = { micros: one.budget_micros, changedMs: Date.parse(one.changed_at) };
    const isNewer = known === undefined || told.changedMs > known.changedMs;
    budgets.set(
      name,
      isNewer
        ? told
        : { micros: less(known.micros, told.micros), changedMs: Math.max(known.changedMs, told.changedMs) },
    );
  }
  /** What was set last stands; what was taken away before that, as a store says that was put back, is still a decoy. */
  function noteDecoy(one: NonNullable<RevocationContent['decoys']>[number]): void {
    const known = decoys.get(one.id);
    const told: ToldDecoy = {
      id: one.id,
      tenant: one.tenant,
      name: one.name,
      kind: one.kind,
      value: one.value,
      isAdvertised: one.advertised,
      action: one.action,
      schemaJson: one.schema_json,
      description: one.description,
      isRetired: one.retired === true,
      changedMs: Date.parse(one.changed_at),
    };
    // What is none any more is forgotten: what a store that was put back says of it is taken either way.
    if (told.isRetired && (known === undefined || told.changedMs > known.changedMs)) decoys.delete(one.id);
    else if (!told.isRetired && (known === undefined || told.changedMs > known.changedMs)) decoys.set(one.id, told);
    decoySets.clear();
  }
  /** What was said last stands. */
  function noteUpstream(one: NonNullable<RevocationContent['upstreams']>[number]): void {
    const changedMs = Date.parse(one.changed_at);
    if ((upstreams.get(one.id)?.changedMs ?? 0) >= changedMs) return;
    const { id, tenant, name, url } = one;
    const isRetired = one.retired === true;
    upstreams.set(id, { id, tenant, name, url, tlsPin: one.tls_pin, spiffe: one.spiffe_id, isRetired, changedMs });
    upstreamsAt = null;
  }
  const standingUpstreams = (): ReadonlyMap<string, ToldUpstream> =>
    (upstreamsAt ??= new Map(
      [...upstreams.values()].filter(({ isRetired }) => !isRetired).map((one) => [one.url, one] as const),
    ));
  /** A tenant's own takes the place of everybody's of that name. */
  function setOf(tenant: string): DecoySet {
    const made = decoySets.get(tenant);
    if (made) return made;
    const standing = [...decoys.values()];
    const own = standing.filter((one) => one.tenant === tenant);
    const names = new Set(own.map(({ name }) => name));
    const set = decoySetOf([...own, ...standing.filter((one) => one.tenant === EVERY_TENANT && !names.has(one.name))]);
    if (decoySets.size >= DECOY_SETS_MOST) decoySets.clear();
    decoySets.set(tenant, set);
    return set;
  }
  const stopped = (what: Stopping): GateError | null =>
    stops.get(nameOfStop(what))?.isStopped ? stopFault(what) : null;
  const gone = (tenant: string): GateError | null => (offboarded.has(tenant) ? offboardedFault(tenant) : null);

  const isFresh = (): boolean => whole !== null && now() < whole.untilMs && steadyMs() < whole.untilSteadyMs;

  return {
    position: () => position,
    ageMs: () => (whole !== null && isFresh() ? now() - whole.atMs : null),
    otherHistoryAtMs: () => otherHistoryAtMs,
    onRevoked: (listener) => void listeners.push(listener),
    take(list) {
      const nowMs = now();
      const lifeMs = check(list, nowMs);
      if (position > 0 && list.after_history !== history) {
        [position, history, otherHistoryAtMs] = [0, null, nowMs];
        return 'anew';
      }
      forgetEnded(Date.parse(list.generated_at));
      const fingerprints: string[] = [];
      for (const one of list.svids) {
        note(one);
        if (one.why === 'revoked') fingerprints.push(one.credential_fingerprint);
      }
      for (const { jti, exp } of list.grants ?? []) grants.set(jti, Math.max(Date.parse(exp), grants.get(jti) ?? 0));
      [position, history] = [list.generation, list.history];
      const agents = [
        ...agentsIn(list),
        ...list.standings.filter(noteStand).map(({ tenant, agent_name: agent }) => ({ tenant, agent })),
      ];
      const tenants = (list.stops ?? [])
        .filter(noteStop)
        .flatMap(({ tenant, tool }) => (tool === null ? [tenant] : []));
      list.budgets?.forEach(noteBudget);
      list.decoys?.forEach(noteDecoy);
      list.upstreams?.forEach(noteUpstream);
      if (fingerprints.length > 0 || agents.length > 0 || tenants.length > 0)
        for (const listener of listeners) listener({ fingerprints, agents, tenants });
      if (list.latest > list.generation) return 'more';
      whole = { atMs: nowMs, untilMs: nowMs + lifeMs, untilSteadyMs: steadyMs() + lifeMs };
      return 'whole';
    },
    agentFault(agent) {
      const name = nameOf(agent);
      // Whoever was stopped is, whether or not all is known.
      const fault =
        gone(agent.tenant) ??
        stateFault(stands.get(name)?.state ?? 'active', name) ??
        stopped({ tenant: agent.tenant, tool: null });
      return fault ?? (isFresh() ? null : new GateError('control_state_unavailable'));
    },
    toolFault(tenant, tools) {
      for (const tool of tools) {
        const fault = stopped({ tenant, tool });
        if (fault !== null) return fault;
      }
      return isFresh() ? null : new GateError('control_state_unavailable');
    },
    budgetsOf: ({ tenant, agent }) => ({
      tenantMicros: budgets.get(nameOfBudget(tenant, null))?.micros ?? null,
      agentMicros: budgets.get(nameOfBudget(tenant, agent))?.micros ?? null,
    }),
    decoysOf: setOf,
    upstreamAt: (url) => standingUpstreams().get(new URL(url).href) ?? null,
    vouchesForAny: () => standingUpstreams().size > 0,
    grantFault(jti) {
      // What was taken back is, whether or not all is known.
      if (grants.has(jti)) return new GateError('grant_revoked');
      return isFresh() ? null : new GateError('control_state_unavailable');
    },
    forcesReview: (agent) => (stands.get(nameOf(agent))?.reviewedUntilMs ?? 0) > now(),
    faultOf(fingerprint) {
      const entry = entries.get(fingerprint);
      // Whoever revokes says so at once, whatever his clock says.
      if (entry?.why === 'revoked') return new GateError('certificate_revoked');
      if (!isFresh()) return new GateError('control_state_unavailable');
      return entry && entry.refusedFromMs <= now() ? new GateError('certificate_superseded') : null;
    },
  };
}

const nameOf = ({ tenant, agent }: NamedAgent): string => `${tenant}/${agent}`;
const nameOfBudget = (tenant: string, agent: string | null): string => (agent === null ? tenant : `${tenant}/${agent}`);
/** `null` is no limit. */
const less = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other);
/** A tenant has no slash in its name. */
const nameOfStop = ({ tenant, tool }: Stopping): string => (tool === null ? tenant : `${tenant}/${tool}`);
