import { describe, expect, it } from '@jest/globals';
import { lateText } from './page-calls.js';

describe('what the page says of a decision that was not taken', () => {
  const words = (code: string) => lateText(code, null, 0) ?? '';

  it('about a call whose record is not what Gate wrote: that, and no word of having come too late', () => {
    expect(words('call_tampered')).toBe(
      'Not taken: the stored record of this call is not what Gate wrote, so Gate closed it. Nothing more is executed under its id. Its ledger rows say what happened before; look at who can write to the call store.',
    );
    expect(words('call_tampered')).not.toMatch(/late|deadline|expired/i);
  });

  it('about a call whose deadline passed: that it came too late', () => {
    expect(words('pending_expired')).toMatch(/^Too late: this call expired/);
  });
});
