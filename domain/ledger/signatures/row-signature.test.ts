import { createHash, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { signatureFault, SIGNED_FIELDS, signedDigest, type SignedFields } from './row-signature.js';

interface Vector {
  readonly public_key_pem: string;
  readonly row: SignedFields;
  readonly signed_text_sha256_input: string;
  readonly digest: string;
  readonly signature: string;
}
const vector = JSON.parse(
  readFileSync(new URL('../../../test/vectors/row-signature.json', import.meta.url), 'utf8'),
) as Vector;
const key = createPublicKey(vector.public_key_pem);

describe('what the signer of a row signs', () => {
  it('is the digest that another language computes for the vector', () => {
    expect(signedDigest(vector.row).toString('hex')).toBe(vector.digest);
    expect(createHash('sha256').update(vector.signed_text_sha256_input).digest('hex')).toBe(vector.digest);
  });

  it('verifies what another program signed', () => {
    expect(signatureFault(vector.row, vector.signature, key)).toBeNull();
  });

  it.each(SIGNED_FIELDS)('does not hold when %s is another', (field) => {
    const other =
      field === 'authorized' ? false : field === 'policy_decision' ? {} : `${JSON.stringify(vector.row[field])}x`;
    expect(signatureFault({ ...vector.row, [field]: other }, vector.signature, key)).toBe('signature_forged');
  });

  it('covers twenty fields, whatever is added to the row later', () => {
    expect(SIGNED_FIELDS).toHaveLength(20);
    expect(Object.keys(vector.row)).toEqual([...SIGNED_FIELDS]);
  });

  it.each([
    ['empty', ''],
    ['too short', 'AAAA'],
    ['not in its one form', `${'A'.repeat(85)}B==`],
    ['with blanks', ` ${'A'.repeat(86)}==`],
  ])('is malformed when it is %s', (_, signature) => {
    expect(signatureFault(vector.row, signature, key)).toBe('signature_malformed');
  });
});
