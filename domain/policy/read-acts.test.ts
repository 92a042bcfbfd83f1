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
];
const READING: readonly Call[] = [
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

  it.each(['mutation ', '--output ', ' ', 'aB', '_by_query', '['])(
    '%j, repeated, costs what its length costs',
    (unit) => {
      const reading = (length: number) => {
        const text = unit.repeat(length);
        const args = { args: text, action: text, q: text, list: { args: Array.from({ length }, () => unit) } };
        return () => void readActs(args);
      };
      expect(growthFault(reading, 8_000)).toBeNull();
    },
  );
});
