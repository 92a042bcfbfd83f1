import { attributeOf, attributesOf, childrenOf, elementsIn, everyElement, isNamed, onlyChild, readXml } from './xml.js';

export const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol';
export const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion';
const SIGNATURES = 'http://www.w3.org/2000/09/xmldsig#';
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const ENVELOPED = `${SIGNATURES}enveloped-signature`;
const CANONICAL = 'http://www.w3.org/2001/10/xml-exc-c14n#';
/** RSA over SHA-2: SHA-1 can be forged. */
const SIGNATURE_METHODS = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const DIGEST_METHODS = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'];

export interface Awaited {
  readonly requestId: string;
  readonly acsUrl: string;
  /** The provider's own name. */
  readonly issuer: string;
}

/** Which elements of a response carry a signature. */
export interface Signed {
  readonly response: boolean;
  readonly assertion: boolean;
}

/**
 * Looks at a response before any signature is verified, so that there is one assertion in one place, and every signature is that of the
 * element in which it stands. Nothing of the person is read here. Throws for any other shape.
 */
export function checkShape(xml: string, { requestId, acsUrl, issuer }: Awaited): Signed {
  const response = readXml(xml);
  if (!isNamed(response, PROTOCOL, 'Response') || attributeOf(response, 'Version') !== '2.0')
    throw new Error('it is no SAML 2.0 response');
  const [assertion, ...others] = [...everyElement(response)].filter(({ localName }) => localName === 'Assertion');
  if (assertion === undefined || others.length > 0) throw new Error('it has not exactly one assertion');
  if (assertion !== onlyChild(response, ASSERTION, 'Assertion'))
    throw new Error('its assertion is not where it belongs');
  if ([...everyElement(response)].some(({ localName }) => localName?.startsWith('Encrypted') === true))
    throw new Error('a part of it is encrypted');
  checkIds(response);

  const status = onlyChild(onlyChild(response, PROTOCOL, 'Status'), PROTOCOL, 'StatusCode');
  if (attributeOf(status, 'Value') !== SUCCESS) throw new Error('the provider did not say Success');
  if (attributeOf(response, 'InResponseTo') !== requestId) throw new Error('it answers another request');
  const named = childrenOf(response, ASSERTION, 'Issuer');
  if (named.length > 1 || named.some(({ textContent }) => textContent !== issuer))
    throw new Error('the response is of another issuer');

  const signed = {
    response: checkSignature(response),
    assertion: checkSignature(assertion),
  };
  const signatures = [...everyElement(response)].filter(({ localName }) => localName === 'Signature');
  if (signatures.length !== Number(signed.response) + Number(signed.assertion))
    throw new Error('a signature stands where none belongs');
  if (signatures.length === 0) throw new Error('nothing of it is signed');
  // With a signature over the response, the protocol wants its address; without one, the confirmation's inside the assertion counts.
  const destination = attributeOf(response, 'Destination');
  if (destination !== acsUrl && (destination !== null || signed.response))
    throw new Error('it is meant for another address');
  return signed;
}

/** A signature names what it signs by an id, which must not be two elements'. */
function checkIds(root: Element): void {
  const seen = new Set<string>();
  for (const element of everyElement(root))
    for (const { localName, name, value } of attributesOf(element)) {
      if (!/^id$/i.test(localName ?? name)) continue;
      if (seen.has(value)) throw new Error('two of its elements have one id');
      seen.add(value);
    }
}

/** Whether an element has a signature of itself; throws for one of any other form. */
function checkSignature(element: Element): boolean {
  const [signature, ...others] = childrenOf(element, SIGNATURES, 'Signature');
  if (signature === undefined) return false;
  if (others.length > 0) throw new Error('two signatures stand in one element');
  const [info, value, key, ...more] = elementsIn(signature);
  if (!is(info, 'SignedInfo') || !is(value, 'SignatureValue') || (key && !is(key, 'KeyInfo')) || more.length > 0)
    throw new Error('a signature is not of its form');
  const [canonical, method, reference, ...references] = elementsIn(info);
  if (!is(canonical, 'CanonicalizationMethod') || !is(method, 'SignatureMethod') || !is(reference, 'Reference'))
    throw new Error('a signature is not of its form');
  if (references.length > 0) throw new Error('a signature is of several elements');
  const [transforms, digest, digestValue, ...rest] = elementsIn(reference);
  if (
    !is(transforms, 'Transforms') ||
    !is(digest, 'DigestMethod') ||
    !is(digestValue, 'DigestValue') ||
    rest.length > 0
  )
    throw new Error('a signature is not of its form');
  const id = attributeOf(element, 'ID');
  if (id === null || attributeOf(reference, 'URI') !== `#${id}`)
    throw new Error('a signature is of another element than the one in which it stands');
  const steps = elementsIn(transforms).map((step) => (is(step, 'Transform') ? attributeOf(step, 'Algorithm') : null));
  if (steps.join(' ') !== `${ENVELOPED} ${CANONICAL}`) throw new Error('a signature transforms what it signs');
  if (attributeOf(canonical, 'Algorithm') !== CANONICAL) throw new Error('a signature has another canonical form');
  if (!SIGNATURE_METHODS.includes(attributeOf(method, 'Algorithm') ?? '')) throw new Error('a signature is too weak');
  if (!DIGEST_METHODS.includes(attributeOf(digest, 'Algorithm') ?? '')) throw new Error('a digest is too weak');
  return true;
}

const is = (element: Element | undefined, name: string): element is Element =>
  element !== undefined && isNamed(element, SIGNATURES, name);
