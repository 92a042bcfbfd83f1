import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { callMigrations } from '../../migrations/calls.js';
import { batchRequest, callsOf } from '../../test/support/batch-request.js';
import { callInput } from '../../test/support/call-input.js';
import { writeMigrated, writeMigratedTogether } from '../../test/support/migrated-file.js';
import { decisionOf } from '../../test/support/judgements.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { openLocalFile } from '../store/local-file.js';
import { callStoreInFile, openCallStore } from './call-store.js';
import { keptCalls } from '../../domain/call/kept-calls.js';
import { NotAsStaged, type VerdictEvidence } from '../../domain/call/record.js';
import type { CallStore } from '../../domain/call/ports.js';

const keys = keyRing(new Map([['k', Buffer.alloc(32, 'k')]]));
let clock = 1_000_000;
const now = () => (clock += 1);
const NO_LIMIT = { limit: 0, windowMs: 60_000 };

const call = (overrides: Partial<CallInput> = {}): CallInput =>
  callInput(now(), { digest: 'sha256:a', recent_request_count: 0, ...overrides });
const evidence = (of: CallInput): VerdictEvidence => ({
  call: of,
  verdict: null,
  inspection: null,
  inspection_failure: null,
  policy_failure: null,
  decision: null,
  facts: null,
  params_sha256: 'a'.repeat(64),
  callback_url: null,
});
const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file', arguments: { path: 'a' } } };
const staged = { body, callback_url: null };
const IN_ONE_FILE = { calls: callMigrations };

