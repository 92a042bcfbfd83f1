import type { AgentCertificate, CertificationRequest, CertifiedAgent } from '../../contracts/identity.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { RegistryStore } from './registry.js';
import type { Signer } from './signer.js';

type Kept = Parameters<RegistryStore['certifyAgent']>[2];

/** What is signed of a certificate of an agent: its beginning tells it from everything else that the key signs. */
export const agentCertificateText = (certificate: AgentCertificate): string =>
  `gate.agent-certificate/1\n${canonicalJson(certificate)}`;

/** What an agent passed, signed, and what is kept of it. Throws `certification_incomplete` where it did not pass every case. */
export async function certifiedWith(
  signer: Signer,
  request: CertificationRequest,
  { id, tenant, agent }: { readonly id: string; readonly tenant: string; readonly agent: string },
  nowMs: number,
): Promise<{ readonly answer: CertifiedAgent; readonly kept: Kept }> {
  const { cases, total, passed } = request;
  if (cases.length === 0 || total !== cases.length || passed !== total || cases.some((one) => !one.passed))
    throw new GateError('certification_incomplete');
  const certificate: AgentCertificate = {
    schema: 'gate.agent-certificate/v1',
    agent_id: id,
    tenant,
    agent_name: agent,
    ...request,
    certified_at: new Date(nowMs).toISOString(),
  };
  const text = agentCertificateText(certificate);
  const signature = await signer.sign(text);
  const certificateSha256 = `sha256:${sha256Hex(canonicalJson(certificate))}`;
  return {
    answer: { certificate, certificate_sha256: certificateSha256, signature },
    kept: {
      version: request.sdk_version,
      certificateSha256,
      detail: { passed, catalog_sha256: request.catalog_sha256, signature: { ...signature } },
      content: { certificate },
    },
  };
}
