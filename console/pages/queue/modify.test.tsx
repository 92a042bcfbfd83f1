import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { VNode } from 'preact';
import { render } from 'preact-render-to-string';
import type { PendingRequest } from '../../../contracts/review.js';
import { GateError } from '../../../domain/errors.js';
import type { Form, Shown, Visit } from '../../visit.js';
import { Arguments, valueText } from './arguments.js';
import { changesIn, CHANGE_MORE, MODIFY_FORM, PREVIEW } from './modify.js';
import { queueShown } from './queue.js';
import { fieldsIn, partsIn, textOf, wordsIn } from '../../../test/support/html.js';

const rowWith = (args: object) =>
  ({
    id: '00000000-0000-4000-8000-000000000000',
    agent_id: 'bot',
    method: 'tools/call',
    status: 'pending',
    approval_tier: null,
    original_payload_digest: 'sha256:0',
    request_payload: { params: { name: 'pay', arguments: args } },
  }) as unknown as PendingRequest;
const DECIDED = {
  status: 'approved',
  tenant: 'acme',
  correlation_id: '00000000-0000-4000-8000-000000000001',
  created_at: '2026-11-02T10:00:00.000Z',
  ttl_seconds: 600,
  decided_at: '2026-11-02T10:00:30.000Z',
  decided_by: 'ann',
  review_reasons: [],
  risk_summary: 'Review: money.',
};
const formWith = (fields: Readonly<Record<string, string>>): Form => ({
  all: (name) => (fields[name] === undefined ? [] : [fields[name]]),
  get: (name) => fields[name] ?? '',
  // Each value is looked up: looked for among the names, a form of ten thousand takes seconds.
  names: () => {
    throw new Error('asked for all names');
  },
  written: () => [],
});
const visitTo = (row: PendingRequest) =>
  ({
    csrf: 'c',
    params: { id: row.id },
    query: {},
    signing: () => Promise.resolve(() => false),
    services: { hil: { row: () => Promise.resolve(row) } },
  }) as unknown as Visit;

describe('a call of which nothing can be changed', () => {
  it('has no form, and a form about it changes nothing', async () => {
    const row = { ...rowWith({}), request_payload: { params: { name: 'pay' } } } as unknown as PendingRequest;
    const form = formWith({ 'value.0': 'delete_file' });
    expect(changesIn(row, form).replacements).toEqual([]);
    const html = render(((await CHANGE_MORE.act(visitTo(row), form)) as Shown).body);
    expect(html).toContain('no argument whose value can be changed');
    expect(html).not.toContain('<form');
  });
});

describe('what was predicted', () => {
  const REPORT = { severity: 'risky', operation_class: 'write', summary: 'move 25 to `vendor`', reversible: 'no' };
  const FORM = formWith({ 'value.0': '9' });

  it('is told before a change as of the call that was asked for, where there is a prediction', async () => {
    const shown = async (report: object | null) => {
      const row = { ...rowWith({ amount: 25 }), sandbox_report: report } as unknown as PendingRequest;
      const html = render(((await PREVIEW.act(visitTo(row), FORM)) as Shown).body);
      return wordsIn(html);
    };
    expect(await shown(REPORT)).toContain(
      'Nobody predicted what this does. Of the call as its agent asked for it, before the change: risky: move 25 to `vendor` (cannot be undone).',
    );
    expect(await shown(null)).not.toContain('predicted');
  });

  it.each([
    ['with its change', { modification_diff: { contract: 'c', replacements: [{ path: ['amount'], value: 9 }] } }, true],
    ['whose change is gone with its request', { reviewed_payload_digest: 'sha256:1' }, true],
    ['that was not changed', {}, false],
  ])('stands on the page of a call %s as what it is', async (_, more, isSaid) => {
    const row = {
      ...rowWith({ amount: 25 }),
      ...DECIDED,
      ...more,
      sandbox_report: REPORT,
    } as unknown as PendingRequest;
    const visit = {
      ...visitTo(row),
      query: { part: 'detail' },
      person: { subject: 'ann', tenant: 'acme', role: 'approver', mode: 'x' },
      twice: [],
      mayPost: () => true,
      about: { startedAt: '' },
      nowMs: Date.parse('2026-11-02T10:01:00.000Z'),
      services: {
        hil: { row: () => Promise.resolve(row), lately: () => Promise.resolve([]) },
        ledger: { broken: () => null },
      },
    } as unknown as Visit;
    const text = wordsIn(render((await queueShown(visit, row.id)).body));
    expect(text).toContain('move 25 to vendor');
    expect(text.includes('this is of the call as its agent asked for it, before the changes')).toBe(isSaid);
  });
});

