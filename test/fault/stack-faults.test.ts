import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { Reply } from '../support/agent.js';
import { needs } from '../support/needs.js';
import { type MortalPostgres, startMortalPostgres } from '../support/postgres.js';
import { canMountSmall, mountSmall, unmount } from '../support/small-disk.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually, timePasses } from '../support/waiting.js';

/** What goes wrong around the full edition, one stack for each place where its stores are. */
jest.setTimeout(120_000);

const HOUR = 3_600_000;
const TIMEOUT_SECS = 3;

let folder: string;
let tools: DemoUpstream;
let gate: TestStack;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-faults-'));
  tools = await openTools();
});
afterAll(async () => {
  await gate?.stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

const openTools = (port = 0) =>
  startDemoUpstream({ dataDir: join(folder, 'tools'), port, host: '127.0.0.1', sse: true });
/** How often the tools ran one. */
const ran = (tool: string): number => tools.state().counts[tool] ?? 0;
const start = async (env: Record<string, string>, stateDir = join(folder, 'state')): Promise<void> => {
  gate = await startStack({
    stateDir,
    quiet: false,
    env: {
      GATE_UPSTREAM_URL: tools.url,
      GATE_UPSTREAM_NAME: 'demo',
      GATE_VELOCITY_LIMIT: '0',
      GATE_UPSTREAM_TIMEOUT_SECS: String(TIMEOUT_SECS),
      ...env,
    },
  });
};
const read = async (idempotencyId: string = randomUUID()): Promise<Reply> =>
  (await gate.agent()).call('list_files', {}, { idempotencyId });
const TRANSFER = { from: 'operating', to: 'vendor', amount: 3 };
const park = async (idempotencyId: string = randomUUID()): Promise<Reply> => {
  const reply = await (await gate.agent()).call('wire_transfer', TRANSFER, { idempotencyId });
  expect(reply.status).toBe(202);
  return reply;
};
const readyz = async (): Promise<string> => {
  const { status, text } = await gate.health('proxy', '/readyz');
  return `${status} ${text}`;
};
const served = () =>
  eventually('calls are answered again', async () => {
    await timePasses(500, 'fewer than the velocity limit');
    return (await read().catch(() => null))?.status === 200;
  });
const ended = () =>
  new Promise<number | NodeJS.Signals | null>((resolve) =>
    gate.process.once('exit', (code, signal) => resolve(code ?? signal)),
  );
describe('stores on Postgres', () => {
  let postgres: MortalPostgres;
  let clock: string;
  const jump = async (ms: number) => {
    writeFileSync(clock, String(ms));
    await timePasses(100, 'the process reads its clock from the file');
    // A clock that jumps ahead looks like a machine that slept: what was heard of revocations is too old until the next answer, half a second at most.
    await eventually('revocations are known by this clock', async () =>
      (await readyz()).includes('"revocations":"ok"'),
    );
  };
  beforeAll(async () => {
    postgres = await startMortalPostgres();
    clock = join(folder, 'clock');
    writeFileSync(clock, '0');
    await start({
      GATE_DATABASE_URL: postgres.url,
      GATE_TEST_CLOCK_FILE: clock,
      NODE_OPTIONS: `--import ${pathToFileURL(join(PROJECT_ROOT, 'test', 'support', 'clock-offset.mjs')).href}`,
      GATE_VELOCITY_LIMIT: '60',
    });
  }, STACK_START_LIMIT_MS);
  afterAll(() => postgres?.stop(), 60_000);

  it('an upstream that is slow is waited for; one that hangs is uncertain after its limit, and never asked again', async () => {
    const agent = await gate.agent();
    expect((await agent.call('slow_task', { seconds: 1 })).status).toBe(200);
    const idempotencyId = randomUUID();
    const from = performance.now();
    const first = await agent.call('slow_task', { seconds: 30 }, { idempotencyId });
    expect(first.status).toBe(409);
    expect(performance.now() - from).toBeLessThan((TIMEOUT_SECS + 8) * 1_000);
    const again = await agent.call('slow_task', { seconds: 30 }, { idempotencyId });
    expect(again.status).toBe(409);
    await gate.kinds(first.correlationId, 'upstream.outcome');
    expect((await read()).status).toBe(200);
  });

  it('Postgres away: nothing runs, readiness names the store; back: calls, parked ones and the chain go on', async () => {
    const parkedId = randomUUID();
    const parked = await park(parkedId);
    const before = ran('list_files');
    await postgres.kill();
    const refused = await Promise.all(Array.from({ length: 4 }, () => read().catch(() => null)));
    for (const reply of refused) expect(reply?.status).toBe(503);
    expect(ran('list_files')).toBe(before);
    expect(await readyz()).toMatch(/^503 .*"call_store":"failed"/);
    await postgres.restart();
    await served();
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect(await gate.verify()).toMatchObject({ valid: true });
    await eventually('readiness', async () => (await readyz()).startsWith('200'));
  });

  it('a clock an hour ahead and back again: calls are judged, nothing is frozen, nothing runs that must not', async () => {
    const parkedId = randomUUID();
    const parked = await park(parkedId);
    const before = ran('list_files');
    const transfers = ran('wire_transfer');
    await jump(HOUR);
    expect((await read()).status).toBe(200);
    // Its time to be decided is over by this clock, and by that of the database it is not: no approval, no effect, and no end of its wait.
    const decided = await gate.operator.decide(parked.correlationId, 'approve');
    expect(decided).toMatchObject({ status: 409, body: { error: 'clocks_apart', status: 'pending' } });
    // The window is filled by the clock that is ahead ...
    const agent = await gate.agent('runaway');
    // Sixty within a minute; a slow machine needs more than a minute for them.
    await eventually('the window is full', async () => {
      const some = await Promise.all(Array.from({ length: 20 }, () => agent.call('delete_file', { path: 'x' })));
      return some.some(({ status }) => status === 429);
    });
    await jump(0);
    // It waited through the hour that never was, and is decided like any other.
    expect((await gate.operator.decide(parked.correlationId, 'deny')).status).toBe(200);
    expect(await (await gate.agent()).call('wire_transfer', TRANSFER, { idempotencyId: parkedId })).toMatchObject({
      status: 403,
      body: { error: 'review_denied' },
    });
    expect(await gate.kinds(parked.correlationId, 'hil.denied')).toContain('hil.created');
    // ... and does not hold the agent up for the hour to come.
    expect((await agent.call('delete_file', { path: 'x' })).status).toBe(403);
    expect((await read()).status).toBe(200);
    expect(ran('list_files')).toBe(before + 2);
    expect(ran('wire_transfer')).toBe(transfers);
    expect(await gate.verify()).toMatchObject({ valid: true });
  });

  it('a clock an hour behind and back again: the same', async () => {
    const before = ran('list_files');
    const transfers = ran('wire_transfer');
    const parked = await park();
    await jump(-HOUR);
    expect((await read()).status).toBe(200);
    const late = await park();
    await jump(0);
    expect((await read()).status).toBe(200);
    // Its deadline is the engine's, whose clock stood right: it is neither gone nor an hour away.
    expect((await gate.operator.decide(late.correlationId, 'deny')).status).toBe(200);
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect(ran('list_files')).toBe(before + 2);
    expect(ran('wire_transfer')).toBe(transfers + 1);
    expect(await gate.verify()).toMatchObject({ valid: true });
  });

  it('an upstream that is away was surely not reached: 502, and the same answer when it is back', async () => {
    const id = randomUUID();
    const { port } = new URL(tools.url);
    await tools.close();
    const first = await read(id);
    expect(first.status).toBe(502);
    tools = await openTools(Number(port));
    const again = await read(id);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    expect((await read()).status).toBe(200);
  });

  it('a stop while Postgres is away ends with its last word, in bounded time', async () => {
    await postgres.kill();
    const from = performance.now();
    const gone = ended();
    gate.process.kill('SIGTERM');
    expect(await gone).toBe(0);
    expect(performance.now() - from).toBeLessThan(45_000);
    expect(gate.output()).toMatch(/stopped; parked calls stay parked until the next start\n$/);
    await postgres.restart();
  });
});

const mountable = canMountSmall();

(mountable ? describe : describe.skip)(`stores on a disk${needs('small-disk', mountable)}`, () => {
  let stateDir: string;
  const ballast = () => join(stateDir, 'ballast');
  /**
   * Writes until nothing more fits. The stack writes to the same disk meanwhile, so the space that is left
   * is asked for by writing alone, in pieces that become smaller: down to the last page.
   */
  const fill = () => {
    mkdirSync(ballast());
    for (const [name, size] of [
      ['large', 1 << 20],
      ['small', 1 << 12],
    ] as const)
      for (let at = 0; ; at += 1)
        try {
          writeFileSync(join(ballast(), `${name}-${at}`), Buffer.alloc(size));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          break;
        }
  };
  beforeAll(async () => {
    stateDir = join(folder, 'disk');
    mkdirSync(stateDir, { recursive: true });
    mountSmall(stateDir, '64m');
    await start({}, stateDir);
  }, STACK_START_LIMIT_MS);
  afterAll(async () => {
    await gate?.stop();
    unmount(stateDir);
  }, 60_000);

  it('that is full: nothing is let through that cannot be recorded; with room again everything goes on', async () => {
    const parked = await park();
    const before = ran('list_files');
    fill();
    const replies = await Promise.all(Array.from({ length: 8 }, () => read().catch(() => null)));
    const allowed = replies.filter((reply) => reply?.status === 200).length;
    expect(ran('list_files') - before).toBe(allowed);
    expect(replies.filter((reply) => reply?.status === 503).length).toBeGreaterThan(0);
    await eventually('a sentence of it', () => Promise.resolve(gate.output().includes('gate: the disk is full: ')));
    rmSync(ballast(), { recursive: true });
    await served();
    await eventually('another', () => Promise.resolve(gate.output().includes('gate: the disk takes writes again ')));
    expect(
      gate
        .output()
        .split('\n')
        .filter((line) => /^\{|^ +at /.test(line)),
    ).toEqual([]);
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect(await gate.verify()).toMatchObject({ valid: true });
  });
});
