import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { seriousFindings } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { commandLine } from '../support/command.js';
import { needs } from '../support/needs.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';
import { watchedPage } from '../support/watched-page.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const PASSWORD = 'correct horse battery staple';

inBrowser(`signing in at the command line with a browser${needs('chromium', executable !== null)}`, () => {
  let gate: TestStack;
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  const commands = commandLine(() => gate.stateDir);
  const env = () => ({ GATE_STATE_DIR: gate.stateDir });
  const done = (...args: string[]) => commands.done(args, env());

  beforeAll(async () => {
    [gate, browser] = await Promise.all([
      startStack({
        env: {
          GATE_CONSOLE_AUTH: 'basic-admin',
          GATE_CONSOLE_ADMIN_USER: 'ada',
          GATE_CONSOLE_ADMIN_PASS_BCRYPT: hashSync(PASSWORD, 10),
          GATE_CONSOLE_ADMIN_TENANT: 'acme',
        },
      }),
      openBrowser(executable ?? ''),
    ]);
  }, STACK_START_LIMIT_MS);
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await commands.stop();
    await gate?.stop();
  }, 120_000);

  const opened = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const page = await watchedPage(browser, complaints, options);
    contexts.push(page.context());
    return page;
  };
  /** `gate login`, and the address that it prints. */
  const begun = async () => {
    const command = commands.run(['login'], env());
    const address = await eventually('the address is shown', () => /^or open (\S+)$/m.exec(command.out())?.[1]);
    return { command, address, code: new URL(address).searchParams.get('user_code') ?? '' };
  };
  const signIn = async (page: Page) => {
    await page.getByLabel('Name').fill('ada');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const accessible = async (page: Page) => expect(await seriousFindings(page)).toEqual([]);

  it('agrees in the browser, decides at the command line, and the record names the person', async () => {
    const { command, address, code } = await begun();
    const page = await opened();
    await page.goto(address);
    // Nobody is signed in yet; the sign-in leads back to the page, which agrees to nothing by itself.
    await signIn(page);
    await page.getByRole('heading', { level: 1, name: 'Let this command line act as you?' }).waitFor();
    expect(await page.locator('main').textContent()).toContain(code);
    await accessible(page);
    await page.getByRole('button', { name: 'Let it act as me' }).click();
    await page.getByRole('heading', { level: 1, name: 'Go back to your terminal' }).waitFor();
    expect([await command.ended, command.out()]).toEqual([
      0,
      expect.stringMatching(/^signed in at http:\/\/localhost:\d+ as basic:ada \(admin, acme\) until /m),
    ]);

    const { status, correlationId } = await (await gate.agent('login-agent')).call('wire_transfer', {
      from: 'operating',
      to: 'vendor',
      amount: 25,
    });
    expect(status).toBe(202);
    const list = await done('pending', '--json');
    expect((JSON.parse(list.out) as { correlation_id: string }[]).map((row) => row.correlation_id)).toContain(
      correlationId,
    );
    expect(await done('decide', correlationId, 'approve', '--reason', 'invoice 4711')).toEqual({
      code: 0,
      out: expect.stringContaining('approved: wire_transfer for login-agent, by basic:ada'),
    });
    expect(await gate.operator.rowOf(correlationId)).toMatchObject({
      status: 'approved',
      decided_by: 'basic:ada',
      decided_via: 'command-line',
      decision_reason: 'invoice 4711',
    });
    const rows = await gate.rows(correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(rows.find(({ event_kind }) => event_kind === 'hil.approved')).toMatchObject({ decided_by: 'basic:ada' });
    expect(await done('audit', correlationId)).toEqual({ code: 0, out: expect.stringContaining('by basic:ada') });
    expect((await done('audit', '--limit', '5', '--json')).code).toBe(0);
    expect(await done('approvals')).toEqual({ code: 0, out: expect.stringContaining('basic:ada') });

    await page.goto(new URL('/me', page.url()).href);
    await accessible(page);
    const row = page.getByRole('row', { name: /A command line/ });
    await row.getByRole('button', { name: 'End' }).click();
    await eventually('it is not listed any more', async () => (await row.count()) === 0);
    // It does not become the operator of the stack.
    expect(await done('pending')).toEqual({ code: 3, out: expect.stringContaining('unauthenticated') });
    expect(await done('logout')).toEqual({ code: 0, out: expect.stringContaining('signed out') });
    expect((await done('pending')).code).toBe(0);
    expect((await done('whoami')).code).toBe(3);
  }, 120_000);

  it('is refused in a browser without scripts, on a telephone, by the typed code', async () => {
    const { command, address, code } = await begun();
    const page = await opened({ javaScriptEnabled: false, viewport: { width: 320, height: 640 } });
    await page.goto(new URL('/device', address).href);
    await signIn(page);
    await page.getByLabel('Code').fill(code.toLowerCase().replace('-', ' '));
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('heading', { level: 1, name: 'Refused' }).waitFor();
    expect([await command.ended, command.out()]).toEqual([3, expect.stringContaining('access_denied')]);
    expect((await done('whoami')).code).toBe(3);
  }, 120_000);
});
