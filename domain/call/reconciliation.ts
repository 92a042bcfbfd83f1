import type { ProbeStep, Reconciled, RecordedOutcome } from './record.js';

/** What is added to the record of an uncertain call: a look, and the end that it, or a person, gives. */
export interface Reconciliation {
  readonly step?: ProbeStep;
  readonly settled?: Pick<RecordedOutcome, 'status_code' | 'result_sha256' | 'error'> & {
    readonly reconciled: Reconciled;
  };
}

/** How many looks a record keeps; an operator who asks for more is refused. */
export const MAX_STEPS = 64;

/** Whether an outcome has what an uncertain record needs to be moved: a look, or, where that ends it, somebody's word. */
export const isEvidence = (outcome: RecordedOutcome | undefined, ends: boolean): boolean =>
  ends ? outcome?.reconciled !== undefined : (outcome?.probes?.length ?? 0) > 0;

/** The outcome after a look or an end. What was known before stays in it, because its ledger row says so. */
export function reconciledOutcome(
  was: RecordedOutcome,
  { step, settled }: Reconciliation,
  stage: 'uncertain' | 'completed' | 'not_run',
): RecordedOutcome {
  const { probes = [], ...lost } = was;
  const seen = step ? [...probes, step] : probes;
  if (!settled) return { ...lost, probes: seen };
  return {
    stage,
    ...(stage === 'not_run' && { code: 'reconciled_not_run' as const }),
    status_code: settled.status_code,
    duration_ms: null,
    result_sha256: settled.result_sha256,
    error: settled.error,
    at: settled.reconciled.at,
    probes: seen,
    reconciled: settled.reconciled,
    lost,
  };
}
