import { describe, expect, it } from '@jest/globals';
import { type Conversation, clientAnswerIn, createClientAnswers, createConversation } from './conversation.js';

function conversation(session: string | null = 's', progressToken: string | undefined = 'token') {
  const answers = createClientAnswers();
  const gone = new AbortController();
  const asked: [string, boolean][] = [];
  const onAsked = (...one: [string, boolean]) => void asked.push(one);
  const talk = createConversation({ session, progressToken, answers, onAsked, signal: gone.signal });
  return { answers, gone, asked, talk };
}
const idOf = (talk: Conversation): string => (JSON.parse(talk.take()[0] as string) as { id: string }).id;

describe('what an upstream says while a call is under way', () => {
  it('is told under the token of the client, in order, with the upstream’s own text', async () => {
    const { talk } = conversation();
    const heard = talk.heard();
    talk.told('notifications/progress', '{"progressToken":"gate-id","progress":1.10}');
    talk.told('notifications/message', '{"level":"info","data":12345678901234567890,"_meta":{"gate/modified":1}}');
    await heard;
    expect(talk.take()).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":1.10}}',
      '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":12345678901234567890,"_meta":{}}}',
    ]);
    expect([talk.waiting(), talk.take()]).toEqual([false, []]);
  });

  it('is asked under an id of Gate, and answered by this session alone, once', async () => {
    const { talk, answers, asked } = conversation();
    const answer = talk.asked('elicitation/create', '{"message":"m"}', 1_000);
    const id = idOf(talk);
    expect(answers.give('another', id, ['result', '{"a":1}'])).toBe(false);
    expect(answers.give('s', id, ['result', '{"action":"accept"}'])).toBe(true);
    expect(await answer).toEqual(['result', '{"action":"accept"}']);
    expect(answers.give('s', id, ['result', '{}'])).toBe(false);
    expect(asked).toEqual([['elicitation/create', true]]);
  });

  it('rejects what nobody answers: in time, before the client is gone, or at all', async () => {
    const { talk, gone, asked } = conversation();
    await expect(talk.asked('sampling/createMessage', '{}', 1)).rejects.toThrow('in time');
    const asking = talk.asked('sampling/createMessage', '{}', 60_000);
    gone.abort();
    await expect(asking).rejects.toThrow('gone');
    await expect(talk.asked('sampling/createMessage', '{}', 60_000)).rejects.toThrow();
    expect(asked.every(([, answered]) => !answered)).toBe(true);
    await expect(conversation(null).talk.asked('sampling/createMessage', '{}', 1)).rejects.toThrow('cannot be asked');
  });

  it('keeps a thousand messages for a slow client, and hands on none of more than 64 KiB', () => {
    const { talk } = conversation();
    talk.told('notifications/message', `{"data":"${'x'.repeat(65_536)}"}`);
    expect(talk.waiting()).toBe(false);
    for (let count = 0; count < 1_100; count += 1) talk.told('notifications/message', '{}');
    expect(talk.take()).toHaveLength(1_000);
  });
});

describe('the answer of a client', () => {
  it('is what has an id and a result or an error, and no method', () => {
    expect(clientAnswerIn('{"jsonrpc":"2.0","id":"a","result":{"n":1.10}}')).toEqual({
      id: 'a',
      answer: ['result', '{"n":1.10}'],
    });
    expect(clientAnswerIn('{"id":"a","error":{"code":1,"message":"no"}}')?.answer[0]).toBe('error');
    for (const text of [
      '{"id":"a","method":"ping","result":{}}',
      '{"id":1,"result":{}}',
      '{"result":{}}',
      '{"id":"a"}',
      '{"id":"a","result":1}',
      '[{"id":"a","result":{}}]',
      '{"id":"a","result":{"x":1,"x":2}}',
      'no JSON',
    ])
      expect(clientAnswerIn(text)).toBeNull();
  });
});
