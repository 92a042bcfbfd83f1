import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { sql, type Migration } from 'kysely';
import { openStore } from '../adapters/store/database.js';
import { ledgerPlace, NOT_MIGRATED, STORES } from '../test/support/ledger.js';
import { needs } from '../test/support/needs.js';
import { callMigrations } from './calls.js';
import { hilMigrations } from './hil.js';
import { identityMigrations } from './identity.js';
import { ledgerMigrations } from './ledger.js';

interface Steps {
  tenant_lifecycle: { operation_id: string; kind: string; tenant: string; generation: number; receipt: string };
}
const upTo = (all: Record<string, Migration>, last: string): Record<string, Migration> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name <= last));

const AUTHORITIES: Readonly<Record<string, Record<string, Migration>>> = {
  calls: callMigrations,
  hil: hilMigrations,
  identity: identityMigrations,
  ledger: ledgerMigrations,
};

describe.each(Object.entries(AUTHORITIES))('the migrations of %s', (_name, migrations) => {
  const names = Object.keys(migrations);

  it('have numbers of their own that only grow: a new one comes last', () => {
    const numbers = names.map((name) => Number(/^(\d{4})[-_]/.exec(name)?.[1]));
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    expect(names.toSorted()).toEqual(names);
  });

  it('bring a place on that any earlier version left, one by one', async () => {
    for (const last of names) {
      const place = await ledgerPlace('sqlite', { migrated: NOT_MIGRATED });
      await (await openStore(place.target, upTo(migrations, last))).close();
      for (let again = 0; again < 2; again += 1) await (await openStore(place.target, migrations)).close();
      const applied = await place.sql('select name from kysely_migration order by name');
      expect(applied.map(({ name }) => name)).toEqual(names);
      await place.remove();
    }
  });

  const python = spawnSync('python3', ['-c', 'import sqlite3']).status === 0;
  (python ? it : it.skip)(
    `leave a file that an operator can open with the SQLite of the distribution${needs('python3', python)}`,
    async () => {
      const place = await ledgerPlace('sqlite', { migrated: NOT_MIGRATED });
      await (await openStore(place.target, migrations)).close();
      const read =
        'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("select count(*) > 0 from sqlite_master").fetchone()[0])';
      const { stdout, stderr } = spawnSync('python3', ['-c', read, (place.target as { file: string }).file], {
        encoding: 'utf8',
      });
      expect([stdout.trim(), stderr]).toEqual(['1', '']);
      await place.remove();
    },
  );

  it('give no table of an insert in a trigger another name: SQLite before 3.41 would open nothing of the file', async () => {
    const place = await ledgerPlace('sqlite', { migrated: NOT_MIGRATED });
    await (await openStore(place.target, migrations)).close();
    const triggers = await place.sql("select name, sql from sqlite_master where type = 'trigger'");
    const aliased = triggers.filter(({ sql: text }) => /insert into \S+ as /i.test(String(text)));
    expect(aliased).toEqual([]);
    await place.remove();
  });
});

it('a number that was given keeps its name: places remember it', () => {
  expect(Object.keys(callMigrations).slice(0, 6)).toEqual([
    '0001-calls',
    '0002-follow-ups',
    '0003-sibling-tools',
    '0004-macs',
    '0005-sensitive-steps',
    '0006-setbacks',
  ]);
});

