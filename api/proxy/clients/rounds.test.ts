import { describe, expect, it } from '@jest/globals';
import { errorText } from '../../../domain/errors.js';
import { type ClientAnswer, createCallTalks, type Listener } from '../../../domain/upstream/call-talks.js';
import { isCollected } from '../../../test/support/collected.js';
import type { Conversation } from './conversation.js';
import type { AgentCaller } from '../mcp-requests.js';
import type { Askable } from './askable.js';
import { createRounds } from './rounds.js';

const CALLER = { tenant: 'acme', agent: 'one' } as AgentCaller;
const ALL: Askable = { can: ['elicitation', 'sampling', 'roots'], opensUrls: true };
const FORM = JSON.stringify({ message: 'Who?', requestedSchema: {} });

function opened(askable: Askable = ALL) {
  const talks = createCallTalks();
  const noted: string[] = [];
  const rounds = createRounds(talks, (_caller, method, id, answered) => noted.push(`${id} ${method} ${answered}`));
  const { round, isNew } = rounds.of(CALLER, 'call', 'asks', askable);
  round.admit();
  return { talks, rounds, round, isNew, noted, listener: talks.listenerOf({ correlation_id: 'call' }) as Listener };
}
const accepted = (name: string) => JSON.stringify({ action: 'accept', content: { name } });

