import type { DecisionNarrated, ExplainPattern, NarrateDecision, PatternExplained } from '../../contracts/narration.js';
import { GateError } from '../errors.js';
import type { NARRATING } from './port.js';

export type Narrating = (typeof NARRATING)[number];

/** A model's words for people, beside facts that Gate itself says. Rejects with `provider_unavailable` or `rate_limited`. */
export interface Narrator {
  explainPattern(question: ExplainPattern): Promise<PatternExplained>;
  narrateDecision(question: NarrateDecision): Promise<DecisionNarrated>;
}

/** Where no model is set to write, and where there is no file of models at all. */
export const noModel = (workload: Narrating): GateError =>
  new GateError(
    'provider_unavailable',
    `no model is set to write this: workloads.${workload} in the file of GATE_BRAIN_MODELS_FILE`,
  );
export const noNarrator: Narrator = {
  explainPattern: () => Promise.reject(noModel('explainPattern')),
  narrateDecision: () => Promise.reject(noModel('narrateDecision')),
};