describe('what a form changes of a call', () => {
  it('is each value of another text, read as the type that stood there', () => {
    const row = rowWith({ amount: 25, urgent: false, memo: 'a\r\nb', none: null, list: [1] });
    // In canonical order: amount, list[0], memo, none, urgent.
    const form = formWith({ 'value.0': '12', 'value.1': '2', 'value.2': 'a\r\nb', 'value.3': '', 'value.4': 'true' });
    expect(changesIn(row, form).replacements).toEqual([
      { path: ['amount'], value: 12 },
      { path: ['urgent'], value: true },
    ]);
  });

  it.each([
    ['amount', '12x'],
    ['amount', ''],
    ['amount', '0x10'],
    ['amount', '1e999'],
  ])('refuses what is no number: %s=%s', (_name, typed) => {
    expect(() => changesIn(rowWith({ amount: 1 }), formWith({ 'value.0': typed }))).toThrow('amount takes a number');
  });

  it.each(['9007199254740993', '-9007199254740992', '1e21', '9007199254740993.5'])(
    'refuses what would be sent as another number: %s',
    (typed) => {
      expect(() => changesIn(rowWith({ a: [{}], amount: 1 }), formWith({ 'value.1': typed }))).toThrow(
        'amount takes a number of at most 2^53-1',
      );
    },
  );
});

describe('the change that is looked at', () => {
  it('marks what is sent and nothing else, whatever names an agent gave its arguments', async () => {
    const row = rowWith({ to: { account: 'EVIL' }, 'to\naccount': 'EVIL' });
    const form = formWith({ 'value.0': 'SAFE', 'value.1': 'EVIL' });
    expect(changesIn(row, form).replacements).toEqual([{ path: ['to', 'account'], value: 'SAFE' }]);
    const { body } = (await PREVIEW.act(visitTo(row), form)) as Shown;
    const html = render(body);
    expect(html.match(/class="changed"/g)).toHaveLength(1);
    expect(partsIn(html, 'ins').filter((part) => textOf(part).includes('SAFE'))).toHaveLength(1);
    expect(html).toContain('The ledger keeps what you change in clear');
  });
});

it('says of a text that cannot be typed whether it has letters that pass for others, or ones that nobody sees', async () => {
  const row = rowWith({ a: 'p\u0430yp\u0430l', b: 'x\u200by', c: 'plain' });
  const html = render(((await MODIFY_FORM.show(visitTo(row))) as Shown).body);
  expect(html.match(/has [^;]*/g)).toEqual([
    'has letters that pass for others',
    'has characters that are shown as escapes',
  ]);
});

it.each(['zzz', '', '../x'])('asks the review service for no call of the id %j: there is none', async (id) => {
  const visit = { ...visitTo(rowWith({ a: 1 })), params: { id } };
  expect(await MODIFY_FORM.show(visit)).toMatchObject({ status: 404 });
});

it('shows lines of texts as lines, as they were read before', async () => {
  const row = rowWith({ body: 'Dear all,\n\nout.\n' });
  const { body } = (await PREVIEW.act(visitTo(row), formWith({ 'value.0': 'Dear all,\nmore.' }))) as Shown;
  const html = render(body);
  expect(partsIn(html, 'td', { class: 'foreign text' }).map(textOf)).toContain('"Dear all,\n\nout.\n"');
  expect(partsIn(html, 'ins').map(textOf)).toContain('Dear all,\nmore.');
});

