import { beforeAll, describe, expect, it } from '@jest/globals';
import { growthFault } from '../../test/support/expressions.js';
import { RuleVerdicts } from '../../test/support/rule-verdicts.js';
import { readActs } from './read-acts.js';

let rules: RuleVerdicts;
beforeAll(async () => {
  rules = await RuleVerdicts.about('ask for more than a read');
});

type Call = readonly [tool: string, args: object];
const ACTING: readonly Call[] = [
  ['get_resource', { url: 'https://api/x', method: 'DELETE', body: '{}' }],
  ['get_page', { url: 'https://api/x', request: { http_method: 'post' } }],
  ['list_endpoints', { options: JSON.stringify({ Method: 'PUT' }) }],
  ['search_index', { method: 'POST', path: '/users/_delete_by_query' }],
  ['search_index', { path: '/users/_update_by_query' }],
  ['get_page', { request: 'DELETE https://api.example.com/users/1' }],
  ['get_page', { request: ' post\thttps://api.example.com/users' }],
  ['get_page', { raw: 'PUT /users/1 HTTP/1.1\r\nHost: api.example.com' }],
  ['find', { pipeline: [{ $match: {} }, { $out: 'users' }] }],
  ['find_documents', { pipeline: [{ $match: {} }, { $merge: { into: 'users' } }] }],
  ['get_documents', { filter: { a: { $where: 'function(){while(1);}' } } }],
  ['search', { command: { dropDatabase: 1 } }],
  ['search', { query: 'mutation{deleteUser(id:1){id}}' }],
  ['search', { query: '\n mutation Remove($id: ID!) { deleteUser(id: $id) { id } }' }],
  ['kubectl_get', { args: ['delete', 'pod', 'x'] }],
  ['kubectl_get', { args: ['-n', 'prod', 'delete', 'pod', 'x'] }],
  ['list_files', { action: 'delete', path: 'a' }],
  ['list_files', { op: 'removeAll' }],
  ['list_files', { operation: 'drop_table' }],
  ['git_show', { args: ['--output=/home/u/.ssh/authorized_keys'] }],
  ['git_show', { args: ['HEAD', '--output', '../x'] }],
  ['git_show', { args: 'HEAD --output=~/x' }],
  ['search', { query: '#\nmutation{deleteUser(id:1){id}}' }],
  ['search', { query: 'query A{a} mutation B{deleteUser(id:1){id}}', operationName: 'B' }],
  ['search', { query: 'query A { a(x: "}#{") } # { \n,,mutation #x\n B,{ b }' }],
  ['search', { query: 'fragment F on Q { a(x: """ " { """) } mutation($id: ID!) @x { b }' }],
  ['search', { query: '{ a(x: """ \\\\""" " """) } mutation B { b }' }],
  ['search', { query: ['mutation B', '{ deleteUser(id: 1) { id } }'] }],
  ['git_show', { ref: `${'x '.repeat(300)} --output=/x` }],
  ['kubectl_get', { args: 'delete pod x' }],
  ['kubectl_get', { args: '-n prod delete pod x' }],
  ['kubectl_get', { args: ['drain', 'node1'] }],
  ['kubectl_get', { args: ['scale', 'deploy/x', '--replicas=0'] }],
  ['get_user', { command: 'terminate' }],
  ['list_users', { action: 'deactivate' }],
  ['list_users', { action: 'suspendUser' }],
  ['git_show', { ref: '--output=/home/u/.ssh/authorized_keys' }],
  ['git_show', { ref: 'HEAD --output=hooks' }],
  ['git_show', { args: ['--outp=/home/u/x'] }],
  ['git_show', { args: ['--o', 'hooks'] }],
  ['git_show', { args: ['--output=hooks'] }],
  ['git_show', { args: ['-o', '/etc/x'] }],
  ['git_show', { args: ['-o../x'] }],
  ['get_page', { url: 'x', headers: { 'X-HTTP-Method-Override': 'DELETE' } }],
  ['get_page', { url: 'x', headers: [{ name: 'x-http-method', value: 'DELETE' }] }],
  ['get_page', { url: 'x', headers: ['X-Method-Override: put'] }],
  ['get_page', { url: 'https://a.example/u/1?a=b&_method=delete' }],
  ['find', { findAndModify: 'users', remove: true }],
  ['find', { filter: {}, update: { $set: { a: 1 } } }],
  ['find', { filter: {}, update: { a: 1 } }],
  ['find', { filter: {}, update: [{ $unset: 'a' }] }],
  ['find', { query: {}, replacement: JSON.stringify({ a: 1 }) }],
  ['get_user', { id: 1, delete: true }],
  ['get_user', { id: 1, deleteUser: 'true' }],
  ['get_user', { id: 1, options: { purge: 1 } }],
  // However the name of an argument is written, and whatever stands before the deed.
  ['kubectl_get', { params: ['delete', 'pod', 'x'] }],
  ['kubectl_get', { extra_args: ['delete', 'pod', 'x'] }],
  ['kubectl_get', { 'Extra-Args': 'delete pod x' }],
  ['kubectl_get', { opts: ['delete', 'pod', 'x'] }],
  ['kubectl_get', { parameters: '-n prod delete pod x' }],
  ['kubectl_get', { commandArgs: ['-n', 'prod', '--context', 'x', '-v', '5', 'delete', 'pod'] }],
  ['kubectl_get', { args: [`${' '.repeat(300)}delete`, 'pod'] }],
  ['get_user', { subcommand: 'delete', id: 7 }],
  ['get_user', { sub_command: 'delete', id: 7 }],
  ['get_user', { 'sub-command': 'delete', id: 7 }],
  ['get_user', { operation_type: 'delete', id: 7 }],
  ['get_user', { actionType: `${' '.repeat(300)}delete`, id: 7 }],
  ['get_user', { action: 'deleteTheUserAndWhateverBelongsToThem' }],
  ['get_user', { id: 1, delete_the_user_and_whatever_belongs_to_them: true }],
  ['git_show', { extra_args: ['HEAD', '--output', 'hooks'] }],
  ['get_page', { url: 'x', headers: [`${' '.repeat(300)}X-Method-Override: put`] }],
  // What state a thing is to have, and deeds behind words that urge them.
  ['get_server', { id: 7, power: 'off' }],
  ['get_server', { id: 7, options: { power: false } }],
  ['list_servers', { ids: [7], power: 'off' }],
  ['get_server', { id: 7, power_state: 'off' }],
  ['get_server', { id: 7, desiredState: 'stopped' }],
  ['get_server', { id: 7, force_restart: true }],
  ['get_server', { id: 7, 'do-delete': true }],
  ['get_server', { id: 7, forceShutdownNow: 'true', hardReboot: true }],
  ['find_files', { expression: '-name x -delete' }],
  ['search_files', { args: ['-delete'] }],
  ['search_files', { args: ['.', '-exec', 'rm', '{}', ';'] }],
  ['search_files', { query: 'x -exec rm {} ;' }],
  ['search_files', { query: '. -name x -delete' }],
  ['search_files', { pattern: '*.log -execdir rm {} +' }],
  ['find_files', { extra: '-type f -fprintf /etc/x %p' }],
  ['get_item', { delete: { all: true } }],
  ['get_item', { options: { force_purge: { ids: [1] } } }],
  ['get_item', { actions: [{ type: 'delete' }] }],
  ['get_item', { operations: [{ id: 1, kind: 'deleteUser' }] }],
  ['get_item', { mode: 'purge' }],
  ['get_item', { mode: 'force_delete' }],
  ['search_nodes', { query: 'MATCH (n) DETACH DELETE n' }],
  ['search_nodes', { query: 'MATCH (n:User) SET n.admin = true' }],
  ['search_nodes', { q: 'MERGE (n:User {id: 7}) RETURN n' }],
];
const READING: readonly Call[] = [
  ['get_page', { request: 'GET https://api.example.com/users/1' }],
  ['search_docs', { query: 'DELETE https://api.example.com/users/1' }],
  ['get_page', { path: 'delete /users' }],
  ['get_resource', { url: 'https://api/x', method: 'GET' }],
  ['get_resource', { url: 'https://api/x', method: 'head' }],
  ['search', { method: 'fuzzy', query: 'how do I delete a user?' }],
  ['search', { query: 'mutation of a gene' }],
  ['search', { query: 'POST requests with $out of range' }],
  ['find_documents', { filter: { age: { $gt: 5 }, name: { $in: ['a'] } }, pipeline: [{ $match: {} }, { $group: {} }] }],
  ['kubectl_get', { args: ['pods', '-n', 'prod', '--output=json'] }],
  ['kubectl_get', { args: ['get', 'pods', '--output', 'wide'], output: 'yaml' }],
  ['git_show', { args: ['HEAD', '--stat'] }],
  ['git_show', { args: ['HEAD:out/index.ts'] }],
  ['list_events', { action: 'created', limit: 5 }],
  ['list_events', { operation: 'index', op: 'eq' }],
  ['list_files', { command: 'ls', args: ['-la'] }],
  ['list_files', { tags: ['delete', 'update'], note: 'delete the old one' }],
  ['get_methods', { methods: ['DELETE', 'POST'] }],
  ['list_issues', { body: 'a method: DELETE', labels: ['drop'] }],
  ['search_logs', { method: 'POST' }],
  ['search_logs', { method: 'POST', path: '/users', limit: 5 }],
  ['list_audit_logs', { action: 'delete' }],
  ['listAuditEvents', { action: 'deactivate', user: 'ada' }],
  ['get_activity', { operation: 'remove' }],
  ['search', { filter: { method: 'DELETE' } }],
  ['search', { filters: [{ action: 'delete', method: 'PUT' }] }],
  ['find_documents', { filter: { delete: true }, projection: { update: true } }],
  ['find_documents', { pipeline: [{ $set: { a: 1 } }, { $unset: 'b' }, { $group: { _id: 1, all: { $push: '$x' } } }] }],
  ['get_user', { id: 1, delete: false, include_deleted: true, index: true, copy: true, updated: true }],
  ['list_items', { start: 1, stop: 1, scale: 1, close: 1, options: { start: 1, limit: 5 } }],
  ['get_package', { version: { major: 1, minor: 1, patch: 1 } }],
  ['search', { query: '{ schema { mutation { name } } }' }],
  ['search', { query: '{ a(x: "mutation { b }") { c } } # mutation { b }' }],
  ['search', { query: 'a mutation of the gene { BRCA1 }' }],
  ['search', { query: 'how does git show --output=file work?' }],
  ['kubectl_get', { args: ['pods', '-o', 'json'] }],
  ['kubectl_get', { args: ['pods', '-o', 'jsonpath={.items[0]}', '--output-format', 'x'] }],
  ['kubectl_get', { args: 'pods --output=custom-columns=NAME:.metadata.name' }],
  ['git_show', { args: ['--oneline', '--only-x', '--order', 'date', '--output-indicator-new=+'] }],
  ['git_show', { ref: 'origin/output', path: 'out/x.ts' }],
  ['get_page', { url: 'https://a.example/?method=delete', headers: { accept: 'text/html' } }],
  ['get_resource', { url: 'https://a.example', headers: { 'X-HTTP-Method-Override': 'GET' } }],
  ['get_user', { params: { id: 7, verbose: true }, opts: ['--json'], operation_type: 'read' }],
  ['kubectl_get', { extra_args: ['-n', 'prod', 'get', 'pods', '-l', 'app=delete'] }],
  ['get_object', { mode: 'delete_marker' }],
  ['get_object', { mode: 'append', delete_marker: { is_latest: true }, drop_shadow: { x: 1 } }],
  ['search_files', { query: 'delete' }],
  ['search_files', { query: 'report -delete' }],
  ['search_files', { pattern: '-exec' }],
  ['search_docs', { query: 'how does find . -name x -exec rm {} ; work?' }],
  ['find_files', { expression: '-name pre-delete -type f' }],
  ['list_rules', { actions: [{ type: 'notify' }], types: [{ type: 'delete' }] }],
  ['find_documents', { filter: { delete: { $exists: true } }, sort: '-delete' }],
  ['list_servers', { power_state: 'off', limit: 5 }],
  ['list_servers', { filter: { power: 'off' } }],
  ['get_lens', { power: 2.5, unit: 'dpt' }],
  ['get_item', { power: '5 W', state: 'closed', status: 'off', force: true, auto: true }],
  ['get_server', { force_refresh: true, target_state: 'any' }],
  ['search_nodes', { query: 'MATCH (n:User) WHERE n.set = 1 RETURN n' }],
  ['search_docs', { query: 'MATCH (n) DETACH DELETE n' }],
  ['find_issues', { q: 'MATCH (n:User) SET n.admin = true' }],
  ['search_docs', { query: 'how do I match (and delete) rows, and set a limit?' }],
  ['get_rows', { parameters: [7, 'a name', '2026-01-01'], options: 'sort by name' }],
];