/** The same whether every look goes to the store or memory keeps what is under way, and also after a restart, which keeps nothing. */
describe.each([
  [
    'openCallStore',
    (file: string) => writeMigrated(file, callMigrations),
    async (file: string) => openCallStore({ target: { file }, keys, now }),
  ],
  [
    'callStoreInFile',
    (file: string) => writeMigratedTogether(file, IN_ONE_FILE),
    async (file: string): Promise<CallStore> => {
      const opened = await openLocalFile({ file, migrations: IN_ONE_FILE });
      const store = callStoreInFile(opened, { keys, now });
      return {
        ...store,
        async close() {
          await store.close();
          await opened.close();
        },
      };
    },
  ],
] as const)('the call record, %s', (_name, migrated, openStore) => {
  let folder: string;
  let store: CallStore;
  const reopen = async () => {
    await store.close();
    store = await openStore(join(folder, 'calls.db'));
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-calls-'));
    await migrated(join(folder, 'calls.db'));
    store = await openStore(join(folder, 'calls.db'));
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const admitted = async (overrides: Partial<CallInput> = {}) => {
    const made = call(overrides);
    await store.admit(made, staged, NO_LIMIT);
    return made;
  };

  it('stages a request once: another one under the same id is told by its digest', async () => {
    const first = await admitted();
    expect(await store.admit({ ...first, digest: 'sha256:b' }, staged, NO_LIMIT)).toMatchObject({
      admitted: true,
      digest: 'sha256:a',
    });
    await reopen();
    expect(await store.request(first.correlation_id, 'sha256:a')).toEqual(staged);
    expect(await store.request(first.correlation_id, 'sha256:b')).toBeInstanceOf(NotAsStaged);
    expect(await store.request(randomUUID(), 'sha256:a')).toBeNull();
  });

  it('does not count what was counted before the clock was put back an hour', async () => {
    const limit = { limit: 1, windowMs: 60_000 };
    const later = { received_ms: clock + 3_600_000 };
    expect(await store.admit(call(later), staged, limit)).toMatchObject({ admitted: true });
    expect(await store.admit(call(later), staged, limit)).toMatchObject({ admitted: false });
    expect(await store.admit(call(), staged, limit)).toMatchObject({ admitted: true, recent: 1 });
    expect(await store.admit(call(), staged, limit)).toMatchObject({ admitted: false });
  });

  it('counts calls in a sliding window and tells the first refusal from the others', async () => {
    const limit = { limit: 2, windowMs: 60_000 };
    expect(await store.admit(call(), staged, limit)).toMatchObject({ admitted: true, recent: 1 });
    expect(await store.admit(call(), staged, limit)).toMatchObject({ admitted: true, recent: 2 });
    expect(await store.admit(call(), staged, limit)).toMatchObject({
      admitted: false,
      first: true,
      retryAfterSecs: 60,
    });
    expect(await store.admit(call(), staged, limit)).toMatchObject({ admitted: false, first: false });
    expect(await store.admit(call({ received_ms: clock + 60_001 }), staged, limit)).toMatchObject({ admitted: true });
  });

  it('counts each call of a batch, and lets a batch in as a whole or not at all', async () => {
    const start = now();
    const batchAt = (ms: number, size: number) =>
      store.admit(
        call({ received_ms: start + ms, method: 'gate/tools.batch', tool: 'gate/tools.batch' }),
        { body: batchRequest(callsOf('read_file', size)), callback_url: null },
        { limit: 5, windowMs: 60_000 },
      );
    expect(await batchAt(0, 2)).toMatchObject({ admitted: true, recent: 2 });
    expect(await batchAt(10_000, 2)).toMatchObject({ admitted: true, recent: 4 });
    expect(await batchAt(20_000, 2)).toEqual({ admitted: false, retryAfterSecs: 40, first: true });
    expect(await batchAt(20_000, 4)).toEqual({ admitted: false, retryAfterSecs: 50, first: false });
    expect(await batchAt(20_000, 1)).toMatchObject({ admitted: true, recent: 5 });
    expect(await batchAt(300_000, 6)).toMatchObject({ admitted: false, retryAfterSecs: 60 });
    expect(await batchAt(300_000, 5)).toMatchObject({ admitted: true, recent: 5 });
  });

  it('lets the first verdict stand, also after a restart', async () => {
    const made = await admitted();
    expect(await store.commitVerdict('denied', evidence(made))).toMatchObject({ state: 'denied' });
    await reopen();
    expect(await store.commitVerdict('allowed', evidence(made))).toMatchObject({ state: 'denied' });
    expect(await store.find(made.correlation_id)).toMatchObject({ state: 'denied', evidence: { call: made } });
  });

  it('makes each move once, and none that the table does not have or that comes too late', async () => {
    const made = await admitted();
    await store.commitVerdict('allowed', evidence(made));
    expect(await store.move(made.correlation_id, 'claim', { before_ms: clock - 10 })).toMatchObject({ applied: false });
    expect(await store.move(made.correlation_id, 'claim')).toMatchObject({
      applied: true,
      record: { state: 'intended' },
    });
    expect(await store.move(made.correlation_id, 'claim')).toMatchObject({
      applied: false,
      record: { state: 'intended' },
    });
    const outcome = {
      stage: 'completed',
      status_code: 200,
      duration_ms: 1,
      result_sha256: sha256Hex('{"a":1}'),
      error: null,
      at: 'now',
    } as const;
    await store.move(made.correlation_id, 'complete', { outcome, result: Buffer.from('{"a":1}'), counted_ms: clock });
    await reopen();
    expect(await store.find(made.correlation_id)).toMatchObject({ state: 'completed', outcome });
    expect(String(await store.result(made.correlation_id))).toBe('{"a":1}');
    expect(await store.history('acme', 'bot', 0)).toMatchObject({
      last_tool: 'read_file',
      recent_sequence: [{ tool: 'read_file' }],
    });
    expect(await store.history('acme', 'bot', clock)).toEqual({ last_tool: null, recent_sequence: [] });
    await expect(store.move(randomUUID(), 'claim')).rejects.toThrow('no call record');
  });

  it.each([16, 100, 10_000])(
    'keeps a sensitive step behind %s harmless ones, also after a restart',
    async (harmless) => {
      const ran = async (tool: string, sensitive_tools: string[]) => {
        const made = await admitted({ tool, contract: 'gate.decision/v1' });
        await store.commitVerdict('allowed', {
          ...evidence(made),
          decision: { ...decisionOf('green'), sensitive_tools },
        });
      };
      await ran('read_secret', ['read_secret']);
      for (let done = 0; done < harmless; done += 500)
        await Promise.all(
          Array.from({ length: Math.min(500, harmless - done) }, (_, index) => ran(`tool_${done + index}`, [])),
        );
      const steps = async () => (await store.history('acme', 'bot', 0)).sensitive_steps?.map(({ tool }) => tool);
      expect(await steps()).toEqual(['read_secret']);
      await reopen();
      expect(await steps()).toEqual(['read_secret']);
      expect((await store.history('acme', 'bot', 0)).recent_sequence).toHaveLength(16);
    },
    120_000,
  );

  it('tells the same history of an agent to whoever asks all along and to who asks after a restart', async () => {
    for (let step = 0; step < 20; step += 1) {
      const made = await admitted({ contract: 'gate.decision/v1', tool: `tool_${step}` });
      await store.commitVerdict('allowed', evidence(made));
      expect((await store.history('acme', 'bot', 0)).last_tool).toBe(`tool_${step}`);
    }
    const kept = await store.history('acme', 'bot', 0);
    expect(kept.recent_sequence).toHaveLength(16);
    expect(kept.recent_sequence[0]?.tool).toBe('tool_4');
    await reopen();
    expect(await store.history('acme', 'bot', 0)).toEqual(kept);
  });

  it('counts each call of a batch as a step of its own, in its order, for who asks all along and after a restart', async () => {
    const counted = async (tool: string, sibling_tools?: readonly string[]) => {
      const made = await admitted({ contract: 'gate.decision/v1', tool });
      await store.commitVerdict('allowed', { ...evidence(made), ...(sibling_tools && { sibling_tools }) });
    };
    const tools = async () => (await store.history('acme', 'bot', 0)).recent_sequence.map(({ tool }) => tool);
    expect(await tools()).toEqual([]);
    await counted('first');
    await counted('gate/tools.batch', ['read_secret', 'list_files']);
    await counted('last');
    expect(await tools()).toEqual(['first', 'read_secret', 'list_files', 'last']);
    await reopen();
    expect(await tools()).toEqual(['first', 'read_secret', 'list_files', 'last']);
    const many = Array.from({ length: 128 }, (_, index) => `tool_${index}`);
    await counted('gate/tools.batch', many);
    expect(await tools()).toEqual(many.slice(-16));
    await reopen();
    expect(await store.history('acme', 'bot', 0)).toMatchObject({ last_tool: 'tool_127' });
    expect(await tools()).toEqual(many.slice(-16));
  });

  it('counts each call of a batch that was approved', async () => {
    const made = await admitted({ contract: 'gate.decision/v1', tool: 'gate/tools.batch' });
    await store.commitVerdict('decided', { ...evidence(made), sibling_tools: ['a', 'b'] });
    await store.history('acme', 'bot', 0);
    await store.move(made.correlation_id, 'park', { pending_id: 'p', deadline_ms: 9_000_000 });
    await store.move(made.correlation_id, 'approve', { counted_ms: clock });
    expect(await store.history('acme', 'bot', 0)).toMatchObject({
      last_tool: 'b',
      recent_sequence: [{ tool: 'a' }, { tool: 'b' }],
    });
  });

  it('knows which calls are open and which rows are due', async () => {
    const parked = await admitted();
    await store.commitVerdict('decided', evidence(parked));
    await store.move(parked.correlation_id, 'park', { pending_id: 'p', deadline_ms: 9_000_000 });
    const denied = await admitted();
    const record = await store.commitVerdict('denied', evidence(denied));
    const allowed = await admitted({ contract: 'gate.decision/v1' });
    await store.commitVerdict('allowed', evidence(allowed));
    expect(await store.openCalls(clock + 1_000, 10)).toMatchObject([
      { correlation_id: parked.correlation_id, state: 'parked', deadline_ms: 9_000_000 },
    ]);
    expect(await store.rowsDue(clock + 1_000, 10)).toHaveLength(3);
    await store.rowsAppended(denied.correlation_id, record.updated_ms);
    await store.rowsAppended(parked.correlation_id, 1);
    expect(await store.rowsDue(clock + 1_000, 10)).toHaveLength(2);
    expect(await store.oldestRowsDueMs()).toBeLessThan(clock);
  });

  it('purges what is past its time and nothing that is open', async () => {
    const parked = await admitted();
    await store.commitVerdict('decided', evidence(parked));
    const denied = await admitted();
    const { updated_ms } = await store.commitVerdict('denied', evidence(denied));
    await store.rowsAppended(denied.correlation_id, updated_ms);
    const orphan = await admitted();
    expect(await store.purge({ hitsMs: clock + 1, stagedMs: clock + 1, recordsMs: clock + 1 })).toBeGreaterThanOrEqual(
      2,
    );
    expect(await store.find(denied.correlation_id)).toBeNull();
    expect(await store.find(parked.correlation_id)).toMatchObject({ state: 'decided' });
    expect(await store.request(orphan.correlation_id, 'sha256:a')).toBeNull();
  });
});

describe('the history of an agent that is kept in memory', () => {
  it('has no step that the file undid', async () => {
    const file = await openLocalFile({ file: ':memory:', migrations: { calls: callMigrations } });
    const store = callStoreInFile(file, { keys, now });
    const count = async (tool: string) => {
      const made = call({ contract: 'gate.decision/v1', tool });
      await store.admit(made, staged, NO_LIMIT);
      await store.commitVerdict('allowed', evidence(made));
    };
    const tools = async () => (await store.history('acme', 'bot', 0)).recent_sequence.map(({ tool }) => tool);
    await count('stays');
    await file.durable();
    expect(await tools()).toEqual(['stays']);
    await count('undone');
    expect(await tools()).toEqual(['stays', 'undone']);
    const fault = () => {
      throw new Error('the disk is full');
    };
    expect(() => file.apply(fault)).toThrow('the disk is full');
    expect(await tools()).toEqual(['stays']);
    await store.close();
    await file.close();
  });

  it('is read again where a step belongs before the newest one', () => {
    const step = (tool: string, ts_ms: number) => ({ tool, ts_ms, method: 'tools/call', replica: 'gate-0' });
    const kept = keptCalls();
    kept.counted('bot', [step('unasked', 1)]);
    expect(kept.history('bot')).toBeUndefined();
    kept.holdHistory('bot', [step('first', 10)]);
    kept.counted('bot', [step('second', 20), step('at once', 20)]);
    expect(kept.history('bot')?.map(({ tool }) => tool)).toEqual(['first', 'second', 'at once']);
    kept.counted('bot', [step('late', 15)]);
    expect(kept.history('bot')).toBeUndefined();
  });
});