describe('the arguments that are read, and the change that is looked at', () => {
  const key = fc.constantFrom('a', 'b', '0', 'a.b', ' ');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(fc.constantFrom('', '25', 'x'), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3 }),
    ),
  }));
  /** Written again, apart from what is tested: where anything ends, with what stands there. */
  const endsOf = (of: unknown, name = ''): [string, string][] => {
    const inside = of !== null && typeof of === 'object' ? Object.entries(of) : [];
    if (!Array.isArray(of)) inside.sort(([one], [other]) => (one < other ? -1 : 1));
    if (inside.length === 0) return [[name, JSON.stringify(of)]];
    const quoted = (at: string) => (/^\w+$/.test(at) ? at : JSON.stringify(at));
    const nameOf = (at: string) =>
      Array.isArray(of) ? `${name}[${at}]` : name === '' ? quoted(at) : `${name}.${quoted(at)}`;
    return inside.flatMap(([at, item]) => endsOf(item, nameOf(at)));
  };
  /** Each line of the table: its place, and what stands first beside it. */
  const linesIn = (body: VNode): string[][] =>
    partsIn(render(body), 'tr').flatMap((row) => {
      const [head] = partsIn(row, 'th', { scope: 'row' });
      return head === undefined ? [] : [[head, ...partsIn(row, 'td').slice(0, 1)].map(textOf)];
    });

  it('show every place of the JSON, each empty list and object too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value, { maxKeys: 4 }), async (more) => {
        const given = { ...more, amount: 1 };
        const row = rowWith(given);
        const ends = endsOf(given);
        fc.pre(ends.length <= 40);
        const amount = ends.findIndex(([name]) => name === 'amount');
        const { body } = (await PREVIEW.act(visitTo(row), formWith({ [`value.${amount}`]: '2' }))) as Shown;
        const shown = ends.map(([name, at]) => [name, valueText(JSON.parse(at) as string)]);
        expect(linesIn(body)).toEqual(shown);
        expect(linesIn(<Arguments row={row} />)).toEqual(shown);
      }),
    );
  });
});

describe('values that nobody touched', () => {
  /** What a browser sends of the form: it reads every line break as LF, leaves out the first line break of a text, and sends each as CRLF. */
  const sentOf = (body: VNode): Record<string, string> => {
    const values = Object.entries(fieldsIn(render(body))).filter(([name]) => name.startsWith('value'));
    return Object.fromEntries(values.map(([name, typed]) => [name, typed.replaceAll(/\r?\n/g, '\r\n')]));
  };

  it('stay as they are through any number of previews, however they begin', async () => {
    const text = fc.string({ unit: fc.constantFrom('\n', 'a', '<', '&', ' '), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(text, text, async (lead, second) => {
        const row = rowWith({ lead, n: 1, second });
        let sent: Record<string, string> = { 'value.0': lead, 'value.1': '2', 'value.2': second };
        for (let round = 0; round < 3; round += 1) {
          const preview = (await PREVIEW.act(visitTo(row), formWith(sent))) as Shown;
          const more = (await CHANGE_MORE.act(visitTo(row), formWith(sentOf(preview.body)))) as Shown;
          sent = sentOf(more.body);
          expect(changesIn(row, formWith(sent)).replacements).toEqual([{ path: ['n'], value: 2 }]);
        }
      }),
    );
  });

  it('stay as they are where what was typed beside them is refused', async () => {
    const row = rowWith({ lead: '\nlead', n: 1 });
    const shown = await PREVIEW.refused(
      visitTo(row),
      formWith({ 'value.0': '\r\nlead', 'value.1': 'two' }),
      new GateError('invalid_request'),
    );
    expect(sentOf(shown.body)).toEqual({ 'value.0': '\r\nlead', 'value.1': 'two' });
  });
});
