import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONSOLE_HOST, type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';

let fixture: ConsoleFixture;
beforeAll(async () => {
  fixture = await openConsole();
});
afterAll(() => fixture.close());

/** What a counter says by its labels, as it is scraped. */
async function countedAs(name: string): Promise<Record<string, number>> {
  const lines = [...(await fixture.counted()).matchAll(new RegExp(`^${name}\\{(.*)\\} (\\d+)$`, 'gm'))];
  return Object.fromEntries(lines.map(([, labels = '', value]) => [labels.replaceAll('"', ''), Number(value)]));
}

describe('the metrics of the console', () => {
  it('count who asked for more than his role has: of a page, of a form and at a command line', async () => {
    const roleOf = async (role: string) => ({ role, browser: await fixture.browser({ role }) });
    const [viewer, approver] = [await roleOf('viewer'), await roleOf('approver')];
    await viewer.browser.get('/hil/x/modify');
    await viewer.browser.post('/policies/new', {});
    await approver.browser.post('/policies/new', {});
    const answer = await fixture.service.app.inject({
      method: 'POST',
      url: '/command-line/hil/decide/10000000-0000-4000-8000-000000000001',
      headers: { host: CONSOLE_HOST, authorization: `Bearer ${await fixture.token({ role: 'viewer' })}` },
      payload: {},
    });
    expect(answer.statusCode).toBe(403);
    // What the role has counts for nothing.
    await approver.browser.get('/hil/x/modify');
    expect(await countedAs('gate_console_role_denials_total')).toEqual({
      'required=approver,actual=viewer': 2,
      'required=admin,actual=viewer': 1,
      'required=admin,actual=approver': 1,
    });
  });

  it('say nothing of who the operators are where nobody signs in by certificate', async () => {
    expect(await fixture.counted()).not.toMatch(/^gate_console_operator_trust_ready \d/m);
  });

  it('count each step of a command line’s sign-in', async () => {
    const form = async (url: string, fields: Record<string, string>) => {
      const { body } = await fixture.service.app.inject({
        method: 'POST',
        url,
        headers: { host: CONSOLE_HOST, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ client_id: 'gate-operator-cli', ...fields }).toString(),
      });
      return JSON.parse(body) as Record<string, string>;
    };
    const begin = () => form('/oauth/device_authorization', { scope: 'gate.operator' });
    const collect = (code = '') => {
      fixture.hil.now += 5_000;
      return form('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code });
    };
    const counted = () => countedAs('gate_console_device_grants_total');
    const browser = await fixture.browser();
    const [first, second] = [await begin(), await begin()];
    await collect(first['device_code']);
    expect(await counted()).toEqual({ 'outcome=asked': 2 });
    await browser.post('/device/refuse', { user_code: second['user_code'] ?? '' });
    await browser.post('/device/allow', { user_code: first['user_code'] ?? '' });
    // Nobody waits under it: nothing was allowed.
    await browser.post('/device/allow', { user_code: 'BCDF-BCDF' });
    expect(await counted()).toEqual({ 'outcome=asked': 2, 'outcome=refused': 1, 'outcome=allowed': 1 });
    await collect(first['device_code']);
    await collect(first['device_code']);
    expect(await counted()).toEqual({
      'outcome=asked': 2,
      'outcome=refused': 1,
      'outcome=allowed': 1,
      'outcome=given': 1,
      'outcome=replayed': 1,
    });
  });

  it('count attempts that are told to wait apart from those that failed', async () => {
    for (let at = 0; at < 12; at += 1) await fixture.stranger().post('/login', { token: 'wrong' });
    expect(await countedAs('gate_console_auth_attempts_total')).toEqual({
      'outcome=refused': 10,
      'outcome=throttled': 2,
    });
  });
});
