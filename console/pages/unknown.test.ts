import { expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole, WholeAnswer } from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { hostileLedger, hostilePolicies } from '../../test/support/hostile-services.js';
import { pageAddress } from '../../test/support/page-address.js';
import { PAGES } from '../routes.js';

const UNKNOWN = '00000000-0000-4000-8000-0000000000aa';
const tells = hostileLedger('a-bot', UNKNOWN);
const engine = hostilePolicies('a-policy');
let fixture: ConsoleFixture;
openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
).sharedHere();

/** A ledger that has nothing of what is asked for by name. */
function hasNone(path: string): unknown {
  if (path.startsWith('/cases/')) return new WholeAnswer(404, '{"error":"case_not_found","reason":"none"}');
  if (path.startsWith('/audit/correlation/')) return [];
  const told = tells(path) as Record<string, unknown>;
  if (path === '/analysis/agent-activity') return { ...told, agents: [], returned: 0, agents_total: 0 };
  return path.endsWith('/narrative') ? { ...told, total: 0, notable: [] } : told;
}

it.each(PAGES.map(({ path }) => path).filter((path) => path.includes(':')))(
  '%s of what there is none leads on from where it says so',
  async (path) => {
    fixture.ledger = hasNone;
    fixture.policies = (asked) =>
      asked === '/policies/standing' ? engine(asked) : { status: 404, body: { error: 'not_found', reason: 'none' } };
    const { text } = await (await fixture.browser()).get(
      pageAddress(path, { id: UNKNOWN, name: 'nope.rego', version: '7' }),
    );
    expect(text).not.toContain('is away');
    const said = [...text.matchAll(/<p class="empty">(.*?)<\/p>/gs)].map(([, words]) => words ?? '');
    expect(said.filter((words) => / href="\//.test(words))).not.toEqual([]);
  },
);
