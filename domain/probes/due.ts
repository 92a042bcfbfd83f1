import type { CallRecord } from '../call/record.js';
import { isFinal } from '../call/transitions.js';

/** Whether a probe looks after the call once its outcome is unknown, or did until somebody settled it. */
export const isProbed = ({ evidence, outcome }: CallRecord): boolean =>
  evidence.probed === true && outcome?.probes?.at(-1)?.last !== true;

/** Whether nothing more will be found out about the call by itself. An uncertain one may still be found to have run, or not. */
export const isOver = (record: CallRecord): boolean =>
  isFinal(record.state, record.evidence.call.contract) && !(record.state === 'uncertain' && isProbed(record));
