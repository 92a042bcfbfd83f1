import { describe, expect, it } from '@jest/globals';
import { createCallTalks, type Listener } from './call-talks.js';

const CALL = { correlation_id: 'a-call' };
function client(progress: boolean) {
  const heard: string[] = [];
  const listener: Listener = {
    progress,
    told: (method) => void heard.push(method),
    async asked(method) {
      heard.push(method);
      return ['result', '{}'];
    },
  };
  return { heard, listener };
}

describe('what a tool says and asks in one process', () => {
  it('goes to the client that came back, once there is one, and to the first while there is none', async () => {
    const talks = createCallTalks();
    expect(talks.listenerOf(CALL)).toBeNull();
    const [first, second] = [client(false), client(true)];
    const stop = talks.listen('a-call', first.listener);
    const tool = talks.listenerOf(CALL) as Listener;
    tool.told('one', '{}');
    stop();
    tool.told('two', '{}');
    expect(tool.progress).toBe(false);
    talks.listen('a-call', second.listener);
    // That the first one ends says nothing of the second.
    stop();
    expect(tool.progress).toBe(true);
    tool.told('three', '{}');
    await tool.asked('four', '{}', 1);
    expect([first.heard, second.heard]).toEqual([
      ['one', 'two'],
      ['three', 'four'],
    ]);
  });
});
