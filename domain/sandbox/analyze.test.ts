import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { operationClass, SANDBOX_BOUNDS, sandboxReport, sandboxSeverity } from '../../contracts/sandbox.js';
import { seededRandom } from '../../test/support/random.js';
import { lasting, TookTooLong } from '../in-place.js';
import { ANALYZER_VERSION, type Analyzer, LARGEST_ANALYZED } from './analyze.js';

const corpus = z
  .strictObject({
    contract: z.literal('gate.sandbox-adversarial-corpus/v1'),
    analyzer_version: z.literal(ANALYZER_VERSION),
    cases: z.array(
      z.strictObject({
        name: z.string(),
        method: z.string(),
        params: z.unknown(),
        operation_class: operationClass,
        severity: sandboxSeverity,
      }),
    ),
  })
  .parse(
    JSON.parse(
      readFileSync(new URL('../../test/vectors/sandbox-adversarial-corpus.json', import.meta.url), 'utf8'),
    ) as unknown,
  );

let analyze: Analyzer;
beforeAll(async () => {
  analyze = await loadAnalyzer();
});
const of = (name: string, args: unknown) => analyze('tools/call', { name, arguments: args });

describe('sandbox: the adversarial corpus', () => {
  it('holds at least 55 cases under names of their own', () => {
    expect(corpus.cases.length).toBeGreaterThanOrEqual(55);
    expect(new Set(corpus.cases.map(({ name }) => name)).size).toBe(corpus.cases.length);
  });

  it.each(corpus.cases.map((one) => [one.name, one] as const))('%s', (_name, one) => {
    const report = analyze(one.method, one.params);
    expect(sandboxReport.parse(report)).toEqual(report);
    expect([report.operation_class, report.severity]).toEqual([one.operation_class, one.severity]);
  });
});

describe('sandbox: letters or digits of two scripts in one word', () => {
  it.each([
    [
      'the payee',
      'get_invoice',
      { to: 'v\u0435ndor' },
      'letters or digits of two scripts in one word, whom the call is for: `v\\u{435}ndor`',
    ],
    [
      'the payee, behind a hyphen',
      'get_invoice',
      { to: 'vendor-\u0430' },
      'letters or digits of two scripts in one word, whom the call is for: `vendor-\\u{430}`',
    ],
    [
      'the payee, as a Roman numeral',
      'get_invoice',
      { to: 'paypa\u217c' },
      'letters or digits of two scripts in one word, whom the call is for: `paypa\\u{217c}`',
    ],
    [
      'inside what the payee is',
      'get_invoice',
      { payee: { name: 'v\u0435ndor' } },
      'letters or digits of two scripts in one word, whom the call is for: `v\\u{435}ndor`',
    ],
    [
      'an address',
      'get_page',
      { q: 'x@g\u03bfogle.com' },
      'letters or digits of two scripts in one word, whom the call is for: `g\\u{3bf}ogle`',
    ],
    [
      'the payee, wholly',
      'get_invoice',
      { to: '\u0406\u0412\u041c' },
      'letters that pass for Latin ones, whom the call is for: `\\u{406}\\u{412}\\u{41c}`',
    ],
    [
      'the payee, beside Latin letters',
      'get_invoice',
      { payee: '\u0410\u0421\u041c\u0415 Ltd' },
      'letters that pass for Latin ones, whom the call is for: `\\u{410}\\u{421}\\u{41c}\\u{415} Ltd`',
    ],
    [
      'the number of an account',
      'get_invoice',
      { account: '1\u0417234' },
      'letters or digits of two scripts in one word, whom the call is for: `1\\u{417}234`',
    ],
    [
      'the number of an account with an Arabic zero',
      'get_invoice',
      { account: '1\u066000' },
      'letters or digits of two scripts in one word, whom the call is for: `1\\u{660}00`',
    ],
    [
      'a name of an argument',
      'get_invoice',
      { 'am\u043eunt': 5, amount: 1 },
      'letters or digits of two scripts in one word, the name of an argument: `am\\u{43e}unt`',
    ],
  ])('are risky in %s', (_where, tool, args, reason) => {
    const { severity, reasons } = of(tool, args);
    expect(severity).toBe('risky');
    expect(reasons).toContain(reason);
  });

  it('are a reason in an amount', () => {
    expect(of('send_money', { amount: '1\u066000', to: 'x' })).toMatchObject({
      summary: 'move `1\\u{660}00` to `x`',
      reasons: expect.arrayContaining(['letters or digits of two scripts in one word: `1\\u{660}00`']) as unknown,
    });
  });

  it('are a reason in any other text, which is as grave as it was', () => {
    expect(of('get_invoice', { note: 'SMS\u043a\u0430' })).toMatchObject({
      severity: 'safe',
      reasons: expect.arrayContaining([
        'letters or digits of two scripts in one word: `SMS\\u{43a}\\u{430}`',
      ]) as unknown,
    });
  });

  it('make nothing less grave', () => {
    const { severity, reasons } = of('delete_file', { path: 'a', to: 'v\u0435ndor' });
    expect(severity).toBe('destructive');
    expect(reasons).toContain('letters or digits of two scripts in one word, whom the call is for: `v\\u{435}ndor`');
  });

  it.each([
    ['Russian', { to: 'ООО Ромашка', сумма: 5 }],
    ['Greek', { to: 'Αθήνα ΑΕ' }],
    ['Japanese', { to: '山田Tシャツ店ＰＣ' }],
    ['Arabic', { to: 'شركة PDF' }],
    ['German', { to: 'Müller & Söhne' }],
  ])('are not found in a payee in %s', (_language, args) => {
    expect(of('get_invoice', args).reasons.join()).not.toMatch(/two scripts|pass for/);
  });
});

