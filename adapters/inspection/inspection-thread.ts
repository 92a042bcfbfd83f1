import { workerData } from 'node:worker_threads';
import type { InspectRequest } from '../../contracts/inspection.js';
import { answerInThread } from '../threads/threads.js';
import { inspectEach, type InspectionThreadStart } from './inspection-work.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import { personasOf } from '../../domain/inspection/personas.js';

/** One inspection thread: a complete inspector with its own cache. It handles the calls of one request at a time. */
const { personas, level, maskedParams } = workerData as InspectionThreadStart;
const inspector = createInspector({ personas: personasOf(new Map(personas)), level, maskedParams });
void answerInThread(
  (calls: readonly InspectRequest[]) => inspectEach(inspector, calls),
  () => inspector.ready(),
);
