import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadSqlParser } from '../../adapters/sql/parser.js';
import { createSqlReader, type SqlReader } from './read-sql.js';
import {
  CHANGING_STATEMENTS,
  DESTRUCTIVE_STATEMENTS,
  DIALECT_STATEMENTS,
  DISGUISED_STATEMENTS,
  HARMLESS_TEXTS,
  PLAIN_READS,
} from '../../test/vectors/sql-corpus.js';
import { growthFault } from '../../test/support/expressions.js';
import { RuleVerdicts, type Way } from '../../test/support/rule-verdicts.js';
import { pairsOf } from '../../test/support/some-of.js';

let rules: RuleVerdicts;
beforeAll(async () => {
  rules = await RuleVerdicts.about('SQL');
});

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

/** Arguments whose names are in no list. */
const UNNAMED_WAYS: readonly Way[] = [
  ['a reading tool, its path', 'read_file', (path) => ({ path })],
  ['a search, its short name', 'search', (q) => ({ q })],
  ['a search, its filter', 'search', (filter) => ({ filter })],
  ['a reader of rows, its condition', 'get_rows', (where) => ({ where })],
];
/** Arguments that contain only statements. */
const STATEMENT_ONLY_WAYS: readonly Way[] = [
  ['query tool, sql', 'query_database', (sql) => ({ sql })],
  ['query tool, query', 'query_database', (query) => ({ query })],
  ['query tool, query in parts', 'query_database', (text) => ({ query: { text } })],
  ['any tool, sql', 'get_row', (sql) => ({ sql })],
  ...['q', 'text', 'filter', 'anything'].map(
    (name): Way => [`tool of a database, ${name}`, 'postgres_query', (text) => ({ [name]: text })],
  ),
];

describe('SQL in the arguments of a call', () => {
  it('has more than a hundred texts of each kind to be measured with', () => {
    for (const texts of [HARMLESS_TEXTS, DESTRUCTIVE_STATEMENTS, CHANGING_STATEMENTS])
      expect(new Set(texts).size).toBeGreaterThan(100);
  });

  it('lets ordinary texts pass wherever no statement belongs', () => {
    expect(rules.measured(OTHER_WAYS, HARMLESS_TEXTS, ['green'])).toEqual([]);
  });

  it('lets one plain read run', () => {
    expect(rules.measured(STATEMENT_WAYS, PLAIN_READS, ['green'])).toEqual([]);
    expect(rules.measured(OTHER_WAYS, PLAIN_READS, ['green'])).toEqual([]);
  });

  it('denies what destroys, wherever it stands in a tool that takes statements', () => {
    expect(rules.measured(STATEMENT_WAYS, DESTRUCTIVE_STATEMENTS, ['red'])).toEqual([]);
  });

  it('denies what destroys in any other tool too, but for text on its way to a reader', () => {
    // Two bare words can be English too, so a person decides.
    expect(rules.measured(OTHER_WAYS.slice(0, 1), DESTRUCTIVE_STATEMENTS, ['red'])).toEqual([
      'a reading tool, any argument: yellow: "TRUNCATE users"',
    ]);
    expect(rules.measured(OTHER_WAYS.slice(1), DESTRUCTIVE_STATEMENTS, ['green'])).toEqual([]);
  });

  it('denies or makes wait what is written to pass for prose, in arguments of any name', () => {
    expect(rules.measured(UNNAMED_WAYS, DISGUISED_STATEMENTS, ['yellow', 'red'])).toEqual([]);
    expect(rules.measured(UNNAMED_WAYS, HARMLESS_TEXTS, ['green'])).toEqual([]);
    expect(rules.measured(STATEMENT_WAYS, DISGUISED_STATEMENTS, ['yellow', 'red'])).toEqual([]);
  });

  it('makes what no grammar here knows wait where nothing but statements stand', () => {
    expect(rules.measured(STATEMENT_ONLY_WAYS, DIALECT_STATEMENTS, ['yellow'])).toEqual([]);
    expect(rules.measured(STATEMENT_ONLY_WAYS, PLAIN_READS, ['green'])).toEqual([]);
    for (const args of [{ q: 'select 1', sort: 'desc' }, { table: 'users', format: 'table' }, { q: 'active users' }])
      expect({ args, verdict: rules.of('postgres_query', args) }).toEqual({ args, verdict: 'green' });
  });

  it.each<[string, object]>([
    ['a comment in front', { q: `/*${'x'.repeat(70_000)}*/ DELETE FROM users` }],
    ['blanks in front', { q: `${' '.repeat(66_000)}DROP TABLE users` }],
    [
      'a comment in front, and another argument of padding',
      { q: '/* x */ DELETE FROM users', z: 'x y '.repeat(16_380) },
    ],
    ['the same, the padding first', { a: 'x y '.repeat(16_380), q: `${' '.repeat(20)}DELETE FROM users` }],
    [
      'padding in many arguments',
      { many: Array.from({ length: 70 }, () => 'x y '.repeat(250)), q: '(DELETE FROM users' },
    ],
    ['words in front', { q: `${'x y '.repeat(20_000)} DELETE FROM users` }],
    ['a number that ends where the word begins', { q: `${'x y '.repeat(20_000)} 1DELETE FROM users` }],
    ['a letter as JSON writes it', { q: `{"pad": "${'x y '.repeat(20_000)}", "sql": "\\u0044ROP TABLE users"}` }],
    ['letters of double width', { q: `${'x y '.repeat(20_000)} ＤＲＯＰ TABLE users` }],
    ['what nobody sees', { q: `${'x y '.repeat(20_000)} dr\u200bop TABLE users` }],
    ['an argument name', { [`${'x y '.repeat(20_000)} DROP TABLE users`]: 1 }],
    ['no head at all', { q: `${'1 '.repeat(40_000)} abc` }],
  ])('waits for a person where a statement may stand beyond what is read: %s', (_name, args) => {
    for (const tool of ['list_files', 'postgres_query', 'query_database'])
      expect(rules.of(tool, args)).toMatch(/^(?:yellow|red)$/);
  });

  it.each(['\u200b', '\u00ad', '\ufe0f', '\u034f', '\u115f', '\u2065', '\u206f', '\u3164', '\ufff9', '\u{e0041}'])(
    'waits for a person where %j, which nobody sees, stands in a word of a statement',
    (unseen) => {
      for (const tool of ['list_files', 'postgres_query', 'query_database'])
        expect([tool, rules.of(tool, { q: `DR${unseen}OP TABLE users` })]).toEqual([
          tool,
          rules.of(tool, { q: 'DROP TABLE users' }),
        ]);
    },
  );

  it('lets a long text run that can hold no statement', () => {
    for (const text of ['lorem ipsum dolor, '.repeat(10_000), 'x'.repeat(1_000_000), '1 '.repeat(100_000)])
      expect(rules.of('list_files', { task: text })).toBe('green');
  });

  it('makes what is no plain read wait for a person', () => {
    expect(rules.measured(STATEMENT_WAYS, CHANGING_STATEMENTS, ['yellow'])).toEqual([]);
  });
});

