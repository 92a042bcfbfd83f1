import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';

jest.setTimeout(120_000);

/**
 * A state folder as `gate start` of commit 6ed2d2c left it: a call that ran, a denied one, one that was approved and ran, and three that wait.
 * Before reviews were bound to definitions, before records had a MAC, identity a store, and policies one. Its limit on how long a call waits was
 * raised to nine years for it, because engine and services go by the clock of the machine; it ends, with its certificate authority, in 2035.
 * What was written of addresses, logs and running processes is not in it; the engine's file is.
 */
const FOLDER = 'state-2026-11-21.tar.gz';
const ROWS = 25;

describe(`a state folder of an earlier version: ${FOLDER}`, () => {
  let stateDir: string;
  let gate: TestStack;
  let waiting: readonly PendingRequest[];
  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'gate-older-state-'));
    await promisify(execFile)('tar', ['-xzf', join(PROJECT_ROOT, 'test', 'older', FOLDER), '-C', stateDir]);
    gate = await startStack({ stateDir });
    waiting = await gate.operator.pending();
  }, STACK_START_LIMIT_MS);
  afterAll(async () => {
    await gate?.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  it('lists what waits in it, with its arguments', async () => {
    const shown = await Promise.all(waiting.map(({ correlation_id: id }) => gate.operator.rowOf(id)));
    expect(shown.map(({ request_payload: request }) => request).toReversed()).toMatchObject(
      [1, 2, 3].map((amount) => ({ params: { name: 'wire_transfer', arguments: { amount } } })),
    );
  });

  it('runs each of them once, when it is approved', async () => {
    for (const { correlation_id: id } of waiting.slice(1)) {
      expect(await gate.operator.decide(id, 'approve')).toMatchObject({ status: 200 });
      await gate.kinds(id, 'upstream.outcome');
      const outcome = (await gate.rows(id)).find(({ event_kind: kind }) => kind === 'upstream.outcome');
      expect(outcome?.policy_decision).toMatchObject({ stage: 'completed', status_code: 200 });
    }
    // Two here, and one at the Gate that made it.
    expect((await gate.tools()).counts['wire_transfer']).toBe(3);
  });

  it('runs none that is denied', async () => {
    const [{ correlation_id: id } = { correlation_id: '' }] = waiting;
    expect(await gate.operator.decide(id, 'deny')).toMatchObject({ status: 200 });
    expect(await gate.kinds(id, 'hil.denied')).not.toContain('upstream.outcome');
    expect(await gate.operator.pending()).toEqual([]);
    expect((await gate.tools()).counts['wire_transfer']).toBe(3);
  });

  it('serves agents as before, over one chain of old rows and new ones', async () => {
    const agent = await gate.agent('newer-bot');
    expect(await agent.call('list_files')).toMatchObject({ status: 200 });
    const walked = await gate.verify();
    expect(walked).toMatchObject({ valid: true, first_invalid_seq: null });
    expect(walked.entries_checked).toBeGreaterThan(ROWS + 5);
  });
});
