import type { SavedSearches } from '../../adapters/console/saved-searches.js';
import { serviceHead, type ServiceHealth, type ServiceName, type Services } from '../../console/services.js';
import type { Person } from '../../console/visit.js';
import { modelSnapshot } from '../../contracts/inspection.js';
import { decisionNarrated } from '../../contracts/narration.js';
import { tenantSpend } from '../../contracts/spend.js';
import { proxyStanding } from '../../contracts/proxy-standing.js';
import { orchestratorStanding } from '../../contracts/review.js';
import { errorText, GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';
import { asCheck, Partly, type ReadinessChecks } from '../plugins/health.js';
import type { AskLimits } from './ask-limits.js';
import { identityOver } from './identity.js';
import { judgedAgainOver } from './judged-again.js';
import { type LedgerForAll, ledgerOver } from './ledger.js';
import {
  type AskedFor,
  get,
  type Neighbour,
  neighbourOf,
  type NeighbourOver,
  type NeighboursAt,
  neighboursFor,
} from './neighbour.js';
import { policiesOver } from './policies.js';
import { reviewsOver } from './reviews.js';
import type { ReviewProof } from './sign-in/mode.js';
import type { StoppedTenants } from './stopped-tenants.js';

export type ServiceChecks = Readonly<Partial<Record<ServiceName, ReadinessChecks[string]>>>;

export interface NeighboursOver {
  /** Whether the review service has a workflow engine behind it. */
  readonly hasEngine?: boolean;
  readonly over: NeighboursAt;
  /** Whether each service is ready. */
  readonly readiness: ServiceChecks;
  /** Those that the page of health tells of as well, and without which the console is ready. */
  readonly seen?: ServiceChecks;
  /** Of others the page of health tells whether they answer, and no more: by their names for people. */
  readonly others?: ReadinessChecks;
  /** `ASK_LIMITS` unless said otherwise. */
  readonly limits?: AskLimits;
}

/** The neighbours, and what is kept of one for all who ask. */
export interface Reached extends NeighboursOver, LedgerForAll {
  readonly limits: AskLimits;
  readonly searches: SavedSearches;
  readonly stoppedTenants: StoppedTenants;
  readonly clock: () => number;
}

/** Says to the review service what somebody may do from now on. */
export async function tellStanding(hil: NeighbourOver, asked: AskedFor): Promise<void> {
  await neighbourOf('hil', hil, asked).ask(null, { method: 'POST', path: '/people/standing' });
}

/**
 * The services over mutual TLS with the console's own certificate. `proof` is what proves the person to the review service and to identity, which
 * alone get it; the tenant of every question is the person's.
 */
export function servicesFor(person: Person, proof: ReviewProof, reached: Reached): Services {
  const { tenant, subject, mode } = person;
  const { searches, limits } = reached;
  const { hil, ledger, policy, brain, identity, proxy } = neighboursFor(reached.over, { tenant, proof, limits });
  const owner = { tenant: tenant ?? '', subject };
  const ownTenant = (): string => {
    if (tenant === null) throw new GateError('tenant_scope_required');
    return tenant;
  };
  const standings = standingsOf({ hil, proxy: reached.over.proxy && proxy }, reached);
  return {
    hil: reviewsOver(hil, { person, ownTenant, limits }),
    ledger: ledgerOver(ledger, { ...reached, person, ownTenant }),
    brain: {
      snapshot: () => brain.ask(modelSnapshot, get('/model-snapshot')),
      narrate: (question) =>
        brain.ask(
          decisionNarrated,
          { method: 'POST', path: '/narrate-decision', body: { ...question, tenant } },
          limits.narrateMs,
        ),
    },
    searches: {
      list: () => searches.list(owner),
      save: (search) => searches.save(owner, search),
      forget: (name) => searches.forget(owner, name),
    },
    identity: identityOver(identity, { ownTenant, note: reached.stoppedTenants.note }),
    spend: async () => {
      // Of whom is asked, the scope says.
      ownTenant();
      return proxy.ask(tenantSpend, get('/spend'));
    },
    judgedAgain: judgedAgainOver({ ledger, policy }),
    policy: policiesOver(policy, {
      // The way of signing in is who says that it is this person.
      by: (reason) => ({ reason, actor_sub: subject, actor_idp: mode }),
      health: () => standings.of('policy'),
      limits,
    }),
    health: standings.all,
  };
}

/** Whether each service is ready, the engine behind the review service, and what runs calls behind the proxy, where that is another process. */
function standingsOf(
  { hil, proxy }: { readonly hil: Neighbour; readonly proxy: Neighbour | undefined },
  {
    seen,
    readiness,
    others = {},
    hasEngine = true,
    limits,
  }: Pick<Reached, 'seen' | 'readiness' | 'others' | 'hasEngine' | 'limits'>,
) {
  const checks: ServiceChecks = { ...seen, ...readiness };
  const standingOf = async (
    name: string,
    check: () => Promise<string>,
    began = performance.now(),
  ): Promise<ServiceHealth> => {
    const told = (ok: boolean, words: string) => ({ name, ok, words, tookMs: Math.round(performance.now() - began) });
    const late = () => new Error(`no answer within ${limits.healthMs} ms`);
    try {
      return told(true, await within(limits.healthMs, Promise.resolve().then(check), late));
    } catch (error) {
      return { ...told(false, errorText(error)), isPartly: error instanceof Partly };
    }
  };
  const answered = (name: string, check: ReadinessChecks[string] | undefined): Promise<ServiceHealth> =>
    standingOf(name, async () => {
      const words = await check?.();
      return typeof words === 'string' ? words : 'answers';
    });
  const of = (service: ServiceName): Promise<ServiceHealth> => answered(serviceHead(service), checks[service]);
  /** The review service has a connection to the engine; the console has none. */
  const workflows = async (): Promise<string> => {
    const { available, reason } = await hil
      .ask(orchestratorStanding, get('/orchestrator'), limits.healthMs)
      .catch((error: unknown) => {
        throw new Error(`not known: ${errorText(error)}`);
      });
    if (!available) throw new Error(`nothing can be decided: ${reason ?? 'it is away'}`);
    return 'answers';
  };
  /** The proxy has connections to the worker's engine and to tools; the console has none. */
  const behindProxy = async (): Promise<readonly ServiceHealth[]> => {
    if (!proxy) return [];
    const began = performance.now();
    const asked = proxy.ask(proxyStanding, get('/standing'), limits.healthMs).catch((error: unknown) => {
      throw new Error(`not known: ${errorText(error)}`);
    });
    const worker = standingOf(serviceHead('worker'), async () => asCheck((await asked).worker), began);
    const upstreams = await asked.then((told) => told.upstreams).catch(() => null);
    return [
      await worker,
      ...(upstreams ? [await standingOf(serviceHead('upstreams'), async () => asCheck(upstreams), began)] : []),
    ];
  };
  return {
    of,
    async all(): Promise<readonly ServiceHealth[]> {
      const [own, behind] = await Promise.all([
        Promise.all([
          ...(Object.keys(checks) as ServiceName[]).map(of),
          ...Object.entries(others).map(([name, check]) => answered(name, check)),
          ...(hasEngine ? [standingOf(serviceHead('engine'), workflows)] : []),
        ]),
        behindProxy(),
      ]);
      return [...own, ...behind];
    },
  };
}
