import { describe, expect, it } from '@jest/globals';
import { createStreamPlaces, STREAM_SHARES } from './stream-places.js';

describe('the places of streams', () => {
  const operator = (name: string, ...tenants: string[]) => ({ kind: 'operator', name, tenants }) as const;

  it('are as many as the process can hold, whoever asks', () => {
    const take = createStreamPlaces();
    const given: (() => void)[] = [];
    const { process, tenant, operator: own } = STREAM_SHARES;
    for (let t = 0; t < process / tenant; t += 1)
      for (let n = 0; n < tenant; n += 1) given.push(take(operator(`operator:${Math.floor(n / own)}`, `t${t}`)));
    expect(() => take(operator('operator:new', 'other'))).toThrow(`${process} streams of this process are open`);
    given[0]?.();
    take(operator('operator:new', 'other'))();
    for (const leave of given.slice(1)) leave();
    for (let n = 0; n < own; n += 1) take(operator('operator:0', 't0'));
    expect(() => take(operator('operator:0', 't0'))).toThrow(`${own} streams`);
  });

  it('count for each tenant that a stream shows, and a refused one counts for none', () => {
    const take = createStreamPlaces();
    const both = Array.from({ length: 4 }, (_, n) => `operator:${n}`);
    for (const name of both) for (let n = 0; n < STREAM_SHARES.operator; n += 1) take(operator(name, 'a', 'b'));
    for (const tenant of ['a', 'b'])
      expect(() => take(operator('operator:x', 'c', tenant))).toThrow(`streams of tenant ${tenant} are open`);
    const each = Array.from({ length: 4 }, (_, n) => `operator:c${n}`);
    for (const name of each) for (let n = 0; n < STREAM_SHARES.operator; n += 1) take(operator(name, 'c'));
    expect(() => take(operator('operator:x', 'c'))).toThrow(`streams of tenant c are open`);
  });
});
