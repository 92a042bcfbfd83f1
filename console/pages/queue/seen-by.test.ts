import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole();
});
afterEach(() => fixture.close());

describe('the arguments of a call under review', () => {
  it.each([
    ['viewer', false],
    ['approver', true],
    ['admin', true],
  ] as const)('are shown to a %s with secrets: %s', async (role, isWhole) => {
    const { id } = await fixture.hil.park(1, {
      request_payload: {
        params: {
          name: 'create_user',
          arguments: { user: 'ann', password: 'hunter2-hunter2', mail: 'ann@acme.example' },
        },
      },
    });
    const browser = await fixture.browser({ role });
    for (const path of [`/hil/${id}`, `/hil/${id}?part=detail`, '/hil']) {
      const { text } = await browser.get(path);
      expect([path, text.includes('create_user')]).toEqual([path, true]);
      for (const secret of ['hunter2-hunter2', 'ann@acme.example'])
        expect([path, secret, text.includes(secret)]).toEqual([path, secret, isWhole]);
    }
  });

  it.each([
    ['viewer', false],
    ['approver', true],
  ] as const)('are so for the command line of a %s too', async (role, isWhole) => {
    const { id, correlation_id } = await fixture.hil.park(1, {
      request_payload: { params: { name: 'create_user', arguments: { password: 'hunter2-hunter2' } } },
    });
    const token = await fixture.token({ role });
    for (const path of [`/pending/${id}`, `/pending/by-correlation/${correlation_id}`]) {
      const { status, text } = await fixture
        .stranger()
        .get(`/command-line/hil${path}`, { authorization: `Bearer ${token}` });
      expect([path, status, text.includes('create_user')]).toEqual([path, 200, true]);
      expect([path, text.includes('hunter2-hunter2')]).toEqual([path, isWhole]);
    }
  });
});
