import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { OPERATOR_COMMANDS } from '../../cli/file-commands.js';
import { openLedgerReadOnly } from '../../adapters/ledger/read-only.js';
import { openLocalFile } from '../../adapters/store/local-file.js';
import { toolClassStoreOver, type ToolClassTables } from '../../adapters/tools/class-store.js';
import { keysBeside } from '../../lite/keys.js';
import { liteMigrations } from '../../lite/migrations.js';
import { commandLine } from '../support/command.js';
import { typedInFolder } from '../support/command-here.js';
import { type EchoTools, echoTools, editFile, type LiteFixture, openLite } from '../support/lite.js';

const TOKEN = 'an-operators-own-token-of-some-length';
const AS_OPERATOR = { authorization: `Bearer ${TOKEN}` };
const gateCommand = commandLine(() => folder);

let folder: string;
let tools: EchoTools;
let gate: LiteFixture;
let description: string;
/** What the upstream lists beside `create_issue`. */
let shown: string[];
const open = (env: Record<string, string> = {}) =>
  openLite(
    { GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_NAME: 'own', GATE_LITE_DECIDE_TOKEN: TOKEN, ...env },
    { folder },
  );
const again = async (env: Record<string, string> = {}) => {
  await gate.close();
  gate = await open(env);
};
const typed = typedInFolder(gateCommand, () => folder, OPERATOR_COMMANDS);
const cli = (...args: string[]) =>
  typed(['tools', ...args, '--endpoint', gate.lite.url], { GATE_LITE_DECIDE_TOKEN: TOKEN });
