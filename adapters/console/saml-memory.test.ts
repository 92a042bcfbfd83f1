import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { consoleMigrations } from '../../migrations/console.js';
import { startPostgres, type TestPostgres } from '../../test/support/postgres.js';
import type { StoreTarget } from '../store/database.js';
import { BEGUN_LIFE_MS, openSamlMemory, type SamlMemory } from './saml-memory.js';

const BEGUN = { requestId: '_request', browser: 'what the browser keeps', returnTo: '/audit' };
const KEY = Buffer.alloc(32, 9);

let now: number;
let memory: SamlMemory;
const open = (target: StoreTarget, key: Uint8Array = KEY) => openSamlMemory({ target, key, clock: () => now });

describe.each(['sqlite', 'postgres'] as const)('what is remembered of a sign-in by SAML: %s', (kind) => {
  let folder: string;
  let target: StoreTarget;
  let postgres: TestPostgres | null = null;
  beforeEach(async () => {
    now = Date.parse('2026-11-02T10:00:00.000Z');
    folder = mkdtempSync(join(tmpdir(), 'gate-saml-memory-'));
    postgres =
      kind === 'postgres'
        ? await startPostgres({ migrated: { schema: 'console', migrations: consoleMigrations } })
        : null;
    target = postgres === null ? { file: join(folder, 'console.db') } : { url: postgres.url, schema: 'console' };
    memory = await open(target);
  });
  afterEach(async () => {
    await memory.close();
    await postgres?.stop();
    rmSync(folder, { recursive: true });
  });

  it('is a request, found once by its relay state, in the browser that began', async () => {
    await memory.begin('relay', BEGUN);
    expect(await memory.take('relay', BEGUN.browser)).toEqual({ requestId: '_request', returnTo: '/audit' });
    expect(await memory.take('relay', BEGUN.browser)).toBeNull();
    expect(await memory.take('other', BEGUN.browser)).toBeNull();
  });

  it('is no request for another browser, nor for its own after that one asked', async () => {
    await memory.begin('relay', BEGUN);
    expect(await memory.take('relay', 'another')).toBeNull();
    expect(await memory.take('relay', BEGUN.browser)).toBeNull();
  });

  it('is a request for five minutes', async () => {
    await memory.begin('relay', BEGUN);
    await memory.begin('later', BEGUN);
    now += BEGUN_LIFE_MS - 1;
    expect(await memory.take('relay', BEGUN.browser)).not.toBeNull();
    now += 1;
    expect(await memory.take('later', BEGUN.browser)).toBeNull();
  });

  it('is an assertion, by its issuer and id, until it can be used no longer', async () => {
    const used = { issuer: 'https://login.example', id: '_a', untilMs: now + 1_000 };
    expect(await memory.isFirst(used)).toBe(true);
    expect(await memory.isFirst(used)).toBe(false);
    expect(await memory.isFirst({ ...used, issuer: 'https://others.example' })).toBe(true);
    expect(await memory.isFirst({ ...used, id: '_b' })).toBe(true);
  });

  it('takes one of two that come with the same assertion at once', async () => {
    const used = { issuer: 'https://login.example', id: '_a', untilMs: now + 1_000 };
    const taken = await Promise.all([memory.isFirst(used), memory.isFirst(used)]);
    expect(taken.filter((isFirst) => isFirst)).toHaveLength(1);
  });

  it('is there after a restart, and not with another key', async () => {
    const used = { issuer: 'https://login.example', id: '_a', untilMs: now + 1_000 };
    await memory.begin('relay', BEGUN);
    await memory.begin('other', BEGUN);
    await memory.isFirst(used);
    await memory.close();
    const foreign = await open(target, Buffer.alloc(32, 8));
    expect(await foreign.take('relay', BEGUN.browser)).toBeNull();
    await foreign.close();
    memory = await open(target);
    expect(await memory.take('relay', BEGUN.browser)).not.toBeNull();
    expect(await memory.isFirst(used)).toBe(false);
  });
});

describe('what is remembered of a sign-in by SAML, in the file', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    now = Date.parse('2026-11-02T10:00:00.000Z');
    folder = mkdtempSync(join(tmpdir(), 'gate-saml-memory-'));
    file = join(folder, 'console.db');
    memory = await open({ file });
  });
  afterEach(async () => {
    await memory.close();
    rmSync(folder, { recursive: true });
  });
  const edit = (text: string, ...values: number[]) => {
    const store = new DatabaseSync(file);
    const rows = store.prepare(text).all(...values);
    store.close();
    return rows;
  };

  it('names neither a relay state nor what a browser keeps', async () => {
    await memory.begin('the-relay-state', BEGUN);
    const rows = JSON.stringify(edit('select * from console_saml_requests'));
    expect(rows).not.toContain('the-relay-state');
    expect(rows).not.toContain(BEGUN.browser);
  });

  it.each(["request = '_other'", "return_to = '/agents'", "browser = 'x'", 'until_ms = until_ms + 1'])(
    'counts for nothing once somebody else wrote to it: %s',
    async (change) => {
      await memory.begin('relay', BEGUN);
      edit(`update console_saml_requests set ${change}`);
      expect(await memory.take('relay', BEGUN.browser)).toBeNull();
    },
  );

  it('is ten thousand requests at most, and forgets the oldest', async () => {
    await memory.begin('oldest', BEGUN);
    now += 1;
    await memory.begin('next', BEGUN);
    edit(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 9998)
       insert into console_saml_requests select 'r' || i, '', '', '', ?, '' from n returning id`,
      now + BEGUN_LIFE_MS,
    );
    now += 1;
    await memory.begin('last', BEGUN);
    expect(await memory.take('oldest', BEGUN.browser)).toBeNull();
    expect(await memory.take('next', BEGUN.browser)).not.toBeNull();
    expect(await memory.take('last', BEGUN.browser)).not.toBeNull();
  });

  it('forgets what is over when the next one begins', async () => {
    await memory.begin('relay', BEGUN);
    await memory.isFirst({ issuer: 'https://login.example', id: '_a', untilMs: now + 1_000 });
    now += BEGUN_LIFE_MS;
    await memory.begin('later', BEGUN);
    await memory.isFirst({ issuer: 'https://login.example', id: '_b', untilMs: now + 1_000 });
    expect(edit('select id from console_saml_requests')).toHaveLength(1);
    expect(edit('select id from console_saml_assertions')).toHaveLength(1);
  });

  it('is a fault of the store where it takes no writes', async () => {
    edit("create trigger full before insert on console_saml_requests begin select raise(abort, 'full'); end");
    await expect(memory.begin('relay', BEGUN)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});
