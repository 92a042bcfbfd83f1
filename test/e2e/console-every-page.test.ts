import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, ElementHandle, Page, Response } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { isAtLeast, type Role, ROLES } from '../../console/roles.js';
import { ACTIONS, PAGES } from '../../console/routes.js';
import type { ModelSnapshot } from '../../contracts/inspection.js';
import type { NewReview, PendingRequest } from '../../contracts/review.js';
import { seriousInBothThemes } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { identityThatTells } from '../support/identity-answers.js';
import { hostileLedger, hostilePolicies } from '../support/hostile-services.js';
import { WITH_MODELS } from '../support/model-snapshot.js';
import { needs } from '../support/needs.js';
import { OF_GATE_ITSELF } from '../support/pages-of-gate.js';
import { reportOf } from '../support/sandbox-report.js';
import { watchedPage } from '../support/watched-page.js';
import { labelOf } from '../../api/console/form.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
/** What a call under review says that is masked for who only looks on. */
const SECRETS = ['hunter2-hunter2', 'ann@acme.example'];
const CALL = {
  name: 'create_user',
  arguments: { user: 'ann', password: 'hunter2-hunter2', mail: 'ann@acme.example' },
};
const WRITER: ModelSnapshot['lanes'][number] = {
  lane: 'narrate_decision',
  tier: 'fast',
  models: [{ alias: 'small', provider: 'hosted', model: 'small-1' }],
  hedge_after_ms: null,
};
const REASON = 'Review: ann@acme.example is new here.';

/** What somebody else writes, and how a page shows it. */
const HOSTILE: Readonly<Record<string, readonly [words: string, shown: string]>> = {
  markup: same('<img src=x onerror=alert(1)><script>alert(2)</script><evil-x data-evil="1">'),
  'what ends a part': same('</script></style></textarea></title></option></select></pre><evil-x>--></evil-x>'),
  'an attribute': same(`" data-evil="1" onfocus="alert(3)" autofocus x='`),
  'an attribute in single quotes': same(`' data-evil='1' onfocus='alert(4)' autofocus x="`),
  'an address': same('javascript:alert(5)//https://evil.example'),
  'a template': same('${alert(6)}{{7*7}}<%= 8 %>&lt;evil-x&gt;'),
  'text in both directions': ['pay\u202eevil\u2066', String.raw`pay\u{202e}evil\u{2066}`],
  'control characters': ['a\u0001b\u001b[31m\u0007c\u0085\r', String.raw`a\u{1}b\u{1b}[31m\u{7}c\u{85}\u{d}`],
  // The review service refuses a call with such a one: they are in rows of the ledger and in policies alone.
  'a null byte': ['a\u0000b', String.raw`a\u{0}b`],
  'a lone surrogate': ['a\ud800b\udfffc', String.raw`a\u{d800}b\u{dfff}c`],
  'what nobody sees': ['z\u200bw\u00adn\ufe0f\u{e0041}', String.raw`z\u{200b}w\u{ad}n\u{fe0f}\u{e0041}`],
  'other line ends': ['a\u2028b\u2029c', String.raw`a\u{2028}b\u{2029}c`],
  'letters that pass for others': ['p\u0430yments', String.raw`p\u{430}yments`],
  'a very long word': ['w'.repeat(240), 'w'.repeat(40)],
};
function same(words: string): readonly [string, string] {
  return [words, words];
}
const NOT_STORED: readonly string[] = ['a null byte', 'a lone surrogate'];
const OF_CALLS: readonly string[] = ['/', '/hil', '/hil/:id', '/hil/:id/modify', '/hil/:id/note', '/decide/redeem'];
/** Pages with tables that scroll by themselves on a telephone; on the others each row stands in lines, as wide as the page. */
const SCROLL_THEMSELVES: readonly string[] = [
  '/audit/agents/:agent/narrative',
  '/cases',
  '/agents',
  '/stops',
  '/decoys',
  '/upstreams',
  '/measurements',
  '/tenants',
  '/policies/:name',
  '/policies/templates',
  '/exports',
  '/brain',
  '/health-of-services',
  '/me',
];
/** Attributes that the script of the pages gives to what stands there. */
const BY_SCRIPTS: readonly string[] = ['aria-describedby', 'aria-pressed'];
interface Looked {
  readonly elements: readonly string[];
  readonly attributes: readonly string[];
  /** Characters that nobody sees, with where they are. */
  readonly unseen: readonly string[];
  readonly text: string;
}
/** What a document is made of. */
const LOOK = `(page) => {
  const all = [...page.querySelectorAll('*')];
  const attributes = all.flatMap((one) => [...one.attributes]);
  const walker = page.createTreeWalker(page, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_COMMENT);
  const unseen = [];
  const note = (where, text) => {
    const found = text.match(/[\\p{Cf}\\p{Cc}\\p{Cs}\\u2028\\u2029\\ufffd]/gu)?.filter((one) => one !== '\\n') ?? [];
    for (const one of found) unseen.push(where + ' U+' + one.codePointAt(0).toString(16));
  };
  // What is edited is sent back as it is, and the check beside it names what nobody sees.
  while (walker.nextNode()) if (walker.currentNode.parentElement?.id !== 'body') note(walker.currentNode.parentElement?.localName, walker.currentNode.data);
  for (const { name, value, ownerElement } of attributes) note(ownerElement.localName + '[' + name + ']', value);
  return {
    elements: [...new Set(all.map((one) => one.localName))],
    attributes: [...new Set(attributes.map(({ name }) => name))],
    unseen,
    text: page.body.textContent,
  };
}`;

