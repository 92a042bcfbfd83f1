import { describe, expect, it } from '@jest/globals';
import { isRead, READ_METHODS, readFault } from './read-methods.js';

describe('a method that reads something for a model', () => {
  it.each([...READ_METHODS])('%s: what is wrong with it is told of its own members', (method, [first]) => {
    if (!isRead(method)) throw new Error(`${method} is none`);
    expect(readFault(method, {})).toContain(`\`params.${first}\``);
    expect(readFault(method, { [first ?? '']: 'a' })).toBeNull();
  });

  it('is no other', () => {
    for (const other of ['tools/call', 'prompts/list', '']) expect(isRead(other)).toBe(false);
  });
});
