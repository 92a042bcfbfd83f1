import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { RULES_ALONE, WITH_MODELS } from '../../../test/support/model-snapshot.js';
import { wordsIn } from '../../../test/support/html.js';

const NOW = Date.parse('2026-11-28T12:00:00.000Z');
let gate: TestLedgerService;
let page: ConsoleOverLedger;
let now: number;
beforeEach(async () => {
  now = NOW;
  gate = await ledgerService('sqlite');
  page = consoleOverLedger(
    () => gate,
    () => now,
  );
  page.brain = () => WITH_MODELS;
});
afterEach(async () => {
  await page.close();
  await gate.close();
});
const text = async (as: 'acme' | 'globex' = 'acme') => (await page.get('/brain', { as })).text;
const told = async (as: 'acme' | 'globex' = 'acme') => wordsIn(await text(as));

describe('the page of Brain', () => {
  it.each(['viewer', 'approver', 'admin'] as const)('is for whoever is signed in: %s', async (role) => {
    page.role = role;
    expect((await page.get('/brain')).status).toBe(200);
    expect(await told()).toContain('Models judge beside the rules');
  });

  it('leads nobody else anywhere but to the sign-in, and asks nothing for him', async () => {
    const { status, headers } = await page.get('/brain', { as: null });
    expect([status, headers['location'], page.asked]).toEqual([303, '/login?return_to=%2Fbrain', []]);
  });

  it('has each provider with how it stands, its last failure, and what of its budget is used', async () => {
    const words = await told();
    expect(words).toMatch(/hosted openai asked 41 3 0 rate_limited 2 min ago .* 37 % 12 %/);
    expect(words).toMatch(
      /local ollama held back for your tenant held back tried again .* 5 5 8 unavailable .* none no budget/,
    );
    expect(words).toContain('those of the last 10 minutes');
  });

  it('has each lane with its tier, its model, and those that stand in', async () => {
    const words = await told();
    expect(words).toContain('intent fast small-1 hosted nobody never');
    expect(words).toContain('intent deep large-1 hosted own-7b of local after 800 ms');
  });

  it('has the report by which the models may judge', async () => {
    const words = await told();
    for (const part of ['passed', '262, 3 runs, 2 rounds', '2, of which all hold', 'at least 0.95', '0.9733'])
      expect(words).toContain(part);
    expect(words).not.toContain('counts no more');
  });

  it('says that a report counts no more, and what of it does not hold', async () => {
    const { qualification } = WITH_MODELS;
    if (qualification === null) throw new Error('no report');
    page.brain = () => ({
      ...WITH_MODELS,
      qualification: {
        ...qualification,
        counts_until: '2026-11-28T11:59:59.000Z',
        result: 'fail',
        checks: [
          {
            of: 'recall',
            value: 0.5,
            at_least: 0.95,
            holds: false,
          },
        ],
      },
    });
    const words = await told();
    for (const part of ['The report counts no more', 'failed', '1, of which 1 do not hold'])
      expect(words).toContain(part);
  });

  it('says that no report is required', async () => {
    page.brain = () => ({ ...WITH_MODELS, qualification: null });
    expect(await told()).toContain('Not qualified: Brain was not told to require a report');
  });

  it('says that rules alone judge where no models are configured, and by which', async () => {
    page.brain = () => RULES_ALONE;
    const words = await told();
    expect(words).toContain('Rules alone judge: no models are configured');
    expect(words).toContain('classifier fast gate-rules:intent-1');
    for (const part of ['Providers', 'Qualification']) expect(words).not.toContain(part);
  });

  it('says that Brain is away, and shows what the ledger knows', async () => {
    page.brain = null;
    const words = await told();
    expect(words).toMatch(/Brain is away: .*What it knows is not shown/);
    expect(words).toContain('$0.000000 for 0 requests');
  });

  it('says the same of a Brain that answers something else', async () => {
    page.brain = () => ({ brain_version: 'gate-brain/1' });
    expect(await told()).toContain('Brain is away');
  });

  it('says that the ledger is away, and shows what Brain knows', async () => {
    page.ledgerIsAway = true;
    const words = await told();
    expect(words).toContain('The ledger is away');
    expect(words).toContain('large-1');
  });

  it('has what the inspections of this month cost the tenant, and nothing of another one', async () => {
    const inspected = { method: 'brain.inspection', event_kind: 'brain.inspection' as const };
    const [row] = await gate.ledger.append([
      testRow({ agent_id: 'pay-bot' }),
      testRow({ ...inspected, agent_id: 'pay-bot', cost_micros: 1_234 }),
      testRow({ ...inspected, agent_id: 'else-bot', tenant: 'globex', cost_micros: 2_000_000 }),
    ]);
    // Rows have the time at which they are written.
    now = Date.parse((await gate.ledger.get(row?.id ?? ''))?.timestamp ?? '');
    const words = await told();
    expect(words).toMatch(/pay-bot \$0\.001234 1 /);
    for (const other of ['else-bot', '$2.00', 'cost most']) expect(words).not.toContain(other);
    expect(await told('globex')).toMatch(/else-bot \$2\.00 0 /);
    now += 32 * 86_400_000;
    expect(await told()).toContain('Nothing was asked this month.');
  });

  it('says that it has only those that cost most where there are more', async () => {
    const inspected = { method: 'brain.inspection', event_kind: 'brain.inspection' as const, cost_micros: 5 };
    const agents = Array.from({ length: 20 }, (_, index) => testRow({ ...inspected, agent_id: `bot-${index}` }));
    const [row] = await gate.ledger.append(agents);
    now = Date.parse((await gate.ledger.get(row?.id ?? ''))?.timestamp ?? '');
    expect(await told()).not.toContain('that cost most');
    await gate.ledger.append([testRow({ ...inspected, agent_id: 'bot-20', cost_micros: 4 })]);
    // What was summed is kept for a while.
    now += 600_000;
    const words = await told();
    expect(words).toContain('Only the 20 that cost most.');
    expect([words.includes('bot-19 '), words.includes('bot-20 ')]).toEqual([true, false]);
  });

  it('asks Brain for the tenant of the person, and for no other', async () => {
    await text();
    await text('globex');
    expect(page.asked.filter((path) => path.startsWith('/model-snapshot'))).toEqual([
      '/model-snapshot?tenant=acme',
      '/model-snapshot?tenant=globex',
    ]);
  });

  it('shows whatever Brain says as text', async () => {
    const hostile = '<script>alert(1)</script>\u202e';
    const [lane] = WITH_MODELS.lanes;
    const [provider] = WITH_MODELS.providers;
    page.brain = () => ({
      ...WITH_MODELS,
      brain_version: hostile,
      lanes: [{ ...lane, models: [1, 2].map((alias) => ({ alias: `${alias}`, provider: hostile, model: hostile })) }],
      providers: [
        {
          ...provider,
          name: hostile,
          kind: hostile,
          last_failure: { failure: hostile, at: '2026-11-28T11:58:00.000Z' },
        },
      ],
    });
    const html = await text();
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
    expect(html.match(/&lt;script>alert\(1\)&lt;\/script>\\u\{202e\}/g)).toHaveLength(8);
  });
});
