import { describe, expect, it } from '@jest/globals';
import { createPolicyOutbox } from './outbox.js';

describe('rows in front of the ledger that are not sent', () => {
  it('are named each by what is wrong with it: one whose key is not here was perhaps not edited', async () => {
    const told: (string | null)[] = [];
    const missing = 'row 2: it was written under the key newer, which this process does not have';
    const outbox = createPolicyOutbox({
      store: {
        undelivered: async () => ({ waiting: [], tampered: ['row 1: its mac does not hold', missing] }),
        delivered: () => Promise.reject(new Error('nothing is delivered')),
      },
      ledger: {
        append: () => Promise.reject(new Error('nothing is sent')),
      } as unknown as Parameters<typeof createPolicyOutbox>[0]['ledger'],
      onFault: (reason) => void told.push(reason),
    });
    await outbox.flush();
    await outbox.close();
    expect(told).toEqual([`edited in the store: row 1: its mac does not hold; ${missing}`]);
  });
});
