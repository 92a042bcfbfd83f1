import { generateKeyPairSync, sign, type X509Certificate } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { ExecutionReceipt } from '../../contracts/execution-receipt.js';
import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';
import { createSigner } from '../identity/signer.js';
import { receiptFault } from './execution-receipt.js';
import type { CallRecord } from './record.js';

const CALL = '70000000-0000-4000-8000-000000000007';
const FINGERPRINT = 'f'.repeat(64);

it('a receipt holds by the key that signed its authorization, also where another one signs by now', async () => {
  const [before, now] = [0, 1].map(() => createSigner(generateKeyPairSync('ed25519').privateKey)) as [
    ReturnType<typeof createSigner>,
    ReturnType<typeof createSigner>,
  ];
  const host = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const repeated = {
    authorization_id: CALL,
    idempotency_id: CALL,
    correlation_id: CALL,
    agent_id: 'bot',
    agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/x',
    tenant: 'acme',
    credential_fingerprint: `sha256:${FINGERPRINT}`,
    method: 'tools/call',
    tool_name: 'list_files',
    payload_sha256: 'a'.repeat(64),
  };
  const authorization: JsonObject = { stage: 'authorization', ...repeated };
  const said = {
    ...repeated,
    contract: 'gate.execution/v1',
    stage: 'execution.completed',
    authorization: { authorization, identity_signature: { ...(await before.sign(canonicalJson(authorization))) } },
    result_sha256: 'b'.repeat(64),
    effect_id: 'effect',
  };
  const value = sign('sha256', Buffer.from(canonicalJson(said)), { key: host.privateKey, dsaEncoding: 'ieee-p1363' });
  const receipt = {
    ...said,
    workload_signature: {
      algorithm: 'ES256',
      credential_fingerprint: `sha256:${FINGERPRINT}`,
      value: value.toString('base64url'),
    },
  } as unknown as ExecutionReceipt;
  const record = { evidence: { call: { correlation_id: CALL } } } as CallRecord;
  const certificate = { publicKey: host.publicKey } as Pick<X509Certificate, 'publicKey'>;
  const by = (...signers: (typeof now)[]) =>
    receiptFault(receipt, record, {
      bearer: { fingerprint: FINGERPRINT, certificate },
      keys: signers.map(({ publicJwk }) => publicJwk),
    });
  expect([by(before), by(now, before), by(now)]).toEqual([null, null, 'authorization_forged']);
  // A key under the name of another one.
  const forged = { publicJwk: { ...now.publicJwk, kid: before.publicJwk.kid } } as typeof now;
  expect(by(forged)).toBe('authorization_forged');
});
