import { createHash } from 'node:crypto';

/**
 * Who somebody is in a log that names nobody: the same for every sign-in of one person, and another one for every other method, tenant, provider
 * and person. `subject` is how a decision names the person (`decided_by`), so that whoever has that can tell which lines are its person's.
 * docs/architecture/console.md#federated; test/vectors/federated-principal.json.
 */
export const federatedPrincipal = (of: {
  readonly method: 'oidc' | 'saml';
  readonly tenant: string;
  readonly issuer: string;
  readonly subject: string;
}): string => `${of.method}:${of.tenant}:${digest(of.issuer).slice(0, 16)}:${digest(of.subject).slice(0, 32)}`;

/** SHA-256 in hex over the text, behind how many bytes of UTF-8 it has and a colon. */
const digest = (text: string): string =>
  createHash('sha256')
    .update(`${Buffer.byteLength(text)}:${text}`)
    .digest('hex');
