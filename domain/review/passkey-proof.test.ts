import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ApprovalStatement, PasskeyApproval } from '../../contracts/approval.js';
import { type AssertionFaults, softwareAuthenticator } from '../../test/support/authenticator.js';
import { challengeOf } from './approval-challenge.js';
import { passkeyFault } from './passkey-proof.js';

const RP = { rpId: 'console.example', origin: 'https://console.example' };
const statement: ApprovalStatement = {
  contract: 'gate.approval/v1',
  decision: 'approve',
  pending_id: '3f0d3c5e-0000-4000-8000-000000000001',
  correlation_id: '3f0d3c5e-0000-4000-8000-000000000002',
  tenant: 'acme',
  approver: 'operator:ana',
  payload_digest: `sha256:${'a'.repeat(64)}`,
  policy_bundle_sha256: null,
  sandbox_report_digest: null,
  row_digest: `sha256:${'b'.repeat(64)}`,
};

/** The statement as an authenticator signed it that does what no honest one does. */
function signedWith(faults: AssertionFaults = {}): PasskeyApproval {
  const device = softwareAuthenticator(RP);
  const { response } = device.get(challengeOf(statement), faults);
  const spki = createPublicKey(device.publicKeyPem).export({ format: 'der', type: 'spki' });
  return {
    statement,
    passkey: {
      credential_id: device.id,
      public_key: spki.toString('base64url'),
      rp_id: faults.rpId ?? RP.rpId,
      authenticator_data: response.authenticatorData,
      client_data_json: response.clientDataJSON,
      signature: response.signature,
    },
  };
}

/** By whoever has only the row: the ceremony's library, which refuses most of this before, is not asked. */
describe('the signature of a passkey, checked with nothing but its row', () => {
  it.each<[string, AssertionFaults]>([
    ['at the address of the relying party', {}],
    ['at an address below it', { origin: 'https://eu.console.example' }],
  ])('proves its statement when made %s', (_, faults) => {
    expect(passkeyFault(signedWith(faults))).toBeNull();
  });

  it.each<[string, AssertionFaults, string]>([
    ['without verifying the person', { flags: 0x01 }, 'the person was not verified'],
    ['with nobody present', { flags: 0x04 }, 'nobody was present'],
    [
      'at an address that only ends alike',
      { origin: 'https://evilconsole.example' },
      'the origin https://evilconsole.example is not of the relying party',
    ],
    ['as a registration', { type: 'webauthn.create' }, 'the client data is not of an assertion'],
    [
      'inside a page of another origin',
      { crossOrigin: true },
      'the assertion was made inside a page of another origin',
    ],
  ])('proves nothing when made %s', (_, faults, fault) => {
    expect(passkeyFault(signedWith(faults))).toBe(fault);
  });
});
