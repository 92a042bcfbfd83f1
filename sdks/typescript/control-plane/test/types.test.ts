import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
// @ts-expect-error it has no types
import { fileOf, SERVICES, typesOf } from '../types.mjs';

describe('the types', () => {
  it.each(SERVICES as string[])('of %s are those of its OpenAPI; otherwise `npm run types`', async (service) => {
    expect((await readFile(fileOf(service), 'utf8')) === (await typesOf(service))).toBe(true);
  });
});
