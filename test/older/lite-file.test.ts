import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { parseCheckpoint } from '../../domain/ledger/tlog/checkpoint.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { type EchoTools, echoTools, type LiteFixture, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';
import { machineClock } from '../../lite/clock.js';
import { idempotency, KEYS, LISTED, type Listed, listTools, transfer, WAITING } from './kept.js';

type Ended = [id: number, tool: string, args: JsonObject, status: number];
const ENDED: readonly Ended[] = [
  [1, 'read_file', { path: 'notes.txt' }, 200],
  [2, 'delete_file', { path: 'notes.txt' }, 403],
  [3, 'wire_transfer', transfer(25), 200],
];
/**
 * Files as earlier versions of Gate left them: an executed call, two denied ones, a decision, a call that was approved and executed, one
 * that still waits, pinned tools. Each is kept as it is for good; another one is added when the schema of any store changes (`npm run older`,
 * before the change).
 */
const FILES: readonly {
  file: string;
  madeMs: number;
  rows: number;
  ended: readonly Ended[];
  /** How many calls wait. */
  waits?: number;
  /** What the tools list by now; nothing where the waiting call was reviewed as one of an unlisted tool. */
  listed?: Listed;
}[] = [
  // Its reviews are bound to no definition of a tool, and no record has a MAC.
  {
    file: 'lite-2026-11-21.db',
    madeMs: Date.parse('2026-11-21T20:08:00Z'),
    rows: 23,
    ended: ENDED,
    listed: LISTED,
  },
  // Besides: a call that an operator denied, one that ran as its approver changed it, a signed checkpoint. Reviews have a key each, and rows say
  // by digest what their approver was shown.
  {
    file: 'lite-2026-11-25.db',
    madeMs: Date.parse('2026-11-25T17:11:17Z'),
    rows: 32,
    ended: [...ENDED, [5, 'wire_transfer', transfer(27), 403], [6, 'wire_transfer', transfer(28), 200]],
  },
  // Besides: decisions and batches that wait, reviews bound to what the tools list, a class, what answers brought in, profiles.
  {
    file: 'lite-2026-11-30.db',
    madeMs: Date.parse('2026-11-30T06:30:50Z'),
    rows: 49,
    ended: [...ENDED, [8, 'wire_transfer', transfer(29), 403], [9, 'wire_transfer', transfer(30), 200]],
    waits: 4,
    listed: LISTED,
  },
];
const amountOf = (row: unknown): unknown =>
  (row as { request_payload: { params: { arguments?: { amount?: number } } } }).request_payload.params.arguments
    ?.amount;

interface OlderFile {
  readonly tools: EchoTools;
  readonly gate: LiteFixture;
  close(): Promise<void>;
}

