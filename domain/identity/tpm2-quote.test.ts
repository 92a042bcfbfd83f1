import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync, hash, randomBytes, randomUUID, sign } from 'node:crypto';
import { ATTESTATION_CONTRACT, type AttestationRequest } from '../../contracts/verified-attestation.js';
import { needs } from '../../test/support/needs.js';
import { HAS_TPM, PCRS, startTpm, type TestAk, type TestTpm } from '../../test/support/tpm.js';
import { GateError } from '../errors.js';
import { type Tpm2Anchor, TPM2_VERIFIER_POLICY, tpm2ExtraData, verifyTpm2Quote } from './tpm2-quote.js';
import { tpm2AnchorOf } from '../../adapters/identity/tpm2-anchors.js';

const digest = (text: string) => `sha256:${hash('sha256', text)}`;
const requestFor = (trustAnchorId: string, platformIssuer = 'swtpm.test'): AttestationRequest => ({
  contractVersion: ATTESTATION_CONTRACT,
  requestId: randomUUID(),
  evidenceKind: 'tpm2-quote',
  evidence: '-',
  evidenceSha256: digest('-'),
  challenge: {
    nonce: randomBytes(32).toString('base64url'),
    issuedAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2026-01-01T00:02:00.000Z',
  },
  expected: {
    publicKeySha256: digest('key'),
    svidSha256: digest('svid'),
    spiffeId: 'spiffe://gate.local/tenant/acme/agent/bot/instance/1',
    tenant: 'acme',
    workload: 'bot',
    instance: '1',
    platformIssuer,
    trustAnchorId,
    measurementPolicyVersion: 'v1',
    verifierPolicyVersion: TPM2_VERIFIER_POLICY,
  },
  requestedAt: '2026-01-01T00:00:01.000Z',
});
const bytesOf = (evidence: object) => Buffer.from(JSON.stringify(evidence));
const refusal = (work: () => unknown): string => {
  try {
    work();
    return 'nothing refused';
  } catch (error) {
    return error instanceof GateError ? error.code : String(error);
  }
};

