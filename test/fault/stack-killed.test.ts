import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import type { Reply } from '../support/agent.js';
import { until } from '../support/kill-host-driver.js';
import { seededRandom } from '../support/random.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { timePasses } from '../support/waiting.js';

/** The tools stand outside and outlive every stack, so that what they did can be counted. */
let tools: DemoUpstream;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-killed-'));
  tools = await startDemoUpstream({
    dataDir: join(folder, 'tools'),
    port: 0,
    host: '127.0.0.1',
    allowedHosts: [],
    sse: true,
  });
});
afterAll(async () => {
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

const CALLERS = 6;
const ROUNDS = 2;
/** The order of a call's rows (docs/architecture/ledger-rows.md#event-kinds); which of them there are depends on how the call went. */
const ORDER = [
  'proxy.verdict',
  'brain.inspection',
  'policy.evaluated',
  'hil.created',
  'hil.approved',
  'hil.denied',
  'hil.expired',
  'upstream.outcome',
  'call.abandoned',
];

/** A call whose caller was gone before a worker came to it is closed: it must not run later. */
const LATE = /"error":"(call_abandoned|attempt_not_begun)"/;
/** Of a call nobody had heard of: whether it ran is not known, or it surely did not, or it runs now, once. */
const FITTING: Readonly<Record<string, readonly number[]>> = {
  write_file: [200, 409, 502],
  delete_file: [403],
  wire_transfer: [202],
};
const LAST: Readonly<Record<string, string>> = {
  write_file: 'upstream.outcome',
  delete_file: 'policy.evaluated',
  wire_transfer: 'hil.created',
};

interface Call {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly idempotencyId: string;
  /** What the caller was told before the stack died; `null` where it heard nothing. */
  told: Reply | null;
}

const startGate = () =>
  startStack({
    stateDir: join(folder, 'state'),
    env: { GATE_UPSTREAM_URL: tools.url, GATE_UPSTREAM_NAME: 'demo', GATE_VELOCITY_LIMIT: '0' },
  });

/** kill -9 of the process that hosts every service and of the engine, at once. */
async function killAll(gate: TestStack): Promise<void> {
  const file = readFileSync(join(gate.stateDir, 'run', 'temporal.pid'), 'utf8');
  const engine = file.startsWith('{') ? (JSON.parse(file) as { pid: number }).pid : Number(file);
  const ended = new Promise((resolve) => gate.process.once('exit', resolve));
  process.kill(engine, 'SIGKILL');
  gate.process.kill('SIGKILL');
  await ended;
  await gate.stop();
}

it(
  'kill -9 of the whole stack at random moments under load: every acknowledged answer stands, nothing ran twice, the chain holds every row once and in order',
  async () => {
    const { next: random, pick } = seededRandom('kill -9 of the stack');
    const calls: Call[] = [];
    let gate = await startGate();
    for (let round = 0; round < ROUNDS; round += 1) {
      const agent = await gate.agent();
      let going = true;
      let answered = 0;
      const callers = Array.from({ length: CALLERS }, async () => {
        while (going) {
          const path = `file-${calls.length}.txt`;
          const [tool, args] = pick<[string, JsonObject]>([
            ['write_file', { path, content: 'once' }],
            ['write_file', { path, content: 'once' }],
            ['delete_file', { path }],
            ['wire_transfer', { from: 'operating', to: 'vendor', amount: 1 }],
          ]);
          const call: Call = { tool, arguments: args, idempotencyId: randomUUID(), told: null };
          calls.push(call);
          call.told = await agent.call(tool, args, { idempotencyId: call.idempotencyId }).catch(() => null);
          if (!call.told) return;
          answered += 1;
        }
      });
      await until(
        'enough calls were answered',
        () => Promise.resolve(answered),
        (count) => count >= 20,
      );
      await timePasses(random() * 500, 'the kill comes at any moment');
      const killed = killAll(gate);
      going = false;
      await Promise.all([killed, ...callers]);
      gate = await startGate();
    }

    const agent = await gate.agent();
    const runs = (path: unknown) =>
      tools.state().effects.filter(({ tool, arguments: args }) => tool === 'write_file' && args['path'] === path)
        .length;
    for (const call of calls) {
      const again = await until(
        `${call.tool} ${call.idempotencyId} is answered`,
        () => agent.call(call.tool, call.arguments, { idempotencyId: call.idempotencyId }),
        (reply) => reply.status !== 503 || LATE.test(reply.text),
      );
      const late = again.status === 503;
      if (call.told && call.told.status !== 503)
        expect([again.status, again.text]).toEqual([call.told.status, call.told.text]);
      else if (!late) expect(FITTING[call.tool]).toContain(again.status);
      if (call.tool === 'write_file') {
        const times = runs(call.arguments['path']);
        expect(again.status === 200 ? [1] : late ? [0] : [0, 1]).toContain(times);
      }

      const last = again.text.includes('call_abandoned')
        ? 'call.abandoned'
        : late
          ? 'upstream.outcome'
          : LAST[call.tool];
      const kinds = await until(
        `the rows of ${again.correlationId}`,
        async () => (await gate.rows(again.correlationId)).map((row) => String(row.event_kind)),
        (found) => found.includes(String(last)),
      );
      expect(new Set(kinds).size).toBe(kinds.length);
      expect(kinds).toEqual(ORDER.filter((kind) => kinds.includes(kind)));
    }
    expect(tools.state().counts['delete_file'] ?? 0).toBe(0);
    expect(await gate.verify()).toMatchObject({ valid: true, first_invalid_seq: null });
    await gate.stop();
  },
  STACK_START_LIMIT_MS,
);
