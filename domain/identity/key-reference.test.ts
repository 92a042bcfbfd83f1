import { describe, expect, it } from '@jest/globals';
import { keyReferenceIn, readKeyReference } from './key-reference.js';

describe('where a key lies', () => {
  it.each([
    ['pkcs11:token=gate?module-path=/x&pin-source=/p', 'must say object'],
    ['pkcs11:token=gate;object=a?module-path=/x', 'must say pin-source'],
    ['pkcs11:token=gate;object=a?module-path=/x&pin-value=1234', 'no other attribute'],
    ['pkcs11:token=gate;token=b;object=a?module-path=/x&pin-source=/p', 'says token twice'],
    ['awskms:///alias/gate?region=eu-central-1&credentials-source=/c', 'names an alias'],
    ['awskms:///k?region=eu-central-1', 'must say credentials-source'],
    ['awskms:///k?region=eu-central-1&credentials-source=/c&endpoint=http://kms.example', 'must be https'],
    ['awskms://host/k?region=eu-central-1&credentials-source=/c', 'is written awskms:///'],
  ])('%s is refused: %s', (text, why) => {
    expect(() => readKeyReference(text)).toThrow(why);
    expect(() => readKeyReference(text)).not.toThrow('1234');
  });
  it('has what is written with percent signs', () => {
    expect(readKeyReference('pkcs11:token=my%20gate;object=a%3Bb?module-path=/x&pin-source=file:/p')).toEqual({
      store: 'pkcs11',
      module: '/x',
      token: 'my gate',
      object: 'a;b',
      pinFile: '/p',
    });
  });
  it('in a place where keys are made has the name of the key', () => {
    const place = 'pkcs11:token=gate;object={key}?module-path=/x&pin-source=/p';
    expect(keyReferenceIn(place, 'a b')).toBe('pkcs11:token=gate;object=a%20b?module-path=/x&pin-source=/p');
    expect(() => keyReferenceIn(place.replace('{key}', 'ca'), 'a')).toThrow('must have {key}');
    expect(() => keyReferenceIn('pkcs11:token=gate;object={key}', 'a')).toThrow('must say module-path');
  });
});
