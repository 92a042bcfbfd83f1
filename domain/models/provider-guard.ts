import { LRUCache } from 'lru-cache';
import { ModelFailure } from './port.js';
import type { Budget } from './routing.js';

const IN_FLIGHT = 32;
const FAILURES_BEFORE_HOLDING = 5;
const PAUSE_MS = 30_000;
const HOUR_MS = 3_600_000;
const REMEMBERED_TENANTS = 10_000;

/** What is set aside for one attempt, and ends it. Each attempt is ended once. */
export interface Reservation {
  /** What the attempt cost; of the budget, what was set aside beyond it is free again. */
  settle(costMicros: number): void;
  /** The attempt is over, and so much is known about the provider: it answers, it fails, or neither. */
  ended(provider: 'answers' | 'fails' | 'unknown'): void;
}

/** A tenant has at most so many times as many open requests as there are free places: 24 of 32 alone. */
const SHARE = 3;
/** The last places are one for each: whoever has a request open finds none there. */
const ONE_EACH = 4;

/** `open`: nobody is let through; `trying`: one question at a time is. */
export type CircuitStanding = 'closed' | 'open' | 'trying';

/** How a provider stands, for people to see. */
export interface GuardStanding {
  /** For everybody together. */
  readonly circuit: CircuitStanding;
  /** For the tenant that asks, by its own failures. */
  readonly ofTenant: CircuitStanding;
  /** When an open one lets somebody try. */
  readonly againMs: number | null;
  /** Of this hour; what is set aside for open questions counts. Shares and no sums, which would tell one tenant what others spend. */
  readonly budget: { readonly usedPercent: number; readonly usedByTenantPercent: number } | null;
}

/** The time of day as it was when this process began and has passed since: setting the clock back makes no pause and no hour longer. */
export const steadyNow = (): number => performance.timeOrigin + performance.now();

/** Of a budget of nothing all is used. */
const percentOf = (micros: number, of: number): number =>
  of === 0 ? 100 : Math.min(100, Math.max(0, Math.round((micros * 100) / of)));

/** Failures in a row, and until when nobody is let through because of them. */
interface Circuit {
  failures: number;
  againMs: number;
}

/**
 * Stands before one provider: at most 32 requests at once, of which one tenant has no more than its share; after five failures in a row nobody asks it for 30 s, then one
 * request tries; and a budget by the hour, of all tenants together and of each. Failures of one tenant hold back that tenant, those of several everybody, also when
 * they try again: who tried in vain waits until others could. What an attempt may cost at most is set aside before it is made. Each refusal is transient: nothing was sent.
 */
