import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { canonicalDigest, canonicalJson } from '../crypto/digest.js';
import { createSigner } from '../identity/signer.js';
import { authorizationFault, authorizedFor } from './authorization.js';
import type { CallRecord, RecordedDecision } from './record.js';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file', arguments: {} } };
const IAT = 1_772_445_600;
const signed = async (change: Record<string, string | number | null> = {}) => {
  const authorization = {
    contract: 'gate.execution/v1',
    stage: 'authorization',
    iat: IAT,
    exp: IAT + 60,
    payload_sha256: canonicalDigest(request),
    ...change,
  };
  return { authorization, identity_signature: await createSigner(privateKey).sign(canonicalJson(authorization)) };
};
const at = (secs: number) => (IAT + secs) * 1000;

describe('what a host checks of an authorization before it executes', () => {
  it('holds for its request in its time, clocks five seconds apart', async () => {
    for (const secs of [-5, 0, 30, 59.999])
      expect(authorizationFault(await signed(), request, publicKey, at(secs))).toBeNull();
  });

  it.each([
    ['expired', signed(), request, 60],
    ['not_yet_valid', signed(), request, -6],
    ['not_an_authorization', signed({ exp: null }), request, 1],
    ['not_an_authorization', signed({ iat: null }), request, 1],
    ['not_an_authorization', signed({ stage: 'execution.completed' }), request, 1],
    ['other_request', signed(), { ...request, id: 2 }, 1],
  ] as const)('%s', async (fault, one, asked, secs) => {
    expect(authorizationFault(await one, asked, publicKey, at(secs))).toBe(fault);
  });

  it('is none with a later end, or of another key', async () => {
    const one = await signed();
    const longer = { ...one, authorization: { ...one.authorization, exp: IAT + 3_600 } };
    expect(authorizationFault(longer, request, publicKey, at(1))).toBe('signature_invalid');
    const stranger = generateKeyPairSync('ed25519').publicKey;
    expect(authorizationFault(one, request, stranger, at(1))).toBe('signature_invalid');
  });
});

describe('the time in which a host may execute', () => {
  const decided_at = new Date(at(0)).toISOString();
  const decidedOf = (decision: Partial<RecordedDecision> | null) =>
    authorizedFor({ decision, created_ms: at(-60) } as unknown as CallRecord);

  it.each([
    ['of a call that nobody decided on begins with its verdict', null, -60],
    ['begins when a worker took the decision, by its clock', { decided_at, applied_ms: at(30) }, 30],
    ['begins with the time of the decision itself in a record of an earlier Gate', { decided_at }, 0],
  ])('%s', (_, decision, secs) => {
    expect(decidedOf(decision)).toEqual({ iatMs: at(secs), expMs: at(secs + 60) });
  });
});
