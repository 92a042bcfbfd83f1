import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { bareService } from '../../test/support/bare-service.js';

const SHAPE = z.object({
  tool: z.string().min(1).max(8).optional(),
  id: z.uuid().optional(),
  at: z.iso.datetime().optional(),
  code: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .optional(),
  own: z.string().regex(/^x$/, { error: 'is written as x' }).optional(),
  window: z.enum(['1h', '24h']).optional(),
  limit: z.number().int().min(1).max(100).optional(),
  list: z
    .array(z.object({ name: z.string() }))
    .max(1)
    .optional(),
  needed: z.boolean(),
});

describe('a request that has not the documented shape', () => {
  it.each([
    ['a text that is too long', { tool: 'x'.repeat(9) }, 'tool is longer than 8 characters'],
    ['one that is empty', { tool: '' }, 'tool is empty'],
    ['one that is no text', { tool: 5 }, 'tool has to be a text'],
    ['an invalid id', { id: 'zz' }, 'id is not a UUID'],
    ['an invalid time', { at: 'zz' }, 'at is not a time as 2026-01-02T03:04:05Z'],
    ['what an expression refuses', { code: 'zz' }, 'code is not written as it has to be'],
    ['what the shape has words for', { own: 'zz' }, 'own is written as x'],
    ['a word that is not one of a few', { window: 'zz' }, 'window is none of 1h, 24h'],
    ['a number that is too large', { limit: 101 }, 'limit has to be at most 100'],
    ['one that is too small', { limit: 0 }, 'limit has to be at least 1'],
    ['one that is not whole', { limit: 1.5 }, 'limit has to be a whole number'],
    ['a list that is too long', { list: [{ name: 'a' }, { name: 'b' }] }, 'list is longer than 1 entry'],
    ['a field within', { list: [{ name: 7 }] }, 'list.0.name has to be a text'],
    ['what is missing', { needed: undefined }, 'needed is missing'],
  ])('says the field and what is wrong in words: %s', async (_, over, reason) => {
    const { app } = bareService({ name: 'test' });
    app.post('/asked', { schema: { body: SHAPE } }, () => ({}));
    const answer = await app.inject({ method: 'POST', url: '/asked', payload: { needed: true, ...over } });
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error: 'invalid_request', reason, correlation_id: expect.any(String) },
    ]);
    await app.close();
  });
});
