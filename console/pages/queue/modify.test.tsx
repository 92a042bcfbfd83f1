import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import type { PendingRequest } from '../../../contracts/review.js';
import type { Form, Shown, Visit } from '../../visit.js';
import { changesIn, PREVIEW } from './modify.js';

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
const formWith = (fields: Readonly<Record<string, string>>): Form => ({
  all: (name) => (fields[name] === undefined ? [] : [fields[name]]),
  get: (name) => fields[name] ?? '',
  names: () => Object.keys(fields),
});
const visitTo = (row: PendingRequest) =>
  ({
    csrf: 'c',
    params: { id: row.id },
    query: {},
    passkeyFor: () => false,
    services: { hil: { row: () => Promise.resolve(row) } },
  }) as unknown as Visit;

describe('what a form changes of a call', () => {
  it('is each value of another text, read as the type that stood there', () => {
    const row = rowWith({ amount: 25, urgent: false, memo: 'a\r\nb', none: null, list: [1] });
    const form = formWith({ 'value.0': '12', 'value.1': 'true', 'value.2': 'a\r\nb', 'value.3': '', 'value.4': '2' });
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
    expect(() => changesIn(rowWith({ amount: 1 }), formWith({ 'value.0': typed }))).toThrow('amount is a number');
  });
});

describe('the change that is looked at', () => {
  it('marks what is sent and nothing else, whatever names an agent gave its arguments', async () => {
    const row = rowWith({ to: { account: 'EVIL' }, 'to\naccount': 'EVIL' });
    const form = formWith({ 'value.0': 'SAFE', 'value.1': 'EVIL' });
    expect(changesIn(row, form).replacements).toEqual([{ path: ['to', 'account'], value: 'SAFE' }]);
    const { body } = (await PREVIEW.act(visitTo(row), form)) as Shown;
    const html = render(body);
    expect(html.match(/class="changed"/g)).toHaveLength(1);
    expect(html.match(/<ins>[^<]*SAFE/g)).toHaveLength(1);
  });
});
