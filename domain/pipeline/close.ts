import type { CallInput, CallSummary } from '../../contracts/call.js';
import { ASK_AGAIN, errorText } from '../errors.js';
import { PipelineUnavailable, type PipelineSteps } from './pipeline.js';

/**
 * The end of a call one of whose steps failed in a way that nothing else handles: its record is closed, fail closed, its rows are
 * appended, and its caller is told how it stands. Throws PipelineUnavailable where nothing was closed: no verdict stood, and the same id
 * may start again; or the record stands open, and reconciliation closes it later, or lite goes on with it.
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
