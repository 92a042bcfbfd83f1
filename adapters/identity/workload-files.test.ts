import { beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, type Credential, issueLeaf, type LeafProfile } from './certificate-authority.js';
import { checkedCertificate } from './workload-files.js';

const SPIFFE = 'spiffe://gate.local/service/ledger';
const at = (ms: number): Date => new Date(Math.floor((Date.now() + ms) / 1_000) * 1_000);
const HOUR_MS = 3_600_000;

let ca: Credential;
let other: Credential;
beforeAll(async () => {
  const validity = { notBefore: at(-2 * HOUR_MS), notAfter: at(2 * HOUR_MS) };
  [ca, other] = await Promise.all([createAuthority('gate.local', validity), createAuthority('gate.local', validity)]);
});

const leaf = (over: Partial<LeafProfile> = {}, by = ca): Promise<Credential> =>
  issueLeaf(by, {
    commonName: 'ledger',
    spiffe: SPIFFE,
    hosts: ['localhost'],
    usages: ['server', 'client'],
    notBefore: at(-HOUR_MS),
    notAfter: at(HOUR_MS),
    ...over,
  });
const taken = (credential: Credential) => checkedCertificate(credential, { ca: ca.cert, spiffe: SPIFFE });

describe('a certificate that identity gave a service', () => {
  it('is taken with the key that it is of, until its end', async () => {
    const notAfter = at(HOUR_MS);
    const given = await leaf({ notAfter });
    expect(taken(given)).toEqual({ ...given, notAfterMs: notAfter.getTime() });
  });

  it.each<[string, () => Promise<Credential>, string]>([
    ['of another service', () => leaf({ spiffe: 'spiffe://gate.local/service/hil' }), `is not of ${SPIFFE}`],
    ['of another CA', () => leaf({}, other), 'the CA of this deployment did not sign'],
    ['that has ended', () => leaf({ notAfter: at(-1_000) }), 'do the clocks of its machine and of this one agree?'],
    ['of another key', async () => ({ ...(await leaf()), key: (await leaf()).key }), 'of another key'],
  ])('is refused where it is one %s', async (_what, given, why) => {
    const credential = await given();
    expect(() => taken(credential)).toThrow(why);
  });
});
