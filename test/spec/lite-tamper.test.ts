import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import type { LiteOptions } from '../../lite/serve.js';
import { createActivities } from '../../workers/activities.js';
import { echoTools, editFile, openLite, type EchoTools, type LiteFixture } from '../support/lite.js';
import { machineClock } from '../../lite/clock.js';
import { eventually } from '../support/waiting.js';

const TRANSFER = { from: 'operating', to: 'vendor', amount: 25 };
const HARMLESS = { path: 'notes.txt' };

let folder: string;
let tools: EchoTools;
let gate: LiteFixture;
let aheadMs = 0;
/** Told of each call right before its attempt, when all of it is in the file. */
let beforeAttempt: (correlationId: string) => void = () => undefined;
const start = async () => {
  const clock = { ...machineClock, now: () => Date.now() + aheadMs };
  const compose: LiteOptions['compose'] = (ports, durable) => {
    const activities = createActivities(ports);
    return {
      ...activities,
      async callUpstream(...given) {
        await durable();
        beforeAttempt(given[0].correlation_id);
        return activities.callUpstream(...given);
      },
    };
  };
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder, clock, compose });
};
beforeEach(async () => {
  aheadMs = 0;
  beforeAttempt = () => undefined;
  folder = await mkdtemp(join(tmpdir(), 'gate-lite-tamper-'));
  tools = await echoTools();
  await start();
});
afterEach(async () => {
  try {
    await gate.close();
  } finally {
    await tools.close();
  }
  await rm(folder, { recursive: true, force: true });
});

const sql = (text: string, ...values: unknown[]): Record<string, unknown>[] => {
  const connection = new DatabaseSync(join(folder, 'gate-lite.db'));
  try {
    return connection.prepare(text).all(...(values as string[])) as Record<string, unknown>[];
  } finally {
    connection.close();
  }
};
const edited = async (edit: () => void) => {
  await gate.close();
  try {
    edit();
  } finally {
    // Also over an edit that failed: what is open at the end of a test is closed, and only then ends its process.
    await start();
  }
};
const idOf = (answer: { body: object }) => String((answer.body as { correlation_id: string }).correlation_id);
const kinds = (id: string) =>
  sql('select event_kind from ledger_entries where correlation_id = ? order by seq', id).map(
    (row) => row['event_kind'],
  );
const replayed = (tool: string, id: string, args: object, decision = false) =>
  gate.call(tool, { id, arguments: args as never, decision });
const refused = { status: 409, body: { error: 'call_tampered' } };

