import { describe, expect, it } from '@jest/globals';
import { whileWaiting } from './while-waiting.js';

describe('a command that waits', () => {
  it('says what for, again and again, until it ends', async () => {
    const said: string[] = [];
    let round = 0;
    let end = (_what: string): void => undefined;
    const write = (line: string): void => {
      said.push(line);
      if (said.length === 3) end('done');
    };
    const came = await whileWaiting(
      () => `waiting for step ${(round += 1)}`,
      () => new Promise<string>((resolve) => (end = resolve)),
      { firstMs: 1, write },
    );
    expect([came, said]).toEqual([
      'done',
      [1, 2, 3].map((step) => expect.stringMatching(new RegExp(`^waiting for step ${step} \\(\\d+ s\\)\n$`))),
    ]);
  });

  it('says nothing where it does not have to wait, and hands on what went wrong', async () => {
    const said: string[] = [];
    const write = (line: string): void => void said.push(line);
    expect(
      await whileWaiting(
        () => 'x',
        () => Promise.resolve(7),
        { write },
      ),
    ).toBe(7);
    await expect(
      whileWaiting(
        () => 'x',
        () => Promise.reject(new Error('away')),
        { write },
      ),
    ).rejects.toThrow('away');
    expect(said).toEqual([]);
  });
});
