import { describe, expect, it, jest } from '@jest/globals';
import { render } from 'preact-render-to-string';
import type { Json, JsonObject } from '../../../contracts/json.js';
import { batchRequest } from '../../../test/support/batch-request.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import type { PendingRequest } from '../../../contracts/review.js';
import { Arguments, foldedIn, leavesIn, readingOf, valueText } from './arguments.js';

const replaceable = (row: { readonly method: string; readonly request_payload: JsonObject }): string[] =>
  leavesIn(row).flatMap(({ path, replaceable: may }) => (may ? [path.join('.')] : []));

describe('what an approver may change of a batch', () => {
  it.each(['bare', 'sdk'] as const)(
    'is the arguments of its calls, and nothing that says which calls they are: %s',
    (shape) => {
      const request_payload = batchRequest(
        [
          { id: 'a', name: 'pay', arguments: { amount: 5, to: ['x'], note: { text: 'hi' } } },
          { id: 'b', name: 'tell', arguments: {} },
        ],
        shape,
      );
      expect(replaceable({ method: 'gate/tools.batch', request_payload })).toEqual([
        'calls.0.arguments.amount',
        'calls.0.arguments.note.text',
      ]);
    },
  );

  it('is of any other call what no list leads to', () => {
    const request_payload = { method: 'tools/call', params: { name: 'pay', arguments: { amount: 5, to: ['x'] } } };
    expect(replaceable({ method: 'tools/call', request_payload })).toEqual(['amount']);
  });
});

describe('a call without arguments', () => {
  const row = (method: string, params: JsonObject) =>
    ({ method, request_payload: { method, params } }) as unknown as PendingRequest;

  it('shows none: its tool’s name is no argument', () => {
    const none = row('tools/call', { name: 'wire_transfer', _meta: { a: 1 } });
    expect(leavesIn(none)).toEqual([]);
    const html = render(<Arguments row={none} />);
    expect(html).toContain('It has none.');
    expect(html).not.toContain('wire_transfer');
    expect(html).toContain('data-arguments-end');
  });

  it('of another method shows what it says, of which nothing can be changed', () => {
    const other = row('custom/method', { name: 'x' });
    expect(leavesIn(other)).toMatchObject([{ name: 'name', value: 'x', replaceable: false }]);
  });
});

describe('a call that is dear to look at', () => {
  /** How many characters are looked at while its page is made. */
  const looksAt = (values: number): number => {
    const body = Array.from({ length: values }, () => 'a\u04301\u0660'.repeat(40));
    const row = {
      method: 'tools/call',
      request_payload: { params: { name: 'http_request', arguments: { body } } },
    } as unknown as PendingRequest;
    const looks = jest.spyOn(String.prototype, 'codePointAt');
    try {
      expect(readingOf(row).isWhole).toBe(true);
      foldedIn(row);
      render(<Arguments row={row} />);
      return looks.mock.calls.length;
    } finally {
      looks.mockRestore();
    }
  };

  it('is gone through once for all that its page says of it', () => {
    const [some, more] = [looksAt(75), looksAt(150)];
    expect(more).toBeLessThan(2.2 * some);
    expect(more).toBeLessThan(150 * 160 * 45);
  });
});

describe('the arguments as an approver reads them', () => {
  const rowWith = (args: object) =>
    ({
      method: 'tools/call',
      request_payload: { params: { name: 'pay', arguments: args } },
    }) as unknown as PendingRequest;
  const shown = (args: object) => render(<Arguments row={rowWith(args)} />);

  it.each([
    ['25', '"25"'],
    ['-1.5e3', '"-1.5e3"'],
    ['25 ', '"25 "'],
    ['\nx', '"\nx"'],
    ['Dear "all",\n\nbye\n', '"Dear \\"all\\",\n\nbye\n"'],
    ['true', '"true"'],
    ['null', '"null"'],
    ['', '""'],
    ['[]', '"[]"'],
    ['"x"', '"\\"x\\""'],
    ['25 EUR', '25 EUR'],
    ['a "b"\nc', 'a "b"\nc'],
    [25, '25'],
    [true, 'true'],
    [null, 'null'],
    [[], '[]'],
  ] as const)('are quoted where they could be read as something else: %j is %s', (value, told) => {
    expect(valueText(value)).toBe(told);
  });

  it('tell a place of a list from a key, and the whole from both', () => {
    const names = (args: Json) =>
      leavesIn({ method: 'tools/call', request_payload: { params: { arguments: args } } }).map(({ name }) => name);
    expect(names({ to: ['x', { a: 1 }], '0': 'x', '[0]': 1, '(all)': 1 })).toEqual([
      '"(all)"',
      '0',
      '"[0]"',
      'to[0]',
      'to[1].a',
    ]);
    expect(names(['x'])).toEqual(['[0]']);
    expect(names({})).toEqual(['(all)']);
  });

  it('stand in canonical order, whatever order their agent chose, as in the terminal', () => {
    const args = { memo: 'x', amount: 90_000, 9: 1, 10: 1, to: { iban: 'DE1', bic: 'X' } };
    const order = ['10', '9', 'amount', 'memo', 'to.bic', 'to.iban'];
    expect(leavesIn(rowWith(args)).map(({ name }) => name)).toEqual(order);
    const json = shown(args).split('As JSON')[1] ?? '';
    const places = order.map((name) => json.indexOf(`&quot;${name.split('.').at(-1)}&quot;`));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
  });

  it('are open to their ends, of texts that somebody reads', () => {
    const html = shown({ query: `${'x'.repeat(3_900)}; drop table` });
    expect(html.split('<details')[0]).toContain('x; drop table</span>');
    expect(foldedIn(rowWith({ query: 'x'.repeat(4_000) }))).toBe(0);
  });

  it('fold longer texts, with length and digest, and are counted', () => {
    const text = `${'x'.repeat(4_000)}é`;
    const html = shown({ text, more: 1 });
    expect(html).toContain('folded: 4001 characters</span></summary>');
    // Not in what is pressed to unfold it.
    expect(html.split('</summary>')[1]).toMatch(
      new RegExp(`</details><span class="dim">SHA-256 of its UTF-8 <code[^>]* data-copy="${sha256Hex(text)}">`),
    );
    expect(html).toContain(`${text}</span></details>`);
    expect(foldedIn(rowWith({ text, more: { text } }))).toBe(2);
  });

  it('are the open JSON, in which nothing is folded, where they are too many to be listed', () => {
    const args = { text: 'x'.repeat(5_000), list: Array.from({ length: 64 }, (_, at) => at) };
    expect(shown(args)).toContain('<details open');
    expect(shown(args)).not.toContain('<table');
    expect(foldedIn(rowWith(args))).toBe(0);
  });
});
