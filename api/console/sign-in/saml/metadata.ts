import { X509Certificate } from 'node:crypto';
import { isLoopback } from '../../../../domain/outbound/loopback.js';
import { attributeOf, childrenOf, instantOf, isNamed, onlyChild, readXml, textOf } from './xml.js';
import { PROTOCOL } from './shape.js';

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata';
const SIGNATURES = 'http://www.w3.org/2000/09/xmldsig#';
const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const LEAST_BITS = 2_048;

/** What the console goes by from its start to its end. */
export interface IdentityProvider {
  readonly entityId: string;
  /** Where browsers are sent. */
  readonly signOnUrl: string;
  /** What it signs with. One counts between its own dates only. */
  readonly certificates: readonly X509Certificate[];
}

/** Reads the metadata of one identity provider. Throws, with words for the operator, for what the console could not sign anybody in by. */
export function readMetadata(text: string, nowMs: number): IdentityProvider {
  const root = readXml(text, { comments: true });
  if (!isNamed(root, METADATA, 'EntityDescriptor')) throw new Error('it describes not exactly one entity');
  const untilMs = instantOf(root, 'validUntil');
  if (untilMs !== null && untilMs <= nowMs) throw new Error('it is no longer valid (validUntil)');
  const entityId = attributeOf(root, 'entityID') ?? '';
  if (entityId === '') throw new Error('it has no entityID');
  const [provider, ...others] = childrenOf(root, METADATA, 'IDPSSODescriptor').filter((of) =>
    (attributeOf(of, 'protocolSupportEnumeration') ?? '').split(' ').includes(PROTOCOL),
  );
  if (provider === undefined || others.length > 0)
    throw new Error('it has not exactly one IDPSSODescriptor of SAML 2.0');
  if (/^(?:true|1)$/.test(attributeOf(provider, 'WantAuthnRequestsSigned') ?? ''))
    throw new Error('it wants signed requests (WantAuthnRequestsSigned), which the console does not send');
  const signOnUrl = childrenOf(provider, METADATA, 'SingleSignOnService')
    .filter((of) => attributeOf(of, 'Binding') === REDIRECT)
    .map((of) => attributeOf(of, 'Location') ?? '')
    .find(isSafeAddress);
  if (signOnUrl === undefined)
    throw new Error('it has no SingleSignOnService over HTTPS with the binding HTTP-Redirect');
  const certificates = childrenOf(provider, METADATA, 'KeyDescriptor')
    .filter((of) => (attributeOf(of, 'use') ?? 'signing') === 'signing')
    .flatMap((of) => childrenOf(onlyChild(of, SIGNATURES, 'KeyInfo'), SIGNATURES, 'X509Data'))
    .flatMap((of) => childrenOf(of, SIGNATURES, 'X509Certificate'))
    .map((of) => new X509Certificate(Buffer.from(textOf(of), 'base64')))
    .filter(isStrong);
  if (validAt(certificates, nowMs).length === 0)
    throw new Error(`it has no signing certificate that is valid now, of RSA with ${LEAST_BITS} bits or more`);
  return { entityId, signOnUrl, certificates };
}

/** Over HTTP anybody on the way could send browsers elsewhere. */
function isSafeAddress(location: string): boolean {
  if (!URL.canParse(location)) return false;
  const { protocol, hostname } = new URL(location);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function isStrong({ publicKey }: X509Certificate): boolean {
  // Node ends the process where it is to tell of some keys of curves.
  return publicKey.asymmetricKeyType === 'rsa' && (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) >= LEAST_BITS;
}

export const validAt = (certificates: readonly X509Certificate[], nowMs: number): readonly X509Certificate[] =>
  certificates.filter(({ validFrom, validTo }) => Date.parse(validFrom) <= nowMs && nowMs <= Date.parse(validTo));
