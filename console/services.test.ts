import { describe, expect, it } from '@jest/globals';
import { GateError } from '../domain/errors.js';
import { settled } from './services.js';

const away = (why: string) => Promise.reject<string>(new GateError('console_neighbour_away', why));

describe('what a page asked for', () => {
  it('is what came', async () => {
    expect(await settled('ledger', Promise.resolve('rows'))).toEqual({ ok: true, value: 'rows' });
  });

  it.each([
    ['the ledger cannot be reached: cut off', 'it cannot be reached: cut off'],
    ['Brain cannot be reached: cut off', 'Brain cannot be reached: cut off'],
    ['the ledger’s disk is full', 'the ledger’s disk is full'],
  ])('names a service that is away once: %s', async (why, said) => {
    expect(await settled('ledger', away(why))).toEqual({ ok: false, service: 'the ledger', why: said });
  });

  it('names of several that were asked the one that is away, or all where the error does not say', async () => {
    const both = ['ledger', 'policy'] as const;
    const absent = new GateError('console_neighbour_away', 'the policy engine is not there yet').of('policy');
    expect(await settled(both, Promise.reject(absent))).toMatchObject({
      service: 'the policy engine',
      why: 'it is not there yet',
    });
    const refused = new GateError('store_unavailable', 'the policy engine said that its store is full').of('ledger');
    expect(await settled(both, Promise.reject(refused))).toMatchObject({
      service: 'the ledger',
      why: 'the policy engine said that its store is full',
    });
    expect(await settled(both, away('the disk is full'))).toMatchObject({ service: 'the ledger or the policy engine' });
  });

  it('is refused as it was, and told apart where somebody edited it in its store', async () => {
    const refused = new GateError('not_found');
    await expect(settled('policy', Promise.reject(refused))).rejects.toBe(refused);
    const edited = new GateError('policy_tampered', 'row 3 does not fit');
    expect(await settled('policy', Promise.reject(edited))).toEqual({
      ok: false,
      service: 'the policy engine',
      why: 'row 3 does not fit',
      isEdited: true,
    });
  });
});
