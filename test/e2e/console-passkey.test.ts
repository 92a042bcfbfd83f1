import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { ASK_LIMITS } from '../../api/console/ask-limits.js';
import { passkeyMode } from '../../api/console/sign-in/passkey.js';
import { freePort } from '../../stack/programs/free-port.js';
import { seriousInBothThemes } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';
import { watchedPage } from '../support/watched-page.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const FIRST = 'first-token-0123456789abcdefghijklmn';

/** Gives a browser a device that keeps passkeys. `verifies`: how it knows its owner from then on, or not; `isTouched`: whether he is at it. */
async function addAuthenticator(page: Page, isUserVerified: boolean) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
  return {
    verifies: (isVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: isVerified }),
    isTouched: (enabled: boolean) =>
      devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
  };
}

/** A console whose approvals take a passkey of these people, and a browser in which an operator is signed in there. */
async function signedInWhere(passkeyRequired: 'registered' | 'all', complaints: string[]) {
  const browser = await openBrowser(executable ?? '');
  const port = await freePort();
  const address = `http://localhost:${port}`;
  const fixture = await openConsole(await readAssets(), { consoleUrl: address, hilOptions: { passkeyRequired } });
  await fixture.service.app.listen({ host: '127.0.0.1', port });
  const page = await watchedPage(browser, complaints);
  const { cookie } = await fixture.browser();
  await page.context().addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
  return { browser, fixture, address, page };
}

inBrowser(`signing in by a passkey in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    const port = await freePort();
    // Browsers take this name for safe without HTTPS, and passkeys belong to it.
    address = `http://localhost:${port}`;
    fixture = await openConsole(await readAssets(), {
      consoleUrl: address,
      signIn: (hil, clock) => passkeyMode({ tenant: 'acme', hil, key: Buffer.alloc(32, 9), clock, limits: ASK_LIMITS }),
      hilOptions: { bootstrapToken: FIRST },
    });
    await fixture.service.app.listen({ host: '127.0.0.1', port });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  /** A browser on somebody's device, which keeps passkeys and knows its owner, or not. */
  const device = async (isUserVerified = true) => {
    const page = await watchedPage(browser, complaints);
    return { page, ...(await addAuthenticator(page, isUserVerified)) };
  };
  const register = async (page: Page, link: string): Promise<void> => {
    await page.goto(link);
    await registerHere(page);
  };
  const registerHere = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByText(/^Registered\./).waitFor();
    const key = await page.getByLabel('The public key of your passkey').textContent();
    expect(key).toContain('BEGIN PUBLIC KEY');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy the public key' }).click();
    await eventually(
      'it is copied',
      async () => (await page.evaluate('navigator.clipboard.readText()')) === `${key}\n`,
    );
  };
  const signIn = async (page: Page, name: string): Promise<void> => {
    await page.goto(`${address}/login?return_to=/me`);
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Sign in with your passkey' }).click();
  };

  it('registers the first by the link of the settings, whose token leaves the history, and invites the next', async () => {
    const ana = await device();
    const isAccessible = async (page: Page) => expect(await seriousInBothThemes(page)).toEqual([]);
    // An invitation of somebody else, in the same tab.
    await ana.page.goto(`${address}/register#name=eve&token=another`);
    await isAccessible(ana.page);
    await ana.page.goto(`${address}/register#name=ana&token=${FIRST}`);
    await eventually('it is read', async () => {
      const name = await ana.page.getByLabel('Name').inputValue();
      return name === 'ana' && new URL(ana.page.url()).hash === '';
    });
    await registerHere(ana.page);
    expect(ana.page.url()).toBe(`${address}/register`);
    await isAccessible(ana.page);
    await signIn(ana.page, 'ana');
    await ana.page.waitForURL(`${address}/me`);
    await ana.page.getByText('webauthn:ana').first().waitFor();

    await ana.page.getByLabel('Name').fill('ben');
    await ana.page.getByRole('button', { name: 'Invite' }).click();
    const said = ana.page.getByText(/^For ben, until/);
    await said.waitFor();
    await isAccessible(ana.page);
    const link = /http\S+$/.exec((await said.textContent()) ?? '')?.[0] ?? '';

    const ben = await device();
    await register(ben.page, link);
    await ben.isTouched(false);
    await signIn(ben.page, 'ben');
    await ben.page.getByText('Waiting for your passkey.').waitFor();
    await ben.isTouched(true);
    await signIn(ben.page, 'ben');
    await ben.page.waitForURL(`${address}/me`);
    expect(await ben.page.getByRole('button', { name: 'Invite' }).count()).toBe(0);
    const row = await fixture.hil.park(1);
    await ben.page.goto(`${address}/hil/${row.id}`);
    await ben.page.getByRole('button', { name: 'Deny', exact: true }).click();
    await ben.page.getByText('webauthn:ben').first().waitFor();
    expect(await fixture.hil.reviews.get(row.id, 'acme')).toMatchObject({ decided_by: 'webauthn:ben' });

    await ben.page.getByRole('button', { name: 'Sign out' }).click();
    await ben.verifies(false);
    await signIn(ben.page, 'ben');
    await ben.page.getByText(/^Not done/).waitFor();
    await isAccessible(ben.page);
    await ben.verifies(true);
    // On a device that has no passkey of that name.
    await signIn(ben.page, 'ana');
    await ben.page.getByText(/^Not done/).waitFor();
    expect(new URL(ben.page.url()).pathname).toBe('/login');
    expect(complaints).toEqual([]);
  }, 120_000);
});

