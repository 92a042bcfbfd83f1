import { describe, expect, it } from '@jest/globals';
import { createStreamPlaces, STREAM_SHARES, type StreamHolder } from './stream-places.js';

const notEnded = () => {
  throw new Error('a stream was ended');
};

describe('the places of streams', () => {
  const operator = (name: string, ...tenants: string[]) => ({ kind: 'person', name, tenants }) as const;

  it('are as many as the process can hold, whoever asks', () => {
    const places = createStreamPlaces();
    const take = (holder: StreamHolder) => places(holder, notEnded);
    const given: (() => void)[] = [];
    const { process, tenant } = STREAM_SHARES;
    for (let t = 0; t < process / tenant; t += 1)
      for (let n = 0; n < tenant; n += 1) given.push(take(operator(`operator:${n}`, `t${t}`)));
    expect(() => take(operator('operator:new', 'other'))).toThrow(`${process} streams of this process are open`);
    given[0]?.();
    take(operator('operator:new', 'other'))();
    for (const leave of given.slice(1)) leave();
  });

  it('count for each tenant that a stream shows, and a refused one counts for none', () => {
    const places = createStreamPlaces();
    const take = (holder: StreamHolder) => places(holder, notEnded);
    for (let n = 0; n < STREAM_SHARES.tenant; n += 1) take(operator(`operator:${n}`, 'a', 'b'));
    for (const tenant of ['a', 'b'])
      expect(() => take(operator('operator:x', 'c', tenant))).toThrow(`streams of tenant ${tenant} are open`);
    for (let n = 0; n < STREAM_SHARES.tenant; n += 1) take(operator(`operator:c${n}`, 'c'));
    expect(() => take(operator('operator:x', 'c'))).toThrow(`streams of tenant c are open`);
  });

  /** So many streams of somebody; what ended of them is in `ended`, in its order. */
  const opened = (
    places: ReturnType<typeof createStreamPlaces>,
    count: number,
    holder: StreamHolder,
    ended: string[],
  ) => {
    for (let n = 0; n < count; n += 1) {
      const leave = places(holder, () => {
        ended.push(`${holder.name} ${n}`);
        leave();
      });
    }
  };

  it('of a tenant are shared out: who has most of them gives his oldest to who has fewer, until they have as many', () => {
    const places = createStreamPlaces();
    const ended: string[] = [];
    const { tenant, person } = STREAM_SHARES;
    for (let n = 0; n < tenant / person; n += 1) opened(places, person, operator(`operator:${n}`, 't'), ended);
    opened(places, person, operator('operator:other', 'u'), ended);
    expect(ended).toEqual([]);
    opened(places, 3, operator('operator:new', 't'), ended);
    expect(ended).toEqual(['operator:0 0', 'operator:1 0', 'operator:2 0']);
    // 64 among five: 13 of each, but 12 of one.
    opened(places, 9, operator('operator:more', 't'), ended);
    opened(places, 9, operator('operator:new', 't'), ended);
    ended.length = 0;
    // 64 among six: whoever has as many as the others gives his own.
    opened(places, 2, operator('operator:new', 't'), ended);
    expect(ended.map((one) => one.replace(/ \d+$/, ''))).toEqual(['operator:new', 'operator:new']);
  });

  it('of the process are shared out in the same way, and nothing ends for what is refused all the same', () => {
    const places = createStreamPlaces();
    const ended: string[] = [];
    const { process, tenant, person } = STREAM_SHARES;
    for (let n = 0; n < tenant; n += 1) opened(places, 1, operator(`operator:${n}`, 'full'), ended);
    for (let n = 0; n < (process - tenant) / person; n += 1)
      opened(places, person, operator(`operator:${n}`, `t${n}`), ended);
    expect(() => places(operator('operator:new', 'full'), notEnded)).toThrow('64 streams of tenant full are open');
    expect(ended).toEqual([]);
    places(operator('operator:new', 'other'), notEnded);
    expect(ended).toEqual(['operator:0 0']);
  });

  it('of a person are his own: his oldest stream ends for a newer one, and none of others', () => {
    const take = createStreamPlaces();
    take(operator('operator:other', 't'), notEnded);
    const ended: number[] = [];
    const leave: (() => void)[] = [];
    for (let n = 0; n < STREAM_SHARES.person + 2; n += 1)
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

  it('that show every tenant count together', () => {
    const take = createStreamPlaces();
    for (let n = 0; n < STREAM_SHARES.tenant; n += 1) take(operator(`operator:${n}`), notEnded);
    expect(() => take(operator('operator:new'), notEnded)).toThrow(
      `${STREAM_SHARES.tenant} streams of every tenant are`,
    );
    take(operator('operator:new', 't'), notEnded);
  });

  it('of a service are refused once they are taken: it says what it shows to whom', () => {
    const take = createStreamPlaces();
    const service = { kind: 'service', name: 'service-console', tenants: ['t'] } as const;
    for (let n = 0; n < STREAM_SHARES.service; n += 1) take(service, notEnded);
    expect(() => take(service, notEnded)).toThrow(`${STREAM_SHARES.service} streams of service-console for t are open`);
  });
});
