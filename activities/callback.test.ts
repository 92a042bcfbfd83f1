import { describe, expect, it } from '@jest/globals';
import { OutboundError } from '../adapters/outbound/guarded-fetch.js';
import { createCallbackActivities } from './callback.js';
import type { CallStore } from '../domain/call-record/ports.js';

const record = {
  pending_id: 'p',
  decision: { status: 'denied' },
  evidence: { callback_url: 'https://a.example/hook' },
};

/** What the record still owes, and a ledger that is there or not. */
function setting(send: () => Promise<void>, ledgerIsThere = true) {
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