describe('sandbox: commands of a database’s client', () => {
  it.each([
    ['execute_sql', { sql: 'select 1 \\g |sh' }, 'runs a program'],
    ['execute_sql', { sql: 'select 1 from dual\n\n!touch x' }, 'runs a program'],
    ['run_psql', { input: '\\i /srv/x.sql' }, 'reads a file of statements'],
    ['sqlite_query', { input: 'select 1;\n.shell id' }, 'runs a program'],
  ])('%s %j may do anything: it %s', (name, args, act) => {
    expect(of(name, args)).toMatchObject({
      severity: 'destructive',
      reasons: expect.arrayContaining([
        `SQL that cannot be read may do anything: a client command that ${act}`,
      ]) as unknown,
    });
  });
});

describe('sandbox: a report says', () => {
  it('what a call does to what, in one line', () => {
    expect(of('delete_file', { path: 'accounts.db' })).toEqual({
      contract: 'gate.sandbox-report/v1',
      analyzer_version: 'gate-sandbox/22',
      analyzed: true,
      operation_class: 'delete',
      severity: 'destructive',
      reversible: 'no',
      summary: 'delete file `accounts.db`',
      reasons: ['a file or folder is removed'],
      targets: ['accounts.db'],
      predicted_changes: [{ kind: 'delete', target: 'accounts.db' }],
      scope: { targets: 1, wildcards: false, recursive: false },
      money: null,
    });
  });

  it.each([
    ['write_file', { path: 'a.txt', content: 'x' }, 'write file `a.txt`'],
    ['bash', { command: 'rm -rf /srv' }, 'run `rm -rf /srv`'],
    ['execute_sql', { query: 'delete from users' }, 'SQL DELETE of every row of `users`'],
    ['execute_sql', { query: 'grant all on t to u' }, 'SQL GRANT on `t`'],
    ['execute_sql', { query: 'revoke all on t from u' }, 'SQL REVOKE on `t`'],
    ['execute_sql', { query: 'grant admin to u' }, 'SQL GRANT ROLE'],
    ['execute_sql', { query: 'revoke admin from u' }, 'SQL REVOKE ROLE'],
    ['execute_sql', { query: 'begin; update t set a = 1 where id = 2; commit' }, 'SQL UPDATE on `t`'],
    ['execute_sql', { query: 'set role x; insert into payouts values (1)' }, 'SQL INSERT on `payouts`'],
    ['execute_sql', { query: 'vacuum; update salaries set a = 1 where id = 2' }, 'SQL UPDATE on `salaries`'],
    ['execute_sql', { query: 'vacuum t; update salaries set a = 1 where id = 2' }, 'SQL UPDATE on `salaries`'],
    ['execute_sql', { query: 'set role x; create role y' }, 'SQL CREATE ROLE'],
    ['execute_sql', { query: 'begin; lock t; commit' }, 'SQL LOCK on `t`'],
    ['execute_sql', { query: 'begin; execute all_of_it; commit' }, 'SQL EXECUTE'],
    ['query_database', { sql: 'select 1 from a.users, b' }, 'SQL SELECT on `a.users` and 1 more'],
    ['http_post', { url: 'https://example.com/x', body: '{}' }, 'POST to `https://example.com/x`'],
    ['wire_transfer', { amount: 40, currency: 'EUR', to: 'Ada' }, 'move 40 EUR to `Ada`'],
    ['create_payment', { amount: '$40' }, 'move $40'],
    ['get_user', { id: 4 }, '`get user`: `4`'],
    ['slack_api', { method: 'files.delete', file: 'F1' }, 'call `files.delete`: `F1`'],
    ['browser_click', { element: 'Delete account button' }, 'press `Delete account button`'],
    ['call_tool', { name: 'delete_repo', arguments: {} }, 'call `delete_repo`: `delete_repo`'],
    ['git_push', { branch: 'main', force: true }, 'overwrite a branch: `main`'],
    ['git_push', { refspec: '+main:main' }, 'overwrite a branch'],
    ['redis_lpop', { name: 'jobs' }, 'remove data of a store `jobs`'],
    ['scale_deployment', { name: 'web', replicas: 0 }, 'scale to nothing: `web`'],
    ['query', { sql: 'select drop_chunks(1)' }, 'SQL the function `drop_chunks`'],
    ['query', { sql: 'insert into t select purge_old(1)' }, 'SQL the function `purge_old` on `t`'],
    ['query', { sql: 'explain analyze select drop_chunks(1)' }, 'SQL the function `drop_chunks`'],
    ['query', { sql: 'call purge_old(1)' }, 'SQL the function `purge_old`'],
    ['mysql_query', { sql: 'select `a` from `t`' }, 'SQL SELECT on `t`'],
    ['mysql_query', { sql: 'update `t` set `a` = 1 where `id` = 2' }, 'SQL UPDATE on `t`'],
    ['send_email', { to: 'bob', bcc: 'x@evil' }, '`send email`: `bob` and 1 more'],
    ['send_email', { to: 'bob', ccAddresses: ['a', 'b'] }, '`send email`: `bob` and 2 more'],
  ])('%s %j: %s %s', (name, args, summary) => {
    expect(of(name, args).summary).toBe(summary);
  });

  it('the money that would move, and what the arguments leave out', () => {
    expect(of('wire_transfer', { amount: 250_000, currency: 'EUR', to: 'ACME GmbH' }).money).toEqual({
      amount: '250000',
      currency: 'EUR',
      payee: 'ACME GmbH',
    });
    expect(of('pay_invoice', { id: 'i-1' })).toMatchObject({
      money: { amount: null, currency: null, payee: null },
      reasons: expect.arrayContaining([
        'the arguments name no amount',
        'the arguments name nobody who gets it',
      ]) as never,
    });
    expect(of('get_balance', { amount: 3, to: 'Ada' })).toMatchObject({ severity: 'risky', money: { payee: 'Ada' } });
    expect(of('get_balance', { min_amount: 3, to: 'Ada' }).money).toBeNull();
    expect(of('get_rows', { amount: 3, from: '2026-01-01', to: '2026-02-01' }).money).toBeNull();
  });

  it.each([
    [
      'an amount with a code before it',
      { amount: 'EUR 2,500.00', payee: 'ACME' },
      { summary: 'move EUR 2,500.00 to `ACME`', money: { amount: 'EUR 2,500.00', currency: null, payee: 'ACME' } },
    ],
    ['an amount in words', { amount: '100 dollars', payee: 'x' }, { summary: 'move `100 dollars` to `x`' }],
    ['an amount without a whole number', { amount: '.5', payee: 'x' }, { summary: 'move .5 to `x`' }],
    ['the payee, where no amount stands', { payee: 'x' }, { summary: 'move money to `x`', targets: ['x'] }],
    ['somebody in an object', { amount: 100, to: { id: 'x' } }, { summary: 'move 100 to `x`', targets: ['x'] }],
    [
      'every amount and everybody of a list',
      {
        transfers: [
          { amount: 1, to: 'vendor' },
          { amount: 90_000, to: 'attacker' },
        ],
      },
      {
        summary: 'move several amounts: 1, 90000; to `vendor` and 1 more',
        targets: ['vendor', 'attacker'],
        money: { amount: 'several amounts: 1, 90000', currency: null, payee: 'vendor and 1 more' },
        reasons: expect.arrayContaining([
          'the arguments name several amounts: 1, 90000',
          'the arguments name 2 who get money',
        ]) as unknown,
      },
    ],
    [
      'what stands behind a decoy',
      { memo: { amount: 25, payee: 'vendor' }, amount: 90_000, to: 'attacker' },
      { summary: 'move several amounts: 25, 90000; to `vendor` and 1 more', targets: ['vendor', 'attacker'] },
    ],
    ['somebody whose name is an amount', { amount: 15, to: '5' }, { summary: 'move 15 to `5`' }],
    [
      'two who get it',
      { amount: 25, payee: 'vendor', to: 'attacker' },
      { summary: 'move 25 to `vendor` and 1 more', targets: ['vendor', 'attacker'] },
    ],
    [
      'one amount for several',
      {
        transfers: [
          { amount: 5, currency: 'EUR', to: 'a' },
          { amount: 5, currency: 'EUR', to: 'b' },
        ],
      },
      { summary: 'move 5 EUR (2 times) to `a` and 1 more' },
    ],
    [
      'the largest of many amounts',
      { amounts: [1, 2, 3, 4, '9,000', 5], currency: 'EUR', to: 'x' },
      { summary: 'move several amounts: 1 EUR, 2 EUR, 3 EUR and 3 more, up to 9,000 EUR; to `x`' },
    ],
    [
      'the largest of many numbers with three digits behind the point',
      { amounts: [0.5, 0.6, 0.7, 9.999, 9_000], to: 'x' },
      { summary: 'move several amounts: 0.5, 0.6, 0.7 and 2 more, up to 9000; to `x`' },
    ],
    [
      'the largest of many texts, whichever way they are read',
      { amounts: ['0.5', '0.6', '0.7', '9.999', '9000'], to: 'x' },
      { summary: 'move several amounts: 0.5, 0.6, 0.7 and 2 more, up to 9.999, 9000; to `x`' },
    ],
    [
      'the largest of each currency, which are not compared',
      { amounts: ['1 USD', '2 USD', '3 USD', '100000 JPY', '99999 BTC', '7 JPY'], to: 'x' },
      {
        summary: 'move several amounts: 1 USD, 2 USD, 3 USD and 3 more, up to 100000 JPY, 99999 BTC; to `x`',
        reasons: expect.arrayContaining([
          'the arguments name amounts of several currencies, which are not compared',
        ]) as unknown,
      },
    ],
    [
      'before a file that is written too',
      { amount: 90_000, payee: 'Evil', path: '/srv/x', callback_url: 'https://a.test/x' },
      { summary: 'move 90000 to `Evil`', severity: 'risky' },
    ],
    [
      'behind what destroys, as the first reason',
      { amount: 90_000, payee: 'Evil', command: 'rm -rf /srv' },
      {
        severity: 'destructive',
        summary: 'run `rm -rf /srv`',
        reasons: expect.arrayContaining(['moves 90000 to `Evil`']) as unknown,
      },
    ],
    [
      'of JSON in which a name stands twice',
      { payload: '{"amount": 90000, "payee": "Evil", "amount": 1, "payee": "Good"}' },
      { summary: 'move several amounts: 1, 90000; to `Good` and 1 more', targets: ['Good', 'Evil'] },
    ],
    [
      'an amount in units and nanos',
      { amount: { units: '90000', nanos: 500_000_000, currency_code: 'USD' }, to: 'x' },
      { summary: 'move 90000.5 USD to `x`', money: { amount: '90000.5', currency: 'USD', payee: 'x' } },
    ],
    ['a price in units', { price: { units: 90_000 }, to: 'x' }, { summary: 'move 90000 to `x`' }],
    [
      'the ends of a span',
      { amount: 1, min_amount: 90_000, to: 'x' },
      { summary: 'move several amounts: 1, at least 90000; to `x`' },
    ],
    ['a lowest amount alone', { amount_minimum: 5, to: 'x' }, { summary: 'move at least 5 to `x`' }],
    [
      'how often',
      { amount: 1, currency: 'EUR', count: 90_000, to: 'x' },
      {
        summary: 'move several amounts: 1 EUR, count 90000; to `x`',
        reasons: expect.not.arrayContaining(['the arguments name no currency']) as unknown,
      },
    ],
    [
      'several currencies, by the words of the call',
      { amount: 5, currency: 'several currencies (USD, EUR)', to: 'x' },
      {
        summary: 'move 5 `several currencies (USD, EUR)` to `x`',
        reasons: expect.not.arrayContaining(['the arguments name several currencies for one amount']) as unknown,
      },
    ],
    [
      'several currencies',
      { amount: 5, currency: 'USD', token: 'BTC', to: 'x' },
      {
        summary: 'move 5 several currencies (USD, BTC) to `x`',
        reasons: expect.arrayContaining(['the arguments name several currencies for one amount']) as unknown,
      },
    ],
    [
      'an amount that is longer than shown',
      { amount: `1.${'0'.repeat(70)}e9`, to: 'x' },
      {
        summary: `move 1.${'0'.repeat(45)}… to \`x\``,
        reasons: expect.arrayContaining(['an amount, or who gets it, is longer than shown']) as unknown,
      },
    ],
    [
      'an amount behind blanks',
      { amount: `1${' '.repeat(50)}000000`, to: 'x' },
      { summary: 'move 1 000000 to `x`', money: { amount: '1 000000' } },
    ],
    [
      'somebody whose name is longer than shown',
      { amount: 1, to: { name: `${'v'.repeat(64)}att` } },
      {
        targets: [`${'v'.repeat(63)}…`],
        reasons: expect.arrayContaining(['an amount, or who gets it, is longer than shown']) as unknown,
      },
    ],
    [
      'an amount in cents',
      { amount_cents: 129_900, currency: 'usd', to: 'x' },
      {
        summary: 'move 1299.00 usd (129900 cents) to `x`',
        money: { amount: '1299.00 (129900 cents)', currency: 'usd' },
      },
    ],
    ['cents of no currency', { amount_in_cents: 5, to: 'x' }, { summary: 'move 0.05 (5 cents) to `x`' }],
    [
      'an object of cents',
      { price_cents: { value: '-120' }, currency: 'EUR', to: 'x' },
      { summary: 'move -1.20 EUR (-120 cents) to `x`' },
    ],
    [
      'a minor unit that the currency has not',
      { amount_minor: 5_000, currency: 'JPY', to: 'x' },
      { summary: 'move 5000 JPY to `x`' },
    ],
    [
      'a minor unit of thousandths',
      { amountMinor: '5000', currency: 'KWD', to: 'x' },
      { summary: 'move 5.000 KWD (5000 minor units) to `x`' },
    ],
    ['a minor unit of no currency', { amount_minor: 5_000, to: 'x' }, { summary: 'move 5000 minor units to `x`' }],
    [
      'cents that the currency has not',
      { amount_cents: 5_000, currency: 'JPY', to: 'x' },
      { summary: 'move 5000 cents JPY to `x`' },
    ],
    [
      'cents that are no whole number',
      { amount_cents: 12.5, currency: 'EUR', to: 'x' },
      { summary: 'move 12.5 cents EUR to `x`' },
    ],
    [
      'the largest of amounts in several units',
      { amounts: [1, 2, 3, 500], amount_cents: 90_000, currency: 'EUR', to: 'x' },
      { summary: 'move several amounts: 1 EUR, 2 EUR, 3 EUR and 2 more, up to 900.00 EUR (90000 cents); to `x`' },
    ],
    [
      'amounts that cannot be read as the largest',
      { amounts: [1, 2, 3, 100, '9 crore'], to: 'x' },
      { summary: 'move several amounts: 1, 2, 3 and 2 more, up to 100, and not read: `9 crore`; to `x`' },
    ],
    [
      'amounts of one currency, of which some cannot be read',
      { amounts: [1, 2, 3, 9_999_999, 'five'], currency: 'USD', payee: 'x' },
      { summary: expect.stringMatching(/and 2 more, up to 9,?999,?999 USD, and not read: `five` USD; to `x`/) },
    ],
  ])('of a payment %s', (_what, args, report) => {
    expect(of('send_money', args)).toMatchObject(report);
  });

  it('of a batch all its payments in one line', () => {
    const pay = (id: string, amount: number, to: string) => ({ id, name: 'send_money', arguments: { amount, to } });
    const batch = {
      contract: 'gate.atomic-tool-call-batch/v1',
      calls: [pay('1', 1, 'vendor'), pay('2', 90_000, 'attacker')],
    };
    expect(analyze('gate/tools.batch', batch)).toMatchObject({
      summary: 'move several amounts: 1, 90000; to `vendor` and 1 more',
      targets: ['vendor', 'attacker'],
      money: { amount: 'several amounts: 1, 90000', payee: 'vendor and 1 more' },
    });
  });

  it('of a batch how often its one amount is paid', () => {
    const calls = ['1', '2', '3'].map((id) => ({ id, name: 'send_money', arguments: { amount: 1, to: 'x' } }));
    expect(analyze('gate/tools.batch', { contract: 'gate.atomic-tool-call-batch/v1', calls }).money?.amount).toBe(
      '1 (3 times)',
    );
  });

  it('of a tool that pays by its arguments alone, how often and from a span', () => {
    expect(of('process_order', { payee: 'x', amount: 10, repeat: 900 }).summary).toBe(
      'move several amounts: 10, count 900; to `x`',
    );
    expect(of('create_mandate', { payee: 'x', max_amount: 90_000, min_amount: 0 }).summary).toBe(
      'move several amounts: at most 90000, at least 0; to `x`',
    );
  });

  it.each([
    ['list_mandates', { payee: 'x', max_amount: 90_000, min_amount: 0 }, 'safe'],
    ['get_report', { amount: 90_000, payee: 'today' }, 'risky'],
    ['get_balance', { amount: 'USD 100', payee: 'x' }, 'risky'],
    ['search_notes', { payload: '{"amount":100,"payee":"DE1"}' }, 'risky'],
    ['search_notes', { account_number: 'DE1', amount: 100 }, 'risky'],
    ['get_exchange_rate', { amount: 100, from: 'EUR', to: 'USD' }, 'safe'],
    ['search_flights', { price: 300, to: 'JFK' }, 'safe'],
  ])('of a read %s %j that it is %s', (name, args, severity) => {
    expect(of(name, args).severity).toBe(severity);
  });

  it.each([
    // Each is the near miss of one above.
    ['slack_api', { method: 'reactions.remove' }],
    ['get_page', { method: 'files.delete' }],
    ['browser_click', { element: 'Undo delete' }],
    ['browser_fill', { element: 'Delete account button' }],
    ['git_push', { branch: 'main', force: false }],
    ['push_notification', { text: 'x', force: true }],
    ['unlink_issue', { issue: 'SHOP-3' }],
    ['scale_deployment', { name: 'web', replicas: 10 }],
    ['get_scale_info', { count: 0 }],
    ['xdel_stats', {}],
    ['browser_click', { element: 'Link to the article on how to delete a file' }],
    ['query', { sql: 'select f(array_remove(a, 1)) from t' }],
    ['query', { sql: 'explain select drop_chunks(1)' }],
    ['browser_select_option', { selector: 'select[name=payment-method]', value: 'delete' }],
  ])('of %s %j that it is not destructive', (name, args) => {
    expect(of(name, args).severity).not.toBe('destructive');
  });

  it.each([
    ['with a removal behind them', 'select `a` from `t`; drop table `t`'],
    ['that are left open', 'select `a` from `t'],
    ['beside a quote that another database reads another way', 'select `a`, "b` from `t"'],
    ['beside a comment that MySQL runs', 'select `a` from `t` /*! into outfile 1 */'],
    ['beside a backslash', "select `a` from `t` where b = '\\' or c = ';drop table t'"],
    ['beside brackets that are quotes to another', "select `a`, b['] from t; attach ''/x'' as y; select [z'] from `t`"],
    [
      'beside quotes of BigQuery',
      "select `a` from `t` where x = ''' A ' || ''' ; execute immediate x; select ''' || ' x '''",
    ],
    ['beside letters whose plain form is a quote', "select `a` from `t` where b = '＇ ; drop table u ; ＇'"],
    ['in what only MySQL has', "select `a` into outfile '/x' from `t`"],
  ])('of names between backticks %s that it is destructive', (_what, sql) => {
    expect(of('mysql_query', { sql }).severity).toBe('destructive');
  });

  it('of a clean text with names between backticks that it hides no other, in either order', () => {
    const [clean, hidden] = ['select `a` from `t`', "select `a` from `t` /*! into outfile '/x' */"];
    for (const args of [
      { sql: hidden, opts: { sql: clean } },
      { opts: { sql: clean }, sql: hidden },
      { sql: [clean, hidden] },
    ])
      expect(of('mysql_query', args).severity).toBe('destructive');
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown;
    for (const args of [{ sql: clean, opts: { sql: clean } }, { sql: [clean, clean] }, { sql: clean, deep }])
      expect(of('mysql_query', args).severity).toBe('safe');
  });

  it('of more texts with names between backticks than are read that it is destructive', () => {
    const texts = Array.from({ length: 17 }, (_, at) => `select \`a${at}\` from \`t\``);
    expect(of('mysql_query', { sql: texts.slice(1) }).severity).toBe('safe');
    expect(of('mysql_query', { sql: texts }).severity).toBe('destructive');
  });

  it('how far it reaches', () => {
    expect(of('delete_files', { paths: ['a', 'b', '*.log'], recursive: true }).scope).toEqual({
      targets: 3,
      wildcards: true,
      recursive: true,
    });
    expect(of('bash', { command: 'rm -rf /' }).scope).toMatchObject({ wildcards: true, recursive: true });
    expect(of('execute_sql', { query: 'update a set b = 1' }).scope.wildcards).toBe(true);
    expect(of('execute_sql', { query: 'update a set b = 1 where c = 2' }).scope.wildcards).toBe(false);
  });

  it('what a MERGE removes counts as DELETE does', () => {
    const merge = (then: string) =>
      of('execute_sql', { query: `merge into t using u on t.id = u.id when matched then ${then}` });
    expect(merge('delete')).toMatchObject({ severity: 'destructive', operation_class: 'delete', reversible: 'no' });
    expect(merge('update set a = 1')).toMatchObject({ severity: 'risky', operation_class: 'write' });
  });

  it('whether it can be undone', () => {
    expect(of('execute_sql', { query: 'insert into a values (1)' }).reversible).toBe('yes');
    expect(of('send_email', { to: 'ada@example.com' }).reversible).toBe('no');
    expect(of('frobnicate', {}).reversible).toBe('unknown');
  });

  it('targets in the order in which they stand, those of the gravest part first', () => {
    const batch = {
      contract: 'gate.atomic-tool-call-batch/v1',
      calls: [
        { id: '1', name: 'read_file', arguments: { path: 'one.txt' } },
        { id: '2', name: 'delete_file', arguments: { paths: ['two.txt', 'three.txt'] } },
      ],
    };
    expect(analyze('gate/tools.batch', batch).targets).toEqual(['two.txt', 'three.txt', 'one.txt']);
  });

  it.each([
    ['read_file', { path: '.env' }, ['.env']],
    ['read_file', { path: 'config/.env' }, ['config/.env']],
    ['read_files', { files: [{ path: 'id_rsa' }, { path: 'id_rsa' }] }, ['id_rsa']],
    ['git_add', { repo_path: '.ssh' }, ['.ssh']],
    ['edit_file', { cwd: '.', path: 'bin/run.sh' }, ['bin/run.sh']],
    ['write_file', { cwd: '.git', path: 'hooks/x' }, ['.git/hooks/x', 'hooks/x']],
    ['write_file', { cwd: '/etc', path: 'passwd' }, ['/etc/passwd', '/etc', 'passwd']],
    ['write_file', { cwd: '/', path: 'etc/passwd' }, ['/etc/passwd', '/', 'etc/passwd']],
  ])('a path once, and from no other folder than those beside it: %s %j', (name, args, targets) => {
    expect(of(name, args).targets).toEqual(targets);
  });

  it('no password of an address, and no character that nobody sees', () => {
    const report = of('fetch_url', { url: 'https://ada:hunter2@example.com/\u202egpj' });
    expect(JSON.stringify(report)).not.toMatch(/hunter2|\u202e/);
    expect(report.targets[0]).toBe('https://…@example.com/\\u{202e}gpj');
  });
});

