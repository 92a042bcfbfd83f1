import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Browser } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { openSamlMemory, type SamlMemory } from '../../adapters/console/saml-memory.js';
import { openSamlMode } from '../../api/console/sign-in/saml/saml.js';
import { freePort } from '../../stack/programs/free-port.js';
import { findingsInBothThemes } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { openLoneConsole } from '../support/lone-console.js';
import { needs } from '../support/needs.js';
import { newSigningKey, type SamlProvider, startSamlProvider } from '../support/saml-provider.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const DECIDE = 'decide-token-0123456789abcdefghijklm';

inBrowser(`signing in by SAML in a browser${needs('chromium', executable !== null)}`, () => {
  let browser: Browser;
  let provider: SamlProvider;
  let folder: string;
  let memory: SamlMemory;
  let console: Awaited<ReturnType<typeof openLoneConsole>>;
  let at: string;

  beforeAll(async () => {
    [browser, provider] = await Promise.all([
      openBrowser(executable ?? ''),
      newSigningKey().then((signing) => startSamlProvider(signing)),
    ]);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await provider?.close();
  });
  beforeEach(async () => {
    const port = await freePort();
    // Another site than the provider's, which is at 127.0.0.1.
    at = `http://localhost:${port}`;
    provider.person = {
      nameId: 'ada@acme.example',
      attributes: { tenant: ['acme'], groups: ['approvers'], factors: ['mfa'] },
    };
    folder = mkdtempSync(join(tmpdir(), 'gate-saml-browser-'));
    memory = await openSamlMemory({ target: { file: join(folder, 'saml.db') }, key: Buffer.alloc(32, 3) });
    const signIn = await openSamlMode({
      entityId: `${at}/saml`,
      acsUrl: `${at}/auth/saml/acs`,
      metadataUrl: provider.metadataUrl,
      attributes: { tenant: 'tenant', groups: ['groups'], mfa: 'factors' },
      rules: {
        tenantMap: undefined,
        adminGroups: [],
        approverGroups: ['approvers'],
        viewerGroups: [],
        teamGroups: [],
        mfaValues: ['mfa'],
      },
      decideToken: DECIDE,
      sessionMs: 3_600_000,
      memory,
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    });
    console = await openLoneConsole({ signIn, decideToken: DECIDE, url: at, assets: await readAssets() });
    await console.service.listen({ host: '127.0.0.1', port, healthHost: '127.0.0.1', healthPort: 0 });
  });
  afterEach(async () => {
    console.service.app.server.closeAllConnections();
    await console.close();
    await memory.close();
    rmSync(folder, { recursive: true });
  });

  it("comes back from the provider's page, on another site, to the page that was wanted", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${at}/audit?agent=a`);
    expect(new URL(page.url()).origin).toBe(new URL(provider.signOnUrl).origin);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.waitForURL(`${at}/audit?agent=a`);
    const me = (await page.evaluate("fetch('/auth/me').then((answer) => answer.json())")) as Record<string, unknown>;
    expect(me).toMatchObject({ name: 'saml:ada@acme.example', role: 'approver', mode: 'saml' });
    const cookies = await context.cookies(`${at}/auth/saml/acs`);
    expect(cookies.find(({ name }) => name === 'gate_console_session')).toMatchObject({
      httpOnly: true,
      sameSite: 'Lax',
    });
    expect(cookies.find(({ name }) => name === 'gate_console_saml')).toMatchObject({
      httpOnly: true,
      sameSite: 'None',
    });
    await context.close();
  }, 60_000);

  it("signs nobody in by another person's answer, which a page sends from elsewhere", async () => {
    const [theirs, ours] = await Promise.all([browser.newContext(), browser.newContext()]);
    const attacker = await theirs.newPage();
    await attacker.goto(`${at}/audit`);
    const form = await attacker.content();
    const victim = await ours.newPage();
    await victim.goto(new URL('/elsewhere', provider.metadataUrl).href);
    await victim.setContent(form);
    await victim.getByRole('button', { name: 'Go on' }).click();
    await victim.getByRole('alert').waitFor();
    expect(await findingsInBothThemes(victim)).toEqual([]);
    await victim.goto(`${at}/login`);
    expect(await findingsInBothThemes(victim)).toEqual([]);
    expect(await ours.cookies(at)).toEqual([]);
    await Promise.all([theirs.close(), ours.close()]);
  }, 60_000);
});
