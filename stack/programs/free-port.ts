import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems use for outgoing connections (from 32768 on Linux, from 49152 elsewhere), above the well-known ones. */
const FROM = 15_000;
const TO = 32_000;
const ATTEMPTS = 100;

/**
 * A port of the address on which nothing listens now, for a server that accepts only numbers. Not one chosen by the system: before that
 * server starts, any outgoing connection could take it. Throws when none is found.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(FROM, TO);
    const probe = createServer();
    try {
      probe.listen(port, host);
      await once(probe, 'listening');
    } catch {
      continue;
    }
    await new Promise((closed) => probe.close(closed));
    return port;
  }
  throw new Error(`no free port was found on ${host} between ${FROM} and ${TO}`);
}
