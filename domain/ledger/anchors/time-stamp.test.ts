import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  OPENSSL_PRESENT,
  type TestTimeStampAuthority,
  timeStampAuthority,
} from '../../../test/support/time-stamp-authority.js';
import { needs } from '../../../test/support/needs.js';
import { sha256Hex } from '../../crypto/digest.js';
import { readAll, readOne, TAG, write } from './der.js';
import { readTimeStamp, readTrust, TimeStampError, timeStampRequest, verifyTimeStamp } from './time-stamp.js';

const DIGEST = sha256Hex('the root of a chain');
const faultOf = (look: () => unknown): string => {
  try {
    look();
  } catch (error) {
    return error instanceof TimeStampError ? error.fault : String(error);
  }
  return 'none';
};

// Tested against real time stamps, made by openssl.
(OPENSSL_PRESENT ? describe : describe.skip)(
  `RFC 3161: time stamps made by openssl${needs('openssl', OPENSSL_PRESENT)}`,
  () => {
    describe.each([
      ['ECDSA, certificate named by SHA-256', { key: 'ec', essDigest: 'sha256' }],
      ['RSA, certificate named by SHA-1 (RFC 3161 as it was first)', { key: 'rsa', essDigest: 'sha1' }],
      ['ECDSA under an intermediate CA', { key: 'ec', intermediate: true }],
    ] as const)('%s', (_, options) => {
      let authority: TestTimeStampAuthority;
      beforeAll(async () => {
        authority = await timeStampAuthority(options);
      });
      afterAll(() => authority.close());

      it('are made of the request, read, and verified up to the root', () => {
        const { bytes, nonce } = timeStampRequest(DIGEST);
        const stamp = readTimeStamp(authority.reply(bytes), DIGEST);
        expect(stamp.nonce?.equals(nonce)).toBe(true);
        expect(Math.abs(Date.parse(stamp.genTime) - Date.now())).toBeLessThan(120_000);
        verifyTimeStamp(stamp, readTrust(authority.rootPem));
      });

      it('never say another thing when a bit of them was changed', () => {
        const response = authority.reply(timeStampRequest(DIGEST).bytes);
        const { genTime } = readTimeStamp(response, DIGEST);
        const trust = readTrust(authority.rootPem);
        let refused = 0;
        for (let at = 0; at < response.length; at++) {
          const changed = Buffer.from(response);
          changed[at] = (changed[at] as number) ^ (1 << (at % 8));
          const said = { genTime };
          const fault = faultOf(() => {
            const stamp = readTimeStamp(changed, DIGEST);
            said.genTime = stamp.genTime;
            verifyTimeStamp(stamp, trust);
          });
          // Fields that no signature covers (versions, parameters, names of signers) change neither time nor digest.
          if (fault === 'none') expect([at, said.genTime]).toEqual([at, genTime]);
          else refused += 1;
          expect([
            'none',
            'tsa_response_malformed',
            'tsa_imprint_mismatch',
            'tsa_signature_invalid',
            'tsa_chain_untrusted',
          ]).toContain(fault);
        }
        expect(refused / response.length).toBeGreaterThan(0.75);
      });
    });

    describe('are refused', () => {
      let authority: TestTimeStampAuthority;
      let other: TestTimeStampAuthority;
      let response: Buffer;
      beforeAll(async () => {
        authority = await timeStampAuthority();
        other = await timeStampAuthority();
        response = authority.reply(timeStampRequest(DIGEST).bytes);
      });
      afterAll(async () => {
        await authority.close();
        await other.close();
      });

      it('of another digest, without an answer, or for what is no digest', () => {
        expect(faultOf(() => readTimeStamp(response, sha256Hex('another')))).toBe('tsa_imprint_mismatch');
        const wrongAlgorithm = Buffer.from(timeStampRequest(DIGEST).bytes);
        wrongAlgorithm[wrongAlgorithm.indexOf(Buffer.from('60864801650304', 'hex')) + 8] = 2;
        expect(faultOf(() => readTimeStamp(authority.reply(wrongAlgorithm), DIGEST))).toBe('tsa_response_malformed');
        for (const bytes of [
          Buffer.alloc(0),
          Buffer.from('hello'),
          response.subarray(0, 300),
          Buffer.concat([response, response]),
        ])
          expect(faultOf(() => readTimeStamp(bytes, DIGEST))).toBe('tsa_response_malformed');
      });

      it('of an authority nobody trusts, also when it has the same name', () => {
        const stamp = readTimeStamp(response, DIGEST);
        expect(faultOf(() => verifyTimeStamp(stamp, readTrust(other.rootPem)))).toBe('tsa_chain_untrusted');
        expect(faultOf(() => verifyTimeStamp(stamp, readTrust(`${other.rootPem}${authority.rootPem}`)))).toBe('none');
      });

      it('made outside the life of the certificate', () => {
        const stamp = readTimeStamp(response, DIGEST);
        const trust = readTrust(authority.rootPem);
        for (const genTime of ['2001-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'])
          expect(faultOf(() => verifyTimeStamp({ ...stamp, genTime }, trust))).toBe('tsa_chain_untrusted');
      });

      it('whose text is another than the one that was signed', () => {
        const stamp = readTimeStamp(response, DIGEST);
        const tstInfo = readTimeStamp(authority.reply(timeStampRequest(DIGEST).bytes), DIGEST).tstInfo;
        expect(faultOf(() => verifyTimeStamp({ ...stamp, tstInfo }, readTrust(authority.rootPem)))).toBe(
          'tsa_signature_invalid',
        );
      });
    });

    it('need a certificate to be trusted', () => {
      expect(() => readTrust('no certificate')).toThrow('there is no certificate in it');
    });
  },
);

describe('DER', () => {
  it('is written in its shortest form and read back, at the borders of every length', () => {
    for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536]) {
      const bytes = write(TAG.octets, Buffer.alloc(length, 7));
      expect(readOne(bytes).content).toHaveLength(length);
      expect(bytes.length - length).toBe(length < 128 ? 2 : length < 256 ? 3 : length < 65_536 ? 4 : 5);
    }
  });

  it.each([
    ['a length of no definite end', '3080'],
    ['a long form where the short one fits', '04817f'],
    ['a length with a leading zero', '0482008000'],
    ['more than there is', '0405ff'],
    ['a tag of several bytes', '1f8101'],
    ['nothing behind the tag', '30'],
  ])('refuses %s', (_, hex) => {
    expect(() => readAll(Buffer.from(hex, 'hex'))).toThrow();
  });

  it('is one value where one is asked for', () => {
    expect(() => readOne(Buffer.from('05000500', 'hex'))).toThrow('not exactly one');
    expect(() => readOne(Buffer.alloc(0))).toThrow('not exactly one');
  });
});