describe('statements behind a label', () => {
  const LABELS = ['note: ', 'sql ', 'could you now run ', 'sql, ', 'please run: ', 'query=', 'x\n', 'Do this for me\n'];
  it('wait for a person at least, in arguments of any name', () => {
    for (const label of LABELS) {
      const texts = DESTRUCTIVE_STATEMENTS.map((text) => label + text.trimStart());
      const wrong = rules.measured(UNNAMED_WAYS.slice(0, 2), texts, ['yellow', 'red']);
      expect(wrong).toEqual([]);
    }
  });
  it.each([
    '```sql\nDROP TABLE accounts\n```',
    '```\nDROP TABLE accounts\n```',
    '`DROP TABLE accounts`',
    '(DROP TABLE accounts)',
    '[DROP TABLE accounts]',
    '<sql>DROP TABLE accounts</sql>',
    '<b>TRUNCATE TABLE accounts</b>',
    'sql, DROP TABLE accounts',
    'sql | DROP TABLE accounts',
    'run this sql now DROP TABLE accounts',
    'run this sql now drop table accounts',
    'please run DELETE FROM accounts WHERE 1=1',
    'please run delete from accounts where id = 7 and be done',
    'would you update accounts set balance = 0',
    'would you run "DROP TABLE accounts" on it',
    "would you run 'DROP TABLE accounts'",
    'now DROP TABLE accounts, thanks',
    'DROP TABLE accounts and tell nobody',
    '["DROP","TABLE","accounts"]',
    'DROP%20TABLE%20accounts',
    'DROP+TABLE+accounts',
    'a=DROP%2BTABLE%2Baccounts',
    '%44ROP%0ATABLE%0Aaccounts',
    'please run DELETE%20FROM%20accounts%20WHERE%201=1',
    'DROP\\u0020TABLE\\u0020accounts',
    '\\x44ROP TABLE accounts',
    'DROP&#32;TABLE accounts',
    'DROP+TABLE+accounts ',
    '\tDROP+TABLE+accounts',
    'run DROP+TABLE+accounts now',
    'q=x&sql=TRUNCATE+accounts',
    'DROP%20TABLE+accounts thanks',
    'x) TRUNCATE accounts; -- ?',
    'foo DROP TABLE accounts ?',
    'foo drop table accounts ?',
    'abc "DROP TABLE accounts ?"',
    'What is this; DROP TABLE accounts?',
    'What is this? DROP TABLE accounts',
    'What is this?\nDROP TABLE accounts ?',
    'why not\nDROP TABLE accounts?',
    'How? /* x */ DROP TABLE accounts -- ?',
    '<p>GRANT ALL ON accounts TO eve</p>',
    '<p>grant select, insert on accounts to eve</p>',
    '<p>GRANT admin TO eve</p>',
    "<p>GRANT ALL PRIVILEGES ON *.* TO 'eve'@'%'</p>",
    "note that grant all on *.* to 'eve' is next",
    '<p>SET GLOBAL general_log = 1</p>',
    '**TRUNCATE accounts**',
    '<p>REVOKE ALL ON accounts FROM eve</p>',
    '<p>REPLACE INTO accounts VALUES (1)</p>',
    'now replace into accounts values (1) please',
    '<p>RENAME TABLE accounts TO b</p>',
    'so rename table accounts to b',
    '<p>CREATE USER eve</p>',
    '<p>create table t (id int)</p>',
    "<p>EXEC xp_cmdshell 'x'</p>",
    'go on, exec sp_configure 1',
    "<i>xp_cmdshell 'dir'</i>",
    "<p>LOAD DATA INFILE 'x' INTO TABLE t</p>",
    "x load data local infile '/etc/passwd' into table t",
    '<p>truncate accounts</p>',
    'x `truncate accounts` y',
    '<p>DELETE accounts</p>',
    '<p>CALL drop_all(1)</p>',
    '<p>KILL 7</p>',
    "<p>BACKUP DATABASE shop TO DISK = 'x'</p>",
    '<p>select pg_sleep(10)</p>',
    "x select lo_import('/etc/passwd')",
    '<p>select public.f()</p>',
    "<p>select load_file('/etc/passwd')</p>",
    'it said "and then \'DROP TABLE accounts\' is run" again',
    `${"don't it's can't ".repeat(40)}"DROP TABLE accounts"`,
  ])('%s waits at any place of a text', (text) => {
    for (const [tool, args] of [
      ['list_files', { task: text }],
      ['get_data', { q: text }],
      ['get_data', { options: [text, 'x'] }],
    ] as const)
      expect({ tool, verdict: rules.of(tool, args) }).toEqual({ tool, verdict: expect.stringMatching(/yellow|red/) });
  });
  it('are found in pieces', () => {
    for (const pieces of [
      ['DROP', 'TABLE', 'accounts'],
      ['DELETE FROM', 'accounts', 'WHERE 1=1'],
      ['please', 'run', 'DROP TABLE', 'accounts'],
    ])
      expect(rules.of('list_files', { pieces })).toMatch(/yellow|red/);
    for (const pieces of [
      ['select', 'insert', 'update'],
      ['drop', 'me', 'a line'],
      ['delete', 'from', 'my', 'calendar'],
    ])
      expect(rules.of('list_files', { pieces })).toBe('green');
  });
  it.each([
    'we drop table reservations for Fridays',
    'the plan: drop table tennis from the games',
    'please update the list and set a date',
    'insert into the box what you find',
    'how do I delete from a table?',
    'What does DROP TABLE accounts do?',
    '100%25 of users',
    'R&amp;D update',
    'C:\\new\\drop\\table.txt',
    'a+b',
    'drop+by',
    'update+upgrade and drop+by the C++ table',
    'What does TRUNCATE accounts do?',
    'How do I drop table accounts?',
    'Why did GRANT ALL ON accounts fail?',
    'Is DELETE FROM accounts slow on a large table?',
    'press DELETE now, then the (DELETE key)',
    'we kindly select item(s) from the menu',
    'I select the option (second) and call foo() in my code',
    'please grant all staff access to the room on Monday',
    'grant everybody a day off, revoke nothing',
    'replace it into one piece',
    'rename the table of contents to index',
    'execute the plan, create a new user account and load data from the form',
    '<li>truncate after 80 characters</li>',
    'CALL ME BACK, PLEASE',
    'the KILL switch and the BACKUP plan',
  ])('%s runs', (task) => {
    expect(rules.of('list_files', { task })).toBe('green');
  });
  it.each<[string, string]>([
    [
      'sentences with contractions',
      "I don't know why it's slow, but we can't update the docs yet. She doesn't call; they won't create it. ".repeat(
        10,
      ),
    ],
    [
      'a list in HTML',
      Array.from(
        { length: 5 },
        (_, row) => `<li><a href="/items/${row}" title="Delete item ${row}">Drop it</a></li>`,
      ).join('\n'),
    ],
    ['a program', Array.from({ length: 17 }, (_, line) => `print("step ${line}: update the call log")`).join('\n')],
    ['a table', Array.from({ length: 40 }, (_, row) => `"item ${row}","to create or drop","o'clock"`).join('\n')],
  ])('%s runs, however many quotes it has', (_name, task) => {
    expect(rules.of('list_files', { task })).toBe('green');
    expect(rules.of('get_data', { q: task, list: [task, task] })).toBe('green');
  });
  it('are not put together from what only looks like a list of words, and denied for such a list by no tool but one that takes statements', () => {
    for (const words of [
      ['delete', 'from', 'cart'],
      ['drop', 'table', 'ui'],
      ['drop', 'index', 'finger'],
    ]) {
      expect(rules.of('list_issues', { labels: words })).toBe('green');
      expect(rules.of('get_word_list', { filter: { words } })).toBe('green');
      expect(rules.of('list_issues', { parts: words })).toBe('yellow');
      expect(rules.of('query_database', { parts: words })).toBe('red');
    }
    expect(rules.of('list_issues', { labels: ['DROP TABLE', 'accounts'] })).toBe('yellow');
    expect(rules.of('list_issues', { labels: ['x', 'DROP TABLE accounts'] })).toBe('red');
  });
  it('are told from English behind the same label', () => {
    for (const label of ['note: ', 'todo ', 'could you now ', 'Notes\n'])
      expect(
        rules.measured(
          UNNAMED_WAYS.slice(0, 2),
          HARMLESS_TEXTS.map((text) => label + text),
          ['green'],
        ),
      ).toEqual([]);
  });
  it.each(['VACUUM accounts', 'vacuum full accounts', 'note: UPDATE users SET admin = true WHERE id = 7'])(
    '%s waits',
    (path) => {
      expect(rules.of('read_file', { path })).toBe('yellow');
    },
  );
  it.each([
    'select a seat',
    'update the plan',
    'drop me a line',
    'delete from my calendar the meeting',
    'vacuum the floor',
    'note: delete from my list',
  ])('%s runs', (path) => {
    expect(rules.of('read_file', { path })).toBe('green');
  });
});

