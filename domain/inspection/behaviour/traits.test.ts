import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import { loadTraitsReader } from '../../../adapters/inspection/traits-reader.js';
import type { CallTraits, TraitsReader } from './traits.js';

let readTraits: TraitsReader;
beforeAll(async () => {
  readTraits = await loadTraitsReader();
});
const of = (given: JsonObject, tenant = 'acme'): CallTraits =>
  readTraits(tenant, { tool: 'wire_transfer', arguments: given }, null);
const keysOf = (given: JsonObject, tenant?: string): string[] => of(given, tenant).destinations.map(({ key }) => key);

describe('what a call does: amounts', () => {
  it.each<[JsonObject, CallTraits['amounts']]>([
    [{ amount: 40, to: 'x' }, [{ unit: '', size: 40 }]],
    [{ amount: '1,200.50', currency: 'eur', to: 'x' }, [{ unit: 'EUR', size: 1_200.5 }]],
    [{ amount_cents: 129_900, currency: 'EUR', to: 'x' }, [{ unit: 'EUR', size: 1_299 }]],
    [{ amount: 'three or 4', to: 'x' }, [{ unit: '', size: null }]],
    [{ payments: [40, 40, 60].map((amount) => ({ amount, payee: 'x' })) }, [{ unit: '', size: 140 }]],
    [{ payload: JSON.stringify({ amount: 4_000_000, payee: 'x' }) }, [{ unit: '', size: 4_000_000 }]],
    [{ path: 'a.txt' }, []],
    [{ amount: '€100', to: 'x' }, [{ unit: 'EUR', size: 100 }]],
    [{ amount: '100 euros', to: 'x' }, [{ unit: 'EUR', size: 100 }]],
    [{ amount: 'US$100', to: 'x' }, [{ unit: 'USD', size: 100 }]],
    [{ amount: '100 BTC', to: 'x' }, [{ unit: 'BTC', size: 100 }]],
    [{ amount: '¥100', to: 'x' }, [{ unit: '¥', size: 100 }]],
    [{ amount: 100, currency: 'Euro', to: 'x' }, [{ unit: 'EUR', size: 100 }]],
    [{ amount: 100, currency: 'US dollars', to: 'x' }, [{ unit: 'USD', size: 100 }]],
    [{ amount: '100 EUR', currency: 'EUR', to: 'x' }, [{ unit: 'EUR', size: 100 }]],
    [{ amount: '100 BTC', currency: 'EUR', to: 'x' }, [{ unit: 'BTC/EUR', size: 100 }]],
  ])('%j', (given, amounts) => {
    expect(of(given).amounts).toEqual(amounts);
  });
});

describe('what a call does: destinations', () => {
  it('is the same in another letter case, with blanks and with characters that nobody sees', () => {
    const [key] = keysOf({ amount: 1, payee: 'DE89 3704 0044' });
    expect(key).toBeDefined();
    for (const payee of ['de8937040044', ' DE89\u00A03704 0044', 'DE89\u200B37040044', 'ＤＥ８９３７０４００４４'])
      expect(keysOf({ amount: 1, payee })).toEqual([key]);
    expect(keysOf({ amount: 1, payee: 'DE89 3704 0045' })).not.toEqual([key]);
  });

  it('looks like the one that it is drawn like, and is another', () => {
    const [own] = of({ amount: 1, payee: 'paypal-support' }).destinations;
    const [alike] = of({ amount: 1, payee: 'pаypаl-supp0rt' }).destinations;
    expect(alike?.look).toBe(own?.look);
    expect(alike?.key).not.toBe(own?.key);
    const [first, second] = ['acc-1-11', 'acc-11-1'].map((payee) => of({ amount: 1, payee }).destinations[0]?.look);
    expect(first).not.toBe(second);
  });

  it('is the host of an address on the web, each address of a mail, and a named host', () => {
    expect(keysOf({ url: 'https://Example.org/a?b=c' })).toEqual(keysOf({ host: 'example.org' }));
    expect(keysOf({ to: 'Ann <ann@acme.example>; bob@acme.example' })).toEqual([
      ...keysOf({ mail: 'ann@acme.example' }),
      ...keysOf({ mail: 'bob@acme.example' }),
    ]);
    expect(keysOf({ text: 'write to ann@acme.example, please' })).toEqual([]);
  });

  it('has another hash for each tenant, and no argument in clear text', () => {
    const given = { amount: 7, payee: 'somebody-known' };
    expect(keysOf(given, 'acme')).not.toEqual(keysOf(given, 'globex'));
    expect(JSON.stringify(of(given))).not.toContain('somebody');
  });
});

describe('what a call does: hostile arguments', () => {
  it('reads nothing of arguments that are too large, and says so', () => {
    expect(of({ note: 'x'.repeat(20_000), amount: 4 })).toMatchObject({ large: true, amounts: [], destinations: [] });
  });

  const nested = (depth: number): JsonObject => {
    let inner: JsonObject = { amount: 5, payee: 'x' };
    for (let at = 0; at < depth; at += 1) inner = { a: inner };
    return inner;
  };
  it.each<[string, JsonObject]>([
    ['deep', nested(4_000)],
    ['wide', Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`payee_${at}`, `p${at}`]))],
    [
      'many currencies',
      { list: Array.from({ length: 200 }, (_, at) => ({ amount: at + 1, currency: `C${at}`, payee: 'x' })) },
    ],
    ['proto', JSON.parse('{"__proto__":{"amount":1},"constructor":{"amount":2,"payee":"x"}}') as JsonObject],
    ['lone marks', { payee: '\u200B\u200B', amount: -0 }],
    ['addresses', { url: 'https://', to: '@@@@@', mail: `${'a@b,'.repeat(400)}a@b`, host: ' ' }],
  ])('is bounded: %s', (_, given) => {
    const traits = of(given);
    expect(traits.destinations.length).toBeLessThanOrEqual(16);
    expect(traits.amounts.length).toBeLessThanOrEqual(5);
    expect(JSON.stringify(traits).length).toBeLessThan(4_096);
  });
});
