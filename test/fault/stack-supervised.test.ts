import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type DemoUpstream, startDemoUpstream } from '../../demo/upstream/server.js';
import { FREE_PORTS } from '../../stack/process-settings.js';
import { freePort } from '../../stack/programs/free-port.js';
import { findTemporal } from '../../stack/programs/find-program.js';
import type { Reply } from '../support/agent.js';
import { until } from '../support/kill-host-driver.js';
import { bareEnvironment, GATE_PROGRAM, STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually, timePasses } from '../support/waiting.js';

jest.setTimeout(120_000);

/** The tools stand outside and outlive every stack, so that what they did can be counted. */
let tools: DemoUpstream;
let folder: string;
/** While this file is there the engine ends as soon as it is started. */
let broken: string;
let program: string;
let enginePorts: [number, number];
let gate: TestStack;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-supervised-'));
  tools = await startDemoUpstream({ dataDir: join(folder, 'tools'), port: 0, host: '127.0.0.1', sse: true });
  enginePorts = [await freePort(), await freePort()];
  broken = join(folder, 'broken');
  program = join(folder, 'temporal');
  const real = await findTemporal({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = server ] && [ -e '${broken}' ]; then echo 'error: the disk is full' >&2; exit 3; fi\nexec '${real}' "$@"\n`,
  );
  chmodSync(program, 0o755);
}, STACK_START_LIMIT_MS);
afterEach(() => rmSync(broken, { force: true }));
afterAll(async () => {
  await gate?.stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** Of a start over a folder that is there, on a machine that does nothing else. */
const QUIET_START_MS = 6_000;
let startTookMs = 0;
const start = async (): Promise<TestStack> => {
  const from = Date.now();
  gate = await startStack({
    stateDir: join(folder, 'state'),
    quiet: false,
    env: {
      GATE_TEMPORAL_BIN: program,
      // An engine is adopted by the arguments it was started with.
      GATE_TEMPORAL_PORT: String(enginePorts[0]),
      GATE_TEMPORAL_UI_PORT: String(enginePorts[1]),
      GATE_UPSTREAM_URL: tools.url,
      GATE_UPSTREAM_NAME: 'demo',
      GATE_VELOCITY_LIMIT: '0',
      GATE_UPSTREAM_TIMEOUT_SECS: '4',
    },
  });
  startTookMs = Date.now() - from;
  return gate;
};
const enginePid = (): number =>
  (JSON.parse(readFileSync(join(folder, 'state', 'run', 'temporal.pid'), 'utf8')) as { pid: number }).pid;
const runs = (pid: number): boolean => {
  try {
    // Ended and not yet waited for by its parent is ended.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
/** What was said on the terminal about the engine since this many characters. */
const saidSince = (from: number): string[] =>
  gate
    .output()
    .slice(from)
    .split('\n')
    .filter((line) => line.trim() !== '');
const timed = async (work: Promise<Reply>): Promise<{ reply: Reply; ms: number }> => {
  const from = Date.now();
  const reply = await work;
  return { reply, ms: Date.now() - from };
};
const write = async (path: string, idempotencyId: string = randomUUID()) =>
  (await gate.agent()).call('write_file', { path, content: 'once' }, { idempotencyId });
const executed = (path: string): number =>
  tools.state().effects.filter(({ tool, arguments: args }) => tool === 'write_file' && args['path'] === path).length;
/** Nothing was executed, and nothing ever is under this id. */
const USED_UP = /"error":"(call_abandoned|attempt_not_begun)"/;
const ready = async () => (await gate.health('proxy', '/readyz')).status === 200;
const ended = () =>
  new Promise<number | NodeJS.Signals | null>((resolve) => {
    if (gate.process.exitCode !== null) resolve(gate.process.exitCode);
    gate.process.once('exit', (code, signal) => resolve(code ?? signal));
  });

describe('an engine that is killed while Gate lives', () => {
  beforeAll(() => start(), STACK_START_LIMIT_MS);

  it('under load, twice: no effect twice, none lost, every id gets one answer, parked calls can be decided', async () => {
    const agent = await gate.agent();
    const parkedId = randomUUID();
    const transfer = { from: 'operating', to: 'vendor', amount: 9 };
    const parked = await agent.call('wire_transfer', transfer, { idempotencyId: parkedId });
    expect(parked.status).toBe(202);

    const calls: { path: string; id: string; told: Reply | null }[] = [];
    let going = true;
    const callers = Array.from({ length: 6 }, async () => {
      while (going) {
        const call: (typeof calls)[number] = { path: `under-load-${calls.length}`, id: randomUUID(), told: null };
        calls.push(call);
        call.told = await write(call.path, call.id).catch(() => null);
        // Every refused id is asked once more at the end, and an outage lasts for seconds.
        if (call.told?.status === 503) await timePasses(500, 'a caller that tries again');
      }
    });
    const before = gate.output().length;
    for (let round = 0; round < 2; round += 1) {
      const answered = calls.filter(({ told }) => told?.status === 200).length;
      await eventually(
        'calls are answered',
        () => calls.filter(({ told }) => told?.status === 200).length > answered + 10,
      );
      const old = enginePid();
      const killedMs = Date.now();
      process.kill(old, 'SIGKILL');
      await eventually(
        'another engine',
        () => existsSync(join(folder, 'state', 'run', 'temporal.pid')) && enginePid() !== old,
      );
      await until(
        'a new call is answered',
        () => write(`after-${round}`),
        ({ status }) => status === 200,
      );
      expect(Date.now() - killedMs).toBeLessThan(15_000);
    }
    going = false;
    await Promise.all(callers);

    for (const { path, id, told } of calls) {
      const again = await until(
        `${path} is answered`,
        () => write(path, id),
        (reply) => reply.status !== 503 || USED_UP.test(reply.text),
      );
      if (told && told.status !== 503) expect([again.status, again.text]).toEqual([told.status, told.text]);
      expect({ path, times: executed(path), status: again.status }).toEqual({
        path,
        status: again.status,
        times: again.status === 200 ? 1 : again.status === 503 ? 0 : expect.any(Number),
      });
      expect(executed(path)).toBeLessThanOrEqual(1);
    }
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    await gate.kinds(parked.correlationId, 'upstream.outcome');
    expect((await agent.call('wire_transfer', transfer, { idempotencyId: parkedId })).status).toBe(200);
    expect(await gate.verify()).toMatchObject({ valid: true });

    expect(saidSince(before).map((line) => line.replace(/\d+\.\d s/, 'N s'))).toEqual(
      [1, 2].flatMap(() => [
        '  the workflow engine ended (SIGKILL); it is started again, and calls are answered 503 until it is back',
        '  the workflow engine is back after N s; calls go on',
      ]),
    );
  });

  it('and does not answer: calls are refused within a second and told when to ask again, readiness names it', async () => {
    const before = gate.output().length;
    process.kill(enginePid(), 'SIGSTOP');
    await eventually('readiness names it', async () => {
      const { status, text } = await gate.health('proxy', '/readyz');
      return status === 503 && text.includes('the workflow engine is away (it does not answer in time)');
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => timed(write('while-it-hangs'))));
    const parked = await timed(gate.operator.request('GET', '/pending?status=pending'));
    process.kill(enginePid(), 'SIGCONT');
    for (const { reply, ms } of answers) {
      expect(ms).toBeLessThan(1_000);
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
      expect(JSON.parse(reply.text)).toMatchObject({ error: 'pipeline_unavailable', layer: 'engine' });
    }
    expect(parked.reply.status).toBe(200);
    await eventually('readiness', ready);
    expect(executed('while-it-hangs')).toBe(0);
    expect((await write('after-it-hung')).status).toBe(200);
    expect(saidSince(before).length).toBeLessThanOrEqual(2);
  });

  it('and stops answering with calls under way: they are told as soon as it is known, and their ids say what became of them', async () => {
    const calls = Array.from({ length: 8 }, (_, index) => ({ path: `handed-over-${index}`, id: randomUUID() }));
    const agent = await gate.agent();
    const slow = { tool: 'slow_task', arguments: { seconds: 2 }, id: randomUUID() };
    const ran = () => tools.state().counts[slow.tool] ?? 0;
    const ranBefore = ran();
    const askSlow = () => agent.call(slow.tool, slow.arguments, { idempotencyId: slow.id });
    const atTheTool = askSlow();
    await eventually('one has reached its tool', () => ran() > ranBefore);
    process.kill(enginePid(), 'SIGSTOP');
    let answers: readonly Awaited<ReturnType<typeof timed>>[];
    try {
      answers = await Promise.all(calls.map(({ path, id }) => timed(write(path, id))));
      // What ran is not hidden by an answer that left early: its record tells, also while the engine hangs. Where the record has its end by
      // then, that is the answer.
      expect([200, 503]).toContain((await atTheTool).status);
      expect([(await askSlow()).status, ran()]).toEqual([200, ranBefore + 1]);
    } finally {
      process.kill(enginePid(), 'SIGCONT');
    }
    for (const { reply, ms } of answers) {
      // Under two seconds on a quiet machine (workers/circuit.test.ts); one that is busy is given up to four, and a beat.
      expect(ms).toBeLessThan(5_000);
      expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } });
      expect(JSON.parse(reply.text)).toMatchObject({ error: 'pipeline_unavailable', layer: 'engine' });
      expect(reply.text).toContain('call_abandoned');
    }
    await eventually('readiness', ready);
    for (const { path, id } of calls) {
      const again = await until(
        `${path} is answered`,
        () => write(path, id),
        (reply) => reply.status !== 503 || USED_UP.test(reply.text),
      );
      expect({ path, times: executed(path) }).toEqual({ path, times: again.status === 200 ? 1 : 0 });
    }
  });

  it('and that an earlier Gate had left behind: adopted, and kept up as well', async () => {
    const engine = enginePid();
    const gone = ended();
    gate.process.kill('SIGKILL');
    await gone;
    await gate.stop();
    await start();
    expect(enginePid()).toBe(engine);
    process.kill(engine, 'SIGKILL');
    await eventually('readiness names it', async () => {
      const { status, text } = await gate.health('proxy', '/readyz');
      return status === 503 && /orchestrator":"failed/.test(text);
    });
    await eventually('readiness', ready);
    expect((await write('after-adoption')).status).toBe(200);
  });
});

describe('a stop', () => {
  const LAST_WORD = /stopped; parked calls stay parked until the next start\n$/;
  const upAgain = async () => {
    await gate?.stop();
    await start();
  };
  /** It ends tidily and in time, measured by what a start takes on this machine as it is now. */
  async function stopped(signal: NodeJS.Signals, withinMs: number): Promise<void> {
    const engine = enginePid();
    const gone = ended();
    const from = Date.now();
    gate.process.kill(signal);
    expect({ code: await gone, output: gate.output() }).toMatchObject({ code: 0 });
    expect(Date.now() - from).toBeLessThan(withinMs * Math.max(1, startTookMs / QUIET_START_MS));
    expect(gate.output()).not.toMatch(/Error|uncaught|shut down/);
    expect(runs(engine)).toBe(false);
    expect(existsSync(join(folder, 'state', 'run', 'gate.pid'))).toBe(false);
  }

  it('while the engine is being started again, with calls under way: exit code 0 and the last word', async () => {
    if (gate?.process.exitCode !== null) await upAgain();
    writeFileSync(broken, '');
    const lost = Array.from({ length: 4 }, (_, index) => write(`at-the-stop-${index}`).catch(() => null));
    process.kill(enginePid(), 'SIGKILL');
    await eventually('it is known', () => /ended \(SIGKILL\); it is started again/.test(gate.output()));
    void gate.health('proxy', '/readyz').catch(() => null);
    await stopped('SIGTERM', 30_000);
    expect(gate.output()).toMatch(LAST_WORD);
    await Promise.all(lost);
    for (const index of [0, 1, 2, 3]) expect(executed(`at-the-stop-${index}`)).toBeLessThanOrEqual(1);
  });

  it.each([
    ['that has just begun to hang', 0],
    ['that is known to hang', 6_000],
  ])('with an engine %s does not wait for it, and says nothing of it any more', async (_which, afterMs) => {
    await upAgain();
    process.kill(enginePid(), 'SIGSTOP');
    await timePasses(afterMs, 'it is known to hang, or not yet');
    const before = gate.output().length;
    // Some four seconds on a quiet machine; one that waited for the engine would take more than twenty.
    await stopped('SIGTERM', 15_000);
    expect(gate.output()).toMatch(LAST_WORD);
    expect(gate.output().slice(before)).not.toMatch(/engine/);
  });

  it('while a tool hangs waits for it as long as the call may take; one Ctrl-C that npm hands on as well is one', async () => {
    await upAgain();
    const agent = await gate.agent();
    const hanging = agent.call('slow_task', { seconds: 30 }).catch(() => null);
    await eventually('it is under way', async () =>
      /in_flight\S* 1/.test((await gate.health('proxy', '/metrics')).text),
    );
    gate.process.kill('SIGINT');
    await stopped('SIGINT', 20_000);
    expect(gate.output()).toMatch(LAST_WORD);
    expect((await hanging)?.status).toBe(409);
  });

  it('asked for twice waits for nothing, and leaves no engine behind', async () => {
    await upAgain();
    const hanging = (await gate.agent()).call('slow_task', { seconds: 30 }).catch(() => null);
    await eventually('it is under way', async () =>
      /in_flight\S* 1/.test((await gate.health('proxy', '/metrics')).text),
    );
    setTimeout(() => gate.process.kill('SIGINT'), 800);
    await stopped('SIGINT', 3_500);
    expect(gate.output()).toMatch(/stopped at once; .*\n$/);
    await hanging;
  });

  it('at any moment of a start undoes the start: exit code 0, nothing left behind', async () => {
    for (const afterMs of [300, 1_500, 3_500]) {
      const stateDir = join(folder, `given-up-${afterMs}`);
      const child = spawn(process.execPath, [GATE_PROGRAM, 'start'], {
        env: { ...bareEnvironment(), ...FREE_PORTS, GATE_TEMPORAL_BIN: program, GATE_STATE_DIR: stateDir },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const gone = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
      // The program is read before it can listen to anything; from its first line on it does.
      await eventually('the process runs', () => child.pid);
      await timePasses(afterMs, 'the stop comes at any moment of the start');
      child.kill('SIGTERM');
      const code = await gone;
      if (afterMs > 300 || output !== '') expect({ code, output }).toMatchObject({ code: 0 });
      for (const file of ['gate.pid', 'temporal.pid']) expect(existsSync(join(stateDir, 'run', file))).toBe(false);
    }
  });

  it('of an engine that cannot be kept up is Gate’s own, with the reason and exit code 1', async () => {
    await upAgain();
    const gone = ended();
    writeFileSync(broken, '');
    process.kill(enginePid(), 'SIGKILL');
    expect(await gone).toBe(1);
    expect(gate.output()).toMatch(
      /gate: the workflow engine cannot be kept up: it ended 5 times within 60 s, at last with: .*the disk is full/,
    );
    expect(existsSync(join(folder, 'state', 'run', 'gate.pid'))).toBe(false);
  });
});
