import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page, Route } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { type Door, openDoor } from '../support/door.js';
import { tenantThatIs } from '../support/identity-answers.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';
import { watchedPage } from '../support/watched-page.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;

/** Notes what the page says of itself and which rows it shows, whenever one of both changes. */
const NOTE_WHAT_IS_SHOWN = `(() => {
  const noted = (globalThis.noted = []);
  const note = () => {
    const says = document.querySelector('[data-live-status]')?.textContent ?? '';
    const rows = [...document.querySelectorAll('[data-row]')].map((row) => row.dataset.row);
    noted.push({ says, rows });
  };
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
  note();
})()`;
interface Noted {
  readonly says: string;
  readonly rows: readonly string[];
}
/** Counts the signs of life that the page heard. */
const COUNT_SIGNS_OF_LIFE = `(() => {
  globalThis.signs = 0;
  const { addEventListener } = EventSource.prototype;
  EventSource.prototype.addEventListener = function (type, listener) {
    addEventListener.call(this, type, listener);
    if (type === 'alive') addEventListener.call(this, type, () => void (globalThis.signs += 1));
  };
})()`;
const NOT_LIVE = /^Not live/;
/** The page of the list, as the script asks for it again; the chosen call stands in its address. */
const isList = ({ pathname, searchParams }: URL) => pathname.startsWith('/hil') && !searchParams.has('part');

