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