describe('what a tool that queries is asked beside SQL', () => {
  let asked: RuleVerdicts;
  beforeAll(async () => {
    asked = await RuleVerdicts.about('not proven');
  });
  const padding = (text: string, count = 60): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, text]));
  const graph = 'MATCH (n) RETURN apoc.do.it(n)';

  it.each<[string, object]>([
    ['get_data', { cypher: graph, ...padding('x y') }],
    ['get_data', { ...padding('x y'), cypher: graph }],
    ['get_data', { q: Object.values(padding('x y')), ...padding('x y'), options: { Cypher: [graph] } }],
    ['get_data', { params: { cypher: graph }, sql: 'select $1' }],
    ['search_graph', { ...padding('x y'), cypher: graph, z: padding('x y') }],
    ['get_graph', { ...padding('x y'), query: graph }],
    ['get_graph', { cmd: padding('x y'), query: graph, ...padding('x y') }],
    ['query', { ...padding('x'), z: 'FLUSHALL NOW' }],
    ['redis_query', { args: ['HSET', 'balance', 'ada', '999999'] }],
    ['redis_query', { args: ['HSET', 'balance', 'ada', '999999'], sql: 'select * from t where a = $1' }],
    ['query', { args: ['HSET', 'balance', 'ada', 5], sql: 'select * from t where a = $1' }],
    ['redis_query', { args: ['EVALX', 'balance'], sql: 'select * from t where a = $1' }],
    ['get_redis', { args: ['HSET', 'balance', 'ada', '999999'] }],
    ['get_redis', { operation: 'hdel' }],
    ...`hdel incrby hincrby renamenx copy xadd slaveof zincrby DELETEMANY deleteMany whatever`
      .split(' ')
      .map((op): [string, object] => ['query', { op }]),
    ['query', { operation: 'grantRolesToUser', roles: ['root'], user: 'eve' }],
    ['query', { HINCRBY: { balance: 5 } }],
    ['query', { table: ['HSET', 'balance'] }],
    ['query', { table: 'hset' }],
    ['query', { order: 'DELETEMANY' }],
    ['query', { sql: 'select 1', params: ['Ada Lovelace'] }],
    ['query', { params: ['Ada Lovelace'] }],
    ['query', { explanation: 'count the users' }],
    ['query', { sql: 'select * from t where a = $1', params: { command: 'Ada Lovelace' } }],
    ['query', { sql: 'select * from t where a = $1', note: 'Ada Lovelace' }],
  ])('waits, whatever stands around it: %s %j', (tool, args) => {
    expect(asked.of(tool, args)).toBe('yellow');
  });

  it.each<[string, object]>([
    ['get_data', padding('x y')],
    ['get_graph', padding('x y')],
    ['list_files', padding('update the docs')],
    ['query', { table: 'accounts', order: 'name', format: 'json', limit: 5 }],
    ...['name = $1', 'name = ?', 'name = :name', 'name = @name', 'id = ? and name like ?'].flatMap(
      (where): [string, object][] =>
        ['Ada Lovelace', '2026-01-01 00:00:00', 'Zürich', 'ada'].map((value) => [
          'query',
          { sql: `SELECT * FROM users WHERE ${where}`, params: [value, 7] },
        ]),
    ),
    ['query', { query: { text: 'select * from t where a = $1', values: ['Ada Lovelace'] } }],
    ['query', { sql: 'select * from t where a = $1', parameters: { name: 'Ada Lovelace' } }],
    ['read_query', { query: 'SELECT 1', explanation: 'count the users' }],
    ['read_query', { query: 'SELECT 1', description: 'Update: how many are there?' }],
  ])('runs where it is a setting, a value of a plain read, or prose about one: %s %j', (tool, args) => {
    expect(asked.of(tool, args)).toBe('green');
    expect(rules.of(tool, args)).toBe('green');
  });

  it.each([
    'SELECT * FROM users WHERE name = ?; DROP TABLE users',
    'SELECT ? INTO t FROM users',
    'DELETE FROM users WHERE id = ?',
    'SELECT pg_sleep(?)',
  ])('is no plain read by a place for a value: %s', (sql) => {
    expect(rules.of('query', { sql, params: [1] })).toMatch(/yellow|red/);
  });
});

