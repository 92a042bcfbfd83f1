import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../contracts/json.js';
import type { Ledger } from '../../contracts/ledger.js';
import type { DecisionSource } from '../../contracts/decided-calls.js';
import type { ReplaySource } from '../../contracts/replay-rows.js';
import { createLivePolicies, type LivePolicies } from '../../adapters/policy/live-policies.js';
import { createStudies } from '../../adapters/policy/studies.js';
import { createLocalEvaluator, type LocalEvaluator } from '../../adapters/policy/local-evaluator.js';
import type { PolicyCompiler } from '../../domain/policy/compiler.js';
import type { Narrator } from '../../domain/models/narrator.js';
import { createPolicyLibrary, type PolicyLibrary } from '../../domain/policy/library.js';
import { EVERYBODY, type PolicyStore } from '../../domain/policy/library-ports.js';
import { explainedBy } from '../../domain/policy/mining/explained.js';
import { createSuggestions, type Suggestions } from '../../domain/policy/mining/suggestions.js';
import { createPolicyOutbox, type PolicyOutbox } from '../../domain/policy/outbox.js';
import { ORDINARY, type PolicySet } from '../../domain/policy/policy-set.js';
import { isEdited } from '../../domain/policy/sealed-policies.js';
import { createTenantPolicies, type TenantPolicies } from '../../domain/policy/tenants.js';
import type { TemplateCatalogue } from '../../domain/policy/templates.js';
import type { Studies } from '../../domain/policy/studies.js';
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
  /** What people decided, and what was mined from it; null where nobody gives it. */
  readonly mining: { readonly decisions: DecisionSource; readonly suggestions: Suggestions } | null;
  /** Watches the store and sends rows from now on. */
  begin(): void;
  close(): Promise<void>;
}

/** The policies that a route is about. Throws in a process that judges by the rules that ship alone. */
export function managedBy(management: PolicyManagement | null): PolicyManagement {
  if (!management) throw new GateError('store_unavailable', 'this process keeps no policies');
  return management;
}

/** Less than the two seconds that a worker waits for the policy engine. */
export const EVALUATION_LIMIT_MS = 1_800;
/** What an ordinary call may take by rules that somebody puts in force: the rest is for large ones, and for other machines. */
const ORDINARY_MS = EVALUATION_LIMIT_MS / 2;
/** A busy machine makes any rule slow now and then: it is timed again for so many times that. */
const TIMED_FOR = 5;
/** A trial has the whole of one turn of a thread, and the start of one on a busy machine. */
const TRIAL_LIMIT_MS = 30_000;
const PROVER = 'gate/policies';
/** Rules that are stored do not wait longer to be in force. */
const REHEARSAL_MS = 5_000;

/** Tries rules that are not in force, in a thread of its own. */
export const openTrials = (floor: PolicySet): LocalEvaluator =>
  createLocalEvaluator(floor, undefined, { limitMs: TRIAL_LIMIT_MS, threads: 1 });