/** A path of the tables for an address of the console. */
function patternOf(address: string, patterns: readonly string[]): string | undefined {
  const parts = address.split('/');
  const isAt = (pattern: string) => {
    const wanted = pattern.split('/');
    return wanted.length === parts.length && wanted.every((part, at) => part.startsWith(':') || part === parts[at]);
  };
  return patterns.find((pattern) => pattern === address) ?? patterns.find(isAt);
}
const FORMS = ACTIONS.map(({ path }) => path as string);
const formOf = (path: string) => ACTIONS.find((action) => action.path === path);

/** The forms of the shown page, by their buttons that somebody can press; and what a button that nobody can press says why. */
const SUBMITTERS = `[...document.querySelectorAll('main form[method="post"] button[type="submit"]')].filter(({ hidden }) => !hidden)`;
const BUTTONS = `${SUBMITTERS}.map((button) => ({
  path: new URL(button.getAttribute('formaction') ?? button.form.getAttribute('action'), location.href).pathname,
  isDisabled: button.disabled,
  why: document.getElementById(button.getAttribute('aria-describedby') ?? '')?.textContent ?? '',
  fields: [...button.form.elements]
    .filter((field) => field.name && field.matches('textarea, input:not([type=hidden], [type=checkbox], [type=radio])'))
    .map(({ name }) => name),
}))`;
interface Button {
  readonly path: string;
  readonly isDisabled: boolean;
  readonly why: string;
  /** Into which people write. */
  readonly fields: readonly string[];
}