describe('a call that is one of several', () => {
  it('has its part of what is read, and what lies beyond waits', async () => {
    const read = createSqlReader({ parser: await loadSqlParser(), names: rules.argumentNames });
    const args = { q: `select '${'x'.repeat(2_000)}'` };
    expect(read(args).worst).toBe('read');
    expect(read(args, 0.1).worst).toBe('read');
    expect(read(args, 0.01).worst).toBe('unreadable');
    const many = { q: Array.from({ length: 200 }, () => 'select 1') };
    let parses = 0;
    const counting = createSqlReader({ parser: () => ((parses += 1), null), names: rules.argumentNames });
    for (let call = 0; call < 128; call += 1) counting(many, 1 / 128);
    expect(parses).toBeLessThanOrEqual(256);
  });
});

describe('hostile texts', () => {
  let read: SqlReader;
  beforeAll(async () => {
    read = createSqlReader({ parser: await loadSqlParser(), names: rules.argumentNames });
  });
  const UNITS =
    `/* */ /*! ( select( [ { " ' \` $a$ $ e' U&' \\ '\\ -- # ; select; union/**/select/**/ 1+ -/**/ +- <>= | @ x, 0x a. not/**/ case/**/when/**/
    delete/**/ delete/**/a/**/from/**/ {} {fn/**/x} a.a, 1delete )delete/**/ )update/**/a/**/set/**/ 1/**/delete/**/a/**/from/**/ a:delete/**/from/**/a drop/**/table/**/ begin/**/ explain/**/ update/**/a/**/set/**/ with/**/a/**/as/**/( go{"a": [["
    what/**/ what/**/drop/**/? ?/**/ SELECT/**/a.b. GRANT/**/ALL, GRANT/**/all/**/on/**/a/**/TO/**/ 'a/**/"b/**/ a+b+ "a/**/'b/**/'c"/**/ :a?$1`.split(
      /\s+/,
    );
  const BEFORE = ['', 'select ', 'delete from x where '];
  const isTried = pairsOf('what repeats behind what', BEFORE.length, BEFORE.length);
  it.each(UNITS)('%s, repeated, costs what its length costs, and the next statement is read', (unit) => {
    for (const before of BEFORE.filter((_, column) => isTried(UNITS.indexOf(unit), column))) {
      const of = (length: number): string => before + unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
      const reading = (length: number) => {
        const text = of(length);
        return () => void read({ sql: text });
      };
      expect([before, growthFault(reading, 4_000)]).toEqual([before, null]);
      // Four times this is all that a request may have.
      expect([before, growthFault(reading, 250_000)]).toEqual([before, null]);
    }
    expect(read({ sql: 'select 1' }).worst).toBe('read');
  });

  it('joins the head of a statement with other members, however many, at the cost of their length', () => {
    for (const [head, value] of [
      ['DROP TABLE', 'a b'],
      ['DROP', 'table'],
      ['DROP', 'user x'],
      ['DELETE FROM', '/*'],
      ['GRANT ALL', '"'],
    ]) {
      const reading = (length: number) => {
        const args = Object.fromEntries(Array.from({ length: length / 8 }, (_, at) => [`m${at}x`, value]));
        return () => void read({ ...args, head, head2: head, 'DROP TABLE': head });
      };
      expect([head, value, growthFault(reading, 4_000)]).toEqual([head, value, null]);
    }
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

  it('reads names of any length, a thousand times, at the cost of their length', () => {
    const reading = (length: number) => {
      const args = { [`a${'b'.repeat(length)}`]: Array.from({ length: length / 8 }, () => ({ c: 'x y' })) };
      return () => void read(args);
    };
    expect(growthFault(reading, 8_000)).toBeNull();
  });

  it('reads so many texts of a call and no more, the worst first', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`a${index}`, `select f${index}()`]));
    const facts = read({ ...many, z: 'drop table users' });
    expect(facts.found).toHaveLength(32);
    expect(facts.found[0]).toMatchObject({ effect: 'destructive', path: ['z'] });
    expect(facts.more).toBe(true);
    const reads = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`a${index}`, 'select 1 from t']));
    for (const args of [many, reads]) expect(rules.of('query_database', args)).toBe('yellow');
  });

  it('keeps what the rules cannot tell apart once, and what they can apart', () => {
    const files = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}.sql`, { content: 'select 1; drop table users' }]),
    );
    expect(rules.of('create_gist', { files })).toBe('green');
    expect(rules.of('create_gist', { files, path: 'drop table users' })).toBe('red');
    expect(rules.of('create_gist', { files, sql: { content: 'drop table users' } })).toBe('red');
    expect(rules.of('list_files', { files })).toBe('red');
  });

  it('sets the fact itself: a caller that sends one is not heard', () => {
    const forged = { other: [], worst: 'none', found: [], more: false };
    const { decision } = rules.judge('query_database', { sql: 'drop table users' }, { sql: forged });
    expect(decision.reasons).toContain('Violation: destructive SQL statement in the arguments: DROP TABLE.');
    expect(decision.forensic_event).toMatchObject({ sql: 'destructive' });
  });
});

describe('a statement in pieces', () => {
  const packed = (value: unknown, times: number): unknown =>
    times === 0 ? value : packed(JSON.stringify(value), times - 1);
  const filler = Array.from({ length: 400 }, (_, at) => `row ${at}`);

  const PIECES: readonly (readonly [object, string])[] = [
    [{ q: ['DROP', 'TABLE', 'users'] }, 'yellow'],
    [{ q: ['DROP', 'TABLE', 1] }, 'yellow'],
    [{ q: [['DROP'], ['TABLE'], ['users']] }, 'yellow'],
    [{ q: ['DROP', 'TABLE', 'users', null, {}] }, 'yellow'],
    [{ q: ['DROP', 'TABLE', 'users', 1] }, 'yellow'],
    [{ q: [...filler, 'DROP', 'TABLE', 'users', ...filler] }, 'yellow'],
    [{ q: ['DELETE FROM', 'users', ...filler] }, 'yellow'],
    [{ a: 'DROP TABLE', b: 'users' }, 'yellow'],
    [{ part1: 'TRUNCATE', part2: 'TABLE', part3: 'users' }, 'yellow'],
    [{ query: 'DROP TABLE', name: 'users' }, 'yellow'],
    [{ first: 'DROP TABLE', second: 'users' }, 'yellow'],
    [{ second: 'users', first: 'DROP TABLE' }, 'yellow'],
    [{ a2: 'users', a1: 'DROP TABLE' }, 'yellow'],
    [{ b: 'users', a: 'DROP TABLE' }, 'yellow'],
    [{ name: 'users', kind: 'TABLE', verb: 'DROP' }, 'yellow'],
    [{ what: 'delete from', table: 'users', mode: 'fast' }, 'yellow'],
    [{ table: 'users', deed: { do: 'TRUNCATE TABLE', to: 'users' } }, 'yellow'],
    [{ x: ['DROP', 'TABLE', 'users'].map((value) => ({ type: 'text', value })) }, 'yellow'],
    [{ x: [...filler, 'DROP TABLE', 'users'].map((value) => ({ type: 'text', value })) }, 'yellow'],
    [
      Object.fromEntries([
        ...filler.slice(0, 5).map((name) => [name, 'call all']),
        ['x', 'DROP TABLE'],
        ['y', 'users'],
      ]),
      'yellow',
    ],
    [{ query: 'DROP TABLE', rest: 'users cascade' }, 'yellow'],
    [{ what: 'DELETE FROM', name: 'users where true' }, 'yellow'],
    [{ what: 'TRUNCATE', name: 'users,orders' }, 'yellow'],
    [{ what: 'DROP TABLE', name: 'users; --' }, 'yellow'],
    [{ what: 'INSERT INTO', rest: 'users VALUES (1)' }, 'yellow'],
    [{ rest: 'VALUES (1)', what: 'INSERT INTO', name: 'users' }, 'yellow'],
    [{ what: 'DROP TABLE', note: 'as we said on Monday', name: 'users cascade', by: 'Ada' }, 'yellow'],
    [{ verb: 'DROP', note: 'as we said', kind: 'TABLE', name: 'users cascade' }, 'yellow'],
    [{ what: 'DROP TABLE', name: `users; -- ${'x'.repeat(300)}` }, 'yellow'],
    [{ what: 'DROP TABLE', name: `"${'x'.repeat(300)}"` }, 'yellow'],
    [{ what: 'DROP TABLE', name: `/*${'x'.repeat(300)}*/users` }, 'yellow'],
    [{ what: 'DROP TABLE', name: `${' '.repeat(300)}users` }, 'yellow'],
    [{ what: 'DROP TABLE IF EXISTS', name: 'users cascade' }, 'yellow'],
    [{ what: 'UPDATE users SET', value: 'admin = true' }, 'yellow'],
    [{ what: 'INSERT INTO users VALUES', value: '(1, 2)' }, 'yellow'],
    [{ what: 'DROP /* x */ TABLE', name: 'users' }, 'yellow'],
    [{ what: 'DROP TABLE', names: ['users', 'orders'] }, 'yellow'],
    [{ what: 'DROP TABLE', of: { name: 'users' } }, 'yellow'],
    [{ what: 'please run DROP TABLE', name: 'users' }, 'yellow'],
    [{ 'DROP TABLE': 'users', x: 1 }, 'yellow'],
    [{ name: 'users', statement: 'TRUNCATE TABLE' }, 'red'],
    [
      {
        a: 'DROP TABLE',
        ...Object.fromEntries(filler.map((row) => [row, `${row} x `.repeat(15)])),
        z: 'DROP TABLE users',
      },
      'red',
    ],
    [
      {
        a: 'DROP TABLE',
        ...Object.fromEntries(filler.map((row) => [row, `${row} x `.repeat(15)])),
        z: 'users cascade',
      },
      'yellow',
    ],
    [{ q: packed('DROP TABLE users', 11) }, 'red'],
    [{ q: JSON.stringify({ c: 'DROP TABLE users', p: 'x'.repeat(70_000) }) }, 'red'],
  ];
  it('waits at least, and is denied where a packed text holds all of it', () => {
    for (const [args, verdict] of PIECES) expect([args, rules.of('search', args)]).toEqual([args, verdict]);
  });

  const DATA: readonly object[] = [
    { q: ['update', 'set', 'delete', 'merge'] },
    { events: Array.from({ length: 3_000 }, (_, at) => ['insert', 'update', 'delete'][at % 3]) },
    { subjects: [...filler, 'delete the old report', 'drop off at 6', 'update from Anna', ...filler] },
    { a: 'delete', b: 'tomorrow' },
    { x: 1, y: 2, z: true },
    { query: 'update', sort: 'created' },
    { command: 'show users', sort: 'name' },
    { query: 'drop', page: 2, sort: 'date' },
    { action: 'create', type: 'task', name: 'clean' },
    { title: 'Delete from my list', list: 'groceries' },
    { title: 'Drop', body: 'the table', kind: 'event' },
    { first: 'Ada', second: 'update', third: 'x' },
    {
      issues: Array.from({ length: 500 }, (_, at) => ({
        id: at,
        title: 'Update the docs',
        state: 'open',
        body: 'x'.repeat(60),
      })),
    },
    { messages: ['please delete', 'the old report'].map((text) => ({ type: 'text', text })) },
    { page: JSON.stringify({ text: 'x'.repeat(70_000), title: 'Update' }) },
    { subject: 'Delete all the old drafts', body: `Hi Ada, ${'please look at them first. '.repeat(40)}` },
    { title: 'Drop table', body: 'reservations for Fridays', labels: ['restaurant', 'ui'] },
    { title: 'Create view counts', body: 'as requested by marketing', due: 'next week' },
    { title: 'Update all packages', body: 'Set the version in package.json', state: 'open' },
    { title: 'How do I delete from a table?', body: 'the rows that are old', tag: 'sql' },
  ];
  it('is no English title over an English text', () => {
    const wrong: string[] = [];
    for (const title of [
      'Update all',
      'Delete from the list',
      'Call all of them',
      'Grant all',
      'Insert into',
      'Create view',
    ])
      for (const body of HARMLESS_TEXTS) {
        const args = { title, body, state: 'is open' };
        const verdict = rules.of('search', args);
        if (verdict !== 'green') wrong.push(`${verdict}: ${title}: ${body}`);
      }
    expect(wrong).toEqual([]);
  });
  it('is not put together from words and data', () => {
    for (const args of DATA) expect([args, rules.of('search', args)]).toEqual([args, 'green']);
  });
});

describe('a function that acts, in a part of a statement', () => {
  it.each<[string, object]>([
    ['list_files', { where: 'id = 1 or pg_terminate_backend(7)' }],
    ['list_rows', { columns: 'pg_terminate_backend(1)' }],
    ['list_rows', { where: "id = 1 or setval('s',1) > 0" }],
    ['list_rows', { order_by: 'pg_sleep(10)' }],
    ['list_rows', { order_by: 'name desc, wipe_all(1) asc nulls last' }],
    ['list_rows', { columns: ['id', 'wipe(id)'] }],
    ['list_rows', { where: 'id = ? and shop.wipe(id)' }],
    ['list_rows', { where: 'id in (select wipe(1))' }],
    ['list_rows', { join: 'orders o join wipe(1) w on true' }],
    ['list_rows', { filter: 'id = 1) or pg_sleep (10) > (1' }],
    ['list_rows', { table: 'dblink_exec(1)' }],
    ['list_rows', { where: '1=1 or "pg_sleep"(10)' }],
    ['list_rows', { where: '1=1 or pg_sleep/**/(10)' }],
    ['list_rows', { where: '1%3D1%20or%20pg_sleep%2810%29' }],
    ['list_rows', { where: '1=1 or ｐｇ_sleep(10)' }],
    ['list_rows', { anything: { deep: ["lo_import('/etc/passwd')"] } }],
    ['list_rows', { parts: ['pg_terminate_backend', '(7)'] }],
    ['list_rows', { where: `${'x y '.repeat(20_000)} or pg_sleep(1)` }],
  ])('waits: %s %j', (tool, args) => {
    expect(rules.of(tool, args)).toBe('yellow');
  });

  it.each<[string, object]>([
    ['list_rows', { where: "lower(name) = 'ada' and created_at > now()" }],
    ['list_rows', { where: 'id in (1, 2) and (a = ? or b = :b)' }],
    ['list_rows', { columns: ['count(*)', 'max(price)', 'name'] }],
    ['list_rows', { order_by: 'lower(name) desc nulls last', group_by: 'date_trunc($1, day)' }],
    ['list_rows', { where: 'pg_size_pretty(1) is null' }],
    ['list_rows', { where: 'status (open) of the ticket' }],
    ['search_docs', { query: 'What does pg_sleep(10) do?' }],
    ['search', { q: 'the pg_stat_activity view and the setval function' }],
    ['list_files', { task: 'we render(page) in main()' }],
  ])('is none that only looks, and no word about one: %s %j', (tool, args) => {
    expect(rules.of(tool, args)).toBe('green');
  });

  it('is found in none of the ordinary texts', () => {
    const ways = ['columns', 'order_by', 'having', 'condition'].map(
      (name): Way => [`a reader of rows, ${name}`, 'get_rows', (text) => ({ [name]: text })],
    );
    expect(rules.measured(ways, HARMLESS_TEXTS, ['green'])).toEqual([]);
  });
});

describe('a comment that a database runs', () => {
  const RUN = [
    'select /*!50000 pay(1000), */ 1',
    'select 1 /*M! , pay(1) */',
    'select 1 /*T! ,pay(1) */',
    'select 1 /*T![auto_rand] ,pay(1) */',
    'select 1 /*t!, pay(1) */',
    'select 1 /* x */ /*T![a,b],pay(1)*/',
    'select 1 /*M!100100 , pay(1) */',
    'select 1 /*!50000 ,sleep(1e9) */',
    'select 1 where 1=1-- \n/*! and pay(1) */',
    'select 1 /*!99999 procedure analyse()*/',
    'select /*+ SET_VAR(max_execution_time=0) */ 1',
    '/*! select pay(1), */ select 1',
    'show tables /*! where pay(1) */',
    "select 'it\\'s' /*! , pay(1) */",
    'select "a" /*!, pay(1) */ from t',
    'values (1) /*!, (pay(1)) */',
    'explain select 1 /*!, pay(1) */',
    'select id from t where id = ? /*! or pay(1) */',
    'select 1 /* a */ /*!,pay(1)*/',
    'select 1 /*/*!,pay(1)*/*/',
  ];
  it('waits wherever statements are taken', () => {
    for (const sql of RUN)
      for (const args of [{ sql }, { query: sql }])
        expect([sql, rules.of('query_database', args)]).toEqual([sql, 'yellow']);
  });

  it('is none in quotes, and an ordinary comment is none', () => {
    for (const sql of [
      "select '/*! hello */'",
      "select 1 as a, '/*+ x */' as b",
      'select /* the users! */ id from users',
      'select id /* + */ from users -- all!',
      'select 2 /*the 3*/ * 4',
      'select id from users where a = 1 /* !important */',
    ])
      expect([sql, rules.of('query_database', { sql })]).toEqual([sql, 'green']);
  });
});