describe('what an upstream asks while its call is under way', () => {
  it('waits for an answer by the id of the question, and is given the client’s own text', async () => {
    const { round, listener, noted } = opened();
    const asked = round.asked();
    const answer = listener.asked('elicitation/create', FORM, 5_000, 'who');
    await asked;
    const [question] = round.questions();
    expect(question).toMatchObject({
      key: 'who',
      method: 'elicitation/create',
      params: FORM.replace('Who?', 'The server of a tool, and not Gate, asks: `Who?`'),
    });
    round.answer('another', accepted('Mallory'));
    round.answer(question?.id ?? '', '{"action":"perhaps"}');
    round.answer(question?.id ?? '', 'no JSON');
    expect(round.questions()).toHaveLength(1);
    round.answer(question?.id ?? '', accepted('Alice'));
    expect(await answer).toEqual(['result', accepted('Alice')]);
    expect(round.questions()).toEqual([]);
    round.answer(question?.id ?? '', accepted('Mallory'));
    expect(noted).toEqual(['call elicitation/create true']);
  });

  it('wakes all who wait for a question, and holds nothing of who waits no more', async () => {
    const { round, listener } = opened();
    const waits = (signal?: AbortSignal) => {
      const one = { woken: false };
      const asked = round.asked(signal).then(() => void (one.woken = true));
      return { asked, one: new WeakRef(one) };
    };
    const gone = new AbortController();
    const { one } = waits(gone.signal);
    gone.abort();
    expect(await isCollected(one)).toBe(true);
    const others = [waits(), waits(new AbortController().signal)];
    listener.asked('elicitation/create', FORM, 60_000).catch(() => undefined);
    await Promise.all(others.map(({ asked }) => asked));
  });

  it('has the id of a question that another process keeps, and is over once that is, whoever was given the answer', async () => {
    const { round, listener, noted } = opened();
    const settle: { give?: (answer: ClientAnswer) => void; withdraw?: (why: Error) => void } = {};
    const kept = (id: string) => ({
      id,
      nameIn: () => id,
      over: new Promise<ClientAnswer>((give, withdraw) => Object.assign(settle, { give, withdraw })),
    });
    const answer = listener.asked('elicitation/create', FORM, 60_000, 'who', { kept: kept('one') });
    expect(round.questions()).toMatchObject([{ id: 'one', key: 'who' }]);
    settle.give?.(['result', accepted('Alice')]);
    expect([await answer, round.questions()]).toEqual([['result', accepted('Alice')], []]);
    const withdrawn = listener.asked('elicitation/create', FORM, 60_000, 'who', { kept: kept('two') });
    settle.withdraw?.(new Error('the tool waits no more'));
    await expect(withdrawn).rejects.toThrow();
    const givenUp = new AbortController();
    const wanted = listener.asked('elicitation/create', FORM, 60_000, 'who', { givenUp: givenUp.signal });
    expect(round.questions()).toHaveLength(1);
    givenUp.abort();
    await expect(wanted).rejects.toThrow();
    // The answer counts where it was given.
    const told = [false, false].map((answered) => `call elicitation/create ${answered}`);
    expect([round.questions(), noted]).toEqual([[], told]);
  });

  it('is listened to no more once its call is over, also where its client never comes back; those in turn, each once in a sweep', async () => {
    const { talks, rounds, listener } = opened();
    const answer = listener.asked('elicitation/create', FORM, 60_000);
    rounds.of({ ...CALLER, agent: 'two' } as AgentCaller, 'another', 'asks', ALL).round.admit();
    const asked: string[] = [];
    await rounds.sweep(async ({ caller, correlationId }) => {
      asked.push(`${caller.agent} ${correlationId}`);
      // A sweep that lasts is not begun again meanwhile.
      await rounds.sweep(() => Promise.reject(new Error('twice')));
      return correlationId === 'call';
    });
    await expect(answer).rejects.toThrow();
    expect([asked, rounds.find('call')]).toEqual([['one call', 'two another'], null]);
    expect(talks.listenerOf({ correlation_id: 'call' })).toBeNull();
    expect(talks.listenerOf({ correlation_id: 'another' })).not.toBeNull();
  });

  it.each<[string, string, string, boolean]>([
    ['sampling/createMessage', '{"role":"assistant","content":{}}', '{"role":"assistant"}', true],
    ['roots/list', '{"roots":[]}', '{"roots":{}}', true],
  ])('knows an answer to %s', async (method, good, bad) => {
    const { round, listener } = opened();
    const answer = listener.asked(method, '{}', 5_000);
    const id = round.questions()[0]?.id ?? '';
    round.answer(id, bad);
    expect(round.questions()).toHaveLength(1);
    round.answer(id, good);
    expect(await answer).toEqual(['result', good]);
  });

  it('has a key once in the life of its call, and one of its own where the upstream’s is long or missing', async () => {
    const { round, listener } = opened();
    for (const key of ['who', 'who', 'x'.repeat(129), undefined])
      listener.asked('elicitation/create', FORM, 5_000, key).catch(() => undefined);
    const keys = round.questions().map(({ key }) => key);
    expect(keys.slice(0, 2)).toEqual(['who', 'who.2']);
    expect(keys.slice(2)).toEqual(
      round
        .questions()
        .slice(2)
        .map(({ id }) => id),
    );
  });

  it.each<[string, Askable, string, string]>([
    ['did not declare it', { can: ['sampling'], opensUrls: false }, 'elicitation/create', FORM],
    ['opens no addresses', { can: ['elicitation'], opensUrls: false }, 'elicitation/create', '{"mode":"url"}'],
    ['cannot know it', ALL, 'tools/call', '{}'],
    ['is asked too much', ALL, 'elicitation/create', JSON.stringify('x'.repeat(65_536))],
  ])('is refused where the client %s', async (_, askable, method, params) => {
    const { round, listener } = opened(askable);
    await expect(listener.asked(method, params, 5_000)).rejects.toThrow(/cannot be/);
    expect(round.questions()).toEqual([]);
  });

  it('is asked of who the newest request says that its client is, and ends with the time, or with the call', async () => {
    const { rounds, round, listener, noted } = opened({ can: [], opensUrls: false });
    expect(rounds.of(CALLER, 'call', 'asks', ALL)).toEqual({ round, isNew: false });
    await expect(listener.asked('roots/list', '{}', 1)).rejects.toThrow('in time');
    const late = listener.asked('roots/list', '{}', 60_000);
    rounds.over('call');
    await expect(late).rejects.toThrow('in time');
    expect(noted).toEqual(['call roots/list false', 'call roots/list false']);
    expect(rounds.find('call')).toBeNull();
    expect(rounds.of(CALLER, 'call', 'asks', ALL).isNew).toBe(true);
  });

  it('is heard once the call is admitted, and asked of none who asks for something else under its id', async () => {
    const { talks, rounds, round, listener } = opened();
    const other = rounds.of(CALLER, 'call', 'something else', ALL);
    expect(other).toMatchObject({ isNew: true });
    const asked: string[] = [];
    void other.round.asked().then(() => asked.push('other'));
    void other.round.admitted().then(() => asked.push('admitted'));
    const answer = listener.asked('roots/list', '{}', 5_000);
    await round.asked();
    expect([asked, other.round.questions()]).toEqual([[], []]);
    other.round.end();
    round.answer(round.questions()[0]?.id ?? '', '{"roots":[]}');
    expect(await answer).toEqual(['result', '{"roots":[]}']);
    expect(talks.listenerOf({ correlation_id: 'call' })).not.toBeNull();
    rounds.of(CALLER, 'another call', 'asks', ALL);
    expect(talks.listenerOf({ correlation_id: 'another call' })).toBeNull();
  });

  it('is answered at once by what came with the call under its key, once, and counted as every question', async () => {
    const { round, listener, noted } = opened();
    round.bring(
      new Map([
        ['who', accepted('Alice')],
        ['bad', '{}'],
      ]),
    );
    expect(await listener.asked('elicitation/create', FORM, 5_000, 'who')).toEqual(['result', accepted('Alice')]);
    expect(noted).toEqual(['call elicitation/create true']);
    for (const key of ['who', 'bad']) listener.asked('elicitation/create', FORM, 5_000, key).catch(() => undefined);
    expect(round.questions()).toHaveLength(2);
  });

  it('is of its agent alone: whoever begins very many calls gives up his own, and none in which something is asked', async () => {
    const talks = createCallTalks();
    const rounds = createRounds(talks, () => undefined, 3);
    const begin = (agent: string, id: string) => {
      const { round } = rounds.of({ tenant: 'acme', agent } as AgentCaller, id, 'asks', ALL);
      round.admit();
      return round;
    };
    const heard = (...ids: string[]) => ids.filter((id) => talks.listenerOf({ correlation_id: id }) !== null);
    const ask = (id: string) =>
      void talks
        .listenerOf({ correlation_id: id })
        ?.asked('roots/list', '{}', 60_000)
        .catch(() => undefined);
    begin('other', 'of another');
    for (const id of ['a', 'b', 'c']) begin('one', id);
    expect(heard('of another', 'a', 'b', 'c')).toEqual(['of another', 'b', 'c']);
    // The one that was looked at last goes last.
    rounds.find('b');
    begin('one', 'd');
    expect(heard('of another', 'b', 'c', 'd')).toEqual(['of another', 'b', 'd']);
    ask('b');
    ask('d');
    const left = begin('one', 'e');
    expect(heard('of another', 'b', 'd', 'e')).toEqual(['of another', 'b', 'd']);
    await left.admitted();
    expect(rounds.find('b')?.questions()).toHaveLength(1);
    for (const id of ['b', 'd']) rounds.over(id);
    begin('one', 'f');
    expect(heard('of another', 'f')).toEqual(['of another', 'f']);
  });

  describe('where many calls of some agents ask something', () => {
    const MOST = 6;
    const filled = (...agents: string[]) => {
      const talks = createCallTalks();
      const rounds = createRounds(talks, () => undefined, MOST);
      const failed = new Map<string, Promise<unknown>>();
      const begin = (agent: string, id: string, asks = true) => {
        const { round } = rounds.of({ tenant: 'acme', agent } as AgentCaller, id, 'asks', ALL);
        round.admit();
        const asking = asks
          ? talks.listenerOf({ correlation_id: id })?.asked('roots/list', '{}', 3_600_000)
          : undefined;
        if (asking) failed.set(id, asking.catch(errorText));
        return rounds.find(id)?.questions().length === 1;
      };
      const asked = agents.map((agent, at) => begin(agent, `${agent}${at}`));
      expect(asked).toEqual(agents.map(() => true));
      return { rounds, talks, begin, failed };
    };

    it('keeps no other agent from being asked, which takes the place of the oldest of the agent with the most', async () => {
      const { begin, failed, rounds } = filled('a', 'a', 'a', 'a', 'a', 'b');
      expect(begin('c', 'c')).toBe(true);
      expect(begin('d', 'd')).toBe(true);
      for (const id of ['a0', 'a1'])
        expect(await failed.get(id)).toMatch(/^too many calls of this agent wait for answers/);
      // Its own next call is not asked for them.
      expect(begin('a', 'again')).toBe(false);
      for (const id of ['a2', 'a3', 'a4', 'b5', 'c', 'd']) expect(rounds.find(id)?.questions()).toHaveLength(1);
    });

    it('fails no question for a request that is refused', () => {
      const { rounds } = filled('a', 'a', 'a', 'a', 'a', 'b');
      rounds.of({ tenant: 'acme', agent: 'c' } as AgentCaller, 'c', 'asks', ALL).round.end();
      expect(rounds.find('a0')?.questions()).toHaveLength(1);
    });

    it('leaves each agent its share, and goes from agent to agent until all have alike', () => {
      const { begin } = filled('a', 'a', 'a', 'b', 'b', 'b');
      expect(['c0', 'c1', 'c2', 'c3'].map((id) => begin('c', id))).toEqual([true, true, false, false]);
      expect(['a', 'b'].map((agent) => begin(agent, `${agent} more`))).toEqual([false, false]);
    });

    it('gives a call up in which nothing is asked before one in which something is, and none of an agent that has fewer', () => {
      const { begin, talks, rounds } = filled('a', 'a', 'a', 'b');
      begin('a', 'idle', false);
      begin('d', 'of another', false);
      expect(begin('c', 'c')).toBe(true);
      expect([rounds.find('idle'), rounds.find('a0')?.questions().length]).toEqual([null, 1]);
      // What of its own is idle goes, or nothing: never the one call of another agent.
      expect(begin('a', 'more')).toBe(false);
      expect(talks.listenerOf({ correlation_id: 'of another' })).not.toBeNull();
    });

    it('takes the idle call of the next agent where that with the most has none, and hardly more', () => {
      const { begin, talks } = filled('a', 'a', 'b');
      for (const id of ['b1', 'c0', 'c1']) begin(id[0] as string, id, false);
      expect(begin('c', 'c2')).toBe(true);
      // Of its own, since nobody has more.
      expect(['b1', 'c0', 'c1'].filter((id) => talks.listenerOf({ correlation_id: id }) !== null)).toEqual([
        'b1',
        'c1',
      ]);
      begin('d', 'd0');
      expect(begin('d', 'd1')).toBe(true);
    });
  });

  it('ends where Gate closes, and nothing is asked from then on', async () => {
    const { rounds, round, listener } = opened();
    const answer = listener.asked('roots/list', '{}', 3_600_000);
    rounds.close();
    await expect(answer).rejects.toThrow('Gate closes');
    expect(round.questions()).toEqual([]);
    await expect(listener.asked('roots/list', '{}', 60_000)).rejects.toThrow('Gate closes');
  });

  it('tells what is said meanwhile to whoever listens now', () => {
    const { round, listener } = opened();
    const told: string[] = [];
    const conversation = (name: string) =>
      ({ progress: true, told: (method: string) => told.push(`${name} ${method}`) }) as unknown as Conversation;
    listener.told('notifications/message', '{}');
    const stop = round.tell(conversation('first'));
    expect(listener.progress).toBe(true);
    round.tell(conversation('second'));
    stop();
    listener.told('notifications/progress', '{}');
    expect(told).toEqual(['second notifications/progress']);
  });
});
