import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import type { DecoyHit } from '../../contracts/decoys.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import type { TenantOperation } from '../../contracts/tenant-lifecycle.js';
import { tenantLifecycleIdOf } from '../../workflows/tenant-lifecycle/messages.js';
import type { AgentClient, Reply } from '../support/agent.js';
import { commandLine } from '../support/command.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

let gate: TestStack;
let agent: AgentClient;
/** What the tenant's agent sends, in a call that runs, one that waits, and one that is denied. */
const SECRET = `harbour-${randomUUID()}`;
/** A value that nobody should use, which an agent of the tenant uses all the same. */
const DECOY = `quay-${randomUUID()}`;
const line = commandLine(() => gate.stateDir);

beforeAll(async () => {
  gate = await startStack();
  agent = await gate.agent('dispatch-bot');
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await line.stop();
  await gate?.stop();
}, 150_000);

const typed = (...args: string[]) => line.done(args, { GATE_STATE_DIR: gate.stateDir });
async function told<T>(...args: string[]): Promise<T> {
  const { code, out } = await typed(...args, '--json');
  if (code !== 0) throw new Error(`gate ${args.join(' ')} ended with ${code}: ${out}`);
  return JSON.parse(out) as T;
}
const operationOf = async (kind: TenantOperation['kind']): Promise<TenantOperation> => {
  const found = (await told<TenantOperation[]>('tenant', 'status', 'acme')).find((one) => one.kind === kind);
  if (!found) throw new Error(`no ${kind} was begun`);
  return found;
};
const stepsOf = ({ steps }: TenantOperation) =>
  steps.map(({ id, state, attempts, receipt_sha256: sha256 }) => [id, state, attempts > 0, sha256 !== null]);

/** The files of the stores, as they are on the disk. */
function filesWith(bytes: string | Buffer): string[] {
  const folder = join(gate.stateDir, 'data');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(bytes));
}
/** What the review service has of the call that waits: its request, sealed, and the key that opens it, sealed too. */
function sealedReview(): readonly Buffer[] {
  const store = new DatabaseSync(join(gate.stateDir, 'data', 'hil.db'), { readOnly: true });
  try {
    const [row] = store
      .prepare('select payload, wrapped from reviews join review_keys on review_id = id')
      .all() as unknown as readonly { payload: Uint8Array; wrapped: Uint8Array }[];
    if (!row) throw new Error('nothing waits');
    return [Buffer.from(row.payload.subarray(-32)), Buffer.from(row.wrapped)];
  } finally {
    store.close();
  }
}
let sealed: readonly Buffer[] = [];

