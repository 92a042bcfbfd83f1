import { afterEach, expect, it } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { seriousOrTooWide } from '../../support/accessibility.js';
import { ofPolicies } from '../../support/looked-at.js';
import { needs } from '../../support/needs.js';
import { pictured } from '../../support/pictures.js';
import { atConsole, browser, gate, hasBrowser, inBrowser, signIn } from '../../support/running-console.js';
import { watchedPage } from '../../support/watched-page.js';

const LIMIT_MS = 240_000;
const TOOL = 'get_weather';
const WRONG = `package gate.authz\n\nimport rego.v1\n\ndeny contains "Violation: no weather." if {\n\tinput.tool_type = = "${TOOL}"\n}\n`;
const RIGHT = WRONG.replace('= =', '==');

inBrowser(`the policies of the console in a browser${needs('chromium', hasBrowser)}`, () => {
  const complaints: string[] = [];
  const pages: Page[] = [];
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.context().close()));
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);
  const signedIn = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const page = await watchedPage(browser, complaints, options);
    pages.push(page);
    await signIn(page.context());
    return page;
  };
  const reasoned = async (page: Page, button: string) => {
    await page.getByLabel('Reason, which is recorded').first().fill('the journey');
    await page.getByRole('button', { name: button, exact: true }).click();
  };
  const called = async () => (await (await gate.agent('weather-bot')).call(TOOL, {})).status;

  it.each([true, false])(
    'are written, checked, tried on recorded calls, put in force and rolled back, with scripts: %s',
    async (javaScriptEnabled) => {
      expect(await called()).toBe(200);
      const name = `weather_${javaScriptEnabled ? 'scripted' : 'plain'}.rego`;
      const page = await signedIn({ javaScriptEnabled });
      await page.goto(atConsole('/policies'));
      await page.getByRole('link', { name: 'New policy' }).click();
      await page.getByLabel('Name, which ends with').fill(name);
      const text = page.getByLabel('Text', { exact: true });
      await text.fill(WRONG);
      // Without scripts nothing is checked before it is asked for.
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Check' }).click();
      const place = page.getByRole('link', { name: new RegExp(`^${name}:6:`) });
      await place.waitFor();
      if (javaScriptEnabled) {
        await place.click();
        expect(await text.evaluate((field: HTMLTextAreaElement) => field.value.slice(0, field.selectionStart))).toMatch(
          /\n\t[^\n]*$/,
        );
        await pictured(page, 'policy-editor');
      }
      await text.fill(RIGHT);
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Check' }).click();
      await page.getByText('It compiles by itself.').waitFor();

      await page.getByText('Try it on recorded calls').click({ trial: !javaScriptEnabled });
      await page.getByRole('button', { name: 'What it would have decided' }).click();
      await page.getByRole('heading', { name: 'What it would have decided' }).waitFor({ timeout: 60_000 });
      expect(await page.getByText(/runs now, would be denied/).count()).toBe(1);
      await page.getByRole('img', { name: /The calls that change/ }).waitFor();
      expect(await page.locator('.progress:visible').count()).toBe(0);
      const changed = page.getByRole('region', { name: 'Calls that change' });
      await changed.getByRole('link', { name: TOOL }).first().waitFor();
      if (javaScriptEnabled) {
        await page.getByText('Try it on recorded calls').evaluate((lab) => lab.scrollIntoView());
        await pictured(page, 'policy-lab');
      }
      expect(await text.inputValue()).toBe(RIGHT);
      // What was found is of the text that was tried, and says so once that is another one.
      const earlier = page.getByText('This is of the text as it was tried');
      expect(await earlier.isVisible()).toBe(false);
      if (javaScriptEnabled) {
        await text.fill(`${RIGHT}# more\n`);
        await earlier.waitFor();
        await text.fill(RIGHT);
      }

      await reasoned(page, 'Save');
      await page.getByText('Done: version 1, created, not in force.').waitFor();
      expect(await called()).toBe(200);
      await reasoned(page, 'Put it in force');
      await page.getByText('Done: version 2, put in force, in force.').waitFor();
      expect(await called()).toBe(403);

      await page.getByRole('link', { name: 'Edit', exact: true }).click();
      await text.fill(RIGHT.replace(TOOL, 'another_tool'));
      await reasoned(page, 'Save as a new version');
      await page.getByText('Done: version 3, changed, in force.').waitFor();
      expect(await called()).toBe(200);
      await page.getByRole('link', { name: 'difference' }).first().click();
      await page.getByLabel('What changed from version 2 to version 3').getByText('another_tool').waitFor();
      await page.goto(atConsole(`/policies/${name}/versions/2`));
      await reasoned(page, 'Roll back to version 2');
      await page.getByText('Done: version 4, changed, in force.').waitFor();
      expect(await called()).toBe(403);
      await reasoned(page, 'Switch it off');
      await page.getByText('Done: version 5, switched off, not in force.').waitFor();
      expect(await called()).toBe(200);
    },
    LIMIT_MS,
  );

  it(
    'are installed from a template, once it was seen what it would have decided',
    async () => {
      const page = await signedIn();
      await page.goto(atConsole('/policies/templates'));
      await page.getByRole('link', { name: /^support \(/ }).click();
      await page.getByRole('link', { name: 'support_velocity' }).click();
      await page.getByRole('button', { name: 'What it would have decided' }).click();
      await page.getByRole('heading', { name: 'What it would have decided' }).waitFor({ timeout: 60_000 });
      await reasoned(page, 'Install it');
      await page.getByText('Done: version 1, installed from a template, in force.').waitFor();
      await page.goto(atConsole('/policies'));
      const kept = page.getByRole('region', { name: 'Policies of operators' });
      await kept.getByRole('link', { name: 'support_velocity.rego' }).click();
      await reasoned(page, 'Switch it off');
      await page.getByText('not in force').first().waitFor();
    },
    LIMIT_MS,
  );

  it(
    'have no serious finding of axe in both themes, and fit 320 and 2560 px',
    async () => {
      const page = await signedIn();
      const found: Record<string, string[]> = {};
      for (const path of ofPolicies('weather_scripted.rego')) {
        await page.goto(atConsole(path));
        if (path.endsWith('/lab')) {
          await page.getByRole('radio', { name: /^with version/ }).check();
          await page.getByRole('button', { name: 'Try it' }).click();
          await page.getByRole('heading', { name: 'What it would have decided' }).waitFor({ timeout: 60_000 });
        }
        found[path] = await seriousOrTooWide(page);
      }
      expect(Object.entries(found).filter(([, findings]) => findings.length > 0)).toEqual([]);
    },
    LIMIT_MS,
  );
});