describe('whoever edits the file of lite runs nothing by it', () => {
  it.each([
    ['a denied call', 'delete_file', HARMLESS, 403],
    ['a parked call', 'wire_transfer', TRANSFER, 202],
    ['an executed call', 'read_file', HARMLESS, 200],
  ])("update call_records set state = 'approved' on %s", async (_what, tool, args, status) => {
    const [id, waits] = [randomUUID(), randomUUID()];
    const first = await replayed(tool, id, args);
    expect(first.status).toBe(status);
    const other = await replayed('wire_transfer', waits, { ...TRANSFER, amount: 26 });
    const ran = tools.executed.length;
    const call = sql('select correlation_id from call_records order by created_ms limit 1')[0]?.[
      'correlation_id'
    ] as string;
    for (const state of ['approved', 'allowed']) {
      await edited(() => sql('update call_records set state = ?, mac = mac where correlation_id = ?', state, call));
      expect(await replayed(tool, id, args)).toMatchObject(refused);
    }
    expect(tools.executed).toHaveLength(ran);
    expect(kinds(call)).toContain('alarm.record_tampered');
    expect(kinds(call)).not.toContain('hil.approved');
    // The call that nobody touched goes on, is decided and runs.
    const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string; correlation_id: string }[];
    const row = rows.find(({ correlation_id }) => correlation_id === idOf(other));
    expect(await gate.send('POST', `/decide/${row?.id}`, { body: { decision: 'approve' } })).toMatchObject({
      status: 200,
    });
    const limit = Date.now() + 60_000;
    while ((await replayed('wire_transfer', waits, { ...TRANSFER, amount: 26 })).status !== 200 && Date.now() < limit);
    expect(tools.executed).toHaveLength(ran + 1);
  });

  it('signs no authorization for a denied or a parked call that was made an approved one', async () => {
    const [denied, parked] = [randomUUID(), randomUUID()];
    const ids = [
      idOf(await replayed('delete_file', denied, HARMLESS, true)),
      idOf(await replayed('wire_transfer', parked, TRANSFER, true)),
    ];
    await edited(() => sql("update call_records set state = 'approved'"));
    for (const id of ids) expect(await gate.send('GET', `/authorizations/${id}`)).toMatchObject(refused);
  });

  it('signs nothing by an approved record under gate.decision/v1 that was put back once it was closed as tampered', async () => {
    const call = idOf(await replayed('wire_transfer', randomUUID(), TRANSFER, true));
    const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    await gate.send('POST', `/decide/${rows[0]?.id}`, { body: { decision: 'approve' } });
    expect(await gate.send('GET', `/authorizations/${call}`)).toMatchObject({ status: 200 });
    await gate.close();
    const [older] = sql('select * from call_records where correlation_id = ?', call) as [Record<string, unknown>];
    sql('update call_records set deadline_ms = 1 where correlation_id = ?', call);
    await start();
    expect(await gate.send('GET', `/authorizations/${call}`)).toMatchObject(refused);
    await eventually('the alarm', () => kinds(call).includes('alarm.record_tampered'));
    const columns = Object.keys(older);
    const set = columns.map((column) => `${column} = ?`).join(', ');
    await edited(() =>
      sql(`update call_records set ${set} where correlation_id = ?`, ...columns.map((column) => older[column]), call),
    );
    expect(await gate.send('GET', `/authorizations/${call}`)).toMatchObject(refused);
  });

  it('finds an older row that was put back after a restart: the ledger has what came after it', async () => {
    const id = randomUUID();
    const parked = idOf(await replayed('wire_transfer', id, TRANSFER));
    let older: Record<string, unknown> = {};
    await edited(() => {
      older = sql('select * from call_records where correlation_id = ?', parked)[0] ?? {};
    });
    const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    await gate.send('POST', `/decide/${rows[0]?.id}`, { body: { decision: 'deny' } });
    await edited(() => {
      const columns = Object.keys(older);
      const set = columns.map((column) => `${column} = ?`).join(', ');
      sql(`update call_records set ${set} where correlation_id = ?`, ...columns.map((column) => older[column]), parked);
    });
    expect(await replayed('wire_transfer', id, TRANSFER)).toMatchObject(refused);
    expect(tools.executed).toHaveLength(0);
  });

  describe.each([
    [
      'hidden',
      (id: string) =>
        sql("update ledger_entries set deleted_at = '2026-11-22T05:00:00.000Z' where correlation_id = ?", id),
    ],
    [
      'edited to be another call’s, past the trigger that refuses it',
      (id: string) =>
        editFile(
          join(folder, 'gate-lite.db'),
          `update ledger_entries set correlation_id = 'x' where correlation_id = '${id}'`,
        ),
    ],
  ])('whoever puts back an older row of a call that ran, with its ledger rows %s', (_how, cover) => {
    const kept = (id: string) =>
      ['call_records', 'call_requests', 'reviews']
        .map((table) => [table, sql(`select * from ${table} where correlation_id = ?`, id)] as const)
        .filter(([, rows]) => rows.length > 0);
    const putBack = (rows: ReturnType<typeof kept>) => {
      for (const [table, [row = {}]] of rows) {
        const columns = Object.keys(row);
        const set = columns.map((column) => `${column} = ?`).join(', ');
        sql(`update ${table} set ${set} where correlation_id = ?`, ...Object.values(row), row['correlation_id']);
      }
    };
    const approved = async () => {
      for (const row of (await gate.send('GET', '/pending')).body as unknown as { id: string }[])
        await gate.send('POST', `/decide/${row.id}`, { body: { decision: 'approve' } });
    };

    /** A call that ran, and its rows as they were when it was in this state. */
    async function ran(state: 'allowed' | 'parked' | 'approved') {
      const id = randomUUID();
      const ask = () =>
        state === 'allowed' ? replayed('read_file', id, HARMLESS) : replayed('wire_transfer', id, TRANSFER);
      const older: ReturnType<typeof kept> = [];
      if (state !== 'parked') beforeAttempt = (call) => void older.push(...kept(call));
      const first = await ask();
      if (state === 'parked') older.push(...kept(idOf(first)));
      if (state !== 'allowed') await approved();
      const limit = Date.now() + 60_000;
      while ((await ask()).status !== 200 && Date.now() < limit);
      expect(tools.executed).toHaveLength(1);
      return { ask, older, call: String(older[0]?.[1][0]?.['correlation_id']) };
    }
    const lies = ({ older, call }: Awaited<ReturnType<typeof ran>>, state: string) => {
      putBack(older);
      expect(sql('select state from call_records where correlation_id = ?', call)).toEqual([{ state }]);
      cover(call);
    };
    async function isOver({ ask, call }: Awaited<ReturnType<typeof ran>>): Promise<void> {
      expect(await ask()).toMatchObject(refused);
      await approved();
      await edited(() => undefined);
      expect(await ask()).toMatchObject(refused);
      expect(tools.executed).toHaveLength(1);
      expect(sql('select state from call_records where correlation_id = ?', call)).toEqual([{ state: 'tampered' }]);
      const alarms =
        "select count(*) as n from ledger_entries where event_kind = 'alarm.record_tampered' and correlation_id = ?";
      expect(sql(alarms, call)).toEqual([{ n: 1 }]);
    }

    it.each(['allowed', 'parked', 'approved'] as const)(
      '%s: it does not run again, and an alarm says so',
      async (state) => {
        const one = await ran(state);
        await edited(() => lies(one, state));
        await isOver(one);
      },
    );

    it.each(['allowed', 'parked', 'approved'] as const)(
      '%s, while Gate runs and has not looked at it since its start: the next ask is answered at once',
      async (state) => {
        const one = await ran(state);
        await edited(() => undefined);
        lies(one, state);
        const began = performance.now();
        expect(await one.ask()).toMatchObject(refused);
        expect(performance.now() - began).toBeLessThan(3_000);
        await isOver(one);
      },
    );
  });

  it('executes nothing again under an id whose record was taken away', async () => {
    const id = randomUUID();
    await replayed('read_file', id, HARMLESS);
    await edited(() => {
      sql('delete from call_records');
      sql('delete from call_requests');
      sql('delete from call_tombstones');
    });
    expect(await replayed('read_file', id, HARMLESS)).toMatchObject({ status: 410, body: { error: 'call_purged' } });
    expect(tools.executed).toHaveLength(1);
  });
});

