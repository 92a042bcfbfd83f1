import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RevocationContent, RevocationList } from '../../contracts/identity.js';
import { createAuthority, type Credential } from './certificate-authority.js';
import { revocationSigner, revocationVerifier } from './revocation-signature.js';

let [ca, other]: Credential[] = [];
beforeAll(async () => {
  const validity = { notBefore: new Date(Date.now() - 1_000), notAfter: new Date(Date.now() + 3_600_000) };
  [ca, other] = [await createAuthority('gate.local', validity), await createAuthority('gate.local', validity)];
});

const content: RevocationContent = {
  trust_domain: 'gate.local',
  after: 3,
  after_history: '3'.repeat(64),
  generation: 5,
  history: '5'.repeat(64),
  latest: 5,
  generated_at: '2026-11-29T10:00:00.000Z',
  expires_at: '2026-11-29T10:05:00.000Z',
  agents: [],
  standings: [],
  stops: [],
  svids: ['a', 'b'].map((digit) => ({
    svid_id: '0190a5b0-0000-7000-8000-000000000000',
    serial: '01',
    spiffe_id: 'spiffe://gate.local/tenant/acme/agent/bot/instance/x',
    credential_fingerprint: digit.repeat(64),
    not_after: '2026-11-29T11:00:00.000Z',
    why: 'revoked',
    refused_from: '2026-11-29T10:00:00.000Z',
  })),
};
const signed = () => revocationSigner((ca as Credential).cert, (ca as Credential).key)(content);

describe('a signed list of revocations', () => {
  it('is taken by who trusts the CA that signed it, beside others', async () => {
    const trusted = `${(other as Credential).cert}${(ca as Credential).cert}`;
    expect(revocationVerifier(() => trusted)(await signed())).toEqual(content);
  });

  it.each<[string, (list: RevocationList) => Partial<RevocationList>]>([
    ['lacks an entry', ({ svids }) => ({ svids: svids.slice(1) })],
    ['has its entries in another order', ({ svids }) => ({ svids: svids.toReversed() })],
    ['has another number', () => ({ generation: 6, latest: 6 })],
    ['was asked for after another number', () => ({ after: 4 })],
    [
      'names another agent',
      () => ({ agents: [{ tenant: 'acme', agent_name: 'bot', revoked_at: '2026-11-29T10:00:00.000Z' }] }),
    ],
    ['has another history', () => ({ history: '3'.repeat(64) })],
    ['counts for longer', () => ({ expires_at: '2026-11-29T12:00:00.000Z' })],
    ['has the signature of nothing', ({ signature }) => ({ signature: { ...signature, value: '' } })],
  ])('is refused where it %s', async (_what, change) => {
    const list = await signed();
    const verify = revocationVerifier(() => (ca as Credential).cert);
    expect(() => verify({ ...list, ...change(list) })).toThrow('signature does not hold');
  });

  it('is refused by who does not trust the CA, and under a key that is not the CA’s', async () => {
    const { cert, key } = other as Credential;
    const list = await signed();
    expect(() => revocationVerifier(() => cert)(list)).toThrow('no CA of GATE_TLS_CA_FILE');
    const { signature } = await revocationSigner(cert, key)(content);
    const forged = { ...content, signature: { ...signature, key_id: list.signature.key_id } };
    expect(() => revocationVerifier(() => (ca as Credential).cert)(forged)).toThrow('signature does not hold');
    expect(() => revocationSigner((ca as Credential).cert, key)).toThrow('not the key of this CA');
  });
});
