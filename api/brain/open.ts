import type { BRAIN_SETTINGS } from '../../config/brain.js';
import type { Config } from '../../config/env.js';
import { inspectLargeInThreads } from '../../adapters/inspection/inspection-threads.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import type { Inspector } from '../../domain/inspection/port.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed } from '../plugins/start.js';
import { createBrainService } from './app.js';
import { loadPersonas } from '../../adapters/inspection/persona-files.js';

interface Settings {
  readonly own: Config<typeof BRAIN_SETTINGS>;
}

/** Below the two seconds that a worker waits for Brain in a separate process. */
const LIMIT_APART_MS = 1_800;

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<Inspector>> {
  const { injectionLevel: level, personasDir } = own;
  const personas = await needed('personas', loadPersonas(personasDir ? { directory: personasDir } : {}));
  const inspector = inspectLargeInThreads(createInspector({ level, personas }), {
    level,
    personas,
    ...(!parts.together && { limitMs: LIMIT_APART_MS }),
  });
  parts.onStop('threads', 'the threads that inspect', () => inspector.close());
  return {
    port: inspector,
    // A harmless request that no store sees. It compiles the detectors and loads what they load once.
    start: () =>
      inspector.inspect({
        agent_id: 'warm-up',
        method: 'tools/call',
        params: { name: 'list_files' },
        prior_requests: [],
      }),
    listener: () => listenerOf(createBrainService({ ...parts, inspector }), own),
    // Starts a thread for the first large request.
    begin: () => inspector.warm(),
  };
}
