import { describe, expect, it } from '@jest/globals';
import { createStreamPlaces, STREAM_SHARES, type StreamHolder } from './stream-places.js';

const notEnded = () => {
  throw new Error('a stream was ended');
};

describe('the places of streams', () => {
  const operator = (name: string, ...tenants: string[]) => ({ kind: 'operator', name, tenants }) as const;

  it('are as many as the process can hold, whoever asks', () => {
    const places = createStreamPlaces();
    const take = (holder: StreamHolder) => places(holder, notEnded);
    const given: (() => void)[] = [];
    const { process, tenant, operator: own } = STREAM_SHARES;
    for (let t = 0; t < process / tenant; t += 1)
      for (let n = 0; n < tenant; n += 1) given.push(take(operator(`operator:${Math.floor(n / own)}`, `t${t}`)));
    expect(() => take(operator('operator:new', 'other'))).toThrow(`${process} streams of this process are open`);
    given[0]?.();
    take(operator('operator:new', 'other'))();
    for (const leave of given.slice(1)) leave();
  });

  it('count for each tenant that a stream shows, and a refused one counts for none', () => {
    const places = createStreamPlaces();
    const take = (holder: StreamHolder) => places(holder, notEnded);
    const both = Array.from({ length: 4 }, (_, n) => `operator:${n}`);
    for (const name of both) for (let n = 0; n < STREAM_SHARES.operator; n += 1) take(operator(name, 'a', 'b'));
    for (const tenant of ['a', 'b'])
      expect(() => take(operator('operator:x', 'c', tenant))).toThrow(`streams of tenant ${tenant} are open`);
    const each = Array.from({ length: 4 }, (_, n) => `operator:c${n}`);
    for (const name of each) for (let n = 0; n < STREAM_SHARES.operator; n += 1) take(operator(name, 'c'));
    expect(() => take(operator('operator:x', 'c'))).toThrow(`streams of tenant c are open`);
  });

  it('of an operator are his own: his oldest stream ends for a newer one, and none of others', () => {
    const take = createStreamPlaces();
    take(operator('operator:other', 't'), notEnded);
    const ended: number[] = [];
    const leave: (() => void)[] = [];
    for (let n = 0; n < STREAM_SHARES.operator + 2; n += 1)
      leave.push(
        take(operator('operator:one', 't'), () => {
          ended.push(n);
          leave[n]?.();
        }),
      );
    expect(ended).toEqual([0, 1]);
    leave[5]?.();
    take(operator('operator:one', 't'), notEnded);
    expect(ended).toEqual([0, 1]);
  });

  it('of a service are refused once they are taken: it says what it shows to whom', () => {
    const take = createStreamPlaces();
    const service = { kind: 'service', name: 'service-console', tenants: ['t'] } as const;
    for (let n = 0; n < STREAM_SHARES.service; n += 1) take(service, notEnded);
    expect(() => take(service, notEnded)).toThrow(`${STREAM_SHARES.service} streams of service-console for t are open`);
  });
});
