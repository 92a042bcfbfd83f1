import { expect, it } from '@jest/globals';
import { toldHits } from './decoys.js';

const CALL = '70000000-0000-4000-8000-000000000007';

it.each([80, 122, 130, Infinity])(
  'who touched a decoy is told with the whole id of the last call, at a width of %d',
  (width) => {
    const told = toldHits(
      [
        {
          decoy_id: '80000000-0000-4000-8000-000000000008',
          decoy: 'vault_layout',
          kind: 'tool',
          tenant: 'acme',
          agent_name: 'support-bot',
          hits: 3,
          first_at: '2026-01-02T03:04:05.000Z',
          last_at: '2026-01-02T03:05:05.000Z',
          correlation_id: CALL,
          contained: 'suspend',
        },
      ],
      width,
    );
    expect(told).toContain(CALL);
    expect(told).toContain('support-bot');
  },
);
