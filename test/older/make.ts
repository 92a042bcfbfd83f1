import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DatabaseSync } from '@photostructure/sqlite';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { type Answered, echoTools, openLite } from '../support/lite.js';
import { eventually } from '../support/waiting.js';
import { idempotency, KEYS, LISTED, listTools, transfer, WAITING } from './kept.js';

/**
 * `npm run older`: a lite file as this version of Gate leaves it, in `test/older/lite-<date>.db.gz`, for `FILES` and `WAITS` of
 * `lite-file.test.ts`. To be run before the schema of a store changes.
 */
const folder = await mkdtemp(join(tmpdir(), 'gate-older-'));
const tools = await echoTools();
listTools(tools, LISTED);
const gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_KEYS: KEYS }, { folder });
const told = (what: string, { status }: Answered, expected: number): void => {
  if (status !== expected) throw new Error(`${what}: ${status} instead of ${expected}`);
};
const headers = { authorization: `Bearer ${gate.lite.ownDecideToken?.token}` };
const ask = (n: number, amount: number) =>
  gate.call('wire_transfer', { id: idempotency(n), arguments: transfer(amount) });
async function decided(n: number, amount: number, body: object, ends: number): Promise<void> {
  const parked = await ask(n, amount);
  told(`call ${n}`, parked, 202);
  told(`decision ${n}`, await gate.send('POST', `/decide/${parked.body['pending_id'] as string}`, { body }), 200);
  const ended = await eventually(`call ${n} ends`, async () => {
    const answer = await ask(n, amount);
    return answer.status === 202 ? null : answer;
  });
  told(`call ${n} after its decision`, ended, ends);
}

await gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
const path = { path: 'notes.txt' };
told('call 1', await gate.call('read_file', { id: idempotency(1), arguments: path }), 200);
told('call 2', await gate.call('delete_file', { id: idempotency(2), arguments: path }), 403);
told('a decision', await gate.call('delete_file', { arguments: path, decision: true }), 403);
told('a decision', await gate.call('read_file', { arguments: path, decision: true }), 200);
await decided(3, 25, { decision: 'approve' }, 200);
await decided(8, 29, { decision: 'deny' }, 403);
const replacements = [{ path: ['amount'], value: 5 }];
const modification_diff = { contract: 'gate.hil.modification-diff/v1', replacements };
await decided(9, 30, { decision: 'modify', modification_diff }, 200);
told(
  'a class',
  await gate.send('POST', '/tools/class', { headers, body: { tool: 'read_file', class: 'read', reason: 'reads' } }),
  200,
);
for (const [n, call] of Object.entries(WAITING)) told(`call ${n}`, await call(gate), 202);
told('a checkpoint', await gate.send('GET', '/checkpoint', { headers }), 200);
const madeMs = Date.now();
await gate.close();
await tools.close();

const file = new DatabaseSync(gate.ledger);
file.exec('pragma wal_checkpoint(truncate)');
file.exec('vacuum');
const { rows } = file.prepare('select count(*) as rows from ledger_entries').get() as { rows: number };
file.close();
const at = new Date(madeMs).toISOString();
const name = `lite-${at.slice(0, 10)}.db`;
await writeFile(
  join(PROJECT_ROOT, 'test', 'older', `${name}.gz`),
  gzipSync(await readFile(gate.ledger), { level: 9 }),
  { flag: 'wx' },
);
await rm(folder, { recursive: true, force: true });
process.stdout.write(`{ file: '${name}', madeMs: Date.parse('${at.slice(0, 19)}Z'), rows: ${rows} }\n`);
