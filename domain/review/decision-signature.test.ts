import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { CompactSign } from 'jose';
import type { Json } from '../../contracts/json.js';
import type { SignedDecision } from '../../contracts/review.js';
import { canonicalJson } from '../crypto/digest.js';
import {
  readDecisionKey,
  readDecisionPublicKey,
  signDecision,
  verifyDecision,
  type UnsignedDecision,
} from './decision-signature.js';

const hil = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
const pem = (key: typeof hil.privateKey, type: 'pkcs8' | 'spki') => key.export({ type, format: 'pem' }).toString();

const unsigned: UnsignedDecision = {
  pending_id: '6f1e0c4e-8a53-4c1b-9f0b-3f1a2b4c5d6e',
  correlation_id: '0a0a0a0a-8a53-4c1b-9f0b-3f1a2b4c5d6e',
  action_digest: `sha256:${'ab'.repeat(32)}`,
  decision: 'approve',
  reason: 'looks right — “ok”',
  decided_via: 'console',
  principal: {
    subject: 'operator:dev',
    tenant: 'acme',
    method: 'console-bearer',
    credential: `workload-mtls:sha256:${'cd'.repeat(32)}`,
    credential_kind: 'console-bearer',
  },
  decided_at: '2026-11-02T10:00:00.000Z',
  not_after: '2026-11-02T10:00:10.000Z',
  request_id: 'r-1',
};

