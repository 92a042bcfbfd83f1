import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inflateRawSync } from 'node:zlib';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import { SignedXml } from 'xml-crypto';

const { subtle } = webcrypto;
const XMLDSIG = 'http://www.w3.org/2000/09/xmldsig#';
export const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';

export interface SigningKey {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

/** A key with a certificate of its own, as providers have them. */
export async function newSigningKey({
  bits = 2_048,
  notAfter = new Date(Date.now() + 86_400_000),
} = {}): Promise<SigningKey> {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const keys = await subtle.generateKey(
    { ...algorithm, modulusLength: bits, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ['sign', 'verify'],
  );
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: randomBytes(8).toString('hex'),
    name: 'CN=provider of the tests',
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter,
    keys,
    signingAlgorithm: algorithm,
  });
  return {
    key: PemConverter.encode(await subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
    cert: certificate.toString('pem'),
  };
}

/** What a request of the console says. */
export interface SamlRequest {
  readonly id: string;
  readonly destination: string;
  readonly acsUrl: string;
  readonly issuer: string;
  readonly relayState: string;
}

/** Everything that an answer says; a test changes what it wants to see refused. */
export interface Answer {
  issuer: string;
  /** Of the request, in the response and in the confirmation. */
  responseTo: string | null;
  confirmationTo: string | null;
  destination: string | null;
  recipient: string;
  audience: string;
  assertionId: string;
  nameId: string;
  nameFormat: string;
  attributes: Readonly<Record<string, readonly string[]>>;
  status: string;
  version: string;
  notBeforeMs: number;
  notOnOrAfterMs: number;
  confirmedUntilMs: number;
  sessionEndsMs: number | null;
  /** More elements, in the assertion's conditions and at its end. */
  conditions: string;
  statement: string;
}

export interface Forge {
  readonly answer?: (answer: Answer) => Partial<Answer>;
  /** Changes the text before it is signed, and after. */
  readonly before?: (xml: string) => string;
  readonly after?: (xml: string) => string;
  /** What is signed; the assertion when absent. */
  readonly sign?: readonly ('assertion' | 'response')[];
  readonly by?: SigningKey;
  readonly algorithm?: string;
  readonly digest?: string;
  readonly canonical?: string;
  readonly transforms?: readonly string[];
}

export interface SamlProvider {
  readonly entityId: string;
  readonly metadataUrl: string;
  readonly signOnUrl: string;
  person: { nameId: string; attributes: Readonly<Record<string, readonly string[]>> };
  forge: Forge;
  /** What it serves as its metadata. */
  metadata: (xml: string) => string;
  /** How often its metadata was read. */
  metadataRead: number;
  /** Answers what the console sent a browser with. */
  answer(address: string, forge?: Forge): { readonly SAMLResponse: string; readonly RelayState: string };
  close(): Promise<void>;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const instant = (ms: number): string => new Date(ms).toISOString();

/** Reads a request as it stands in the address that the console sends a browser to. */
export function readRequest(address: string): SamlRequest {
  const { searchParams } = new URL(address);
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString('utf8');
  const said = (name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(xml)?.[1] ?? '';
  return {
    id: said('ID'),
    destination: said('Destination'),
    acsUrl: said('AssertionConsumerServiceURL'),
    issuer: />([^<]*)<\/saml:Issuer>/.exec(xml)?.[1] ?? '',
    relayState: searchParams.get('RelayState') ?? '',
  };
}

function writtenAnswer(of: Answer): string {
  const optional = (name: string, value: string | null): string =>
    value === null ? '' : ` ${name}="${escaped(value)}"`;
  const attributes = Object.entries(of.attributes)
    .map(
      ([name, values]) =>
        `<saml:Attribute Name="${escaped(name)}">${values.map((value) => `<saml:AttributeValue>${escaped(value)}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
    )
    .join('');
  const now = instant(Date.now());
  return [
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="_r${randomBytes(8).toString('hex')}" Version="${of.version}" IssueInstant="${now}"${optional('Destination', of.destination)}${optional('InResponseTo', of.responseTo)}>`,
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${escaped(of.issuer)}</saml:Issuer>`,
    `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${of.status}"/></samlp:Status>`,
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${of.assertionId}" Version="2.0" IssueInstant="${now}">`,
    `<saml:Issuer>${escaped(of.issuer)}</saml:Issuer>`,
    `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:${of.nameFormat}">${escaped(of.nameId)}</saml:NameID>`,
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">',
    `<saml:SubjectConfirmationData${optional('InResponseTo', of.confirmationTo)} Recipient="${escaped(of.recipient)}" NotOnOrAfter="${instant(of.confirmedUntilMs)}"/>`,
    '</saml:SubjectConfirmation></saml:Subject>',
    `<saml:Conditions NotBefore="${instant(of.notBeforeMs)}" NotOnOrAfter="${instant(of.notOnOrAfterMs)}">`,
    `<saml:AudienceRestriction><saml:Audience>${escaped(of.audience)}</saml:Audience></saml:AudienceRestriction>${of.conditions}</saml:Conditions>`,
    of.statement === ''
      ? `<saml:AuthnStatement AuthnInstant="${now}"${optional('SessionNotOnOrAfter', of.sessionEndsMs === null ? null : instant(of.sessionEndsMs))}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`
      : of.statement,
    `<saml:AttributeStatement>${attributes}</saml:AttributeStatement>`,
    '</saml:Assertion></samlp:Response>',
  ].join('');
}

/** Signs one element of a text, with the signature after its issuer. */
export function signedXml(xml: string, element: 'assertion' | 'response', by: SigningKey, forge: Forge = {}): string {
  const name = element === 'assertion' ? 'Assertion' : 'Response';
  const signature = new SignedXml({
    privateKey: by.key,
    publicCert: by.cert,
    signatureAlgorithm: forge.algorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: (forge.canonical ?? EXCLUSIVE) as never,
  });
  const xpath = `//*[local-name(.)='${name}']`;
  signature.addReference({
    xpath,
    transforms: [...(forge.transforms ?? [`${XMLDSIG}enveloped-signature`, EXCLUSIVE])],
    digestAlgorithm: forge.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  signature.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[local-name(.)='Issuer']`, action: 'after' },
  });
  return signature.getSignedXml();
}

/** A SAML identity provider on this machine: its metadata, and a page that sends a browser back with whatever a test wants said. */
export async function startSamlProvider(signing: SigningKey): Promise<SamlProvider> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', at);
    if (pathname === '/metadata') {
      provider.metadataRead += 1;
      response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' }).end(provider.metadata(metadata));
      return;
    }
    if (pathname !== '/sso') {
      response.writeHead(404, { 'content-type': 'text/html' }).end('nothing');
      return;
    }
    const address = new URL(request.url ?? '/', at).href;
    const fields = Object.entries(provider.answer(address))
      .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
      .join('');
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<form method="post" action="${escaped(readRequest(address).acsUrl)}">${fields}<button>Go on</button></form>`,
      );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const entityId = `${at}/metadata`;
  const certificate = signing.cert.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  const metadata = `<?xml version="1.0" encoding="UTF-8"?>
<!-- of the tests -->
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${XMLDSIG}"><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
    <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${at}/sso?of=gate"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`;
  const provider: SamlProvider = {
    entityId,
    metadataUrl: entityId,
    signOnUrl: `${at}/sso?of=gate`,
    person: { nameId: 'ada', attributes: {} },
    forge: {},
    metadata: (xml) => xml,
    metadataRead: 0,
    answer(address, forge = provider.forge) {
      const request = readRequest(address);
      const now = Date.now();
      const honest: Answer = {
        issuer: entityId,
        responseTo: request.id,
        confirmationTo: request.id,
        destination: request.acsUrl,
        recipient: request.acsUrl,
        audience: request.issuer,
        assertionId: `_a${randomBytes(16).toString('hex')}`,
        ...provider.person,
        nameFormat: '2.0:nameid-format:persistent',
        status: 'Success',
        version: '2.0',
        notBeforeMs: now - 5_000,
        notOnOrAfterMs: now + 120_000,
        confirmedUntilMs: now + 120_000,
        sessionEndsMs: null,
        conditions: '',
        statement: '',
      };
      let xml = writtenAnswer({ ...honest, ...forge.answer?.(honest) });
      xml = forge.before?.(xml) ?? xml;
      for (const element of forge.sign ?? (['assertion'] as const))
        xml = signedXml(xml, element, forge.by ?? signing, forge);
      xml = forge.after?.(xml) ?? xml;
      return { SAMLResponse: Buffer.from(xml).toString('base64'), RelayState: request.relayState };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return provider;
}