describe('a tenant that comes and goes', () => {
  it('comes by one command, which says each step and may be typed again', async () => {
    const { code, out } = await typed('tenant', 'provision', 'acme', '--reason', 'they signed');
    expect([code, out]).toEqual([0, expect.stringContaining('6/6 ledger_lifecycle_marker (ledger): done, receipt ')]);
    expect(out).toContain('provision acme: done');
    const operation = await operationOf('provision');
    expect(stepsOf(operation)).toEqual(operation.steps.map(({ id }) => [id, 'succeeded', true, true]));
    // Without a name it is the tenant of the running stack, as for other commands.
    expect((await typed('tenant', 'status')).out).toContain(operation.id);
    const again = await typed('tenant', 'provision', 'acme', '--reason', 'they signed');
    expect(again.out).toContain(operation.id);
    expect(await operationOf('provision')).toEqual(operation);
  });

  it('goes by one command: nothing of it is let in, what waits is denied, its rows are exported and hidden', async () => {
    const call = (tool: string, args: object): Promise<Reply> => agent.call(tool, args as never);
    const ran = await call('write_file', { path: 'notes.txt', content: SECRET });
    const denied = await call('delete_file', { path: SECRET });
    const parked = await call('wire_transfer', { from: 'operating', to: SECRET, amount: 25 });
    expect([ran.status, denied.status, parked.status]).toEqual([200, 403, 202]);
    writeFileSync(join(gate.stateDir, 'decoy'), DECOY);
    expect((await typed('decoys', 'add', 'berth', '--value-file', join(gate.stateDir, 'decoy'))).code).toBe(0);
    await eventually('the proxy hears of it', async () => (await call('read_file', { path: DECOY })).status === 403);
    const reads = await call('read_file', { path: DECOY });
    expect([reads.status, reads.body['reasons']]).toEqual([403, ['Violation: the operator denied this tool.']]);
    await eventually('identity heard of it', async () =>
      (await told<DecoyHit[]>('decoys', 'hits')).some(({ decoy }) => decoy === 'berth'),
    );
    expect(filesWith(DECOY).length).toBeGreaterThan(0);
    await gate.kinds(ran.correlationId, 'upstream.outcome');
    sealed = sealedReview();
    expect(sealed.map((bytes) => filesWith(bytes).length > 0)).toEqual([true, true]);

    const refused = await typed('tenant', 'offboard', 'acme', '--confirm', 'acne', '--reason', 'the contract ended');
    expect([refused.code, refused.out]).toEqual([expect.any(Number), expect.stringContaining('confirm_mismatch')]);
    const { code, out } = await typed(
      'tenant',
      'offboard',
      'acme',
      '--confirm',
      'acme',
      '--reason',
      'the contract ended',
    );
    expect([code, out]).toEqual([0, expect.stringContaining('offboard acme: done')]);

    const operation = await operationOf('offboard');
    expect(stepsOf(operation)).toEqual(operation.steps.map(({ id }) => [id, 'succeeded', true, true]));
    const receipt = (id: string) => operation.steps.find((one) => one.id === id)?.receipt;
    expect(receipt('hil_namespace')).toMatchObject({ state: 'offboarded', pending_denied: 1 });
    const exported = receipt('ledger_final_export');
    expect(exported).toMatchObject({ state: 'exported', artifact_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(receipt('retained_backup_disposition')).toEqual({
      disposition: 'retained-pending-erasure',
      artifact_sha256: exported?.['artifact_sha256'],
    });

    const after = await call('write_file', { path: 'notes.txt', content: 'more' });
    expect([after.status, after.body['error']]).toEqual([403, 'tenant_decommissioned']);
    expect(await told<LedgerEntry[]>('audit', ran.correlationId).catch(() => [])).toEqual([]);
    expect((await gate.verify()).valid).toBe(true);
    // The tool ran for none but the first.
    expect((await gate.tools()).counts).toMatchObject({ write_file: 1 });
    expect((await gate.tools()).counts['wire_transfer']).toBeUndefined();
  }, 120_000);

  it('has left no byte of what waited in any store, not even sealed, and none of what its agents sent in clear', () => {
    expect(sealed.map((bytes) => filesWith(bytes))).toEqual([[], []]);
    expect(filesWith(SECRET)).toEqual([]);
  });

  it('has left no byte of its decoys, and no row of who touched them', () => {
    expect(filesWith(DECOY)).toEqual([]);
    for (const [file, table] of [
      ['identity.db', 'identity_decoy_hits'],
      ['calls.db', 'decoy_hits'],
    ] as const) {
      const store = new DatabaseSync(join(gate.stateDir, 'data', file), { readOnly: true });
      try {
        expect(store.prepare(`select * from ${table}`).all()).toEqual([]);
      } finally {
        store.close();
      }
    }
  });

  it('is hidden in the ledger whole, what identity told of its end too', () => {
    const store = new DatabaseSync(join(gate.stateDir, 'data', 'ledger.db'), { readOnly: true });
    try {
      const rows = store
        .prepare("select event_kind, deleted_at is null as shown from ledger_entries where tenant = 'acme'")
        .all() as unknown as readonly { event_kind: string; shown: number }[];
      const kinds = rows.map(({ event_kind: kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['stop.reported', 'tenant.offboarded', 'hil.denied']));
      expect(rows.filter(({ shown }) => shown === 1)).toEqual([]);
    } finally {
      store.close();
    }
  });

  it('shows its steps by name in the engine, and no lease in any history', async () => {
    const { address, namespace } = gate.development.temporal;
    const connection = await Connection.connect({ address });
    try {
      const client = new Client({ connection, namespace });
      const { id } = await operationOf('offboard');
      const handle = client.workflow.getHandle(tenantLifecycleIdOf(id));
      expect((await handle.describe()).status.name).toBe('COMPLETED');
      const { events = [] } = await handle.fetchHistory();
      const activities = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityType?.name ? [scheduled.activityType.name] : [],
      );
      // The final export waits for the report of what ran; each time it is looked at anew where the operation is.
      const waits = (events ?? []).filter(({ activityTaskFailedEventAttributes: failed }) => failed).length;
      const times = (name: string) => activities.filter((one) => one === name).length;
      expect([times('lookAtTenant'), times('takeTenantStep')]).toEqual([1 + waits, 8 + waits]);
    } finally {
      await connection.close();
    }
  });

  it('comes never again', async () => {
    const { code, out } = await typed('tenant', 'provision', 'acme', '--reason', 'they came back');
    expect([code, out]).toEqual([expect.any(Number), expect.stringContaining('tenant_offboarded')]);
    expect(code).not.toBe(0);
  });
});
