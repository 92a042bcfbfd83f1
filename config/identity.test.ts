import { describe, expect, it } from '@jest/globals';
import { verifierFault } from './identity.js';

type Asked = Parameters<typeof verifierFault>[0];
const asked = (over: Partial<Asked>): Asked =>
  ({ renewalsAttested: 'none', proxyAttestation: 'off', ...over }) as Asked;

describe('identity without a verifier of attestation', () => {
  it('starts where nothing asks for evidence', () => {
    expect(verifierFault(asked({}))).toBeNull();
  });

  it.each<[string, Partial<Asked>, string]>([
    ['renewals of some agents', { renewalsAttested: 'named' }, 'GATE_IDENTITY_RENEWALS_ATTESTED is named'],
    ['renewals of all', { renewalsAttested: 'all' }, 'GATE_IDENTITY_RENEWALS_ATTESTED is all'],
    ['a proxy that judges by it', { proxyAttestation: 'required' }, 'GATE_PROXY_ATTESTATION is required'],
  ])('does not start where evidence is asked for by %s', (_what, over, named) => {
    expect(verifierFault(asked(over))).toBe(
      `GATE_IDENTITY_TPM2_ANCHORS_FILE: must name the keys that evidence is verified by, or GATE_IDENTITY_K8S_CLUSTERS_FILE the clusters, since ${named}`,
    );
    expect(verifierFault(asked({ ...over, tpm2AnchorsFile: 'anchors.json' }))).toBeNull();
    expect(verifierFault(asked({ ...over, k8sClustersFile: 'clusters.json' }))).toBeNull();
  });
});
