import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelSnapshot } from '../../../contracts/inspection.js';
import type { PendingRequest } from '../../../contracts/review.js';
import {
  type ConsoleFixture,
  openConsole,
  type TestBrowser,
  WholeAnswer,
} from '../../../test/support/console-over-hil.js';
import { testRow } from '../../../test/support/ledger.js';
import { ledgerService } from '../../../test/support/ledger-service.js';
import { RULES_ALONE } from '../../../test/support/model-snapshot.js';
import { fieldIn, linksIn, valuesIn } from '../../../test/support/html.js';

const HOSTILE = '<script>alert(1)</script>\u202e';
const WRITES: ModelSnapshot = {
  ...RULES_ALONE,
  lanes: [
    {
      lane: 'narrate_decision',
      tier: null,
      models: [{ alias: 'fast', provider: 'hosted', model: 'm-1' }],
      hedge_after_ms: null,
    },
  ],
};
const SUGGEST = 'Have a model suggest one';

let fixture: ConsoleFixture;
let browser: TestBrowser;
let row: PendingRequest;
let asked: unknown[];
beforeEach(async () => {
  asked = [];
  fixture = await openConsole();
  browser = await fixture.browser();
  row = await fixture.hil.park(1);
});
afterEach(() => fixture.close());

const decided = (status: 'approved' | 'denied' = 'denied') => fixture.hil.settle(row, { status });
const noted = async () => (await fixture.hil.reviews.get(row.id))?.incident_summary;
const brainSays = (status: number, body: object) => {
  fixture.brain = (path, question) => {
    if (path === '/model-snapshot') return { status: 200, body: WRITES };
    asked.push([path, question]);
    return { status, body };
  };
};

describe('a note about a call', () => {
  it('is saved in the name of the person, and stands with the review', async () => {
    await decided();
    const page = await browser.get(`/hil/${row.id}/note`);
    expect(page.text).toContain(`action="/hil/${row.id}/note"`);
    const { status, headers } = await browser.post(`/hil/${row.id}/note`, { note: ' Paid by hand. ' });
    expect([status, headers['location']]).toEqual([303, `/audit/correlation/${row.correlation_id}`]);
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({
      incident_summary: 'Paid by hand.',
      incident_by: 'operator:dev',
    });
    expect((await browser.get(`/hil/${row.id}/note`)).text).toContain('What you save takes its place');
  });

  it('waits until the call is decided', async () => {
    expect((await browser.get(`/hil/${row.id}/note`)).text).toContain('It is not decided yet.');
    const { status, text } = await browser.post(`/hil/${row.id}/note`, { note: 'Too early' });
    expect(status).toBe(409);
    expect(text).toContain('It is not decided yet.');
    expect(await noted()).toBeNull();
  });

  it.each(['', 'x'.repeat(241)])('that is empty or too long is refused, and what was typed stays: %#', async (note) => {
    await decided();
    const { status, text } = await browser.post(`/hil/${row.id}/note`, { note });
    expect(status).toBe(400);
    expect(text).toContain('a note has 1 to 240 characters. Nothing was saved');
    expect(valuesIn(text, 'note')).toEqual([note]);
    expect(await noted()).toBeNull();
  });

  it('takes the place of no note that somebody saved meanwhile: it is shown, and what was typed stays', async () => {
    await decided();
    const second = await fixture.browser();
    const field = (text: string) => fieldIn(text, 'shown');
    const shown = field((await second.get(`/hil/${row.id}/note`)).text);
    expect((await browser.post(`/hil/${row.id}/note`, { note: 'Refunded in full.', shown: '' })).status).toBe(303);
    const late = await second.post(`/hil/${row.id}/note`, { note: 'Paid by hand.', shown });
    expect(late.status).toBe(409);
    for (const told of ['note_conflict', 'Refunded in full.']) expect(late.text).toContain(told);
    expect(fieldIn(late.text, 'note')).toBe('Paid by hand.');
    expect(await noted()).toBe('Refunded in full.');
    const again = await second.post(`/hil/${row.id}/note`, { note: 'Paid by hand.', shown: field(late.text) });
    expect([again.status, await noted()]).toEqual([303, 'Paid by hand.']);
  });

  it('is done, and no conflict, where the same person sends the same again', async () => {
    await decided();
    for (let once = 0; once < 2; once += 1)
      expect((await browser.post(`/hil/${row.id}/note`, { note: 'Paid by hand.', shown: '' })).status).toBe(303);
  });

  it('of several lines is replaced too, whatever a browser makes of their ends', async () => {
    await decided();
    await fixture.hil.reviews.note(row.id, 'acme', () => ({
      incident_summary: 'One\nother\rthird',
      incident_by: 'operator:ada',
    }));
    const shown = fieldIn((await browser.get(`/hil/${row.id}/note`)).text, 'shown');
    const { status } = await browser.post(`/hil/${row.id}/note`, { note: 'In one line.', shown });
    expect([status, await noted()]).toEqual([303, 'In one line.']);
  });

  it('is for who may decide, about calls of the own tenant', async () => {
    await decided();
    const viewer = await fixture.browser({ role: 'viewer' });
    expect((await viewer.get(`/hil/${row.id}/note`)).status).toBe(403);
    expect((await viewer.post(`/hil/${row.id}/note`, { note: 'x' })).status).toBe(403);
    const other = await fixture.browser({ subject: 'operator:glx', tenant: 'globex' });
    expect((await other.get(`/hil/${row.id}/note`)).status).toBe(404);
    expect((await other.post(`/hil/${row.id}/note`, { note: 'x' })).status).toBe(404);
    expect((await browser.get(`/hil/${randomUUID()}/note`)).status).toBe(404);
    expect(await noted()).toBeNull();
  });

  it('is offered on the page of the call to who may write it', async () => {
    await decided();
    const address = `/audit/correlation/${row.correlation_id}`;
    const ledger = await ledgerService('sqlite');
    const cid = row.correlation_id;
    await ledger.ledger.append([testRow({ correlation_id: cid, tenant: 'acme' })]);
    fixture.ledger = async (path, search) => {
      const { status, bytes } = await ledger.call(`GET ${path}${search}`);
      return new WholeAnswer(status, bytes.toString('utf8'));
    };
    const viewer = await fixture.browser({ role: 'viewer' });
    for (const [who, offered] of [
      [browser, true],
      [viewer, false],
    ] as const)
      expect(linksIn((await who.get(address)).text).some(({ href }) => href === `/hil/${row.id}/note`)).toBe(offered);
    await ledger.close();
  });
});

