import { workerData } from 'node:worker_threads';
import type { InspectRequest } from '../../contracts/inspection.js';
import { answerInThread } from '../threads/threads.js';
import { inspectEach } from '../../domain/inspection/large-apart.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import { type Persona, personasOf } from '../../domain/inspection/personas.js';
import type { HeuristicLevel } from '../../domain/inspection/texts.js';

/** What a thread of inspection is started with. */
export interface InspectionThreadStart {
  readonly personas: readonly (readonly [string, Persona])[];
  readonly level: HeuristicLevel;
  readonly maskedParams: boolean;
}

/** One inspection thread: a complete inspector with its own cache. It handles the calls of one request at a time. */
const { personas, level, maskedParams } = workerData as InspectionThreadStart;
const inspector = createInspector({ personas: personasOf(new Map(personas)), level, maskedParams });
void answerInThread(
  (calls: readonly InspectRequest[]) => inspectEach(inspector, calls),
  () => inspector.ready(),
);
