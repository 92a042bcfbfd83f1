import type { JsonObject } from '../../contracts/json.js';
import type { Ledger } from '../../contracts/ledger.js';
import type { ReplaySource } from '../../contracts/replay-rows.js';
import { createLivePolicies, type LivePolicies } from '../../adapters/policy/live-policies.js';
import { createStudies, type Studies } from '../../adapters/policy/studies.js';
import { createLocalEvaluator, type LocalEvaluator } from '../../adapters/policy/local-evaluator.js';
import type { PolicyCompiler } from '../../domain/policy/compiler.js';
import { createPolicyLibrary, type PolicyLibrary } from '../../domain/policy/library.js';
import type { PolicyStore } from '../../domain/policy/library-ports.js';
import { createPolicyOutbox, type PolicyOutbox } from '../../domain/policy/outbox.js';
import { ORDINARY, type PolicySet } from '../../domain/policy/policy-set.js';
import { createTenantPolicies, type TenantPolicies } from '../../domain/policy/tenants.js';
import type { TemplateCatalogue } from '../../domain/policy/templates.js';
import { GateError } from '../../domain/errors.js';
import type { Log } from '../../domain/log.js';

/** What the routes change and read policies through, and what calls are judged by beside the floor. */
export interface PolicyManagement {
  readonly library: PolicyLibrary;
  readonly store: PolicyStore;
  readonly templates: TemplateCatalogue;
  readonly live: LivePolicies;
  readonly outbox: PolicyOutbox;
  /** Judges for people: in threads of its own, so that calls do not wait for it. */
  readonly trials: Pick<LocalEvaluator, 'judgeAll'>;
  /** Every template, into a store that never held a policy. Rejects where they do not compile, and then nothing is stored. */
  seed(active: boolean): Promise<void>;
  /** What happens to a tenant's copies when it comes and goes. */
  readonly tenants: TenantPolicies;
  readonly studies: Studies;
  /** Calls that were judged before, to try rules on; null where nobody gives them. */
  readonly recorded: ReplaySource | null;
  /** Watches the store and sends rows from now on. */
  begin(): void;
  close(): Promise<void>;
}

/** A trial has the whole of one turn of a thread, and the start of one on a busy machine. */
const TRIAL_LIMIT_MS = 30_000;
const PROVER = 'gate/policies';

/** Rejects where what is stored cannot be loaded: a process that starts has nothing older to judge by. */
export async function openManagement({
  floor,
  store,
  templates,
  compiler,
  ledger,
  recorded = null,
  log,
  clock = Date.now,
  watchMs,
  lookMs,
}: {
  readonly floor: PolicySet;
  readonly store: PolicyStore;
  readonly templates: TemplateCatalogue;
  readonly compiler: PolicyCompiler;
  readonly ledger: Ledger;
  readonly recorded?: ReplaySource | null;
  readonly log: Log;
  readonly clock?: () => number;
  readonly watchMs?: number;
  readonly lookMs?: number;
}): Promise<PolicyManagement> {
  const live = createLivePolicies({
    floor,
    store,
    onFault: (reason) =>
      reason === null
        ? log.warn({}, 'the newest policies are in force')
        : log.error({ reason }, 'policies cannot be loaded; those of before stay in force'),
    ...(watchMs !== undefined && { watchMs }),
  });
  await live.start();
  const outbox = createPolicyOutbox({
    store,
    ledger,
    onFault: (reason) =>
      reason === null
        ? log.warn({}, 'the ledger has the rows of every policy change')
        : log.warn({ reason }, 'rows of policy changes wait for the ledger'),
    ...(lookMs !== undefined && { lookMs }),
  });
  const trials = createLocalEvaluator(floor, undefined, { limitMs: TRIAL_LIMIT_MS, threads: 1 });
  const studies = createStudies(floor);
  const library = createPolicyLibrary({
    store,
    compiler,
    templates,
    floor: { files: floor.files, data: floor.material.data.gate as unknown as JsonObject },
    clock,
    async prove({ wasm }, data) {
      const rules = await live.tried(wasm, data);
      const [judged] = await trials.judgeAll([ORDINARY], rules, PROVER);
      if (!judged || judged.failed)
        throw new GateError(
          'policy_invalid',
          `an ordinary call cannot be judged: ${judged?.decision.reasons.join('; ')}`,
        );
    },
    async changed() {
      // The row in the ledger does not hold up the answer.
      void outbox.flush().catch(() => undefined);
      // The change is stored whatever comes of this; where it cannot be loaded here, the readiness says so, and the watch tries again.
      await live.refresh().catch(() => undefined);
    },
  });
  return {
    library,
    store,
    templates,
    live,
    outbox,
    trials,
    async seed(active) {
      const all = await Promise.all((await templates.list()).map(({ name }) => templates.read(name)));
      await library.seed(
        all.filter((template) => template !== null),
        active,
      );
    },
    tenants: createTenantPolicies({ store, library, clock }),
    studies,
    recorded,
    begin() {
      live.begin();
      outbox.begin();
    },
    async close() {
      live.close();
      await outbox.close();
      await trials.close();
      await studies.close();
    },
  };
}
