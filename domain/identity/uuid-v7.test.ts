import { describe, expect, it } from '@jest/globals';
import { firstUuidV7, uuidV7 } from './uuid-v7.js';

describe('RFC 9562 5.7: a version 7 UUID', () => {
  it('carries the time, version 7 and the RFC variant', () => {
    // The time of the example in RFC 9562, appendix A.6: 2022-02-22T19:22:22.000Z.
    expect(uuidV7(0x017f22e279b0)).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
  it('sorts by time and never repeats', () => {
    expect(uuidV7(1_000) < uuidV7(1_001)).toBe(true);
    expect(new Set(Array.from({ length: 1_000 }, () => uuidV7(1_000))).size).toBe(1_000);
  });
  it('sorts those of one millisecond as they were made', () => {
    const made = Array.from({ length: 2_000 }, () => uuidV7(2_000));
    expect([...made].sort()).toEqual(made);
  });
  it('sorts behind what begins its time, and before what begins the next', () => {
    expect(firstUuidV7(0x017f22e279b0)).toBe('017f22e2-79b0');
    const made = Array.from({ length: 200 }, () => uuidV7(2_000));
    for (const one of made) expect([firstUuidV7(2_000) < one, firstUuidV7(2_001) > one]).toEqual([true, true]);
  });
});
