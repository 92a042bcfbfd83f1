import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RevocationContent } from '../../contracts/identity.js';
import { createRevocationMirror, type RevocationMirror, type RevokedNow } from './revocation-mirror.js';

const START_MS = Date.parse('2026-11-29T10:00:00Z');
const at = (ms: number): string => new Date(ms).toISOString();

let now: number;
let steady: number;
let mirror: RevocationMirror;
const passes = (ms: number): void => {
  now += ms;
  steady += ms;
};
beforeEach(() => {
  now = START_MS;
  steady = 0;
  mirror = createRevocationMirror({ trustDomain: 'gate.local', now: () => now, steadyMs: () => steady });
});

type Entry = RevocationContent['svids'][number];
const entry = (fingerprint: string, over: Partial<Entry> = {}): Entry => ({
  svid_id: '0190a5b0-0000-7000-8000-000000000000',
  serial: '01',
  spiffe_id: 'spiffe://gate.local/tenant/acme/agent/bot/instance/x',
  credential_fingerprint: fingerprint,
  not_after: at(now + 3_600_000),
  why: 'revoked',
  refused_from: at(now),
  ...over,
});
const historyOf = (generation: number): string => String(generation % 10).repeat(64);
const list = (over: Partial<RevocationContent> = {}): RevocationContent => {
  const generation = over.generation ?? mirror.position();
  return {
    trust_domain: 'gate.local',
    after: mirror.position(),
    after_history: historyOf(mirror.position()),
    generation,
    history: historyOf(generation),
    latest: generation,
    generated_at: at(now),
    expires_at: at(now + 300_000),
    agents: [],
    standings: [],
    stops: [],
    svids: [],
    ...over,
  };
};
const codeOf = (fingerprint: string) => mirror.faultOf(fingerprint)?.code ?? null;

