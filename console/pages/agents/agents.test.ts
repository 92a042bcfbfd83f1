import { expect, it } from '@jest/globals';
import type { FleetBehavioralDiff, SilentAgents } from '../../../contracts/ledger-reports.js';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../../test/support/fixture.js';
import { hostileLedger } from '../../../test/support/hostile-services.js';

const tells = hostileLedger('a-bot', '00000000-0000-4000-8000-000000000001');
let fixture: ConsoleFixture;
openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
);

/** `/agents` of a fleet of `many`, all silent; of 3 more than are judged nothing can be said. */
async function pageOf(many: number): Promise<string> {
  const silent = tells('/analysis/silent-agents') as SilentAgents;
  const drift = tells('/analysis/fleet-behavioral-diff') as FleetBehavioralDiff;
  const each = <Row extends object>([row]: readonly Row[], named: keyof Row) =>
    Array.from({ length: many }, (_, at) => ({ ...row, [named]: `bot-${at}` }));
  fixture.ledger = (path) => {
    if (path === '/analysis/silent-agents')
      return { ...silent, silent_agents: each(silent.silent_agents, 'agent_name'), active_total: many };
    if (path !== '/analysis/fleet-behavioral-diff') return tells(path);
    const agents = each(drift.agents, 'agent_id').slice(0, 100);
    return { ...drift, agents, returned: agents.length, agents_total: many + 3, insufficient_total: 3 };
  };
  return (await (await fixture.browser({ role: 'viewer' })).get('/agents')).text;
}
const told = (text: string) => text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
const rowsOf = (text: string, label: string) =>
  (text.split(`aria-label="${label}"`)[1]?.split('</table>')[0] ?? '').match(/<tr><th scope="row"/g);

it('shows a hundred that are silent and a hundred that changed, and says of how many', async () => {
  const text = await pageOf(101);
  for (const label of ['Silent agents', 'Changed behaviour']) expect(rowsOf(text, label)).toHaveLength(100);
  expect(told(text)).toContain('The 100 silent the longest of 101.');
  expect(told(text)).toContain('The 100 that changed most of 101.');
  expect(told(text)).toContain('3 of 104 had fewer than 50 calls in one of the two');
});

it('says nothing of the kind where all are shown', async () => {
  const text = await pageOf(100);
  for (const label of ['Silent agents', 'Changed behaviour']) expect(rowsOf(text, label)).toHaveLength(100);
  expect(told(text)).not.toMatch(/the longest of|changed most of/);
});

it('shows what a ledger of before it counted all agents says, and of how many nothing', async () => {
  await pageOf(101);
  const counting = fixture.ledger;
  fixture.ledger = (path, ...asked) => {
    const answer = counting(path, ...asked) as Record<string, unknown>;
    if (path !== '/analysis/fleet-behavioral-diff') return answer;
    const { agents_total: _all, insufficient_total: _unjudged, ...older } = answer;
    return older;
  };
  fixture.hil.now += 3_600_000;
  const { text } = await (await fixture.browser({ role: 'viewer' })).get('/agents');
  expect(rowsOf(text, 'Changed behaviour')).toHaveLength(100);
  expect(told(text)).not.toMatch(/changed most of|null/);
});

it('tells the story of an agent by a ledger that does not count all ends of reviews', async () => {
  fixture.ledger = (path) => {
    const answer = tells(path) as Record<string, Record<string, unknown>>;
    if (!path.endsWith('/narrative')) return answer;
    const {
      changed_then_denied: _policy,
      approved_by_rule: _rule,
      denied_by_gate: _gate,
      withdrawn: _agent,
      unreachable: _nobody,
      ...older
    } = answer['hil'] ?? {};
    return { ...answer, hil: older };
  };
  const { text } = await (await fixture.browser({ role: 'viewer' })).get('/audit/agents/a-bot/narrative');
  expect(text).toContain('class="headline"');
});
