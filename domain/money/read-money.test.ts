import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readArguments } from '../argument-values.js';
import { lasting, TookTooLong } from '../in-place.js';
import { policyData } from '../policy/policy-data.js';
import { createNameReader } from './money-names.js';
import { magnitudeOf } from './money-values.js';
import { createMoneyFacts, createMoneyReader } from './read-money.js';

const data = policyData.parse(JSON.parse(readFileSync(new URL('../../policies/data.json', import.meta.url), 'utf8')));
const names = createNameReader(data.gate.money_arguments);
const facts = createMoneyFacts(names);
const read = createMoneyReader(names);
const of = (args: unknown, tool = 'search_notes') => facts(args, tool);
const moves = (args: unknown, tool?: string) => {
  const { amounts, payees } = of(args, tool);
  return amounts.length > 0 && payees.length > 0;
};
const nested = (value: unknown, depth: number): unknown => (depth === 0 ? value : { a: nested(value, depth - 1) });

describe('money in the arguments', () => {
  it.each<[string, unknown]>([
    ['side by side', { amount: 100, payee: 'DE1' }],
    ['in lists', { payee: ['DE1'], amount: ['100'] }],
    ['packed as JSON', { payload: '{"amount":100,"payee":"DE1"}' }],
    ['packed twice', { payload: JSON.stringify(JSON.stringify({ amount: 100, payee: 'DE1' })) }],
    ['three objects deep', { a: { b: { amount: 100, payee: 'x' } } }],
    ['a hundred objects deep', nested({ amount: 100, payee: 'x' }, 100)],
    ['in objects apart', { request: { transfer: { amount: 100, transfer_to: 'x' } } }],
    ['below objects of their names', { amount: { a: { b: 5 } }, to: { details: { id: 'x' } } }],
    [
      'as names and values',
      {
        fields: [
          { name: 'amount', value: 100 },
          { name: 'payee', value: 'DE1' },
        ],
      },
    ],
    ['as a form', { body: 'amount=100&payee=DE%31' }],
    ['as a form whose names are escaped', { body: 'am%6Funt=100&x=&to=DE1' }],
    ['under a value beside another name', { id: 'n1', value: 5, currency: 'EUR', payee: 'y' }],
    ['with an umlaut', { empfänger: 'DE1', betrag: 100 }],
    ['without it', { empfaenger: 'DE1', betrag: 100 }],
    ['with accents that are apart', { 'be\u0301ne\u0301ficiaire': 'x', montant: 5 }],
    ['in wide letters', { ａｍｏｕｎｔ: 5, ｐａｙｅｅ: 'x' }],
    ['in another script', { сумма: 5, получатель: 'x' }],
    ['with numbers', { amount1: 5, payee_2: 'x' }],
    ['behind much in the name', { [`${'x'.repeat(200)}_amount`]: 5, [`${'y'.repeat(200)}_payee`]: 'x' }],
    ['to an account', { account_number: 'DE1', amount: 100 }],
    ['to a bank account', { bank_account: 'DE1', amount: 100 }],
    ['to a customer', { customer: 'x', amount: 100 }],
    ['to an address', { email: 'x@example.com', amount: 100 }],
    ['to an address of a chain', { address: '0x1', lamports: 5 }],
    ['by another word', { salary: 100, to: 'x' }],
    ['to a number', { amount: 100, to: 12 }],
    ['to somebody behind a date', { amount: 100, to: '2026-01-01; DE1' }],
    ['of a price', { price: 5, to: 'vendor' }],
    ['of a value of a currency', { value: 5, currency: 'EUR', destination: 'acct_1' }],
    ['of a price in an object', { price: { value: 5 }, wallet: '0x' }],
    ['as a highest amount', { max_amount: 5, payee: 'x' }],
    ['with somebody whose name is a code', { amount: 5, currency: 'EUR', to: 'BOB' }],
    ['with a code before', { amount: 'EUR 2,500.00', payee: 'x' }],
    ['as a lowest amount alone', { min_amount: 90_000, payee: 'x' }],
    ['from an amount', { from_amount: 90_000, payee: 'x' }],
    ['as an amount from which', { amount_from: 90_000, payee: 'x' }],
    ['as a lowest amount below an amount', { amount: { min: 90_000 }, payee: 'x' }],
    ['in words that are on no list', { amount: 'nineti thousend', payee: 'x' }],
    ['as so much of a thing for somebody who is paid', { amount: '100g', payee: 'x' }],
    ['with somebody who is named like a day', { amount: 90_000, payee: 'today' }],
    ['with somebody who is named like a date', { amount: 5, payee: { name: '2026-01-01' } }],
    ['to somebody who is named like a time', { amount: 5, to: '10:30' }],
    ['that begins like a date', { amount: '9000-10-10', payee: 'x' }],
    ['that is a date to the letter', { amount: '2000-10-10', payee: 'x' }],
    ['of a price in grams', { price: '9000g', to: 'evil' }],
    ['in grams, to somebody', { amount: '9000g', to: 'evil' }],
    ['to a contact', { amount: 5, contact: 'x' }],
    ['to a handle', { amount: 5, handle: '@x' }],
    ['to a user that is the target', { amount: 5, target_user: 'x' }],
    ['to somebody in another spelling', { amount: 5, recepient: 'x' }],
    ['in Dutch', { bedrag: 5, begunstigde: 'x' }],
    ['in Arabic', { المبلغ: 5, المستفيد: 'x' }],
    ['in Portuguese', { valor: 5, destinatário: 'x' }],
    ['to a short address', { wei: 5, addr: '0x1' }],
    ['in units of a currency', { transfer: { units: '5', currency_code: 'USD' }, to: 'x' }],
    ['as the value of a name, in an object', { field: 'amount', value: { units: 5 }, payee: 'x' }],
    ['with somebody at an address in a country', { amount: 5, payee: { address: { country: 'DE1' } } }],
    ['in units', { amount: { units: '90000', nanos: 0, currency_code: 'USD' }, payee: 'x' }],
    ['in units alone', { amount: { units: '90000' }, payee: 'x' }],
    ['in units and nanos of any name', { transfer: { units: '90000', nanos: 0 }, to: 'x' }],
    ['of a price in units', { price: { units: 5 }, to: 'x' }],
    ['as the only detail of an amount', { amount: { day: 90_000 }, payee: 'x' }],
    ['as the currency of an amount', { amount: { currency: 90_000 }, payee: 'x' }],
    ['as a detail of an amount that has somebody', { amount: { day: 90_000, payee: 'x' } }],
    ['as a bound below an amount', { amount: { over: 90_000 }, payee: 'x' }],
    ['with somebody in a country', { amount: 5, payee: { country: 'DE1' } }],
    ['with somebody of a type', { amount: 5, to: { type: 'mallory', zip: 'DE1' } }],
    ['with something else under the name of a currency', { amount: 5, payee_currency: 'DE1' }],
    ['with the place of somebody', { amount: 5, payee_postal: 'DE1' }],
  ])('is found %s', (_how, args) => {
    expect(moves(args)).toBe(true);
  });

  it.each(
    '100|1e5|0x64|１００|١٠٠|EUR 2,500.00|2.500,00 EUR|USD100|100 dollars|.5|$.50|100k|one hundred|zweihundert|五百|Ⅻ|½|all|the full balance|-5|50%|> 100'.split(
      '|',
    ),
  )('counts %s as an amount', (amount) => {
    expect(moves({ amount, payee: 'x' })).toBe(true);
  });

  it('counts an amount and a payee that are long', () => {
    expect(moves({ amount: `100${' '.repeat(500)}.`, payee: 'x'.repeat(500) })).toBe(true);
  });

  it.each<[string, unknown, string?]>([
    ['an amount alone', { amount: 5 }],
    ['somebody alone', { to: 'vendor' }],
    ['a value of no currency to somebody', { value: 5, to: 'vendor' }],
    ['an amount in a span of time', { amount: 5, from: '2026-01-01', to: '2026-02-01' }],
    ['an amount since a day', { amount: 5, start_date: '2026-01-01', to: '2026-02-01' }],
    ['so much of a thing in another measure', { amount: '200g', to: 'oz' }],
    ['payments to somebody before a day', { payee: 'x', payment_before: '2026-01-01', payment_date: '2026-01-01' }],
    ['an amount up to now', { amount: 5, from: 'now-1h', to: 'now' }],
    ['other names that hold the letters', { summary: 1, to: 'x' }],
    ['no number', { amount: 'large', to: 'x' }],
    ['a lowest amount of a vendor', { min_amount: 5, vendor: 'x' }],
    ['a lowest amount for somebody', { amount: { gte: 5 }, to: 'x' }],
    ['a text beside a vendor', { amount: 'desc', merchant: 'x' }],
    ['how often', { payee: 'x', count: 90_000 }],
    ['so much of a thing', { amount: '100g', user: 'u1' }],
    ['a stock and how many', { symbol: 'ETH', quantity: 5, account: 'a' }],
    ['a span of amounts', { min_amount: 5, max_amount: 10, payee: 'x' }],
    ['an exchange rate', { amount: 100, from: 'EUR', to: 'USD' }, 'get_exchange_rate'],
    ['an exchange rate by other names', { amount: 100, from_currency: 'EUR', to_currency: 'USD' }, 'get_exchange_rate'],
    ['a base and a target', { amount: 100, base: 'EUR', to: 'usd' }, 'get_exchange_rate'],
    ['a rate of a base and a target', { amount: 100, base: 'EUR', target: 'USD' }, 'get_exchange_rate'],
    ['the tax of a place', { amount: 100, to_state: 'NY' }],
    ['a flight', { price: 300, to: 'JFK' }, 'search_flights'],
    ['a flight below a price', { origin: 'LHR', destination: 'JFK', max_price: 300 }, 'search_flights'],
    ['a product of a price for a customer', { price: 5, customer: 'c1' }],
    ['a sentence under a value', { value: 'see page 5 of the report', payee: 'x' }],
    ['orders of an account', { account_id: 'a1', min_amount: 5, limit: 10 }],
    ['two currencies in objects', { amount: 5, from: { currency: 'EUR' }, to: { currency: 'USD' } }],
    ['the country of somebody', { amount: 5, payee_country: 'DE', to: { country: 'US' } }],
    ['the currency of an amount', { amount: { currency: 'EUR' }, payee: 'x' }],
    ['the kind of a vendor', { amount: 5, vendor_type: 'retail' }],
    ['an address', { url: 'https://example.com/?amount=5&to=x' }],
    ['nothing', undefined],
  ])('is not found in %s', (...[, args, tool]) => {
    expect(moves(args, tool)).toBe(false);
  });

  it.each([
    ['a rate with somebody beside it', { amount: 100, from: 'EUR', to: 'USD', payee: 'x' }, 'get_exchange_rate'],
    ['an exchange that is no rate', { amount: 100, from: 'EUR', to: 'USD' }, 'get_currency_exchange'],
    ['a flight with an amount', { amount: 300, to: 'JFK' }, 'search_flights'],
    ['a flight with somebody to be paid', { price: 300, to: 'JFK', payee: 'x' }, 'search_flights'],
  ])('is found in %s', (_what, args, tool) => {
    expect(moves(args, tool)).toBe(true);
  });

  it('is all that is there, each once, with the currency of each', () => {
    expect(
      of({
        memo: { amount: 25, payee: 'vendor' },
        amount: 90_000,
        currency: 'EUR',
        to: 'attacker',
        fee: { amount: 25, currency: 'USD' },
      }),
    ).toEqual({
      amounts: [
        { amount: '25', currency: 'EUR' },
        { amount: '90000', currency: 'EUR' },
        { amount: '25', currency: 'USD' },
      ],
      payees: ['vendor', 'attacker'],
      more: false,
    });
  });

  it.each([
    [{ units: '90000', nanos: 0 }, '90000'],
    [{ units: '90000', nanos: 500_000_000 }, '90000.5'],
    [{ units: 0, nanos: -10_000_000 }, '-0.01'],
    [{ units: '-1', nanos: '-750000000' }, '-1.75'],
    [{ nanos: 5, scale: 9 }, '5'],
    [{ value: 5, decimals: 2, day: 9 }, '5'],
  ])('reads %j as one amount, %s', (amount, text) => {
    expect(of({ amount, payee: 'x' }).amounts).toEqual([{ amount: text, currency: null }]);
  });

  it.each<[string, unknown, string | null]>([
    ['its object', { amount: 5, currency: { code: 'BTC', name: 'Bitcoin' } }, 'BTC'],
    ['the object nearest to it', { details: { amount: 5, currency: { code: 'BTC' } }, currency: 'EUR' }, 'BTC'],
    ['its symbol, where no code stands', { amount: 5, currency: { id: '12', symbol: '$' } }, '$'],
    ['another name', { amount: 5, asset: 'BTC' }, 'BTC'],
    ['its own name', { amount_btc: 5 }, 'BTC'],
    ['the name of a member', { amount: { BTC: 5 } }, 'BTC'],
    ['two of the same', { usd_amount: 5, currency: 'usd' }, 'usd'],
    ['two names', { amount: 5, currency: 'USD', token: 'BTC' }, 'several currencies (USD, BTC)'],
    ['its own name and another', { amount_btc: 5, currency: 'USD' }, 'several currencies (USD, BTC)'],
    ['a member and another name', { amount: { BTC: 5 }, currency: 'USD' }, 'several currencies (USD, BTC)'],
    ['a note, which says nothing of it', { amount: 5, memo: { currency: 'EUR' } }, null],
    ['a secret, which is no currency', { amount: 5, token: 'eyJhbGciOi' }, null],
  ])('has the currency of %s', (_where, args, currency) => {
    expect(of({ ...(args as object), payee: 'x' }).amounts).toEqual([{ amount: '5', currency }]);
  });

  it('of a payment is also the ends of spans, and how often', () => {
    const args = { amount: 1, min_amount: 3, max_amount: 5, currency: 'EUR', count: 9, times: 1, payee: 'x' };
    expect(read(readArguments(args), 'send_money', 'pays').amounts).toEqual([
      { amount: '1', currency: 'EUR', label: null, minor: null, times: 1, isNumber: true },
      { amount: '3', currency: 'EUR', label: 'at least', minor: null, times: 1, isNumber: true },
      { amount: '5', currency: 'EUR', label: 'at most', minor: null, times: 1, isNumber: true },
      { amount: '9', currency: null, label: 'count', minor: null, times: 1, isNumber: true },
    ]);
  });

  it('is the ends of a span too where nothing says that the tool only looks', () => {
    const args = readArguments({ payee: 'x', max_amount: 90_000, min_amount: 0 });
    expect(read(args, 'create_mandate', 'other').amounts.map(({ amount }) => amount)).toEqual(['90000', '0']);
    expect(read(args, 'list_mandates', 'looks').amounts).toEqual([]);
  });

  it('says how often wherever an amount is told, and the rules hear of amounts alone', () => {
    const args = { payee: 'x', amount: 10, repeat: 900 };
    expect(read(readArguments(args), 'process_order', 'other').amounts).toMatchObject([
      { amount: '10', label: null },
      { amount: '900', label: 'count' },
    ]);
    expect(of(args).amounts).toEqual([{ amount: '10', currency: null }]);
  });

  it('tells somebody that an object describes in one text', () => {
    const payee = (name: string) => ({ name, iban: 'DE1', bank: { country: 'DE' } });
    expect(of({ payees: [payee('Ada'), payee('Bob')], amount: 5 }).payees).toEqual(['Ada, DE1', 'Bob, DE1']);
  });

  it('lists so many for the rules, and says that there are more', () => {
    const { amounts, payees, more } = of({
      amounts: Array.from({ length: 50 }, (_, at) => at),
      payee: 'x'.repeat(500),
    });
    expect([amounts.length, payees[0]?.length, more]).toEqual([12, 256, true]);
  });

  it('is in the smaller unit where a name says so, as it is written', () => {
    const args = { amount_cents: 5, fee: { minor: { value: 7 } }, amount: 9, minority: 1, payee: 'x' };
    const { amounts } = read(readArguments(args), 'send_money', 'pays');
    expect(amounts.map(({ amount, minor }) => [amount, minor])).toEqual([
      ['5', 'cents'],
      ['7', 'minor'],
      ['9', null],
    ]);
    expect(facts(args, 'x').amounts.map(({ amount }) => amount)).toEqual(['5', '7', '9']);
  });

  it('counts how often an amount stands there', () => {
    const transfers = [
      { amount: 1, to: 'a' },
      { amount: 1, to: 'b' },
    ];
    expect(read(readArguments({ transfers }), 'x', 'other').amounts).toEqual([
      { amount: '1', currency: null, label: null, minor: null, times: 2, isNumber: true },
    ]);
  });

  it('takes time in proportion to the arguments, and ends where its time is over', () => {
    const long = { [`to${'x'.repeat(30_000)}`]: Array.from({ length: 4_000 }, () => 'x') };
    const deep = nested({ amount: Array.from({ length: 4_000 }, (_, at) => at), to: 'x' }, 4_000);
    const many = Array.from({ length: 4_000 }, (_, at) => `C${at}`);
    const coins = { currency: many, amount: many.map((_, at) => at), payee: { type: many } };
    const wide = { currency: 'E'.repeat(1_000_000), amount: coins.amount, payee: 'x' };
    for (const args of [long, deep, coins, wide]) {
      const began = performance.now();
      of(args);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    expect(() => facts(deep, 'x', lasting(-1))).toThrow(TookTooLong);
  });
});

describe('how large an amount is', () => {
  it.each([
    ['90000', 90_000],
    ['EUR 2,500.00', 2_500],
    ['2.500,00 €', 2_500],
    ['1.000', 1_000],
    ['.5', 0.5],
    ['1e5', 100_000],
    ['2.5m', 2_500_000],
    ["1'000.50", 1_000.5],
    ['all', Number.POSITIVE_INFINITY],
    ['100 dollars', 100],
    ['$5 USD', 5],
    ['0x64', Number.POSITIVE_INFINITY],
    ['9 crore', Number.POSITIVE_INFINITY],
    ['90 lakh', Number.POSITIVE_INFINITY],
    ['9万', Number.POSITIVE_INFINITY],
    ['1 and then 90000', Number.POSITIVE_INFINITY],
    [`1${' '.repeat(300)}000000`, Number.POSITIVE_INFINITY],
  ])('%s', (text, size) => {
    expect(magnitudeOf(text)).toBe(size);
  });

  it('depends on the reader where three digits stand behind a point', () => {
    expect([magnitudeOf('9.999', 'fraction'), magnitudeOf('9.999', 'thousands')]).toEqual([9.999, 9_999]);
  });
});