describe('what is known of revocations', () => {
  it('lets no certificate count before a whole list is known, and each one after it', () => {
    expect([codeOf('a'), mirror.ageMs()]).toEqual(['control_state_unavailable', null]);
    expect(mirror.take(list({ generation: 3, latest: 5 }))).toBe('more');
    expect(codeOf('a')).toBe('control_state_unavailable');
    expect(mirror.take(list({ generation: 5 }))).toBe('whole');
    passes(1_000);
    expect([codeOf('a'), mirror.ageMs(), mirror.position()]).toEqual([null, 1_000, 5]);
  });

  it('refuses what is revoked at once, and what is superseded from its time on', () => {
    const told: RevokedNow[] = [];
    mirror.onRevoked((revoked) => told.push(revoked));
    mirror.take(
      list({
        generation: 2,
        svids: [
          entry('gone', { refused_from: at(now + 5_000) }),
          entry('old', { why: 'superseded', refused_from: at(now + 60_000) }),
        ],
      }),
    );
    expect([codeOf('gone'), codeOf('old'), codeOf('good')]).toEqual(['certificate_revoked', null, null]);
    expect(told).toEqual([{ fingerprints: ['gone'], agents: [], tenants: [] }]);
    passes(60_000);
    expect(codeOf('old')).toBe('certificate_superseded');
    mirror.take(list({ generation: 3, svids: [entry('old')] }));
    expect(codeOf('old')).toBe('certificate_revoked');
  });

  it('tells of an agent that was revoked whole, once, also where none of its certificates is listed', () => {
    const told: RevokedNow['agents'][] = [];
    mirror.onRevoked(({ agents }) => told.push(agents));
    const bot = { tenant: 'acme', agent_name: 'bot', revoked_at: at(now) };
    mirror.take(list({ generation: 1, agents: [bot] }));
    expect(mirror.take(list({ after_history: 'f'.repeat(64) }))).toBe('anew');
    mirror.take(list({ generation: 1, agents: [bot] }));
    passes(1_000);
    mirror.take(list({ generation: 2, agents: [{ ...bot, revoked_at: at(now) }] }));
    expect(told).toEqual([[{ tenant: 'acme', agent: 'bot' }], [{ tenant: 'acme', agent: 'bot' }]]);
  });

  it('counts until its end by either clock, for fifteen minutes at most, and then nothing does', () => {
    mirror.take(list({ generation: 1, svids: [entry('gone')] }));
    passes(299_999);
    expect(codeOf('good')).toBe(null);
    passes(1);
    expect([codeOf('good'), codeOf('gone'), mirror.ageMs()]).toEqual([
      'control_state_unavailable',
      'certificate_revoked',
      null,
    ]);
    mirror.take(list({ expires_at: at(now + 86_400_000) }));
    now -= 600_000;
    steady += 900_000;
    expect(codeOf('good')).toBe('control_state_unavailable');
    steady = 0;
    mirror.take(list());
    now += 300_000;
    expect(codeOf('good')).toBe('control_state_unavailable');
  });

  it('forgets a certificate some time after its end', () => {
    mirror.take(list({ generation: 1, svids: [entry('gone', { not_after: at(now + 1_000) })] }));
    passes(250_000);
    mirror.take(list());
    expect(codeOf('gone')).toBe('certificate_revoked');
    passes(60_000);
    mirror.take(list());
    expect(codeOf('gone')).toBe(null);
  });

  it('forgets none because its own clock was ahead for a while', () => {
    const gone = entry('gone', { not_after: at(now + 380_000) });
    mirror.take(list({ generation: 1, svids: [gone] }));
    now += 700_000;
    mirror.take(list({ generated_at: at(now - 700_000), expires_at: at(now + 200_000) }));
    now -= 700_000;
    expect(codeOf('gone')).toBe('certificate_revoked');
  });

  it.each<[string, () => Partial<RevocationContent>]>([
    ['a number that is less', () => ({ generation: 4, after_history: null, history: historyOf(4) })],
    ['a number that is greater', () => ({ generation: 9, after_history: 'f'.repeat(64) })],
    ['the same number', () => ({ after_history: 'f'.repeat(64), history: 'f'.repeat(64) })],
  ])('is asked for anew after a list of another history with %s, and all that was known stays known', (_what, over) => {
    mirror.take(list({ generation: 7, svids: [entry('gone'), entry('old', { why: 'superseded' })] }));
    passes(1_000);
    expect(mirror.take(list({ svids: [entry('good')], ...over() }))).toBe('anew');
    expect([mirror.position(), mirror.otherHistoryAtMs()]).toEqual([0, now]);
    expect(['gone', 'old', 'good'].map(codeOf)).toEqual(['certificate_revoked', 'certificate_superseded', null]);
    const weaker = entry('gone', { why: 'superseded', refused_from: at(now + 60_000) });
    const later = entry('old', { why: 'superseded', refused_from: at(now + 60_000) });
    const restored = { generation: 4, history: 'f'.repeat(64), after_history: historyOf(0) };
    expect(mirror.take(list({ ...restored, svids: [weaker, later, entry('evil')] }))).toBe('whole');
    expect(['gone', 'old', 'evil'].map(codeOf)).toEqual([
      'certificate_revoked',
      'certificate_superseded',
      'certificate_revoked',
    ]);
    expect(mirror.take(list({ ...restored, after_history: 'f'.repeat(64), generation: 5 }))).toBe('whole');
  });

  it.each<[string, () => Partial<RevocationContent>, RegExp]>([
    ['that was asked for otherwise', () => ({ after: 0 }), /after number 0, which was not asked for/],
    ['of another trust domain', () => ({ trust_domain: 'other.local' }), /trust domain other\.local/],
    ['that is over', () => ({ expires_at: at(now) }), /is over/],
    ['of the future', () => ({ generated_at: at(now + 60_001) }), /of the future/],
    ['that is newer than it says', () => ({ generation: 9, latest: 8 }), /do not fit together/],
    ['that ends before it begins', () => ({ generation: 6 }), /do not fit together/],
  ])('is not changed by a list %s', (_what, over, says) => {
    mirror.take(list({ generation: 7, svids: [entry('gone')] }));
    passes(1_000);
    expect(() => mirror.take(list({ svids: [entry('good')], ...over() }))).toThrow(says);
    expect([codeOf('gone'), codeOf('good'), mirror.position(), mirror.ageMs()]).toEqual([
      'certificate_revoked',
      null,
      7,
      1_000,
    ]);
  });
});

