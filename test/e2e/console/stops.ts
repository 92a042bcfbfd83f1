import { afterEach, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { AgentClient } from '../../support/agent.js';
import { seriousOrTooWide } from '../../support/accessibility.js';
import { needs } from '../../support/needs.js';
import { atConsole, browser, gate, hasBrowser, inBrowser, signIn } from '../../support/running-console.js';
import { eventually } from '../../support/waiting.js';
import { watchedPage } from '../../support/watched-page.js';

inBrowser(`what people stop in a browser${needs('chromium', hasBrowser)}`, () => {
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);

  const signedIn = async (path: string, as?: string): Promise<Page> => {
    const page = await watchedPage(browser, complaints);
    contexts.push(page.context());
    await signIn(page.context(), as);
    await page.goto(atConsole(path));
    return page;
  };
  /** Until every proxy knows: calls of their own, each with an id of its own. */
  const answered = (bot: AgentClient, status: number, code?: string, tool = 'list_files') =>
    eventually(`a call of ${tool} is answered ${status}`, async () => {
      // Its connection ends when it is stopped.
      const reply = await bot.call(tool, {}).catch(() => null);
      return reply?.status === status && (code === undefined || reply.body['error'] === code) ? reply : null;
    });
  const press = async (page: Page, button: string, reason: string) => {
    const form = page.locator('form').filter({ has: page.getByRole('button', { name: button, exact: true }) });
    await form.getByLabel('Reason, which is recorded').fill(reason);
    await form.getByRole('button', { name: button, exact: true }).click();
    await page.waitForLoadState();
  };
  const opens = (page: Page, words: string) => page.locator('summary').filter({ hasText: words }).click();
  const standing = (page: Page) => page.getByRole('region', { name: 'How it stands' });

  it('an agent: one person stops it, its call is refused, and two people let it go', async () => {
    const bot = await gate.agent('stopped-in-a-browser');
    const { status, correlationId } = await bot.call('list_files', {});
    expect(status).toBe(200);
    await gate.rows(correlationId, (kinds) => kinds.includes('proxy.verdict'));

    const first = await signedIn('/agents/stopped-in-a-browser');
    expect(await standing(first).innerText()).toContain('not stopped');
    await opens(first, 'Have a person decide about each call');
    await standing(first).getByLabel('For').selectOption('a day');
    await press(first, 'Have a person decide', 'unusual hours');
    expect(await standing(first).innerText()).toContain('unusual hours');
    await answered(bot, 202);
    await standing(first).getByRole('button', { name: 'Let the rules alone decide again' }).click();
    await first.waitForLoadState();
    expect(await standing(first).innerText()).not.toContain('a person decides');
    await answered(bot, 200);

    await opens(first, 'Stop it');
    await press(first, 'Stop it', 'pays somebody unknown');
    expect(await standing(first).innerText()).toMatch(/stopped since .* by operator:dev: pays somebody unknown/);
    await answered(bot, 403, 'agent_suspended');

    await press(first, 'Ask for its release', 'the payee is known');
    expect(await standing(first).innerText()).toMatch(/operator:dev asked for its release .*\(the payee is known\)/);
    expect(await standing(first).getByRole('button', { name: 'Let it go' }).count()).toBe(0);
    expect(await seriousOrTooWide(first)).toEqual([]);

    const second = await signedIn('/agents', 'second');
    await second
      .getByRole('region', { name: 'Stopped agents' })
      .getByRole('link', { name: 'stopped-in-a-browser' })
      .click();
    await second.waitForLoadState();
    expect(await standing(second).innerText()).toContain('unless somebody else confirms it, as you can');
    expect(await seriousOrTooWide(second)).toEqual([]);
    // What was asked for meanwhile counts no more, and nobody lets go what he did not see.
    await opens(first, 'Keep it stopped');
    await press(first, 'Keep it stopped', 'not yet');
    await standing(second).getByRole('button', { name: 'Let it go' }).click();
    await second.getByText('stop_changed').waitFor();
    expect(await standing(second).innerText()).toContain('not yet');
    await press(second, 'Ask for its release', 'it is known');
    await first.goto(atConsole('/agents/stopped-in-a-browser'));
    await standing(first).getByRole('button', { name: 'Let it go' }).click();
    await standing(first).getByText('active').waitFor();
    await answered(bot, 200);
  }, 180_000);

  it('a tool, for everybody, and the tenant, which every page says', async () => {
    const bot = await gate.agent('uses-stopped-tools');
    await answered(bot, 200);
    const first = await signedIn('/stops');
    const second = await signedIn('/stops', 'second');
    await first.getByLabel('Tool, by the name that agents are shown').fill('list_filez');
    await press(first, 'Stop the tool', 'odd');
    await first.getByText('Nobody ever called a tool of this name').waitFor();
    expect(await first.getByLabel('Tool, by the name that agents are shown').inputValue()).toBe('list_filez');
    await first.getByLabel('Tool, by the name that agents are shown').fill('list_files');
    await press(first, 'Stop the tool', 'odd');
    const tool = (page: Page) => page.getByRole('region', { name: 'list_files' });
    expect(await tool(first).innerText()).toMatch(/stopped since .* by operator:dev: odd/);
    await answered(bot, 403, 'tool_suspended');

    await opens(first, 'Stop acme whole');
    const tenant = (page: Page) => page.getByRole('region', { name: 'Tenant acme' });
    await first.getByLabel('The name of the tenant, typed out').fill('acme');
    await press(first, 'Stop everything', 'a breach');
    expect(await tenant(first).innerText()).toContain('a breach');
    await answered(bot, 403, 'tenant_suspended');
    expect(await seriousOrTooWide(first)).toEqual([]);
    await first.goto(atConsole('/me'));
    await first.getByText('All of acme is stopped').waitFor();

    const letGo = async (region: (page: Page) => ReturnType<Page['getByRole']>) => {
      await first.goto(atConsole('/stops'));
      await region(first).getByRole('button', { name: 'Ask for its release' }).click();
      await region(first).getByText('somebody else confirms it').waitFor();
      await second.goto(atConsole('/stops'));
      await region(second).getByRole('button', { name: 'Let it go' }).click();
      await second.waitForLoadState();
    };
    await letGo(tenant);
    expect(await tenant(second).innerText()).toContain('not stopped');
    expect(await second.getByText('All of acme is stopped').count()).toBe(0);
    await answered(bot, 403, 'tool_suspended');
    await letGo(tool);
    expect(await second.getByRole('region', { name: 'Let go again' }).innerText()).toContain('list_files');
    await answered(bot, 200);
  }, 180_000);
});
