import { describe, expect, it } from '@jest/globals';
import type { Listener } from '../domain/upstream/call-talks.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { hidingSecrets } from './hidden-secrets.js';

const SECRET = 'abc/def+ghi/0123456789';

/** An upstream that answers with this. */
const answering = (outcome: Awaited<ReturnType<Upstream['control']>>): Upstream =>
  hidingSecrets(
    {
      callTool: () => Promise.reject(new Error('not asked')),
      control: () => Promise.resolve(outcome),
      close: () => Promise.resolve(),
    },
    () => [SECRET],
  );
const CALLER = { tenant: 'acme', agent: 'bot' } as Parameters<Upstream['control']>[0];
const ask = (outcome: Awaited<ReturnType<Upstream['control']>>) =>
  answering(outcome).control(CALLER, {}, { timeoutMs: 1_000 });

describe('what Gate told an upstream in confidence', () => {
  it.each([
    ['as it is', SECRET],
    ['with its slashes escaped, as some servers write JSON', SECRET.replaceAll('/', '\\/')],
  ])('is not in an answer: %s', async (_how, written) => {
    const reply = await ask({ kind: 'reply', statusCode: 200, text: `{"echo":"${written}"}`, failed: false });
    expect(reply).toMatchObject({ text: '{"echo":"[credential of Gate]"}' });
  });

  it.each(['', '\u2026', '...'])('is not in a reason that was cut within it and ends with %j', async (end) => {
    const reason = `HTTP 401: Bearer ${SECRET.slice(0, 15)}${end}`;
    expect(await ask({ kind: 'not_sent', reason })).toMatchObject({ reason: 'HTTP 401: Bearer [credential of Gate]' });
  });

  it('is not in what a client is asked, nor in the key of the question', async () => {
    const asked: unknown[][] = [];
    const upstream = hidingSecrets(
      {
        async callTool(_caller, _request, { listener }) {
          await listener?.asked('roots/list', `{"a":"${SECRET}"}`, 5, `key ${SECRET}`);
          await listener?.asked('roots/list', '{}', 5);
          return { kind: 'not_sent', reason: '' };
        },
        control: () => Promise.reject(new Error('not asked')),
        close: () => Promise.resolve(),
      },
      () => [SECRET],
    );
    const listener: Listener = {
      progress: false,
      told: () => undefined,
      async asked(...question) {
        asked.push(question);
        return ['result', '{}'];
      },
    };
    await upstream.callTool(CALLER, {}, { timeoutMs: 1_000, listener });
    expect(asked).toEqual([
      ['roots/list', '{"a":"[credential of Gate]"}', 5, 'key [credential of Gate]'],
      ['roots/list', '{}', 5],
    ]);
  });

  it('is no reason to change anything else', async () => {
    expect(await ask({ kind: 'not_sent', reason: 'abc/de was not found' })).toMatchObject({
      reason: 'abc/de was not found',
    });
  });
});
