import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { isIntact } from '../../../contracts/policy-library.js';
import type { ReplayRow } from '../../../contracts/replay-rows.js';
import { GateError } from '../../../domain/errors.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { editedSqlite } from '../../../test/support/edited-store.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';
import { policyEngine, type TestPolicyEngine } from '../../../test/support/policy-engine.js';
import { fieldIn, linksIn, partsIn, valuesIn, wordsIn } from '../../../test/support/html.js';

const HOSTILE = '</textarea><script>alert(1)</script>';
const rego = (rule: string) => `package gate.authz\n\nimport rego.v1\n\n${rule}\n`;
const denies = (tool: string, why = tool) => rego(`deny contains "Violation: ${why}" if input.tool_type == "${tool}"`);
const recorded = (seq: number, tool: string, people: ReplayRow['people'] = null): ReplayRow => ({
  seq,
  at: '2026-11-25T12:00:00.000Z',
  correlation_id: `00000000-0000-4000-8000-00000000000${seq}`,
  agent_id: `bot ${HOSTILE}`,
  tool,
  input: {
    tool_type: tool,
    agent_history: { last_tool: null, recent_sequence: [] },
    intent_score: 0,
    current_time: '2026-11-25T12:00:00Z',
    arguments: {},
  },
  request: null,
  decision: { allow: true, reasons: [], review_reasons: [] },
  people,
});

let gate: TestLedgerService;
let engine: TestPolicyEngine;
let page: ConsoleOverLedger;
beforeAll(async () => {
  gate = await ledgerService('sqlite');
  engine = await policyEngine([recorded(1, 'list_files', 'approved'), recorded(2, 'get_weather')]);
  page = consoleOverLedger(() => gate, Date.now, undefined, undefined, engine.over);
});
afterAll(async () => {
  await page.close();
  await engine.close();
  await gate.close();
});
beforeEach(() => {
  page.role = 'admin';
});

const text = async (path: string, as: 'acme' | 'globex' = 'acme') => (await page.get(path, { as })).text;
const told = async (path: string) => wordsIn(await text(path));
let count = 0;
/** A policy of acme that is there, of a name of its own. */
const made = async (body: string, more = {}) => {
  const policy_name = `rule_${(count += 1)}.rego`;
  const { status, headers } = await page.post('/policies/new', { policy_name, body, reason: 'ticket 1', ...more });
  expect([status, headers['location']]).toEqual([303, `/policies/${policy_name}?came=1`]);
  return policy_name;
};
const versionsOf = async (name: string, tenant = 'acme') =>
  (await engine.management.store.versions(tenant, name)).filter(isIntact);

describe('where nobody has written a policy yet', () => {
  it('offers to write one to who may, and tells others who does', async () => {
    expect(await told('/policies')).toContain('Install a template, or write one.');
    for (const role of ['viewer', 'approver'] as const) {
      page.role = role;
      const shown = await text('/policies');
      expect(wordsIn(shown)).toContain('An administrator installs templates and writes them.');
      expect(linksIn(shown).map(({ href }) => href)).not.toContain('/policies/new');
    }
  });
});

