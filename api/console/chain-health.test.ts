import { describe, expect, it } from '@jest/globals';
import { ASK_LIMITS } from './ask-limits.js';
import { chainHealth } from './chain-health.js';

describe('how the chain stands', () => {
  it('is looked at again after a walk that found no row, and not after one that found some', async () => {
    let rows = 0;
    let walks = 0;
    const over = {
      url: 'https://ledger.test',
      fetch: (url: string) => {
        const isWalk = new URL(url).pathname === '/verify';
        if (isWalk) walks += 1;
        const body = { valid: true, entries_checked: rows, first_invalid_seq: null };
        return Promise.resolve({ status: isWalk ? 200 : 404, text: () => Promise.resolve(JSON.stringify(body)) });
      },
    };
    const { health } = chainHealth(Promise.resolve(over as never), () => 0, ASK_LIMITS);
    expect(await health()).toMatchObject({ length: 0 });
    rows = 3;
    expect(await health()).toMatchObject({ length: 3 });
    rows = 4;
    expect(await health()).toMatchObject({ length: 3 });
    expect(walks).toBe(2);
  });
});
