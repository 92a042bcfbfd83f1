import { afterAll, afterEach, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { JsonObject } from '../../../contracts/json.js';
import { commandLine } from '../../support/command.js';
import { needs } from '../../support/needs.js';
import { atConsole, browser, gate, hasBrowser, inBrowser, signIn } from '../../support/running-console.js';
import { watchedPage } from '../../support/watched-page.js';

/** The last of the parts: where an agent listed tools and one of them is classed, calls of tools that nobody classed wait. */
inBrowser(`two people in browsers at once${needs('chromium', hasBrowser)}`, () => {
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  const command = commandLine(() => gate.stateDir);
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);
  afterAll(() => command.stop());

  const signedIn = async (as?: string) => {
    const page = await watchedPage(browser, complaints);
    contexts.push(page.context());
    await signIn(page.context(), as);
    return page;
  };
  const parked = async (agent: string, args: JsonObject, tool: string) => {
    const { status, correlationId, text } = await (await gate.agent(agent)).call(tool, args);
    if (status !== 202) throw new Error(`${tool} was not parked: ${status} ${text}`);
    return gate.operator.rowOf(correlationId);
  };
  const notice = (page: Page) => page.locator('.notice').first();
  const status = async (row: { correlation_id: string }) => (await gate.operator.rowOf(row.correlation_id)).status;
  /** Has what these pages send with a press wait for each other, so that all of it reaches Gate in the same moment. */
  const atOnce = async (...presses: readonly (readonly [page: Page, button: string])[]) => {
    let sent = 0;
    let open: () => void = () => undefined;
    const all = new Promise<void>((done) => (open = done));
    for (const page of new Set(presses.map(([one]) => one)))
      await page.route(
        (url) => /\/(?:approve|deny)$/.test(url.pathname),
        async (route) => {
          sent += 1;
          if (sent === presses.length) open();
          await all;
          await route.continue();
        },
      );
    await Promise.all(
      presses.map(async ([page, name]) => {
        await page.getByRole('button', { name, exact: true }).click();
        await notice(page).waitFor();
      }),
    );
  };
  const ranWith = async (tool: string, key: string, value: unknown) =>
    (await gate.tools()).effects.filter((one) => one.tool === tool && one.arguments[key] === value).length;
  const ran = async (row: { correlation_id: string }) =>
    (await gate.kinds(row.correlation_id, 'upstream.outcome')).filter((kind) => kind === 'upstream.outcome').length;
  const BOTH = 'Approve (2 people must)';

  it('takes one decision of two people who press in the same moment, and tells the other who was faster', async () => {
    const [one, other] = [await signedIn(), await signedIn('second')];
    const row = await parked('decided-at-once', { from: 'operating', to: 'vendor', amount: 7.25 }, 'wire_transfer');
    for (const page of [one, other]) await page.goto(atConsole(`/hil/${row.id}`));
    await atOnce([one, 'Approve'], [other, 'Deny']);
    const { status: became, decided_by: by } = await gate.operator.rowOf(row.correlation_id);
    const [fast, slow] = by === 'operator:dev' ? [one, other] : [other, one];
    expect(became).toBe(fast === one ? 'approved' : 'denied');
    expect(await notice(fast).textContent()).toMatch(fast === one ? /^Approved/ : /^Denied/);
    expect(await notice(slow).textContent()).toContain('already_decided');
    expect(await slow.getByRole('region', { name: 'The chosen call' }).textContent()).toContain(`by ${by}`);
    if (fast === one) expect(await ran(row)).toBe(1);
    expect(await ranWith('wire_transfer', 'amount', 7.25)).toBe(fast === one ? 1 : 0);
  }, 90_000);

  it('counts two people who approve in the same moment, one of them in two browsers, and runs the call once', async () => {
    const [one, again, other] = [await signedIn(), await signedIn(), await signedIn('second')];
    // A tool that the upstream has, and counts.
    await (await gate.agent('quorum-at-once')).control('tools/list');
    const classed = ['tools', 'set', 'slow_task', 'strict', '--reason', 'two people look'];
    expect(await command.done(classed, { GATE_STATE_DIR: gate.stateDir })).toMatchObject({ code: 0 });
    const row = await parked('quorum-at-once', { seconds: 0 }, 'slow_task');
    for (const page of [one, again, other]) await page.goto(atConsole(`/hil/${row.id}`));
    await atOnce([one, BOTH], [again, BOTH]);
    const given = async () => (await gate.operator.rowOf(row.correlation_id)).approvals?.length;
    expect([await given(), await status(row)]).toEqual([1, 'pending']);
    for (const page of [one, again]) {
      await page.getByRole('region', { name: 'Decide', exact: true }).getByText('(1 of 2)').waitFor();
      expect(await page.getByRole('button', { name: BOTH }).isDisabled()).toBe(true);
    }
    await other.getByText('1 of 2').first().waitFor();
    await other.getByRole('button', { name: BOTH }).click();
    for (const page of [one, again, other]) await page.locator('article .tag.approved').waitFor();
    expect([await ran(row), await ranWith('slow_task', 'seconds', 0)]).toEqual([1, 1]);

    const both = await parked('quorum-at-once', { seconds: 0.01 }, 'slow_task');
    for (const page of [one, other]) await page.goto(atConsole(`/hil/${both.id}`));
    await atOnce([one, BOTH], [other, BOTH]);
    for (const page of [one, other]) await page.locator('article .tag.approved').waitFor();
    const { approvals } = await gate.operator.rowOf(both.correlation_id);
    expect(approvals?.map(({ by }) => by).toSorted()).toEqual(['operator:dev', 'operator:second']);
    expect([await ran(both), await ranWith('slow_task', 'seconds', 0.01)]).toEqual([1, 1]);
  }, 120_000);
});
