import { parentPort, workerData } from 'node:worker_threads';
import type { InspectRequest } from '../../contracts/inspection.js';
import { errorText, GateError } from '../errors.js';
import type { ThreadAnswer, ThreadStart } from './inspection-threads.js';
import { createInspector } from './inspector.js';
import { personasOf } from './personas.js';

/** One thread of inspection: a whole inspector with a cache of its own, asked one request at a time. */
const { personas, level } = workerData as ThreadStart;
const inspector = createInspector({ personas: personasOf(new Map(personas)), level });

parentPort?.on('message', (request: InspectRequest) => {
  void inspector
    .inspect(request)
    .then(
      (verdict): ThreadAnswer => ({ verdict }),
      (error: unknown): ThreadAnswer => ({
        refused: { code: error instanceof GateError ? error.code : null, message: errorText(error) },
      }),
    )
    .then((answer) => parentPort?.postMessage(answer));
});
parentPort?.postMessage('ready');
