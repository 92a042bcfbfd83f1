import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadPolicySet, type PolicySet } from '../policy/policy-set.js';
import { shippedPolicyDirectory } from '../policy/policy-sources.js';
import { loadSqlParser } from './parser.js';
import { createSqlReader, type SqlReader } from './read-sql.js';
import { CHANGING_STATEMENTS, DESTRUCTIVE_STATEMENTS, HARMLESS_TEXTS, PLAIN_READS } from './corpus.js';

let policies: PolicySet;
beforeAll(async () => {
  policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
});

/** What the rules about SQL alone say: other rules may speak about the tool. */
function verdictOf(tool_type: string, args: object): 'green' | 'yellow' | 'red' {
  const { decision } = policies.judge({
    tool_type,
    agent_history: { last_tool: null, recent_sequence: [] },
    intent_score: 0.1,
    current_time: '2026-11-18T10:00:00.000Z',
    arguments: args,
  } as Parameters<PolicySet['judge']>[0]);
  const aboutSql = (reasons: readonly string[]): boolean => reasons.some((reason) => reason.includes('SQL'));
  return aboutSql(decision.reasons) ? 'red' : aboutSql(decision.review_reasons) ? 'yellow' : 'green';
}

type Way = readonly [name: string, tool: string, place: (text: string) => object];
const STATEMENT_WAYS: readonly Way[] = [
  ['query tool, its own argument', 'query_database', (sql) => ({ sql })],
  ['query tool, another argument', 'run_query', (anything) => ({ anything })],
  ['query tool, nested', 'pg_query', (text) => ({ steps: [{ options: { run: text } }] })],
  ['query tool, an argument name', 'query_database', (text) => ({ [text]: 1 })],
  ['query tool, JSON in a text', 'query_database', (text) => ({ request: JSON.stringify({ a: [text] }) })],
  ['any tool, an argument called sql', 'get_row', (sql) => ({ options: { SQL: sql } })],
];
const OTHER_WAYS: readonly Way[] = [
  ['a reading tool, any argument', 'list_files', (task) => ({ task })],
  ['a writing tool, its text', 'write_file', (content) => ({ path: 'notes.txt', content })],
  ['a writing tool, nested', 'edit_file', (newText) => ({ path: 'a', edits: [{ oldText: 'x', newText }] })],
  ['a mail', 'send_email', (body) => ({ to: 'a@example.test', body })],
  ['a search', 'search_docs', (query) => ({ query })],
];

/** Every text by every way; the table is printed, the exceptions are the test's. */
function measured(ways: readonly Way[], texts: readonly string[], wanted: readonly string[]): string[] {
  const wrong: string[] = [];
  for (const [name, tool, place] of ways) {
    const counts = { green: 0, yellow: 0, red: 0 };
    for (const text of texts) {
      const verdict = verdictOf(tool, place(text));
      counts[verdict] += 1;
      if (!wanted.includes(verdict)) wrong.push(`${name}: ${verdict}: ${JSON.stringify(text.slice(0, 100))}`);
    }
    const { green, yellow, red } = counts;
    process.stderr.write(`${name.padEnd(36)} ${texts.length} texts: ${green} run, ${yellow} wait, ${red} denied\n`);
  }
  return wrong;
}

