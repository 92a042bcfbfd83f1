import { describe, expect, it } from '@jest/globals';
import type { AgentRecord } from '../contracts/identity.js';
import { suspendableAgent, toldRelease, toldStop } from './agent-standing.js';

const AT = '2026-01-02T03:04:05.000Z';
const BOT = {
  name: 'acme/bot',
  typed: 'agent bot',
  at: AT,
  by: 'operator:dev',
  release: null,
  report: null,
  certificates: null,
};
const RECORD: AgentRecord = {
  id: '70000000-0000-4000-8000-000000000007',
  tenant: 'acme',
  agent_name: 'bot',
  created_by_sub: 'x',
  created_at: AT,
  state: 'suspended',
  state_changed_at: AT,
  state_changed_by: 'operator:dev',
  reason: 'odd',
  svid_bootstrap_state: 'recovery',
  report_id: null,
  force_hil: null,
  owner_team: null,
  description: null,
  certified_at_version: null,
  certified_at: null,
  scope_envelope: [],
  yellow_envelope: [],
  attestation_kinds_accepted: [],
  release: null,
};
const asked = { requested_by: 'operator:second', requested_at: AT, reason: null, until: '2026-01-03T03:04:05.000Z' };

describe('what came of a stop', () => {
  it('says by whom, and the command by which two people end it', () => {
    const told = toldStop(undefined, BOT);
    expect(told).toMatch(/^stopped: acme\/bot, by operator:dev; /);
    expect(told).toMatch(/release agent bot --reason "…"\n$/);
    expect(toldStop({ state: 'active', release: null }, BOT)).toBe(told);
  });

  it('says of what was stopped before that, and whose release counts no more', () => {
    expect(toldStop({ state: 'suspended', release: null }, BOT)).toMatch(
      `acme/bot was stopped before, at ${AT} by operator:dev\n`,
    );
    expect(toldStop({ state: 'suspended', release: asked }, BOT)).toMatch(
      'by operator:dev; what operator:second asked for, its release, counts no more\n',
    );
  });
});

describe('what a stop says of certificates', () => {
  it.each([
    ['had one', 'recovery', /\nits certificates are taken back: once it is let go, it needs a first one again\n/],
    ['keeps one that somebody edited', 'retired', /\nnot all of its certificates could be taken back: /],
    ['never had one', 'available', /^(?!.*certificates)/s],
  ] as const)('of an agent that %s', (_what, bootstrap, says) => {
    expect(toldStop(undefined, suspendableAgent({ ...RECORD, svid_bootstrap_state: bootstrap }))).toMatch(says);
  });

  it('says it of one that is let go', () => {
    expect(toldRelease({ release: asked }, suspendableAgent({ ...RECORD, state: 'active' }), undefined)).toMatch(
      /\nits certificates stay taken back: /,
    );
    const retired = { ...RECORD, state: 'active', svid_bootstrap_state: 'retired' } as const;
    expect(toldRelease({ release: asked }, suspendableAgent(retired), undefined)).not.toContain('certificates');
  });
});

describe('what came of a release', () => {
  const waits = { ...BOT, release: asked };

  it('says who asked and who confirmed', () => {
    expect(toldRelease(waits, BOT, undefined)).toBe(
      'let go: acme/bot; operator:second asked for it, and operator:dev confirmed it\n',
    );
  });

  it('says that somebody else confirms it, and by which command', () => {
    const told = toldRelease(BOT, waits, true);
    expect(told).toMatch(
      /^acme\/bot stays stopped: operator:second asked for its release\nsomebody else confirms it, /,
    );
    expect(told).toContain(`until ${asked.until}: `);
    expect(told).toContain('release agent bot (in the development stack');
  });

  it('says that one person counts once, and where nobody else is known', () => {
    expect(toldRelease(waits, waits, true)).toContain('you had asked for its release before');
    expect(toldRelease(BOT, waits, false)).toContain('nobody else is known here who could confirm it');
  });
});
