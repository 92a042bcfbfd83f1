import { describe, expect, it } from '@jest/globals';
import { unlessAborted } from './unless-aborted.js';

const never = new Promise<string>(() => undefined);
const unexpected = () => {
  throw new Error('nothing came late');
};

describe('work that a stop does not wait for', () => {
  it('comes to what it comes to while nobody stops it', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(signal, Promise.resolve('done'), unexpected)).toBe('done');
    await expect(unlessAborted(signal, Promise.reject(new Error('broken')), unexpected)).rejects.toThrow('broken');
  });

  it('is given up at the stop, also where that was before', async () => {
    const stop = new AbortController();
    const work = unlessAborted(stop.signal, never, unexpected);
    stop.abort(new Error('the stop has begun'));
    await expect(work).rejects.toThrow('the stop has begun');
    await expect(unlessAborted(stop.signal, never, unexpected)).rejects.toThrow('the stop has begun');
  });

  it('hands over what it comes to afterwards', async () => {
    const stop = new AbortController();
    let finish: (value: string) => void = () => undefined;
    const late: string[] = [];
    const work = unlessAborted(stop.signal, new Promise<string>((resolve) => (finish = resolve)), (value) =>
      late.push(value),
    );
    stop.abort(new Error('the stop has begun'));
    await expect(work).rejects.toThrow('the stop has begun');
    finish('too late');
    await new Promise(setImmediate);
    expect(late).toEqual(['too late']);
  });
});