const statusOf = async (tool: string) => (await gate.call(tool, { arguments: { amount: 1_000 } })).status;
const listed = () => gate.send('POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-tools-'));
  tools = await echoTools();
  description = 'Opens an issue.';
  shown = [];
  const { answer } = tools;
  tools.answer = (request): JsonObject | null | Promise<JsonObject | null> =>
    request['method'] === 'tools/list'
      ? {
          jsonrpc: '2.0',
          id: request['id'] ?? null,
          result: {
            tools: ['create_issue', ...shown].map((name) => ({
              name,
              description,
              annotations: { readOnlyHint: true },
            })),
          },
        }
      : answer(request);
  gate = await open();
});
afterEach(async () => {
  await gate.close();
  await gateCommand.stop();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

describe('gate tools, in lite', () => {
  it('lets a tool run from the moment it is classed, also after a restart, and never against another rule', async () => {
    expect(await statusOf('create_issue')).toBe(202);
    expect(await cli('set', 'create_issue', 'change', '--unlisted', '--reason', 'looked at it')).toMatchObject({
      code: 0,
    });
    expect(await statusOf('create_issue')).toBe(200);
    await again();
    expect(await statusOf('create_issue')).toBe(200);
    await cli('set', 'delete_file', 'change', '--unlisted');
    expect(await statusOf('delete_file')).toBe(403);
    await cli('set', 'read_file', 'deny', '--unlisted');
    expect(await statusOf('read_file')).toBe(403);
    await cli('set', 'create_issue', 'strict', '--unlisted');
    expect(await statusOf('create_issue')).toBe(202);
    expect(await cli('forget', 'read_file')).toMatchObject({ code: 0 });
    expect(await cli('forget', 'read_file')).toMatchObject({ code: 4 });
    expect(await statusOf('read_file')).toBe(200);
    const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keysBeside(gate.ledger) });
    const kinds = (await ledger.newest(200)).map(({ event_kind }) => event_kind);
    await ledger.close();
    expect(kinds.filter((kind) => kind === 'tool_class.set')).toHaveLength(4);
    expect(kinds.filter((kind) => kind === 'tool_class.forgotten')).toHaveLength(1);
  }, 60_000);

  it('says so where a rule stops a tool by its name: no class changes that, and none is proposed', async () => {
    shown = ['delete_branch', 'wire_transfer'];
    await listed();
    expect(await cli('set', 'create_issue', 'change')).toMatchObject({
      out: expect.stringContaining('it counts from now on'),
    });
    for (const [tool, words] of [
      ['delete_branch', 'its calls are denied all the same, because of its name: Violation: destructive'],
      ['wire_transfer', 'its calls wait all the same, because of its name: Review: Wire transfers'],
    ] as const) {
      const { code, out } = await cli('set', tool, 'change');
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(words) });
      expect(out).not.toContain('counts from now on');
    }
    expect((await cli()).out).toMatch(
      /delete_branch\s+│ change, denied by a rule.*wire_transfer\s+│ change, waits by a rule/s,
    );
    // What the operator wants is what the rule does.
    expect((await cli('set', 'delete_branch', 'deny')).out).toContain('it counts from now on');
    await cli('forget', 'delete_branch');
    await statusOf('delete_branch');
    expect((await cli()).out).toMatch(/delete_branch\s+│ denied by a rule/);
    expect((await cli('list', '--unclassed')).out).not.toContain('delete_branch');
    expect((await cli('suggest')).out).not.toContain('delete_branch');
  }, 60_000);

  it('refuses a name that no list has shown, with those that may be meant; told to, it takes it', async () => {
    shown = ['create_issues', 'close_issue'];
    const refusal = async (tool: string, ...args: string[]) => cli('set', tool, 'change', ...args);
    expect(await refusal('create_issue')).toMatchObject({
      code: 4,
      out: expect.stringMatching(
        /tool_not_listed: no list of own has shown a tool named create_issue, nor any other: let an agent list .*--unlisted/,
      ),
    });
    await listed();
    expect(await refusal('creat_issue')).toMatchObject({
      code: 4,
      out: expect.stringContaining('did you mean create_issue, create_issues?'),
    });
    const body = { tool: 'creat_issue', class: 'change' };
    expect(await gate.send('POST', '/tools/class', { body, headers: AS_OPERATOR })).toMatchObject({
      status: 404,
      body: { error: 'tool_not_listed', did_you_mean: ['create_issue', 'create_issues'] },
    });
    expect(await statusOf('creat_issue')).toBe(202);
    expect(JSON.parse((await cli('--json')).out)).toMatchObject({
      tools: ['close_issue', 'creat_issue', 'create_issue', 'create_issues'].map((tool) => ({ tool, class: null })),
    });
    // What was called was shown by no list for that.
    expect(await refusal('creat_issue')).toMatchObject({ code: 4 });
    expect(await refusal('creat_issue', '--unlisted')).toMatchObject({ code: 0 });
    // A class that stands is changed without a word.
    expect(await refusal('creat_issue')).toMatchObject({ code: 0 });
    expect(await refusal('create_issue')).toMatchObject({ code: 0 });
  }, 60_000);

  it('lists each tool with its class, who said so, and what it did lately', async () => {
    const long = `read_${'x'.repeat(3_000)}`;
    shown = ['list_files', long];
    await listed();
    await statusOf('create_issue');
    await statusOf('list_files');
    await statusOf('delete_file');
    await cli('set', 'create_issue', 'change');
    const { code, out } = await cli('--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      upstream: 'own',
      tools: [
        {
          tool: 'create_issue',
          class: 'change',
          source: 'operator',
          set_by: 'operator:lite',
          definition_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
          lately: { ran: 0, asked: 1, denied: 0 },
        },
        { tool: 'delete_file', class: null, source: 'none', lately: { denied: 1 } },
        { tool: 'list_files', class: 'read', source: 'name', lately: { ran: 1, asked: 0 } },
        { tool: long },
      ],
    });
    // What the upstream's list does not show waits, whatever the name says.
    expect(await statusOf('find_files')).toBe(202);
    const page = await cli();
    // A long name makes no row wider than the others need.
    expect(Math.max(...page.out.split('\n').map((row) => row.length))).toBeLessThan(250);
    expect(page.out).toContain(`${long.slice(0, 79)}…`);
    expect(page.out).toMatch(/create_issue .*change .*operator:lite/);
    expect(page.out).toMatch(/list_files .*its name reads/);
    expect((await cli('list', '--unclassed')).out).not.toContain('list_files');
  }, 60_000);

  it('counts what ran at this upstream alone, and counts no answer that is an error as ran', async () => {
    await statusOf('list_files');
    const { answer } = tools;
    const answers: [string, JsonObject][] = [
      ['list_unknown', { error: { code: -32_602, message: 'Unknown tool: list_unknown' } }],
      ['list_no_method', { error: { code: -32_601, message: 'Method not found' } }],
      ['list_own_error', { error: { code: -32_050, message: 'not today' } }],
      ['list_says_so', { result: { isError: true, content: [] } }],
      ['list_null_error', { result: { content: [] }, error: null }],
    ];
    tools.answer = (request) => {
      const { name } = (request['params'] ?? {}) as JsonObject;
      const said = answers.find(([tool]) => tool === name)?.[1];
      return said ? { jsonrpc: '2.0', id: request['id'] ?? null, ...said } : answer(request);
    };
    for (const [tool] of answers) expect(await statusOf(tool)).toBe(200);
    const lately = async () => {
      const { tools: listed_ } = JSON.parse((await cli('--json')).out) as { tools: JsonObject[] };
      return Object.fromEntries(listed_.map(({ tool, lately: sums }) => [tool, sums]));
    };
    const none = { ran: 0, asked: 0, denied: 0, failed: 0 };
    const own = {
      list_files: { ...none, ran: 1 },
      list_unknown: { ...none, failed: 1 },
      list_no_method: { ...none, failed: 1 },
      list_own_error: { ...none, failed: 1 },
      list_says_so: { ...none, failed: 1 },
      list_null_error: { ...none, ran: 1 },
    };
    expect(await lately()).toEqual(own);
    await again({ GATE_LITE_UPSTREAM_NAME: 'another' });
    expect(await lately()).toEqual({});
    await statusOf('delete_file');
    await statusOf('list_files');
    expect(await lately()).toEqual({ delete_file: { ...none, denied: 1 }, list_files: { ...none, ran: 1 } });
    await again();
    expect(await lately()).toEqual(own);
  }, 60_000);

  it('suspends a class when the definition changes, until it is confirmed', async () => {
    await listed();
    await cli('set', 'create_issue', 'change');
    await listed();
    expect(await statusOf('create_issue')).toBe(200);
    description = 'Opens an issue and pays for it.';
    await listed();
    const parked = await gate.call('create_issue');
    expect(parked.status).toBe(202);
    expect((await cli()).out).toContain('suspended');
    await again();
    expect(await statusOf('create_issue')).toBe(202);
    // Taking away what the agent was shown does not bring the class back.
    await gate.close();
    editFile(gate.ledger, 'delete from tool_seen_sets');
    gate = await open();
    expect(await statusOf('create_issue')).toBe(202);
    await listed();
    expect(await statusOf('create_issue')).toBe(202);
    await cli('set', 'create_issue', 'change');
    expect(await statusOf('create_issue')).toBe(200);
  }, 60_000);

  it('proposes classes from what ran in observe mode, shows them, and sets them only when told', async () => {
    // A listed name that plainly reads needs no class, so none is proposed for it.
    shown = ['tidy_desk', 'board_snapshot', 'view_and_mark', 'once_only', 'list_files'];
    await again({ GATE_LITE_MODE: 'observe' });
    await listed();
    for (let time = 0; time < 3; time += 1) expect(await statusOf('tidy_desk')).toBe(200);
    expect(await statusOf('sepa_transfer')).toBe(200);
    for (let time = 0; time < 3; time += 1)
      for (const tool of ['board_snapshot', 'view_and_mark', 'in_no_list']) expect(await statusOf(tool)).toBe(200);
    expect(await statusOf('once_only')).toBe(200);
    expect(await statusOf('list_files')).toBe(200);
    const proposed = [
      { tool: 'board_snapshot', class: 'change' },
      { tool: 'in_no_list', class: 'review' },
      { tool: 'once_only', class: 'review' },
      { tool: 'sepa_transfer', class: 'strict' },
      { tool: 'tidy_desk', class: 'change' },
      { tool: 'view_and_mark', class: 'review' },
    ];
    expect(JSON.parse((await cli('suggest', '--json')).out)).toMatchObject({ applied: false, suggestions: proposed });
    await again();
    expect(await statusOf('tidy_desk')).toBe(202);
    const applied = await cli('suggest', '--apply');
    expect(applied.out).toContain('set 6 classes');
    expect([await statusOf('tidy_desk'), await statusOf('board_snapshot'), await statusOf('sepa_transfer')]).toEqual([
      200, 200, 202,
    ]);
    expect((await cli('suggest')).out).toContain('nothing to propose');
  }, 60_000);

  it.each(['a\0b', 'a\ud800b', '__proto__', '\udc00'])(
    'refuses the name %j, which no store or reader keeps as it is, and goes on with the others',
    async (tool) => {
      const post = (path: string, body: JsonObject) => gate.send('POST', path, { body, headers: AS_OPERATOR });
      for (const [path, body] of [
        ['/tools/class', { tool, class: 'read' }],
        ['/tools/forget', { tool }],
        ['/tools/class', { tool: 'create_issue', class: 'read', reason: 'half \ud800' }],
      ] as const) {
        const refused = await post(path, body);
        expect(refused.status).toBe(400);
        expect(refused.body).toMatchObject({ error: 'invalid_request' });
        expect(JSON.stringify(refused.body)).toMatch(/no store keeps|no name of a tool/);
      }
      expect((await cli('list')).code).toBe(0);
      expect((await post('/tools/class', { tool: 'create_issue', class: 'change', unlisted: true })).status).toBe(200);
      expect(await statusOf('create_issue')).toBe(200);
    },
    60_000,
  );

  it('skips, with a line, what it proposes of a name that takes no class', async () => {
    await again({ GATE_LITE_MODE: 'observe' });
    expect([await statusOf('__proto__'), await statusOf('constructor')]).toEqual([200, 200]);
    const applied = await cli('suggest', '--apply');
    expect(applied.out).toContain('skipped __proto__');
    expect(applied.out).toContain('set 1 class\n');
    expect((await cli()).out).toContain('__proto__');
    await again();
    expect([await statusOf('__proto__'), await statusOf('constructor')]).toEqual([202, 202]);
  }, 60_000);

  it('repeats no allow of a person once its tool is classed so that it is denied: repeat and authorization are the same 403', async () => {
    const id = randomUUID();
    const ask = () => gate.call('create_issue', { id, decision: true, arguments: { amount: 1_000 } });
    const { status, body } = await ask();
    expect(status).toBe(202);
    const call = body['correlation_id'] as string;
    const decided = { body: { decision: 'approve' }, headers: AS_OPERATOR };
    expect((await gate.send('POST', `/decide/${call}`, decided)).status).toBe(200);
    expect(await ask()).toMatchObject({ status: 200, body: { decision: 'allow' } });
    await listed();
    expect(await cli('set', 'create_issue', 'deny', '--unlisted')).toMatchObject({ code: 0 });
    const refused = { status: 403, body: { error: 'policy_changed' } };
    expect(await ask()).toMatchObject(refused);
    expect(await gate.send('GET', `/authorizations/${call}`)).toMatchObject(refused);
  });

  it('takes the word of an operator alone', async () => {
    const asked = { tool: 'create_issue', class: 'change' };
    for (const headers of [{}, { authorization: 'Bearer an-agents-own-token-of-some-length' }])
      for (const [method, path, body] of [
        ['GET', '/tools', undefined],
        ['POST', '/tools/class', asked],
        ['POST', '/tools/forget', { all: true }],
      ] as const)
        expect((await gate.send(method, path, { body, headers })).status).toBe(401);
    for (const body of [
      { ...asked, class: 'blessed' },
      { ...asked, set_by: 'me' },
      { tool: '', class: 'change' },
    ])
      expect((await gate.send('POST', '/tools/class', { body, headers: AS_OPERATOR })).status).toBe(400);
    const elsewhere = { ...AS_OPERATOR, 'x-gate-tenant-scope': 'no tenant/at all' };
    expect((await gate.send('POST', '/tools/class', { body: asked, headers: elsewhere })).status).toBe(400);
    expect(await statusOf('create_issue')).toBe(202);
    await gate.close();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_UPSTREAM_NAME: 'own' }, { folder });
    expect((await gate.send('POST', '/tools/class', { body: asked })).status).toBe(401);
    expect(await statusOf('create_issue')).toBe(202);
  });

  describe('where agents of several tenants call', () => {
    const token = (of: string) => `an-agents-own-token-of-some-length-${of}`;
    const AGENTS = { GATE_LITE_AGENTS: `acme/bot:${token('acme')},globex/bot2:${token('globex')}` };
    const status = async (tenant: string) =>
      (await gate.call('create_issue', { headers: { authorization: `Bearer ${token(tenant)}` } })).status;
    const commands = [
      ['list'],
      ['set', 'create_issue', 'change', '--unlisted'],
      ['suggest', '--apply'],
      ['forget', 'create_issue'],
      ['forget', '--all'],
    ];

    it('--tenant says whose tools are meant, in every command; without it the refusal names it, and who there is', async () => {
      await again(AGENTS);
      for (const command of commands)
        expect(await cli(...command)).toMatchObject({
          code: 2,
          out: expect.stringMatching(/tenant_scope_required: .*acme, globex.*gate tools --tenant/),
        });
      expect(await cli('set', 'create_issue', 'change', '--unlisted', '--tenant', 'acme')).toMatchObject({ code: 0 });
      expect([await status('acme'), await status('globex')]).toEqual([200, 202]);
      expect((await cli('list', '--tenant', 'acme')).out).toContain('change');
      const { out } = await cli('--tenant', 'globex');
      expect(out).toContain('not classed');
      expect(out).toMatch(/class one: .* --tenant globex\n/);
      expect((await cli('suggest', '--apply', '--tenant', 'globex')).out).toContain('set 1 class\n');
      expect(await cli('forget', 'create_issue', '--tenant', 'acme')).toMatchObject({ code: 0 });
      expect((await cli('forget', '--all', '--tenant', 'globex')).out).toContain('forgot 1 classes');
      expect([await status('acme'), await status('globex')]).toEqual([202, 202]);
    }, 60_000);

    it('a tenant that no agent is of is refused, and so is one that the token is not of', async () => {
      await again(AGENTS);
      const set = ['set', 'create_issue', 'change', '--unlisted', '--tenant'];
      expect(await cli(...set, 'acmee')).toMatchObject({
        code: 2,
        out: expect.stringContaining('but of acme, globex'),
      });
      expect(await cli(...set, 'no tenant/at all')).toMatchObject({ code: 2 });
      await again({ ...AGENTS, GATE_LITE_DECIDERS: `acme:${TOKEN}` });
      expect(await cli(...set, 'globex')).toMatchObject({
        code: 3,
        out: expect.stringContaining('bound to another tenant: acme'),
      });
      expect(await cli(...set, 'acme')).toMatchObject({ code: 0 });
      expect(await cli('set', 'create_issue', 'change', '--unlisted')).toMatchObject({ code: 0 });
    }, 60_000);
  });

  it('withdraws at its start what a crash left unfinished before the ledger was told, and leaves the rest as it was', async () => {
    await cli('set', 'create_issue', 'change', '--unlisted');
    await gate.close();
    const keys = keysBeside(gate.ledger) as KeyRing;
    const file = await openLocalFile({ file: gate.ledger, migrations: liteMigrations });
    const store = toolClassStoreOver(file.store<ToolClassTables>(), keys);
    const [{ tenant, upstream }] = (await store.places()) as [{ tenant: string; upstream: string }];
    const set = await store.read(tenant, upstream);
    const said = {
      class: 'deny' as const,
      definition_sha256: null,
      reason: null,
      set_by: 'operator:lite',
      set_at: 'now',
    };
    const unfinished = { row: randomUUID(), tool: 'create_issue', said };
    expect(await store.replace(tenant, upstream, set.found, { ...set, unfinished })).toBe(true);
    await file.close();
    gate = await open();
    const ledger = openLedgerReadOnly(gate.ledger, { sidecarKeys: keys });
    const [row] = (await ledger.newest(200)).filter(({ event_kind: kind }) => kind === 'tool_class.withdrawn');
    await ledger.close();
    expect(row).toMatchObject({ policy_decision: { withdrawn: unfinished.row, tool: 'create_issue', generation: 2 } });
    expect(await statusOf('create_issue')).toBe(200);
  }, 60_000);

  it('lets every tool wait where the classes were changed behind its back', async () => {
    await cli('set', 'create_issue', 'change', '--unlisted');
    await gate.close();
    editFile(gate.ledger, `update tool_classes set content = '{}'`);
    gate = await open();
    expect([await statusOf('create_issue'), await statusOf('list_files')]).toEqual([202, 202]);
    expect(await cli('set', 'create_issue', 'change', '--unlisted')).toMatchObject({
      code: expect.any(Number),
      out: expect.stringContaining('tool_classes_unreadable'),
    });
    expect(await cli('forget', '--all')).toMatchObject({ code: 0 });
    expect([await statusOf('create_issue'), await statusOf('list_files')]).toEqual([202, 200]);
  }, 60_000);
});
