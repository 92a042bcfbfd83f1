import { describe, expect, it } from '@jest/globals';
import { isPerson } from './deciders.js';
import * as transitions from './transitions.js';
import { isPersonsName } from '../review/vouching.js';

const OWN = Object.values(transitions).flatMap((one: unknown) => (typeof one === 'string' ? [one] : []));

describe('a decider', () => {
  it('is no person where Gate itself decided, or nobody is named', () => {
    expect(OWN).toContain('system:policy-tier');
    expect([...OWN, ''].filter(isPerson)).toEqual([]);
    expect(OWN.filter(isPersonsName)).toEqual([]);
  });

  it.each([
    'operator:ada',
    'oidc:ada',
    'basic:ada',
    'mtls:spiffe://acme/ada',
    'webauthn:ada',
    'spiffe://gate.local/service/simulator',
    // Of an earlier Gate, which knew no methods.
    'ada',
    'system',
    'systems:ada',
  ])('is one under any other name: %s', (name) => expect(isPerson(name)).toBe(true));
});