/** Rejects where what is stored cannot be loaded: a process that starts has nothing older to judge by. */
export async function openManagement({
  floor,
  store,
  templates,
  compiler,
  ledger,
  recorded = null,
  decisions = null,
  narrator,
  log,
  clock = Date.now,
  ordinaryMs = ORDINARY_MS,
  watchMs,
  lookMs,
  shared,
}: {
  readonly floor: PolicySet;
  readonly store: PolicyStore;
  readonly templates: TemplateCatalogue;
  readonly compiler: PolicyCompiler;
  readonly ledger: Ledger;
  readonly recorded?: ReplaySource | null;
  readonly decisions?: DecisionSource | null;
  /** Writes words beside what is mined. */
  readonly narrator?: Pick<Narrator, 'explainPattern'> | undefined;
  readonly log: Log;
  readonly clock?: () => number;
  readonly ordinaryMs?: number;
  readonly watchMs?: number;
  readonly lookMs?: number;
  /** Tries rules for several of one process, and outlives them; without it each has its own. */
  readonly shared?: LocalEvaluator;
}): Promise<PolicyManagement> {
  const trials = shared ?? openTrials(floor);
  const closeTrials = async (): Promise<void> => {
    if (trials !== shared) await trials.close();
  };
  const live = createLivePolicies({
    floor,
    store,
    rehearse: (rules) =>
      Promise.race([trials.judgeAll([ORDINARY], rules, PROVER), pause(REHEARSAL_MS, null, { ref: false })]),
    onFault: (reason) =>
      reason === null
        ? log.warn({}, 'the newest policies are in force')
        : log.error({ reason }, 'stored policies are not all in force, or cannot be changed'),
    ...(watchMs !== undefined && { watchMs }),
  });
  const outbox = createPolicyOutbox({
    store,
    ledger,
    onFault: (reason) =>
      reason === null
        ? log.warn({}, 'the ledger has the rows of every policy change')
        : log.warn({ reason }, 'rows of policy changes wait for the ledger'),
    ...(lookMs !== undefined && { lookMs }),
  });
  const studies = createStudies(floor);
  let timings = 0;
  const library = createPolicyLibrary({
    store,
    compiler,
    templates,
    floor: { files: floor.files, data: floor.material.data.gate as unknown as JsonObject },
    clock,
    async prove({ wasm }, { tenant, data, files }, takesAway) {
      const rules = await live.tried(wasm, data, files);
      const refused = (why: string) =>
        new GateError(
          'policy_invalid',
          `an ordinary call${tenant === EVERYBODY ? '' : ` of the tenant ${tenant}`} ${why}`,
        );
      // The first one also compiles the rules and reads their documents, which no call does.
      const { judgement: judged } = await trials.timed(ORDINARY, rules, PROVER);
      if (judged.failed) throw refused(`cannot be judged: ${judged.decision.reasons.join('; ')}`);
      // What is slow already can be switched off one by one.
      if (takesAway) return;
      const until = performance.now() + TIMED_FOR * ordinaryMs;
      let least: number;
      do {
        timings += 1;
        // What rules watch is kept by the tool's name: this is the first call of one.
        const { ms } = await trials.timed({ ...ORDINARY, tool_type: `query_database_${timings}` }, rules, PROVER);
        least = Math.round(ms);
      } while (least > ordinaryMs && performance.now() < until);
      if (least > ordinaryMs)
        throw refused(
          `takes ${least} ms by these rules and may take ${ordinaryMs}: after ${EVALUATION_LIMIT_MS} ms every call would be refused`,
        );
    },
    changed(tenants) {
      // The row in the ledger does not hold up the answer.
      void outbox.flush().catch(() => undefined);
      // The change is stored whatever comes of this; where it cannot be loaded here, the answer and the readiness say so, and the watch tries again.
      return live.refresh(tenants);
    },
    distrusted: () => live.verify().catch(() => undefined),
  });
  /** What was deleted or edited of what was compiled is compiled anew from its texts; without a compiler it stays what it is. */
  async function started(): Promise<void> {
    const fault = await live.start().then(
      () => null,
      (error: unknown) => error,
    );
    if (fault !== null && !isEdited(fault)) throw fault;
    if (fault === null && typeof live.ready() === 'number') return;
    const modules = await library.mend().catch(() => 0);
    if (modules > 0)
      log.warn({ modules }, 'rules whose compiled module was gone from the store, or edited, were compiled anew');
    if (modules > 0 || fault !== null) await live.start();
  }
  try {
    await started();
    const shipped = new Set(floor.files.map(({ name }) => name));
    // What keeps policies from being changed is told by `live`, and ends no start.
    const { policies } = await store.catalogue().catch((error: unknown) => {
      if (isEdited(error)) return { policies: [] };
      throw error;
    });
    const both = policies.filter(({ name, deleted_at: at }) => at === null && shipped.has(name));
    if (both.length > 0)
      log.warn(
        { policies: [...new Set(both.map(({ name }) => name))] },
        'rules that ship by now have the names of stored policies, which hold beside them until they are switched off or deleted',
      );
  } catch (error) {
    await closeTrials();
    throw error;
  }
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
    mining: decisions && {
      decisions,
      suggestions: createSuggestions({ store, library, decisions, clock, explain: narrator && explainedBy(narrator) }),
    },
    begin() {
      live.begin();
      outbox.begin();
    },
    async close() {
      await live.close();
      await outbox.close();
      await closeTrials();
      await studies.close();
    },
  };
}
