import { describe, expect, it } from '@jest/globals';
import { maskedAnswer, type ReviewAnswer, summaryShown } from './masked-review.js';

const SECRET = 'ann@acme.example';
const ROW = { id: 'a', agent_id: 'payments-agent', request_payload: { to: SECRET }, risk_summary: `pays ${SECRET}` };
const SUMMARY = {
  id: 'a',
  correlation_id: 'b',
  agent_id: 'c',
  method: 'd',
  tool: 'e',
  risk_summary: '',
  predicted: SECRET,
};

describe('an answer of the review service, for who looks on', () => {
  it.each<[ReviewAnswer, unknown]>([
    ['row', ROW],
    ['row', { ...ROW, review: ROW, note_of_a_later_gate: SECRET }],
    ['rows', [ROW, { rows: [ROW] }]],
    ['summaries', { items: [SUMMARY, { ...SUMMARY, since: SECRET }], next_cursor: 'x', more: { row: ROW } }],
    ['event', { type: 'created', pending: { ...SUMMARY, review: ROW }, at: 'x', row: ROW }],
  ])('is masked as a %s, and so is what nobody has heard of in it: %j', (is, answer) => {
    const masked = maskedAnswer(is, JSON.stringify(answer));
    expect(masked).not.toContain(SECRET);
    expect(masked).toContain('[EMAIL]');
  });

  it.each<[ReviewAnswer, unknown]>([
    ['row', [ROW]],
    ['row', null],
    ['rows', ROW],
    ['rows', { rows: [ROW] }],
    ['rows', { items: [ROW] }],
    ['rows', ['x']],
    ['summaries', [SUMMARY]],
    ['summaries', { rows: [SUMMARY] }],
    ['summaries', { items: [null] }],
    ['event', [SUMMARY]],
    ['event', { pending: null }],
    ['counts', [ROW]],
  ])('is refused as a %s where it is none: %j', (is, answer) => {
    expect(() => maskedAnswer(is, JSON.stringify(answer))).toThrow('something else than was asked for');
  });

  it('is refused where it is no JSON', () => {
    expect(() => maskedAnswer('row', SECRET)).toThrow('something else than was asked for');
  });

  it('keeps what a page is gone on with, and the end of events', () => {
    const cursor = `${'0'.repeat(8)}-0000-4000-8000-000000000001`;
    const page = { items: [], next_cursor: cursor, searched_to: '2026-11-02T10:00:00.000Z', pending_count: 3 };
    expect(JSON.parse(maskedAnswer('summaries', JSON.stringify(page)))).toEqual(page);
    expect(maskedAnswer('event', '{}')).toBe('{}');
  });
});

describe('what an approver changed, for who looks on', () => {
  const REQUEST = {
    method: 'tools/call',
    params: {
      name: 'call',
      arguments: {
        header: { name: 'Authorization', value: 'old-and-secret' },
        login: { password: 'a', note: 'b' },
        n: 1,
      },
    },
  };
  const seen = (replacements: readonly object[], request: object = REQUEST) => {
    const modification_diff = { contract: 'gate.hil.modification-diff/v1', replacements };
    const row = { ...ROW, request_payload: request, modification_diff };
    const { modification_diff: masked } = JSON.parse(maskedAnswer('row', JSON.stringify(row))) as typeof row;
    return (masked.replacements as { value: unknown }[]).map(({ value }) => value);
  };

  it.each([
    ['by its own name', { path: ['login', 'password'], value: 'new' }, '[MASKED]'],
    ['by the name beside it', { path: ['header', 'value'], value: 'new' }, '[MASKED]'],
    ['by its form', { path: ['login', 'note'], value: SECRET }, '[EMAIL]'],
    ['by nothing', { path: ['n'], value: 2 }, 2],
    ['where the request has no such place', { path: ['m'], value: 2 }, '[MASKED]'],
  ])('is masked as the changed request is: %s', (_how, replacement, value) => {
    expect(seen([replacement])).toEqual([value]);
  });

  it('is masked by a name that the change itself puts beside it', () => {
    const request = { ...REQUEST, params: { name: 'call', arguments: { field: { name: 'to', value: 'x' } } } };
    const changes = [
      { path: ['field', 'name'], value: 'password' },
      { path: ['field', 'value'], value: 'new' },
    ];
    expect(seen(changes, request)).toEqual(['password', '[MASKED]']);
  });

  it.each([
    ['its parameters', (calls: object[]) => ({ calls })],
    ['the arguments of a tool', (calls: object[]) => ({ name: 'gate.atomic-batch', arguments: { calls } })],
  ])('is found in the call of a batch, in %s', (_where, params) => {
    const calls = [{ name: 'call', arguments: REQUEST.params.arguments }];
    const path = ['calls', '0', 'arguments', 'header', 'value'];
    expect(seen([{ path, value: 'new' }], { method: 'gate/tools.batch', params: params(calls) })).toEqual(['[MASKED]']);
  });
});

