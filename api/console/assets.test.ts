import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { readAssets } from './assets.js';

/** What a telephone has in about a second, at 1.6 Mbit/s. */
const MOST_BYTES = 150_000;

describe('what every page of the console loads', () => {
  it.each(['script', 'style'] as const)('is a %s of less than 150 kB, compressed', async (which) => {
    const { body } = (await readAssets())[which];
    expect(body.length).toBeGreaterThan(1_000);
    expect(gzipSync(body).length).toBeLessThan(MOST_BYTES);
  });
});
