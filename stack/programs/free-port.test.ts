import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from './free-port.js';

describe('a port for a server that takes numbers only', () => {
  it('can be listened on, and is none that an outgoing connection gets', async () => {
    for (let round = 0; round < 5; round += 1) {
      const port = await freePort();
      expect(port).toBeGreaterThan(1_024);
      expect(port).toBeLessThan(32_768);
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
    }
  });

  it('says so where there is none', async () => {
    await expect(freePort('192.0.2.1')).rejects.toThrow(/no free port was found on 192\.0\.2\.1/);
  });
});