describe('many calls, for who looks on', () => {
  it('are masked as far as one answer may take, and the rest is not shown', () => {
    const rows = Array.from({ length: 100 }, (_, at) => ({
      ...ROW,
      request_payload: {
        method: 'tools/call',
        params: { name: `tool-${at}`, arguments: { text: 'x '.repeat(8_000) } },
      },
    }));
    const [first, last] = [0, 99].map(
      (at) => (JSON.parse(maskedAnswer('rows', JSON.stringify(rows))) as typeof rows)[at]?.request_payload,
    );
    expect(first).toEqual(rows[0]?.request_payload);
    expect(JSON.stringify(last)).toContain('too large to be masked');
    expect(JSON.stringify(last)).not.toContain('x x');
  });
});

describe('why a call waits, for who looks on', () => {
  it('has no secret of the request that its name alone tells', () => {
    const row = {
      ...ROW,
      request_payload: { params: { arguments: { password: 'blue-42' } } },
      risk_summary: 'asks with blue-42',
      review_reasons: ['Review: blue-42 is new'],
    };
    expect(JSON.parse(maskedAnswer('row', JSON.stringify(row)))).toMatchObject({
      risk_summary: 'asks with [MASKED]',
      review_reasons: ['Review: [MASKED] is new'],
    });
  });

  it('has no half of a secret where it was cut, also where a whole one stands before', () => {
    const password = 'correct-horse-battery-staple-9';
    const begin = `Review: ${password} is new; `;
    for (const half of [password.slice(0, 24), '4111 1111 1111 111']) {
      const told = `${begin}${'why '.repeat(200)}`.slice(0, 499 - half.length);
      const risk_summary = `${told} ${half}`;
      expect(risk_summary).toHaveLength(500);
      const row = { ...ROW, request_payload: { params: { arguments: { password } } }, risk_summary };
      const shown = (JSON.parse(maskedAnswer('row', JSON.stringify(row))) as typeof row).risk_summary;
      expect(shown).toMatch(/^Review: \[MASKED\] is new; why .*…$/);
      expect(shown).not.toContain(half.slice(0, 4));
    }
  });

  it('is its summary in a list, where the request is in short and no secret of it is known', () => {
    const row = {
      ...ROW,
      request_payload: { params: { arguments: {} } },
      risk_summary: 'Review: [MASKED] is new',
      review_reasons: ['Review: blue-42 is new'],
      payload_summary: true,
    };
    const [seen] = JSON.parse(maskedAnswer('rows', JSON.stringify([row]))) as (typeof row)[];
    expect(seen?.review_reasons).toEqual(['Review: [MASKED] is new']);
  });

  it('is not told of a request that is too large to be looked through', () => {
    const row = {
      ...ROW,
      request_payload: { params: { arguments: { password: 'blue-42', text: 'x '.repeat(8_200) } } },
      risk_summary: 'asks with blue-42',
      review_reasons: ['Review: blue-42 is new'],
    };
    const seen = JSON.parse(maskedAnswer('row', JSON.stringify(row))) as typeof row;
    expect(seen.risk_summary).toContain('too large to be masked');
    expect(seen.review_reasons).toEqual([seen.risk_summary]);
    expect(JSON.stringify(seen)).not.toContain('blue-42');
  });

  it('is told whole, and masked, where it was not cut', () => {
    expect(summaryShown(`pays ${SECRET} today`)).toBe('pays [EMAIL] today');
  });

  it.each([
    ['a long token', `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(300)}`],
    ['an address with a password', `postgres://admin:Sup3rS3cretPass@db.internal/${'x'.repeat(100)}`],
    ['half a card', '4111 1111 1111 111'],
    ['half a key', 'AKIAIOSFOD'],
  ])('has nothing of %s where it was cut in the middle of it', (_what, half) => {
    const told = `${'why '.repeat(200)}`.slice(0, 499 - half.length);
    const shown = summaryShown(`${told} ${half}`);
    expect(`${told} ${half}`).toHaveLength(500);
    expect(shown).toMatch(/^why why .*…$/);
    expect(shown).not.toContain(half.slice(0, 4));
  });
});