inBrowser(`the queue in a browser that lost its connection${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let port: number;
  const pages: Page[] = [];
  const doors: Door[] = [];
  const complaints: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    fixture = await openConsole(await readAssets());
    await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
    port = (fixture.service.app.server.address() as AddressInfo).port;
  }, 120_000);
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.context().close()));
    await Promise.all(doors.splice(0).map((door) => door.shut()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  let count = 0;
  const parked = (agent: string, over = {}) => fixture.hil.park((count += 1), { agent_id: agent, ...over });
  /** The list of an agent, behind a door of its own. */
  const opened = async (agent: string, path = '/hil') => {
    const door = await openDoor(port);
    doors.push(door);
    const at = `http://localhost:${door.port}`;
    const page = await watchedPage(browser, complaints);
    pages.push(page);
    const { cookie } = await fixture.browser();
    await page.context().addCookies([{ name: 'gate_console_session', value: cookie, url: at }]);
    await page.clock.install({ time: fixture.hil.now });
    await page.addInitScript(COUNT_SIGNS_OF_LIFE);
    const follows = page.waitForResponse((answer) => /\/stream\/\w+$/.test(answer.url()));
    await page.goto(path === '/audit' ? `${at}${path}` : `${at}${path}?q=${agent}`);
    await follows;
    return { page, door, cookie };
  };
  const rowsOf = (page: Page) =>
    page.evaluate<string[]>("[...document.querySelectorAll('[data-row]')].map((row) => row.dataset.row)");
  const says = async (page: Page) => (await page.locator('[data-live-status]').textContent()) ?? '';
  const saysNotLive = (page: Page) => page.locator('[data-live-status]', { hasText: NOT_LIVE }).waitFor();
  const isLive = (page: Page) => eventually('it is live again', async () => !NOT_LIVE.test(await says(page)));

  it('says so for half a minute, and then has every row that came, and none that went, before it says otherwise', async () => {
    const [stays, goes, shown] = [await parked('lost'), await parked('lost'), await parked('lost')];
    const { page, door } = await opened('lost', `/hil/${shown.id}`);
    expect(await rowsOf(page)).toEqual([stays, goes, shown].map(({ id }) => id));
    await door.shut();
    await saysNotLive(page);
    await page.evaluate(NOTE_WHAT_IS_SHOWN);
    const [comes, passes] = [await parked('lost'), await parked('lost')];
    for (const row of [goes, shown, passes]) await fixture.hil.settle(row, { by: 'operator:second', status: 'denied' });
    // What the page does by its clock it does meanwhile.
    await page.clock.runFor(30_000);
    expect(await says(page)).toMatch(NOT_LIVE);
    expect(await rowsOf(page)).toContain(goes.id);
    await door.open();
    await page.locator(`[data-row="${comes.id}"]`).waitFor();
    await isLive(page);
    expect(await rowsOf(page)).toEqual([stays.id, comes.id]);
    expect(await page.locator('.list .count').textContent()).toBe('2 of 2');
    expect(await page.locator('.detail [data-review]').getAttribute('data-review')).toBe(shown.id);
    expect(await page.locator('.detail .tag.denied').count()).toBe(1);
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    const noted = await page.evaluate<Noted[]>('noted');
    const isOld = ({ rows }: Noted) => rows.includes(goes.id) || !rows.includes(comes.id);
    expect(noted.filter((one) => isOld(one) && !NOT_LIVE.test(one.says))).toEqual([]);
    expect(noted.filter(({ rows }) => rows.includes(passes.id))).toEqual([]);
  }, 60_000);

  it('says so where nothing comes any more and nobody says why, and listens anew', async () => {
    const [goes, stays] = [await parked('silent'), await parked('silent')];
    const { page, door } = await opened('silent');
    door.forget();
    await fixture.hil.settle(goes, { status: 'denied' });
    await page.evaluate(NOTE_WHAT_IS_SHOWN);
    const isDone = async () => (await rowsOf(page)).join() === stays.id && !NOT_LIVE.test(await says(page));
    await eventually('it listens again', async () => (await page.clock.runFor(5_000), isDone()));
    const noted = await page.evaluate<Noted[]>('noted');
    expect(noted.some(({ says, rows }) => NOT_LIVE.test(says) && rows.includes(goes.id))).toBe(true);
  }, 60_000);

  it('stays live where nothing happens, as long as its stream says that it is', async () => {
    const stays = await parked('quiet');
    let say: () => void = () => undefined;
    fixture.streamed = () => {
      const body = async function* () {
        yield Buffer.from('retry: 3000\nid: 0\n\n');
        for (;;) {
          await new Promise<void>((resolve) => (say = resolve));
          yield Buffer.from(': keep-alive\n\n');
        }
      };
      return Promise.resolve({ status: 200, body: body() });
    };
    const { page } = await opened('quiet');
    fixture.streamed = () => null;
    await page.evaluate(NOTE_WHAT_IS_SHOWN);
    for (let signs = 1; signs <= 4; signs += 1) {
      await page.clock.runFor(30_000);
      say();
      await eventually('the page heard it', async () => (await page.evaluate<number>('signs')) === signs);
    }
    expect(await rowsOf(page)).toEqual([stays.id]);
    const noted = await page.evaluate<Noted[]>('noted');
    expect(noted.filter(({ says }) => NOT_LIVE.test(says))).toEqual([]);
  }, 60_000);

  it.each(['hil', 'audit'])(
    'says when all of the tenant is stopped and let go, on %s where nothing else happens',
    async (name) => {
      let say: () => void = () => undefined;
      fixture.streamed = () => {
        const body = async function* () {
          yield Buffer.from('retry: 3000\n\n');
          for (;;) {
            await new Promise<void>((resolve) => (say = resolve));
            yield Buffer.from(': keep-alive\n\n');
          }
        };
        return Promise.resolve({ status: 200, body: body() });
      };
      const standings = fixture.standings;
      const { page } = await opened('stopped', `/${name}`);
      fixture.streamed = () => null;
      const banner = page.locator('main > [data-stopped]');
      try {
        for (const state of ['suspended', 'active'] as const) {
          fixture.standings = tenantThatIs(state);
          await eventually(`it is told: ${state}`, async () => {
            // What was heard of a tenant is known for some seconds.
            fixture.hil.now += 6_000;
            say();
            await page.clock.runFor(2_000);
            return (await banner.count()) === (state === 'suspended' ? 1 : 0);
          });
        }
      } finally {
        fixture.standings = standings;
      }
    },
    60_000,
  );

  it('says so until the list came, where the stream is back and the list is not', async () => {
    const goes = await parked('list-lost');
    const { page, door } = await opened('list-lost');
    let lost = 0;
    const lose = async (route: Route) => {
      lost += 1;
      await route.abort();
    };
    await page.route(isList, lose);
    await door.shut();
    await saysNotLive(page);
    await fixture.hil.settle(goes, { status: 'denied' });
    await door.open();
    await eventually('the list was asked for', async () => (await page.clock.runFor(500), lost > 0));
    expect([await says(page), await rowsOf(page)]).toEqual([expect.stringMatching(NOT_LIVE), [goes.id]]);
    await page.unroute(isList, lose);
    // Nothing happens to any call that would be told.
    await eventually('the call is gone', async () => {
      await page.clock.runFor(500);
      return (await rowsOf(page)).length === 0;
    });
    await isLive(page);
  }, 60_000);

  it('says so where an event came and the list did not, and asks for it again', async () => {
    const goes = await parked('event-lost');
    const { page } = await opened('event-lost');
    let lost = 0;
    await page.route(isList, async (route) => ((lost += 1) > 2 ? route.continue() : route.abort()));
    await fixture.hil.settle(goes, { status: 'denied' });
    await eventually('the list was asked for', async () => (await page.clock.runFor(100), lost === 1));
    await saysNotLive(page);
    await eventually('the call is gone', async () => {
      await page.clock.runFor(500);
      return (await rowsOf(page)).length === 0;
    });
    await isLive(page);
    expect(lost).toBe(3);
  }, 60_000);

  it('gives an answer up that does not come, and asks again', async () => {
    const goes = await parked('hangs');
    const { page } = await opened('hangs');
    let asked = 0;
    await page.route(isList, async (route) => {
      asked += 1;
      if (asked > 1) await route.continue();
    });
    await fixture.hil.settle(goes, { status: 'denied' });
    await eventually('the list was asked for', async () => (await page.clock.runFor(100), asked === 1));
    await eventually('the call is gone', async () => {
      await page.clock.runFor(5_000);
      return (await rowsOf(page)).length === 0;
    });
    await isLive(page);
  }, 60_000);

  it('says so while its stream is refused, though pages are answered', async () => {
    const goes = await parked('refused-stream');
    const { page, door } = await opened('refused-stream');
    fixture.streamed = () => Promise.resolve({ status: 503, body: (async function* () {})() });
    const refused = page.waitForResponse((answer) => answer.url().endsWith('/stream/hil') && answer.status() === 503);
    await door.shut();
    await door.open();
    await refused;
    await fixture.hil.settle(goes, { status: 'denied' });
    await eventually('the list came', async () => {
      await page.clock.runFor(500);
      return (await rowsOf(page)).length === 0;
    });
    expect(await says(page)).toMatch(NOT_LIVE);
    fixture.streamed = () => null;
    await eventually('it is live again', async () => {
      await page.clock.runFor(2_000);
      return !NOT_LIVE.test(await says(page));
    });
  }, 60_000);

  it('says so when its session is ended in another browser: what was typed stays, and nothing is decided by it', async () => {
    const row = await parked('ended');
    const { page, cookie } = await opened('ended', `/hil/${row.id}`);
    const reason = page.getByLabel('Reason, which its agent is told');
    await reason.fill('not this vendor');
    const other = await watchedPage(browser, complaints);
    pages.push(other);
    const at = new URL(page.url()).origin;
    await other
      .context()
      .addCookies([{ name: 'gate_console_session', value: (await fixture.browser()).cookie, url: at }]);
    await other.goto(`${at}/me`);
    const ended = (await fixture.sessions.of(cookie))?.id ?? '';
    await other.locator(`form:has(input[value="${ended}"])`).getByRole('button', { name: 'End' }).click();
    await other.waitForURL(`${at}/me`);
    await page.getByText('You are signed out.').waitFor();
    expect(await reason.inputValue()).toBe('not this vendor');
    for (const name of ['Deny', 'Approve', 'Assign to me', 'Approve ticked'])
      expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true]);
    await page.keyboard.press('a');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await fixture.hil.reviews.get(row.id, 'acme')).toMatchObject({ status: 'pending' });
    const signIn = page.getByRole('link', { name: 'Sign in' });
    expect(await signIn.getAttribute('href')).toBe(
      `/login?return_to=${encodeURIComponent(new URL(page.url()).pathname + new URL(page.url()).search)}`,
    );
  }, 60_000);

  it('keeps saying so where a key would show the next call, which was held: that leads to the sign-in', async () => {
    const rows = [await parked('ended-keys'), await parked('ended-keys'), await parked('ended-keys')];
    const { page, cookie } = await opened('ended-keys', `/hil/${rows[0]?.id}`);
    // The calls beside the shown one are held.
    await page.waitForLoadState('networkidle');
    await fixture.sessions.end((await fixture.sessions.of(cookie))?.id ?? '');
    await page.getByText('You are signed out.').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(/\/login\?return_to=/);
    expect(new URL(page.url()).searchParams.get('return_to')).toContain(`/hil/${rows[1]?.id}`);
  }, 60_000);

  it('says so of a call that was held and is shown before anybody told: no button of it sends', async () => {
    const rows = [await parked('ended-held'), await parked('ended-held'), await parked('ended-held')];
    const { page } = await opened('ended-held', `/hil/${rows[0]?.id}`);
    await page.waitForLoadState('networkidle');
    // Its stream goes on.
    await page.context().clearCookies();
    await page.keyboard.press('j');
    await page.locator(`[data-review="${rows[1]?.id}"]`).waitFor();
    await page.getByText('You are signed out.').waitFor();
    for (const name of ['Deny', 'Approve', 'Assign to me'])
      expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true]);
    expect(await fixture.hil.reviews.get(rows[1]?.id ?? '', 'acme')).toMatchObject({ status: 'pending' });
  }, 60_000);

  it('promises nothing once its session is ended, where nothing waited', async () => {
    const { rows } = await fixture.hil.reviews.list({ tenant: 'acme', status: 'pending' });
    for (const { id } of rows) {
      const row = await fixture.hil.reviews.get(id);
      if (row) await fixture.hil.settle(row, { status: 'denied' });
    }
    const { page, cookie } = await opened('');
    await page.getByText('appears here by itself').waitFor();
    await fixture.sessions.end((await fixture.sessions.of(cookie))?.id ?? '');
    await page.locator('main > .notice.bad', { hasText: 'You are signed out.' }).waitFor();
    expect(await page.locator('main').textContent()).not.toContain('appears here by itself');
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toMatch(
      /^\/login\?return_to=%2Fhil/,
    );
  }, 60_000);
});