inBrowser(`every page of the console in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let at: string;
  let takes: ConsoleFixture['ledger'];
  const pages: Page[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    fixture = await openConsole(await readAssets());
    takes = fixture.ledger;
    await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    at = `http://localhost:${(fixture.service.app.server.address() as AddressInfo).port}`;
  }, 120_000);
  beforeEach(() => answerAs('a-bot', 'a.rego'));
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.context().close()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  /** The ledger tells of somebody of this name, and the policy engine has what it is asked for and takes each change. */
  function answerAs(words: string, policy: string): void {
    const policies = hostilePolicies(policy);
    const told = hostileLedger(words, '00000000-0000-4000-8000-000000000001');
    fixture.standings = identityThatTells(words);
    fixture.ledger = (path, search, method) => (method === 'POST' ? takes(path, search, method) : told(path));
    fixture.brain = (path) =>
      path === '/narrate-decision'
        ? { status: 200, body: { incident_summary: 'a note', model: 'a:b' } }
        : { status: 200, body: { ...WITH_MODELS, lanes: [...WITH_MODELS.lanes, WRITER] } };
    fixture.policies = (path, method) => {
      const changed = { name: policy, version: 3, current_version: 3, body_sha256: 'a', active: true };
      if (path === '/policies/validate') return { status: 200, body: { ok: true } };
      if (method !== 'GET')
        return { status: path === '/policies' ? 201 : 200, body: { ...changed, event_kind: 'policy.updated' } };
      const { status, body } = policies(path);
      // A tenant's own policy, which is switched off and has an older version.
      const own = { tenant: 'acme', active: false, current_version: 2, current_body_sha256: '2'.repeat(64) };
      return {
        status,
        body:
          path.startsWith('/policies/own.rego') && 'current_body' in (body as object)
            ? { ...(body as object), ...own }
            : body,
      };
    };
  }
  let count = 0;
  const waiting: PendingRequest[] = [];
  const parked = async (over: Partial<NewReview> = {}): Promise<PendingRequest> => {
    const row = await fixture.hil.park((count += 1), {
      agent_id: 'a-bot',
      request_payload: { method: 'tools/call', params: CALL },
      sandbox_report: reportOf('make a user of `ann@acme.example`'),
      risk_summary: REASON,
      review_reasons: [REASON],
      ...over,
    });
    waiting.push(row);
    return row;
  };
  // The next test finds its own on the first page of the list.
  afterEach(async () => {
    for (const row of waiting.splice(0))
      if ((await fixture.hil.reviews.get(row.id))?.status === 'pending') await fixture.hil.settle(row);
  });
  const settled = async (over: Partial<NewReview> = {}): Promise<PendingRequest> => {
    const row = await parked(over);
    await fixture.hil.settle(row, { status: 'denied' });
    return row;
  };
  const linkTo = async ({ id }: PendingRequest): Promise<string> => {
    const { body } = await fixture.hil.ask(`/pending/${id}/decision-link?action=approve`, { tenant: 'acme' });
    return `/decide/redeem?token=${String(body['token'])}`;
  };
  /** An address of a page at which it has as much to show as it can, in a state that nobody used up. */
  const addressOf = async (path: string, over: Partial<NewReview> = {}): Promise<string> => {
    const of = (row: PendingRequest) => path.replace(':id', row.id).replace(':cid', row.correlation_id);
    if (path === '/device') {
      const { userCode = '' } = (await fixture.sessions.grants.begin('192.0.2.7')) ?? {};
      return `/device?user_code=${userCode}`;
    }
    if (path === '/decide/redeem') return linkTo(await parked(over));
    if (path === '/hil/:id/note') return of(await settled(over));
    if (path === '/audit') return '/audit?agent=a-bot';
    if (path === '/audit/correlation') return `${path}?id=${(await parked(over)).correlation_id}`;
    if (path === '/policies/:name/diff') return '/policies/a.rego/diff?from=1&to=1';
    if (path.startsWith('/policies/')) return path.replace(':name', 'a.rego').replace(':version', '1');
    if (path.startsWith('/cases/')) return path.replace(':id', '00000000-0000-4000-8000-0000000000aa');
    return of(await parked(over)).replace(':agent', 'a-bot');
  };
  /** Where a page shows what it does not show there. */
  const ALSO: Readonly<Record<string, string>> = {
    '/policies/:name': '/policies/own.rego',
    '/policies/:name/versions/:version': '/policies/own.rego/versions/1',
    '/agents/:agent': '/agents/stopped-bot',
  };
  const opened = async (role: Role): Promise<Page> => {
    const page = await watchedPage(browser, complaints);
    pages.push(page);
    const { cookie } = await fixture.browser({ role });
    await page.context().addCookies([{ name: 'gate_console_session', value: cookie, url: at }]);
    return page;
  };
  /** Fields of the forms that were looked at which their actions do not say that people write into, and would not show again. */
  const unsaid = new Set<string>();
  afterEach(() => {
    const found = [...unsaid];
    unsaid.clear();
    expect(found).toEqual([]);
  });
  const buttonsOf = async (page: Page) =>
    (await page.evaluate<Button[]>(BUTTONS)).map((button) => {
      const form = patternOf(button.path, FORMS) ?? button.path;
      for (const name of button.fields)
        if (labelOf(name, formOf(form)?.written ?? {}) === undefined) unsaid.add(`${form}: ${name}`);
      return { ...button, form };
    });

  /** Only a template that is in force and has parameters has it (`console/pages/templates/template.tsx`). */
  const OF_A_PARAMETER = '/policies/templates/:name/set';
  /** Nobody showed such a code, and nobody decides under such a name. */
  const SAYS_WHY_NOT: Readonly<Record<string, string>> = {
    '/me/link-chat': 'link_code_invalid',
    '/me/unlink-chat-of': 'not_found',
  };
  /** Forms that stand on pages that came of another one. */
  const STEPS: readonly string[] = [
    '/hil/:id/modify',
    '/hil/:id/modify/more',
    '/hil/bulk/approve',
    '/hil/bulk/deny',
    '/policies/templates/:name/install',
    '/policies/templates/:name/set',
  ];

  describe.each(ROLES)('for a %s', (role) => {
    it('says what the role may see, has the forms that it may send and no other, and each does what it says, or says why not', async () => {
      await fixture.hil.reviews.chatLinks.upsert('acme', { oidc_sub: 'dev', slack_user_id: 'W1' });
      await (await fixture.browser({ role })).post('/audit/searches', { name: 'mine', query: 'agent=a' });
      const page = await opened(role);
      const answers: Promise<readonly [string, string]>[] = [];
      const hear = (answer: Response) => {
        if (['document', 'fetch'].includes(answer.request().resourceType()))
          answers.push(answer.text().then((text) => [answer.url(), text] as const));
      };
      page.on('response', hear);
      const found: unknown[] = [];
      /** An address of a page on which a form stands, by the form. */
      const standsOn = new Map<string, () => Promise<string>>();
      for (const { path, role: needed } of PAGES) {
        const may = isAtLeast(role, needed);
        const answer = await page.goto(at + (await addressOf(path)));
        const buttons = await buttonsOf(page);
        const links = await page
          .locator('a[href^="/"]')
          .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
        const led = links.map((href) =>
          patternOf(
            href.split(/[?#]/, 1)[0] ?? '',
            PAGES.map((one) => one.path),
          ),
        );
        const words = await page.locator('body').innerText();
        for (const { form } of buttons) if (!standsOn.has(form)) standsOn.set(form, () => addressOf(path));
        const also = ALSO[path];
        if (also !== undefined) {
          await page.goto(at + also);
          const more = await buttonsOf(page);
          for (const { form } of more) if (!standsOn.has(form)) standsOn.set(form, () => Promise.resolve(also));
          buttons.push(...more);
        }
        found.push([
          path,
          {
            status: answer?.status(),
            says: may ? words.includes(`${role}, acme`) : words.includes('role_too_low'),
            mayNot: buttons.filter(({ form }) => !isAtLeast(role, formOf(form)?.role ?? 'admin')),
            withoutReason: buttons.filter(({ isDisabled, why }) => isDisabled && why === ''),
            leadsTo: led.filter((to) => to && !isAtLeast(role, PAGES.find((one) => one.path === to)?.role ?? 'admin')),
          },
        ]);
      }
      expect(found).toEqual(
        PAGES.map(({ path, role: needed }) => [
          path,
          { status: isAtLeast(role, needed) ? 200 : 403, says: true, mayNot: [], withoutReason: [], leadsTo: [] },
        ]),
      );
      const sends = ACTIONS.filter((action) => isAtLeast(role, action.role)).map((action) => action.path);
      expect([...standsOn.keys()].toSorted()).toEqual(sends.filter((path) => !STEPS.includes(path)).toSorted());
      page.off('response', hear);
      const told = (await Promise.all(answers)).flatMap(([url, text]) =>
        SECRETS.filter((secret) => text.includes(secret)).map((secret) => `${new URL(url).pathname}: ${secret}`),
      );
      if (role === 'viewer') expect(told).toEqual([]);
      else expect(told.length).toBeGreaterThan(0);

      // Those of a lower role are pressed by it.
      const mine = ACTIONS.filter((action) => action.role === role).map(({ path }) => path as string);
      const pressed = new Map<string, unknown>();
      /** Presses a button of the shown page, after what its form cannot be without was filled in, and returns what came. */
      const press = async (form: string, which: 'first' | 'last' = 'first') => {
        await page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))");
        if (form === '/hil/bulk') await page.locator('main input[type="checkbox"][name="id"]').first().check();
        if (form === '/hil/:id/modify/preview') await page.getByLabel('user').fill('ben');
        if (form === '/stops/tenant') await page.getByLabel('The name of the tenant, typed out').fill('acme');
        if (form === '/agents/:agent/narrow')
          await page.getByLabel('Scopes to be taken away, with spaces between them').fill('tool:pay');
        if (form === '/agents/:agent/decommission')
          await page
            .getByLabel('The name of the agent, typed out')
            .fill(await page.getByRole('heading', { level: 1 }).innerText());
        if (form === '/upstreams/add') {
          await page.getByLabel('Name', { exact: true }).fill('crm');
          await page.getByLabel('Address, as it is configured').fill('https://tools.example/mcp');
        }
        if (form === '/decoys/add') await page.getByLabel('Name', { exact: true }).fill('a_decoy');
        if (form === '/tenants/budget') {
          await page.getByLabel('of all its agents together').check();
          await page.getByLabel('Budget of a month').fill('12.50');
        }
        if (form === '/cases/:id/attach') await page.getByLabel('Agents, one on a line').fill('b-bot');
        const buttons = (await buttonsOf(page)).map((one) => one.form);
        const at = which === 'first' ? buttons.indexOf(form) : buttons.lastIndexOf(form);
        const button = (await page.evaluateHandle(`${SUBMITTERS}[${at}]`)) as ElementHandle<HTMLButtonElement>;
        for (const field of await page.locator('main form[method="post"] :is([required], [name="body"])').all())
          if ((await field.isVisible()) && (await field.inputValue()) === '') {
            const isTime = ['from', 'to'].includes((await field.getAttribute('name')) ?? '');
            await field.fill(isTime ? '2026-11-01' : 'a reason');
          }
        const isIts = (url: string) => patternOf(new URL(url).pathname, FORMS) === form;
        const came = page.waitForResponse((one) => one.request().method() === 'POST' && isIts(one.url()));
        await button.click();
        const answer = await came;
        await page.waitForLoadState();
        const code = /\(([a-z_]+)\)/.exec(await page.locator('main').innerText())?.[1];
        pressed.set(form, [200, 303].includes(answer.status()) ? 'done' : (code ?? answer.status()));
      };
      /** What a form led to. */
      const pressSteps = async (again: () => Promise<void>) => {
        for (const step of STEPS) {
          if (pressed.has(step) || !(await buttonsOf(page)).some((one) => one.form === step)) continue;
          await press(step);
          await again();
        }
      };
      for (const [form, address] of standsOn) {
        if (!mine.includes(form)) continue;
        // A list of calls is approved by its first button, and denied by its last.
        for (const which of form === '/hil/bulk' ? (['first', 'last'] as const) : (['first'] as const)) {
          const anew = async () => {
            await page.goto(at + (await address()));
            await press(form, which);
          };
          await anew();
          await pressSteps(anew);
        }
      }
      const expected = mine
        .filter((path) => path !== OF_A_PARAMETER)
        .map((path) => [path, SAYS_WHY_NOT[path] ?? 'done']);
      expect(Object.fromEntries(pressed)).toEqual(Object.fromEntries(expected));
    }, 300_000);
  });

  it.each([
    ['viewer', false],
    ['approver', true],
  ] as const)(
    'tell a %s by what is loaded later, too, what is masked: %s',
    async (role, isWhole) => {
      const page = await opened(role);
      const told: string[] = [];
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      devtools.on('Network.eventSourceMessageReceived', ({ data }) => void told.push(data));
      const parts: Promise<string>[] = [];
      page.on('response', (answer) => {
        if (answer.request().resourceType() === 'fetch') parts.push(answer.text().catch(() => ''));
      });
      const agent = `later-${role}`;
      const follows = page.waitForResponse((answer) => answer.url().endsWith('/stream/hil'));
      await page.goto(`${at}/hil?q=${agent}`);
      await follows;
      const first = await parked({ agent_id: agent });
      await page.locator(`[data-review="${first.id}"]`).waitFor();
      const second = await parked({ agent_id: agent });
      await page.locator(`[data-row="${second.id}"] > a`).click();
      await page.locator(`[data-review="${second.id}"]`).waitFor();
      await fixture.hil.settle(second, { by: 'operator:second' });
      await page.locator('article .tag.approved').waitFor();
      const all = [...told, ...(await Promise.all(parts)), await page.content()];
      expect(told.length).toBeGreaterThan(0);
      expect(parts.length).toBeGreaterThan(1);
      expect(all.join('')).toContain('create_user');
      for (const secret of SECRETS)
        expect([secret, all.some((text) => text.includes(secret))]).toEqual([secret, isWhole]);
    },
    60_000,
  );

  it('have no serious finding of axe in both themes, where something was refused or is asked, too', async () => {
    const found: Record<string, string[]> = {};
    const look = async (page: Page, name: string, status: number | undefined, says: RegExp) => {
      await page.getByText(says).first().waitFor();
      found[`${name} ${status}`] = await seriousInBothThemes(page);
    };
    const page = await opened('admin');
    const go = async (address: string) => (await page.goto(at + address))?.status();
    const deny = async () => {
      const came = page.waitForResponse((answer) => answer.request().method() === 'POST');
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      return (await came).status();
    };
    await look(page, 'a device', await go(await addressOf('/device')), /Let this command line act as you/);
    await look(page, 'a code of nobody', await go('/device?user_code=BCDF-BCDF'), /./);
    await look(page, 'a link', await go(await addressOf('/decide/redeem')), /You followed a link/);
    const over = await parked();
    const gone = await linkTo(over);
    await fixture.hil.settle(over, { status: 'denied' });
    await look(page, 'a link to what is over', await go(gone), /the link does nothing any more/);
    await look(page, 'no link', await go('/decide/redeem?token=x'), /No such link/);
    await look(page, 'no page', await go('/no-such-page'), /There is no page/);
    await look(page, 'no call', await go('/hil/00000000-0000-4000-8000-00000000ffff'), /No such call waits/);
    const row = await parked();
    await go(`/hil/${row.id}`);
    await fixture.hil.settle(row, { by: 'operator:second', status: 'denied' });
    await look(page, 'somebody was faster', await deny(), /already_decided/);
    const waits = await parked();
    await go(`/hil/${waits.id}`);
    fixture.away.add('hil');
    await look(page, 'nobody decides', await deny(), /console_neighbour_away/);
    await look(page, 'nothing to change', await go(`/hil/${waits.id}/modify`), /./);
    await look(page, 'no list', await go('/hil'), /The review service is away/);
    fixture.away.clear();
    await go(`/hil/${waits.id}`);
    await page.getByLabel('Reason, which its agent is told').fill('not this one');
    await page.context().clearCookies();
    await look(page, 'signed out', await deny(), /You are not signed in any more/);
    const viewer = await opened('viewer');
    await look(viewer, 'no role', (await viewer.goto(`${at}/policies/new`))?.status(), /role_too_low/);
    expect(found).toEqual(
      Object.fromEntries(
        [
          'a device 200',
          'a code of nobody 404',
          'a link 200',
          'a link to what is over 200',
          'no link 404',
          'no page 404',
          'no call 404',
          'somebody was faster 409',
          'nobody decides 503',
          'nothing to change 503',
          'no list 200',
          'signed out 401',
          'no role 403',
        ].map((name) => [name, []]),
      ),
    );
  }, 120_000);

  it('show the digest of a folded value in the width of a telephone', async () => {
    const args = { text: 'a long value '.repeat(400) };
    const row = await parked({ request_payload: { method: 'tools/call', params: { name: 'post', arguments: args } } });
    const page = await opened('admin');
    await page.setViewportSize({ width: 320, height: 640 });
    await page.goto(`${at}/hil/${row.id}`);
    await page.getByText('SHA-256 of its UTF-8').waitFor();
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(320);
  }, 60_000);

  describe('where an agent, or whoever writes policies, writes', () => {
    const overOf = (words: string): Partial<NewReview> =>
      /[\0\ud800]/.test(words)
        ? {}
        : {
            agent_id: `agent ${words}`,
            request_payload: {
              method: 'tools/call',
              params: { name: `tool ${words}`, arguments: { [`key ${words}`]: `value ${words}`, list: [words] } },
            },
            risk_summary: `risk ${words}`,
            review_reasons: [`reason ${words}`],
            sandbox_report: reportOf(words),
          };
    let plain: Looked;
    const look = (page: Page, of: string) => page.evaluate<Looked>(`(${LOOK})(${of})`);
    /** Every page, as a browser reads what the server sends. */
    const lookedAt = async (page: Page, words: string) => {
      answerAs(words, words);
      // What is kept for a while is asked for again.
      fixture.hil.now += 31_000;
      const reader = await fixture.browser();
      const looked: Record<string, Looked> = {};
      for (const { path } of PAGES) {
        const { status, text } = await reader.get(await addressOf(path, overOf(words)));
        expect([path, status]).toEqual([path, 200]);
        const parsed = `new DOMParser().parseFromString(${JSON.stringify(text)}, 'text/html')`;
        looked[path] = await look(page, parsed);
      }
      return looked;
    };
    let blank: Page;
    beforeAll(async () => {
      blank = await browser.newPage();
      const all = Object.values(await lookedAt(blank, 'a-bot'));
      plain = {
        elements: all.flatMap(({ elements }) => elements),
        attributes: all.flatMap(({ attributes }) => attributes),
        unseen: [],
        text: '',
      };
    }, 60_000);
    afterAll(() => blank?.close());
    const differs = ({ elements, attributes, unseen }: Looked) => [
      ...elements.filter((name) => !plain.elements.includes(name)).map((name) => `<${name}>`),
      ...attributes.filter((name) => !plain.attributes.includes(name)),
      ...unseen,
    ];

    it.each(Object.entries(HOSTILE))(
      '%s: it is no element, no attribute and nothing unseen on any page',
      async (name, [words, shown]) => {
        const looked = Object.entries(await lookedAt(blank, words));
        expect(looked.flatMap(([path, one]) => differs(one).map((what) => `${path}: ${what}`))).toEqual([]);
        expect(looked.filter(([, { text }]) => !text.includes(shown)).map(([path]) => path)).toEqual(
          PAGES.map(({ path }) => path).filter(
            (path) => OF_GATE_ITSELF.includes(path) || (NOT_STORED.includes(name) && OF_CALLS.includes(path)),
          ),
        );
      },
      60_000,
    );

    it('all of it: no page opens a dialog, breaks its policy or scrolls sideways, and the scripts make nothing of it', async () => {
      const parts = Object.entries(HOSTILE).map(([name, [one]]) => [name, one] as const);
      const words = parts.map(([, one]) => one).join(' ');
      const stored = parts.flatMap(([name, one]) => (NOT_STORED.includes(name) ? [] : [one])).join(' ');
      answerAs(words, words);
      fixture.hil.now += 31_000;
      const page = await opened('admin');
      await page.setViewportSize({ width: 320, height: 640 });
      const found: string[] = [];
      for (const { path } of PAGES) {
        await page.goto(at + (await addressOf(path, overOf(stored))));
        const others = differs(await look(page, 'document')).filter((what) => !BY_SCRIPTS.includes(what));
        found.push(...others.map((what) => `${path}: ${what}`));
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > 320) found.push(`${path}: ${width} pixels wide`);
        await page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))");
        const wide = await page.evaluate<string[]>(
          "[...document.querySelectorAll('.scrolls')].filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.ariaLabel}, ${box.scrollWidth} pixels`)",
        );
        if (!SCROLL_THEMSELVES.includes(path)) found.push(...wide.map((table) => `${path}: the table ${table}`));
      }
      expect(found).toEqual([]);
    }, 60_000);
  });
});
