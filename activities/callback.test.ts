import { describe, expect, it } from '@jest/globals';
import { OutboundError } from '../adapters/outbound/guarded-fetch.js';
import { createCallbackActivities } from './callback.js';
import type { DeliverCallback } from '../domain/outbound/ports.js';
import type { CallStore } from '../domain/call/ports.js';

const denied = {
  pending_id: 'p',
  state: 'denied',
  decision: { status: 'denied' },
  evidence: { callback_url: 'https://a.example/hook' },
};

/** What the record still owes, and a ledger that is there or not. */
function setting(send: DeliverCallback, ledgerIsThere = true, record: object = denied) {
  const done: string[] = [];
  const told: string[] = [];
  const calls = {
    find: () => Promise.resolve(record),
    followedUp: (id: string, what: string) => Promise.resolve(void done.push(`${what} of ${id}`)),
  } as unknown as CallStore;
  const activities = createCallbackActivities({
    calls,
    deliver: send,
    reportDelivered: (id, status) => Promise.resolve(void told.push(`${id} was told: ${status}`)),
    reportStuck: (_id, duty, reason) => (told.push(`${duty}: ${reason}`), Promise.resolve(ledgerIsThere)),
  });
  return { activities, done, told };
}

describe('a callback', () => {
  it('that arrived is owed no longer', async () => {
    const { activities, done, told } = setting(() => Promise.resolve());
    await activities.deliver('c');
    expect([done, told]).toEqual([['callback of c'], ['c was told: denied']]);
  });

  it.each([
    ['denied', { status: 'denied' }, { status: 'denied', decision: 'deny', decision_kind: 'deny' }],
    ['approved', { status: 'approved' }, { status: 'approved', decision: 'allow', decision_kind: 'approve' }],
    [
      'approved',
      { status: 'approved', changed: {} },
      { status: 'approved', decision: 'allow', decision_kind: 'modify' },
    ],
    [
      'denied',
      { status: 'denied', decided_by: 'system:withdrawn-by-agent' },
      { status: 'withdrawn', decision: null, decision_kind: null },
    ],
    ['expired', { status: 'expired' }, { status: 'expired', decision: null, decision_kind: null }],
    ['aborted', null, { status: 'aborted', decision: null, decision_kind: null }],
    ['aborted', { status: 'approved' }, { status: 'aborted', decision: null, decision_kind: null }],
    ['tampered', { status: 'approved' }, { status: 'aborted', decision: null, decision_kind: null }],
  ])('of a call that is %s, decided as %j, says what a poll says', async (state, decision, says) => {
    const bodies: unknown[] = [];
    const send: DeliverCallback = ({ body }) => Promise.resolve(void bodies.push(JSON.parse(body)));
    const { activities } = setting(send, true, { ...denied, state, decision });
    await activities.deliver('c');
    expect(bodies).toEqual([expect.objectContaining(says)]);
  });

  it('of an approval that became void while it was told is owed still, for its caller believes it', async () => {
    const record = { ...denied, state: 'approved', decision: { status: 'approved' } };
    const { activities, done, told } = setting(
      () => Promise.resolve(void Object.assign(record, { state: 'aborted' })),
      true,
      record,
    );
    await activities.deliver('c');
    expect([done, told]).toEqual([[], ['c was told: approved']]);
    await activities.deliver('c');
    expect([done, told]).toEqual([['callback of c'], ['c was told: approved', 'c was told: aborted']]);
  });

  it('that was refused for good is owed until somebody was told', async () => {
    const { activities, done, told } = setting(() =>
      Promise.reject(new OutboundError('refused', 'answered 410', { final: true })),
    );
    await expect(activities.deliver('c')).rejects.toMatchObject({ code: 'callback_not_allowed' });
    expect(done).toEqual([]);
    await activities.giveUpCallback('c', 'answered 410');
    expect([told, done]).toEqual([['callback: answered 410'], ['callback of c']]);
  });

  it('is not given up in silence while the ledger is away', async () => {
    const { activities, done } = setting(() => Promise.resolve(), false);
    await expect(activities.giveUpCallback('c', 'answered 410')).rejects.toThrow('the ledger did not take the row');
    expect(done).toEqual([]);
  });
});