inBrowser(`approving with a passkey in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  let page: Page;
  let verifies: (isVerified: boolean) => Promise<unknown>;
  const complaints: string[] = [];
  beforeAll(async () => {
    ({ browser, fixture, address, page } = await signedInWhere('registered', complaints));
    ({ verifies } = await addAuthenticator(page, true));
    await page.goto(`${address}/me`);
    await page.getByRole('button', { name: 'Register a passkey' }).click();
    await page.getByText(/^Registered\./).waitFor();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  let count = 0;
  const parked = (agent: string) => fixture.hil.park((count += 1), { agent_id: agent });
  const standing = (id: string) => fixture.hil.reviews.get(id, 'acme');
  const SIGNED = { status: 'approved', approver_provenance: 'webauthn' };
  const approve = () => page.getByRole('button', { name: 'Approve', exact: true });

  it('signs what the button approves, and nothing that a device which does not know its owner would', async () => {
    const row = await parked('button');
    await page.goto(`${address}/hil/${row.id}`);
    await verifies(false);
    await approve().click();
    await page.getByText(/^Not done/).waitFor();
    expect(await standing(row.id)).toMatchObject({ status: 'pending' });
    await verifies(true);
    await approve().click();
    await page.locator('article .tag.approved').waitFor();
    expect(await standing(row.id)).toMatchObject(SIGNED);
  }, 60_000);

  it('signs what a approves of a call that j led to, and of no other', async () => {
    const [first, second] = [await parked('keys'), await parked('keys')];
    await page.goto(`${address}/hil?q=keys`);
    await page.locator(`[data-review="${first.id}"]`).waitFor();
    await page.keyboard.press('j');
    await page.locator(`[data-review="${second.id}"]`).waitFor();
    await page.keyboard.press('a');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.locator('article .tag.approved').waitFor();
    expect(await standing(second.id)).toMatchObject(SIGNED);
    expect(await standing(first.id)).toMatchObject({ status: 'pending' });
  }, 60_000);

  it('asks for none where a call is denied', async () => {
    const row = await parked('denied');
    await page.goto(`${address}/hil/${row.id}`);
    await verifies(false);
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.locator('article .tag.denied').waitFor();
    await verifies(true);
    expect(await standing(row.id)).toMatchObject({ status: 'denied' });
    expect(complaints).toEqual([]);
  }, 60_000);
});

inBrowser(`approving where everybody needs a passkey${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    ({ browser, fixture, address, page } = await signedInWhere('all', complaints));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  it('says to who has none that it takes one, before anything is pressed, and leads there', async () => {
    const row = await fixture.hil.park(1);
    await page.goto(`${address}/hil/${row.id}`);
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    expect(await approve.isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Deny', exact: true }).isDisabled()).toBe(false);
    const why = page.locator('#why-not');
    expect(await why.textContent()).toContain('It is approved with a passkey, and you have registered none');
    expect(await seriousInBothThemes(page)).toEqual([]);
    await why.getByRole('link', { name: 'register one' }).click();
    await page.waitForURL(`${address}/me`);
  }, 60_000);

  it('tells what is refused all the same on a line of its own, toned, with the way to the passkeys', async () => {
    const row = await fixture.hil.park(2);
    await page.goto(`${address}/hil/${row.id}`);
    // A page that was loaded while there was one.
    await page.getByRole('button', { name: 'Approve', exact: true }).evaluate((button: HTMLButtonElement) => {
      button.disabled = false;
    });
    for (const width of [320, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      const said = page.locator('.decide form .notice.bad');
      await said.waitFor();
      expect(await said.textContent()).toContain('passkey_refused');
      expect(await said.getByRole('link', { name: 'Your passkeys' }).getAttribute('href')).toBe('/me');
      const [box, button] = await Promise.all([
        said.boundingBox(),
        page.getByRole('button', { name: 'Approve', exact: true }).boundingBox(),
      ]);
      expect(box?.y).toBeGreaterThanOrEqual((button?.y ?? 0) + (button?.height ?? 0));
    }
    expect(await seriousInBothThemes(page)).toEqual([]);
    // What the review service refused, a browser tells of as well.
    expect(complaints.filter((one) => !one.includes('Failed to load resource'))).toEqual([]);
  }, 60_000);
});
