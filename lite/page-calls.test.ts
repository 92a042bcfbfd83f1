import { describe, expect, it } from '@jest/globals';
import { callsOf, lateText, mainPage } from './page-calls.js';
import type { LedgerEntry } from '../contracts/ledger.js';

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

describe('the newest verdicts of the page', () => {
  const shown = (reasoning: string) =>
    mainPage({
      waiting: [],
      next: null,
      calls: callsOf([
        {
          event_kind: 'proxy.verdict',
          agent_id: 'support-bot',
          tool_type: 'wire_transfer',
          timestamp: '2026-01-01T00:00:00.000Z',
          reasoning,
          policy_decision: { outcome: 'deny' },
        } as unknown as LedgerEntry,
      ]),
      csrf: '',
      openAgents: false,
      chain: null,
      said: '',
      since: '',
      nowMs: 0,
    });

  it('a long reason is cut, and says so', () => {
    expect(shown(`${'because '.repeat(20)}of the limit`)).toContain(`${'because '.repeat(20).trimEnd()}…</p>`);
  });

  it('a short one stands whole', () => {
    expect(shown('over the limit')).toContain('>over the limit</p>');
  });
});
