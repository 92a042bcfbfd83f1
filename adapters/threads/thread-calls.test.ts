import { MessageChannel } from 'node:worker_threads';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { GateError } from '../../domain/errors.js';
import { answerCalls, callsOver, type ThreadCalls, type ThreadStream } from './thread-calls.js';

let close: () => void = () => undefined;
afterEach(() => close());

/** Both ends are in one thread; messages are still copied. */
function line(target: object): ThreadCalls {
  const { port1, port2 } = new MessageChannel();
  close = () => port1.close();
  answerCalls(port2, target);
  return callsOver(port1);
}

describe('calls over a line', () => {
  it('reach a function by its path, with its owner, and bring back what it gives', async () => {
    const counter = {
      by: 2,
      add: (a: number) => a + 1,
      twice(this: { by: number }, a: number) {
        return a * this.by;
      },
    };
    const calls = line({ add: counter.add, part: counter });
    expect(await calls.call('add', 1)).toBe(2);
    expect(await calls.call('part.twice', 4)).toBe(8);
    expect(await calls.call('part.add', 4)).toBe(5);
  });

  it('throw what was thrown there: a code with its fields, and any other error by its text', async () => {
    const calls = line({
      coded: () => {
        throw new GateError('window_vacuumed', 'gone', { fields: { kept_from_seq: 7 } });
      },
      plain: () => Promise.reject(new Error('broken')),
    });
    await expect(calls.call('coded')).rejects.toMatchObject({ code: 'window_vacuumed', fields: { kept_from_seq: 7 } });
    await expect(calls.call('plain')).rejects.toThrow('broken');
    await expect(calls.call('nobody.there')).rejects.toThrow('nothing answers nobody.there');
  });

  it('refuse an answer that cannot be copied, and go on', async () => {
    const calls = line({ bad: () => ({ inner: { fn: () => 1 } }), good: () => 1 });
    await expect(calls.call('bad')).rejects.toThrow(/could not be cloned/);
    expect(await calls.call('good')).toBe(1);
  });

  it('are all refused once the other side is gone', async () => {
    const calls = line({ never: () => new Promise(() => undefined) });
    const asked = calls.call('never');
    calls.refuseAll(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    await expect(calls.call('never')).rejects.toThrow('gone');
  });
});

describe('a stream of an answer', () => {
  /** A generator that reports how it was ended. */
  const source = (left: string[]) =>
    (async function* () {
      try {
        yield 1;
        yield 2;
        left.push('read');
      } finally {
        left.push('closed');
      }
    })();
  const collected = async (items: AsyncIterable<unknown>) => {
    const all: unknown[] = [];
    for await (const item of items) all.push(item);
    return all;
  };

  it('is read item by item, as the answer itself or one level below it', async () => {
    const left: string[] = [];
    const calls = line({ itself: () => source(left), below: () => ({ total: 2, items: source(left) }) });
    expect(await collected((await calls.call('itself')) as ThreadStream<number>)).toEqual([1, 2]);
    const { total, items } = (await calls.call('below')) as { total: number; items: ThreadStream<number> };
    expect([total, await collected(items)]).toEqual([2, [1, 2]]);
    expect(left).toEqual(['read', 'closed', 'read', 'closed']);
  });

  it('ends there when its reader stops in the middle', async () => {
    const left: string[] = [];
    const items = (await line({ items: () => source(left) }).call('items')) as ThreadStream<number>;
    for await (const item of items) {
      expect(item).toBe(1);
      break;
    }
    expect(left).toEqual(['closed']);
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it('ends there before its first item as well: what holds something lets it go', async () => {
    const bytes = Readable.from(['a', 'b']);
    const items = (await line({ items: () => bytes }).call('items')) as ThreadStream<string>;
    await items.return();
    expect(bytes.destroyed).toBe(true);
  });

  it('throws what its source throws, once', async () => {
    async function* failing() {
      yield 1;
      throw new GateError('ledger_store_unavailable');
    }
    const items = (await line({ items: failing }).call('items')) as ThreadStream<number>;
    expect(await items.next()).toEqual({ done: false, value: 1 });
    await expect(items.next()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });
});