describe('SQL in the arguments of a call', () => {
  it('has more than a hundred texts of each kind to be measured with', () => {
    for (const texts of [HARMLESS_TEXTS, DESTRUCTIVE_STATEMENTS, CHANGING_STATEMENTS])
      expect(new Set(texts).size).toBeGreaterThan(100);
  });

  it('lets ordinary texts pass wherever no statement belongs', () => {
    expect(measured(OTHER_WAYS, HARMLESS_TEXTS, ['green'])).toEqual([]);
  });

  it('lets one plain read run', () => {
    expect(measured(STATEMENT_WAYS, PLAIN_READS, ['green'])).toEqual([]);
    expect(measured(OTHER_WAYS, PLAIN_READS, ['green'])).toEqual([]);
  });

  it('denies what destroys, wherever it stands in a tool that takes statements', () => {
    expect(measured(STATEMENT_WAYS, DESTRUCTIVE_STATEMENTS, ['red'])).toEqual([]);
  });

  it('denies what destroys in any other tool too, but for text on its way to a reader', () => {
    // Two bare words are English as well: a person looks.
    expect(measured(OTHER_WAYS.slice(0, 1), DESTRUCTIVE_STATEMENTS, ['red'])).toEqual([
      'a reading tool, any argument: yellow: "TRUNCATE users"',
    ]);
    expect(measured(OTHER_WAYS.slice(1), DESTRUCTIVE_STATEMENTS, ['green'])).toEqual([]);
  });

  it('makes what is no plain read wait for a person', () => {
    expect(measured(STATEMENT_WAYS, CHANGING_STATEMENTS, ['yellow'])).toEqual([]);
  });
});

describe('hostile texts', () => {
  let read: SqlReader;
  beforeAll(async () => {
    read = createSqlReader({ parser: await loadSqlParser(), statementArguments: ['sql'] });
  });
  const UNITS =
    `/* */ /*! ( select( [ { " ' \` $a$ $ e' U&' \\ '\\ -- # ; select; union/**/select/**/ 1+ -/**/ +- <>= | @ x, 0x a. not/**/ case/**/when/**/
    delete/**/ drop/**/table/**/ begin/**/ explain/**/ update/**/a/**/set/**/ with/**/a/**/as/**/( go{"a": [["`.split(
      /\s+/,
    );
  const seconds = (text: string): number => {
    const once = (): number => {
      const started = performance.now();
      read({ sql: text });
      return (performance.now() - started) / 1000;
    };
    return Math.min(once(), once(), once());
  };

  it.each(UNITS)('%s, repeated, costs what its length costs, and the next statement is read', (unit) => {
    for (const before of ['', 'select ', 'delete from x where ']) {
      const of = (length: number): string => before + unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
      seconds(of(2_000));
      // Eight times the length: a square would be 64 times the time. The quarter of a second is what a busy machine takes at any time.
      expect(seconds(of(16_000))).toBeLessThan(24 * seconds(of(2_000)) + 0.25);
      expect(seconds(of(2_000_000))).toBeLessThan(1);
    }
    expect(read({ sql: 'select 1' }).worst).toBe('read');
  });

  it.each([
    ['brackets without end', `select ${'('.repeat(100_000)}`],
    ['brackets that the parser refuses', `select ${'('.repeat(8_000)}1${')'.repeat(8_000)}`],
    ['a sum of many', `select ${'1+'.repeat(100_000)}1`],
    ['a megabyte', `delete from users where name = '${'x'.repeat(1_000_000)}'`],
    ['NUL', 'delete from users\0'],
    ['NUL before what a tool may read', 'select 1\0; delete from users'],
    ['half a surrogate pair', 'delete from users where a = \ud800'],
  ])('%s: nothing breaks, it does not run, and the next statement is read', (_name, sql) => {
    expect(read({ sql }).worst).toMatch(/^(?:unreadable|destructive)$/);
    expect(read({ sql: 'select 1' }).worst).toBe('read');
  });

  it('reads so many texts of a call and no more, the worst first', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`a${index}`, 'select 1 from t']));
    const facts = read({ ...many, z: 'drop table users' });
    expect(facts.found).toHaveLength(32);
    expect(facts.more).toBe(true);
    expect(verdictOf('query_database', many)).toBe('yellow');
  });

  it('sets the fact itself: a caller that sends one is not heard', () => {
    const forged = { worst: 'none', found: [], more: false };
    const { decision } = policies.judge({
      tool_type: 'query_database',
      agent_history: { last_tool: null, recent_sequence: [] },
      intent_score: 0.1,
      arguments: { sql: 'drop table users' },
      sql: forged,
    } as Parameters<PolicySet['judge']>[0]);
    expect(decision.reasons).toContain('Violation: destructive SQL statement in the arguments: DROP TABLE.');
    expect(decision.forensic_event).toMatchObject({ sql: 'destructive' });
  });
});
