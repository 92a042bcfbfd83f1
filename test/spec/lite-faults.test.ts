import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, chown, cp, rm } from 'node:fs/promises';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import type { JsonObject } from '../../contracts/json.js';
import { commandLine } from '../support/command.js';
import { echoTools, editFile, liteFolder, openLite, type EchoTools } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { eventually, timePasses } from '../support/waiting.js';

/** What goes wrong with a file or at a stop: clear words, and nothing lost. */
const ENTRIES = 11;
let seeded: string;
let folder: string;
let tools: EchoTools;
const { done, lite, run, stop } = commandLine(() => folder);

beforeAll(async () => {
  seeded = await liteFolder();
  tools = await echoTools();
  const gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder: seeded });
  for (const tool of ['read_file', 'delete_file', 'wire_transfer']) await gate.call(tool);
  await gate.close();
  await tools.close();
}, 60_000);
afterAll(() => rm(seeded, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await liteFolder();
  tools = await echoTools();
  for (const name of ['gate-lite.db', 'gate-lite.db.keys']) await cp(join(seeded, name), join(folder, name));
});
afterEach(async () => {
  await stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

const file = (name = 'gate-lite.db') => join(folder, name);
const call = async (url: string, tool: string): Promise<{ status: number; body: JsonObject }> => {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1',
      'X-Gate-Idempotency-Id': randomUUID(),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } }),
  });
  return { status: answer.status, body: (await answer.json()) as JsonObject };
};
/** Overwrites the first page of a table, as a bad disk would. */
function damaged(table: string): void {
  const reader = new DatabaseSync(file());
  const { rootpage } = reader.prepare('select rootpage from sqlite_master where name = ?').get(table) as {
    rootpage: number;
  };
  const { page_size: size } = reader.prepare('pragma page_size').get() as { page_size: number };
  reader.close();
  const descriptor = openSync(file(), 'r+');
  writeSync(descriptor, Buffer.alloc(size, 0xa5), 0, size, (rootpage - 1) * size);
  closeSync(descriptor);
}

describe('SIGTERM', () => {
  it('takes no new call, lets the one under way end, answers it, and leaves with 0', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { answer } = tools;
    tools.answer = async (request) => (await held, answer(request));
    const gate = await lite(['--upstream', tools.url, '--upstream-adapter', 'raw-json']);
    const underWay = call(gate.url, 'read_file');
    await eventually('the call at the tool', () => Promise.resolve(tools.executed.length === 1));
    gate.process.kill('SIGTERM');
    await eventually('the listener to close', () =>
      fetch(`${gate.url}/health`, { headers: { connection: 'close' } }).then(
        () => false,
        () => true,
      ),
    );
    expect(gate.process.exitCode).toBeNull();
    release();
    expect(await underWay).toMatchObject({ status: 200, body: { result: { content: [{ text: 'done' }] } } });
    expect(await gate.ended).toBe(0);
    expect(await done(['verify'])).toMatchObject({ code: 0, out: expect.stringContaining(`${ENTRIES + 4} entries`) });
  }, 60_000);

  it('does not wait for a client that never finishes its request', async () => {
    const gate = await lite();
    const { hostname, port } = new URL(gate.url);
    const client: Socket = connect(Number(port), hostname);
    client.on('error', () => undefined);
    client.write(
      'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await timePasses(200, 'the head of the request has arrived');
    gate.process.kill('SIGTERM');
    expect(await gate.ended).toBe(0);
    client.destroy();
  }, 60_000);

  it('twice ends it at once, and the attempt under way is uncertain afterwards', async () => {
    tools.answer = () => new Promise<never>(() => undefined);
    const gate = await lite(['--upstream', tools.url, '--upstream-adapter', 'raw-json']);
    const lost = call(gate.url, 'read_file').catch(() => null);
    await eventually('the call at the tool', () => Promise.resolve(tools.executed.length === 1));
    gate.process.kill('SIGTERM');
    await eventually('the first stop', () => Promise.resolve(gate.out().includes('finishing calls under way')));
    gate.process.kill('SIGTERM');
    expect(await gate.ended).toBe(143);
    expect(await lost).toBeNull();
    const again = await lite(['--upstream', tools.url, '--upstream-adapter', 'raw-json']);
    again.process.kill('SIGTERM');
    await again.ended;
    expect((await done(['audit', '--limit', '1'])).out).toContain('uncertain');
    expect(tools.executed).toHaveLength(1);
  }, 60_000);
});

