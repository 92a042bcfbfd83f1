import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { toolPinMigrations } from '../../migrations/tool-pins.js';
import { ledgerPlace, type TestLedgerPlace } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';
import { canonicalJson } from '../crypto/digest.js';
import { keyRing } from '../crypto/key-ring.js';
import type { Upstream } from '../upstream/upstream.js';
import { openStore, type Store } from '../../adapters/store/database.js';
import { definitionDigest, narrowDigest } from './definitions.js';
import { toolPinStoreOver, type ToolPinTables } from '../../adapters/tools/pin-store.js';
import { definitionFault, openDefinitions } from './batch-guard.js';
import { createReviewGuard } from './review-guard.js';
import type { PinnedTools, ToolPinStore } from './ports.js';

const KEYS = keyRing(new Map([['k', Buffer.alloc(32, 1)]]));
const CALL = { tenant: 'acme', agent: 'bot', correlation_id: 'c', tool: 'pay' };
const X: JsonObject = { name: 'pay', description: 'pays' };
const Y: JsonObject = { name: 'pay', description: 'pays somebody else' };

describe('the review of a call of a tool', () => {
  let place: TestLedgerPlace;
  let store: Store<ToolPinTables>;
  let pins: ToolPinStore;
  let tools: readonly JsonObject[] | null;
  let asked: number[];
  let partial: true | undefined;
  /** What a list waits for. */
  let listing: Promise<void> | null;
  const control: Upstream['control'] = async (_caller, _request, { timeoutMs }) => {
    asked.push(timeoutMs);
    if (listing !== null) await listing;
    return Promise.resolve(
      tools === null
        ? { kind: 'not_sent', reason: 'away' }
        : {
            kind: 'reply',
            statusCode: 200,
            failed: false,
            text: JSON.stringify({ result: { tools: [...tools] } }),
            ...(partial && { partial }),
          },
    );
  };
  const guard = (name = 'own') => createReviewGuard({ control }, pins, name);
  beforeEach(async () => {
    place = await ledgerPlace('sqlite', { migrated: toolPinMigrations });
    store = await openStore<ToolPinTables>(place.target, toolPinMigrations);
    pins = toolPinStoreOver(store, { keys: KEYS, upstream: 'own' });
    tools = [X];
    asked = [];
    partial = undefined;
    listing = null;
  });
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  it('is of the definition that the agent saw, also where the upstream has another one by now', async () => {
    await pins.saw(CALL, new Map([['pay', definitionDigest(X)]]), true);
    tools = [Y];
    const { reviewed } = await guard().open(CALL);
    expect(reviewed).toEqual({ sha256: definitionDigest(X), upstream: 'own' });
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/reviewed under/);
  });

  it('emptied the tables of definitions: the call still runs as what was reviewed, or not', async () => {
    await pins.saw(CALL, new Map([['pay', definitionDigest(X)]]), true);
    await pins.pin(CALL, new Map([['pay', definitionDigest(X)]]));
    const { reviewed } = await guard().open(CALL);
    for (const table of ['tool_pin_sets', 'tool_seen_sets'] as const) await store.db.deleteFrom(table).execute();
    expect(await guard().fault(CALL, reviewed, 30_000)).toBeNull();
    tools = [Y];
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/reviewed under/);
  });

  it.each([
    ['of a listed tool', [X]],
    ['of a tool that nobody lists', []],
  ])(
    '%s is for the tools of one upstream: at another one it does not run, the same definition or not',
    async (_, listed) => {
      tools = listed;
      const { reviewed, told } = await guard('test').open(CALL);
      expect(told).toContain('test');
      expect(await guard('test').fault(CALL, reviewed, 30_000)).toBeNull();
      expect(await guard('production').fault(CALL, reviewed, 30_000)).toBe(
        'the call was reviewed for the tools of test, and these are those of production',
      );
      // A record of an earlier Gate names none.
      const { upstream: _upstream, ...earlier } = reviewed;
      expect(await guard('production').fault(CALL, earlier, 30_000)).toBeNull();
    },
  );

  it('whose tool is missing because its upstream is does not run, and is told why', async () => {
    const { reviewed } = await guard().open(CALL);
    tools = [];
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/not listed any more/);
    partial = true;
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/cannot be compared .*does not list its tools/);
    tools = [X];
    expect(await guard().fault(CALL, reviewed, 30_000)).toBeNull();
  });

  it('that is bound to nothing runs nothing', async () => {
    expect(await guard().fault(CALL, undefined, 30_000)).toMatch(/bound to no definition/);
  });

  it('of an agent that listed nothing is of what the upstream lists then', async () => {
    const { reviewed, told } = await guard().open(CALL);
    expect([reviewed.sha256, told]).toEqual([definitionDigest(X), expect.stringContaining('not among the pins')]);
    tools = [Y];
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/reviewed under/);
  });

  it('over an upstream that does not list the tool is of no definition, and the operator is told', async () => {
    tools = [{ name: 'other' }];
    const { reviewed, told } = await guard().open(CALL);
    expect([reviewed, told]).toEqual([{ sha256: null, upstream: 'own' }, expect.stringContaining('UNLISTED')]);
    expect(await guard().fault(CALL, reviewed, 30_000)).toBeNull();
    // Whoever approved it saw no definition.
    tools = [X];
    expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/was not listed when .* listed now: ask anew/);
  });

  describe('over an upstream that lists its tools too late, or is away', () => {
    const UNANSWERED = { sha256: null, upstream: 'own', unanswered: ['pay'] };
    const TOLD = 'definition of the tool UNKNOWN: own did not list its tools in time';
    const WHY = /^the upstream did not list its tools in time when the call was reviewed, .* lists it now: ask anew/;
    /** A list that is under way until it is let go. */
    function slow(): () => void {
      let go = (): void => undefined;
      listing = new Promise((resolve) => (go = resolve));
      return go;
    }

    it('is told so, in the row, in the record and where it does not run; the late list is kept, and binds the next call', async () => {
      const own = guard();
      const go = slow();
      const { reviewed, told, says } = await own.open(CALL);
      expect([reviewed, told, says]).toEqual([UNANSWERED, TOLD, []]);
      go();
      await listing;
      expect(await own.fault(CALL, reviewed, 30_000)).toMatch(WHY);
      // The next list is late too.
      const again = slow();
      const next = await own.open({ ...CALL, correlation_id: 'next' });
      expect([next.reviewed, next.told, next.says]).toEqual([
        { sha256: definitionDigest(X), upstream: 'own' },
        expect.stringMatching(/not among the pins; it did not list its tools in time, this is what it listed before/),
        ['the tool says of itself: "pays"'],
      ]);
      again();
      expect(await own.fault(CALL, next.reviewed, 30_000)).toBeNull();
      tools = [Y];
      expect(await own.fault(CALL, next.reviewed, 30_000)).toMatch(/reviewed under/);
    }, 20_000);

    it('that is kept one at a time, the newest last, where the store is slow to keep them', async () => {
      let letGo = (): void => undefined;
      const held = new Promise<void>((done) => (letGo = done));
      const kept: (string | undefined)[] = [];
      const slow: ToolPinStore = {
        ...pins,
        gateSaw: async (_caller, digests) => {
          kept.push(digests.get('pay'));
          if (kept.length === 1) await held;
        },
      };
      const over = createReviewGuard({ control }, slow, 'own');
      for (const listed of [X, Y, X, Y]) {
        tools = [listed];
        await over.fault(CALL, { sha256: definitionDigest(X), upstream: 'own' }, 30_000);
      }
      expect(kept).toEqual([definitionDigest(X)]);
      letGo();
      await eventually('the newest is kept', () => kept.length === 2);
      expect(kept).toEqual([definitionDigest(X), definitionDigest(Y)]);
    });

    it('that binds a call in whichever process, after a restart and however late, also where only the check of the one before got a list', async () => {
      tools = null;
      const { reviewed } = await guard().open(CALL);
      expect(reviewed).toEqual(UNANSWERED);
      tools = [X];
      expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(WHY);
      tools = null;
      const other = guard();
      const next = await other.open({ ...CALL, correlation_id: 'next' });
      expect([next.reviewed, next.says]).toEqual([
        { sha256: definitionDigest(X), upstream: 'own' },
        ['the tool says of itself: "pays"'],
      ]);
      expect(await other.open({ ...CALL, agent: 'another' })).toMatchObject({ reviewed: UNANSWERED });
      // It is no list that an agent saw.
      expect([...(await pins.seen(CALL)), ...(await pins.seenByAny('acme'))]).toEqual([]);
      expect((await pins.listed('acme')).names.size).toBe(0);
      tools = [X];
      expect(await guard().fault(CALL, next.reviewed, 30_000)).toBeNull();
      // A changed definition is refused once, and binds the call after that.
      tools = [Y];
      expect(await guard().fault(CALL, next.reviewed, 30_000)).toMatch(/reviewed under/);
      tools = null;
      expect((await guard().open(CALL)).reviewed.sha256).toBe(definitionDigest(Y));
      await pins.forget(CALL);
      expect((await guard().open(CALL)).reviewed).toEqual(UNANSWERED);
    });

    it.each([
      ['away', null, undefined],
      ['one of several, and away', [], true as const],
    ])('is told the same of one that is %s, and of several calls of one request too', async (_, listed, missing) => {
      tools = listed;
      partial = missing;
      const { reviewed, told } = await guard().open(CALL);
      expect([reviewed, told]).toEqual([UNANSWERED, TOLD]);
      const batch = await openDefinitions(guard(), CALL, ['pay', 'pay']);
      expect(batch.reviewed).toEqual({ ...UNANSWERED, tools: { pay: null } });
      expect(await definitionFault(guard(), CALL, ['pay'], batch.reviewed, () => 30_000)).toBeNull();
      [tools, partial] = [[X], undefined];
      expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(WHY);
      const fault = await definitionFault(guard(), CALL, ['pay'], batch.reviewed, () => 30_000);
      expect(fault?.replace('`pay`: ', '')).toMatch(WHY);
    });

    it('is of the pinned definition: what that says of itself is told from what was kept, also after a restart', async () => {
      await pins.pin(CALL, new Map([['pay', definitionDigest(X)]]));
      await pins.keep('acme', new Map([[definitionDigest(X), canonicalJson(X)]]));
      tools = null;
      const { told, says } = await guard().open(CALL);
      expect([told, says]).toEqual([expect.stringMatching(/the pinned one/), ['the tool says of itself: "pays"']]);
    });

    it('is of the pinned definition, which Gate knew all along: the call runs under that and no other', async () => {
      await pins.pin(CALL, new Map([['pay', definitionDigest(X)]]));
      tools = null;
      const { reviewed, told } = await guard().open(CALL);
      expect([reviewed, told]).toEqual([
        { sha256: definitionDigest(X), upstream: 'own' },
        expect.stringMatching(/of own: the pinned one; it did not list its tools in time/),
      ]);
      expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/cannot be compared/);
      tools = [Y];
      expect(await guard().fault(CALL, reviewed, 30_000)).toMatch(/reviewed under/);
      tools = [X];
      expect(await guard().fault(CALL, reviewed, 30_000)).toBeNull();
    });

    it('that says that it has no list of tools, is one that lists none', async () => {
      const refusing = createReviewGuard(
        {
          control: () =>
            Promise.resolve({
              kind: 'reply',
              statusCode: 200,
              failed: true,
              text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
            }),
        },
        pins,
        'own',
      );
      expect(await refusing.open(CALL)).toMatchObject({ told: expect.stringContaining('UNLISTED') });
    });
  });

  describe('at an earlier Gate, which bound it to no definition and told the operator of none', () => {
    const UNBOUND = { unbound: true } as const;
    const pinned = (known: Partial<PinnedTools>) =>
      createReviewGuard(
        { control },
        { ...pins, read: async (owner) => ({ ...(await pins.read(owner)), ...known }) },
        'own',
      );
    const pin = (sha256: string) => ({ digests: new Map([['pay', sha256]]) });

    it.each([
      ['is listed', [X]],
      ['is not listed', []],
      ['is of an upstream that lists nothing', null],
    ])('runs where the agent has no pin of the tool and it %s, and asks nobody', async (_, listed) => {
      tools = listed;
      expect(await guard().fault(CALL, UNBOUND, 30_000)).toBeNull();
      expect(asked).toEqual([]);
    });

    it.each([
      ['the definition of today', pin(definitionDigest(X))],
      ['what an older Gate pinned of it', { ...pin(narrowDigest(X)), narrow: new Set(['pay']) }],
    ])('runs where the pin is %s', async (_, known) => {
      expect(await pinned(known).fault(CALL, UNBOUND, 30_000)).toBeNull();
    });

    it.each([
      ['the pin is another definition', pin(definitionDigest(Y)), [X], /not the pinned one/],
      [
        'what an older Gate pinned is another',
        { ...pin(narrowDigest(Y)), narrow: new Set(['pay']) },
        [X],
        /not the pinned one/,
      ],
      ['one of two definitions of today is the pinned one', pin(definitionDigest(X)), [X, Y], /not the pinned one/],
      ['the pinned tool is not listed any more', pin(definitionDigest(X)), [], /not listed any more/],
      ['it is pinned and the upstream lists nothing', pin(definitionDigest(X)), null, /does not list its tools/],
      ['the pins were changed in the store', { tampered: true }, [X], /changed in the store/],
    ])('does not run where %s, and is told so', async (_, known, listed, why) => {
      tools = listed;
      const fault = await pinned(known).fault(CALL, UNBOUND, 30_000);
      expect(fault).toMatch(/^the call was reviewed at an earlier Gate, which bound no definition of the tool/);
      expect(fault).toMatch(why);
    });

    it('does not run where its pinned tool is missing because an upstream is, and where its pins cannot be read', async () => {
      tools = [];
      partial = true;
      const known = pin(definitionDigest(X));
      expect(await pinned(known).fault(CALL, UNBOUND, 30_000)).toMatch(/cannot be compared .*does not list its tools/);
      const unread = createReviewGuard({ control }, { ...pins, read: () => Promise.reject(new Error('away')) }, 'own');
      expect(await unread.fault(CALL, UNBOUND, 30_000)).toMatch(/pins .* cannot be read/);
    });
  });

  it('in a record that an earlier Gate took over as unlisted does not run either, and is told what may be', async () => {
    expect(await guard().fault(CALL, { sha256: null }, 30_000)).toMatch(
      /not listed .*, or its review was bound to no def/,
    );
    expect(await guard().fault(CALL, { sha256: null, upstream: 'own' }, 30_000)).toMatch(/was reviewed, and is listed/);
  });

  it("shares one list with the agent's other calls that are parked at that moment, and compares each by a list of its own", async () => {
    const own = guard();
    const opened = await Promise.all([1, 2, 3].map((n) => own.open({ ...CALL, correlation_id: `c${n}` })));
    expect(opened.map(({ reviewed }) => reviewed.sha256)).toEqual(Array.from({ length: 3 }, () => definitionDigest(X)));
    expect(asked).toHaveLength(1);
    await own.open({ ...CALL, agent: 'another' });
    expect(asked).toHaveLength(2);
    tools = [Y];
    expect(await own.fault(CALL, opened[0]?.reviewed, 30_000)).toMatch(/reviewed under/);
    expect(asked).toHaveLength(3);
  });

  it('asks again for a list that it was not given', async () => {
    const own = guard();
    tools = null;
    expect((await own.open(CALL)).reviewed).toMatchObject({ sha256: null });
    tools = [X];
    expect((await own.open(CALL)).reviewed).toEqual({ sha256: definitionDigest(X), upstream: 'own' });
  });

  it.each([
    ['what it says', X, ['the tool says of itself: "pays"']],
    [
      'what it says on one line, and no more than 300 characters of it',
      { ...X, description: `pays\n"${'a'.repeat(400)}` },
      [`the tool says of itself: "pays\\n\\"${'a'.repeat(294)}"`],
    ],
    ['nothing where it says nothing', { name: 'pay' }, []],
    ['nothing where what it says is no text', { name: 'pay', description: ['pays'] }, []],
  ])('tells the operator %s', async (_, listed, says) => {
    tools = [listed];
    expect(await guard().open(CALL)).toMatchObject({ says });
  });

  it('tells what the tool says in the definition that the agent saw, and lists it once for that', async () => {
    await pins.saw(CALL, new Map([['pay', definitionDigest(X)]]), true);
    const own = guard();
    const opened = await Promise.all([own.open(CALL), own.open(CALL)]);
    tools = [Y];
    opened.push(await own.open({ ...CALL, agent: 'another' }), await own.open(CALL));
    expect(opened.map(({ says }) => says)).toEqual([
      ['the tool says of itself: "pays"'],
      ['the tool says of itself: "pays"'],
      ['the tool says of itself: "pays somebody else"'],
      ['the tool says of itself: "pays"'],
    ]);
    expect(asked).toHaveLength(2);
  });

  it.each([
    ['lists another definition', [Y]],
    ['lists nothing', null],
  ])(
    'tells nothing of the tool where the upstream %s by now, and asks it no second time at once',
    async (_, listed) => {
      await pins.saw(CALL, new Map([['pay', definitionDigest(X)]]), true);
      tools = listed;
      const own = guard();
      for (let n = 0; n < 3; n += 1) expect((await own.open(CALL)).says).toEqual([]);
      expect(asked).toHaveLength(1);
    },
  );

  it('is compared within what is left of the time of the call', async () => {
    await guard().fault(CALL, { sha256: definitionDigest(X) }, 700);
    await guard().fault(CALL, { sha256: definitionDigest(X) }, 60_000);
    expect(asked[0]).toBeLessThanOrEqual(700);
    expect(asked[1]).toBeLessThanOrEqual(5_000);
    expect(asked[1]).toBeGreaterThan(4_000);
  });
});
