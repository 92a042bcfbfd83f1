import { describe, expect, it } from '@jest/globals';
import { stopReportSigner, stopReportVerifier } from '../../../adapters/identity/stop-report-signature.js';
import { stopReport } from '../../../contracts/identity.js';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, linksIn, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';
import { hostileLedger } from '../../../test/support/hostile-services.js';

const here = identityHere();
const BREAKS = `'"><img src=x onerror=alert(1)>`;

describe('the page of stops', () => {
  const tools = (text: string) => wordsIn(partsIn(text, 'section', { 'aria-labelledby': 'tools' })[0] ?? '');
  const tenant = (text: string) => wordsIn(partsIn(text, 'section', { 'aria-labelledby': 'tenant' })[0] ?? '');
  const stopTool = (tool: string, more = {}) =>
    sendForm(here.first, '/stops', '/stops/tool', { tool, reason: 'odd', ...more });

  it('stops a tool that was called, and another one only where somebody says that its name is right', async () => {
    expect(tools(await pageOf(here.first, '/stops'))).toContain('No tool is stopped');
    const refused = await stopTool('no_tool');
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('Nobody ever called a tool of this name'),
    ]);
    expect(fieldsIn(formIn(refused.text, '/stops/tool'))).toMatchObject({ tool: 'no_tool', reason: 'odd' });
    expect(await stopTool('no_tool', { unlisted: 'yes' })).toMatchObject({ status: 303 });
    expect(await stopTool(BREAKS)).toMatchObject({ status: 303 });
    const page = await pageOf(await here.console.browser({ role: 'viewer' }), '/stops');
    expect(tools(page)).toContain('no_tool stopped since now');
    expect(tools(page)).toContain(BREAKS);
    expect(page).not.toContain('<img');
    expect(partsIn(page, 'form', { action: /stops/ })).toEqual([]);
  });

  it('stops the name that was typed, with its spaces, and none that no tool has', async () => {
    expect((await stopTool('no_tool ')).text).toContain('of this name, which begins or ends with a space: nothing');
    expect(await stopTool(' pay ')).toMatchObject({ status: 303 });
    const { stops } = here.identity.store;
    const stopped = async () =>
      (await stops({ tenant: 'acme', state: 'suspended' }, here.console.hil.now)).map(({ tool }) => tool);
    expect(await stopped()).toEqual([' pay ']);
    for (const tool of ['', 'x'.repeat(257), 'a\u0000b']) {
      const refused = await stopTool(tool, { unlisted: 'yes' });
      expect(refused.status).toBe(400);
      expect(fieldsIn(formIn(refused.text, '/stops/tool'))).toMatchObject({ reason: 'odd' });
      expect(refused.text).toMatch(/name the tool, as agents are shown it|No tool is called so/);
    }
    expect(fieldsIn(formIn((await stopTool('x'.repeat(257))).text, '/stops/tool'))).toMatchObject({
      tool: 'x'.repeat(257),
    });
    expect(await stopped()).toEqual([' pay ']);
  });

  it('offers the tools that agents called, but none whose name shows what nobody sees', async () => {
    const offered = async (tool: string) => {
      here.console.ledger = hostileLedger(tool, '00000000-0000-4000-8000-000000000001');
      here.console.hil.now += 31_000;
      return partsIn(await pageOf(here.first, '/stops'), 'option').map(({ attributes }) => attributes['value']);
    };
    expect(await offered('pay')).toEqual(['pay']);
    expect(await offered('pay\u202eevil')).toEqual([]);
  });

  it('is let go by two people', async () => {
    await stopTool('pay');
    await sendForm(here.first, '/stops', /release/, { reason: 'it is known' });
    expect(tools(await pageOf(here.first, '/stops'))).toContain('operator:dev asked for its release');
    expect(await sendForm(here.second, '/stops', /release/)).toMatchObject({
      status: 303,
      headers: { location: '/stops' },
    });
    const page = await pageOf(here.first, '/stops');
    expect(tools(page)).toContain('No tool is stopped');
    expect(rowsOf(page, 'Let go again').map(wordsIn)).toEqual([expect.stringMatching(/^pay .* operator:second$/)]);
  });

  it('has the report of each stop as a file, once it is made', async () => {
    const reports = (text: string) => wordsIn(partsIn(text, 'section', { 'aria-labelledby': 'reports' })[0] ?? '');
    const viewer = await here.console.browser({ role: 'viewer' });
    expect(reports(await pageOf(viewer, '/stops'))).toContain('Nothing was stopped of which there is a report');
    await stopTool(BREAKS, { unlisted: 'yes' });
    const page = await pageOf(viewer, '/stops');
    expect(reports(page)).toContain(`tool ${BREAKS} now`);
    expect(reports(page)).toContain('being made');
    expect(page).not.toContain('<img');
    const { store, ca } = here.identity;
    const [due] = await store.reportsDue(here.console.hil.now + 2_000);
    const at = `/stops/reports/${due?.id}`;
    expect(await viewer.get(at)).toMatchObject({ status: 404 });
    await store.makeReport(
      due?.id ?? '',
      { looked_at: new Date(here.console.hil.now).toISOString(), calls: [], left_out: 2 },
      { nowMs: here.console.hil.now, trustDomain: 'gate.local', sign: stopReportSigner(ca.cert, ca.key) },
    );
    expect(linksIn(await pageOf(viewer, '/stops'))).toContainEqual({ words: 'take it', href: at });
    const file = await viewer.get(at);
    expect([file.status, file.headers['content-disposition']]).toEqual([
      200,
      `attachment; filename="gate-stop-${due?.id}.json"`,
    ]);
    const report = stopReport.parse(JSON.parse(file.text));
    expect(stopReportVerifier(ca.cert)(report)).toMatchObject({ stopped: { name: BREAKS }, counts: { left_out: 2 } });
    for (const odd of ['/stops/reports/x', '/stops/reports/70000000-0000-4000-8000-000000000007'])
      expect(await viewer.get(odd)).toMatchObject({ status: 404 });
    const other = await here.console.browser({ tenant: 'globex', subject: 'operator:glx' });
    // Whom identity does not know is told nothing.
    expect(await other.get(at)).toMatchObject({ status: 401 });
  });

  it('stops the tenant whose name is typed out, which every page says at once', async () => {
    const refused = await sendForm(here.first, '/stops', '/stops/tenant', {
      tenant_name: 'globex',
      reason: 'a breach',
    });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('type the name of your tenant out')]);
    expect(fieldsIn(formIn(refused.text, '/stops/tenant'))).toMatchObject({
      tenant_name: 'globex',
      reason: 'a breach',
    });
    expect(here.told()).toEqual([]);
    const banner = 'All of acme is stopped';
    expect(await pageOf(here.first, '/me')).not.toContain(banner);
    await sendForm(here.first, '/stops', '/stops/tenant', { tenant_name: 'acme', reason: 'a breach' });
    expect(tenant(await pageOf(here.first, '/stops'))).toMatch(/stopped since now .* by operator:dev: a breach/);
    for (const path of ['/me', '/no-such-page']) {
      const page = await pageOf(here.second, path);
      expect(page).toContain(banner);
      expect(linksIn(page)).toContainEqual({ words: 'Stops', href: '/stops' });
    }
    expect(
      await pageOf(await here.console.browser({ tenant: 'globex', subject: 'operator:glx' }), '/me'),
    ).not.toContain('is stopped');
    await sendForm(here.first, '/stops', /release/);
    expect(await pageOf(here.first, '/me')).toContain(banner);
    await sendForm(here.second, '/stops', /release/);
    expect(await pageOf(here.first, '/me')).not.toContain(banner);
  });
});
