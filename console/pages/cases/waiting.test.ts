import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import { linksIn, valuesIn, wordsIn } from '../../../test/support/html.js';

const ID = '30000000-0000-4000-8000-000000000003';
const caseOf = (agents: readonly string[]) => ({
  case: {
    id: ID,
    tenant: 'acme',
    title: 'money at night',
    status: 'open',
    created_at: '2026-11-02T10:00:00.000Z',
    updated_at: '2026-11-02T10:00:00.000Z',
    agent_ids: agents,
    correlation_ids: [],
    timeline: [],
  },
  evidence: [],
});

let fixture: ConsoleFixture;
let agents: readonly string[];
beforeEach(async () => {
  fixture = await openConsole();
  agents = ['payments-agent'];
  fixture.ledger = (path) => (path === `/cases/${ID}` ? caseOf(agents) : []);
});
afterEach(() => fixture.close());
const ticked = (text: string) => valuesIn(text, 'id');

describe('what waits of the agents of a case', () => {
  it('is listed oldest first, and denied from the page that shows each with its arguments', async () => {
    const rows = [await fixture.hil.park(1), await fixture.hil.park(2)];
    const other = await fixture.hil.park(3, { agent_id: 'other-agent' });
    const settled = await fixture.hil.park(4);
    await fixture.hil.settle(settled);
    const browser = await fixture.browser({ role: 'approver' });
    const ids = ticked((await browser.get(`/cases/${ID}`)).text);
    expect(ids).toEqual(rows.map(({ id }) => id));
    const look = await browser.post('/hil/bulk', { id: ids, decision: 'deny' });
    expect(look.text).toContain('Deny 2 calls?');
    expect((await fixture.hil.reviews.get(rows[0]?.id ?? ''))?.status).toBe('pending');
    const shown = valuesIn(look.text, 'row');
    await browser.post('/hil/bulk/deny', { row: shown, reason: `case ${ID}` });
    for (const { id } of rows)
      expect(await fixture.hil.reviews.get(id)).toMatchObject({ status: 'denied', decision_reason: `case ${ID}` });
    expect((await fixture.hil.reviews.get(other.id))?.status).toBe('pending');
    expect(ticked((await browser.get(`/cases/${ID}`)).text)).toEqual([]);
  });

  it('is shown to a viewer without a form', async () => {
    const row = await fixture.hil.park(1);
    const { text } = await (await fixture.browser({ role: 'viewer' })).get(`/cases/${ID}`);
    expect(linksIn(text).map(({ href }) => href)).toContain(`/hil/${row.id}`);
    expect(ticked(text)).toEqual([]);
  });

  it('is of the person’s tenant alone, also where an agent of another one has the same name', async () => {
    await fixture.hil.park(1, { tenant: 'globex' });
    expect(ticked((await (await fixture.browser()).get(`/cases/${ID}`)).text)).toEqual([]);
  });

  it('is fifty at most of twenty agents, and the page says so', async () => {
    for (let n = 1; n <= 51; n += 1) await fixture.hil.park(n, { agent_id: `bot-${n % 2}` });
    agents = ['bot-0', 'bot-1', ...Array.from({ length: 30 }, (_, n) => `z-${n}`)];
    fixture.reached.length = 0;
    const { text } = await (await fixture.browser()).get(`/cases/${ID}`);
    expect(ticked(text)).toHaveLength(50);
    expect(wordsIn(text)).toContain('there may be more after them');
    expect(fixture.reached.filter((asked) => asked === 'GET /pending')).toHaveLength(20);
  });
});