const LIMITS = '/usr/bin/prlimit';
describe('no descriptor left', () => {
  const there = existsSync(LIMITS);
  const title = `when the ledger is read for the first time: it is loaded already, and is read afterwards${needs('prlimit', there)}`;
  (there ? it : it.skip)(
    title,
    async () => {
      const gate = await lite([], { GATE_LOG_LEVEL: 'debug' });
      await eventually('what is not needed at the start is loaded', () => gate.out().includes('later requests need'));
      const pid = String(gate.process.pid);
      const token = readFileSync(file('gate-lite.db.decide-token'), 'utf8').trim();
      const read = async () => {
        const asked = ['/verify', '/agents', `/audit/correlation/${randomUUID()}`].map((path) =>
          fetch(`${gate.url}${path}`, { headers: { authorization: `Bearer ${token}`, connection: 'close' } }),
        );
        return (await Promise.all(asked)).map(({ status }) => status);
      };
      const open = () => readdirSync(`/proc/${pid}/fd`).length;
      // Room for the readers' connections alone, until they come; then for nothing.
      const enough = open() + 3;
      expect(spawnSync(LIMITS, ['--pid', pid, `--nofile=${enough}:${enough + 500}`]).status).toBe(0);
      await read().catch(() => []);
      expect(spawnSync(LIMITS, ['--pid', pid, `--nofile=${enough + 400}`]).status).toBe(0);
      expect(await read()).toEqual([200, 200, 200]);
    },
    60_000,
  );
});

describe('a damaged file', () => {
  it.each(['ledger_entries', 'ledger_head', 'call_records'])(
    'whose table %s cannot be read: no start, and one line that says so',
    async (table) => {
      damaged(table);
      const started = await done(['lite', '--port', '0']);
      expect(started.code).toBe(1);
      expect(started.out.trim().split('\n')).toEqual([expect.stringContaining('is damaged; restore a backup')]);
    },
    60_000,
  );

  it('is said by every command that reads it', async () => {
    damaged('ledger_entries');
    for (const command of [['verify'], ['audit'], ['report'], ['backup', '--output', 'copy.db']])
      expect(await done([...command, '--ledger', 'gate-lite.db'])).toMatchObject({
        code: 1,
        out: expect.stringMatching(/^gate: [^\n]*the file is damaged[^\n]*\n$/),
      });
  }, 60_000);

  it('is replaced by its backup', async () => {
    expect(await done(['backup', '--output', 'copy.db'])).toMatchObject({ code: 0 });
    damaged('ledger_entries');
    expect(await done(['restore', '--input', 'copy.db', '--force'])).toMatchObject({ code: 0 });
    const gate = await lite();
    expect(gate.out()).toContain('1 call goes on from before');
  }, 60_000);
});

describe('a file that was changed behind its back', () => {
  it.each([
    ['removed newest rows', ['delete from ledger_entries where seq > 9'], 'the newest entry is not the retained head'],
    [
      'a head that was moved with them',
      [
        'delete from ledger_entries where seq > 9',
        'update ledger_head set length = 9, head_hash = (select entry_hash from ledger_entries where seq = 9)',
      ],
      'the seal of the retained head does not hold',
    ],
    ['no head', ['delete from ledger_head'], 'the retained head is missing'],
  ])(
    '%s: no start, and it says what to do',
    async (_name, statements, words) => {
      editFile(file(), ...statements);
      const started = await done(['lite', '--port', '0']);
      expect(started).toMatchObject({ code: 1, out: expect.stringContaining(words) });
      expect(started.out).toContain('gate verify');
      expect((await done(['verify'])).code).toBe(2);
    },
    60_000,
  );
});