export function createProviderGuard({ budget, now }: { budget?: Budget | undefined; now: () => number }) {
  let inFlight = 0;
  const ofAll: Circuit = { failures: 0, againMs: 0 };
  /** Whose failures the last ones in a row are; since everybody is held back, whose were since. */
  const failing = new Set<string>();
  /** While everybody is held back: until when a tenant that tried is not the one that tries again. */
  const tried = new LRUCache<string, number>({ max: REMEMBERED_TENANTS });
  const circuits = new LRUCache<string, Circuit>({ max: REMEMBERED_TENANTS });
  const open = new Map<string, number>();
  let hour = -1;
  let spent = 0;
  /** The most that a tenant had spent who is no more remembered: whoever is not is taken for that one. */
  let mostForgotten = 0;
  const forget = (micros: number): void => {
    mostForgotten = Math.max(mostForgotten, micros);
  };
  /** Of those who asked long ago, the ones that had spent a tenth of their budget. */
  const spenders = new LRUCache<string, number>({
    max: REMEMBERED_TENANTS,
    dispose: (micros, _tenant, reason) => reason === 'evict' && forget(micros),
  });
  const ofTenant = new LRUCache<string, number>({
    max: REMEMBERED_TENANTS,
    dispose: (micros, tenant, reason) => {
      if (reason !== 'evict') return;
      if (budget && micros * 10 > budget.microsPerTenantAndHour) spenders.set(tenant, micros);
      else forget(micros);
    },
  });
  const atHour = (): number => {
    const at = Math.floor(now() / HOUR_MS);
    if (at !== hour) {
      hour = at;
      spent = 0;
      ofTenant.clear();
      spenders.clear();
      mostForgotten = 0;
    }
    return at;
  };
  const spentBy = (tenant: string): number => ofTenant.get(tenant) ?? spenders.get(tenant) ?? mostForgotten;
  const add = (tenant: string, micros: number): void => {
    spent += micros;
    ofTenant.set(tenant, spentBy(tenant) + micros);
  };
  const isOpen = (circuit: Circuit | undefined): boolean => (circuit?.failures ?? 0) >= FAILURES_BEFORE_HOLDING;
  const holdsBack = (circuit: Circuit): boolean => isOpen(circuit) && now() < circuit.againMs;
  /** Who fails, or tried in vain, does not try for everybody as long as somebody else may come. */
  const mayTry = (tenant: string): boolean =>
    !isOpen(ofAll) ||
    (now() >= (tried.get(tenant) ?? 0) && (!isOpen(circuits.get(tenant)) || now() >= ofAll.againMs + PAUSE_MS));
  const circuitOf = (circuit: Circuit): CircuitStanding =>
    holdsBack(circuit) ? 'open' : isOpen(circuit) ? 'trying' : 'closed';
  const circuitsOf = (tenant: string): readonly Circuit[] => {
    const own = circuits.get(tenant);
    return own ? [ofAll, own] : [ofAll];
  };
  const failed = (circuit: Circuit): void => {
    circuit.failures += 1;
    circuit.againMs = now() + PAUSE_MS;
  };
  return {
    /** `share`: of the budget that such a question may take, so that others find the rest of it. */
    reserve(tenant: string | null, mostMicros: number, share = 1): Reservation {
      const who = tenant ?? '';
      const own = open.get(who) ?? 0;
      const free = IN_FLIGHT - inFlight;
      if (free === 0 || own >= SHARE * free || (own > 0 && free <= ONE_EACH))
        throw new ModelFailure('held_back', { transient: true });
      if (circuitsOf(who).some(holdsBack) || !mayTry(who)) throw new ModelFailure('held_back', { transient: true });
      const began = atHour();
      if (
        budget &&
        (spent + mostMicros > share * budget.microsPerHour ||
          spentBy(who) + mostMicros > share * budget.microsPerTenantAndHour)
      )
        throw new ModelFailure('over_budget', { transient: true });
      // The request that tries again may hang: until it is over, or another pause has passed, nobody else is let through.
      for (const circuit of circuitsOf(who)) if (isOpen(circuit)) circuit.againMs = now() + PAUSE_MS;
      const trying = isOpen(ofAll) ? ofAll.againMs : null;
      if (trying !== null) tried.set(who, now() + 2 * PAUSE_MS);
      inFlight += 1;
      open.set(who, own + 1);
      if (budget) add(who, mostMicros);
      return {
        settle(costMicros) {
          if (budget && atHour() === began) add(who, costMicros - mostMicros);
        },
        ended(provider) {
          inFlight -= 1;
          const left = (open.get(who) ?? 1) - 1;
          if (left > 0) open.set(who, left);
          else open.delete(who);
          if (provider === 'answers') {
            ofAll.failures = 0;
            failing.clear();
            tried.clear();
            circuits.delete(who);
            return;
          }
          // It is somebody else's turn.
          if (trying !== null) tried.set(who, now() + PAUSE_MS);
          if (trying === ofAll.againMs) ofAll.againMs = now();
          if (provider !== 'fails') return;
          const circuit = circuits.get(who) ?? { failures: 0, againMs: 0 };
          circuits.set(who, circuit);
          const alone = isOpen(circuit);
          failed(circuit);
          // What one tenant asks may be why nothing comes back.
          if (alone) return;
          if (failing.size < FAILURES_BEFORE_HOLDING) failing.add(who);
          if (failing.size < 2 && ofAll.failures >= FAILURES_BEFORE_HOLDING - 1) return;
          failed(ofAll);
          if (isOpen(ofAll)) failing.clear();
        },
      };
    },
    /** Whether everybody's requests are held back now. */
    holds: (): boolean => holdsBack(ofAll),
    /** How it stands now, and for this tenant; nothing of any other one. */
    standing(tenant: string | null): GuardStanding {
      const who = tenant ?? '';
      atHour();
      const own = circuits.get(who);
      return {
        circuit: circuitOf(ofAll),
        ofTenant: own ? circuitOf(own) : 'closed',
        againMs: Math.max(...circuitsOf(who).map((circuit) => (holdsBack(circuit) ? circuit.againMs : 0))) || null,
        budget: budget
          ? {
              usedPercent: percentOf(spent, budget.microsPerHour),
              usedByTenantPercent: percentOf(spentBy(who), budget.microsPerTenantAndHour),
            }
          : null,
      };
    },
  };
}
export type ProviderGuard = ReturnType<typeof createProviderGuard>;