describe('a policy on its pages', () => {
  it('is written as a draft of the person’s tenant, in his name, and put in force, changed and rolled back', async () => {
    const name = await made(denies('list_files', 'one').replaceAll('\n', '\r\n'));
    expect(await versionsOf(name)).toMatchObject([
      { active: false, body: denies('list_files', 'one'), actor_sub: 'operator:dev', actor_idp: 'operator-token' },
    ]);
    expect(await told(`/policies/${name}?came=1`)).toContain('Done: version 1, created, not in force.');
    expect(await told('/policies/list')).not.toContain(name);

    await page.post(`/policies/${name}/activate`, { version: '1', reason: 'tried' });
    expect(await told('/policies')).toMatch(new RegExp(`${name.replace('.', '\\.')} in force your tenant`));
    // Its bundle is what decisions of the tenant carry.
    const inForce = engine.management.live.bundleFor('acme')?.hash_sha256;
    expect(inForce).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await text('/policies')).toContain(inForce);
    const edited = await page.post(`/policies/${name}/edit`, {
      version: '2',
      body: denies('list_files', 'two'),
      reason: 'again',
    });
    expect(edited.headers['location']).toBe(`/policies/${name}?came=3`);
    expect(await told(`/policies/${name}/diff?from=2&to=3`)).toMatch(/-deny contains .*one.*\+deny contains .*two/);

    const old = await text(`/policies/${name}/versions/1`);
    expect(old).toContain('Roll back to version 1');
    await page.post(`/policies/${name}/versions/1/rollback`, { version: '3', reason: 'two was wrong' });
    const versions = await versionsOf(name);
    expect(versions.map(({ version, active, reason }) => [version, active, reason])).toEqual([
      [4, true, 'two was wrong'],
      [3, true, 'again'],
      [2, true, 'tried'],
      [1, false, 'ticket 1'],
    ]);
    expect(versions[0]?.body).toBe(denies('list_files', 'one'));
    expect(await told(`/policies/${name}`)).toMatch(/4 changed .*operator:dev.*two was wrong/);
    expect(await text(`/policies/${name}/versions/4`)).not.toContain('Roll back');

    // Somebody who looked at version 3 does not roll back what came meanwhile, and sees it before he can.
    const blind = await page.post(`/policies/${name}/versions/3/rollback`, { version: '3', reason: 'blind' });
    expect([blind.status, wordsIn(blind.text)]).toEqual([
      409,
      expect.stringMatching(
        /version_conflict.*Version 4 came after the one that you began with, 3 .*operator:dev.*two was wrong/,
      ),
    ]);
    expect(valuesIn(blind.text, 'version')).toContain('4');
    expect(await versionsOf(name)).toHaveLength(4);

    await page.post(`/policies/${name}/deactivate`, { version: '4', reason: 'over' });
    const gone = await page.post(`/policies/${name}/delete`, { version: '5', reason: 'over' });
    expect(gone.headers['location']).toBe(`/policies/${name}?came=deleted`);
    expect(await told(`/policies/${name}?came=deleted`)).toMatch(/Done: it is deleted\..*State deleted/);
    expect((await page.get(`/policies/${name}/edit`)).text).toContain(
      'It was deleted. A new policy of its name goes on',
    );
    expect((await page.post('/policies/new', { policy_name: name, body: denies('z'), reason: 'back' })).status).toBe(
      303,
    );
    expect((await versionsOf(name))[0]).toMatchObject({ version: 7, reason: 'back' });
  }, 60_000);

  it('is changed in the editor up to the largest that a policy may be, whatever its lines', async () => {
    const policy_name = 'large.json';
    const body = JSON.stringify({ rows: Array.from({ length: 120_000 }, (_, at) => at % 10) }, null, 1);
    const sent = await page.post('/policies/new', { policy_name, body: body.replaceAll('\n', '\r\n'), reason: 'rows' });
    expect([sent.status, sent.headers['location']]).toEqual([303, '/policies/large.json?came=1']);
    expect((await versionsOf(policy_name))[0]?.body).toBe(body);
  });

  it('that is left in force and reads a document that is not there is warned of by each change that leaves it so', async () => {
    const warns = expect.stringMatching(
      / Warning: \S+ ?line 5 reads data\.gate\.absent_list, and there is no document/,
    );
    const name = await made(rego('deny contains "Violation: a" if input.tool_type == data.gate.absent_list[_]'));
    const on = await page.post(`/policies/${name}/activate`, { version: '1', reason: 'tried' });
    expect([on.status, wordsIn(on.text)]).toEqual([200, warns]);
    expect(wordsIn(on.text)).toContain('Done: version 2, put in force, in force.');
    // What the browser sends again does nothing again.
    expect((await page.post(`/policies/${name}/activate`, { version: '1', reason: 'tried' })).status).toBe(409);
    const list = { policy_name: 'absent_list.json', body: '["x_x"]', reason: 'here', active: 'yes' };
    expect((await page.post('/policies/new', list)).headers['location']).toBe('/policies/absent_list.json?came=1');
    const off = await page.post('/policies/absent_list.json/delete', { version: '1', reason: 'gone' });
    expect([off.status, wordsIn(off.text)]).toEqual([200, warns]);
    await page.post(`/policies/${name}/delete`, { version: '2', reason: 'over' });
  });

  it('is another one for another tenant: what one changes the other does not have', async () => {
    const name = await made(denies('no_such_tool'), { active: 'yes' });
    expect((await page.get(`/policies/${name}`, { as: 'globex' })).status).toBe(404);
    expect(await text('/policies', 'globex')).not.toContain(name);
    for (const [path, fields] of [
      [`/policies/${name}/deactivate`, { version: '1', reason: 'mine' }],
      [`/policies/${name}/versions/1/rollback`, { version: '1', reason: 'mine' }],
      [`/policies/${name}/edit`, { version: '1', reason: 'mine', body: denies('x') }],
      [`/policies/${name}/lab`, { which: 'with' }],
    ] as const)
      expect([path, (await page.post(path, fields, { as: 'globex' })).status]).toEqual([path, 404]);
    expect(await versionsOf(name)).toHaveLength(1);
  }, 60_000);

  it('for everybody becomes a copy of the tenant’s with its first change', async () => {
    const by = { reason: 'all', actor_sub: 'ada', actor_idp: 'cli' };
    const file = { name: 'everybody.rego', content_type: 'rego', body: denies('get_weather'), active: true } as const;
    await engine.management.library.create('', { ...file, ...by });
    expect(await told('/policies/everybody.rego')).toContain(
      'What you change becomes a copy of your tenant, acme, alone. For everybody it is changed on the command line',
    );
    await page.post('/policies/everybody.rego/deactivate', { version: '1', reason: 'not ours' });
    expect(await told('/policies/everybody.rego')).toMatch(/State not in force .*A copy of your tenant, acme/);
    expect(await told('/policies/everybody.rego')).not.toContain('ada');
    expect(await versionsOf('everybody.rego', '')).toHaveLength(1);
  }, 60_000);

  it('says that its header contradicts its rules, and so does the check of a new one', async () => {
    const body = `# Tier: review\n${denies('no_such')}`;
    const by = { reason: 'all', actor_sub: 'ada', actor_idp: 'cli' };
    const file = { name: 'two_minds.rego', content_type: 'rego', body, active: false } as const;
    await engine.management.library.create('acme', { ...file, ...by });
    const words = 'Its header says `# Tier: review`, and a rule of it denies calls';
    expect(await told('/policies/two_minds.rego')).toContain(words);
    // What a policy says of itself is told as that.
    expect(await told('/policies/two_minds.rego')).toContain('What its header says Does review');
    const checked = await page.post('/policies/new/check', { policy_name: 'other.rego', body });
    expect(wordsIn(checked.text)).toContain(words);
  }, 60_000);

  it('is changed as the text that was looked at, not as another one that has its version by now', async () => {
    const { library } = engine.management;
    const by = { reason: 'all', actor_sub: 'ada', actor_idp: 'cli' };
    const name = 'two_texts.rego';
    await library.create('', { name, content_type: 'rego', body: denies('no_such'), active: true, ...by });
    const update = (tenant: string, on: number, why: string) =>
      library.update(tenant, name, { body: denies('no_such', why), expected_current_version: on, ...by });
    await update('', 1, 'two');
    await update('acme', 2, 'own');
    const [own] = await versionsOf(name);
    const looked = { version: '3', digest: own?.body_sha256 ?? '', reason: 'over' };
    for (const path of ['', '/edit'])
      expect(valuesIn(await text(`/policies/${name}${path}`), 'digest')).toContain(own?.body_sha256);
    // The copy goes, and version 3 is that for everybody.
    await library.remove('acme', name, { expected_current_version: 3, ...by });
    await update('', 2, 'three');
    for (const [path, more] of [
      ['deactivate', {}],
      ['edit', { body: denies('no_such', 'typed') }],
      ['versions/1/rollback', {}],
    ] as const) {
      const refused = await page.post(`/policies/${name}/${path}`, { ...looked, ...more });
      expect([path, refused.status]).toEqual([path, 409]);
      expect(wordsIn(refused.text)).toContain('is another text');
    }
    // What was typed is for the text that was looked at, however often it is sent.
    const typed = await page.post(`/policies/${name}/edit`, { ...looked, body: denies('no_such', 'typed') });
    expect(valuesIn(typed.text, 'digest')).toContain(own?.body_sha256);
    expect(await versionsOf(name)).toHaveLength(2);
  }, 60_000);

  it('for everybody comes back as the page showed it where the tenant’s copy is deleted, and as nothing else', async () => {
    const { library } = engine.management;
    const by = { reason: 'all', actor_sub: 'bob', actor_idp: 'cli' };
    const name = 'comes_back.rego';
    const shared = (why: string, on: number) =>
      library.update('', name, { body: denies('no_such', why), expected_current_version: on, ...by });
    const file = { name, content_type: 'rego', body: denies('no_such', 'one'), active: true } as const;
    await library.create('', { ...file, ...by });
    await page.post(`/policies/${name}/deactivate`, { version: '1', reason: 'not ours' });
    await shared('two', 1);
    const shown = await text(`/policies/${name}`);
    expect(wordsIn(shown)).toContain('Deleted, this copy gives way: version 2 for everybody is in force again');
    expect(wordsIn(shown)).toMatch(/-deny contains .*Violation: one.*\+deny contains .*Violation: two/);
    const backIn = (html: string) => fieldIn(html, 'back');
    const back = backIn(shown);
    const [two] = await versionsOf(name, '');
    expect(back).toBe(two?.body_sha256);
    const remove = (more: object) => page.post(`/policies/${name}/delete`, { version: '2', reason: 'over', ...more });

    await shared('three', 2);
    // Neither what was shown before nor a form that shows nothing puts version 3 in force.
    for (const more of [{ back }, {}]) {
      const refused = await remove(more);
      expect([refused.status, wordsIn(refused.text)]).toEqual([
        409,
        expect.stringMatching(/version_conflict.*version 3 for everybody is in force again.*\+deny .*three/),
      ]);
      expect(backIn(refused.text)).toBe((await versionsOf(name, ''))[0]?.body_sha256);
    }
    // What an address says of a copy that never was is not repeated.
    expect(await text(`/policies/${name}?came=deleted`, 'globex')).not.toContain('Done:');
    const done = await remove({ back: backIn(await text(`/policies/${name}`)) });
    expect([done.status, done.headers['location']]).toEqual([303, `/policies/${name}?came=deleted`]);
    const after = await told(`/policies/${name}?came=deleted`);
    expect(after).toContain('Done: your tenant has no copy of it any more. Version 3 for everybody is in force.');
    expect(await told(`/policies/${name}?came=3`)).not.toContain('Done');

    // Where nothing comes back, nothing is said of it.
    await page.post(`/policies/${name}/edit`, { version: '3', reason: 'own', body: denies('no_such', 'own') });
    await library.deactivate('', name, { expected_current_version: 3, ...by });
    const alone = await text(`/policies/${name}`);
    expect([backIn(alone), alone.includes('gives way')]).toEqual(['', false]);
    await library.activate('', name, { expected_current_version: 4, ...by });
    expect((await page.post(`/policies/${name}/delete`, { version: '4', reason: 'over', back: '' })).status).toBe(409);
    expect((await versionsOf(name))[0]?.version).toBe(4);
    await library.deactivate('', name, { expected_current_version: 5, ...by });
    await page.post(`/policies/${name}/delete`, { version: '4', reason: 'over', back: '' });
    expect(await told(`/policies/${name}?came=deleted`)).toContain(
      'Version 6 for everybody is there, and not in force.',
    );
  }, 60_000);

  it('whose text for everybody cannot be read is not deleted blindly', async () => {
    const { library, store } = engine.management;
    const name = 'unread_base.rego';
    const by = { reason: 'all', actor_sub: 'bob', actor_idp: 'cli' };
    await library.create('', { name, content_type: 'rego', body: denies('no_such'), active: true, ...by });
    await page.post(`/policies/${name}/deactivate`, { version: '1', reason: 'not ours' });
    const version = store.version.bind(store);
    const away = jest.spyOn(store, 'version');
    away.mockImplementation((tenant, ...rest) =>
      tenant === '' ? Promise.reject(new GateError('store_unavailable')) : version(tenant, ...rest),
    );
    const shown = await text(`/policies/${name}`);
    away.mockRestore();
    expect(shown).toContain('The policy engine is away');
    expect(shown).toContain('Put it in force');
    expect(shown).not.toContain(`/policies/${name}/delete`);
  }, 60_000);

  it('that somebody switched off or on meanwhile offers nothing where its button was: the other act was not meant', async () => {
    const name = await made(denies('no_such_tool'), { active: 'yes' });
    const off = { version: '1', act: 'deactivate', reason: 'mine' };
    expect(await text(`/policies/${name}`)).toContain('name="act" value="deactivate"');
    await page.post(`/policies/${name}/deactivate`, { ...off, reason: 'theirs' });
    const late = await page.post(`/policies/${name}/deactivate`, off);
    expect([late.status, wordsIn(late.text)]).toEqual([409, expect.stringContaining('It was switched off meanwhile')]);
    expect(late.text).not.toMatch(/Put it in force|Switch it off/);
    expect(valuesIn(late.text, 'version')).toEqual([]);
    // What is still to be done is offered again, on the version of now.
    const { library } = engine.management;
    const by = { reason: 'edit', actor_sub: 'ada', actor_idp: 'cli' };
    await library.activate('acme', name, { expected_current_version: 2, ...by });
    const again = await page.post(`/policies/${name}/deactivate`, off);
    expect(valuesIn(again.text, 'version')).toContain('3');
    expect(again.text).toContain('Switch it off');
  }, 60_000);

  it('that was mined says what follows where it is switched off or deleted, while it is in force', async () => {
    const opens = 'Without this rule the class of create_issue alone counts: classed "change", every call of it runs.';
    const body = `# Summary: as approved\n# Domain: mined\n# Tool surface: create_issue\n\n${denies('create_issue')}`;
    const name = 'mined_create_issue.rego';
    await page.post('/policies/new', { policy_name: name, body, reason: 'mined', active: 'yes' });
    expect(await told(`/policies/${name}`)).toContain(opens);
    await page.post(`/policies/${name}/deactivate`, { version: '1', reason: 'over' });
    expect(await told(`/policies/${name}`)).not.toContain('Without this rule');
  });

  it('that ships is read alone, whoever asks', async () => {
    const shown = await text('/policies/budget.rego');
    for (const form of ['/activate"', '/deactivate"', '/edit"', '/lab"', '/versions/'])
      expect(shown).not.toContain(form);
    expect(await text('/policies/budget.rego/edit')).toContain('It ships with Gate: a release changes it.');
    for (const form of ['deactivate', 'edit', 'delete', 'versions/1/rollback']) {
      const { status, text: said } = await page.post(`/policies/budget.rego/${form}`, {
        version: '1',
        reason: 'x',
        body: denies('x'),
      });
      expect([form, status, said.includes('policy_protected')]).toEqual([form, 409, true]);
    }
  });

  it('is changed by an administrator alone, for a reason', async () => {
    const name = await made(denies('list_files'));
    const unsaid = await page.post(`/policies/${name}/activate`, { version: '1', reason: ' ' });
    expect([unsaid.status, unsaid.text]).toEqual([400, expect.stringContaining('say why')]);
    page.role = 'approver';
    expect(valuesIn(await text(`/policies/${name}`), 'reason')).toEqual([]);
    expect(await text('/policies')).not.toContain('New policy');
    expect((await page.get(`/policies/${name}/edit`)).status).toBe(403);
    expect((await page.post(`/policies/${name}/activate`, { version: '1', reason: 'x' })).status).toBe(403);
    expect(await versionsOf(name)).toHaveLength(1);
  });
});

