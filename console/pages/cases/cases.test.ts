import { describe, expect, it } from '@jest/globals';
import type { IncidentCase } from '../../../contracts/cases.js';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { consoleHere } from '../../../test/support/console-over-ledger.js';
import { testRow } from '../../../test/support/ledger.js';
import { fieldIn, partsIn, textOf, valuesIn, wordsIn } from '../../../test/support/html.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const HOSTILE = '<script>alert(1)</script>\u202e](x) | **b**';
const NOWHERE = '99999999-9999-4999-8999-999999999999';

const here = consoleHere();
const append = (...rows: Partial<NewLedgerRow>[]) => here.gate.ledger.append(rows.map((row) => testRow(row)));
const text = async (path: string, as: 'acme' | 'globex' = 'acme') => (await here.page.get(path, { as })).text;
const told = async (path: string) => wordsIn(await text(path));
const opened = async (fields = {}, as: 'acme' | 'globex' = 'acme') => {
  const { status, headers } = await here.page.post('/cases', { title: 'refunds at night', ...fields }, { as });
  expect(status).toBe(303);
  return String(headers['location']).slice('/cases/'.length);
};
const kept = async (id: string) => (await here.gate.call<{ case: IncidentCase }>(`GET /cases/${id}`)).body.case;

describe('a case', () => {
  it('is opened of what a hunt found, is the tenant’s and the person’s, and shows the rows about it', async () => {
    await append(
      { agent_id: 'a bot' },
      { agent_id: 'other' },
      { agent_id: 'a bot', tenant: 'globex', reasoning: 'globex only' },
    );
    const ticked = fieldIn(await text('/audit/hunt?methods=proxy.verdict'), 'ticked');
    const id = await opened({ ticked });
    expect(await kept(id)).toMatchObject({
      tenant: 'acme',
      agent_ids: [decodeURIComponent(ticked)],
      timeline: [{ kind: 'opened', actor: 'operator:dev' }],
    });
    expect(await told('/cases')).toMatch(/refunds at night open .*1 0/);
    const found = await opened({ agent: 'a bot\r\n\r\nother', call: CALL });
    expect(await kept(found)).toMatchObject({ agent_ids: ['a bot', 'other'], correlation_ids: [CALL] });
    const shown = await text(`/cases/${found}`);
    expect(partsIn(shown, 'td', { 'data-head': 'row' }).map(wordsIn)).toEqual(['2', '1']);
    expect(shown).not.toContain('globex');
  });

  it('says of an agent whom the ledger never saw that there is no such agent', async () => {
    await append({ agent_id: 'a bot' }, { agent_id: 'theirs', tenant: 'globex' });
    const id = await opened({ agent: 'a bot\na bit\ntheirs' });
    expect(await told(`/cases/${id}`)).toMatch(/The ledger has no row of a bit, theirs: no such agent was seen/);
    expect(await told(`/cases/${await opened({ agent: 'a bot' })}`)).not.toContain('no such agent');
    const many = await opened({ agent: ['a*', ...Array.from({ length: 22 }, (_, at) => `b${at}`)].join('\n') });
    expect(await told(`/cases/${many}`)).toContain('Whether the ledger has rows of 3 more was not looked for.');
    here.page.ledgerIsAway = true;
    expect(await told(`/cases/${id}`)).not.toContain('no such agent');
  });

  it('is opened, and noted in, once by each form, however often it is sent', async () => {
    const requestOn = async (path: string) => fieldIn(await text(path), 'request');
    const request = await requestOn('/cases');
    const id = await opened({ request });
    expect(await opened({ request })).toBe(id);
    expect(await opened({ request: await requestOn('/cases') })).not.toBe(id);
    const note = { note: 'spoke to the owner', request: await requestOn(`/cases/${id}`) };
    for (let sent = 0; sent < 2; sent += 1) expect((await here.page.post(`/cases/${id}/note`, note)).status).toBe(303);
    expect((await kept(id)).timeline.map(({ kind }) => kind)).toEqual(['opened', 'note']);
    const refused = await here.page.post('/cases', { title: ' ', request });
    expect(valuesIn(refused.text, 'request')).toContain(request);
  });

  it('says what may have been done where the ledger’s answer is lost', async () => {
    const id = await opened();
    const refused = async (path: string, fields: Readonly<Record<string, string>>) => {
      const { status, text: told } = await here.page.post(path, fields);
      expect(status).toBe(503);
      return told;
    };
    here.page.losesAnswers = true;
    expect(await refused('/cases', { title: 'refunds' })).toContain('It may have opened the case');
    expect(await refused(`/cases/${id}/note`, { note: 'n' })).toContain('It may have written the note');
    for (const [path, fields] of [
      ['classify', { severity: 'serious' }],
      ['status', { status: 'closed' }],
      ['attach', { agent: 'a' }],
    ] as const)
      expect(await refused(`/cases/${id}/${path}`, fields)).toContain('It may have changed the case');
    here.page.losesAnswers = false;
    expect((await kept(id)).timeline).toHaveLength(5);
  });

  it('is classified with its deadline, noted, extended, closed, and opened again, each with who did it', async () => {
    const id = await opened();
    for (const [path, fields] of [
      ['classify', { severity: 'critical_infra' }],
      ['note', { note: 'spoke to the owner' }],
      ['attach', { agent: 'a', call: CALL }],
      ['status', { status: 'closed' }],
      ['status', { status: 'open' }],
    ] as const) {
      const { status, headers } = await here.page.post(`/cases/${id}/${path}`, fields);
      expect([path, status, headers['location']]).toEqual([path, 303, `/cases/${id}`]);
    }
    const { timeline, severity, regulatory_deadline: deadline } = await kept(id);
    expect(timeline.map(({ kind, actor }) => [kind, actor])).toEqual(
      ['opened', 'classified', 'note', 'attached', 'status_changed', 'status_changed'].map((kind) => [
        kind,
        'operator:dev',
      ]),
    );
    expect(severity).toBe('critical_infra');
    const words = await told(`/cases/${id}`);
    for (const part of ['critical infra', 'spoke to the owner', 'closed to open', `${deadline?.slice(0, 10)}`])
      expect(words).toContain(part);
    expect(await told('/cases?status=open')).toContain('refunds at night');
    expect(await told('/cases?status=closed')).toContain('No case.');
  });

  it.each([
    ['classify', { severity: 'minor' }, 'invalid_severity'],
    ['status', { status: 'done' }, 'invalid_status'],
    ['note', { note: ' ' }, 'invalid_request'],
    ['note', { note: 'x'.repeat(2_001) }, 'invalid_request'],
    ['note', { note: 'a\0b' }, 'invalid_request'],
    ['attach', { agent: 'a\0b' }, 'invalid_request'],
    ['attach', { call: 'a\0b' }, 'invalid_request'],
    ['attach', { agent: ' ' }, 'invalid_request'],
  ])('%s refuses %j with %s, on the page of the case, and changes nothing', async (path, fields, code) => {
    const id = await opened();
    const refused = await here.page.post(`/cases/${id}/${path}`, fields);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(code)]);
    expect(refused.text).toContain('refunds at night');
    expect((await kept(id)).timeline).toHaveLength(1);
  });

  it('needs a title, and what was typed stays', async () => {
    const refused = await here.page.post('/cases', { title: ' ', agent: 'a bot' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('needs a title')]);
    expect(valuesIn(refused.text, 'agent')).toContain('a bot');
    expect(await told('/cases')).toContain('No case.');
  });

  it('has no title, agent or call that not every store keeps', async () => {
    for (const fields of [{ title: 'a\0b' }, { title: 'a', agent: 'a\0b' }, { title: 'a', call: 'a\0b' }]) {
      const refused = await here.page.post('/cases', fields);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('invalid_request')]);
    }
    expect(await told('/cases')).toContain('No case.');
  });

  it('of another tenant is none: no page, no file, no change', async () => {
    const id = await opened({ title: 'globex only', agent: 'globex-bot' }, 'globex');
    expect(await text('/cases')).not.toContain('globex');
    for (const one of [id, NOWHERE, 'x', '..%2Fexports'])
      for (const path of ['', '/export', '/report']) {
        const found = await here.page.get(`/cases/${one}${path}`);
        expect([one, path, found.status]).toEqual([one, path, 404]);
        expect(found.text).not.toContain('globex');
      }
    for (const [path, fields] of [
      ['classify', { severity: 'death' }],
      ['note', { note: 'x' }],
      ['attach', { agent: 'a' }],
      ['status', { status: 'closed' }],
    ] as const)
      expect([path, (await here.page.post(`/cases/${id}/${path}`, fields)).status]).toEqual([path, 404]);
    expect(await kept(id)).toMatchObject({ status: 'open', timeline: [{ kind: 'opened' }] });
    expect(await text(`/cases/${id}`, 'globex')).toContain('globex only');
  });

  it('can only be looked at by a viewer', async () => {
    await append({});
    const id = await opened({ agent: 'agent-a' });
    here.page.role = 'viewer';
    for (const path of ['/cases', `/cases/${id}`, '/audit/hunt?methods=proxy.verdict', `/audit/correlation/${CALL}`]) {
      const forms = partsIn(await text(path), 'form', { method: 'post' }).map(({ attributes }) => attributes['action']);
      expect([path, forms]).toEqual([path, ['/logout']]);
    }
    for (const path of ['', `/${id}/note`, `/${id}/classify`, `/${id}/status`, `/${id}/attach`])
      expect([path, (await here.page.post(`/cases${path}`, { title: 'x', note: 'x' })).status]).toEqual([path, 403]);
  });

  it('shows what people and agents wrote as text, on the page and in the report', async () => {
    await append({ agent_id: HOSTILE, tool_name: HOSTILE });
    const id = await opened({ title: HOSTILE, agent: HOSTILE });
    await here.page.post(`/cases/${id}/note`, { note: `${HOSTILE}\n# heading` });
    for (const path of ['/cases', `/cases/${id}`]) {
      const found = await text(path);
      expect(found).toContain('&lt;script>alert(1)&lt;/script>\\u{202e}');
      expect(found).not.toMatch(/<script>alert|\u202e/);
    }
    const report = await text(`/cases/${id}/report`);
    expect(report).not.toMatch(/<script|\u202e|\]\(|\*\*b\*\*|^# heading/m);
    expect(report).toContain('\\*\\*b\\*\\*');
  });

  it('says that the ledger is away, or that the review service is, and shows the rest', async () => {
    const id = await opened({ agent: 'a' });
    here.page.review = { status: 503, body: { error: 'hil_store_unavailable', reason: 'down' } };
    expect(await told(`/cases/${id}`)).toMatch(/refunds at night.*The review service is away.*What was done/);
    here.page.ledgerIsAway = true;
    for (const path of ['/cases', `/cases/${id}`]) expect(await told(path)).toContain('The ledger is away');
    for (const path of ['', `/${id}/note`])
      expect((await here.page.post(`/cases${path}`, { title: 'x', note: 'x' })).text).toContain(
        'console_neighbour_away',
      );
  });
});

