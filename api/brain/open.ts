import type { BRAIN_SETTINGS } from '../../config/brain.js';
import type { Config } from '../../config/env.js';
import { inspectLargeInThreads } from '../../adapters/inspection/inspection-threads.js';
import { scanResponses } from '../../adapters/inspection/response-threads.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { createBrainService } from './app.js';
import type { BrainPort } from './port.js';
import { loadPersonas } from '../../adapters/inspection/persona-files.js';

interface Settings {
  readonly own: Config<typeof BRAIN_SETTINGS>;
}

/** Below the two seconds that a worker waits for Brain in a separate process. */
const LIMIT_APART_MS = 1_800;

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<BrainPort>> {
  const { injectionLevel: level, personasDir } = own;
  const personas = await needed('personas', loadPersonas(personasDir ? { directory: personasDir } : {}));
  const inspector = inspectLargeInThreads(createInspector({ level, personas }), {
    level,
    personas,
    ...(!parts.together && { limitMs: LIMIT_APART_MS }),
  });
  const scanner = scanResponses({ level });
  parts.onStop('threads', 'the threads that inspect', async () => {
    await Promise.all([inspector.close(), scanner.close()]);
  });
  return {
    port: { ...inspector, scanResponse: (request) => scanner.scanResponse(request) },
    // A harmless request that no store sees. It compiles the detectors and loads what they load once.
    start: () =>
      inspector.inspect({
        agent_id: 'warm-up',
        method: 'tools/call',
        params: { name: 'list_files' },
        prior_requests: [],
      }),
    listener: () => listenerOf(createBrainService({ ...parts, inspector, scanner }), own),
    // Starts a thread for the first large request.
    begin() {
      inspector.warm();
      scanner.warm();
    },
  };
}
