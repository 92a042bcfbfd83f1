import {
  ApplicationFailure,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { TenantActivities, TenantProgress } from '../../activities/tenants.js';
import { foreignText } from '../../domain/text.js';
import { lineOf } from '../line.js';
import { NEEDS_A_PERSON, tenantProgress, type TenantRun } from './messages.js';

// It reads alone. While identity is away an operation waits.
const { lookAtTenant } = proxyActivities<TenantActivities>({
  startToCloseTimeout: '10s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '15s' },
  summary: 'how far the operation is',
});

/** What is said of a step in its line, and how long it may take: longer than its lease, so that what comes too late is refused and not torn off. */
const takeStep = (line: string) =>
  proxyActivities<TenantActivities>({
    startToCloseTimeout: '50s',
    heartbeatTimeout: '10s',
    // Identity counts attempts, and says when the next one is due.
    retry: { maximumAttempts: 1 },
    summary: line,
  }).takeTenantStep;

/** Of an error that is shown, in characters. */
const LONGEST_CAUSE = 300;
/** Before identity is asked anew. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Has an operation on a tenant done (docs/architecture/tenants.md). Identity's store says what is next and what every step came to; a run remembers
 * nothing that counts. It claims one step after the other, waits where a lease or a pause has to end first, and ends when the operation does, or where a
 * person has to look: whoever has the step taken up again has a new run begun.
 */
export async function tenantLifecycle(run: TenantRun): Promise<TenantProgress> {
  const { operation_id: id, tenant, kind } = run;
  let progress: TenantProgress | null = null;
  let failures = 0;
  setHandler(tenantProgress, () => progress);
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof tenantLifecycle>(run);
    const known: TenantProgress = progress ?? (await lookAtTenant(id));
    progress = known;
    setCurrentDetails(detailsOf(tenant, kind, known));
    const { state, next, wait_ms: waitMs } = known;
    if (state === 'succeeded') return known;
    if (next === null || waitMs === null)
      throw ApplicationFailure.nonRetryable(
        `${next?.id ?? 'a step'} waits for a person: ${next?.last_error ?? 'it failed'}`,
        NEEDS_A_PERSON,
      );
    if (waitMs > 0) {
      await sleep(waitMs);
      progress = null;
      continue;
    }
    const line = lineOf(`${next.order}/${known.steps} ${next.id}`, next.owner);
    try {
      progress = await takeStep(line)(id);
      failures = 0;
    } catch (error) {
      setCurrentDetails(`${detailsOf(tenant, kind, known)}\n\n${causeOf(error)}`);
      // Whose worker was lost said nothing, and where identity was away nothing was begun: it knows how far the step came.
      await sleep(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures));
      failures += 1;
      progress = null;
    }
  }
}

/** Why an attempt was not begun, or nothing came of it. */
const causeOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown };
  return foreignText(cause instanceof Error ? cause.message : (error as Error).message, LONGEST_CAUSE);
};

const detailsOf = (tenant: string, kind: string, { state, next, steps, wait_ms: waitMs }: TenantProgress): string =>
  lineOf(
    `${kind} ${tenant}`,
    state,
    ...(next === null ? [] : [`${next.order}/${steps} ${next.id}`, `${next.owner}, attempt ${next.attempts}`]),
    ...(waitMs === null || waitMs === 0 ? [] : [`again in ${Math.ceil(waitMs / 1_000)} s`]),
  );
