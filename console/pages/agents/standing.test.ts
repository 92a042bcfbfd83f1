import { describe, expect, it } from '@jest/globals';
import { stopReportSigner } from '../../../adapters/identity/stop-report-signature.js';
import type { AgentRecord } from '../../../contracts/identity.js';
import { certifiedIn } from '../../../test/support/certified-agent.js';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { OPERATOR } from '../../../test/support/hil.js';
import { buttonsIn, fieldsIn, formIn, linksIn, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const here = identityHere();
const AGENT = '/agents/a-bot';
const BREAKS = `'"><img src=x onerror=alert(1)>`;
const standsIn = (text: string) => wordsIn(partsIn(text, 'section', { 'aria-labelledby': 'standing' })[0] ?? '');
const stop = () => sendForm(here.first, AGENT, `${AGENT}/stop`, { reason: BREAKS });

describe('the page of an agent', () => {
  it('registers one that calls, and stops it; one whom nobody knows is refused', async () => {
    expect(standsIn(await pageOf(here.first, AGENT))).toMatch(
      /^How it stands not stopped The identity service does not know it/,
    );
    expect(await stop()).toMatchObject({ status: 303, headers: { location: AGENT } });
    const page = await pageOf(here.second, AGENT);
    expect(standsIn(page)).toContain(
      `by operator:dev: ${BREAKS} What was running then is on the page of stops. Two people let it go`,
    );
    expect(page).not.toContain('<img');
    const agents = (
      await here.identity.service.app.inject({
        url: '/agents?tenant=acme',
        headers: { authorization: `Bearer ${OPERATOR}`, 'x-gate-tenant-scope': 'acme' },
      })
    ).json<AgentRecord[]>();
    expect(agents).toMatchObject([{ agent_name: 'a-bot', state: 'suspended', created_by_sub: 'operator:dev' }]);
    expect(here.told()).toEqual(['agent.registered', 'agent.suspended']);

    const stranger = await pageOf(here.first, '/agents/unknown-bot');
    expect(standsIn(stranger)).toContain('It never called either');
    expect(partsIn(stranger, 'form', { action: /\/agents\// })).toEqual([]);
    const refused = await here.first.post('/agents/unknown-bot/stop', { reason: 'odd' });
    expect([refused.status, refused.text]).toEqual([
      404,
      expect.stringContaining('Nobody knows an agent of this name'),
    ]);
    expect(here.told()).toHaveLength(2);
  });

  it.each(['release', 'force-hil/end'])(
    'registers nobody by a form that takes back what nobody did: %s',
    async (form) => {
      const refused = await here.first.post(`${AGENT}/${form}`, { reason: 'it is known', seen: 'now nobody' });
      expect([refused.status, refused.text]).toEqual([
        404,
        expect.stringContaining('The identity service knows no agent of this name: nothing was done. (not_found)'),
      ]);
      expect(standsIn(refused.text)).toContain('The identity service does not know it');
      expect(here.told()).toEqual([]);
      await stop();
      expect(here.told()).toEqual(['agent.registered', 'agent.suspended']);
    },
  );

  it('says of a name that no certificate has, or that is Gate’s own, that nobody is stopped by it', async () => {
    for (const name of ['a%20b', 'gate-proxy', '-?agent=..']) {
      const page = await pageOf(here.first, `/agents/${name}`);
      expect(standsIn(page)).toContain('No agent is known to the identity service by such a name');
      expect(partsIn(page, 'form', { action: /\/agents\// })).toEqual([]);
    }
    expect((await here.first.post('/agents/gate-proxy/stop', { reason: 'odd' })).status).toBe(404);
  });

  it('wants a reason, and shows what was typed again', async () => {
    const refused = await here.first.post(`${AGENT}/force-hil`, { reason: ' ', for: '1d' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('say why')]);
    expect(fieldsIn(formIn(refused.text, `${AGENT}/force-hil`))).toMatchObject({ for: '1d' });
    const odd = await here.first.post(`${AGENT}/force-hil`, { reason: 'odd hours', for: '9y' });
    expect([odd.status, fieldsIn(formIn(odd.text, `${AGENT}/force-hil`))]).toMatchObject([
      400,
      { reason: 'odd hours' },
    ]);
    const long = await here.first.post(`${AGENT}/stop`, { reason: 'x'.repeat(513) });
    expect([long.status, fieldsIn(formIn(long.text, `${AGENT}/stop`))['reason']]).toEqual([400, 'x'.repeat(513)]);
    expect(here.told()).not.toContain('agent.suspended');
  });

  it.each([
    ['30m', 1_800],
    ['2h', 7_200],
    ['1d', 86_400],
  ])('has a person decide for %s, until somebody ends it', async (time, seconds) => {
    await sendForm(here.first, AGENT, `${AGENT}/force-hil`, { reason: 'odd hours', for: time });
    const until = new Date(here.console.hil.now + seconds * 1_000).toISOString();
    const page = await pageOf(here.second, AGENT);
    expect(standsIn(page)).toContain('a person decides about each call that would have run by itself; that ends');
    expect(partsIn(page, 'time', { datetime: until })).toHaveLength(1);
    expect(standsIn(page)).toContain('by operator:dev: odd hours');
    await sendForm(here.second, AGENT, `${AGENT}/force-hil/end`);
    expect(standsIn(await pageOf(here.first, AGENT))).not.toContain('a person decides');
  });

  it('is let go by two people: whoever asked does not confirm, and nobody confirms what he did not see', async () => {
    await stop();
    const seen = await pageOf(here.second, AGENT);
    expect(buttonsIn(formIn(seen, `${AGENT}/release`)).map(({ words }) => words)).toEqual(['Ask for its release']);
    expect(await sendForm(here.first, AGENT, /release/, { reason: 'it is known' })).toMatchObject({ status: 303 });
    const own = await pageOf(here.first, AGENT);
    expect(standsIn(own)).toMatch(/operator:dev asked for its release now.*\(it is known\); that ends in 1 day/);
    expect(partsIn(own, 'form', { action: /release/ })).toEqual([]);
    // The form of before it was asked for says nothing of it, and would confirm it.
    const early = await here.second.post(`${AGENT}/release`, fieldsIn(formIn(seen, `${AGENT}/release`)));
    expect([early.status, early.text]).toEqual([409, expect.stringContaining('stop_changed')]);
    expect(standsIn(early.text)).toContain('unless somebody else confirms it, as you can.');
    // Who stops it again says no.
    const asked = formIn(await pageOf(here.second, AGENT), `${AGENT}/release`);
    here.console.hil.now += 1_000;
    await sendForm(here.first, AGENT, `${AGENT}/stop`, { reason: 'not yet' });
    expect((await here.second.post(`${AGENT}/release`, fieldsIn(asked))).status).toBe(409);
    expect(here.told()).not.toContain('agent.unsuspended');
    await sendForm(here.second, AGENT, /release/);
    expect(await sendForm(here.first, AGENT, /release/)).toMatchObject({ status: 303, headers: { location: AGENT } });
    expect(standsIn(await pageOf(here.second, AGENT))).toContain('active since now');
    // What is let go is not let go again.
    expect((await here.second.post(`${AGENT}/release`, fieldsIn(asked))).status).toBe(409);
    expect(here.told().at(-1)).toBe('agent.unsuspended');
  });

  it('says to whoever asks that nobody could confirm, where nobody else is known', async () => {
    here.alone();
    await stop();
    const { headers } = await sendForm(here.first, AGENT, /release/);
    expect(headers['location']).toBe(`${AGENT}?asked=alone`);
    expect(standsIn(await pageOf(here.first, `${AGENT}?asked=alone`))).toContain('Nobody else is known who could');
    // An address says nothing of what nobody asked for.
    expect(await pageOf(here.first, '/agents/b-bot?asked=alone')).not.toContain('Nobody else is known');
  });

  it('shows a viewer how it stands and no form', async () => {
    await stop();
    await sendForm(here.first, AGENT, /release/);
    const viewer = await here.console.browser({ role: 'viewer' });
    const page = await pageOf(viewer, AGENT);
    expect(standsIn(page)).toContain('stopped since');
    expect(standsIn(page)).toContain('operator:dev asked for its release');
    expect(partsIn(page, 'form', { action: /\/agents\// })).toEqual([]);
  });

  it('says which of its certificates could not be taken back, once the report of its stop is made', async () => {
    const svidId = '90000000-0000-4000-8000-000000000001';
    const { place, store, ca } = here.identity;
    const { now: nowMs } = here.console.hil;
    await certifiedIn(store, { tenant: 'acme', agent: 'a-bot', svidId, nowMs });
    await place.sql(`update identity_svids set serial = '00' where id = '${svidId}'`);
    await stop();
    const said = 'Not all of its certificates could be taken back at the stop';
    expect(standsIn(await pageOf(here.first, AGENT))).not.toContain(said);
    const [due] = await store.reportsDue(nowMs + 2_000);
    await store.makeReport(
      due?.id ?? '',
      { looked_at: new Date(nowMs).toISOString(), calls: [], left_out: 0 },
      { nowMs, trustDomain: 'gate.local', sign: stopReportSigner(ca.cert, ca.key) },
    );
    for (const role of ['admin', 'viewer'] as const) {
      const page = await pageOf(await here.console.browser({ role }), AGENT);
      expect(standsIn(page)).toContain(said);
      expect(standsIn(page)).toContain(`identity_svids ${svidId}`);
    }
    await place.sql("update identity_stop_reports set reason = 'another'");
    const edited = standsIn(await pageOf(here.first, AGENT));
    expect(edited).toContain('Somebody wrote to the store past Gate');
    expect(edited).toContain('stopped since');
  });

  it('says which row somebody edited', async () => {
    await stop();
    await here.identity.place.sql("update identity_standings set state = 'active'");
    const page = await pageOf(here.first, AGENT);
    expect(standsIn(page)).toContain('Somebody wrote to the store past Gate');
    expect(page).toContain('What it did');
  });
});

describe('who is known to identity', () => {
  it('is nobody whom its settings do not name: the page says so, and shows the rest', async () => {
    const stranger = await here.console.browser({ subject: 'operator:third' });
    for (const path of [AGENT, '/agents', '/stops']) {
      const { status, text } = await stranger.get(path);
      expect([path, status, wordsIn(text)]).toEqual([
        path,
        200,
        expect.stringContaining('The identity service does not say this here'),
      ]);
      expect(partsIn(text, 'form', { action: /agents|stops/ })).toEqual([]);
    }
    expect(await pageOf(stranger, AGENT)).toContain('What it did');
  });
});

describe('the list of agents', () => {
  it('marks those that are stopped, and names them also where they called nothing', async () => {
    await stop();
    here.console.hil.now += 31_000;
    const page = await pageOf(await here.console.browser({ role: 'viewer' }), '/agents');
    expect(rowsOf(page, 'Stopped agents').map(wordsIn)).toEqual([
      expect.stringMatching(/^a-bot .*operator:dev .* not asked for$/),
    ]);
    expect(wordsIn(rowsOf(page, 'What agents did')[0] ?? '')).toMatch(/^a-bot stopped /);
    expect(linksIn(page).some(({ href }) => href === AGENT)).toBe(true);
  });
});
