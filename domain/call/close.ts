import type { CallInput, CallSummary } from '../../contracts/call.js';
import { ASK_AGAIN, errorText } from '../errors.js';
import { PipelineUnavailable, type PipelineSteps } from './pipeline.js';

/**
 * Ends a call one of whose steps failed in a way that nothing else handles: closes its record without an effect, appends its rows, and
 * returns what the caller is told. Throws PipelineUnavailable when nothing was closed: either there is no verdict, and the same id may
 * start again, or the record is open, and reconciliation closes it later or lite continues it.
 */
export async function closeCall(
  call: CallInput,
  error: unknown,
  steps: Pick<PipelineSteps, 'appendRows' | 'answer' | 'appended'>,
  abort: (correlationId: string, reason: string) => Promise<CallSummary | null>,
): Promise<CallSummary> {
  if (error instanceof PipelineUnavailable) throw error;
  const closed = await abort(call.correlation_id, `pipeline error: ${errorText(error)}`).catch(() => null);
  if (!closed) throw new PipelineUnavailable('proxy', `the call could not be closed; ${ASK_AGAIN}`, error);
  await steps.appendRows(call, closed);
  steps.answer(closed);
  await steps.appended();
  return closed;
}
