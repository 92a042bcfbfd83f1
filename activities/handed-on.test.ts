import { expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { handedOn } from './handed-on.js';

const call = { correlation_id: 'a', digest: 'x', received_ms: 1 } as CallInput;

it('what a step hands on is taken once, and by that call alone', () => {
  const kept = handedOn<string | null>();
  expect(kept.take(call)).toBeNull();
  kept.put(call, 'found');
  expect(kept.take(call)).toEqual({ value: 'found' });
  expect(kept.take(call)).toBeNull();
  kept.put(call, null);
  expect(kept.take(call)).toEqual({ value: null });
});

it.each([
  ['with another body', { digest: 'y' }],
  ['at another time', { received_ms: 2 }],
])('the same id %s is another call, and leaves nothing for the first', (_, change) => {
  const kept = handedOn<string>();
  kept.put(call, 'found');
  expect(kept.take({ ...call, ...change })).toBeNull();
  expect(kept.take(call)).toBeNull();
});

it('of very many calls the oldest is forgotten, and asked for anew', () => {
  const kept = handedOn<number>();
  for (let n = 0; n <= 2_000; n += 1) kept.put({ ...call, correlation_id: String(n) }, n);
  expect(kept.take({ ...call, correlation_id: '0' })).toBeNull();
  expect(kept.take({ ...call, correlation_id: '2000' })).toEqual({ value: 2_000 });
});
