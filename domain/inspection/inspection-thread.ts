import { workerData } from 'node:worker_threads';
import type { InspectRequest } from '../../contracts/inspection.js';
import { answerInThread } from '../threads.js';
import { inspectEach, type ThreadStart } from './inspection-threads.js';
import { createInspector } from './inspector.js';
import { personasOf } from './personas.js';

/** One thread of inspection: a whole inspector with a cache of its own, asked for one request's calls at a time. */
const { personas, level } = workerData as ThreadStart;
const inspector = createInspector({ personas: personasOf(new Map(personas)), level });
answerInThread((calls: readonly InspectRequest[]) => inspectEach(inspector, calls));
