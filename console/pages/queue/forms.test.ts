import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../../test/support/console-over-hil.js';
import { fieldIn, linksIn, partsIn, wordsIn } from '../../../test/support/html.js';

let fixture: ConsoleFixture;
let browser: TestBrowser;
beforeEach(async () => {
  fixture = await openConsole();
  browser = await fixture.browser();
});
afterEach(() => fixture.close());

describe('a call that needs two people', () => {
  const WHY =
    'It needs 2 people, so it is approved or denied as it is: one person alone would change what the others approved.';

  it('is not offered to be changed, and the page says why', async () => {
    const { id } = await fixture.hil.park(1, { approval_tier: 'strict' });
    const { text } = await browser.get(`/hil/${id}`);
    const [change] = partsIn(text, 'button', { type: 'button', 'aria-describedby': 'not-changed', disabled: '' });
    expect(change && wordsIn(change)).toBe('Change…');
    expect(partsIn(text, 'p', { id: 'not-changed' }).map(wordsIn)).toEqual([WHY]);
    expect(text).not.toContain('/modify');
    const refused = await browser.get(`/hil/${id}/modify`);
    expect(refused.text).toContain(WHY);
    expect(refused.text).not.toContain('/modify/preview');
  });

  it('differs in that from one that needs one', async () => {
    const { id } = await fixture.hil.park(1);
    const { text } = await browser.get(`/hil/${id}`);
    expect(linksIn(text).map(({ href }) => href)).toContain(`/hil/${id}/modify`);
    expect(text).not.toContain('not-changed');
  });
});

