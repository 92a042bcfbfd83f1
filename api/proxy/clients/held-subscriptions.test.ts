import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keyRing } from '../../../domain/crypto/key-ring.js';
import { LONGEST_URI, MOST_PER_AGENT, type SubscriptionStore } from '../../../domain/mcp/held-subscriptions.js';
import type { UpstreamCaller } from '../../../domain/upstream/upstream.js';
import { mcpSessionMigrations } from '../../../migrations/mcp-sessions.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../../test/support/ledger.js';
import { eventually } from '../../../test/support/waiting.js';
import { openStore, type Store } from '../../../adapters/store/database.js';
import { heldSubscriptionsOver, type SubscriptionTables } from '../../../adapters/mcp/held-subscriptions.js';
import { type ControlReply, emptyReply } from './control-replies.js';
import { type Holder, heldSubscriptions } from './held-subscriptions.js';

const ALICE: UpstreamCaller = { tenant: 'acme', agent: 'alice' };
const A = 'test://a';
const UPDATED = 'notifications/resources/updated';
const FAILED = { status: 200, text: '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}', failed: true };
const keys = keyRing(new Map([['one', Buffer.alloc(32, 1)]]));
const session = (id: string, over: Partial<Holder> = {}): Holder => ({
  id,
  untilMs: 100_000,
  isOver: () => false,
  ...over,
});