it('goes on, and ends, after an edit that fails', async () => {
  const failing = edited(() => sql('update no_table set x = 1'));
  await expect(failing).rejects.toThrow(/no_table/);
  expect((await replayed('read_file', randomUUID(), HARMLESS)).status).toBe(200);
});

describe('an authorization', () => {
  it('says when it was given and until when it holds, the same at every request, and is not given after that', async () => {
    const at = Math.floor(Date.now() / 1000);
    const allowed = idOf(await replayed('read_file', randomUUID(), HARMLESS, true));
    const first = await gate.send('GET', `/authorizations/${allowed}`);
    const { iat, exp } = first.body['authorization'] as { iat: number; exp: number };
    expect(first.status).toBe(200);
    expect(Math.abs(iat - at)).toBeLessThan(30);
    expect(exp - iat).toBe(60);
    expect((await gate.send('GET', `/authorizations/${allowed}`)).body).toEqual(first.body);
    aheadMs = 61_000;
    expect(await gate.send('GET', `/authorizations/${allowed}`)).toMatchObject({
      status: 410,
      body: { error: 'authorization_expired' },
    });
  });
});

describe('a decision', () => {
  it('that names another action than the one that waits decides nothing', async () => {
    await replayed('wire_transfer', randomUUID(), TRANSFER);
    const [row] = (await gate.send('GET', '/pending')).body as unknown as {
      id: string;
      original_payload_digest: string;
    }[];
    const decide = (action_digest: string) =>
      gate.send('POST', `/decide/${row?.id}`, { body: { decision: 'approve', action_digest } });
    expect(await decide(`sha256:${'0'.repeat(64)}`)).toMatchObject({
      status: 409,
      body: { error: 'action_digest_mismatch' },
    });
    expect(tools.executed).toHaveLength(0);
    expect(await decide(row?.original_payload_digest ?? '')).toMatchObject({ status: 200 });
  });

  it.each(['system', 'ｓｙｓｔｅｍ:ttl-sweep', 'sys\u200btem', 'ѕystem'])(
    'is not taken through a channel that reads as Gate’s own: %j',
    async (decided_via) => {
      await replayed('wire_transfer', randomUUID(), TRANSFER);
      const [row] = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
      const decide = (body: object) => gate.send('POST', `/decide/${row?.id}`, { body });
      expect(await decide({ decision: 'deny', decided_via })).toMatchObject({ status: 400 });
      expect(await decide({ decision: 'deny', decided_via: 'ｃｏｎｓｏｌｅ' })).toMatchObject({ status: 400 });
    },
  );

  it('is not taken about a review that shows another call than would run', async () => {
    await replayed('wire_transfer', randomUUID(), TRANSFER);
    await replayed('wire_transfer', randomUUID(), { ...TRANSFER, amount: 9_999 });
    const rows = (await gate.send('GET', '/pending')).body as unknown as { id: string }[];
    const [shown, other] = [rows[0]?.id, rows[1]?.id];
    await edited(() =>
      sql(
        'update reviews set original_payload_digest = (select original_payload_digest from reviews where id = ?) where id = ?',
        other,
        shown,
      ),
    );
    const answer = await gate.send('POST', `/decide/${shown}`, { body: { decision: 'approve' } });
    expect(answer).toMatchObject({ status: 409, body: { error: 'review_tampered' } });
    expect(tools.executed).toHaveLength(0);
  });

  it('is not taken, approve or deny, about a review whose words somebody chose, which is listed as tampered and told once', async () => {
    const id = idOf(await replayed('wire_transfer', randomUUID(), TRANSFER));
    const waits = randomUUID();
    const again = () => replayed('wire_transfer', waits, { ...TRANSFER, amount: 26 });
    const other = idOf(await again());
    await edited(() => {
      sql("update reviews set risk_summary = 'a harmless look', agent_id = 'trusted-bot' where correlation_id = ?", id);
    });
    const listed = (await gate.send('GET', '/pending')).body as unknown as Record<string, string>[];
    const rowOf = (call: string) => listed.find(({ correlation_id }) => correlation_id === call);
    expect(rowOf(id)).toMatchObject({ status: 'tampered', agent_id: 'unknown', method: 'unknown' });
    expect(JSON.stringify(rowOf(id))).not.toContain('harmless');
    expect(rowOf(other)).toMatchObject({ status: 'pending' });
    for (const decision of ['approve', 'deny', 'approve'])
      expect(await gate.send('POST', `/decide/${rowOf(id)?.['id']}`, { body: { decision } })).toMatchObject({
        status: 409,
        body: { error: 'review_tampered' },
      });
    await edited(() => undefined);
    await gate.send('GET', '/pending');
    expect(kinds(id).filter((kind) => kind === 'alarm.review_tampered')).toHaveLength(1);
    expect(
      sql("select tenant from ledger_entries where event_kind = 'alarm.review_tampered' and correlation_id = ?", id),
    ).toEqual(sql("select distinct tenant from ledger_entries where event_kind = 'proxy.verdict'"));
    expect(await gate.send('POST', `/decide/${rowOf(other)?.['id']}`, { body: { decision: 'approve' } })).toMatchObject(
      {
        status: 200,
      },
    );
    const limit = Date.now() + 60_000;
    while ((await again()).status !== 200 && Date.now() < limit);
    expect(tools.executed).toHaveLength(1);
  });
});
