import { describe, expect, it } from '@jest/globals';
import { CONTROL_METHODS, servedCapabilities } from './control-methods.js';
import { parseMcpRequest } from './envelope.js';

describe('the capabilities an agent is told of', () => {
  it('are those of the upstream that Gate serves whole, without what passes Gate by', () => {
    const everything = {
      tools: { listChanged: true },
      resources: { subscribe: true },
      prompts: {},
      completions: {},
      logging: {},
      tasks: { list: {} },
      experimental: { x: {} },
    };
    expect(servedCapabilities(everything)).toEqual({
      tools: {},
      resources: {},
      prompts: {},
      completions: {},
      logging: {},
    });
    expect(servedCapabilities({ prompts: { listChanged: true } })).toEqual({ prompts: {} });
    expect(servedCapabilities(everything, true)).toMatchObject({
      tools: { listChanged: true },
      resources: { subscribe: true },
      prompts: {},
    });
  });

  it('say nothing of a method that Gate refuses', () => {
    for (const method of ['tasks/list', 'tasks/result', 'resources/watch']) {
      expect(CONTROL_METHODS.has(method)).toBe(false);
      expect(() => parseMcpRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method }))).toThrow('does not forward');
    }
  });
});