describe('a model’s suggestion of one', () => {
  const said = { incident_summary: 'A transfer was denied.', model: 'fast:m-1' };

  it('stands in the field, named as such, and is kept by nobody until it is saved', async () => {
    await decided();
    brainSays(200, said);
    expect((await browser.get(`/hil/${row.id}/note`)).text).toContain(SUGGEST);
    const { status, text } = await browser.post(`/hil/${row.id}/note/suggest`, { note: '' });
    expect(status).toBe(200);
    expect(fieldIn(text, 'note')).toBe('A transfer was denied.');
    expect(text).toMatch(/A model wrote this, <bdi class="foreign">fast:m-1<\/bdi>/);
    expect(await noted()).toBeNull();
    expect(asked).toEqual([
      [
        '/narrate-decision',
        expect.objectContaining({ tenant: 'acme', verdict: 'deny', risk_summary: row.risk_summary }),
      ],
    ]);
    expect(JSON.stringify(asked)).not.toContain(row.agent_id);
    expect(JSON.stringify(asked)).not.toContain(row.correlation_id);
  });

  it('stands beside what was typed, which is not lost', async () => {
    await decided();
    brainSays(200, said);
    const { text } = await browser.post(`/hil/${row.id}/note/suggest`, { note: 'My own words' });
    expect(fieldIn(text, 'note')).toBe('A transfer was denied.');
    expect(text).toMatch(/You had typed: <bdi class="foreign">My own words/);
  });

  it('is inert, whatever the model wrote', async () => {
    await decided();
    brainSays(200, { ...said, incident_summary: HOSTILE, model: HOSTILE });
    const { text } = await browser.post(`/hil/${row.id}/note/suggest`, { note: '' });
    expect(text).not.toMatch(/<script>alert/);
  });

  it('is not offered where no model is set to write, or Brain is away', async () => {
    await decided();
    expect((await browser.get(`/hil/${row.id}/note`)).text).not.toContain(SUGGEST);
    fixture.away.add('brain');
    expect((await browser.get(`/hil/${row.id}/note`)).text).not.toContain(SUGGEST);
  });

  it.each([
    [503, 'provider_unavailable'],
    [429, 'rate_limited'],
  ])('that does not come (%i) is told, and what was typed stays', async (code, error) => {
    await decided();
    brainSays(code, { error, reason: 'not now', retry_after_secs: 3 });
    const { status, text } = await browser.post(`/hil/${row.id}/note/suggest`, { note: 'My own words' });
    expect(status).toBe(code);
    expect(text).toContain('value="My own words"');
    expect(text).toContain(error);
  });

  it('is asked of a decision alone', async () => {
    brainSays(200, said);
    expect((await browser.post(`/hil/${row.id}/note/suggest`, { note: '' })).status).toBe(409);
    expect(asked).toEqual([]);
  });
});
