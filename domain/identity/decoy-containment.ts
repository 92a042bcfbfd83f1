import type { DecoyAction } from '../../contracts/decoy-kinds.js';
import type { DecoyHit } from '../../contracts/decoys.js';
import { GateError } from '../errors.js';
import { type CountedHits, type Decoy, type DecoyStore, isKnown } from './decoys.js';
import type { RegisteredAgent, StandingStore } from './standing.js';

/** Who contains an agent because of a decoy. */
export const DECOY_ACTOR = 'system:decoy';

export interface DecoyContainment {
  /**
   * Contains the agent as the decoy says, and keeps how often its calls touched it: in this order, so that a process that ends between the two is told again,
   * and contains it once more. What is known already changes nothing, also where people have let the agent go since.
   */
  counted(hits: CountedHits, mayContain: boolean, nowMs: number): Promise<void>;
}

export function createDecoyContainment({
  store,
  forceHilMs,
  isReserved,
  onHit,
}: {
  readonly store: DecoyStore & Pick<StandingStore, 'agents' | 'register' | 'suspend' | 'forceHil'>;
  readonly forceHilMs: number;
  /** Whether no agent may have this name, because Gate itself is called so. */
  readonly isReserved: (name: string) => boolean;
  /** Operators are told. */
  readonly onHit: (hits: CountedHits, decoy: Decoy, contained: DecoyHit['contained']) => void;
}): DecoyContainment {
  async function contain(
    action: Exclude<DecoyAction, 'none'>,
    { tenant, agent: name, correlationId }: CountedHits,
    decoy: Decoy,
    nowMs: number,
  ): Promise<DecoyHit['contained']> {
    const [known] = await store.agents({ tenant, agent: name }, nowMs);
    const agent = known ?? (await registered(tenant, name, nowMs));
    if (agent === null) return 'unresolved';
    const reason = `the decoy ${decoy.name} was touched by the call ${correlationId}`;
    const by = { by: DECOY_ACTOR, reason, nowMs };
    try {
      if (action === 'suspend') await store.suspend(agent.id, tenant, by);
      // What people set for longer stands.
      else if ((agent.forceHil?.untilMs ?? 0) < nowMs + forceHilMs)
        await store.forceHil(agent.id, tenant, by, nowMs + forceHilMs);
      return action;
    } catch (error) {
      // It does nothing any more.
      if (error instanceof GateError && error.code === 'agent_decommissioned') return action;
      throw error;
    }
  }

  /** The agent whose certificates or tokens come from elsewhere: its call proved its name. */
  async function registered(tenant: string, agent: string, nowMs: number): Promise<RegisteredAgent | null> {
    if (isReserved(agent)) return null;
    try {
      return await store.register({ tenant, agent }, { by: DECOY_ACTOR, nowMs });
    } catch (error) {
      // None of its agents does anything any more.
      if (error instanceof GateError && error.code === 'tenant_offboarded') return null;
      throw error;
    }
  }

  return {
    async counted(hits, mayContain, nowMs) {
      const decoy = await store.decoyById(hits.decoyId);
      if (!decoy || isKnown(hits, await store.hitsKnown(hits))) return;
      const contained =
        decoy.action === 'none'
          ? 'none'
          : mayContain
            ? await contain(decoy.action, hits, decoy, nowMs)
            : ('observed' as const);
      await store.keepHits(hits, contained);
      onHit(hits, decoy, contained);
    },
  };
}
