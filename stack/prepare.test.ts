import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { startPostgres, type TestPostgres } from '../test/support/postgres.js';
import { prepareDatabase } from './prepare.js';

const tag = randomBytes(4).toString('hex');
const [calls, hil, engine, database] = [`calls_${tag}`, `hil_${tag}`, `engine_${tag}`, `engine_db_${tag}`];
const password = () => randomBytes(24).toString('base64url');
const passwords = { [calls]: password(), [hil]: password(), [engine]: password() };

let postgres: TestPostgres;
const prepare = () =>
  prepareDatabase({
    env: {
      GATE_ADMIN_DATABASE_URL: postgres.url,
      GATE_DATABASE_ROLES: `${calls}:${passwords[calls]},${hil}:${passwords[hil]},${engine}:${passwords[engine]}:${database}`,
    },
    progress: () => undefined,
  });
const asRole = async <T>(role: string, use: (client: pg.Client) => Promise<T>, other?: string): Promise<T> => {
  const url = new URL(postgres.url);
  url.username = role;
  url.password = passwords[role] ?? '';
  if (other !== undefined) url.pathname = `/${other}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
};

beforeAll(async () => {
  postgres = await startPostgres();
  await prepare();
});
afterAll(async () => {
  const admin = new pg.Client({ connectionString: postgres.url });
  await admin.connect();
  await admin.query(`drop database if exists ${database} with (force)`);
  await admin.query(`drop owned by ${calls}, ${hil}, ${engine} cascade`);
  await admin.query(`drop role ${calls}, ${hil}, ${engine}`);
  await admin.end();
  await postgres.stop();
});

describe('gate prepare database', () => {
  it('lets each authority make its schema and read no other’s', async () => {
    await asRole(calls, async (client) => {
      await client.query('create schema if not exists gate_calls');
      await client.query('create table gate_calls.secrets (id int)');
    });
    await asRole(hil, async (client) => {
      await expect(client.query('select * from gate_calls.secrets')).rejects.toThrow('permission denied');
      await expect(client.query('create table gate_calls.mine (id int)')).rejects.toThrow('permission denied');
    });
  });

  it('gives the engine its database and keeps the others out of it, and it out of theirs', async () => {
    await asRole(engine, (client) => client.query('create table mine (id int)'), database);
    await expect(asRole(hil, (client) => client.query('select 1'), database)).rejects.toThrow('permission denied');
    await expect(asRole(engine, (client) => client.query('select 1'))).rejects.toThrow('permission denied');
  });

  it('may run again, and takes a new password with it', async () => {
    passwords[hil] = password();
    await prepare();
    await asRole(hil, (client) => client.query('select 1'));
    await asRole(calls, (client) => client.query('select * from gate_calls.secrets'));
  });

  it('says in one line that Postgres does not answer', async () => {
    const env = {
      GATE_ADMIN_DATABASE_URL: 'postgres://gate@127.0.0.1:1/gate',
      GATE_DATABASE_ROLES: `${hil}:${password()}`,
    };
    await expect(prepareDatabase({ env, progress: () => undefined, limitMs: 0 })).rejects.toThrow(
      /^Postgres \(GATE_ADMIN_DATABASE_URL\): .*ECONNREFUSED/,
    );
  });
});
