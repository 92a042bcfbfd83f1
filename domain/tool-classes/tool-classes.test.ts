import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { LedgerEntry, NewLedgerRow } from '../../contracts/ledger.js';
import { callMigrations } from '../../migrations/calls.js';
import { toolClassMigrations } from '../../migrations/tool-classes.js';
import { toolPinMigrations } from '../../migrations/tool-pins.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openClasses, type OpenClasses } from '../../test/support/tool-classes.js';
import { keyRing } from '../crypto/key-ring.js';
import { operatorsClasses, toolClassing } from './tool-classes.js';
import { timePasses } from '../../test/support/waiting.js';

const KEYS = keyRing(new Map([['k', Buffer.alloc(32, 'k')]]));
const UPSTREAM = 'https://tools.example/mcp';
const OPERATOR = { tenant: 'acme', subject: 'operator:dev' };
const [FIRST, SECOND] = ['a'.repeat(64), 'b'.repeat(64)] as const;

describe.each(STORES)('what operators say of tools, on %s', (kind) => {
  let place: TestLedgerPlace;
  let open: OpenClasses[];
  let rows: NewLedgerRow[];
  let ledgerIsAway: boolean;
  const process_ = async (keys = KEYS, upstream = UPSTREAM, written = (row: NewLedgerRow) => row) => {
    const ledger = {
      byCorrelation: async (id: string) => {
        if (ledgerIsAway) throw new Error('the ledger is away');
        return rows.filter((row) => row.correlation_id === id) as LedgerEntry[];
      },
      append: async (added: readonly NewLedgerRow[]) => {
        if (ledgerIsAway) throw new Error('the ledger is away');
        rows.push(...added.map(written));
        return [];
      },
    };
    const made = await openClasses({ target: place.target, ledger, keys, upstream });
    open.push(made);
    return made;
  };
  let gate: OpenClasses;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: callMigrations });
    open = [];
    rows = [];
    ledgerIsAway = false;
    gate = await process_();
  }, 60_000);
  afterEach(async () => {
    for (const one of open) await one.db.close();
    await place.remove();
  });
  const saw = (agent: string, tools: Readonly<Record<string, string>>, whole = false) =>
    gate.pins.saw({ tenant: 'acme', agent }, new Map(Object.entries(tools)), whole);
  const set = (tool: string, said: 'read' | 'change' | 'review' | 'strict' | 'deny', by = OPERATOR) =>
    gate.classing.set(by, { unlisted: true, tool, class: said });

  it('counts at once in every process, after a restart too, for this tenant, upstream and tool alone', async () => {
    const worker = await process_();
    expect(await worker.of('create_issue')).toEqual({});
    await set('create_issue', 'change');
    const said = { create_issue: { class: 'change' } };
    expect(await worker.of('create_issue', 'other', '__proto__', 'constructor')).toEqual(said);
    expect(await (await process_()).of('create_issue')).toEqual(said);
    expect(await (await process_(KEYS, 'https://elsewhere.example/mcp')).of('create_issue')).toEqual({});
    expect(
      await operatorsClasses({ store: gate.store, pins: gate.pins, upstream: UPSTREAM }).of('rival', 'bot', [
        'create_issue',
      ]),
    ).toEqual({});
    await set('create_issue', 'deny');
    expect(await worker.of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
  });

  it('is one ledger row each: who, which tool, the old class and the new, and the definition it was said of', async () => {
    await saw('bot', { create_issue: FIRST });
    await gate.classing.set(OPERATOR, {
      unlisted: true,
      tool: 'create_issue',
      class: 'change',
      reason: 'looked at it',
    });
    await set('create_issue', 'strict');
    await gate.classing.forget(OPERATOR, { tool: 'create_issue' });
    expect(rows).toMatchObject([
      {
        event_kind: 'tool_class.set',
        tenant: 'acme',
        actor_sub: 'operator:dev',
        policy_decision: {
          upstream: UPSTREAM,
          tool: 'create_issue',
          class: 'change',
          previous_class: null,
          definition_sha256: FIRST,
          reason: 'looked at it',
        },
      },
      { event_kind: 'tool_class.set', policy_decision: { class: 'strict', previous_class: 'change' } },
      { event_kind: 'tool_class.forgotten', policy_decision: { tool: 'create_issue', previous_class: 'strict' } },
    ]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(3);
    expect(await gate.of('create_issue')).toEqual({});
    expect(await gate.classing.forget(OPERATOR, { tool: 'create_issue' })).toBe(0);
    expect(rows).toHaveLength(3);
  });

  it('is not in force where the ledger did not take its row', async () => {
    expect(await gate.of('create_issue')).toEqual({});
    ledgerIsAway = true;
    await expect(set('create_issue', 'change')).rejects.toThrow('the ledger is away');
    // Until the ledger answers, nobody knows whether it took the row; the tool waits like an unclassed one.
    expect(await gate.of('create_issue', 'list_files')).toEqual({ create_issue: { suspended: 'unreadable' } });
    ledgerIsAway = false;
    expect(await gate.of('create_issue')).toEqual({});
    await set('create_issue', 'change');
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
    expect(rows.map(({ event_kind: kind }) => kind)).toEqual(['tool_class.withdrawn', 'tool_class.set']);
  });

  it('settles a name whose row the ledger takes in another form, and holds up no other tool', async () => {
    await set('create_issue', 'change');
    await set('a\0b', 'deny');
    expect(rows.at(-1)).toMatchObject({ policy_decision: { tool: 'a\ufffdb' } });
    const said = { create_issue: { class: 'change' }, 'a\0b': { class: 'deny' } };
    expect(await gate.of('create_issue', 'a\0b')).toEqual(said);
    expect(await (await process_()).of('create_issue', 'a\0b')).toEqual(said);
    expect(rows.map(({ event_kind: kind }) => kind)).toEqual(['tool_class.set', 'tool_class.set']);
  });

  it.each([
    ['another tool', { tool: 'other' }],
    ['every tool', { tool: null }],
    ['another class', { class: 'deny' }],
    ['another version', { generation: 7 }],
  ])('is not in force where the row of its id speaks of %s, and says so', async (_what, other) => {
    const deceived = await process_(KEYS, UPSTREAM, (row) =>
      row.event_kind === 'tool_class.set' ? { ...row, policy_decision: { ...row.policy_decision, ...other } } : row,
    );
    await expect(
      deceived.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'read' }),
    ).rejects.toMatchObject({
      code: expect.stringMatching(/^tool_classes_(busy|unreadable)$/),
    });
    expect(await deceived.of('create_issue')).not.toEqual({ create_issue: { class: 'read' } });
    expect(await (await process_()).of('create_issue')).not.toEqual({ create_issue: { class: 'read' } });
  });

  it('loses no word where two operators speak at once', async () => {
    const other = await process_();
    await Promise.all([
      set('a', 'change'),
      other.classing.set(OPERATOR, { unlisted: true, tool: 'b', class: 'deny' }),
      set('c', 'strict'),
    ]);
    expect(await gate.of('a', 'b', 'c')).toEqual({
      a: { class: 'change' },
      b: { class: 'deny' },
      c: { class: 'strict' },
    });
  });

  it('holds calls in every spelling that an upstream may take for the name, and lets none run in another one', async () => {
    await set('get_user', 'deny');
    await set('list_items', 'review');
    await set('billing/show_invoice', 'strict');
    await set('create_issue', 'change');
    const spelt = {
      deny: [
        'get_user',
        'GET_USER',
        'Get_User',
        'get_user ',
        ' get_user',
        'get-user',
        'getUser',
        'get.user',
        'x/get_user',
        'get%5Fuser',
        'g%65t_user',
        'get\\u005fuser',
        'gеt_user',
      ],
      review: ['List-Items', 'mcp__shop__list_items', 'shop:listItems', 'list\u200b_items', 'ｌist_items'],
      strict: ['show_invoice', 'Billing.showInvoice', 'billing/show_invoice'],
    };
    for (const [said, names] of Object.entries(spelt))
      for (const name of names) expect(await gate.of(name)).toEqual({ [name]: { class: said } });
    const other = [
      'get_users',
      'user_get',
      'get',
      'Create_Issue',
      'x/create_issue',
      'shop/show_invoice',
      'show_invoices',
    ];
    expect(await gate.of(...other)).toEqual({});
  });

  it('lets no other spelling run of a tool whose definition changed, unless the agent was shown a tool of that name', async () => {
    await saw('bot', { get_user: FIRST });
    await set('get_user', 'read');
    expect(await gate.of('get_user', 'getUser')).toEqual({ get_user: { class: 'read' } });
    await saw('bot', { get_user: SECOND });
    const suspended = { suspended: 'definition_changed' };
    expect(await gate.of('get_user', 'getUser', 'get%5Fuser')).toEqual({
      get_user: { class: 'read', ...suspended },
      getUser: suspended,
      'get%5Fuser': suspended,
    });
    await saw('bot', { get_user: SECOND, getUser: FIRST });
    expect(await gate.of('getUser')).toEqual({});
  });

  it("takes the strictest of several spellings, and an operator's word about the very name before them", async () => {
    await set('get_user', 'review');
    await set('getUser', 'deny');
    await set('GET_USER', 'read');
    expect(await gate.of('Get-User', 'getUser', 'GET_USER', 'get_user')).toEqual({
      'Get-User': { class: 'deny' },
      getUser: { class: 'deny' },
      GET_USER: { class: 'read' },
      get_user: { class: 'review' },
    });
  });

  it('makes a name wait that the upstream did not list, once it has listed its tools', async () => {
    const owner = { tenant: 'acme', agent: 'bot' };
    const shown = { list_files: FIRST, 'fs/read_file': SECOND };
    expect(await gate.of('find_file')).toEqual({});
    await saw('bot', shown);
    // A page of a list says nothing about the names on the others.
    expect(await gate.of('find_file')).toEqual({});
    await saw('bot', shown, true);
    await gate.pins.complete(owner);
    const unlisted = { suspended: 'not_listed' };
    expect(await gate.of('list_files', 'fs/read_file', 'find_file', 'LIST_FILES')).toEqual({
      find_file: unlisted,
      LIST_FILES: unlisted,
    });
    // Nor does the operators' list say that such a name reads, though it was called.
    const called = { ran: 0, asked: 1, denied: 0, failed: 0 };
    const traffic = async () => new Map(['list_files', 'find_file'].map((tool) => [tool, called] as const));
    const { list } = toolClassing({
      store: { ...gate.store, traffic },
      pins: gate.pins,
      upstream: UPSTREAM,
      byName: () => ({ class: 'read', source: 'name' }),
      ruleOn: () => null,
    });
    expect((await list('acme', 24)).tools).toMatchObject([
      { tool: 'find_file', class: null, source: 'none' },
      { tool: 'fs/read_file', class: 'read', source: 'name' },
      { tool: 'list_files', class: 'read', source: 'name' },
    ]);
    await set('find_file', 'read');
    expect(await gate.of('find_file')).toEqual({ find_file: { class: 'read' } });
    // Another agent that never listed is held to the list too; what another agent was shown is listed.
    const others = operatorsClasses({ store: gate.store, pins: gate.pins, upstream: UPSTREAM });
    expect(await others.of('acme', 'newcomer', ['list_files', 'show_file'])).toEqual({ show_file: unlisted });
    expect(await others.of('rival', 'bot', ['show_file'])).toEqual({});
    await saw('newcomer', { show_file: FIRST });
    expect(await gate.of('show_file')).toEqual({});
    expect(await (await process_(KEYS, 'https://elsewhere.example/mcp')).of('show_file')).toEqual({});
  });

  it('is suspended for whoever is shown another definition, until it is said again', async () => {
    await saw('bot', { create_issue: FIRST });
    await set('create_issue', 'change');
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
    await saw('other', { create_issue: SECOND });
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
    await saw('bot', { create_issue: SECOND });
    const suspended = { create_issue: { class: 'change', suspended: 'definition_changed' } };
    expect(await gate.of('create_issue')).toEqual(suspended);
    expect(await (await process_()).of('create_issue')).toEqual(suspended);
    expect((await gate.classing.list('acme', 24)).tools).toMatchObject([{ tool: 'create_issue', suspended: true }]);
    await expect(
      gate.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'change', definition_sha256: FIRST }),
    ).rejects.toMatchObject({ code: 'tool_class_outdated' });
    await gate.classing.set(OPERATOR, {
      unlisted: true,
      tool: 'create_issue',
      class: 'change',
      definition_sha256: SECOND,
    });
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
  });

  it('is suspended where the agent was shown no definition: never, not any more, or it was let go; the next list says', async () => {
    const unseen = { create_issue: { class: 'change', suspended: 'definition_not_seen' } };
    const holds = { create_issue: { class: 'change' } };
    await saw('other', { create_issue: FIRST });
    await set('create_issue', 'change');
    expect(await gate.of('create_issue')).toEqual(unseen);
    await saw('bot', { create_issue: FIRST, list_files: FIRST });
    expect(await gate.of('create_issue')).toEqual(holds);
    await saw('bot', { list_files: FIRST });
    expect(await gate.of('create_issue')).toEqual(holds);
    await saw('bot', { list_files: FIRST }, true);
    expect(await gate.of('create_issue')).toEqual(unseen);
    await saw('bot', { create_issue: FIRST }, true);
    expect(await gate.of('create_issue')).toEqual(holds);
    await gate.pins.forget({ tenant: 'acme', agent: 'bot' });
    expect(await gate.of('create_issue')).toEqual(unseen);
  });

  it('is said of the definition that anybody was shown last', async () => {
    await saw('bot', { create_issue: FIRST });
    await timePasses(5, 'what was shown later has a later moment');
    await saw('another', { create_issue: SECOND });
    await saw('bot', { create_issue: FIRST });
    expect(await set('create_issue', 'change')).toMatchObject({ definition_sha256: SECOND });
  });

  it('is suspended also where a server shows new names for ever, and these fill no store', async () => {
    await saw('other', { create_issue: FIRST });
    await set('create_issue', 'change');
    await saw('bot', Object.fromEntries(Array.from({ length: 6_000 }, (_, index) => [`junk_${index}`, FIRST])));
    await saw('bot', { create_issue: FIRST, junk_1: SECOND, one_more: FIRST });
    expect(await gate.of('create_issue')).toEqual({
      create_issue: { class: 'change', suspended: 'definition_not_seen' },
    });
    const seen = await gate.pins.seen({ tenant: 'acme', agent: 'bot' });
    expect(seen.size).toBe(5_000);
    expect(seen.get('junk_1')).toBe(SECOND);
  }, 30_000);

  it('is bound to what this upstream showed, not to what another one showed under the same name', async () => {
    await saw('bot', { create_issue: FIRST });
    await set('create_issue', 'change');
    const other = await process_(KEYS, 'https://elsewhere.example/mcp');
    expect(await other.pins.seen({ tenant: 'acme', agent: 'bot' })).toEqual(new Map());
    expect(await other.pins.seenByAny('acme')).toEqual(new Map());
    await other.pins.saw({ tenant: 'acme', agent: 'bot' }, new Map([['create_issue', SECOND]]), true);
    expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
    expect(await gate.pins.seenByAny('acme')).toEqual(new Map([['create_issue', FIRST]]));
    // An editor of the store cannot change that.
    await sql`delete from tool_seen_sets where upstream = ${UPSTREAM}`.execute(gate.db.db);
    await sql`update tool_seen_sets set upstream = ${UPSTREAM}`.execute(gate.db.db);
    expect(await gate.pins.seenByAny('acme')).toEqual(new Map());
    expect(await gate.of('create_issue')).toEqual({
      create_issue: { class: 'change', suspended: 'definition_not_seen' },
    });
  });

  describe('what an earlier version kept of the lists, without their upstream', () => {
    const earlier = async (agent: string, content: string, tag?: string) => {
      const made = tag ?? KEYS.authenticate(JSON.stringify(['acme', agent, content]), 'tool_seen_sets');
      await sql`insert into tool_seen_sets (tenant, upstream, agent, content, tag)
        values ('acme', '', ${agent}, ${content}, ${made})`.execute(gate.db.db);
    };
    const seenBy = (agent: string) => gate.pins.seen({ tenant: 'acme', agent });

    it('is taken over at the next opening, also where a digest stands alone; a class stays bound to it', async () => {
      await earlier('bot', JSON.stringify({ create_issue: FIRST }));
      await earlier('other', JSON.stringify({ create_issue: { sha256: FIRST, at: '2026-11-01T00:00:00.000Z' } }));
      gate = await process_();
      expect(await seenBy('bot')).toEqual(new Map([['create_issue', FIRST]]));
      expect(await seenBy('other')).toEqual(new Map([['create_issue', FIRST]]));
      await set('create_issue', 'change');
      expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
      expect(await (await process_(KEYS, 'https://elsewhere.example/mcp')).pins.seenByAny('acme')).toEqual(new Map());
      await expect(sql`select * from tool_sightings`.execute(gate.db.db)).rejects.toThrow(/tool_sightings/);
      await toolClassMigrations['0002-no-sightings']?.up(gate.db.db);
      await toolPinMigrations['0004_by_upstream']?.up(gate.db.db);
    });

    it('is not taken over where it is not what Gate wrote, nor over what was seen since', async () => {
      await earlier('rogue', JSON.stringify({ create_issue: FIRST }), 'k:00');
      await saw('bot', { create_issue: SECOND });
      await earlier('bot', JSON.stringify({ create_issue: FIRST }));
      gate = await process_();
      expect(await seenBy('rogue')).toEqual(new Map());
      expect(await seenBy('bot')).toEqual(new Map([['create_issue', SECOND]]));
    });

    it('lies in the new table after the migration of an old one', async () => {
      const content = JSON.stringify({ create_issue: FIRST });
      const tag = KEYS.authenticate(JSON.stringify(['acme', 'bot', content]), 'tool_seen_sets');
      await sql`drop table tool_seen_sets`.execute(gate.db.db);
      await sql`create table tool_seen_sets (tenant text not null, agent text not null, content text not null, tag text,
        primary key (tenant, agent))`.execute(gate.db.db);
      await sql`insert into tool_seen_sets values ('acme', 'bot', ${content}, ${tag})`.execute(gate.db.db);
      for (let time = 0; time < 2; time += 1) await toolPinMigrations['0004_by_upstream']?.up(gate.db.db);
      gate = await process_();
      expect(await seenBy('bot')).toEqual(new Map([['create_issue', FIRST]]));
    });
  });

  describe('an editor of the store', () => {
    const UNREADABLE = { create_issue: { suspended: 'unreadable' }, list_files: { suspended: 'unreadable' } };
    const edit = (statement: ReturnType<typeof sql>) => statement.execute(gate.db.db);
    beforeEach(async () => {
      await set('create_issue', 'review');
      await gate.classing.set(
        { tenant: 'rival', subject: 'operator:r' },
        { unlisted: true, tool: 'create_issue', class: 'change' },
      );
    });

    describe('of a class that waits because its tool changed', () => {
      beforeEach(async () => {
        await saw('bot', { create_issue: FIRST });
        await set('create_issue', 'change');
        await saw('rogue', { create_issue: FIRST });
        await saw('bot', { create_issue: SECOND });
      });
      it.each([
        ['taking the list away', sql`delete from tool_seen_sets`],
        [
          'writing the first digest over the second',
          sql`update tool_seen_sets set content = replace(content, ${SECOND}, ${FIRST})`,
        ],
        ['taking its tag away', sql`update tool_seen_sets set tag = null`],
        [
          'the list of another agent',
          sql`update tool_seen_sets set content = (select content from tool_seen_sets where agent = 'rogue'),
              tag = (select tag from tool_seen_sets where agent = 'rogue') where agent = 'bot'`,
        ],
        ['an empty list', sql`update tool_seen_sets set content = '{}'`],
      ])('does not bring it back by %s, and the next list says what there is', async (_what, statement) => {
        await edit(statement);
        expect(await gate.of('create_issue')).toEqual({
          create_issue: { class: 'change', suspended: 'definition_not_seen' },
        });
        await saw('bot', { create_issue: SECOND }, true);
        expect(await gate.of('create_issue')).toEqual({
          create_issue: { class: 'change', suspended: 'definition_changed' },
        });
        await saw('bot', { create_issue: FIRST }, true);
        expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
      });
    });

    it.each([
      ['no tag', sql`update tool_classes set tag = null where tenant = 'acme'`],
      ['another tag', sql`update tool_classes set tag = 'k:00' where tenant = 'acme'`],
    ])('classes nothing with %s, also where the very same text was read a moment ago', async (_what, statement) => {
      expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'review' } });
      await edit(statement);
      expect(await gate.of('create_issue', 'list_files')).toEqual(UNREADABLE);
    });

    it.each([
      [
        'the set of another tenant',
        [
          sql`delete from tool_classes where tenant = 'acme'`,
          sql`update tool_classes set tenant = 'acme' where tenant = 'rival'`,
        ],
      ],
      ['bytes of his own', [sql`update tool_classes set content = content || ' ' where tenant = 'acme'`]],
      [
        'another number',
        [
          sql`update tool_classes set content = replace(content, '"generation":', '"generation":7') where tenant = 'acme'`,
        ],
      ],
    ])('classes nothing with %s: every tool waits', async (_what, statements) => {
      const faults: unknown[] = [];
      for (const statement of statements) await edit(statement);
      const classes = operatorsClasses({
        store: gate.store,
        pins: gate.pins,
        upstream: UPSTREAM,
        onFault: (error) => faults.push(error),
      });
      expect(await classes.of('acme', 'bot', ['create_issue', 'list_files'])).toEqual(UNREADABLE);
      expect(faults).toMatchObject([{ code: 'tool_classes_unreadable' }]);
      await expect(set('create_issue', 'change')).rejects.toMatchObject({ code: 'tool_classes_unreadable' });
      await expect(gate.classing.list('acme', 24)).rejects.toMatchObject({ code: 'tool_classes_unreadable' });

      await gate.classing.forget(OPERATOR, { all: true });
      expect(await gate.of('create_issue', 'list_files')).toEqual({});
      await set('create_issue', 'change');
      expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'change' } });
    });

    describe('a set that an earlier version sealed', () => {
      const sealed = (text: string, place = `tool-classes/acme/${UPSTREAM}`) =>
        edit(
          sql`insert into tool_class_sets (tenant, upstream, generation, sealed) values ('acme', ${UPSTREAM}, 9, ${KEYS.seal(text, place)})`,
        );
      const said = { class: 'strict', definition_sha256: null, reason: null, set_by: 'operator:dev', set_at: 'then' };
      const text = (generation: number) => JSON.stringify({ generation, tools: { create_issue: said } });

      it('opens at the next opening, and the next word comes behind it', async () => {
        await edit(sql`delete from tool_classes`);
        await sealed(text(9));
        const restarted = await process_();
        expect(await restarted.of('create_issue')).toEqual({ create_issue: { class: 'strict' } });
        await restarted.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
        expect(rows.at(-1)).toMatchObject({ policy_decision: { previous_class: 'strict', generation: 10 } });
        expect(await (await process_()).of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
      });

      it('is not taken over where another one lies', async () => {
        await sealed(text(9));
        expect(await (await process_()).of('create_issue')).toEqual({ create_issue: { class: 'review' } });
      });

      it.each([
        ['under another number', () => sealed(text(8))],
        ['for another upstream', () => sealed(text(9), 'tool-classes/acme/other')],
      ])('classes nothing where it was sealed %s: every tool waits', async (_what, put) => {
        await edit(sql`delete from tool_classes`);
        await put();
        expect(await (await process_()).of('create_issue', 'list_files')).toEqual(UNREADABLE);
      });
    });

    describe('an older set', () => {
      const older = { rows: [] as { content: string; tag: string }[] };
      const putBack = async () => {
        await edit(sql`delete from tool_classes where tenant = 'acme'`);
        for (const { content, tag } of older.rows)
          await edit(sql`insert into tool_classes values ('acme', ${UPSTREAM}, ${content}, ${tag})`);
      };
      const alarms = () => rows.filter(({ event_kind: kind }) => kind === 'alarm.tool_classes_outdated');
      beforeEach(async () => {
        await set('create_issue', 'change');
        const found = await sql<{
          content: string;
          tag: string;
        }>`select content, tag from tool_classes where tenant = 'acme'`.execute(gate.db.db);
        older.rows = found.rows;
        await set('create_issue', 'deny');
      });

      it('put back opens no tool again, while it runs or after a restart: every tool waits, and one row says so', async () => {
        await putBack();
        expect(await gate.of('create_issue', 'list_files')).toEqual(UNREADABLE);
        const restarted = await process_();
        expect(await restarted.of('create_issue', 'list_files')).toEqual(UNREADABLE);
        await expect(set('create_issue', 'change')).rejects.toMatchObject({ code: 'tool_classes_unreadable' });
        expect(new Set(alarms().map(({ id }) => id)).size).toBe(1);
        expect(
          await operatorsClasses({ store: restarted.store, pins: restarted.pins, upstream: UPSTREAM }).of(
            'rival',
            'bot',
            ['create_issue'],
          ),
        ).toEqual({
          create_issue: { class: 'change' },
        });
        await restarted.classing.forget(OPERATOR, { all: true });
        await restarted.classing.set(OPERATOR, { unlisted: true, tool: 'create_issue', class: 'deny' });
        await putBack();
        expect(await (await process_()).of('create_issue', 'list_files')).toEqual(UNREADABLE);
      });

      it('or none at all, where the ledger has one, is found, until the operator begins anew', async () => {
        older.rows = [];
        await putBack();
        const restarted = await process_();
        expect(await restarted.of('create_issue', 'list_files')).toEqual(UNREADABLE);
        await restarted.classing.forget(OPERATOR, { all: true });
        expect(await (await process_()).of('create_issue', 'list_files')).toEqual({});
      });

      it('is not told from the newest by a process that starts while the ledger is away: every tool waits until it answers', async () => {
        ledgerIsAway = true;
        const restarted = await process_();
        expect(await restarted.of('create_issue', 'list_files')).toEqual(UNREADABLE);
        // A process that knows the newest version continues.
        expect(await gate.of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
        ledgerIsAway = false;
        expect(await restarted.of('create_issue')).toEqual({ create_issue: { class: 'deny' } });
        expect(alarms()).toEqual([]);
      });
    });

    it('classes nothing with a key of his own', async () => {
      const stranger = await process_(keyRing(new Map([['k', Buffer.alloc(32, 'x')]])));
      expect(await stranger.of('create_issue', 'list_files')).toEqual(UNREADABLE);
    });

    it('is found where the tables are gone', async () => {
      await edit(sql`drop table tool_classes`);
      expect(await gate.of('create_issue', 'list_files')).toEqual(UNREADABLE);
    });
  });
});