describe('sandbox: what hides is not safe', () => {
  it.each([
    ['a comment that MySQL runs', 'execute_sql', { query: 'select 1 /*!50000 ; drop table a */' }],
    ['a statement that no grammar reads', 'execute_sql', { query: 'select 1; drop drop table a' }],
    ['a block', 'execute_sql', { query: 'do $$ begin drop table a; end $$' }],
    ['a program in a variable', 'bash', { command: 'x=rm; $x -rf /srv' }],
    ['a command in base64', 'bash', { command: 'echo cm0gLXJmIC8= | base64 -d | sh' }],
    ['a command behind many harmless lines', 'bash', { command: `${'ls a\n'.repeat(2_000)}rm -rf /srv` }],
    ['a command behind many others', 'bash', { commands: [...Array.from({ length: 100 }, () => 'ls'), 'rm -rf /srv'] }],
    ['a command that is joined of pieces', 'bash', { command: 'rm', args: ['-rf', '/srv'] }],
    ['a call that is too large', 'read_file', { path: 'a'.repeat(LARGEST_ANALYZED) }],
  ])('%s counts as the worst', (_what, name, args) => {
    expect(of(name, args).severity).toBe('destructive');
  });

  it('says of a call that is too large that it was not analysed', () => {
    expect(of('read_file', { path: 'a'.repeat(LARGEST_ANALYZED) })).toMatchObject({
      analyzed: false,
      operation_class: 'unknown',
      reversible: 'unknown',
      summary: 'not analysed: the call is too large',
    });
    expect(of('read_file', { path: 'a'.repeat(LARGEST_ANALYZED / 2) }).analyzed).toBe(true);
  });

  it('ends where its time is over, and says the same of the next call', () => {
    const params = { name: 'bash', arguments: { command: 'rm -rf x;'.repeat(400) } };
    const before = analyze('tools/call', params);
    expect(() => analyze('tools/call', params, lasting(-1))).toThrow(TookTooLong);
    expect(analyze('tools/call', params)).toEqual(before);
  });
});

