import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { readHilConfig } from '../../config/hil.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { Service } from '../plugins/service.js';
import { eventually } from '../../test/support/waiting.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { openReviewStore } from '../../test/support/whole-reviews.js';
import { open } from './open.js';

const PAYLOAD_KEYS = `test:${'0123456789abcdef'.repeat(4)}`;

describe('HIL', () => {
  let folder: string;
  let file: string;
  let steps: (() => Promise<unknown>)[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-hil-open-'));
    file = join(folder, 'hil.db');
    steps = [];
    // A file of a day whose reviews had no dates.
    await writeFile(file, gunzipSync(await readFile(join(PROJECT_ROOT, 'test', 'older', 'hil-2026-11-23.db.gz'))));
    // However long ago that is: a sweep was made today.
    const day = new DatabaseSync(file);
    day.exec(`create table review_sweeps (id integer primary key, swept_ms integer not null, doubted_ms integer);
      insert into review_sweeps (id, swept_ms) values (1, ${Date.now()})`);
    day.close();
  });
  afterEach(async () => {
    for (const step of steps) await step();
    await rm(folder, { recursive: true, force: true });
  });

  /** Opens it as far as it needs no engine. */
  async function opened(
    env: Record<string, string> = {},
    engine: () => Promise<unknown> = () => Promise.reject(new Error('no engine')),
    told: object = { notificationMode: 'disabled' },
  ): Promise<Awaited<ReturnType<typeof open>>> {
    const decisionKeyFile = join(folder, 'decision.pem');
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(decisionKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const own = readHilConfig({
      GATE_HIL_PAYLOAD_KEYS: PAYLOAD_KEYS,
      GATE_HIL_DECISION_KEY_FILE: decisionKeyFile,
      GATE_HIL_SESSION_KEY: '89abcdef01234567'.repeat(4),
      GATE_HIL_OPERATORS: 'dev@acme:t1-0123456789abcdefghijklmnopqrstuvwxyz',
      ...env,
    });
    const opening = {
      config: { own, notifications: { notificationTenants: [], ...told } },
      shared: { engine },
      storeTarget: () => ({ file }),
      onStop: (_phase: string, _what: string, step: () => Promise<unknown>) => void steps.unshift(step),
      logger: pino({ level: 'silent' }),
      registry: new Registry(),
      together: true,
    };
    return open(opening as unknown as Parameters<typeof open>[0]);
  }
  const undated = (): number => {
    const reader = new DatabaseSync(file, { readOnly: true });
    try {
      const [row] = reader.prepare('select count(*) as undated from reviews where metadata_expires_ms is null').all();
      return (row as { undated: number }).undated;
    } finally {
      reader.close();
    }
  };

  it('looks by itself for what is past its date, also while the engine is away, and stops with the process', async () => {
    await expect(opened()).rejects.toThrow('no engine');
    // The first sweep gives the rows their dates, and deletes what is past them by now.
    await eventually('every row that is left has its dates', () => undated() === 0);
  });

  it('says of a sweep that left something, and serves all the same, until one leaves nothing', async () => {
    // A reader in whose view of the file the deleted rows still are.
    const reader = new DatabaseSync(file);
    reader.exec('pragma journal_mode=wal; begin; select count(*) from reviews');
    const engine = {
      settings: { taskQueue: 'unused' },
      client: { workflowService: { getSystemInfo: () => Promise.resolve({}) } },
      circuit: { assertUp: () => undefined },
    };
    const hil = await opened({ GATE_HIL_RETENTION_SWEEP_SECS: '1' }, () => Promise.resolve(engine));
    const service = hil.listener?.().service as Service;
    steps.unshift(() => service.close());
    const ready = async () => {
      const answer = await service.health.inject('/readyz');
      return { code: answer.statusCode, ...answer.json<{ checks: object; details: { sweeper?: string } }>() };
    };
    const failed = async () =>
      /^gate_hil_retention_sweeps_total\{outcome="failed"\} (\d+)$/m.exec(
        (await service.health.inject('/metrics')).body,
      );
    await eventually('a sweep has ended', async () => Number((await failed())?.[1]) > 0);
    expect(await ready()).toMatchObject({
      code: 200,
      checks: { sweeper: 'ok' },
      details: { sweeper: expect.stringMatching(/^the last sweep failed: .*in the log of the store/) },
    });
    reader.exec('commit');
    reader.close();
    await eventually('a later sweep left nothing', async () => (await ready()).details.sweeper === undefined);
    const clock = new DatabaseSync(file);
    clock.exec(`update review_sweeps set swept_ms = ${Date.now() - 40 * 86_400_000}`);
    clock.close();
    await eventually('a sweep that does not believe its clock', async () =>
      (await ready()).details.sweeper?.startsWith('nothing is deleted: the clock says '),
    );
    expect((await ready()).code).toBe(200);
    expect((await service.health.inject('/metrics')).body).toMatch(/sweeps_total\{outcome="done"\} [1-9]/);
  });

  it('tells in a message of the approvals of those alone who may approve', async () => {
    const headlines: string[] = [];
    const receiver = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        headlines.push((JSON.parse(text) as { headline: string }).headline);
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    steps.unshift(() => new Promise((resolve) => receiver.close(resolve)));
    const webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const told = { notificationMode: 'warn', notificationTimeoutSeconds: 5, webhookUrl };
    const engine = { settings: { taskQueue: 'unused' } };
    const hil = await opened({}, () => Promise.resolve(engine), told);
    const reviews = await openReviewStore({
      target: { file },
      payloadKeys: parseKeyRing(PAYLOAD_KEYS),
      quorum: { strict: 3, risky: 1, destructive: 1 },
    });
    steps.unshift(() => reviews.close());
    hil.begin?.();
    const { row } = await reviews.parking.createOnce({
      agent_id: 'payments-agent',
      correlation_id: '00000000-0000-4000-8000-00000000abcd',
      method: 'tools/call',
      request_payload: { method: 'tools/call', params: { name: 'a_wire_transfer' } },
      risk_summary: 'money movement',
      state_namespace: 'operator',
      ttl_seconds: 600,
      review_reasons: ['money movement'],
      tenant: 'acme',
      approval_tier: 'strict',
    });
    const of = (what: string) => headlines.filter((line) => line.startsWith(what) && line.includes('a_wire_transfer'));
    await eventually('it is told that it waits', () => of('A call waits').length === 1);
    const given = (by: string) => ({ by, provenance: 'console-bearer', at: row.created_at });
    await reviews.settling.voted(row.id, [given('operator:gone'), given('operator:dev')]);
    await eventually('it is told that it was approved', () => of('A call still waits').length === 1);
    expect(of('A call still waits')[0]).toContain('1 of 3 people have approved');
  });

  it('serves a store only once it is at what was decided about tenants', async () => {
    const dispositions = join(folder, 'dispositions.json');
    const env = { GATE_HIL_DISPOSITIONS_FILE: dispositions, GATE_HIL_DISPOSITIONS_KEY: '0123456789abcdef'.repeat(4) };
    await expect(opened(env)).rejects.toThrow(/^GATE_HIL_DISPOSITIONS_FILE: .* is missing/);
    expect(undated()).toBeGreaterThan(0);
    await writeFile(dispositions, '');
    await expect(opened(env)).rejects.toThrow('no engine');
    expect(undated()).toBe(0);
    expect(JSON.parse(await readFile(dispositions, 'utf8'))).toMatchObject({ generation: 0, tenants: [] });
  });
});