describe('what somebody typed into a case', () => {
  it.each([
    ['note', { note: 'owner <b>called</b>' }, 'Note', 'owner <b>called</b>'],
    ['attach', { agent: 'a bot\nb bot', call: CALL }, 'Agents', 'a bot\nb bot'],
    ['attach', { agent: 'a bot', call: CALL }, 'Calls', CALL],
  ])(
    '%s: %j can be copied while the ledger is away, and where the case is none',
    async (path, fields, label, shown) => {
      const id = await opened();
      const none = await here.page.post(`/cases/${NOWHERE}/${path}`, fields);
      here.page.ledgerIsAway = true;
      const away = await here.page.post(`/cases/${id}/${path}`, fields);
      expect([none.status, away.status]).toEqual([404, 503]);
      for (const { text: found } of [none, away])
        expect(partsIn(found, 'pre', { 'aria-label': label }).map(textOf)).toEqual([shown]);
    },
  );

  it('to open one stands in its form again', async () => {
    here.page.ledgerIsAway = true;
    const { status, text: found } = await here.page.post('/cases', { title: 'at night', agent: 'a bot' });
    expect(status).toBe(503);
    expect(fieldIn(found, 'title')).toBe('at night');
    expect(valuesIn(found, 'agent')).toContain('a bot');
  });
});

describe('a case as a file', () => {
  it('is JSON with its rows, or a page of counts that says that it is no evidence', async () => {
    await append({ policy_decision: { outcome: 'deny' } }, { reasoning: 'SECRET-WORDS' });
    const id = await opened({ agent: 'agent-a' });
    const file = await here.page.get(`/cases/${id}/export`);
    expect(file.headers['content-disposition']).toBe(`attachment; filename="gate-case-${id}.json"`);
    expect(JSON.parse(file.text)).toMatchObject({
      contract: 'gate.case-export/v1',
      case: { id, tenant: 'acme' },
      evidence: [{ seq: 2 }, { seq: 1 }],
    });
    const report = await here.page.get(`/cases/${id}/report`);
    expect(report.headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(report.text).toContain('no evidence');
    expect(report.text).toContain('- by agent: agent\\-a 2');
    expect(report.text).toContain('deny 1');
    expect(report.text).not.toContain('SECRET-WORDS');
  });

  it('is for who is signed in', async () => {
    const id = await opened();
    for (const path of ['export', 'report'])
      expect(
        (await here.page.get(`/cases/${id}/${path}`, { as: null, headers: { accept: 'application/json' } })).status,
      ).toBe(401);
  });
});
