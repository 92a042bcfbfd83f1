import { createHmac } from 'node:crypto';

/** Names a console among those of one host, the same after a restart, and says nothing of the key. */
export const instanceOf = (sessionKey: Uint8Array): string =>
  createHmac('sha256', sessionKey).update('gate.console/instance').digest('hex').slice(0, 8);
