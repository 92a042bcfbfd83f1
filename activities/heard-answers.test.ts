import { describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../domain/crypto/digest.js';
import type { ClientAnswer, Listener } from '../domain/upstream/call-talks.js';
import { withKeptAnswers } from './heard-answers.js';

const hearing = (answer: (method: string) => Promise<ClientAnswer>, stopped = () => null as string | null) => {
  const listener: Listener = { progress: true, told: () => undefined, asked: answer };
  return withKeptAnswers(listener, stopped);
};
const ANSWER = '{"action":"accept","content":{"sure":"yes"}}';

describe('what a client brings to its tool while its call is under way', () => {
  it('is kept by its digests, those of questions that are open together in one round', async () => {
    const { listener, outcome } = hearing(async () => ['result', ANSWER]);
    await Promise.all(['{"a":1}', '{"b":2}'].map((params) => listener.asked('elicitation/create', params, 1_000)));
    await listener.asked('roots/list', '{}', 1_000, 'key');
    const of = (round: number, method: string, asked: string) => ({
      round,
      method,
      asked_sha256: sha256Hex(asked),
      answer_sha256: sha256Hex(ANSWER),
    });
    expect(outcome()).toEqual({
      answers: [
        of(1, 'elicitation/create', '{"a":1}'),
        of(1, 'elicitation/create', '{"b":2}'),
        of(2, 'roots/list', '{}'),
      ],
    });
    expect(JSON.stringify(outcome())).not.toContain('sure');
  });

  it('says that its client refused, and nothing of what was not answered or came after a stop', async () => {
    const says: [string, () => Promise<ClientAnswer>][] = [
      ['refused', async () => ['error', '{"code":-1,"message":"no"}']],
      ['late', () => Promise.reject(new Error('the client did not answer in time'))],
      ['stopped', async () => ((isStopped = true), ['result', ANSWER])],
    ];
    let isStopped = false;
    const { listener, outcome } = hearing(
      (method) => new Map(says).get(method)?.() ?? Promise.reject(new Error(method)),
      () => (isStopped ? 'tool_suspended' : null),
    );
    await listener.asked('refused', '{}', 1_000);
    await expect(listener.asked('late', '{}', 1_000)).rejects.toThrow('in time');
    await expect(listener.asked('stopped', '{}', 1_000)).rejects.toThrow('tool_suspended');
    expect(outcome()).toEqual({ answers: [expect.objectContaining({ round: 1, method: 'refused', refused: true })] });
  });

  it('is kept up to 256 answers, and beyond that counted', async () => {
    const { listener, outcome } = hearing(async () => ['result', ANSWER]);
    for (let n = 0; n < 258; n += 1) await listener.asked('roots/list', '{}', 1_000);
    expect([outcome().answers?.length, outcome().answers_more]).toEqual([256, 2]);
  });

  it('is nothing of a call that was asked nothing', () => {
    expect(hearing(async () => ['result', ANSWER]).outcome()).toEqual({});
  });
});