describe.each(STORES)('subscriptions of sessions over one store on %s', (kind) => {
  let place: TestLedgerPlace;
  let opened: Store<SubscriptionTables>;
  let store: SubscriptionStore;
  let now: number;
  /** What the upstream was told, and what it believes. */
  let told: string[];
  let watched: Set<string>;
  /** Called before the upstream does as it was told. */
  let before: (said: string) => Promise<void> | void;
  beforeEach(async () => {
    now = 1_000;
    told = [];
    watched = new Set();
    before = () => undefined;
    place = await ledgerPlace(kind, { migrated: mcpSessionMigrations });
    opened = await openStore<SubscriptionTables>(place.target, mcpSessionMigrations);
    store = heldSubscriptionsOver(opened, { keys, now: () => now });
  });
  afterEach(async () => {
    await opened.close();
    await place.remove();
  });

  async function upstream(method: string, uri: string): Promise<ControlReply> {
    const said = `${method.split('/')[1] as string} ${uri}`;
    told.push(said);
    await before(said);
    if (method === 'resources/subscribe') watched.add(uri);
    else watched.delete(uri);
    return emptyReply(1);
  }
  /** One process with memory of its own. */
  function replica(over: SubscriptionStore = store) {
    const held = heldSubscriptions({
      store: over,
      tell: (_caller, method, uri) => upstream(method, uri),
      now: () => now,
    });
    return {
      ...held,
      on: (holder: Holder, uri = A, send = () => upstream('resources/subscribe', uri)) =>
        held.subscribe(ALICE, holder, { uri, id: 1 }, send),
      off: (holder: string, uri = A, send = () => upstream('resources/unsubscribe', uri)) =>
        held.unsubscribe(ALICE, holder, { uri, id: 1 }, send),
    };
  }
  const held = async () => (await store.of(ALICE)).map(({ holder, uri }) => `${holder} ${uri}`);
  const rows = async () => (await opened.db.selectFrom('mcp_subscriptions').select('id').execute()).length;

  it('end at the upstream with the last one alone, at whatever replica', async () => {
    const [here, there] = [replica(), replica()];
    await here.on(session('one'));
    await there.on(session('two'));
    expect(await here.off('one')).toEqual(emptyReply(1));
    expect([told, await held()]).toEqual([[`subscribe ${A}`, `subscribe ${A}`], [`two ${A}`]]);
    await there.off('two');
    expect([told.slice(2), await held(), await rows()]).toEqual([[`unsubscribe ${A}`], [], 0]);
  });

  it('made twice in one session are one, and end once', async () => {
    const here = replica();
    for (let times = 0; times < 2; times += 1) await here.on(session('one'));
    expect(await held()).toEqual([`one ${A}`]);
    await here.off('one');
    expect([[...watched], await held()]).toEqual([[], []]);
  });

  it('that a session does not have are ended by it for nobody else', async () => {
    const here = replica();
    await here.on(session('one'));
    await here.off('two');
    expect([[...watched], await held()]).toEqual([[A], [`one ${A}`]]);
    await here.off('one');
    // A client that had no answer says it again, and so does Gate.
    await here.off('one');
    expect(told.filter((said) => said.startsWith('un'))).toHaveLength(2);
  });

  it('end with their session: the upstream is told of those that nobody else has', async () => {
    const [here, there] = [replica(), replica()];
    for (const uri of [A, 'test://b']) await here.on(session('one'), uri);
    await there.on(session('two'));
    await here.giveUp(ALICE, 'one');
    await eventually('the upstream is told', () => !watched.has('test://b'));
    await eventually('nothing of it is left', async () => (await rows()) === 1);
    expect([[...watched], await held()]).toEqual([[A], [`two ${A}`]]);
  });

  it('of an agent whose upstream does not answer hold up those of no other agent', async () => {
    const BOB: UpstreamCaller = { tenant: 'acme', agent: 'bob' };
    const ended: string[] = [];
    let answers: (reply: null) => void = () => undefined;
    const never = new Promise<null>((resolve) => (answers = resolve));
    const here = heldSubscriptions({
      store,
      tell: (caller, _method, uri) => {
        ended.push(`${caller.agent} ${uri}`);
        return caller.agent === 'alice' ? never : Promise.resolve(emptyReply(1));
      },
      now: () => now,
    });
    for (let at = 0; at < 60; at += 1)
      await store.add(ALICE, { holder: 'slow', uri: `test://${at}`, untilMs: 100_000 });
    await store.add(BOB, { holder: 'quick', uri: A, untilMs: 100_000 });
    await here.giveUp(ALICE, 'slow');
    await eventually('one of hers is told', () => ended.length === 1);
    await here.giveUp(BOB, 'quick');
    await eventually('his is told', () => ended.includes(`bob ${A}`));
    expect(ended.filter((said) => said.startsWith('alice'))).toHaveLength(1);
    answers(null);
    await eventually('nothing of either is left', async () => (await rows()) === 0);
    expect(ended).toHaveLength(61);
  });

  it('that an agent ends one by one at an upstream that hangs hold up those of no other agent', async () => {
    const BOB: UpstreamCaller = { tenant: 'acme', agent: 'bob' };
    let answers: (reply: ControlReply) => void = () => undefined;
    const never = new Promise<ControlReply>((resolve) => (answers = resolve));
    const ended: string[] = [];
    const here = heldSubscriptions({
      store,
      tell: (caller, _method, uri) => Promise.resolve(ended.push(`${caller.agent} ${uri}`)),
      now: () => now,
    });
    for (let at = 0; at < 60; at += 1)
      await store.add(ALICE, { holder: 'slow', uri: `test://${at}`, untilMs: 100_000 });
    await store.add(BOB, { holder: 'quick', uri: A, untilMs: 100_000 });
    const hanging = Array.from({ length: 60 }, (_, at) =>
      here.unsubscribe(ALICE, 'slow', { uri: `test://${at}`, id: 1 }, () => never),
    );
    await eventually('hers count no more', async () => (await held()).length === 0);
    await here.giveUp(BOB, 'quick');
    await eventually('his is told', () => ended.includes(`bob ${A}`));
    answers(emptyReply(1));
    await Promise.all(hanging);
    await eventually('nothing of either is left', async () => (await rows()) === 0);
  });

  it('end with the age of their session, when anything is written next', async () => {
    const here = replica();
    await here.on(session('one', { untilMs: 2_000 }));
    now = 2_000;
    await replica().renew('another', 9_000);
    await eventually('the upstream is told', () => watched.size === 0);
    await eventually('nothing of it is left', async () => (await rows()) === 0);
  });

  it('that began while their session ended are ended too', async () => {
    const here = replica();
    await expect(here.on(session('one', { isOver: () => true }))).rejects.toMatchObject({ code: 'session_not_found' });
    await eventually('nothing is left', async () => watched.size === 0 && (await rows()) === 0);
  });

  it.each([
    ['which the upstream refuses', async (): Promise<ControlReply> => FAILED, FAILED, 0],
    ['which it answers with nothing', async (): Promise<ControlReply> => null, null, 0],
    [
      'of which nobody knows',
      async (): Promise<ControlReply> => {
        watched.add(A);
        throw new Error('no answer');
      },
      null,
      1,
    ],
  ] as const)('are not held %s', async (_what, send, answer, ended) => {
    const asked = replica().on(session('one'), A, send);
    if (ended > 0) await expect(asked).rejects.toThrow('no answer');
    else expect(await asked).toEqual(answer);
    await eventually('nothing is left', async () => (await rows()) === 0);
    expect([told.length, [...watched]]).toEqual([ended, []]);
  });

  it('that a session has stay when it asks again in vain', async () => {
    const here = replica();
    await here.on(session('one'));
    expect(await here.on(session('one'), A, async () => FAILED)).toEqual(FAILED);
    expect(await held()).toEqual([`one ${A}`]);
  });

  it('of addresses that are too long are refused, and nobody is told', async () => {
    const answer = await replica().on(session('one'), 'x'.repeat(LONGEST_URI + 1));
    expect(answer).toMatchObject({ failed: true, text: expect.stringContaining('-32602') });
    expect([told, await rows()]).toEqual([[], 0]);
  });

  it('beyond the most of an agent end with its oldest, and the upstream is told', async () => {
    const here = replica();
    for (let at = 0; at <= MOST_PER_AGENT; at += 1) {
      now += 1;
      await here.on(session(`session-${at}`), `test://${at}`);
    }
    await eventually('the oldest is ended', () => !watched.has('test://0'));
    await eventually('nothing of it is left', async () => (await rows()) === MOST_PER_AGENT);
    expect([watched.size, (await held())[0]]).toEqual([MOST_PER_AGENT, 'session-1 test://1']);
  });

  describe('that begin and end at once', () => {
    it.each([
      ['the end reaches the upstream last', `unsubscribe ${A}`],
      ['the beginning reaches the upstream last', `subscribe ${A}`],
    ])('at two replicas: the upstream believes what is held, where %s', async (_what, late) => {
      const [here, there] = [replica(), replica()];
      let go: () => void = () => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      let waits = true;
      before = async (said) => {
        if (said !== late || !waits) return;
        waits = false;
        await gate;
      };
      const isEndLate = late.startsWith('un');
      if (isEndLate) await here.on(session('one'));
      // What is late looks who else has it before the other does, and is held up on its way.
      const first = isEndLate ? here.off('one') : there.on(session('two'));
      await eventually('it is on its way', () => told.at(-1) === late);
      await (isEndLate ? there.on(session('two')) : here.off('two'));
      expect([...watched]).toEqual(isEndLate ? [A] : []);
      go();
      await first;
      expect([[...watched], await held()]).toEqual(isEndLate ? [[A], [`two ${A}`]] : [[], []]);
    });

    it('at two replicas, the last of one while the other has just given up: it is ended', async () => {
      const [here, there] = [replica(), replica()];
      await Promise.all([here.on(session('one')), there.on(session('two'))]);
      await Promise.all([here.off('one'), there.off('two')]);
      expect([[...watched], await held()]).toEqual([[], []]);
    });

    it('in one process: the upstream is told the end once it answered the beginning', async () => {
      const here = replica();
      let answer: () => void = () => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      before = (said) => (said === `subscribe ${A}` ? answered : undefined);
      const beginning = here.on(session('one'));
      await eventually('it is on its way', () => told.length === 1);
      const ending = here.off('one');
      // As long as the end would take, another one begins and ends.
      await here.on(session('two'), 'test://b');
      await here.off('two', 'test://b');
      expect(told).not.toContain(`unsubscribe ${A}`);
      answer();
      await Promise.all([beginning, ending]);
      expect([[...watched], told.at(-1)]).toEqual([[], `unsubscribe ${A}`]);
    });

    it('in one process: one after the other', async () => {
      const here = replica();
      const sessions = Array.from({ length: 6 }, (_, at) => `session-${at}`);
      await Promise.all(sessions.map((id) => here.on(session(id))));
      await Promise.all(
        sessions.map((id, at) => (at % 2 === 0 ? here.off(id) : here.off(id).then(() => here.on(session(id))))),
      );
      expect([[...watched], (await held()).length]).toEqual([[A], 3]);
      await Promise.all(sessions.map((id) => here.giveUp(ALICE, id)));
      await eventually('the upstream is told', () => watched.size === 0);
    });
  });

  describe('where Gate dies', () => {
    it('before the upstream answered that it begins: it is held, and asked for over the next session', async () => {
      before = () => new Promise(() => undefined);
      void replica().on(session('one'));
      await eventually('it is on its way', () => told.length === 1);
      expect(await replica().resources(ALICE).of()).toEqual([A]);
    });

    it('before the upstream answered that it ends: the next process tells it', async () => {
      await replica().on(session('one'));
      before = () => new Promise(() => undefined);
      void replica().off('one');
      await eventually('it is on its way', () => told.length === 2);
      expect([await held(), [...watched]]).toEqual([[], [A]]);
      before = () => undefined;
      await replica().on(session('two'), 'test://b');
      await eventually('it is told', () => !watched.has(A));
      await eventually('nothing of it is left', async () => (await rows()) === 1);
    });
  });

  describe('where the store is away', () => {
    const away = (methods: readonly (keyof SubscriptionStore)[], isAway = () => true): SubscriptionStore =>
      Object.fromEntries(
        Object.entries(store).map(([name, of]) => [
          name,
          (...given: never[]) =>
            isAway() && methods.includes(name as never)
              ? Promise.reject(new Error('the store is away'))
              : (of as (...all: never[]) => unknown)(...given),
        ]),
      ) as unknown as SubscriptionStore;

    it('nothing begins and nobody is told; once it is back, it does', async () => {
      let isAway = true;
      const here = replica(away(['of', 'add'], () => isAway));
      await expect(here.on(session('one'))).rejects.toThrow('away');
      expect(told).toEqual([]);
      isAway = false;
      await here.on(session('one'));
      expect(await held()).toEqual([`one ${A}`]);
    });

    it('after the upstream was asked: whoever asked is told of it, and what it asked for is ended', async () => {
      let isAway = false;
      const here = replica(away(['of'], () => isAway));
      const asked = here.on(session('one'), A, async () => {
        const reply = await upstream('resources/subscribe', A);
        isAway = true;
        return reply;
      });
      await expect(asked).rejects.toThrow('away');
      isAway = false;
      await replica().renew('another', 9_000);
      await eventually('it is ended', async () => watched.size === 0 && (await rows()) === 0);
    });

    it('a session hears of every resource of its agent, because nobody knows which are its own', async () => {
      const heard: string[] = [];
      const listener = { progress: false, told: (_method: string, params: string) => void heard.push(params) };
      const hears = replica(away(['of'])).hearing(ALICE, 'one', listener as never);
      hears.told(UPDATED, `{"uri":"${A}"}`);
      await eventually('it is told', () => heard.length === 1);
    });
  });

  describe('say what a session hears', () => {
    const listening = (at: ReturnType<typeof replica>, holder: string) => {
      const heard: string[] = [];
      const listener = {
        progress: false,
        told: (method: string, params: string) => void heard.push(`${method} ${params}`),
        asked: () => Promise.reject(new Error('unused')),
      };
      return { heard, told: at.hearing(ALICE, holder, listener).told };
    };
    const updated = (uri: string) => JSON.stringify({ uri });

    it('is of its own resources, and all else that its agent hears', async () => {
      const here = replica();
      await here.on(session('one'));
      await here.on(session('two'), 'test://b');
      const [one, two] = [listening(here, 'one'), listening(here, 'two')];
      for (const { told: tell } of [one, two]) {
        for (const uri of [A, 'test://b', `${A}/part`]) tell(UPDATED, updated(uri));
        for (const params of ['{}', '{"uri":3}']) tell(UPDATED, params);
        tell('notifications/tools/list_changed', '{}');
      }
      const list = 'notifications/tools/list_changed {}';
      await eventually('both are told', () => one.heard.length === 3 && two.heard.length === 2);
      expect([one.heard, two.heard]).toEqual([
        [list, `${UPDATED} ${updated(A)}`, `${UPDATED} ${updated(`${A}/part`)}`],
        [list, `${UPDATED} ${updated('test://b')}`],
      ]);
    });

    it('asks the store once in a second, and at once after a change of its own', async () => {
      let reads = 0;
      const counted = { ...store, of: (caller: UpstreamCaller) => ((reads += 1), store.of(caller)) };
      const [here, there] = [replica(counted), replica()];
      const one = listening(here, 'one');
      const tell = () => one.told(UPDATED, updated(A));
      for (let at = 0; at < 50; at += 1) tell();
      await there.on(session('one'));
      tell();
      expect(reads).toBe(1);
      now += 1_000;
      tell();
      expect(reads).toBe(2);
      await eventually('it is told', () => one.heard.length === 1);
      await here.off('one');
      tell();
      await here.on(session('one'));
      tell();
      await eventually('it is told again', () => one.heard.length === 2);
      expect(one.heard).toHaveLength(2);
    });
  });
});
