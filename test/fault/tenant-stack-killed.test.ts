import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { TenantOperation } from '../../contracts/tenant-lifecycle.js';
import { commandLine } from '../support/command.js';
import { seededRandom } from '../support/random.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { timePasses } from '../support/waiting.js';

const KILLS = 4;
/** A lease of which nobody said anything, and the pauses between attempts. */
const END_LIMIT_MS = 180_000;
let folder: string;
let gate: TestStack;
const line = commandLine(() => folder);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-tenant-killed-'));
  gate = await startStack({ stateDir: folder });
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await line.stop();
  await gate?.stop();
  await rm(folder, { recursive: true, force: true });
}, 150_000);

/** kill -9 of the process that hosts every service and of the engine, at once. */
async function killAll(): Promise<void> {
  const file = readFileSync(join(folder, 'run', 'temporal.pid'), 'utf8');
  const engine = file.startsWith('{') ? (JSON.parse(file) as { pid: number }).pid : Number(file);
  const ended = new Promise((resolve) => gate.process.once('exit', resolve));
  process.kill(engine, 'SIGKILL');
  gate.process.kill('SIGKILL');
  await ended;
  await gate.stop();
}
const typed = (...args: string[]) => line.done(args, { GATE_STATE_DIR: folder });
async function status(): Promise<TenantOperation> {
  const { code, out } = await typed('tenant', 'status', 'acme', '--json');
  const [operation] = code === 0 ? (JSON.parse(out) as TenantOperation[]) : [];
  if (!operation) throw new Error(`gate tenant status ended with ${code}: ${out}`);
  return operation;
}

it('kill -9 of every service and of the engine at once, again and again: the tenant has gone whole, and the command shows it when it is typed again', async () => {
  const { next: random } = seededRandom('kill -9 of the stack while a tenant goes');
  const agent = await gate.agent('dispatch-bot');
  expect((await agent.call('write_file', { path: 'notes.txt', content: 'once' })).status).toBe(200);
  const offboard = ['tenant', 'offboard', 'acme', '--confirm', 'acme', '--reason', 'the contract ended'];
  expect((await typed(...offboard, '--no-wait')).code).toBe(0);
  const { id } = await status();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await timePasses(random() * 1_500, 'the kill comes at any moment');
    await killAll();
    gate = await startStack({ stateDir: folder });
  }
  const deadline = Date.now() + END_LIMIT_MS;
  let operation = await status();
  while (operation.state !== 'succeeded') {
    if (Date.now() > deadline) throw new Error(`it did not end: ${JSON.stringify(operation.steps)}`);
    if (operation.state === 'manual_recovery') await typed('tenant', 'retry', 'acme', '--no-wait');
    await timePasses(500, 'until the next look');
    operation = await status();
  }
  expect(operation.id).toBe(id);
  expect(operation.steps.every(({ state, receipt_sha256: receipt }) => state === 'succeeded' && receipt !== null)).toBe(
    true,
  );
  expect((await typed(...offboard)).out).toContain('offboard acme: done');
  expect((await gate.verify()).valid).toBe(true);
  const after = await (await gate.agent('another-bot')).call('write_file', { path: 'notes.txt', content: 'twice' });
  expect([after.status, after.body['error']]).toEqual([403, 'tenant_decommissioned']);
  expect((await gate.tools()).counts['write_file']).toBe(1);
}, 600_000);
