import { createHash } from 'node:crypto';
import type { Caller } from '../api/plugins/app.js';
import { CALLER_IDS } from '../contracts/route-authority.js';

/** The console as the services of this process know it. `fingerprint` is of what was shown instead of a certificate. */
export const consoleCaller = (fingerprint: string): Caller => ({
  kind: 'service',
  spiffe: 'spiffe://gate.local/service/console',
  callerId: CALLER_IDS.console,
  fingerprint,
});

/** The console of this process. It shows nothing: what it asks listens for nobody else. */
export const ownConsole: Caller = consoleCaller(createHash('sha256').update('gate.lite/console').digest('hex'));
