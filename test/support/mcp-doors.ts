import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, fetch as undiciFetch } from 'undici';
import type { PendingRequest } from '../../contracts/review.js';
import { decideTokenFileOf } from '../../lite/decide-token.js';
import { issueAgent } from '../../stack/certificates/dev-pki.js';
import { commandLine } from './command.js';
import { plainAddress, type PlainAddress } from './plain-address.js';
import { STACK_START_LIMIT_MS, startStack } from './stack.js';
import { eventually } from './waiting.js';

/** One edition of Gate in processes of its own, as an ordinary MCP client and an operator meet it. */
export interface McpDoor {
  /** The one address a client is given. */
  readonly url: string;
  /** What shows who asks: a certificate in the stack; lite's agent is nobody in particular. */
  readonly fetchAs: (agent: string) => Promise<typeof fetch>;
  /** The same address for a client that has no certificate to show, and may be cut off. */
  readonly plain: (agent: string) => Promise<PlainAddress>;
  /** The calls that wait. */
  readonly waiting: () => Promise<readonly PendingRequest[]>;
  readonly rowOf: (correlationId: string) => Promise<PendingRequest>;
  readonly decide: (correlationId: string, decision: 'approve' | 'deny', reason?: string) => Promise<number>;
  /** kill -9 of everything that runs, and a new start over the same stores. */
  readonly killed: () => Promise<McpDoor>;
  readonly stop: () => Promise<void>;
}

export interface DoorOptions {
  readonly upstreamUrl: string;
  readonly folder: string;
}

async function stackDoor(options: DoorOptions): Promise<McpDoor> {
  const stateDir = join(options.folder, 'state');
  const stack = await startStack({
    stateDir,
    env: {
      GATE_UPSTREAM_URL: options.upstreamUrl,
      GATE_UPSTREAM_NAME: 'demo',
    },
  });
  const agents: Agent[] = [];
  const addresses: PlainAddress[] = [];
  const leafOf = (name: string) => issueAgent({ stateDir, trustDomain: 'gate.local' }, 'acme', name);
  const hangUp = async () => {
    for (const address of addresses.splice(0)) address.close();
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
  };
  return {
    url: `${stack.development.proxy.url}/mcp`,
    async fetchAs(name) {
      const dispatcher = new Agent({ connect: { ...(await leafOf(name)), timeout: 30_000 } });
      agents.push(dispatcher);
      return ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;
    },
    async plain(name) {
      const address = await plainAddress(stack.development.proxy.url, await leafOf(name));
      addresses.push(address);
      return address;
    },
    waiting: () => stack.operator.pending(),
    rowOf: (id) => stack.operator.rowOf(id),
    async decide(id, decision, reason) {
      const path = `/decide/${(await stack.operator.rowOf(id)).id}`;
      const headers = { 'x-request-id': randomUUID() };
      // A 503 says that it may be asked again with the same id.
      const { status } = await eventually('the decision is answered', async () => {
        const reply = await stack.operator.request(
          'POST',
          path,
          { decision, ...(reason !== undefined && { reason }) },
          headers,
        );
        return reply.status !== 503 && reply;
      });
      return status;
    },
    async killed() {
      const file = readFileSync(join(stateDir, 'run', 'temporal.pid'), 'utf8');
      const engine = file.startsWith('{') ? (JSON.parse(file) as { pid: number }).pid : Number(file);
      const ended = new Promise((resolve) => stack.process.once('exit', resolve));
      process.kill(engine, 'SIGKILL');
      stack.process.kill('SIGKILL');
      await ended;
      await hangUp();
      await stack.stop();
      return stackDoor(options);
    },
    async stop() {
      await hangUp();
      await stack.stop();
    },
  };
}

async function liteDoor(options: DoorOptions): Promise<McpDoor> {
  const commands = commandLine(() => options.folder);
  const ledger = join(options.folder, 'gate-lite.db');
  const gate = await commands.lite([
    '--ledger',
    ledger,
    '--upstream',
    options.upstreamUrl,
    '--upstream-adapter',
    'mcp-jsonrpc-v1',
  ]);
  const token = readFileSync(decideTokenFileOf(ledger), 'utf8').trim();
  const addresses: PlainAddress[] = [];
  const hangUp = () => {
    for (const address of addresses.splice(0)) address.close();
  };
  const asked = async (path: string, body?: object) => {
    const answer = await fetch(`${gate.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const rowOf: McpDoor['rowOf'] = async (id) => {
    for (const status of ['pending', 'approved', 'denied', 'withdrawn', 'expired', 'aborted']) {
      const rows = JSON.parse((await asked(`/pending?status=${status}`)).text) as PendingRequest[];
      const row = rows.find((one) => one.correlation_id === id);
      if (row) return row;
    }
    throw new Error(`no review row of ${id}`);
  };
  return {
    url: `${gate.url}/mcp`,
    fetchAs: () => Promise.resolve(fetch),
    async plain() {
      const address = await plainAddress(gate.url);
      addresses.push(address);
      return address;
    },
    waiting: async () => JSON.parse((await asked('/pending')).text) as PendingRequest[],
    rowOf,
    decide: async (id, decision, reason) =>
      (await asked(`/decide/${(await rowOf(id)).id}`, { decision, ...(reason !== undefined && { reason }) })).status,
    async killed() {
      gate.process.kill('SIGKILL');
      await gate.ended;
      hangUp();
      return liteDoor(options);
    },
    stop() {
      hangUp();
      return commands.stop();
    },
  };
}

/** Both editions, each with how long a start may take. */
export const MCP_DOORS = [
  ['the full stack', stackDoor, STACK_START_LIMIT_MS],
  ['lite', liteDoor, 120_000],
] as const;