describe('sandbox: any call at all', () => {
  const random = seededRandom('sandbox');
  const word = fc.constantFrom(
    ...'delete read_file path sql command url rm -rf / ; | $( ` \' " /* */ -- select drop table from where 1=1 DROP amount EUR to .. * \u202e \0 \ud800 {"a":1} https://a:b@c/ [1] batch'.split(
      ' ',
    ),
  );
  const text = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.array(word, { maxLength: 12 }).map((parts) => parts.join(' ')),
  );
  const name = fc.oneof(
    word,
    text,
    fc.constantFrom('bash', 'execute_sql', 'delete_file', 'http_request', 'wire_transfer'),
  );
  const key = fc.oneof(
    word,
    fc.constantFrom('path', 'command', 'args', 'query', 'url', 'method', 'amount', 'to', '__proto__'),
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('value'), { maxLength: 5 }),
    object: fc.dictionary(key, tie('value'), { maxKeys: 5 }),
  }));
  const params = fc.oneof(
    json.value,
    fc.record({ name, arguments: json.value }),
    fc.record({ name, arguments: json.object }),
  );
  const method = fc.constantFrom('tools/call', 'call_tool', 'gate/tools.batch', 'resources/read');
  const runs = { seed: random.seed, numRuns: 1_500 };

  it('has a report of the contract, bounded, storable, and the same twice', () => {
    fc.assert(
      fc.property(method, params, (asked, given) => {
        const report = analyze(asked, given);
        expect(sandboxReport.parse(report)).toEqual(report);
        const stored = JSON.stringify(report);
        expect(stored.isWellFormed()).toBe(true);
        expect(stored.length).toBeLessThan(4 * SANDBOX_BOUNDS.entries * SANDBOX_BOUNDS.text * 2);
        expect(JSON.stringify(analyze(asked, structuredClone(given)))).toBe(stored);
      }),
      runs,
    );
  });

  it('is no safer with more arguments beside those that destroy', () => {
    fc.assert(
      fc.property(json.object, (beside) => {
        const path = 'accounts.db';
        expect(of('delete_file', { ...(beside as object), path }).severity).toBe('destructive');
      }),
      runs,
    );
  });

  it('takes as long under a long name as under a short one', () => {
    const msUnder = (name: string): number => {
      const began = performance.now();
      of('get_page', { [name]: Array.from({ length: 12_000 }, () => 'x') });
      return performance.now() - began;
    };
    const long = 'x'.repeat(40_000);
    const best = (name: string): number => Math.min(msUnder(name), msUnder(name), msUnder(name));
    expect(best(long)).toBeLessThan(best('x') + 1_000);
  });

  it.each([
    ['mysql_query', 'sql', '`a`,'],
    ['mysql_query', 'sql', '`'],
    ['query', 'sql', 'drop_x('],
    ['browser_click', 'selector', '[a="'],
    ['browser_click', 'element', 'delete '],
    ['run_mongo', 'code', '$out  '],
    ['run_js', 'code', "method : ' "],
    ['slack_api', 'method', 'a.'],
    ['bash', 'command', '--remove-label= '],
    ['bash', 'command', `'"'"'`],
    ['bash', 'command', 'r\u0301m\u200b '],
    ['delete_fi\u04cfe', 'path', '\u0430a\u03b1'],
  ])('takes time in proportion to its text: %s {%s: %j}', (tool, argument, piece) => {
    const begins = argument === 'sql' ? 'select ' : argument === 'selector' ? 'select' : '';
    const text = `${begins}${piece.repeat(Math.floor(30_000 / piece.length))}`;
    const began = performance.now();
    of(tool, { [argument]: text });
    of(tool, { [argument]: Array.from({ length: 16 }, () => text.slice(0, 1_800)) });
    // A quadratic one of these takes minutes.
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('takes time in proportion to its text', () => {
    const pieces = [
      'rm -rf x;',
      `'"%41;`,
      '$(',
      '`',
      "';drop ",
      '/*',
      '(',
      '../',
      '%2525',
      '{a,',
      'select 1;',
      '[',
      'a=b ',
    ];
    const slowest = pieces.map((piece) => {
      const command = piece.repeat(Math.floor(30_000 / piece.length));
      const began = performance.now();
      for (const [tool, argument] of [
        ['bash', 'command'],
        ['execute_sql', 'query'],
        ['write_file', 'path'],
      ] as const)
        of(tool, { [argument]: command });
      return [piece, performance.now() - began] as const;
    });
    // Three analyses; a quadratic one of these takes minutes.
    for (const [piece, ms] of slowest) expect([piece, ms < 15_000]).toEqual([piece, true]);
  });
});