describe('a rehearsal', () => {
  const TOLD = 'Rehearsal: no agent asked for it, and nothing runs, whatever is decided.';
  const tags = (text: string) => partsIn(text, 'span', { class: 'tag rehearsal' }).map(wordsIn);

  it('is marked in the queue and on its page before it is decided, and told again afterwards', async () => {
    const row = await fixture.hil.park(1, { agent_spiffe: 'spiffe://gate.local/service/simulator' });
    const { id } = row;
    await fixture.hil.park(2, { agent_id: 'rehearsal' });
    const list = (await browser.get('/hil?part=rows')).text;
    expect(tags(list)).toEqual(['rehearsal']);
    expect(list.match(/aria-label="Choose rehearsal /g)).toHaveLength(1);
    const { text } = await browser.get(`/hil/${id}?part=detail`);
    expect(tags(text)).toEqual(['rehearsal']);
    expect(partsIn(text, 'p', { 'data-rehearsal': 'true' }).map(wordsIn)).toEqual([TOLD]);
    expect(text).not.toContain('agent is told');
    const ticked = await browser.post('/hil/bulk', { decision: 'approve', id });
    expect(partsIn(ticked.text, 'p', { 'data-rehearsal': 'true' }).map(wordsIn)).toEqual([TOLD]);
    await fixture.hil.settle(row, { status: 'approved', by: 'operator:dev' });
    expect((await browser.get(`/hil/${id}?done=${id}`)).text).toMatch(new RegExp(`Approved.*${TOLD}`, 's'));
  });

  it('is none of the calls of its tool that were decided lately, which the page of a call tells', async () => {
    const rehearsal = { agent_spiffe: 'spiffe://gate.local/service/simulator' };
    const decided = [await fixture.hil.park(1, rehearsal), await fixture.hil.park(2)];
    for (const row of decided) await fixture.hil.settle(row, { status: 'approved', by: 'operator:dev' });
    const told = async (over: object, n: number) => {
      const { id } = await fixture.hil.park(n, over);
      const { text } = await browser.get(`/hil/${id}?part=detail`);
      const from = text.indexOf('id="similar"');
      const similar = text.slice(from, text.indexOf('</section>', from));
      return decided.map((row) => similar.includes(`/hil/${row.id}"`));
    };
    expect(await told({}, 3)).toEqual([false, true]);
    expect(await told(rehearsal, 4)).toEqual([true, false]);
  });

  it('is not offered to be changed, and the page says why', async () => {
    const { id } = await fixture.hil.park(1, { agent_spiffe: 'spiffe://gate.local/service/simulator' });
    const why = 'A rehearsal is approved or denied as it is: no changed call would run.';
    const { text } = await browser.get(`/hil/${id}`);
    expect(partsIn(text, 'p', { id: 'not-changed' }).map(wordsIn)).toEqual([why]);
    expect(text).not.toContain('/modify');
    expect((await browser.get(`/hil/${id}/modify`)).text).toContain(why);
  });
});

describe('a call that its agent runs itself', () => {
  it('is not offered to be changed, and the page says why', async () => {
    const { id } = await fixture.hil.park(1, { executed_by: 'agent' });
    const why =
      'Its agent runs it, not Gate, so it is approved or denied as it is: deny it, and say what should be asked instead.';
    const { text } = await browser.get(`/hil/${id}`);
    const [change] = partsIn(text, 'button', { type: 'button', 'aria-describedby': 'not-changed', disabled: '' });
    expect(change && wordsIn(change)).toBe('Change…');
    expect(partsIn(text, 'p', { id: 'not-changed' }).map(wordsIn)).toEqual([why]);
    expect(text).not.toContain('/modify');
    expect((await browser.get(`/hil/${id}/modify`)).text).toContain(why);
  });
});

describe('what identifies something on the page of a call', () => {
  it('is copied by a press: no digest and no id stands there as mere text', async () => {
    const definition = '7505938ad7dc99fe';
    const { id } = await fixture.hil.park(1, {
      review_reasons: [
        `definition of the tool ${definition} of demo: not among the pins`,
        'definition of the tool UNLISTED: demo tells none',
      ],
      request_payload: { method: 'tools/call', params: { name: 'pay', arguments: { text: 'word '.repeat(2_000) } } },
    });
    const { text } = await (await fixture.browser()).get(`/hil/${id}`);
    expect(text).toMatch(new RegExp(`definition of the tool <code[^>]* data-copy="${definition}">`));
    expect(text).toContain('definition of the tool <bdi>UNLISTED: demo tells none</bdi>');
    expect(text).toContain('SHA-256 of its UTF-8');
    const mere = text
      .slice(text.indexOf('<main'))
      .replaceAll(/<pre.*?<\/pre>|<a .*?<\/a>|<(\w+)[^>]* data-copy="[^"]*"[^>]*>.*?<\/\1>/gs, ' ')
      .replaceAll(/<[^>]*>/g, ' ');
    expect(mere.match(/\b(?=[0-9a-f-]*[a-f])(?=[0-9a-f-]*\d)[0-9a-f]{8}[0-9a-f-]*\b/g)).toBeNull();
  });
});

describe('a call that waits', () => {
  beforeEach(async () => {
    browser = await fixture.browser({ role: 'approver' });
  });

  it('is assigned to oneself by a press, and to somebody else by the name under which he decides', async () => {
    const row = await fixture.hil.park(1);
    const at = `/hil/${row.id}`;
    expect((await browser.post(`${at}/assign`)).status).toBe(303);
    expect(wordsIn((await browser.get(at)).text)).toContain('Assigned to operator:dev Asked');
    for (const assignee of [' oidc:ada@acme.example ', 'operator:ben']) {
      const { status, headers } = await browser.post(`${at}/assign`, { assignee });
      expect([status, headers['location']]).toEqual([303, expect.stringContaining(at)]);
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({
        assigned_to: assignee.trim(),
        assigned_by: 'operator:dev',
        status: 'pending',
      });
      expect(wordsIn((await browser.get(at)).text)).toContain(`Assigned to ${assignee.trim()}, by operator:dev`);
    }
  });

  it('is given back by whoever has it, and then is nobody’s', async () => {
    const row = await fixture.hil.park(1);
    const at = `/hil/${row.id}`;
    const back = async () =>
      partsIn((await browser.get(at)).text, 'button', { type: 'submit', name: 'nobody', value: 'yes' }).map(wordsIn);
    expect(await back()).toEqual([]);
    await browser.post(`${at}/assign`);
    expect(await back()).toEqual([expect.stringMatching(/^Give it back/)]);
    expect((await browser.post(`${at}/assign`, { nobody: 'yes' })).status).toBe(303);
    expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ assigned_to: null, assigned_by: 'operator:dev' });
    const { text } = await browser.get(at);
    expect(wordsIn(text)).toContain('Assigned to nobody Asked');
    expect(text).toContain('Assign to me');
  });

  it('is not given back from a page of before somebody else had it, who keeps it', async () => {
    const { id } = await fixture.hil.park(1);
    await browser.post(`/hil/${id}/assign`);
    await (await fixture.browser({ role: 'approver' })).post(`/hil/${id}/assign`, { assignee: 'operator:ben' });
    const { status, text } = await browser.post(`/hil/${id}/assign`, { nobody: 'yes' });
    expect([status, wordsIn(text)]).toEqual([409, expect.stringContaining('Somebody else has this call by now')]);
    expect(wordsIn(text)).toContain('Assigned to operator:ben');
    expect(await fixture.hil.reviews.get(id)).toMatchObject({ assigned_to: 'operator:ben' });
  });

  it.each(['', ' ', 'ben', 'operator:', 'system:policy-tier', `oidc:${'x'.repeat(252)}`, 'operator:a\0b'])(
    'is assigned to nobody under the name %j, and what was typed stands there again',
    async (assignee) => {
      const row = await fixture.hil.park(1);
      const { status, text } = await browser.post(`/hil/${row.id}/assign`, { assignee });
      expect([status, text]).toEqual([400, expect.stringContaining('invalid_request')]);
      if (assignee === 'ben') {
        const [details = ''] = partsIn(text, 'details', { class: 'assign', open: '' });
        expect(fieldIn(details, 'assignee')).toBe('ben');
      }
      expect(await fixture.hil.reviews.get(row.id)).toMatchObject({ assigned_to: null });
    },
  );

  it('offers those who decided calls of its agent lately, and not oneself', async () => {
    for (const [at, by] of ['operator:ben', 'oidc:ada', 'operator:dev', 'operator:ben', 'system:policy-tier'].entries())
      await fixture.hil.settle(await fixture.hil.park(at), { by, status: 'denied' });
    const { id } = await fixture.hil.park(9);
    const { text } = await browser.get(`/hil/${id}`);
    const names = partsIn(text, 'option', { value: /:/ }).map(({ attributes }) => attributes['value']);
    expect(new Set(names)).toEqual(new Set(['oidc:ada', 'operator:ben']));
    expect((await (await fixture.browser({ role: 'viewer' })).get(`/hil/${id}`)).text).not.toContain('/assign');
  });
});
