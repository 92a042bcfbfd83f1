import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { echoTools, type EchoTools, liteFolder, type LiteFixture, openLite } from '../support/lite.js';

let folder: string;
let tools: EchoTools;
let gate: LiteFixture;
beforeAll(async () => {
  folder = await liteFolder();
  tools = await echoTools();
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url }, { folder });
});
beforeEach(() => void tools.executed.splice(0));
afterAll(async () => {
  await gate.close();
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

const REFUSED: readonly (readonly [what: string, tool: string, args: JsonObject, status: 202 | 403])[] = [
  ['a command whose arguments are in another member', 'list_files', { command: 'rm', args: ['-rf', '/'] }, 403],
  ['a command with a path beside its arguments', 'list_files', { command: 'rm', args: ['-rf'], path: '/' }, 403],
  ['a command in flags and a path', 'list_files', { command: 'rm', flags: '-rf', path: '/' }, 403],
  ['a command in numbered members, last first', 'list_files', { a2: '/', a1: '-rf', a0: 'rm' }, 403],
  ['a command whose program is in an object', 'list_files', { command: { program: 'rm' }, args: ['-rf', '/'] }, 403],
  [
    'a command in a list of objects',
    'list_files',
    { x: ['rm', '-rf', '/'].map((value) => ({ type: 'text', value })) },
    403,
  ],
  ['a command whose arguments have names', 'list_files', { command: 'dd', if: '/dev/zero', of: '/dev/sda' }, 202],
  ['a statement in two members', 'search', { first: 'DROP TABLE', second: 'users' }, 202],
  ['a statement in numbered members, last first', 'search', { a2: 'users', a1: 'DROP TABLE' }, 202],
  ['a statement in members with letters, last first', 'search', { b: 'users', a: 'DROP TABLE' }, 202],
  ['a command in a list with a number', 'list_files', { argv: ['rm', '-rf', '/', 7] }, 403],
  ['a statement in a list with a number', 'search', { q: ['DROP', 'TABLE', 1] }, 202],
  [
    'a command in JSON that is long',
    'list_files',
    { cmd: JSON.stringify({ c: ['rm', '-rf', '/'], p: 'x'.repeat(70_000) }) },
    403,
  ],
  ['a method that changes, of a tool that reads', 'get_page', { url: 'https://a.example', method: 'DELETE' }, 202],
  ['a mutation behind a comment', 'search', { query: '#\nmutation{deleteUser(id:1){id}}' }, 202],
  ['an action as the text of arguments', 'kubectl_get', { args: 'delete pod x' }, 202],
  ['an option in the name of a version', 'git_show', { ref: '--output=/home/u/.ssh/authorized_keys' }, 202],
  ['an option cut short', 'git_show', { args: ['--outp=/home/u/x'] }, 202],
  [
    'a method that a header says',
    'get_page',
    { url: 'https://a.example', headers: { 'X-HTTP-Method-Override': 'DELETE' } },
    202,
  ],
  ['an update beside a filter', 'find', { filter: {}, update: { $set: { a: 1 } } }, 202],
  ['a deed that is switched on', 'get_user', { id: 1, delete: true }, 202],
  ['a command that another one runs', 'list_files', { cmd: 'pkexec rm -rf /home/x' }, 202],
  ['a comment that TiDB runs', 'query', { sql: 'select 1 /*T! ,pay(1) */' }, 202],
  ['a comment that MySQL runs', 'query', { sql: 'select /*!50000 pay(1000), */ 1' }, 202],
];
const SENT: readonly (readonly [what: string, tool: string, args: JsonObject])[] = [
  ['a command that looks', 'list_files', { command: 'ls', args: ['-la', '/etc'] }],
  ['a method that reads', 'get_page', { url: 'https://a.example', method: 'GET' }],
  ['a method that is searched for', 'search_logs', { method: 'POST' }],
  ['an action that is searched for', 'list_audit_logs', { action: 'delete' }],
  ['a filter', 'search', { filter: { method: 'DELETE' } }],
  ['members of a search', 'search', { pattern: 'rm', path: '/src', verbs: ['update', 'set', 'kill'] }],
];

describe('the channel of a decision', () => {
  it.each(['\u202elite-page', 'lite-page', 'Lite Page', 'ｌｉｔｅ-page', 'a\nb', '', 'cha\u200bt'])(
    'is none that looks like another one: %j',
    async (decided_via) => {
      const { body } = await gate.call('wire_transfer', { arguments: { amount: 1 } });
      const path = `/decide/${body['pending_id'] as string}`;
      const refused = await gate.send('POST', path, { body: { decision: 'deny', decided_via } });
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_request']);
      const said = await gate.send('POST', path, { body: { decision: 'deny', decided_via: 'chat' } });
      expect(said.status).toBe(200);
    },
  );
});

describe('what the arguments of a call hold together', () => {
  it.each(REFUSED)('is not sent: %s', async (_what, tool, args, status) => {
    expect((await gate.call(tool, { arguments: args })).status).toBe(status);
    expect(tools.executed).toEqual([]);
  });

  it('is not sent under another spelling of a denied name', async () => {
    const said = { tool: 'get_user', class: 'deny', unlisted: true };
    const { authorization } = { authorization: `Bearer ${gate.lite.ownDecideToken?.token ?? ''}` };
    expect((await gate.send('POST', '/tools/class', { body: said, headers: { authorization } })).status).toBe(200);
    for (const tool of ['get_user', 'GET_USER', 'get-user', 'getUser', 'x/get_user'])
      expect([tool, (await gate.call(tool)).status]).toEqual([tool, 403]);
    expect(tools.executed).toEqual([]);
    expect((await gate.call('get_users')).status).toBe(200);
  });

  it.each(SENT)('is sent where it is ordinary: %s', async (_what, tool, args) => {
    expect((await gate.call(tool, { arguments: args })).status).toBe(200);
    expect(tools.executed).toHaveLength(1);
  });
});
