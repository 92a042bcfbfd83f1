import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import { ledgerPlace, NOT_MIGRATED, STORES } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';
import { MOST_OPEN, openSessionStore, type SessionStore } from './session-store.js';

const HOUR = 3_600_000;
const WHO = { subject: 'operator:dev', tenant: 'acme', mode: 'operator-token', role: 'viewer' };

describe('the sessions of the console', () => {
  let folder: string;
  let file: string;
  let now: number;
  let sessions: SessionStore;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-sessions-'));
    file = join(folder, 'console.db');
    now = Date.parse('2026-11-02T10:00:00.000Z');
    sessions = await openSessionStore({ target: { file }, key: Buffer.alloc(32, 9), idleMs: HOUR, clock: () => now });
  });
  afterEach(async () => {
    await sessions.close();
    rmSync(folder, { recursive: true });
  });
  const edit = (text: string) => {
    const store = new DatabaseSync(file);
    store.exec(text);
    store.close();
  };

  it('begin their time anew with a request, which says so, and not with a look', async () => {
    const cookie = await sessions.open(WHO);
    now += HOUR - 1_000;
    expect(await sessions.of(cookie, { renews: false })).toMatchObject({ ...WHO, isRenewed: false });
    now += 500;
    expect(await sessions.of(cookie)).toMatchObject({ isRenewed: true });
    now += HOUR - 1;
    expect(await sessions.of(cookie, { renews: false })).not.toBeNull();
    now += 1;
    expect(await sessions.of(cookie)).toBeNull();
  });

  it.each([
    "role = 'admin'",
    "tenant = 'globex'",
    "subject = 'operator:second'",
    'until_ms = until_ms + 1',
    'opened_ms = opened_ms - 1',
    'ends_ms = 9000000000000',
    `teams = '["payments"]'`,
  ])('count for nothing once somebody else wrote to them: %s', async (change) => {
    const cookie = await sessions.open(WHO);
    edit(`update console_sessions set ${change}`);
    expect(await sessions.of(cookie)).toBeNull();
  });

  it('count for nothing where they were opened under a clock that was ahead: a role may have been taken away since', async () => {
    const cookie = await sessions.open(WHO);
    now -= 60_000;
    expect(await sessions.of(cookie)).not.toBeNull();
    now -= 1;
    expect(await sessions.of(cookie)).toBeNull();
    expect(await sessions.openOf(WHO)).toEqual([]);
  });

  const roles = async () => (await sessions.openOf(WHO)).map(({ role }) => role);

  it('are of one role: whoever enters with another one ends them in that step', async () => {
    const other = await sessions.open({ ...WHO, tenant: 'globex' });
    const [before, same] = [await sessions.open({ ...WHO, role: 'admin' }), await sessions.open(WHO)];
    await sessions.enter(WHO);
    expect(await sessions.of(before)).toBeNull();
    expect(await sessions.of(same)).not.toBeNull();
    expect(await sessions.of(other)).not.toBeNull();
    expect(await roles()).toEqual(['viewer', 'viewer']);
  });

  it('are of one list of teams, and whoever enters with another one ends them in that step', async () => {
    const inTeam = { ...WHO, teams: ['payments'] };
    const [before, same] = [await sessions.open(WHO), await sessions.open(inTeam)];
    const now = await sessions.enter(inTeam);
    expect(await sessions.of(before)).toBeNull();
    for (const cookie of [same, now]) expect(await sessions.of(cookie)).toMatchObject(inTeam);
    await sessions.enter(WHO);
    expect(await sessions.of(now)).toBeNull();
  });

  it('begin only together with the end of those of another role', async () => {
    await sessions.open({ ...WHO, role: 'admin' });
    edit("create trigger kept before delete on console_sessions begin select raise(abort, 'kept'); end");
    await expect(sessions.enter(WHO)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await roles()).toEqual(['admin']);
  });

  it('end in every tenant but one, for one person, and it is said where there were some', async () => {
    const inTenant = (tenant: string, subject = WHO.subject) => sessions.open({ ...WHO, subject, tenant });
    const [acme, beta, gamma] = [await inTenant('acme'), await inTenant('beta'), await inTenant('gamma')];
    const [again, other] = [await inTenant('beta'), await inTenant('beta', 'operator:second')];
    const stands = async (cookie: string) => (await sessions.of(cookie)) !== null;
    expect([...(await sessions.endElsewhere({ subject: WHO.subject, tenant: 'acme' }))].sort()).toEqual([
      'beta',
      'gamma',
    ]);
    for (const cookie of [beta, gamma, again]) expect(await stands(cookie)).toBe(false);
    for (const cookie of [acme, other]) expect(await stands(cookie)).toBe(true);
    expect(await sessions.endElsewhere({ subject: WHO.subject, tenant: null })).toEqual(['acme']);
    expect(await stands(acme)).toBe(false);
    expect(await stands(other)).toBe(true);
  });

  it('of which somebody else wrote the tenant name none when they end', async () => {
    await sessions.open(WHO);
    edit("update console_sessions set tenant = 'globex'");
    expect(await sessions.endElsewhere({ subject: WHO.subject, tenant: null })).toEqual([]);
  });

  it('still say who somebody is while their store takes no writes', async () => {
    const cookie = await sessions.open(WHO);
    edit("create trigger full before update on console_sessions begin select raise(abort, 'full'); end");
    now += 120_000;
    expect(await sessions.of(cookie)).toMatchObject(WHO);
  });
});

