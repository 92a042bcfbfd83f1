import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../../test/support/console-over-hil.js';

describe('a call that needs two people', () => {
  let fixture: ConsoleFixture;
  let browser: TestBrowser;
  beforeEach(async () => {
    fixture = await openConsole();
    browser = await fixture.browser();
  });
  afterEach(() => fixture.close());
  const WHY = 'It needs 2 people, so it is approved or denied as it is: what a changed call would do is not predicted.';

  it('is not offered to be changed, and the page says why', async () => {
    const { id } = await fixture.hil.park(1, { approval_tier: 'strict' });
    const { text } = await browser.get(`/hil/${id}`);
    expect(text).toMatch(/<button type="button" disabled aria-describedby="not-changed">Change…<\/button>/);
    expect(text).toContain(`<p id="not-changed" class="dim">${WHY}</p>`);
    expect(text).not.toContain('/modify');
    const change = await browser.get(`/hil/${id}/modify`);
    expect(change.text).toContain(WHY);
    expect(change.text).not.toContain('/modify/preview');
  });

  it('differs in that from one that needs one', async () => {
    const { id } = await fixture.hil.park(1);
    const { text } = await browser.get(`/hil/${id}`);
    expect(text).toContain(`href="/hil/${id}/modify"`);
    expect(text).not.toContain('not-changed');
  });
});

describe('a call that waits', () => {
  let fixture: ConsoleFixture;
  let browser: TestBrowser;
  beforeEach(async () => {
    fixture = await openConsole();
    browser = await fixture.browser({ role: 'approver' });
  });
  afterEach(() => fixture.close());
  const words = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');

  it('is assigned to oneself by a press, and to somebody else by the name under which he decides', async () => {
    const row = await fixture.hil.park(1);
    const at = `/hil/${row.id}`;
    expect((await browser.post(`${at}/assign`)).status).toBe(303);
    expect(words((await browser.get(at)).text)).toContain('Assigned tooperator:devAsked');
    for (const assignee of [' oidc:ada@acme.example ', 'operator:ben']) {
      const { status, headers } = await browser.post(`${at}/assign`, { assignee });
      expect([status, headers['location']]).toEqual([303, expect.stringContaining(at)]);
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({
        assigned_to: assignee.trim(),
        assigned_by: 'operator:dev',
        status: 'pending',
      });
      expect(words((await browser.get(at)).text)).toContain(`Assigned to${assignee.trim()}, by operator:dev`);
    }
  });

  it('is given back by whoever has it, and then is nobody’s', async () => {
    const row = await fixture.hil.park(1);
    const at = `/hil/${row.id}`;
    const back = /<button type="submit" name="nobody" value="yes">\s*Give it back/;
    expect((await browser.get(at)).text).not.toMatch(back);
    await browser.post(`${at}/assign`);
    expect((await browser.get(at)).text).toMatch(back);
    expect((await browser.post(`${at}/assign`, { nobody: 'yes' })).status).toBe(303);
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ assigned_to: null, assigned_by: 'operator:dev' });
    const { text } = await browser.get(at);
    expect(words(text)).toContain('Assigned tonobodyAsked');
    expect(text).toContain('Assign to me');
  });

  it.each(['', ' ', 'ben', 'operator:', 'system:policy-tier', `oidc:${'x'.repeat(252)}`, 'operator:a\0b'])(
    'is assigned to nobody under the name %j, and what was typed stands there again',
    async (assignee) => {
      const row = await fixture.hil.park(1);
      const { status, text } = await browser.post(`/hil/${row.id}/assign`, { assignee });
      expect([status, text]).toEqual([400, expect.stringContaining('invalid_request')]);
      if (assignee === 'ben')
        expect(text).toMatch(/<details class="assign" open>.*<input name="assignee" value="ben"/s);
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ assigned_to: null });
    },
  );

  it('offers those who decided calls of its agent lately, and not oneself', async () => {
    for (const [at, by] of ['operator:ben', 'oidc:ada', 'operator:dev', 'operator:ben', 'system:policy-tier'].entries())
      await fixture.hil.settle(await fixture.hil.park(at), { by, status: 'denied' });
    const { id } = await fixture.hil.park(9);
    const { text } = await browser.get(`/hil/${id}`);
    const names = [...text.matchAll(/<option value="([^"]*:[^"]*)"/g)].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(['oidc:ada', 'operator:ben']));
    expect((await (await fixture.browser({ role: 'viewer' })).get(`/hil/${id}`)).text).not.toContain('/assign"');
  });
});
