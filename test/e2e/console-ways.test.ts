import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hashSync } from 'bcryptjs';
import { pino } from 'pino';
import type { Browser, Page } from 'playwright-core';
import type { ConsoleOptions } from '../../api/console/app.js';
import { readAssets } from '../../api/console/assets.js';
import { basicAdminMode } from '../../api/console/sign-in/basic-admin.js';
import type { SignInMode } from '../../api/console/sign-in/mode.js';
import { openOidcMode } from '../../api/console/sign-in/oidc.js';
import { operatorTokenMode } from '../../api/console/sign-in/operator-token.js';
import { openOperatorMtlsMode } from '../../api/console/sign-in/operator-mtls.js';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import { freePort } from '../../stack/programs/free-port.js';
import { findingsInBothThemes } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { openLoneConsole } from '../support/lone-console.js';
import { needs } from '../support/needs.js';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js';
import { watchedPage } from '../support/watched-page.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const DECIDE = 'decide-token-0123456789abcdefghijklm';
const PASSWORD = 'correct horse battery staple';

inBrowser(`signing in with a browser${needs('chromium', executable !== null)}`, () => {
  let browser: Browser;
  let at: string;
  let port: number;
  let page: Page;
  const complaints: string[] = [];
  const closes: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
  }, 90_000);
  afterAll(() => browser?.close());
  beforeEach(async () => {
    port = await freePort();
    // Another site than a provider's, which is at 127.0.0.1.
    at = `http://localhost:${port}`;
    page = await watchedPage(browser, complaints);
  });
  afterEach(async () => {
    await page.context().close();
    for (const close of closes.splice(0).toReversed()) await close();
    expect(complaints.splice(0)).toEqual([]);
  });

  const opened = async (signIn: SignInMode, tls: ConsoleOptions['tls'] = null): Promise<void> => {
    const assets = await readAssets();
    const console = await openLoneConsole({ signIn, decideToken: DECIDE, url: at, assets, tls });
    closes.push(() => console.close());
    await console.service.listen({ host: '127.0.0.1', port, healthHost: '127.0.0.1', healthPort: 0 });
    closes.push(() => Promise.resolve(console.service.app.server.closeAllConnections()));
  };
  const me = () => page.evaluate<unknown>("fetch('/auth/me').then((answer) => answer.json())");
  const accessible = async () => expect(await findingsInBothThemes(page)).toEqual([]);

  describe('by a name and a password', () => {
    beforeEach(() =>
      opened(
        basicAdminMode({ user: 'ada', passwordHash: hashSync(PASSWORD, 10), tenant: 'acme', decideToken: DECIDE }),
      ),
    );
    const signIn = async (password: string) => {
      await page.getByLabel('Name').fill('ada');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };

    it('refuses a wrong one, leads to the page that was wanted, and ends by signing out', async () => {
      await page.goto(`${at}/audit?agent=a`);
      await accessible();
      await signIn('wrong');
      await page.getByRole('alert').waitFor();
      await accessible();
      await signIn(PASSWORD);
      await page.waitForURL(`${at}/audit?agent=a`);
      expect(await me()).toMatchObject({ name: 'basic:ada', role: 'admin', mode: 'basic-admin' });
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(/\/login/);
      expect(await me()).toMatchObject({ error: 'unauthenticated' });
    });

    it('leads to /device, where a code is typed that nothing asked for', async () => {
      await page.goto(`${at}/device`);
      await signIn(PASSWORD);
      await page.waitForURL(`${at}/device`);
      await accessible();
      await page.getByLabel('Code').fill('BCDF-BCDF');
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.waitForURL(/user_code=/);
      await accessible();
    });
  });

  describe('by the token of an operator', () => {
    const token = 'dev-token-0123456789abcdefghijklmnop';
    beforeEach(() =>
      opened(operatorTokenMode({ operators: [{ name: 'dev', tenant: 'acme', token }], clock: Date.now })),
    );

    it('refuses another one, and an invalid link, and takes the right one', async () => {
      await page.goto(`${at}/login?link=x`);
      await page.getByRole('alert').waitFor();
      await accessible();
      await page.goto(`${at}/audit`);
      await accessible();
      const send = async (text: string) => {
        await page.getByLabel(/token/i).fill(text);
        await page.getByRole('button', { name: 'Sign in' }).click();
      };
      await send('wrong');
      await page.getByRole('alert').waitFor();
      await accessible();
      await send(token);
      await page.waitForURL((url) => url.pathname !== '/login');
      expect(await me()).toMatchObject({ name: 'operator:dev', mode: 'operator-token' });
    });
  });

  describe('by a provider', () => {
    let provider: OpenIdProvider;
    beforeEach(async () => {
      const client = { id: 'gate', secret: 'a-secret-of-the-tests', consoleUrl: at };
      provider = await startOpenIdProvider(client);
      closes.push(() => provider.close());
      provider.person = { sub: 'ada', claims: { org_id: 'acme', groups: ['approvers'], amr: ['pwd', 'mfa'] } };
      await opened(
        await openOidcMode({
          issuer: provider.issuer,
          clientId: client.id,
          clientSecret: client.secret,
          consoleUrl: at,
          claims: { tenant: 'org_id', groups: 'groups', mfa: 'amr' },
          rules: {
            tenantMap: undefined,
            adminGroups: [],
            approverGroups: ['approvers'],
            viewerGroups: [],
            teamGroups: [],
            mfaValues: ['mfa'],
          },
          decideToken: DECIDE,
          key: Buffer.alloc(32, 3),
          logger: pino({ level: 'silent' }),
          clock: Date.now,
        }),
      );
    });

    it('comes back from its pages, on another site, to the page that was wanted', async () => {
      await page.goto(`${at}/audit?agent=a`);
      await page.waitForURL(`${at}/audit?agent=a`);
      expect(await me()).toMatchObject({ name: 'oidc:ada', role: 'approver', mode: 'oidc' });
      expect(provider.tokensAsked).toBe(1);
      const cookies = await page.context().cookies(at);
      expect(cookies.find(({ name }) => name === 'gate_console_session')).toMatchObject({
        httpOnly: true,
        sameSite: 'Lax',
      });
    });

    it('has a page of its own for who signed out, and says on it that no sign-in was begun', async () => {
      await page.goto(`${at}/login`);
      await accessible();
      await page.goto(`${at}/auth/oidc/callback?code=x&state=x`);
      await page.getByRole('alert').waitFor();
      await accessible();
    });

    it('signs nobody in whose groups give no role, and says so', async () => {
      provider.person = { ...provider.person, claims: { org_id: 'acme', groups: [] } };
      await page.goto(`${at}/audit`);
      await page.getByRole('alert').waitFor();
      await accessible();
      expect(await me()).toMatchObject({ error: 'unauthenticated' });
    });
  });

  describe('by a certificate', () => {
    const ADA = 'spiffe://gate.local/operator/ada';
    const HOUR = 3_600_000;
    const validity = { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + 24 * HOUR) };
    type Entry = Readonly<Record<string, unknown>>;
    let register: (change: Entry) => void;
    beforeEach(async () => {
      at = at.replace('http:', 'https:');
      const [own, operators] = await Promise.all([
        createAuthority('gate.local', validity),
        createAuthority('gate.local', validity),
      ]);
      const console = { commonName: 'console', spiffe: 'spiffe://gate.local/service/console' };
      const [server, ada] = await Promise.all([
        issueLeaf(own, { ...validity, ...console, hosts: ['localhost'], usages: ['server'] }),
        issueLeaf(operators, { ...validity, commonName: 'ada', spiffe: ADA, hosts: [], usages: ['client'] }),
      ]);
      const folder = mkdtempSync(join(tmpdir(), 'gate-operators-'));
      closes.push(() => Promise.resolve(rmSync(folder, { recursive: true })));
      const file = join(folder, 'operators.json');
      register = (change) => {
        const entry = {
          fingerprint_sha256: fingerprintOf(new X509Certificate(ada.cert)),
          spiffe: ADA,
          role: 'approver',
          tenant: 'acme',
          expires_at: validity.notAfter.toISOString(),
          active: true,
        };
        writeFileSync(file, JSON.stringify([{ ...entry, ...change }]), { mode: 0o600 });
      };
      register({});
      const logger = pino({ level: 'silent' });
      const trusted = () => undefined;
      await opened(await openOperatorMtlsMode({ file, decideToken: DECIDE, logger, trusted, clock: Date.now }), {
        cert: server.cert,
        key: server.key,
        operatorCa: operators.cert,
      });
      await page.context().close();
      page = await watchedPage(browser, complaints, {
        ignoreHTTPSErrors: true,
        clientCertificates: [{ origin: at, cert: Buffer.from(ada.cert), key: Buffer.from(ada.key) }],
      });
    });
    const signIn = () => page.getByRole('button', { name: 'Sign in' }).click();

    it('leads to the page that was wanted, and is over when the registry says so', async () => {
      await page.goto(`${at}/audit?agent=a`);
      await accessible();
      await signIn();
      await page.waitForURL(`${at}/audit?agent=a`);
      expect(await me()).toMatchObject({ name: `mtls:${ADA}`, role: 'approver', mode: 'operator-mtls' });
      register({ active: false });
      await page.goto(`${at}/audit`);
      await page.waitForURL(/\/login/);
    });

    it('signs nobody in whom the registry does not know, and says so', async () => {
      register({ active: false });
      await page.goto(`${at}/audit`);
      await signIn();
      await page.getByRole('alert').waitFor();
      await accessible();
      expect(await me()).toMatchObject({ error: 'unauthenticated' });
    });
  });
});
