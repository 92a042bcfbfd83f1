import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { findTemporal } from './find-program.js';
import { freePort } from './free-port.js';
import { SEARCH_ATTRIBUTES } from './search-attributes.js';
import { startTemporal, type TemporalOptions, type TemporalServer } from './temporal-server.js';

/** The first run on a machine builds the server. */
const BUILD_LIMIT_MS = 15 * 60_000;
let binary: string;
let folder: string;
const running: TemporalServer[] = [];

beforeAll(async () => {
  binary = await findTemporal({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  folder = mkdtempSync(join(tmpdir(), 'gate-temporal-'));
}, BUILD_LIMIT_MS);
afterAll(async () => {
  for (const server of running) await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const listenAnywhere = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer();
  await new Promise<void>((ready) => {
    server.listen(0, '127.0.0.1', ready);
  });
  return { server, port: (server.address() as { port: number }).port };
};
const start = async (options: TemporalOptions): Promise<TemporalServer> => {
  const server = await startTemporal(options);
  running.push(server);
  return server;
};
const options = async (name: string): Promise<TemporalOptions> => ({
  binary,
  stateDir: join(folder, name),
  port: await freePort(),
  uiPort: null,
  namespace: 'gate',
});

describe('the engine of a development stack', () => {
  it('has its namespace, 30 days of retention and the search attributes; a second start adopts it; a third finds its data', async () => {
    const wanted = await options('life');
    const first = await start(wanted);
    const connection = await Connection.connect({ address: first.address });
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'gate' });
    expect(tsToMs(config?.workflowExecutionRetentionTtl)).toBe(30 * 86_400_000);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'gate' });
    for (const name of SEARCH_ATTRIBUTES) expect(customAttributes?.[name]).toBe(2); // INDEXED_VALUE_TYPE_KEYWORD
    await connection.workflowService.startWorkflowExecution({
      namespace: 'gate',
      workflowId: 'kept',
      requestId: 'one',
      workflowType: { name: 'none' },
      taskQueue: { name: 'nobody' },
    });
    await connection.close();

    const second = await start(wanted);
    expect([second.adopted, second.pid]).toEqual([true, first.pid]);
    await second.stop();
    await first.exited;

    const third = await start(wanted);
    expect(third.adopted).toBe(false);
    const again = await Connection.connect({ address: third.address });
    const found = await again.workflowService.describeWorkflowExecution({
      namespace: 'gate',
      execution: { workflowId: 'kept' },
    });
    await again.close();
    expect(found.workflowExecutionInfo?.execution?.workflowId).toBe('kept');
    await third.stop();
  }, 60_000);

  it('puts aside a database whose first start was cut off before it had a namespace', async () => {
    const wanted = { ...(await options('cut')), dbFile: join(folder, 'cut.db') };
    writeFileSync(wanted.dbFile, '');
    const lines: string[] = [];
    const server = await start({ ...wanted, onProgress: (line) => void lines.push(line) });
    await server.stop();
    expect(lines.join('\n')).toContain('never finished');
    expect(readdirSync(folder).some((file) => file.startsWith('cut.db.unfinished-'))).toBe(true);
  }, 60_000);

  it.each(['port', 'uiPort'] as const)('names a %s that is taken, in one line', async (which) => {
    const { server, port } = await listenAnywhere();
    const wanted = { ...(await options(`taken-${which}`)), [which]: port };
    await expect(startTemporal(wanted)).rejects.toThrow(
      `temporal: port ${port} on 127.0.0.1 is used by another program; stop that one or choose another port`,
    );
    server.close();
  });

  it.each([
    ['ends', 'echo "Error: disk full" >&2; exit 1', 'temporal ended while starting (exit code 1): Error: disk full'],
    ['never answers', 'exec sleep 60', 'temporal did not answer on 127.0.0.1:'],
  ])('a server that %s is one clear line, and nothing of it is left', async (what, script, message) => {
    const fake = join(folder, `fake-${what}`);
    writeFileSync(fake, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const wanted = { ...(await options(what)), binary: fake, startLimitMs: 500 };
    await expect(startTemporal(wanted)).rejects.toThrow(message);
    expect(readdirSync(join(folder, what, 'run'))).toEqual([]);
  });

  it('a server that ends while it is asked whether it is ready is noticed at once, not at the end of the question', async () => {
    const fake = join(folder, 'fake-silent');
    // Says what it is, and ends with the next question unanswered.
    const script = `const [,, ...a] = process.argv;
      const server = require('node:http2').createServer();
      server.on('stream', (stream, headers) => {
        if (!headers[':path'].endsWith('/GetSystemInfo')) return setTimeout(() => process.exit(3), 300);
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(Buffer.alloc(5));
      });
      server.listen(Number(a[a.indexOf('--port') + 1]), '127.0.0.1');`;
    writeFileSync(`${fake}.cjs`, script);
    writeFileSync(fake, `#!/bin/sh\nexec '${process.execPath}' '${fake}.cjs' "$@"\n`, { mode: 0o755 });
    const from = performance.now();
    await expect(startTemporal({ ...(await options('silent')), binary: fake })).rejects.toThrow(
      'temporal ended while starting (exit code 3)',
    );
    expect(performance.now() - from).toBeLessThan(8_000);
  });
});
