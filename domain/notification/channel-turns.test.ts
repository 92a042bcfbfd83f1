import { describe, expect, it } from '@jest/globals';
import { createChannelTurns } from './channel-turns.js';
import type { DueNotice } from './ports.js';

/** `a3` is of the agent `a` and due at 3; with `!` it is urgent. */
const due = (...names: string[]): DueNotice[] =>
  names.map((name) => ({
    notification_id: name,
    pendingId: name,
    who: ['acme', name.charAt(0)],
    urgent: name.endsWith('!'),
    dueMs: Number.parseInt(name.slice(1), 10),
    attempts: 0,
  }));
const names = (chosen: readonly DueNotice[]): string[] => chosen.map(({ notification_id }) => notification_id);

/** Each of them one by one, as a channel that takes one at a time does. */
function served(turns: ReturnType<typeof createChannelTurns>, waiting: readonly DueNotice[], count: number): string[] {
  const left = [...waiting];
  const order: string[] = [];
  while (order.length < count) {
    const [one] = turns.next(left, 1);
    if (!one) break;
    turns.had(one);
    order.push(one.notification_id);
    left.splice(left.indexOf(one), 1);
  }
  return order;
}

describe('the turns of a channel', () => {
  it('are the agents’, in the order in which their first messages are due', () => {
    const waiting = due('a1', 'a2', 'a3', 'b4', 'b5', 'c6');
    expect(names(createChannelTurns().next(waiting, 6))).toEqual(['a1', 'b4', 'c6', 'a2', 'b5', 'a3']);
    expect(served(createChannelTurns(), waiting, 6)).toEqual(['a1', 'b4', 'c6', 'a2', 'b5', 'a3']);
    expect(names(createChannelTurns().next(waiting, 2))).toEqual(['a1', 'b4']);
  });

  it('hold where some of the agents wait with more than is sent at once', () => {
    const turns = createChannelTurns();
    const many = due(...['a', 'b', 'c', 'd'].flatMap((agent) => [1, 2, 3, 4, 5].map((at) => `${agent}${at}`)));
    expect(names(turns.next(many, 4))).toEqual(['a1', 'b1', 'c1', 'd1']);
    for (const one of turns.next(many, 4)) turns.had(one);
    expect(names(turns.next([...many, ...due('e9')], 1))).toEqual(['e9']);
  });

  it('are not used up by whoever was chosen and refused', () => {
    const turns = createChannelTurns();
    const waiting = due('a1', 'a2', 'b3');
    turns.had(turns.next(waiting, 1)[0] as DueNotice);
    for (let refused = 0; refused < 3; refused += 1) expect(names(turns.next(waiting.slice(1), 1))).toEqual(['b3']);
  });

  it('are not won by whoever waits with one message anew each time', () => {
    const turns = createChannelTurns();
    const order = [1, 2, 3, 4, 5, 6].map((at) => served(turns, due(`a${at}`, `b1${at}`), 1)[0]?.charAt(0));
    expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
    // Nor where the other waits alone in between.
    served(turns, due('b20', 'b21'), 2);
    served(turns, due('a22'), 1);
    expect(served(turns, due('a23', 'b24'), 1)).toEqual(['b24']);
  });

  it('alternate between escalations and everything else, and each of the two is the agents’', () => {
    const waiting = due('a1!', 'a2!', 'a3!', 'b4!', 'a1', 'a2', 'c5');
    const order = ['a1!', 'a1', 'b4!', 'c5', 'a2!', 'a2', 'a3!'];
    expect(names(createChannelTurns().next(waiting, 9))).toEqual(order);
    expect(served(createChannelTurns(), waiting, 9)).toEqual(order);
  });
});
