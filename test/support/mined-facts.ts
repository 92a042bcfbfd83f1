import type { MinedFacts } from '../../contracts/policy-mining.js';

/** The least that a suggestion is found in, where a test does not ask what it was. */
export const MINED_FACTS: MinedFacts = {
  since: '2026-11-01T10:00:00.000Z',
  until: '2026-11-02T10:00:00.000Z',
  evidence: {
    approvals: { passed: 1, of: 1 },
    denials: { passed: 0, of: 0 },
    class_alone: { approvals: 1, denials: 0 },
    days: 1,
    approvers: 1,
    agents: 1,
  },
  parts: [],
  examples: { waits: [], denied: [] },
};
