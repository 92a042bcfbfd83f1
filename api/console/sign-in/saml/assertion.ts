import { type Awaited, ASSERTION } from './shape.js';
import { attributeOf, childrenOf, elementsIn, instantOf, isNamed, onlyChild, readXml, textOf } from './xml.js';

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
const TRANSIENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient';
/** How far the provider's clock may be ahead. At the end nothing is allowed. */
const SKEW_MS = 60_000;
const CONDITIONS = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction'];

export interface Said {
  readonly id: string;
  /** After this nobody may sign in with it. */
  readonly untilMs: number;
  readonly nameId: string;
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  /** When the provider ends the session; `null` where it says nothing of it. */
  readonly endsMs: number | null;
}

/**
 * What an assertion says, whose bytes are exactly those that a signature was verified over. Throws where it is not for this console, this
 * request and this time.
 */
export function readAssertion(xml: string, at: Awaited & { readonly entityId: string; readonly nowMs: number }): Said {
  const assertion = readXml(xml);
  const one = (of: Element, name: string): Element => onlyChild(of, ASSERTION, name);
  if (!isNamed(assertion, ASSERTION, 'Assertion') || attributeOf(assertion, 'Version') !== '2.0')
    throw new Error('it is no SAML 2.0 assertion');
  const id = attributeOf(assertion, 'ID') ?? '';
  if (id === '') throw new Error('the assertion has no id');
  if (textOf(one(assertion, 'Issuer')) !== at.issuer) throw new Error('the assertion is of another issuer');

  const subject = one(assertion, 'Subject');
  const nameId = one(subject, 'NameID');
  if (attributeOf(nameId, 'Format') === TRANSIENT)
    throw new Error('the NameID is transient: one person would be another one at each sign-in');
  const confirmed = childrenOf(subject, ASSERTION, 'SubjectConfirmation').find((of) => isConfirmed(of, at));
  if (confirmed === undefined) throw new Error('no confirmation is for this request, this address and this time');

  const conditions = one(assertion, 'Conditions');
  if (elementsIn(conditions).some((of) => of.namespaceURI !== ASSERTION || !CONDITIONS.includes(of.localName ?? '')))
    throw new Error('it has a condition that is not known here');
  const untilMs = instantOf(conditions, 'NotOnOrAfter');
  if (untilMs === null || untilMs <= at.nowMs) throw new Error('the assertion is over');
  if ((instantOf(conditions, 'NotBefore') ?? 0) > at.nowMs + SKEW_MS) throw new Error('the assertion is not valid yet');
  const audiences = childrenOf(conditions, ASSERTION, 'AudienceRestriction').map((of) =>
    childrenOf(of, ASSERTION, 'Audience').map(textOf),
  );
  if (audiences.length === 0 || audiences.some((of) => !of.includes(at.entityId)))
    throw new Error('the assertion is for another audience');

  const statements = childrenOf(assertion, ASSERTION, 'AuthnStatement');
  if (statements.length === 0) throw new Error('it does not say that anybody signed in');
  const ends = statements.flatMap((of) => instantOf(of, 'SessionNotOnOrAfter') ?? []);
  return {
    id,
    untilMs,
    nameId: textOf(nameId),
    attributes: attributesIn(assertion),
    endsMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function isConfirmed(of: Element, { requestId, acsUrl, nowMs }: Awaited & { readonly nowMs: number }): boolean {
  if (attributeOf(of, 'Method') !== BEARER) return false;
  const [data, ...others] = childrenOf(of, ASSERTION, 'SubjectConfirmationData');
  if (data === undefined || others.length > 0) return false;
  return (
    attributeOf(data, 'InResponseTo') === requestId &&
    attributeOf(data, 'Recipient') === acsUrl &&
    (instantOf(data, 'NotOnOrAfter') ?? 0) > nowMs &&
    (instantOf(data, 'NotBefore') ?? 0) <= nowMs + SKEW_MS
  );
}

/** Every value of each attribute, as it is written. */
function attributesIn(assertion: Element): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const statement of childrenOf(assertion, ASSERTION, 'AttributeStatement'))
    for (const attribute of childrenOf(statement, ASSERTION, 'Attribute')) {
      const name = attributeOf(attribute, 'Name') ?? '';
      const values = childrenOf(attribute, ASSERTION, 'AttributeValue').map(textOf);
      found.set(name, [...(found.get(name) ?? []), ...values]);
    }
  return found;
}