describe('a policy whose text somebody edited in the store', () => {
  const edit = (name: string, version: number) =>
    editedSqlite(engine.file).all('update policy_versions set body = ? where name = ? and version = ?', [
      '{"max":9}',
      name,
      version,
    ]);
  const document = async (name: string) => {
    const typed = { policy_name: name, body: '{"max":1}', reason: 'ticket 1', active: 'yes' };
    expect((await page.post('/policies/new', typed)).status).toBe(303);
    await page.post(`/policies/${name}/edit`, { version: '1', body: '{"max":2}', reason: 'more' });
    await edit(name, 2);
    return name;
  };

  it('keeps its pages, which say which version that is and what to do, and show nothing of that text', async () => {
    const name = await document('edited_one.json');
    const paths = ['', '/edit', '/lab', '/versions', '/versions/1', '/versions/2', '/diff?from=1&to=2'];
    for (const path of paths.filter((one) => one !== '/versions')) {
      const shown = await page.get(`/policies/${name}${path}`);
      expect([path, shown.status, wordsIn(shown.text)]).toEqual([
        path,
        200,
        expect.stringMatching(/wrote to the store past Gate.*version 2 of edited_one\.json for acme/),
      ]);
      expect(shown.text).not.toContain('max&quot;:9');
    }
    const shown = await text(`/policies/${name}`);
    expect(wordsIn(shown)).toMatch(/save one, or go back to a version below.*2 edited in the store/);
    const addresses = linksIn(shown).map(({ href }) => href);
    for (const to of ['versions/1', 'edit']) expect(addresses).toContain(`/policies/${name}/${to}`);
    expect(shown).not.toMatch(/\/deactivate"|\/delete"/);
    // A form of before keeps what was typed.
    const off = await page.post(`/policies/${name}/deactivate`, { version: '2', reason: 'because of it' });
    expect([off.status, wordsIn(off.text)]).toEqual([409, expect.stringMatching(/policy_tampered.*because of it/)]);
    expect(await told('/policies')).toMatch(/edited_one\.json.*edited in the store/);
    // Nothing else that is in force with it is changed until it is mended.
    const other = { policy_name: 'beside.json', body: '{}', reason: 'x', active: 'yes' };
    await page.post(`/policies/${name}/edit`, { version: '2', body: '{"max":3}', reason: 'mended' });
    expect((await page.post('/policies/new', other)).status).toBe(303);
  }, 60_000);

  it.each([
    ['saved', (name: string) => [`/policies/${name}/edit`, { body: '{"max":3}' }] as const],
    ['gone back to', (name: string) => [`/policies/${name}/versions/1/rollback`, {}] as const],
  ])(
    'is a policy like others again once another text was %s',
    async (how, changeOf) => {
      const name = await document(`edited_${how.length}.json`);
      const [path, more] = changeOf(name);
      const form = await text(path.replace('/rollback', ''));
      const digest = fieldIn(form, 'digest');
      expect(valuesIn(form, 'version')).toContain('2');
      const made = await page.post(path, { version: '2', digest, reason: 'mended', ...more });
      expect([made.status, made.headers['location']]).toEqual([303, `/policies/${name}?came=3`]);
      const shown = await told(`/policies/${name}?came=3`);
      expect(shown).toMatch(/Done: version 3, changed, in force\..*Switch it off Delete.*2 edited in the store/);
      expect((await page.post(`/policies/${name}/deactivate`, { version: '3', reason: 'over' })).status).toBe(303);
    },
    60_000,
  );

  it('for everybody is mended for everybody alone: a tenant is told so, and never that its copy is in force', async () => {
    const name = 'edited_for_all.rego';
    const by = { reason: 'all', actor_sub: 'ada', actor_idp: 'cli' };
    const file = { name, content_type: 'rego', body: denies('no_such', 'all'), active: true } as const;
    await engine.management.library.create('', { ...file, ...by });
    const beside = 'beside_it.rego';
    await engine.management.library.create('', { ...file, ...by, name: beside });
    await page.post(`/policies/${beside}/deactivate`, { version: '1', reason: 'not ours' });
    await edit(name, 1);
    // As the engine does every minute.
    await expect(engine.management.live.verify()).rejects.toMatchObject({ code: 'policy_tampered' });
    for (const path of ['', '/edit']) {
      const shown = await told(`/policies/${name}${path}`);
      expect(shown).toMatch(
        /for everybody: on the command line alone, with gate policy rollback\b.*does not come into/,
      );
      expect(shown).not.toMatch(/takes its place/);
    }
    const saved = await page.post(`/policies/${name}/edit`, { version: '1', body: denies('no_such'), reason: 'ours' });
    expect([saved.status, wordsIn(saved.text)]).toEqual([
      200,
      expect.stringMatching(/Done: version 2, changed\. Warning: this is stored, and not in force in the process/),
    ]);
    // The list says it for as long as it is so, and not only the answer to the change.
    expect(await told('/policies')).toMatch(/judges by other policies than are stored.*what is stored is not in force/);
    // So do the policy's own page and its editor, of what is stored as in force.
    const late = await told(`/policies/${name}?came=2`);
    expect(late).toMatch(/Done: version 2, changed\. .*State stored as in force .*what is stored is not in force\./);
    expect(await told(`/policies/${name}/edit`)).toMatch(
      /judges by other policies than are stored.*judges calls once the engine does by what is stored/,
    );
    expect(await told(`/policies/${beside}`)).toContain(
      'version 1 for everybody is stored as in force again, and judges calls once the engine does by what is stored',
    );
    // And whatever else says what is in force.
    for (const path of [
      `/policies/${name}/versions/1`,
      `/policies/${name}/lab`,
      '/policies/templates',
      '/policies/suggestions',
    ])
      expect([path, await told(path)]).toEqual([
        path,
        expect.stringContaining('judges by other policies than are stored'),
      ]);
    expect(await told('/policies/templates/pii_egress.rego')).toContain('judges by other policies than are stored');
    expect(await told(`/policies/${name}/lab`)).toContain('as it is stored');
    await engine.management.library.update('', name, { body: file.body, expected_current_version: 1, ...by });
    expect(await told('/policies')).not.toContain('judges by other policies');
    expect(await told(`/policies/${name}`)).toMatch(/State in force /);
    expect(await told(`/policies/${name}/edit`)).toContain('a new version judges calls at once');
    const again = await page.post(`/policies/${name}/edit`, { version: '2', body: denies('no_such'), reason: 'ours' });
    expect(again.headers['location']).toBe(`/policies/${name}?came=3`);
  }, 120_000);

  it('that is switched on there stops changes, and nothing of what judges is said not to', async () => {
    const off = 'switched_on_there.json';
    await page.post('/policies/new', { policy_name: off, body: '{}', reason: 'off' });
    const on = await document('judges_still.json');
    await page.post(`/policies/${on}/edit`, { version: '2', body: '{"max":3}', reason: 'mended' });
    const switched = (active: number) =>
      editedSqlite(engine.file).all('update policies set active = ? where name = ?', [active, off]);
    await switched(1);
    await engine.management.live.verify();
    for (const path of [`/policies/${on}`, '/policies', '/policies/templates']) {
      const shown = await told(path);
      expect([path, shown]).toEqual([path, expect.stringContaining('takes no change: somebody edited the store.')]);
      expect([path, shown]).toEqual([path, expect.not.stringMatching(/judges by other|stored as in force/)]);
    }
    expect(await told(`/policies/${on}`)).toMatch(/State in force /);
    await switched(0);
    await engine.management.live.verify();
    expect(await told(`/policies/${on}`)).not.toContain('takes no change');
  }, 60_000);

  it('is shown as it is to who began with the edited text, and what he typed goes on top', async () => {
    const name = await document('edited_between.json');
    await page.post(`/policies/${name}/edit`, { version: '2', body: '{"max":3}', reason: 'mended' });
    const mine = { version: '2', body: '{"max":4}', reason: 'mine' };
    const late = await page.post(`/policies/${name}/edit`, mine);
    expect([late.status, wordsIn(late.text)]).toEqual([
      409,
      expect.stringMatching(/Version 3 came after.*: mended.*was edited in the store, so what changed.*max":3/),
    ]);
    expect(valuesIn(late.text, 'version')).toContain('3');
    expect((await page.post(`/policies/${name}/edit`, { ...mine, version: '3' })).status).toBe(303);
  }, 60_000);
});

describe('the editor', () => {
  it('says where a text is at fault, and what it would change, and keeps what was typed', async () => {
    const name = await made(denies('list_files', 'one'));
    const body = `${denies('list_files', 'one')}\ndeny contains "x" if {\n\tinput.tool_type = = "${HOSTILE}"\n}\n`;
    const wrong = await page.post(`/policies/${name}/edit/check`, { version: '1', body, reason: 'because' });
    expect(wrong.status).toBe(200);
    expect(wrong.text).toMatch(
      new RegExp(`data-line="8" data-column="\\d+"><bdi class="foreign">${name}:8:\\d+</bdi>`),
    );
    expect(wrong.text).not.toContain(HOSTILE);
    expect(wrong.text).toContain('input.tool_type = = &quot;&lt;/textarea>');
    expect(valuesIn(wrong.text, 'reason')).toContain('because');

    const fine = await page.post(`/policies/${name}/edit/check`, { version: '1', body: denies('list_files', 'two') });
    expect(wordsIn(fine.text)).toMatch(/It compiles by itself\..*What it changes.*-deny contains.*\+deny contains/);
    // Of a text whose first line is empty the parser of pages takes none away.
    const empty = await page.post(`/policies/${name}/edit/check`, { version: '1', body: '\r\n# x\r\n' });
    expect(empty.text).toMatch(/<textarea[^>]*>\n\n# x\n<\/textarea>/);
    const unseen = await page.post(`/policies/${name}/edit/check`, {
      version: '1',
      body: `${denies('a')}# a\u202eb\n`,
    });
    expect(unseen.text).toContain('a\\u{202e}b');
    expect(await versionsOf(name)).toHaveLength(1);
  }, 60_000);

  it('says in the place of the check that a name is missing or none, and refuses nothing that is not saved', async () => {
    const checkSays = (html: string) => wordsIn(/<section[^>]*data-checked.*?<\/section>/s.exec(html)?.[0] ?? '');
    const typed = { policy_name: ' ', body: denies('unnamed'), window: '' };
    for (const what of ['check', 'try']) {
      const unnamed = await page.post(`/policies/new/${what}`, typed);
      expect([unnamed.status, checkSays(unnamed.text)]).toEqual([
        200,
        expect.stringContaining('Give it a name first, which ends with .rego or .json'),
      ]);
      expect(unnamed.text).not.toMatch(/role="alert"|Too small/);
      expect(unnamed.text).toContain('tool_type == &quot;unnamed&quot;');
    }
    const climbs = await page.post('/policies/new/check', { ...typed, policy_name: '../x.rego' });
    expect([climbs.status, checkSays(climbs.text)]).toEqual([200, expect.stringContaining('Give it another name')]);
    const unreadable = await page.post('/policies/new/check', { ...typed, policy_name: 'x.rego', body: '# \0' });
    expect([unreadable.status, checkSays(unreadable.text)]).toEqual([
      200,
      expect.stringContaining('It cannot be checked as it was typed: '),
    ]);
    const saved = await page.post('/policies/new', { ...typed, reason: 'because' });
    expect([saved.status, wordsIn(saved.text)]).toEqual([400, expect.stringContaining('Give it a name first')]);
    expect(valuesIn(saved.text, 'reason')).toContain('because');
  }, 60_000);

  it('refuses what does not compile with all that is in force, and says where', async () => {
    const name = await made(denies('no_such_tool'), { active: 'yes' });
    const { status, text: said } = await page.post(`/policies/${name}/edit`, {
      version: '1',
      body: rego('allow := true'),
      reason: 'wider',
    });
    expect([status, said]).toEqual([400, expect.stringContaining('policy_invalid')]);
    expect(said).toContain('allow := true');
    expect(await versionsOf(name)).toHaveLength(1);
  }, 60_000);

  it('loses nothing where somebody else was first: it shows what came in between, and saves on top of that', async () => {
    const name = await made(denies('list_files', 'one'));
    await page.post(`/policies/${name}/edit`, { version: '1', body: denies('list_files', 'theirs'), reason: 'first' });
    const typed = { version: '1', body: denies('list_files', 'mine'), reason: 'second' };
    const late = await page.post(`/policies/${name}/edit`, typed);
    expect(late.status).toBe(409);
    const shown = wordsIn(late.text);
    expect(shown).toContain('version_conflict');
    expect(shown).toMatch(/Version 2 came after the one that you began with, 1 .*operator:dev.*first/);
    expect(shown).toMatch(/-deny contains .*one.*\+deny contains .*theirs/);
    expect(late.text).toContain('Violation: mine');
    expect(valuesIn(late.text, 'version')).toContain('2');
    expect(valuesIn(late.text, 'reason')).toContain('second');
    expect((await page.post(`/policies/${name}/edit`, { ...typed, version: '2' })).status).toBe(303);
    expect((await versionsOf(name)).map(({ reason }) => reason)).toEqual(['second', 'first', 'ticket 1']);
    const taken = await page.post('/policies/new', { policy_name: name, body: denies('y'), reason: 'mine' });
    expect([taken.status, taken.text]).toEqual([409, expect.stringContaining('policy_exists')]);
    expect(taken.text).toContain('input.tool_type == &quot;y&quot;');
  }, 60_000);

  it('does not ask for a check as well where the engine gave no answer to the change', async () => {
    const name = await made(denies('list_files'));
    const { library } = engine.management;
    const typed = { version: '1', body: denies('y'), reason: 'x' };
    const update = jest.spyOn(library, 'update');
    const validate = jest.spyOn(library, 'validate');
    for (const [code, status, asked] of [
      ['store_unavailable', 503, 0],
      ['version_conflict', 409, 1],
    ] as const) {
      validate.mockClear();
      update.mockRejectedValueOnce(new GateError(code));
      const refused = await page.post(`/policies/${name}/edit`, typed);
      expect([code, refused.status, validate.mock.calls.length]).toEqual([code, status, asked]);
      expect(refused.text).toContain('input.tool_type == &quot;y&quot;');
      expect(refused.text.includes('Nothing is checked yet')).toBe(asked === 0);
    }
    update.mockRestore();
    validate.mockRestore();
  }, 60_000);

  it('stores nothing on a version that does not exist', async () => {
    const name = await made(denies('list_files'));
    for (const version of ['', 'x', '0', '-1', '1e99', '2']) {
      const { status } = await page.post(`/policies/${name}/edit`, { version, body: denies('y'), reason: 'x' });
      expect([version, [400, 404, 409].includes(status)]).toEqual([version, true]);
    }
    expect(await versionsOf(name)).toHaveLength(1);
  });
});

describe('a lab', () => {
  it('counts what a draft would change, draws it, sets it against what people decided, and leads to each call', async () => {
    const name = await made(denies('x'));
    const tried = await page.post(`/policies/${name}/edit/try`, {
      version: '1',
      body: denies('list_files', HOSTILE.replaceAll('"', "'")),
      window: '',
    });
    expect(tried.status).toBe(200);
    const shown = wordsIn(tried.text);
    expect(shown).toContain('Of 2 recorded calls 1 would be judged otherwise: 0 more mildly, 1 more strictly.');
    expect(shown).toMatch(/runs now, would be denied stricter 1 /);
    expect(shown).toMatch(/approved 0 0 1 against them/);
    expect(linksIn(tried.text).map(({ href }) => href)).toContain(
      '/audit/correlation/00000000-0000-4000-8000-000000000001',
    );
    expect(tried.text).toMatch(/<svg class="chart flow" role="img"[^>]*>.*<path class="band deny"/s);
    expect(tried.text).not.toContain('<script>alert');
    expect(tried.text).toContain('class="progress"');
    expect(tried.text.trimEnd()).toMatch(/<\/html>$/);
    // Nothing of it was stored.
    expect(await versionsOf(name)).toHaveLength(1);
  }, 60_000);

  it('says what would change without a policy, and why there is no result where there is none', async () => {
    const name = await made(denies('get_weather'), { active: 'yes' });
    const without = wordsIn((await page.post(`/policies/${name}/lab`, { which: 'without', window: '' })).text);
    expect(without).toMatch(/denied now, would run milder 1 /);
    expect(without).toContain('Switch it off, or roll it back');
    const wrong = await page.post(`/policies/${name}/edit/try`, { version: '1', body: 'no rule', window: '' });
    expect(wordsIn(wrong.text)).toMatch(/There is no result: .*policy_invalid/);
    const window = await page.post(`/policies/${name}/lab`, { which: 'with', window: '', from: 'yesterday' });
    // Told before anything is tried, and with what was typed.
    expect(wordsIn(window.text)).toMatch(/From is no time: .*invalid_window/);
    expect(partsIn(window.text, 'input', { value: 'yesterday' })).toHaveLength(1);
    await page.post(`/policies/${name}/deactivate`, { version: '1', reason: 'over' });
  }, 60_000);
});

describe('a template', () => {
  const PII = '/policies/templates/pii_egress.rego';
  const templatesIn = (html: string) =>
    linksIn(html).flatMap(({ href }) => /^\/policies\/templates\/([a-z0-9_]+)\.rego$/.exec(href)?.[1] ?? []);

  it.each(['nope', 'nope.rego', '.rego'])('says of the name %s that there is no template of it', async (name) => {
    expect((await page.get(`/policies/templates/${name}`)).status).toBe(404);
  });

  it('is found by its domain and by words', async () => {
    const all = await text('/policies/templates');
    expect(templatesIn(all)).toHaveLength(85);
    const finance = await text('/policies/templates?domain=finance');
    expect(templatesIn(finance)).toEqual([
      'account_freeze_lift',
      'ach_batch_high_volume',
      'money_moves',
      'treasury_large_movement',
      'vendor_payment_redirect',
    ]);
    expect(await text('/policies/templates?q=ofac+frozen')).toContain('account_freeze_lift');
    expect(await told('/policies/templates?q=nothing+says+this')).toContain('No template says that.');
  });

  it('says what it would have decided before it is installed, with the parameters that were typed, and then holds', async () => {
    const shown = await text(PII);
    expect(valuesIn(shown, 'parameter.internal_domains')).toHaveLength(1);
    expect(shown).not.toContain('/install"');
    const fields = { 'parameter.internal_domains': 'acme.example\r\n\r\nacme.test', window: '' };
    const tried = await page.post(`${PII}/try`, fields);
    expect(wordsIn(tried.text)).toContain('Of 2 recorded calls 0 would be judged otherwise');
    expect(tried.text).toMatch(/<textarea[^>]*name="parameter.internal_domains"[^>]*>\nacme\.example\n\nacme\.test</);
    expect(tried.text).toContain(`formaction="${PII}/install"`);
    const installed = await page.post(`${PII}/install`, { ...fields, reason: 'GDPR' });
    expect(installed.headers['location']).toBe('/policies/pii_egress.rego?came=1');
    const [document] = await versionsOf('pii_egress.json');
    expect(JSON.parse(document?.body ?? '')).toEqual({ internal_domains: ['acme.example', 'acme.test'] });
    expect((await page.get('/policies/templates', { as: 'globex' })).text).not.toContain('in force');

    const set = await page.post(`${PII}/set`, {
      'parameter.internal_domains': 'acme.example',
      version: '1',
      reason: 'fewer',
    });
    expect(set.headers['location']).toBe('/policies/pii_egress.json?came=2');
    const late = await page.post(`${PII}/set`, { 'parameter.internal_domains': 'late', version: '1', reason: 'late' });
    expect([late.status, late.text]).toEqual([409, expect.stringContaining('version_conflict')]);
    expect(late.text).toContain('late</textarea>');
    expect(wordsIn(late.text)).toMatch(
      /Version 2 came after the one that you began with, 1 operator:dev .*: fewer .*- .*acme\.test.*What you typed stands below/,
    );
    expect(valuesIn(late.text, 'version')).toContain('2');
    // Where what came in between cannot be shown, the next press is refused as well.
    const { store } = engine.management;
    const version = store.version.bind(store);
    const away = jest.spyOn(store, 'version');
    away.mockImplementation((tenant, name, at) =>
      at === 1 ? Promise.reject(new GateError('store_unavailable')) : version(tenant, name, at),
    );
    const blind = await page.post(`${PII}/set`, { 'parameter.internal_domains': 'late', version: '1', reason: 'late' });
    away.mockRestore();
    expect([blind.status, valuesIn(blind.text, 'version')]).toEqual([409, expect.arrayContaining(['1'])]);
    expect((await page.post(`${PII}/install`, { reason: 'again' })).status).toBe(409);
  }, 60_000);

  it.each([
    ['an invalid number', { 'parameter.most_addresses': 'many' }, 400, 'most_addresses is a number'],
    ['a number that no document holds', { 'parameter.most_addresses': `1${'0'.repeat(400)}` }, 400, 'not so large'],
    ['what its schema does not have', { 'parameter.most_addresses': '-1' }, 400, 'policy_invalid'],
    ['no reason', { reason: '' }, 400, 'say why'],
  ])('is not installed with %s, and what was typed stays', async (_, fields, status, why) => {
    const name = '/policies/templates/pii_egress.rego';
    const typed = { reason: 'ticket', ...fields };
    const answer = await page.post(`${name}/install`, typed, { as: 'globex' });
    expect([answer.status, wordsIn(answer.text)]).toEqual([status, expect.stringContaining(why)]);
    if (typed.reason !== '') expect(valuesIn(answer.text, 'reason')).toContain('ticket');
    expect(await versionsOf('pii_egress.rego', 'globex')).toEqual([]);
  });

  const TRADE = '/policies/templates/trade_execution.rego';
  const documentOfGlobex = async () =>
    JSON.parse((await versionsOf('trade_execution.json', 'globex'))[0]?.body ?? 'null') as unknown;
  const forGlobex = (path: string, form: Record<string, string> = {}) => page.post(path, form, { as: 'globex' });

  it('is installed with the parameters that its page shows, also where a document of before is in force', async () => {
    const body = JSON.stringify({ most_quantity: 999_999 });
    await forGlobex('/policies/new', { policy_name: 'trade_execution.json', body, reason: 'before', active: 'yes' });
    await forGlobex('/policies/trade_execution.json/activate', { version: '1', reason: 'before' });
    expect(fieldIn((await page.get(TRADE, { as: 'globex' })).text, 'parameter.most_quantity')).toBe('999999');
    const typed = { 'parameter.most_quantity': '1000', version: '2', reason: 'as shown' };
    const installed = await forGlobex(`${TRADE}/install`, typed);
    expect([installed.status, await documentOfGlobex()]).toEqual([303, {}]);
  });

  it('is installed on what its page showed alone: what somebody set, set anew or took away meanwhile stands and is shown', async () => {
    const at = '/policies/templates/ach_batch_high_volume.rego';
    const name = 'ach_batch_high_volume.json';
    const install = (version: string, digest = '') =>
      forGlobex(`${at}/install`, { 'parameter.most_entries': '7', version, digest, reason: 'mine' });
    const body = JSON.stringify({ most_entries: 5 });
    await forGlobex('/policies/new', { policy_name: name, body, reason: 'no more than five', active: 'yes' });
    for (const [on, overtaken] of [
      ['', 'Somebody made version 1 since'],
      ['2', 'Version 1 came after the one that you began with, 2'],
    ] as const) {
      const late = await install(on);
      expect([on, late.status, wordsIn(late.text)]).toEqual([on, 409, expect.stringContaining(overtaken)]);
      expect(wordsIn(late.text)).toMatch(/version_conflict.*installing it puts yours on top of version 1/);
      expect(valuesIn(late.text, 'version')).toContain('1');
    }
    expect((await install('1', 'a'.repeat(64))).status).toBe(409);
    await forGlobex(`/policies/${name}/delete`, { version: '1', reason: 'away' });
    expect((await install('1')).status).toBe(409);
    expect(await versionsOf('ach_batch_high_volume.rego', 'globex')).toEqual([]);
    expect((await install('')).status).toBe(303);
    expect(JSON.parse((await versionsOf(name, 'globex'))[0]?.body ?? '')).toEqual({ most_entries: 7 });
  }, 60_000);

  it('of which somebody else set something meanwhile shows that before it is set', async () => {
    await forGlobex(`${TRADE}/set`, { 'parameter.most_quantity': '5', version: '3', reason: 'no more than five' });
    const late = await forGlobex(`${TRADE}/install`, { 'parameter.most_quantity': '7000', reason: 'late' });
    expect([late.status, wordsIn(late.text)]).toEqual([409, expect.stringContaining('no more than five')]);
    expect(wordsIn(late.text)).toMatch(/Somebody made version \d+ since .*What you typed/);
  });

  it('whose document was switched off says that it is there, what installing does to it, and does nothing to it', async () => {
    const name = 'client_position_disclosure.json';
    await forGlobex('/policies/new', { policy_name: name, body: '{}', reason: 'before' });
    const at = '/policies/templates/client_position_disclosure.rego';
    const shown = (await page.get(at, { as: 'globex' })).text;
    expect(wordsIn(shown)).toMatch(
      /set before, in client_position_disclosure\.json, version 1\. That document is there and was switched off: nothing of it holds\..*Installing the template neither puts it in force nor writes over it, so it is refused/,
    );
    expect(shown).not.toContain('/install"');
    const refused = await forGlobex(`${at}/install`, { reason: 'as the template says' });
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('policy_exists')]);
    expect((await versionsOf(name, 'globex')).map(({ active }) => active)).toEqual([false]);

    // Of a template that is in force, whose document was switched off afterwards.
    const set = 'trade_execution.json';
    const now = async () => String((await versionsOf(set, 'globex'))[0]?.version);
    await forGlobex(`/policies/${set}/deactivate`, { version: await now(), reason: 'off' });
    expect(wordsIn((await page.get(TRADE, { as: 'globex' })).text)).toMatch(
      /follows its own defaults\..*Setting parameters neither puts it in force nor writes over it/,
    );
    await forGlobex(`/policies/${set}/activate`, { version: await now(), reason: 'on' });
  }, 60_000);

  it('that was switched off with a text of its own is not put in force from here', async () => {
    const own = { version: '1', body: denies('list_files'), reason: 'our own' };
    expect((await forGlobex('/policies/trade_execution.rego/edit', own)).status).toBe(303);
    expect((await forGlobex('/policies/trade_execution.rego/deactivate', { version: '2', reason: 'off' })).status).toBe(
      303,
    );
    const shown = (await page.get(TRADE, { as: 'globex' })).text;
    expect(wordsIn(shown)).toContain('trade_execution.rego was switched off, with a text of its own');
    expect(shown).not.toContain('/try"');
    const refused = await forGlobex(`${TRADE}/install`, { reason: 'as the template says' });
    expect([refused.status, wordsIn(refused.text)]).toEqual([409, expect.stringContaining('was switched off')]);
    expect((await versionsOf('trade_execution.rego', 'globex')).map(({ active }) => active)[0]).toBe(false);
  });

  it('whose policy was changed, and its document, is installed as the template has it once both are deleted', async () => {
    const name = 'rate_limit_review';
    const at = `/policies/templates/${name}.rego`;
    const set = { 'parameter.review_above': '11', version: '', reason: 'eleven' };
    expect((await forGlobex(`${at}/install`, set)).status).toBe(303);
    const own = { version: '1', body: denies('list_files'), reason: 'our own' };
    expect((await forGlobex(`/policies/${name}.rego/edit`, own)).status).toBe(303);
    for (const [file, version] of [
      [`${name}.rego`, 2],
      [`${name}.json`, 1],
    ] as const) {
      const off = { version: String(version), reason: 'over' };
      expect([file, (await forGlobex(`/policies/${file}/deactivate`, off)).status]).toEqual([file, 303]);
      expect(wordsIn((await page.get(at, { as: 'globex' })).text)).toContain('was switched off');
      const gone = { version: String(version + 1), reason: 'over', back: '' };
      expect([file, (await forGlobex(`/policies/${file}/delete`, gone)).status]).toEqual([file, 303]);
    }
    expect((await page.get(at, { as: 'globex' })).text).toMatch(/\/try".*name="parameter.review_above" value="60"/s);
    expect((await forGlobex(`${at}/install`, { ...set, 'parameter.review_above': '12' })).status).toBe(303);
    expect((await versionsOf(`${name}.rego`, 'globex'))[0]).toMatchObject({ version: 5, active: true });
    const [document] = await versionsOf(`${name}.json`, 'globex');
    expect([document?.version, JSON.parse(document?.body ?? '')]).toEqual([4, { review_above: 12 }]);
  }, 60_000);

  it('whose document is deleted while it is tried says so, and what was typed stays', async () => {
    const name = 'order_refund_limits';
    const at = `/policies/templates/${name}.rego`;
    const typed = { 'parameter.deny_above': '12' };
    expect((await forGlobex(`${at}/install`, { ...typed, version: '', reason: 'twelve' })).status).toBe(303);
    const version = fieldIn((await page.get(at, { as: 'globex' })).text, 'version');
    const [own] = await versionsOf(`${name}.json`, 'globex');
    expect(version).toBe(String(own?.version));
    await forGlobex(`/policies/${name}.json/deactivate`, { version, reason: 'off' });
    await forGlobex(`/policies/${name}.json/delete`, { version: String(Number(version) + 1), reason: 'off', back: '' });
    const tried = await forGlobex(`${at}/try`, { 'parameter.deny_above': '13', version });
    expect(wordsIn(tried.text)).toMatch(
      new RegExp(
        `${name}\\.json, of whose version ${version} this was made, was deleted meanwhile\\..*makes the document anew`,
      ),
    );
    expect(fieldIn(tried.text, 'parameter.deny_above')).toBe('13');
    expect(wordsIn((await forGlobex(`${at}/try`, { ...typed, version: '' })).text)).not.toContain('deleted meanwhile');
  }, 60_000);

  it('that is switched off for everybody, with another text, is installed beside it as a copy of the tenant', async () => {
    const { library, templates } = engine.management;
    const by = { reason: 'all', actor_sub: 'ada', actor_idp: 'cli' };
    const [name, at] = ['account_freeze_lift.rego', '/policies/templates/account_freeze_lift.rego'];
    const file = { name, content_type: 'rego', body: denies('list_files'), active: false } as const;
    await library.create('', { ...file, ...by });
    expect((await page.get(at, { as: 'globex' })).text).toContain('/try"');
    expect((await forGlobex(`${at}/install`, { reason: 'for us' })).status).toBe(303);
    const [copy] = await versionsOf(name, 'globex');
    expect(copy).toMatchObject({ version: 2, active: true, body: (await templates.read(name))?.body });
    expect(await versionsOf(name, '')).toHaveLength(1);
  }, 60_000);

  it('is none by another name', async () => {
    for (const name of ['none.rego', '..%2Fx.rego', 'pii_egress.json'])
      expect([name, (await page.get(`/policies/templates/${name}`)).status >= 400]).toEqual([name, true]);
  });
});