describe.each(STORES)('migrations over what an earlier version left, on %s', (kind) => {
  it('a column that was added before the migration was cut off is no obstacle', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const before = await openStore(place.target, upTo(callMigrations, '0002-follow-ups'));
    await sql`alter table call_records add column sibling_tools text`.execute(before.db);
    await before.close();
    const after = await openStore(place.target, callMigrations);
    await sql`select sibling_tools from call_records`.execute(after.db);
    await after.close();
    await place.remove();
  });

  it.each([
    ['nothing after 0003', ['0001-calls', '0002-follow-ups', '0003-sibling-tools']],
    [
      '0005 and 0006 and not 0004',
      ['0001-calls', '0002-follow-ups', '0003-sibling-tools', '0005-sensitive-steps', '0006-setbacks'],
    ],
  ])('calls of a version that had %s go on', async (_what, had) => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const before = await openStore(
      place.target,
      Object.fromEntries(Object.entries(callMigrations).filter(([name]) => had.includes(name))),
    );
    await before.close();
    const after = await openStore(place.target, callMigrations);
    for (const read of [
      'select mac, version from call_records',
      'select * from call_seal',
      'select * from call_setbacks',
    ])
      expect((await sql.raw(read).execute(after.db)).rows).toEqual([]);
    await after.close();
    await place.remove();
  });

  it('of a newer version are refused: what they did is not known here', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const newer = { ...callMigrations, '9999-later': { up: () => Promise.resolve() } };
    await (await openStore(place.target, newer)).close();
    await expect(openStore(place.target, callMigrations)).rejects.toThrow(/9999-later/);
    await place.remove();
  });

  it('steps of one tenant that had one number get places of their own; the first and the newest keep theirs', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const before = await openStore<Steps>(place.target, upTo(ledgerMigrations, '0010_zzz'));
    const step = (operation: string, tenant: string, generation: number) => ({
      operation_id: operation,
      kind: 'lifecycle_marker',
      tenant,
      generation,
      receipt: '{}',
    });
    await before.db
      .insertInto('tenant_lifecycle')
      .values([
        step('a', 'acme', 1),
        step('b', 'acme', 1),
        step('c', 'acme', 1),
        step('d', 'acme', 2),
        step('e', 'globex', 1),
      ])
      .execute();
    await before.close();
    const after = await openStore<Steps>(place.target, ledgerMigrations);
    const rows = await after.db.selectFrom('tenant_lifecycle').selectAll().orderBy('operation_id').execute();
    expect(rows.map(({ generation }) => Number(generation))).toEqual([1, -1, -2, 2, 1]);
    await after.close();
    await place.remove();
  });

  it('messages to people that said by their ids what they tell say it in a column', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const before = await openStore(place.target, upTo(hilMigrations, '0031-notices-limited'));
    if (kind === 'postgres') await sql`set session_replication_role = replica`.execute(before.db);
    else await sql`pragma foreign_keys = off`.execute(before.db);
    const stored = {
      trigger: 0,
      'update:approval-1': 1,
      'update:escalated': 100,
      'update:escalated-2': 101,
      'resolve:denied': 1_000,
    };
    for (const [name, ordinal] of Object.entries(stored))
      await sql`insert into review_notices (notification_id, channel, pending_id, ordinal, notice, state, attempts, due_ms, mac)
        values (${`p:${name}`}, 'webhook', 'p', ${ordinal}, '{}', 'queued', 0, 0, 'm')`.execute(before.db);
    await before.close();
    const after = await openStore(place.target, hilMigrations);
    const { rows } = await sql<{ kind: string }>`select kind from review_notices order by ordinal`.execute(after.db);
    expect(rows.map((row) => row.kind)).toEqual(['trigger', 'approval', 'escalation', 'escalation', 'resolve']);
    await after.close();
    await place.remove();
  });

  it('of two passkeys with one key the later goes, whatever the order of its members; one that cannot be read stays, without a digest', async () => {
    const place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    const before = await openStore(place.target, upTo(hilMigrations, '0022-vouched-since'));
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    const ofX = `215820${Buffer.from(x, 'base64url').toString('hex')}`;
    const ofY = `225820${Buffer.from(y, 'base64url').toString('hex')}`;
    const ed = generateKeyPairSync('ed25519').publicKey;
    const edX = Buffer.from(ed.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
    const { n = '', e = '' } = rsa.export({ format: 'jwk' });
    const hexOf = (text: string) => Buffer.from(text, 'base64url').toString('hex');
    const okp = generateKeyPairSync('ed25519').publicKey;
    const okpX = Buffer.from(okp.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
    const stored: readonly (readonly [string, string, number])[] = [
      ['later', `a5010203262001${ofY}${ofX}`, 2],
      ['earlier', `a5010203262001${ofX}${ofY}`, 1],
      ['ed25519', `a4010103272006215820${edX}`, 3],
      ['rsa', `a401030339010020590100${hexOf(n)}2143${hexOf(e)}`, 4],
      ['unreadable', 'a1f5', 5],
      // Members that a key may have besides: its id, what it is for, one with a name, a truth value.
      ['more members', `a8010103270242aabb0482010261611b000000010000000018f5f52006215820${okpX}`, 6],
    ];
    for (const [id, cose, at] of stored)
      await sql`insert into passkeys (credential_id, tenant, subject, public_key, counter, created_ms, mac)
        values (${id}, 'acme', ${id}, ${Buffer.from(cose, 'hex').toString('base64url')}, 0, ${at}, 'm')`.execute(
        before.db,
      );
    await before.close();
    const after = await openStore(place.target, hilMigrations);
    const { rows } = await sql<{ credential_id: string; key_sha256: string | null }>`
      select credential_id, key_sha256 from passkeys order by created_ms`.execute(after.db);
    const digestOf = (key: KeyObject) => hash('sha256', key.export({ format: 'der', type: 'spki' }), 'hex');
    expect(rows.map((row) => [row.credential_id, row.key_sha256])).toEqual([
      ['earlier', digestOf(publicKey)],
      ['ed25519', digestOf(ed)],
      ['rsa', digestOf(rsa)],
      ['unreadable', null],
      ['more members', digestOf(okp)],
    ]);
    await expect(
      sql`insert into passkeys (credential_id, tenant, subject, public_key, counter, created_ms, mac, key_sha256)
        values ('other', 'acme', 'other', 'k', 0, 6, 'm', ${digestOf(publicKey)})`.execute(after.db),
    ).rejects.toThrow(/unique/i);
    await after.close();
    await place.remove();
  });
});