describe('what is known of agents', () => {
  const BOT = { tenant: 'acme', agent: 'bot' };
  type Stand = RevocationContent['standings'][number];
  const stand = (over: Partial<Stand> = {}): Stand => ({
    tenant: 'acme',
    agent_name: 'bot',
    state: 'suspended',
    force_hil_until: null,
    changed_at: at(now),
    ...over,
  });
  const fault = () => mirror.agentFault(BOT)?.code ?? null;
  let closed: RevokedNow['agents'];
  beforeEach(() => {
    closed = [];
    mirror.onRevoked(({ agents }) => void (closed = agents));
  });

  it('lets no agent in before a whole list is known, and a stopped one neither before nor after', () => {
    expect(fault()).toBe('control_state_unavailable');
    expect(mirror.take(list({ generation: 2, latest: 3, standings: [stand()] }))).toBe('more');
    expect([fault(), closed]).toEqual(['agent_suspended', [BOT]]);
    mirror.take(list({ generation: 3 }));
    expect(mirror.agentFault({ tenant: 'acme', agent: 'other' })).toBeNull();
    passes(300_000);
    expect([fault(), mirror.agentFault({ tenant: 'acme', agent: 'other' })?.code]).toEqual([
      'agent_suspended',
      'control_state_unavailable',
    ]);
  });

  it('is what changed last, and a stopped agent has its connections ended once', () => {
    mirror.take(list({ generation: 1, standings: [stand()] }));
    passes(1_000);
    closed = [];
    mirror.take(list({ generation: 2, standings: [stand({ state: 'active' })] }));
    expect([fault(), closed]).toEqual([null, []]);
    passes(1_000);
    mirror.take(list({ generation: 3, standings: [stand({ state: 'decommissioned' })] }));
    expect([fault(), closed]).toEqual(['agent_decommissioned', [BOT]]);
    passes(1_000);
    mirror.take(list({ generation: 4, standings: [stand({ state: 'active' })] }));
    expect(fault()).toBe('agent_decommissioned');
  });

  it('has a person decide until the time that was said, by the clock here', () => {
    mirror.take(list({ generation: 1, standings: [stand({ state: 'active', force_hil_until: at(now + 60_000) })] }));
    expect([fault(), mirror.forcesReview(BOT), mirror.forcesReview({ ...BOT, tenant: 'other' })]).toEqual([
      null,
      true,
      false,
    ]);
    passes(60_000);
    expect(mirror.forcesReview(BOT)).toBe(false);
  });

  it('is not made weaker by a store that was put back, and follows what is said there afterwards', () => {
    const before = at(now);
    passes(1_000);
    mirror.take(list({ generation: 5, standings: [stand({ force_hil_until: at(now + 60_000) })] }));
    const other = { after_history: 'f'.repeat(64) };
    expect(mirror.take(list({ generation: 6, ...other }))).toBe('anew');
    mirror.take(list({ generation: 2, ...other, standings: [stand({ state: 'active', changed_at: before })] }));
    expect([fault(), mirror.forcesReview(BOT)]).toEqual(['agent_suspended', true]);
    passes(1_000);
    mirror.take(list({ generation: 3, standings: [stand({ state: 'active' })] }));
    expect([fault(), mirror.forcesReview(BOT)]).toEqual([null, false]);
  });

  it('is made stricter by a store that was put back to when the agent was stopped', () => {
    const before = at(now);
    passes(1_000);
    mirror.take(list({ generation: 5, standings: [stand({ state: 'active' })] }));
    expect(fault()).toBeNull();
    const other = { after_history: 'f'.repeat(64) };
    mirror.take(list({ generation: 6, ...other }));
    mirror.take(list({ generation: 2, ...other, standings: [stand({ changed_at: before })] }));
    expect(fault()).toBe('agent_suspended');
  });
});