async function openOlder(
  { file, madeMs }: { file: string; madeMs: number },
  listed: Listed | undefined,
): Promise<OlderFile> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-older-'));
  const packed = await readFile(join(PROJECT_ROOT, 'test', 'older', `${file}.gz`));
  await writeFile(join(folder, 'gate-lite.db'), gunzipSync(packed));
  const tools = await echoTools();
  if (listed) listTools(tools, listed);
  const aheadMs = Date.now() - madeMs;
  const gate = await openLite(
    { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_KEYS: KEYS },
    { folder, clock: { ...machineClock, now: () => Date.now() - aheadMs } },
  );
  return {
    tools,
    gate,
    async close() {
      await gate.close();
      await tools.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Files with several calls that wait, by the number of each, and what their pins stand for. */
const WAITS = [
  // Made by commit 6ed2d2c: no record has a MAC, no review is bound to a definition, and Gate runs no batch.
  { file: 'lite-2026-11-21-hosts.db', madeMs: Date.parse('2026-11-21T22:20:02Z'), waits: [4, 5, 6], runs: 1 },
  { file: 'lite-2026-11-30.db', madeMs: Date.parse('2026-11-30T06:30:50Z'), waits: [4, 5, 6, 7], runs: 3 },
] as const;

describe.each(WAITS)('what waits in a file of an earlier version: $file', ({ waits, runs, ...made }) => {
  let older: OlderFile;
  afterEach(() => older.close());

  /** Approves all that waits, and asks again for each. */
  async function afterApproval(listed: Listed) {
    older = await openOlder(made, listed);
    const { gate, tools } = older;
    expect(gate.lite.resumed).toBe(waits.length);
    const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    for (const { id } of rows)
      expect(await gate.send('POST', `/decide/${id}`, { body: { decision: 'approve' } })).toMatchObject({
        status: 200,
      });
    const answers = waits.map((n) =>
      eventually(`call ${n} is decided`, async () => {
        const answer = await WAITING[n]?.(gate);
        // Still waiting, or under way: the answer says to ask again.
        return answer?.status === 202 || answer?.status === 503
          ? null
          : [answer?.status, answer?.body['error'] ?? null];
      }),
    );
    return { answers: await Promise.all(answers), executed: tools.executed.length };
  }

  it('runs, and is authorized, once it is approved', async () => {
    expect(await afterApproval(LISTED)).toEqual({ answers: waits.map(() => [200, null]), executed: runs });
  });

  it('does not run, and is not authorized, where a tool is another one than was reviewed or its agent had pinned', async () => {
    expect(await afterApproval({ ...LISTED, wire_transfer: 'pays somebody else' })).toEqual({
      answers: waits.map(() => [403, 'tool_definition_changed']),
      executed: 0,
    });
  });
});

describe.each(FILES)('a file of an earlier version: $file', ({ file, madeMs, rows, ended, listed, waits = 1 }) => {
  let older: OlderFile;
  let tools: EchoTools;
  let gate: LiteFixture;
  beforeAll(async () => {
    older = await openOlder({ file, madeMs }, listed);
    ({ tools, gate } = older);
  });
  afterAll(() => older.close());

  it('is migrated when it is opened; what is open in it goes on', () => {
    expect(gate.lite.resumed).toBe(waits);
  });

  it.each(ended)('answers call %i from its record and executes nothing again', async (n, tool, args, status) => {
    expect(await gate.call(tool, { id: idempotency(n), arguments: args })).toMatchObject({ status });
    expect(tools.executed).toHaveLength(0);
  });

  it('still knows the arguments of the call that waits, and executes it once after the approval', async () => {
    const waiting = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    expect(waiting).toHaveLength(waits);
    const whole = waiting.map(async ({ id }) => (await gate.send('GET', `/pending?id=${id}`)).body);
    const one = (await Promise.all(whole)).flat().find((row) => amountOf(row) === 26) as { id: string } | undefined;
    expect(await gate.send('POST', `/decide/${one?.id}`, { body: { decision: 'approve' } })).toMatchObject({
      status: 200,
    });
    const again = () =>
      gate.call('wire_transfer', {
        id: idempotency(4),
        arguments: transfer(26),
      });
    const limit = Date.now() + 30_000;
    let reply = await again();
    while (reply.status !== 200 && Date.now() < limit) reply = await again();
    expect(reply.status).toBe(200);
    expect(tools.executed).toHaveLength(1);
  });

  it('answers what is asked of its ledger, by routes that its version did not have', async () => {
    const headers = { authorization: `Bearer ${gate.lite.ownDecideToken?.token}` };
    const ask = async (path: string) => (await gate.send('GET', path, { headers })).body;
    const { agents } = (await ask('/agents')) as { agents: string[] };
    const hunt = await ask('/audit/hunt');
    expect(hunt).toMatchObject({ returned: agents.length });
    expect(await ask(`/audit/agents/${agents[0]}/narrative?window=90d`)).toMatchObject({ agent_id: agents[0] });
    expect(await ask('/audit/replay/corpus?since=2026-01-01T00:00:00Z&limit=5')).toMatchObject({ returned: 5 });
    expect([await ask('/cases'), await ask('/silence-allowlist')]).toEqual([[], { entries: [] }]);
    const kept = parseCheckpoint(((await ask('/checkpoint')) as { text: string }).text);
    expect(kept.size).toBeGreaterThanOrEqual(rows);
    expect(await ask(`/proof/consistency?from=${kept.size}`)).toMatchObject({ from_root: kept.root.toString('hex') });
    expect(await ask('/proof/inclusion?seq=1')).toMatchObject({ seq: 1, tree_size: kept.size });
  });

  it('keeps its chain: old rows and new ones verify as one', async () => {
    await gate.call('read_file');
    const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: parseKeyRing(KEYS) });
    const walked = await ledger.verify();
    await ledger.close();
    expect(walked).toMatchObject({ valid: true });
    expect(walked.entries_checked).toBeGreaterThanOrEqual(rows + 3 + 2);
  });
});
