import { resolve } from 'node:path';
import type { Env } from '../config/env.js';
import { StartError } from '../config/start-error.js';
import { listenFault, portsOf } from './ports.js';
import { assertNobodyRuns } from './single-instance.js';

/** Ports of programs that outlive a Gate that was killed: the start ends those itself. */
const OF_CHILDREN = ['GATE_TEMPORAL', 'GATE_DEMO'];

/**
 * What a second start over the same state folder, or on the same ports, is told before anything is built or begun: who is in the way, and what
 * to do. Throws StartError.
 */
export async function refuseSecondStart(env: Env): Promise<void> {
  assertNobodyRuns(resolve(env['GATE_STATE_DIR'] || '.gate'));
  for (const { variable, port, host } of portsOf(env)) {
    if (OF_CHILDREN.some((prefix) => variable.startsWith(prefix))) continue;
    const fault = await listenFault(host, port);
    if (fault !== null)
      throw new StartError(
        `port ${port}: ${fault}, perhaps a Gate over another folder; stop it, or set ${variable} (0 takes a free port). ` +
          '`gate doctor` lists every port that is in use',
      );
  }
}
