import type { CallRecord, RecordedStep } from './record.js';

/** What became of one call of a batch, as its row and its caller are told. */
export interface ToldStep extends Partial<Omit<RecordedStep, 'stage'>> {
  readonly tool: string;
  readonly stage: RecordedStep['stage'] | 'uncertain';
  readonly error: string | null;
}

const BEFORE_IT = 'not sent: the outcome of the call before it is not known';
const NO_TIME = 'not sent: the time of the batch was over, or its worker stopped';

/**
 * What became of each call of a batch that Gate ran, in their order; empty for any other call, and for a batch of which no call began. A call
 * ends, and is recorded, before the next one is sent. So of a batch whose outcome is not known the first call without an end is the one
 * that may have run, and none after it was sent, whenever its process died.
 */
export function stepsOfBatch({ evidence, outcome }: Pick<CallRecord, 'evidence' | 'outcome'>): readonly ToldStep[] {
  const { sibling_tools: tools, steps = [] } = evidence;
  const attempt = outcome?.lost ?? outcome;
  if (!tools || !attempt) return [];
  const isLost = attempt.stage === 'uncertain';
  if (steps.length === 0 && !isLost) return [];
  return tools.map((tool, at): ToldStep => {
    const ended = steps[at];
    if (ended) return ended;
    if (isLost && at === steps.length) return { tool, stage: 'uncertain', error: attempt.error };
    return { tool, stage: 'not_run', error: isLost ? BEFORE_IT : NO_TIME };
  });
}
