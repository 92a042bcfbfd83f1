import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { LedgerEntry } from '../../contracts/ledger.js';
import type { ToolClass } from '../../contracts/policy.js';
import { callMigrations } from '../../migrations/calls.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { seededRandom } from '../../test/support/random.js';
import { openClasses, type OpenClasses } from '../../test/support/tool-classes.js';
import { keyRing } from '../crypto/key-ring.js';
import { openLedger } from '../../test/support/whole-ledger.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { type ClassLedger, classesIdOf } from './bound-to-ledger.js';
import { eventually, timePasses } from '../../test/support/waiting.js';

const KEY = Buffer.alloc(32, 'k');
const KEYS = keyRing(new Map([['k', KEY]]));
const UPSTREAM = 'https://tools.example/mcp';
const OPERATOR = { tenant: 'acme', subject: 'operator:dev' };
const WRITER = fileURLToPath(new URL('../../dist/test/support/class-writer.js', import.meta.url));

describe.each(STORES)('a change of a class that is not finished, on %s', (kind) => {
  let places: TestLedgerPlace[];
  let calls: StoreTarget;
  let rowsAt: StoreTarget;
  let open: OpenClasses[];
  let ledger: Awaited<ReturnType<typeof openLedger>> | null;
  const process_ = async (through?: ClassLedger, graceMs = 100) => {
    ledger ??= await openLedger({ target: rowsAt, sidecarKeys: KEYS });
    const gate = await openClasses({
      target: calls,
      ledger: through ?? ledger,
      keys: KEYS,
      upstream: UPSTREAM,
      graceMs,
    });
    open.push(gate);
    return gate;
  };
  const closeAll = async () => {
    for (const one of open.splice(0)) await one.db.close();
    await ledger?.close();
    ledger = null;
  };
  const rows = async (): Promise<LedgerEntry[]> =>
    (await ledger?.byCorrelation(classesIdOf('acme', UPSTREAM), { tenant: 'acme' })) ?? [];
  const kinds = async () => (await rows()).map(({ event_kind: kind }) => kind);
  beforeEach(async () => {
    const [callsPlace, ledgerHome] = [await ledgerPlace(kind, { migrated: callMigrations }), await ledgerPlace(kind)];
    places = [callsPlace, ledgerHome];
    [calls, rowsAt] = [callsPlace.target, ledgerHome.target];
    open = [];
    ledger = null;
    await process_();
    await closeAll();
  }, 60_000);
  afterEach(async () => {
    await closeAll();
    for (const place of places) await place.remove();
  });

  /** Runs a process that is killed while it classes the tool. */
  async function killed(point: 'before' | 'after' | 'withdrawn', tool: string, said: ToolClass): Promise<void> {
    const args = [
      WRITER,
      JSON.stringify(calls),
      JSON.stringify(rowsAt),
      KEY.toString('hex'),
      UPSTREAM,
      point,
      tool,
      said,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect([code, signal]).toEqual([null, 'SIGKILL']);
  }

  it('killed before the ledger was told: never in force, withdrawn with one row at the next opening', async () => {
    await killed('before', 'create_issue', 'change');
    const gate = await process_();
    expect(await gate.of('create_issue')).toEqual({});
    await gate.store.settle();
    await (await process_()).store.settle();
    expect(await kinds()).toEqual(['tool_class.withdrawn']);
    expect(await gate.of('create_issue', 'list_files')).toEqual({});
    await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
    expect(await (await process_()).of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
    expect(await kinds()).toEqual(['tool_class.withdrawn', 'tool_class.set']);
  }, 60_000);

  it('killed after the ledger was told: in force for whoever looks, with no alarm, and completed at the next opening', async () => {
    await killed('after', 'create_issue', 'change');
    const [gate, worker] = await Promise.all([process_(), process_()]);
    const said = { create_issue: { class: 'change' } };
    // First each alone, then both at once.
    expect(await Promise.all([gate.of('create_issue'), worker.of('create_issue')])).toEqual([said, said]);
    await gate.store.settle();
    const left = await sql<{ content: string }>`select content from tool_classes`.execute(gate.db.db);
    expect(left.rows[0]?.content).not.toContain('unfinished');
    expect(await gate.of('create_issue')).toEqual(said);
    await worker.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
    expect(await kinds()).toEqual(['tool_class.set', 'tool_class.set']);
  }, 60_000);

  it('killed while it withdrew another one: withdrawn once, whoever goes on', async () => {
    await killed('before', 'create_issue', 'change');
    await killed('withdrawn', 'create_issue', 'review');
    const gate = await process_();
    expect(await gate.of('create_issue')).toEqual({});
    await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'strict' });
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'strict' } });
    expect(await kinds()).toEqual(['tool_class.withdrawn', 'tool_class.set']);
  }, 60_000);

  it('killed twice over what was in force: that stays, and the next change comes behind it', async () => {
    const first = await process_();
    await first.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
    await first.classing.set(OPERATOR, { unlisted: true, tool: 'other', class: 'review' });
    await closeAll();
    await killed('before', 'create_issue', 'change');
    await killed('after', 'third', 'read');
    const gate = await process_();
    expect(await gate.of('create_issue', 'other', 'third')).toEqual({
      create_issue: { class: 'deny' },
      other: { class: 'review' },
      third: { class: 'read' },
    });
    expect(await kinds()).toEqual(['tool_class.set', 'tool_class.set', 'tool_class.withdrawn', 'tool_class.set']);
  }, 60_000);

  describe('whoever edits the store', () => {
    const ALL_WAIT = { create_issue: { suspended: 'unreadable' }, other: { suspended: 'unreadable' } };
    const kept = async (gate: OpenClasses) =>
      (await sql<{ content: string; tag: string }>`select content, tag from tool_classes`.execute(gate.db.db)).rows[0];
    const putBack = (gate: OpenClasses, row: Awaited<ReturnType<typeof kept>>) =>
      sql`update tool_classes set content = ${row?.content}, tag = ${row?.tag}`.execute(gate.db.db);

    /** The alarm row is appended after the finding it is about; the same finding gives one row. */
    const alarmed = async (times: number) => {
      const alarms = async () => (await kinds()).filter((kind) => kind === 'alarm.tool_classes_outdated').length;
      await eventually(`${times} alarms`, async () => (await alarms()) >= times);
      expect(await alarms()).toBe(times);
    };

    it('finishes no change by putting back a set of when it was not finished: what came since counts, or every tool waits', async () => {
      await killed('before', 'create_issue', 'change');
      const gate = await process_();
      const begun = await kept(gate);
      await gate.store.settle();
      await putBack(gate, begun);
      // It was withdrawn and stays withdrawn.
      expect(await gate.of('create_issue', 'other')).toEqual({});
      expect(await (await process_()).of('create_issue', 'other')).toEqual({});
      await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
      await putBack(gate, begun);
      expect(await gate.of('create_issue', 'other')).toEqual(ALL_WAIT);
      expect(await (await process_()).of('create_issue', 'other')).toEqual(ALL_WAIT);
      await alarmed(1);
    }, 60_000);

    it('undoes no change by putting back the set before it, neither of a finished one nor of one that a crash left', async () => {
      const gate = await process_();
      await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'change' });
      const before = await kept(gate);
      await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
      await putBack(gate, before);
      expect(await gate.of('create_issue', 'other')).toEqual(ALL_WAIT);
      await gate.classing.forget(OPERATOR, { all: true });
      await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'change' });
      const again = await kept(gate);
      await closeAll();
      await killed('after', 'create_issue', 'deny');
      const restarted = await process_();
      await putBack(restarted, again);
      expect(await restarted.of('create_issue', 'other')).toEqual(ALL_WAIT);
      await alarmed(2);
    }, 60_000);

    it('writes no unfinished change of his own', async () => {
      const gate = await process_();
      await gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
      const row = await kept(gate);
      const forged = JSON.parse(row?.content ?? '') as Record<string, unknown>;
      const said = { class: 'change', definition_sha256: null, reason: null, set_by: 'x', set_at: 'x' };
      forged['unfinished'] = { row: (await rows())[0]?.id, tool: 'create_issue', said };
      await putBack(gate, { content: JSON.stringify(forged), tag: row?.tag ?? '' });
      expect(await gate.of('create_issue', 'other')).toEqual(ALL_WAIT);
    }, 60_000);
  });

  it('holds up its own tool alone while the ledger is away, and nobody where it answers again', async () => {
    await (await process_()).classing.set(OPERATOR, { unlisted: true, tool: 'other', class: 'change' });
    await closeAll();
    await killed('before', 'create_issue', 'change');
    ledger = await openLedger({ target: rowsAt, sidecarKeys: KEYS });
    const real = ledger;
    let away = false;
    const gate = await process_({
      append: (added) => real.append(added),
      byCorrelation: (id, scope) => (away ? Promise.reject(new Error('away')) : real.byCorrelation(id, scope)),
    });
    await gate.of('other');
    away = true;
    expect(await gate.of('create_issue', 'other')).toEqual({
      create_issue: { suspended: 'unreadable' },
      other: { class: 'change' },
    });
    away = false;
    expect(await gate.of('create_issue', 'other')).toEqual({ other: { class: 'change' } });
  }, 60_000);

  it('of several processes at once, some of which die: no alarm, nothing unreadable, and everybody ends with what the ledger says', async () => {
    const random = seededRandom('classes of several processes');
    ledger = await openLedger({ target: rowsAt, sidecarKeys: KEYS });
    const real = ledger;
    const pause = () => timePasses(random.next() * 12, 'processes meet in any order');
    const lossy: ClassLedger = {
      async append(added) {
        await pause();
        if (random.next() < 0.1) throw new Error('dies before the ledger is told');
        const receipts = await real.append(added);
        await pause();
        if (random.next() < 0.1) throw new Error('dies after the ledger was told');
        return receipts;
      },
      async byCorrelation(id, scope) {
        await pause();
        return real.byCorrelation(id, scope);
      },
    };
    const gates = await Promise.all(Array.from({ length: 3 }, () => process_(lossy, 30)));
    const tools = ['a', 'b', 'c'];
    const unreadable: unknown[] = [];
    let writing = true;
    const reading = gates.map(async (gate) => {
      while (writing) {
        const facts = await gate.of(...tools);
        unreadable.push(...Object.values(facts).filter(({ suspended }) => suspended !== undefined));
        await pause();
      }
    });
    const writingAll = gates.map(async (gate) => {
      for (let time = 0; time < 12; time += 1) {
        const tool = random.pick(tools);
        const done =
          random.next() < 0.2
            ? gate.classing.forget(OPERATOR, random.next() < 0.3 ? { all: true } : { tool })
            : gate.classing.set(OPERATOR, {
                unlisted: true,
                tool,
                class: random.pick(['change', 'review', 'deny'] as const),
              });
        await done.catch(() => undefined);
      }
    });
    await Promise.all(writingAll);
    writing = false;
    await Promise.all(reading);
    const last = await process_(undefined, 0);
    await last.store.settle();
    const found = await rows();
    expect({ unreadable, alarms: found.filter(({ event_kind: kind }) => kind?.startsWith('alarm.')) }).toEqual({
      unreadable: [],
      alarms: [],
    });
    // Replays the rows in order: a change counts unless a withdrawal comes before it.
    const withdrawn = new Set<unknown>();
    let classed = new Map<unknown, unknown>();
    for (const { id, event_kind: kind, policy_decision: said } of found) {
      if (kind === 'tool_class.withdrawn') withdrawn.add(said?.['withdrawn']);
      else if (withdrawn.has(id)) continue;
      else if (kind === 'tool_class.set') classed.set(said?.['tool'], { class: said?.['class'] });
      else if (said?.['tool'] === null) classed = new Map();
      else classed.delete(said?.['tool']);
    }
    for (const gate of [last, ...gates]) expect(await gate.of(...tools)).toEqual(Object.fromEntries(classed));
  }, 120_000);
});
