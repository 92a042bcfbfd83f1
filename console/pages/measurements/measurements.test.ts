import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LONGEST_STANDING_REASON } from '../../../contracts/identity.js';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, linkOf, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';
import { approvalFor } from '../../../test/support/approved-measurement.js';

const here = identityHere();
const PAGE = '/measurements';
const FORM = '/measurements/withdraw';
const BREAKS = `'"><img src=x onerror=alert(1)>`;

const approve = async (workload: string, reason = 'release 7', tenant = 'acme') =>
  (
    await here.identity.store.approveMeasurement(
      approvalFor(tenant, workload),
      { key_id: 'a-key', value: 'a signature' },
      { by: 'operator:dev', reason, nowMs: here.console.hil.now },
    )
  ).id;
const rows = async (browser = here.first, page = PAGE) =>
  rowsOf(await pageOf(browser, page), 'Measurements').map(wordsIn);
const sent = (typed: Readonly<Record<string, string>>) => sendForm(here.first, PAGE, FORM, typed);

describe('what platforms may measure', () => {
  it('is nothing at first, and the page of agents leads there', async () => {
    expect(wordsIn(await pageOf(here.first, PAGE))).toContain('Nobody approved one.');
    expect(await pageOf(here.first, '/agents')).toContain('href="/measurements"');
  });

  it('is listed with who approved it and why, and an administrator withdraws it with his reason', async () => {
    const mine = await approve('a-bot', BREAKS);
    await approve('of-others', 'not yours', 'globex');
    const page = await pageOf(here.first, PAGE);
    expect(page).not.toContain('<img');
    expect(await rows()).toEqual([expect.stringMatching(/^a-bot sha256:a+ .* operator:dev .*onerror/)]);
    expect(await sent({ measurement: mine, reason: 'it leaks' })).toMatchObject({
      status: 303,
      headers: { location: PAGE },
    });
    expect(await rows()).toEqual([]);
    expect(here.told()).toContain('attestation.measurement_retired');
    expect(await here.identity.store.measurements({ tenant: 'acme', state: 'approved' })).toEqual([]);
  });

  it('is withdrawn where it is one of the tenant, with a reason, and what was typed is shown again', async () => {
    await approve('a-bot');
    const theirs = await approve('of-others', 'not yours', 'globex');
    for (const odd of [theirs, randomUUID(), '', 'x']) {
      const refused = await sent({ measurement: odd, reason: 'odd' });
      expect(refused.status).toBe(404);
      expect(fieldsIn(formIn(refused.text, FORM))).toMatchObject({ reason: 'odd' });
    }
    for (const reason of ['', ' ', 'x'.repeat(LONGEST_STANDING_REASON + 1)])
      expect(await sent({ reason })).toMatchObject({ status: 400 });
    expect(await rows()).toHaveLength(1);
    expect(await here.identity.store.measurements({ tenant: 'globex', state: 'approved' })).toHaveLength(1);
  });

  it('is withdrawn by no one else', async () => {
    const mine = await approve('a-bot');
    for (const role of ['viewer', 'approver'] as const) {
      const browser = await here.console.browser({ role });
      expect(await rows(browser)).toHaveLength(1);
      expect(partsIn(await pageOf(browser, PAGE), 'form', { action: FORM })).toEqual([]);
      const fields = fieldsIn(formIn(await pageOf(browser, '/me'), '/logout'));
      expect(await browser.post(FORM, { ...fields, measurement: mine, reason: 'odd' })).toMatchObject({ status: 403 });
    }
    expect(await rows()).toHaveLength(1);
  });

  it('goes on behind a hundred', async () => {
    for (let n = 0; n < 101; n += 1) await approve(`bot-${n}`);
    const first = await rows();
    const later = linkOf(await pageOf(here.first, PAGE), 'Further ones');
    const rest = await rows(here.first, later);
    expect([first.length, rest.length, new Set([...first, ...rest]).size]).toEqual([100, 1, 101]);
    const behind = await pageOf(here.first, `${PAGE}?after=ffffffff-ffff-4fff-bfff-ffffffffffff`);
    expect(wordsIn(behind)).toContain('There is no other one.');
    // What is no id begins anew.
    expect(await rows(here.first, `${PAGE}?after=x`)).toHaveLength(100);
  });
});
