import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { commandLine } from '../../test/support/command.js';
import { needs } from '../../test/support/needs.js';
import { canMountImage, canMountSmall, mountSmall, unmount } from '../../test/support/small-disk.js';
import { assertWritable, untilThereIsRoom } from './writable.js';
import { timePasses } from '../../test/support/waiting.js';

/** A file system of a few megabytes, which only root can make. */
let folder: string;
let disk: string;
const run = (...args: string[]) => execFileSync(args[0] as string, args.slice(1), { stdio: 'ignore' });
const able = canMountSmall();
const onADisk = able ? it : it.skip;
const told = (what: string) => `${what}${needs('small-disk', able)}`;
const breakable = canMountImage();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-writable-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  disk = join(folder, 'disk');
  mkdirSync(disk, { recursive: true });
  if (able) mountSmall(disk, '8m');
});
afterEach(() => {
  if (able) unmount(disk);
});

function fill(): void {
  const { bsize, bavail } = statfsSync(disk);
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(bsize * Math.max(0, bavail - 1)));
  try {
    for (let more = 0; more < 64; more += 1) writeFileSync(join(disk, `ballast-${more}`), Buffer.alloc(4_096));
  } catch {
    // Full to the last page.
  }
}
const makeRoom = () => rmSync(join(disk, 'ballast'));
/** What was found is remembered for a second. */
const later = () => timePasses(1_100, 'what was found is forgotten');

describe('a store', () => {
  const opened = (): DatabaseSyncInstance => {
    const connection = new DatabaseSync(join(disk, 'a.db'));
    connection.exec('PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS t (x)');
    return connection;
  };

  it('that can be written is ready, is asked at most once a second, and nothing is left beside it', async () => {
    const connection = opened();
    await Promise.all(Array.from({ length: 100 }, () => assertWritable(connection)));
    expect(readdirSync(disk).sort()).toEqual(['a.db', 'a.db-shm', 'a.db-wal']);
    connection.close();
  });

  it('in memory has no disk', async () => {
    await assertWritable(null);
    await assertWritable(new DatabaseSync(':memory:'));
  });

  it('whose file is gone is not ready', async () => {
    const connection = opened();
    rmSync(join(disk, 'a.db'));
    await expect(assertWritable(connection)).rejects.toThrow('a.db: it is gone (ENOENT)');
    connection.close();
  });

  onADisk(told('on a full disk is not ready, and is again when there is room'), async () => {
    const connection = opened();
    await assertWritable(connection);
    fill();
    await later();
    await expect(assertWritable(connection)).rejects.toThrow('a.db: the disk is full (ENOSPC)');
    expect(readdirSync(disk).filter((name) => name.startsWith('.'))).toEqual([]);
    makeRoom();
    await later();
    await assertWritable(connection);
    connection.close();
  });

  onADisk(told('that waits for room goes on when there is some, and when it is told to stop'), async () => {
    const never = new AbortController();
    await untilThereIsRoom(disk, never.signal);
    fill();
    const stop = new AbortController();
    const [waiting, stopped] = [untilThereIsRoom(disk, never.signal), untilThereIsRoom(disk, stop.signal)];
    stopped.catch(() => undefined);
    let over = false;
    void waiting.then(() => (over = true));
    await later();
    expect(over).toBe(false);
    stop.abort();
    await expect(stopped).rejects.toThrow(/abort/);
    makeRoom();
    await waiting;
    // What is wrong otherwise is for the start itself to say.
    await untilThereIsRoom(join(disk, 'not-there'), never.signal);
  });

  onADisk(told('on a disk that became read-only is not ready'), async () => {
    const connection = opened();
    connection.close();
    const reader = new DatabaseSync(join(disk, 'a.db'), { readOnly: true });
    run('mount', '-o', 'remount,ro', disk);
    await later();
    await expect(assertWritable(reader)).rejects.toThrow('a.db: the disk is read-only (EROFS)');
    reader.close();
  });
});

describe('on a disk that takes nothing', () => {
  const { lite, done, stop } = commandLine(() => disk);
  afterEach(stop);
  const lastWords = (gate: { out(): string }) => gate.out().slice(gate.out().indexOf('SIGTERM: '));
  const readyz = async (url: string) => (await fetch(`${url}/readyz`)).status;
  const decide = async (url: string) =>
    (
      await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'X-Gate-Decision-Contract': 'gate.decision/v1',
          'X-Gate-Idempotency-Id': randomUUID(),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'read_file', arguments: { path: 'x'.repeat(9_000) } },
        }),
      })
    ).status;

  onADisk(
    told('gate lite says that it is not ready, is ready again with room, and a stop while it is full ends in one line'),
    async () => {
      const gate = await lite();
      expect(await decide(gate.url)).toBe(200);
      expect(await readyz(gate.url)).toBe(200);
      fill();
      await later();
      const told = await fetch(`${gate.url}/readyz`);
      expect(told.status).toBe(503);
      expect(await told.json()).toMatchObject({ checks: { ledger: 'failed', calls: 'failed', policy: 'ok' } });
      expect(await (await fetch(`${gate.url}/health`)).json()).toMatchObject({ ledger: 'unavailable' });
      makeRoom();
      await later();
      expect(await readyz(gate.url)).toBe(200);
      expect(await decide(gate.url)).toBe(200);
      fill();
      for (let calls = 0; calls < 8; calls += 1) await decide(gate.url);
      gate.process.kill('SIGTERM');
      expect(await gate.ended).toBe(0);
      expect(lastWords(gate)).not.toMatch(/^\s+at /m);
      expect(lastWords(gate)).toContain('the next start goes on from both');
      expect(lastWords(gate)).toContain('stopped; parked calls stay parked until the next start');
      makeRoom();
      expect(await done(['verify'])).toMatchObject({ code: 0 });
    },
    60_000,
  );

  (breakable ? it : it.skip)(
    `gate lite stays up and refuses where the disk became read-only, and a stop ends in one line${needs('loop-device', breakable)}`,
    async () => {
      const image = join(folder, 'frail.img');
      writeFileSync(image, '');
      truncateSync(image, 32 * 1024 * 1024);
      run('mkfs.ext4', '-q', '-F', image);
      unmount(disk);
      run('mount', '-o', 'loop,errors=remount-ro', image, disk);
      const gate = await lite();
      expect(await decide(gate.url)).toBe(200);
      // As ext4 does by itself when its journal cannot be written: what is open stays open, and nothing is written any more.
      run('mount', '-o', 'remount,abort', disk);
      expect(await decide(gate.url)).toBe(503);
      await timePasses(3_000, 'longer than it takes to touch the lock of the file');
      expect(await readyz(gate.url)).toBe(503);
      gate.process.kill('SIGTERM');
      expect(await gate.ended).toBe(0);
      expect(lastWords(gate)).not.toMatch(/^\s+at /m);
    },
    60_000,
  );

  onADisk(
    told('gate start and gate doctor say so in one line'),
    async () => {
      const env = { GATE_STATE_DIR: join(disk, 'state') };
      mkdirSync(join(disk, 'state'));
      run('mount', '-o', 'remount,ro', disk);
      const started = await done(['start'], env);
      expect(started.code).toBe(1);
      expect(started.out).toBe(
        `gate: ${join(disk, 'state')} cannot be written: the disk is read-only (EROFS); mend that, or set GATE_STATE_DIR to another folder\n`,
      );
      const looked = await done(['doctor', '--json'], env);
      expect(looked.code).toBe(1);
      expect(JSON.parse(looked.out)).toContainEqual(expect.objectContaining({ what: 'state folder', state: 'fault' }));
    },
    60_000,
  );
});
