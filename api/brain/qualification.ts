import type { BrainModels } from '../../config/brain-models.js';
import type { Env } from '../../config/env.js';
import { loadPersonas } from '../../adapters/inspection/persona-files.js';
import { shippedCorpus } from '../../adapters/models/qualification-corpus.js';
import type { QualificationReport } from '../../contracts/brain-qualification.js';
import { modelLanes } from '../../domain/models/model-lanes.js';
import { type Qualifying, qualify } from '../../domain/models/qualification/run.js';
import { openModels } from './models.js';

/** Runs the corpus that ships with Gate through the models of a file, composed as Brain composes them. Asks them, and costs what they cost. */
export async function qualifyModels(
  file: BrainModels,
  { env, ...asked }: Omit<Qualifying, 'routing' | 'lanesOver' | 'corpus' | 'personas'> & { readonly env: Env },
): Promise<QualificationReport> {
  const unobserved = { attempt: () => undefined, saved: () => undefined };
  const { modelsOver, close } = await openModels(file, { env, metrics: unobserved });
  try {
    return await qualify({
      ...asked,
      routing: file.routing,
      lanesOver: (routing) => modelLanes(modelsOver(routing), routing),
      corpus: shippedCorpus(),
      personas: await loadPersonas(),
    });
  } finally {
    await close();
  }
}