(HAS_TPM ? describe : describe.skip)(`a quote of a TPM${needs('swtpm', HAS_TPM)}`, () => {
  let tpm: TestTpm;
  let ak: TestAk;
  let other: TestAk;
  let anchors: Map<string, Tpm2Anchor>;
  let request: AttestationRequest;
  let evidence: Record<string, unknown>;
  beforeAll(async () => {
    tpm = await startTpm();
    [ak, other] = [await tpm.ak('first'), await tpm.ak('second')];
    anchors = new Map([ak, other].map((one) => [one.name, tpm2AnchorOf(one.anchor)]));
    request = requestFor(ak.trustAnchorId);
    evidence = await tpm.quote(ak, tpm2ExtraData(request));
  });
  afterAll(() => tpm.stop());
  const verified = (over: object = {}, asked = request) =>
    verifyTpm2Quote(bytesOf({ ...evidence, ...over }), asked, anchors);
  const refused = (over: object, asked = request) => refusal(() => verified(over, asked));

  it('says what the machine measured', () => {
    const values = Buffer.from(Object.values(evidence['pcrValues'] as object).join(''), 'hex');
    expect(verified()).toBe(`sha256:${hash('sha256', values)}`);
  });

  it('is bound to each part of its request', () => {
    const parts: readonly AttestationRequest[] = [
      { ...request, contractVersion: '1.0.1' },
      { ...request, requestId: randomUUID() },
      { ...request, challenge: { ...request.challenge, nonce: randomBytes(32).toString('base64url') } },
      { ...request, requestedAt: '2026-01-01T00:00:02.000Z' },
      ...Object.keys(request.expected)
        .filter((name) => name !== 'platformIssuer' && name !== 'trustAnchorId')
        .map((name) => ({ ...request, expected: { ...request.expected, [name]: 'another' } })),
    ];
    expect(parts).toHaveLength(12);
    expect(parts.map((part) => refused({}, part))).toEqual(parts.map(() => 'attestation_nonce_mismatch'));
    const trust = ['platformIssuer', 'trustAnchorId'].map((name) =>
      refused({}, { ...request, expected: { ...request.expected, [name]: 'another' } }),
    );
    expect(trust).toEqual(trust.map(() => 'attestation_issuer_untrusted'));
  });

  it('has no field that runs into the next one', () => {
    const moved = { ...request.expected, tenant: 'acmeb', workload: 'ot' };
    expect(refused({}, { ...request, expected: moved })).toBe('attestation_nonce_mismatch');
  });

  it('is none of a request with a field that is too long to be bound', () => {
    const requestedAt = `2026-01-01T00:00:01.${'0'.repeat(65_536)}Z`;
    expect(refused({}, { ...request, requestedAt })).toBe('attestation_evidence_malformed');
  });

  it('is no text in which a member stands twice, whatever else makes up for its length', () => {
    const text = JSON.stringify(evidence);
    const { pcrValues } = evidence as { pcrValues: Record<string, string> };
    const twice = `"0":"${'0'.repeat(64)}",`;
    const first = `{"0":"${pcrValues['0']}"`;
    const padded = text.replace(first, `{${twice}"0":"${pcrValues['0']}","__proto__":"${' '.repeat(twice.length)}"`);
    expect(refusal(() => verifyTpm2Quote(Buffer.from(padded), request, anchors))).toBe(
      'attestation_evidence_malformed',
    );
    expect(verified()).toMatch(/^sha256:/);
  });

  it('counts by the key that is pinned under its name, and no other of the same TPM', async () => {
    expect(refused({ akKeyId: 'unknown' })).toBe('attestation_issuer_untrusted');
    expect(refused({ akKeyId: other.name })).toBe('attestation_issuer_untrusted');
    // The other key signs for this request, under the name of the first one.
    const theirs = await tpm.quote(other, tpm2ExtraData(request));
    expect(refused({ ...theirs, akKeyId: ak.name })).toBe('attestation_issuer_untrusted');
    const name = anchors.get(other.name)?.qualifiedName as Buffer;
    const renamed = new Map([[ak.name, { ...(anchors.get(ak.name) as Tpm2Anchor), qualifiedName: name }]]);
    expect(refusal(() => verifyTpm2Quote(bytesOf({ ...theirs, akKeyId: ak.name }), request, renamed))).toBe(
      'attestation_issuer_untrusted',
    );
  });

  it('counts for the registers of its anchor, with the values that were signed', async () => {
    const fewer = await tpm.quote(ak, tpm2ExtraData(request), [0, 2, 4]);
    expect(refused(fewer)).toBe('attestation_evidence_malformed');
    const values = evidence['pcrValues'] as Record<string, string>;
    expect(refused({ pcrValues: { ...values, 7: 'ab'.repeat(32) } })).toBe('attestation_evidence_malformed');
    expect(refused({ pcrValues: { ...values, 8: '00'.repeat(32) } })).toBe('attestation_evidence_malformed');
    const { 7: _without, ...three } = values;
    expect(refused({ pcrValues: three })).toBe('attestation_evidence_malformed');
  });

  it('says something else once the machine measured something else', async () => {
    const before = verified();
    await tpm.extend(7);
    const after = await tpm.quote(ak, tpm2ExtraData(request));
    expect(verified(after)).not.toBe(before);
  });

  describe('as bytes', () => {
    const message = () => Buffer.from(String(evidence['quoteMessage']), 'base64url');
    const signature = () => Buffer.from(String(evidence['quoteSignature']), 'base64url');
    const text = (bytes: Buffer) => bytes.toString('base64url');

    it('is refused where it ends anywhere before its end, or something follows', () => {
      for (let length = 0; length < message().length; length += 1)
        expect(refused({ quoteMessage: text(message().subarray(0, length)) })).toBe('attestation_evidence_malformed');
      for (let length = 0; length < signature().length; length += 1)
        expect(refused({ quoteSignature: text(signature().subarray(0, length)) })).toBe(
          'attestation_evidence_malformed',
        );
      const more = Buffer.of(0);
      expect(refused({ quoteMessage: text(Buffer.concat([message(), more])) })).toBe('attestation_evidence_malformed');
      expect(refused({ quoteSignature: text(Buffer.concat([signature(), more])) })).toBe(
        'attestation_evidence_malformed',
      );
    });

    it('is refused with any byte changed, lengths that lie among them', () => {
      const counts: Record<string, number> = {};
      for (let at = 0; at < message().length; at += 1)
        for (const value of [0, 1, 0x7f, 0xff]) {
          const changed = message();
          if (changed[at] === value) continue;
          changed[at] = value;
          const code = refused({ quoteMessage: text(changed) });
          counts[code] = (counts[code] ?? 0) + 1;
        }
      expect(Object.keys(counts).toSorted()).toEqual([
        'attestation_evidence_malformed',
        'attestation_issuer_untrusted',
      ]);
      for (let at = 0; at < signature().length; at += 1) {
        const changed = signature();
        changed[at] = (changed[at] ?? 0) ^ 1;
        expect(refused({ quoteSignature: text(changed) })).toMatch(
          /^attestation_(?:evidence_malformed|issuer_untrusted)$/,
        );
      }
    });

    it('is refused where the pinned key itself signed no quote of a TPM', () => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const own = new Map([[ak.name, { ...(anchors.get(ak.name) as Tpm2Anchor), publicKey }]]);
      const signed = (bytes: Buffer) => {
        const both = sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' });
        const part = (half: Buffer) => Buffer.concat([Buffer.of(0, half.length), half]);
        const header = Buffer.from('0018000b', 'hex');
        const quoteSignature = text(Buffer.concat([header, part(both.subarray(0, 32)), part(both.subarray(32))]));
        return refusal(() =>
          verifyTpm2Quote(bytesOf({ ...evidence, quoteMessage: text(bytes), quoteSignature }), request, own),
        );
      };
      const with_ = (at: number, hex: string) => {
        const bytes = message();
        Buffer.from(hex, 'hex').copy(bytes, at);
        return bytes;
      };
      expect(signed(message())).toBe('nothing refused');
      // 34 bytes of a name and 32 of data, each behind its length; then 16 of the clock.
      const safe = 4 + 2 + 2 + 34 + 2 + 32 + 16;
      const select = safe + 1 + 8;
      const bad = [
        with_(0, '00000000'), // the magic number
        with_(4, '8017'), // a certification instead of a quote
        with_(safe, '00'),
        with_(safe, '02'),
        with_(select, '00000000'), // no bank
        with_(select, '00000002'), // two
        with_(select + 4, '0004'), // that of SHA-1
        with_(select + 7, '00'), // other registers
        with_(select + 9, '01'), // one that was not asked for
      ];
      expect(bad.map(signed)).toEqual(bad.map(() => 'attestation_evidence_malformed'));
    });

    it('is one JSON object of the members that it has, each once', () => {
      const all = JSON.stringify(evidence);
      const bad = [
        '',
        '[]',
        'null',
        `${all}x`,
        all.replace('"schemaVersion":1', '"schemaVersion":2'),
        all.replace('"schemaVersion":1', '"schemaVersion":1,"schemaVersion":1'),
        all.replace('"schemaVersion":1', '"schemaVersion":1,"more":1'),
        all.replace('"sha256"', '"sha1"'),
        all.replace('"akKeyId"', '"akKeyI\\u0064"'),
        all.replace('"0":', '"00":'),
      ];
      expect(bad.map((one) => refusal(() => verifyTpm2Quote(Buffer.from(one), request, anchors)))).toEqual(
        bad.map(() => 'attestation_evidence_malformed'),
      );
      const notUtf8 = Buffer.concat([Buffer.from(all), Buffer.of(0xff)]);
      expect(refusal(() => verifyTpm2Quote(notUtf8, request, anchors))).toBe('attestation_evidence_malformed');
    });
  });

  it('has an anchor that names one key of P-256, and registers that ascend', () => {
    const bad = [
      { ...ak.anchor, public_pem: 'no key' },
      {
        ...ak.anchor,
        public_pem: generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string,
      },
      { ...ak.anchor, qualified_name: '000b' },
      { ...ak.anchor, pcrs: [2, 0] },
      { ...ak.anchor, pcrs: [] },
      { ...ak.anchor, pcrs: [24] },
    ];
    for (const one of bad) expect(() => tpm2AnchorOf(one)).toThrow();
    expect(tpm2AnchorOf(ak.anchor).pcrs).toEqual([...PCRS]);
  });
});