describe('a file of another version', () => {
  it('with rows of a chain version this Gate does not write: no start, one line', async () => {
    editFile(file(), 'update ledger_entries set chain_version = 99 where seq = 11');
    expect(await done(['lite', '--port', '0'])).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /^gate: the newest row has chain version 99, this Gate writes \d+: upgrade Gate[^\n]*\n$/,
      ),
    });
    expect(await done(['verify'])).toMatchObject({
      code: 2,
      out: expect.stringContaining('UNSUPPORTED chain version 99'),
    });
  }, 60_000);

  it('that a newer Gate migrated: no start, one line', async () => {
    editFile(file(), "insert into kysely_migration values ('9999_future', '2030-01-01T00:00:00.000Z')");
    expect(await done(['lite', '--port', '0'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('a newer version of Gate wrote this file'),
    });
    expect(await done(['verify'])).toMatchObject({ code: 0 });
  }, 60_000);
});

describe('a file that cannot be written', () => {
  // Root may write everything; the file's rights only mean something to somebody else.
  const root = process.getuid?.() === 0;
  const user = root ? { uid: 65_534, gid: 65_534 } : null;
  const somebody = commandLine(() => folder, { user });
  const program = fileURLToPath(new URL('../../bin/gate.mjs', import.meta.url));
  const able = spawnSync(process.execPath, [program, '--version'], { cwd: '/', ...user }).status === 0;
  const ifAble = able ? it : it.skip;
  beforeEach(async () => {
    if (user) for (const path of [folder, file(), file('gate-lite.db.keys')]) await chown(path, user.uid, user.gid);
  });
  afterEach(async () => {
    await somebody.stop();
    await chmod(folder, 0o700);
  });

  ifAble(
    `in a folder that is read-only: says so, and can still be verified and read${needs('other-user', able)}`,
    async () => {
      await chmod(folder, 0o500);
      await chmod(file(), 0o400);
      expect(await somebody.done(['lite', '--port', '0'])).toMatchObject({
        code: 1,
        out: expect.stringMatching(/^gate: [^\n]*read-only; nothing could be recorded\n$/),
      });
      expect(await somebody.done(['verify'])).toMatchObject({
        code: 0,
        out: expect.stringContaining(`${ENTRIES} entries`),
      });
      expect(await somebody.done(['audit'])).toMatchObject({ code: 0 });
    },
    60_000,
  );

  ifAble(
    `itself: says so${needs('other-user', able)}`,
    async () => {
      await chmod(file(), 0o400);
      expect(await somebody.done(['lite', '--port', '0'])).toMatchObject({
        code: 1,
        out: expect.stringMatching(
          /^gate: [^\n]*the file or its folder is read-only; nothing can be recorded, so nothing is let through\n$/,
        ),
      });
    },
    60_000,
  );

  ifAble(
    `nor its keys read: says so${needs('other-user', able)}`,
    async () => {
      await chmod(file('gate-lite.db.keys'), 0o000);
      for (const command of [['lite', '--port', '0'], ['verify']])
        expect(await somebody.done(command)).toMatchObject({
          code: 1,
          out: expect.stringMatching(/^gate: the keys in [^\n]*gate-lite.db.keys cannot be used: EACCES[^\n]*\n$/),
        });
    },
    60_000,
  );
});

describe('a file another process has', () => {
  it('is refused with the lock, and the one that has it goes on', async () => {
    const gate = await lite(['--upstream', tools.url, '--upstream-adapter', 'raw-json']);
    expect(await done(['lite', '--port', '0'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('in use by another gate process'),
    });
    expect(await call(gate.url, 'read_file')).toMatchObject({ status: 200 });
  }, 60_000);

  it('is free again after kill -9 of who had it', async () => {
    const gate = await lite();
    gate.process.kill('SIGKILL');
    await gate.ended;
    const again = run(['lite', '--port', '0']);
    await eventually('the next start', () => Promise.resolve(again.out().includes('ready at')));
  }, 60_000);
});