describe('a decision carries HIL’s signature', () => {
  let signed: SignedDecision;
  beforeAll(async () => {
    signed = await signDecision(unsigned, hil.privateKey);
  });

  it('verifies with HIL’s public key, also after a round trip through JSON and another key order', async () => {
    expect(signed).toEqual({ ...unsigned, signature: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) });
    expect(await verifyDecision(signed, hil.publicKey)).toEqual({ valid: true });
    const reordered = Object.fromEntries(Object.entries(signed).reverse()) as SignedDecision;
    expect(await verifyDecision(JSON.parse(JSON.stringify(reordered)) as SignedDecision, hil.publicKey)).toEqual({
      valid: true,
    });
  });

  it('is the same signature for the same decision', async () => {
    expect((await signDecision({ ...unsigned }, hil.privateKey)).signature).toBe(signed.signature);
  });

  const changes: Partial<Record<keyof UnsignedDecision, unknown>> = {
    pending_id: '7f1e0c4e-8a53-4c1b-9f0b-3f1a2b4c5d6e',
    correlation_id: '1a0a0a0a-8a53-4c1b-9f0b-3f1a2b4c5d6e',
    action_digest: `sha256:${'ac'.repeat(32)}`,
    decision: 'deny',
    reason: null,
    decided_via: null,
    principal: { ...unsigned.principal, subject: 'operator:eve' },
    decided_at: '2026-11-02T10:00:00.001Z',
    not_after: '2026-11-02T10:00:10.001Z',
    request_id: 'r-2',
  };
  it.each(Object.entries(changes))('does not hold once %s is changed', async (field, value) => {
    expect(await verifyDecision({ ...signed, [field]: value }, hil.publicKey)).toEqual({
      valid: false,
      fault: 'fields_differ',
    });
  });

  it('is tested for every field of a decision', () => {
    expect(Object.keys(changes).sort()).toEqual(Object.keys(unsigned).sort());
  });

  it('does not hold with a field added inside the principal', async () => {
    const widened = { ...signed, principal: { ...signed.principal, role: 'admin' } };
    expect(await verifyDecision(widened, hil.publicKey)).toEqual({ valid: false, fault: 'fields_differ' });
  });

  it('does not hold when another key made it', async () => {
    const forged = await signDecision(unsigned, stranger.privateKey);
    expect(await verifyDecision(forged, hil.publicKey)).toEqual({ valid: false, fault: 'signature_invalid' });
  });

  const bytes = Buffer.from(canonicalJson(unsigned as unknown as Json));
  const withSignature = (signature: string): SignedDecision => ({ ...unsigned, signature });

  it('does not hold under another algorithm, the key confusion with a MAC over the public key included', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const rs256 = await new CompactSign(bytes).setProtectedHeader({ alg: 'RS256' }).sign(rsa.privateKey);
    const secret = Buffer.from(pem(hil.publicKey, 'spki'));
    const hs256 = await new CompactSign(bytes).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${bytes.toString('base64url')}.`;
    for (const signature of [rs256, hs256, none]) {
      expect(await verifyDecision(withSignature(signature), hil.publicKey)).toMatchObject({ valid: false });
    }
    expect(await verifyDecision(withSignature(hs256), hil.publicKey)).toEqual({
      valid: false,
      fault: 'algorithm_not_allowed',
    });
  });

  it('does not hold when the same key signed the same bytes as something else than a decision', async () => {
    const other = await new CompactSign(bytes).setProtectedHeader({ alg: 'EdDSA', typ: 'JWT' }).sign(hil.privateKey);
    expect(await verifyDecision(withSignature(other), hil.publicKey)).toEqual({
      valid: false,
      fault: 'type_not_allowed',
    });
  });

  it('does not hold when the signed bytes are the same fields in another spelling', async () => {
    const loose = Buffer.from(JSON.stringify(unsigned, null, 1));
    const signature = await new CompactSign(loose)
      .setProtectedHeader({ alg: 'EdDSA', typ: 'gate.hil-decision+jws' })
      .sign(hil.privateKey);
    expect(await verifyDecision(withSignature(signature), hil.publicKey)).toEqual({
      valid: false,
      fault: 'fields_differ',
    });
  });

  it.each([
    ['an empty signature', withSignature('')],
    ['text that is no JWS', withSignature('a.b')],
    ['a missing field', { ...unsigned, signature: 'x', not_after: undefined } as unknown as SignedDecision],
    ['an extra field', { ...withSignature('x'), tenant: 'other' } as SignedDecision],
    ['modify, which no decision is yet', { ...withSignature('x'), decision: 'modify' } as unknown as SignedDecision],
    ['text without a canonical form', { ...withSignature('x'), reason: '\ud800' }],
    ['no object at all', 'refused' as unknown as SignedDecision],
  ])('calls %s malformed instead of throwing', async (_, decision) => {
    expect(await verifyDecision(decision, hil.publicKey)).toEqual({ valid: false, fault: 'malformed' });
  });

  it('says nothing about time: a decision past its not_after still verifies, the workflow refuses it', async () => {
    const old = await signDecision({ ...unsigned, not_after: '2001-01-01T00:00:00Z' }, hil.privateKey);
    expect(await verifyDecision(old, hil.publicKey)).toEqual({ valid: true });
  });

  it('drops what is not part of a principal before it signs', async () => {
    const wide = { ...unsigned, principal: { ...unsigned.principal, role: 'admin' } };
    const narrow = await signDecision(wide, hil.privateKey);
    expect(narrow.principal).toEqual(unsigned.principal);
    expect(await verifyDecision(narrow, hil.publicKey)).toEqual({ valid: true });
  });

  it('refuses to sign what is no decision', async () => {
    await expect(signDecision({ ...unsigned, decided_at: 'now' }, hil.privateKey)).rejects.toThrow('decided_at');
    await expect(signDecision({ ...unsigned, reason: '\udc00' }, hil.privateKey)).rejects.toThrow('surrogate');
  });
});

describe('the decision key', () => {
  it('is an Ed25519 key in PEM', () => {
    expect(readDecisionKey(pem(hil.privateKey, 'pkcs8')).type).toBe('private');
    expect(readDecisionPublicKey(pem(hil.publicKey, 'spki')).type).toBe('public');
  });

  it('is refused when it is of another kind', async () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(() => readDecisionKey(pem(ec.privateKey, 'pkcs8'))).toThrow('Ed25519');
    expect(() => readDecisionPublicKey(pem(ec.publicKey, 'spki'))).toThrow('Ed25519');
    await expect(signDecision(unsigned, ec.privateKey)).rejects.toThrow('Ed25519');
    await expect(verifyDecision({ ...unsigned, signature: 'x' }, ec.publicKey)).rejects.toThrow('Ed25519');
  });
});
