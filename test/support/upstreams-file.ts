import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { JsonObject } from '../../contracts/json.js';

/** Writes a file of several upstreams into the folder, and returns its name. */
export function upstreamsFile(folder: string, ...upstreams: readonly JsonObject[]): string {
  const file = join(folder, 'upstreams.json');
  writeFileSync(file, JSON.stringify({ upstreams }));
  return file;
}

export const SMALL_TOOLS = [process.execPath, join(import.meta.dirname, 'stdio-tools.mjs')];

/** A server that is up and no upstream: it never answers, or answers what nobody can read. */
export interface OddServer {
  readonly url: string;
  does: 'hangs' | 'garbage' | 'hangs up';
  /** How many requests came. */
  asked: number;
  close(): Promise<void>;
}

export async function oddServer(does: OddServer['does']): Promise<OddServer> {
  const server = createServer((request, response) => {
    odd.asked += 1;
    request.resume();
    if (odd.does === 'garbage') response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":');
    if (odd.does === 'hangs up') request.socket.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const odd: OddServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    does,
    asked: 0,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return odd;
}