describe('what is known of stops', () => {
  const stop = (
    over: Partial<NonNullable<RevocationContent['stops']>[number]> = {},
  ): NonNullable<RevocationContent['stops']>[number] => ({
    tenant: 'acme',
    tool: 'wire_transfer',
    state: 'suspended',
    changed_at: at(now),
    ...over,
  });
  const fault = (tool = 'wire_transfer', tenant = 'acme') => mirror.toolFault(tenant, ['other', tool])?.code ?? null;

  it('lets no tool be used before a whole list is known, and a stopped one neither before nor after', () => {
    expect(fault()).toBe('control_state_unavailable');
    expect(mirror.take(list({ generation: 2, latest: 3, stops: [stop()] }))).toBe('more');
    expect(fault()).toBe('tool_suspended');
    mirror.take(list({ generation: 3 }));
    expect([fault(), fault('another'), fault('wire_transfer', 'other')]).toEqual(['tool_suspended', null, null]);
    passes(300_000);
    expect([fault(), fault('another')]).toEqual(['tool_suspended', 'control_state_unavailable']);
  });

  it('is of the tool alone, or of the tenant alone, that it names', () => {
    mirror.take(list({ generation: 1, stops: [stop({ tool: 'files/read' }), stop({ tenant: 'other', tool: null })] }));
    expect([fault('files/read'), fault('read'), fault('other'), fault('files/read', 'other')]).toEqual([
      'tool_suspended',
      null,
      null,
      null,
    ]);
    const agentFault = (tenant: string, agent: string) => mirror.agentFault({ tenant, agent })?.code ?? null;
    expect([agentFault('acme', 'files/read'), agentFault('other', 'bot')]).toEqual([null, 'tenant_suspended']);
  });

  it('stops every agent of a tenant that is stopped, and its connections end once', () => {
    const ended: (readonly string[])[] = [];
    mirror.onRevoked(({ tenants }) => void ended.push(tenants));
    mirror.take(list({ generation: 1, stops: [stop({ tool: null })] }));
    expect(mirror.agentFault({ tenant: 'acme', agent: 'bot' })?.code).toBe('tenant_suspended');
    expect(mirror.agentFault({ tenant: 'other', agent: 'bot' })).toBeNull();
    passes(1_000);
    mirror.take(list({ generation: 2, stops: [stop({ tool: null })] }));
    passes(1_000);
    mirror.take(list({ generation: 3, stops: [stop({ tool: null, state: 'active' })] }));
    expect([mirror.agentFault({ tenant: 'acme', agent: 'bot' }), ended]).toEqual([null, [['acme']]]);
  });

  it('is for good where its tenant was offboarded, whatever is told later', () => {
    mirror.take(
      list({ generation: 1, stops: [stop({ tool: null }), stop({ tenant: 'gone', tool: null, offboarded: true })] }),
    );
    const agentFault = (tenant: string) => mirror.agentFault({ tenant, agent: 'bot' });
    expect([agentFault('acme')?.code, agentFault('gone')?.code]).toEqual(['tenant_suspended', 'tenant_decommissioned']);
    expect(agentFault('gone')?.message).toContain('tenant gone was offboarded, for good');
    passes(1_000);
    mirror.take(list({ generation: 2, stops: [stop({ tenant: 'gone', tool: null, state: 'active' })] }));
    expect(agentFault('gone')?.code).toBe('tenant_decommissioned');
  });

  it('is not made weaker by a store that was put back, and follows what is said there afterwards', () => {
    const before = at(now);
    passes(1_000);
    mirror.take(list({ generation: 5, stops: [stop()] }));
    const other = { after_history: 'f'.repeat(64) };
    expect(mirror.take(list({ generation: 6, ...other }))).toBe('anew');
    mirror.take(list({ generation: 2, ...other, stops: [stop({ state: 'active', changed_at: before })] }));
    expect(fault()).toBe('tool_suspended');
    passes(1_000);
    mirror.take(list({ generation: 3, stops: [stop({ state: 'active' })] }));
    expect(fault()).toBeNull();
  });
});