describe('a tool that plainly reads, and arguments that act', () => {
  it('wait', () => {
    for (const [tool, args] of ACTING) expect([tool, args, rules.of(tool, args)]).toEqual([tool, args, 'yellow']);
  });

  it('run where the arguments read', () => {
    for (const [tool, args] of READING) expect([tool, args, rules.of(tool, args)]).toEqual([tool, args, 'green']);
  });

  it('run once an operator has classed the tool, whatever a caller says of its own arguments', () => {
    const classed = { tool_classes: { get_page: { class: 'change' } } };
    expect(rules.judge('get_page', { method: 'POST' }, classed).tier).toBe('green');
    expect(rules.judge('get_page', { method: 'POST' }, { acts: [] }).tier).toBe('yellow');
    expect(rules.judge('get_page', { method: 'GET' }, { acts: ['an action'] }).tier).toBe('green');
  });

  it.each([
    'mutation ',
    'mutation{',
    '{mutation',
    'mutation#',
    '--o ',
    '?_method=',
    '--output ',
    ' ',
    '-exec ',
    '-delete',
    'aB',
    '_by_query',
    '[',
  ])('%j, repeated, costs what its length costs', (unit) => {
    const reading = (length: number) => {
      const text = unit.repeat(length);
      const args = { args: text, action: text, q: text, list: { args: Array.from({ length }, () => unit) } };
      return () => void readActs(args, 'get_x');
    };
    expect(growthFault(reading, 8_000)).toBeNull();
  });
});
