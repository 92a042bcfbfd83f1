import type { X509Certificate } from 'node:crypto';

/** One label of a SPIFFE id. Compared as it is, without changes of case, trimming or decoding. `.` and `..` are not allowed (SPIFFE-ID 2.2). */
const LABEL = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,63}$/;
export const isLabel = (text: string): boolean => LABEL.test(text);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export interface AgentIdentity {
  readonly kind: 'agent';
  readonly spiffe: string;
  readonly tenant: string;
  readonly agent: string;
}
export interface ServiceIdentity {
  readonly kind: 'service';
  readonly spiffe: string;
  readonly service: string;
}

export const serviceSpiffe = (trustDomain: string, service: string): string =>
  `spiffe://${trustDomain}/service/${service}`;

export const agentSpiffe = (trustDomain: string, tenant: string, agent: string, instance: string): string =>
  `spiffe://${trustDomain}/tenant/${tenant}/agent/${agent}/instance/${instance}`;

/**
 * Reads a SPIFFE id of this trust domain: the full agent form with its instance, or a service id. Null for anything else, including a short
 * agent form or an extra segment.
 */
export function parseSpiffe(uri: string, trustDomain: string): AgentIdentity | ServiceIdentity | null {
  const prefix = `spiffe://${trustDomain}/`;
  if (!uri.startsWith(prefix)) return null;
  const segments = uri.slice(prefix.length).split('/');
  if (segments.length === 2 && segments[0] === 'service' && LABEL.test(segments[1] as string)) {
    return { kind: 'service', spiffe: uri, service: segments[1] as string };
  }
  const [a, tenant, b, agent, c, instance] = segments;
  if (segments.length !== 6 || a !== 'tenant' || b !== 'agent' || c !== 'instance') return null;
  if (!LABEL.test(tenant as string) || !LABEL.test(agent as string) || !UUID.test(instance as string)) return null;
  return { kind: 'agent', spiffe: uri, tenant: tenant as string, agent: agent as string };
}

/** The name that an agent keeps, whichever certificate it has: its SPIFFE id without an instance. */
export const agentName = (trustDomain: string, tenant: string, agent: string): string =>
  `spiffe://${trustDomain}/tenant/${tenant}/agent/${agent}`;

/** The agent of a SPIFFE id of this trust domain, with or without its instance; `null` for anything else. */
export function agentOfSpiffe(
  uri: string,
  trustDomain: string,
): { readonly tenant: string; readonly agent: string; readonly name: string } | null {
  const [tenant = '', agent = ''] = uri.slice(`spiffe://${trustDomain}/tenant/`.length).split('/agent/');
  const name = agentName(trustDomain, tenant, agent);
  if (LABEL.test(tenant) && LABEL.test(agent) && uri === name) return { tenant, agent, name };
  const full = parseSpiffe(uri, trustDomain);
  if (full?.kind !== 'agent') return null;
  return { tenant: full.tenant, agent: full.agent, name: agentName(trustDomain, full.tenant, full.agent) };
}

/** The one `spiffe://` URI among the subject alternative names; null when there is no URI or more than one. */
export function spiffeOfCertificate(certificate: X509Certificate): string | null {
  const names = certificate.subjectAltName ?? '';
  // Node writes the names in one line and quotes a name that could be read as several, for example the DNS name `a, URI:spiffe://…`. Any
  // quote is refused.
  if (names.includes('"')) return null;
  const uris = names
    .split(', ')
    .filter((name) => name.startsWith('URI:'))
    .map((name) => name.slice('URI:'.length));
  return uris.length === 1 && (uris[0] as string).startsWith('spiffe://') ? (uris[0] as string) : null;
}

/** The organisational unit by which a certificate says that it is good for the first certificate of a service, and for nothing else. */
export const BOOTSTRAP_UNIT = 'bootstrap';

/** Node writes each part of the subject on a line of its own, and escapes line feeds within one. */
export const isBootstrapCertificate = (certificate: X509Certificate): boolean =>
  certificate.subject.split('\n').includes(`OU=${BOOTSTRAP_UNIT}`);

/** SHA-256 of its DER in hex, as Gate writes it everywhere. */
export const fingerprintOf = ({ fingerprint256 }: Pick<X509Certificate, 'fingerprint256'>): string =>
  fingerprint256.replaceAll(':', '').toLowerCase();

/** The host names and addresses of a certificate that names a service. */
export const hostsOf = (certificate: X509Certificate): readonly string[] =>
  (certificate.subjectAltName ?? '').split(', ').flatMap((name) => /^(?:DNS|IP Address):(.+)$/.exec(name)?.[1] ?? []);
