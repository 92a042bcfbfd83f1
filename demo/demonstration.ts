import { join } from 'node:path';
import { PROJECT_ROOT } from '../config/project-root.js';
import type { Demonstration } from '../stack/bring-up.js';

/** The demonstration's tools, as a start takes them. */
export const DEMONSTRATION: Demonstration = {
  probesFile: join(PROJECT_ROOT, 'demo', 'probes.json'),
  start: async (at) => (await import('./upstream/server.js')).startDemoUpstream(at),
};