describe.each(STORES)('the sessions of one person, on %s', (kind) => {
  it('are as many as are listed: beyond them the one ends that was unused the longest', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    let now = Date.parse('2026-11-02T10:00:00.000Z');
    const options = { key: Buffer.alloc(32, 9), idleMs: HOUR, clock: () => now };
    const sessions = await openSessionStore({ target: place.target, ...options });
    try {
      const [used, unused] = [await sessions.enter(WHO), await sessions.enter(WHO)];
      await sessions.enter({ ...WHO, subject: 'operator:second' });
      now += 120_000;
      await sessions.of(used);
      for (let more = 2; more < MOST_OPEN + 1; more += 1) {
        now += 1;
        await sessions.enter(WHO);
      }
      expect(await sessions.openOf(WHO)).toHaveLength(MOST_OPEN);
      expect([await sessions.of(used), await sessions.of(unused)]).toEqual([expect.objectContaining(WHO), null]);
      expect(await sessions.openOf({ ...WHO, subject: 'operator:second' })).toHaveLength(1);
    } finally {
      await sessions.close();
      await place.remove();
    }
  }, 60_000);
});

describe('the sessions in a database that stands still', () => {
  it('are not known, which is said in time, and are known again once it goes on', async () => {
    const place = await ledgerPlace('postgres', { migrated: NOT_MIGRATED });
    const target = place.target as { url: string; schema: string };
    let now = Date.parse('2026-11-02T10:00:00.000Z');
    const options = { key: Buffer.alloc(32, 9), idleMs: HOUR, clock: () => now, answerMs: 300 };
    const sessions = await openSessionStore({ target, ...options });
    const other = new pg.Client({ connectionString: target.url });
    await other.connect();
    try {
      const cookie = await eventually('a session', () => sessions.open(WHO).catch(() => null));
      await other.query(`begin; lock table ${target.schema}.console_sessions in access exclusive mode`);
      const unknown = { code: 'store_unavailable', message: expect.stringContaining('did not answer within 0.3 s') };
      await expect(sessions.of(cookie)).rejects.toMatchObject(unknown);
      await expect(sessions.open(WHO)).rejects.toMatchObject(unknown);
      await other.query(`rollback; begin; lock table ${target.schema}.console_sessions in share mode`);
      // A write alone stands still: who somebody is, is said without it.
      now += 120_000;
      expect(await eventually('it is known', () => sessions.of(cookie).catch(() => null))).toMatchObject(WHO);
      await other.query('rollback');
    } finally {
      await other.end();
      await sessions.close();
      await place.remove();
    }
  });
});

describe.each(STORES)('two sign-ins of one person at once, with two roles, on %s', (kind) => {
  it('leave one role', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const sessions = await openSessionStore({ target: place.target, key: Buffer.alloc(32, 9), idleMs: HOUR });
    try {
      for (let round = 0; round < 10; round += 1) {
        await Promise.all(['admin', 'viewer', 'approver'].map((role) => sessions.enter({ ...WHO, role })));
        expect(new Set((await sessions.openOf(WHO)).map(({ role }) => role)).size).toBe(1);
      }
    } finally {
      await sessions.close();
      await place.remove();
    }
  });
});
