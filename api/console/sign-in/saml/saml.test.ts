import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openSamlMemory, type SamlMemory } from '../../../../adapters/console/saml-memory.js';
import {
  commandLineOf,
  toldOf,
  browserAt,
  CONSOLE_ORIGIN,
  openLoneConsole,
} from '../../../../test/support/lone-console.js';
import { fieldIn } from '../../../../test/support/html.js';
import {
  type Answer,
  EXCLUSIVE,
  type Forge,
  newSigningKey,
  readRequest,
  type SamlProvider,
  signedXml,
  type SigningKey,
  startSamlProvider,
} from '../../../../test/support/saml-provider.js';
import { seededRandom } from '../../../../test/support/random.js';
import { FEDERATED_RULES, loggerTo } from '../../../../test/support/federation.js';
import { loggedOf } from '../../../../test/support/logged.js';
import { federatedPrincipal } from '../federated-principal.js';
import { openSamlMode } from './saml.js';

const DECIDE = 'decide-token-0123456789abcdefghijklm';
const ENTITY = 'https://gate.example/saml';
const ACS = `${CONSOLE_ORIGIN}/auth/saml/acs`;
const SESSION_MS = 3_600_000;
const ADA = { tenant: ['acme'], groups: ['approvers'], factors: ['mfa'] };

let signing: SigningKey;
let stranger: SigningKey;
let provider: SamlProvider;
let folder: string;
let memory: SamlMemory;
let console: Awaited<ReturnType<typeof openLoneConsole>>;
let aheadMs: number;
let logged: string;

const clock = () => Date.now() + aheadMs;
const openMemory = () => openSamlMemory({ target: { file: join(folder, 'saml.db') }, key: Buffer.alloc(32, 3), clock });
const logger = () => loggerTo((line) => void (logged += line));
const mode = (over: { readonly rules?: typeof FEDERATED_RULES; readonly memory?: SamlMemory } = {}) =>
  openSamlMode({
    entityId: ENTITY,
    acsUrl: ACS,
    metadataUrl: provider.metadataUrl,
    attributes: { tenant: 'tenant', groups: ['groups', 'memberOf'], mfa: 'factors' },
    rules: FEDERATED_RULES,
    decideToken: DECIDE,
    sessionMs: SESSION_MS,
    memory,
    logger: logger(),
    clock,
    ...over,
  });

beforeAll(async () => {
  [signing, stranger] = await Promise.all([newSigningKey(), newSigningKey()]);
  provider = await startSamlProvider(signing);
});
afterAll(() => provider.close());
beforeEach(async () => {
  aheadMs = 0;
  logged = '';
  provider.person = { nameId: 'ada@acme.example', attributes: ADA };
  provider.forge = {};
  provider.metadata = (xml) => xml;
  folder = mkdtempSync(join(tmpdir(), 'gate-saml-'));
  memory = await openMemory();
  console = await openLoneConsole({ signIn: await mode(), decideToken: DECIDE, clock, logger: logger() });
});
afterEach(async () => {
  await console.close();
  await memory.close();
  rmSync(folder, { recursive: true });
});

type Browser = ReturnType<typeof browserAt>;
/** Where the console sends a browser. */
async function begun(browser: Browser, wanted = '/audit'): Promise<string> {
  const answer = await browser.get(`/auth/saml/login?${new URLSearchParams({ return_to: wanted }).toString()}`);
  expect(answer.status).toBe(303);
  return String(answer.location);
}
/** The form on the provider's page. */
const sent = (browser: Browser, form: Readonly<Record<string, string>>) =>
  browser.post('/auth/saml/acs', form, new URL(provider.signOnUrl).origin);
async function answered(browser: Browser, forge?: Forge) {
  return sent(browser, provider.answer(await begun(browser), forge));
}
async function signedIn(forge?: Forge): Promise<Browser> {
  const browser = browserAt(console);
  expect(await answered(browser, forge)).toMatchObject({ status: 303, location: '/audit' });
  return browser;
}
async function refused(forge: Forge): Promise<string> {
  const browser = browserAt(console);
  const { status, text } = await answered(browser, forge);
  expect(status).toBe(401);
  expect(await browser.me()).toBeNull();
  expect(browser.cookies.has('gate_console_session')).toBe(false);
  expect(lineOf(text)).toMatchObject({ event: 'federated_refused', protocol: 'saml', reason: expect.any(String) });
  return text;
}
const written = (event: string) => loggedOf(logged, event);
/** The one line of the log under the id that a page shows. */
function lineOf(page: string): Record<string, unknown> {
  const id = /\(([0-9a-f-]{36})\)/.exec(page)?.[1] ?? 'no id';
  const lines = logged.split('\n').filter((line) => line.includes(id));
  expect(lines).toHaveLength(1);
  return JSON.parse(String(lines[0])) as Record<string, unknown>;
}
const told = () => toldOf(console)[0] ?? null;
const lastToldIn = (tenant: string) => toldOf(console).find((word) => word?.tenant === tenant) ?? null;

describe('signing in by SAML', () => {
  it('leads from the page that was wanted to the provider and back to it', async () => {
    const browser = browserAt(console);
    const wanted = await browser.get('/audit?agent=a%2Fb');
    const begins = await browser.get(String(wanted.location));
    const to = String((await browser.get(String(begins.location))).location);
    expect(await sent(browser, provider.answer(to))).toMatchObject({ status: 303, location: '/audit?agent=a%2Fb' });
    expect(await browser.me()).toMatchObject({
      name: 'saml:ada@acme.example',
      tenant: 'acme',
      role: 'approver',
      mode: 'saml',
    });
  });

  it('sends a request of its own each time, to the address of the metadata', async () => {
    const browser = browserAt(console);
    const [first, second] = [await begun(browser), await begun(browser)];
    expect(first.startsWith(`${provider.signOnUrl}&`)).toBe(true);
    expect(readRequest(first)).toMatchObject({ destination: provider.signOnUrl, acsUrl: ACS, issuer: ENTITY });
    expect(readRequest(first).id).toMatch(/^_[A-Za-z0-9_-]{43}$/);
    expect(readRequest(first).relayState).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(readRequest(second).id).not.toBe(readRequest(first).id);
    expect(readRequest(second).relayState).not.toBe(readRequest(first).relayState);
  });

  it('finishes two that are on the way in one browser', async () => {
    const browser = browserAt(console);
    const [first, second] = [await begun(browser, '/hil'), await begun(browser, '/agents')];
    expect(await sent(browser, provider.answer(first))).toMatchObject({ location: '/hil' });
    expect(await sent(browser, provider.answer(second))).toMatchObject({ location: '/agents' });
  });

  it.each<[string, Forge]>([
    ['the assertion', { sign: ['assertion'] }],
    ['the response', { sign: ['response'] }],
    ['both', { sign: ['assertion', 'response'] }],
    ['the assertion, with SHA-512', { algorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512' }],
    ['the assertion, in a response that names no address', { answer: () => ({ destination: null }) }],
  ])('takes an answer whose provider signed %s', async (_what, forge) => {
    await signedIn(forge);
  });

  it('reads groups of every attribute that is named, and the highest role of them', async () => {
    provider.person = { nameId: 'ada', attributes: { ...ADA, groups: ['viewers'], memberOf: ['staff', 'admins'] } };
    expect(await (await signedIn()).me()).toMatchObject({ role: 'admin' });
  });

  it('vouches for the person to the review service, and shows its token to no other', async () => {
    const browser = await signedIn();
    expect(told()).toMatchObject({
      subject: 'saml:ada@acme.example',
      tenant: 'acme',
      method: 'saml',
      role: 'approver',
    });
    await browser.get('/audit');
    for (const { headers } of console.asked.hil) expect(headers['authorization']).toBe(`Bearer ${DECIDE}`);
    expect(JSON.stringify(console.asked.others)).not.toContain(DECIDE);
  });

  it('writes who signed in, and out, without a name or an assertion, and counts it', async () => {
    const browser = await signedIn();
    await refused({ sign: [] });
    const subject = 'saml:ada@acme.example';
    const principal = federatedPrincipal({ method: 'saml', tenant: 'acme', issuer: provider.entityId, subject });
    const entered = { protocol: 'saml', principal, tenant: 'acme', role: 'approver' };
    expect([written('federated_login'), written('federated_logout')]).toEqual([[entered], []]);
    const csrf = fieldIn((await browser.get('/')).text, 'csrf');
    await browser.post('/logout', { csrf });
    expect(written('federated_logout')).toEqual([entered]);
    expect(logged).not.toContain('ada@');
    const counted = await console.registry.metrics();
    expect(counted).toContain('gate_console_auth_attempts_total{outcome="accepted"} 1');
    expect(counted).toContain('gate_console_auth_attempts_total{outcome="refused"} 1');
  });

  it('goes on while the provider is away, by the keys of the start', async () => {
    const read = provider.metadataRead;
    provider.metadata = () => 'gone';
    await signedIn();
    expect(provider.metadataRead).toBe(read);
  });
});

/** An assertion like the signed one, about somebody else. */
const evil = (xml: string): string =>
  (/<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '')
    .replace(/<ds:Signature.*?<\/ds:Signature>/s, '')
    .replace('ada@acme.example', 'root@acme.example')
    .replace(/ID="_a/, 'ID="_evil');
const assertionOf = (xml: string): string => /<saml:Assertion.*<\/saml:Assertion>/s.exec(xml)?.[0] ?? '';
const signatureOf = (xml: string): string => /<ds:Signature.*?<\/ds:Signature>/s.exec(xml)?.[0] ?? '';
const inObject = (content: string) => `<ds:Object>${content}</ds:Object></ds:Signature>`;
/** A response like the signed one, about somebody else. */
const evilResponse = (xml: string): string =>
  xml
    .replace(signatureOf(xml), '')
    .replace('ada@acme.example', 'root@acme.example')
    .replace(/ID="_r/, 'ID="_evil')
    .replace(/ID="_a/, 'ID="_evilA');

describe('nobody is signed in by wrapping what was signed:', () => {
  it.each<[string, Forge]>([
    ['another assertion before it', { after: (xml) => xml.replace('<saml:Assertion', `${evil(xml)}<saml:Assertion`) }],
    [
      'another assertion after it',
      { after: (xml) => xml.replace('</samlp:Response>', `${evil(xml)}</samlp:Response>`) },
    ],
    [
      'it inside another assertion',
      {
        after: (xml) =>
          xml.replace(
            assertionOf(xml),
            evil(xml).replace('</saml:Assertion>', `<saml:Advice>${assertionOf(xml)}</saml:Advice></saml:Assertion>`),
          ),
      },
    ],
    [
      'it inside the signature of another assertion',
      {
        after: (xml) => {
          const bare = assertionOf(xml).replace(signatureOf(xml), '');
          const signature = signatureOf(xml).replace('</ds:Signature>', inObject(bare));
          return xml.replace(assertionOf(xml), evil(xml).replace('</saml:Issuer>', `</saml:Issuer>${signature}`));
        },
      },
    ],
    [
      'it in the extensions of the response',
      {
        after: (xml) =>
          xml
            .replace(assertionOf(xml), evil(xml))
            .replace('<samlp:Status>', `<samlp:Extensions>${assertionOf(xml)}</samlp:Extensions><samlp:Status>`),
      },
    ],
    [
      'it under another name of the same element',
      {
        after: (xml) =>
          xml.replace(assertionOf(xml), evil(xml)).replace('</samlp:Response>', () => {
            const other = assertionOf(xml).replaceAll('saml:Assertion', 'x:Assertion');
            return `${other.replace('<x:Assertion', '<x:Assertion xmlns:x="urn:x"')}</samlp:Response>`;
          }),
      },
    ],
    [
      'a signed response inside another one',
      {
        sign: ['response'],
        after: (xml) =>
          evilResponse(xml).replace('<samlp:Status>', `<samlp:Extensions>${xml}</samlp:Extensions><samlp:Status>`),
      },
    ],
    [
      'a signed response inside the signature of another one',
      {
        sign: ['response'],
        after: (xml) => {
          const signature = signatureOf(xml).replace('</ds:Signature>', inObject(xml.replace(signatureOf(xml), '')));
          return evilResponse(xml).replace('</saml:Issuer>', `</saml:Issuer>${signature}`);
        },
      },
    ],
    [
      "the assertion's signature on the response",
      {
        after: (xml) => {
          const signature = signatureOf(xml);
          return xml
            .replace(signature, '')
            .replace('ada@acme.example', 'root@acme.example')
            .replace('</saml:Issuer>', `</saml:Issuer>${signature}`);
        },
      },
    ],
    ['a second signature', { after: (xml) => xml.replace(signatureOf(xml), signatureOf(xml).repeat(2)) }],
    ['a signature of the whole document', { after: (xml) => xml.replace(/URI="#[^"]*"/, 'URI=""') }],
    [
      'two elements with the id that is signed',
      {
        after: (xml) => xml.replace('<samlp:Status>', `<samlp:Status ID="${/ID="(_a[^"]*)"/.exec(xml)?.[1] ?? ''}">`),
      },
    ],
    [
      'a signed response whose assertion has something else for a signature',
      {
        sign: ['assertion', 'response'],
        after: (xml) =>
          signedXml(
            xml
              .replace(/(<saml:Assertion.*?<ds:SignatureValue>)[^<]{8}/s, '$1AAAAAAAA')
              .replace(/<ds:Signature(?:(?!<\/ds:Signature>).)*URI="#_r.*?<\/ds:Signature>/s, ''),
            'response',
            signing,
          ),
      },
    ],
  ])('%s', async (_what, forge) => {
    await refused(forge);
    await signedIn();
  });
});

/** Where each element of a text begins and ends. */
function elementsOf(xml: string): readonly (readonly [number, number])[] {
  const open: number[] = [];
  const found: (readonly [number, number])[] = [];
  for (const tag of xml.matchAll(/<(\/?)[^>]*?(\/?)>/g)) {
    const end = tag.index + tag[0].length;
    if (tag[1] === '/') found.push([open.pop() ?? 0, end]);
    else if (tag[2] === '/') found.push([tag.index, end]);
    else open.push(tag.index);
  }
  return found;
}

describe('an answer whose elements somebody copied, moved, took out and changed', () => {
  it('signs in nobody but the person whom the provider named', async () => {
    const { next, pick } = seededRandom('answers of SAML, changed');
    const changed = (xml: string): string => {
      const elements = elementsOf(xml);
      if (elements.length === 0) return xml;
      const [fromAt, fromEnd] = pick(elements);
      const [toAt, toEnd] = pick(elements);
      let part = xml.slice(fromAt, fromEnd);
      if (next() < 0.7)
        part = part.replaceAll('ada@acme.example', 'root@acme.example').replaceAll('approvers', 'admins');
      if (next() < 0.4) part = part.replaceAll(/ ID="_/g, ' ID="_x');
      const inside = xml.indexOf('>', toAt) + 1;
      const edits = [
        () => xml.slice(0, toAt) + part + xml.slice(toAt),
        () => xml.slice(0, toEnd) + part + xml.slice(toEnd),
        () => xml.slice(0, inside) + part + xml.slice(inside),
        () => xml.slice(0, toAt) + part + xml.slice(toEnd),
        () => xml.slice(0, toAt) + xml.slice(toEnd),
      ];
      return pick(edits)() || '<nothing/>';
    };
    let taken = 0;
    for (let round = 0; round < 100; round += 1) {
      const browser = browserAt(console, `10.0.0.${round}`);
      const times = Math.floor(next() * 4);
      const answer = await answered(browser, {
        sign: pick([['assertion'], ['response'], ['assertion', 'response']] as const),
        after: (xml) => Array.from({ length: times }).reduce<string>((text) => changed(text), xml),
      });
      const person = await browser.me();
      if (times === 0) expect(answer.status).toBe(303);
      if (answer.status === 303) {
        taken += 1;
        expect(person).toMatchObject({ name: 'saml:ada@acme.example', role: 'approver' });
      } else {
        expect(answer.status).toBe(401);
        expect(person).toBeNull();
      }
    }
    expect(taken).toBeGreaterThan(0);
  }, 120_000);
});

describe('nobody is signed in by an answer', () => {
  const saying = (over: (answer: Answer) => Partial<Answer>): Forge => ({ answer: over });
  it.each<[string, Forge]>([
    ['that nobody signed', { sign: [] }],
    ['that somebody changed', { after: (xml) => xml.replace('ada@acme.example', 'root@acme.example') }],
    [
      'of which a signed response was changed',
      {
        sign: ['response'],
        after: (xml) => xml.replace('ada@acme.example', 'root@acme.example'),
      },
    ],
    ['signed with SHA-1', { algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' }],
    ['with a digest of SHA-1', { digest: 'http://www.w3.org/2000/09/xmldsig#sha1' }],
    ['in another canonical form', { canonical: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' }],
    ['whose signature keeps comments', { canonical: `${EXCLUSIVE}WithComments` }],
    ['that is transformed otherwise', { transforms: [EXCLUSIVE] }],
    ['with a comment in the name', { before: (xml) => xml.replace('ada@', 'ada@acme.example<!-- -->.evil') }],
    ['with a comment put into the name', { after: (xml) => xml.replace('ada@', 'ada<!-- -->@') }],
    ['with a DTD', { after: (xml) => `<!DOCTYPE r [<!ENTITY e "ada">]>${xml}` }],
    ['with an entity', { before: (xml) => xml.replace('ada@', '&ada;@'), sign: [] }],
    ['with CDATA', { before: (xml) => xml.replace('ada@', '<![CDATA[ada]]>@') }],
    ['with an instruction', { after: (xml) => xml.replace('ada@', 'ada<?x y?>@') }],
    ['with an element in the name', { before: (xml) => xml.replace('ada@', '<x/>ada@') }],
    ['that is not XML', { after: () => 'SAML' }],
    ['of two roots', { after: (xml) => `${xml}<x/>` }],
    [
      'that is encrypted',
      {
        after: (xml) =>
          xml.replace(
            assertionOf(xml),
            '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>',
          ),
      },
    ],
    [
      'whose name is encrypted',
      {
        before: (xml) => xml.replace(/<saml:NameID.*<\/saml:NameID>/, '<saml:EncryptedID>x</saml:EncryptedID>'),
      },
    ],
    ['without an assertion', { sign: ['response'], before: (xml) => xml.replace(assertionOf(xml), '') }],
    [
      'that nests a thousand deep',
      { after: (xml) => xml.replace('<samlp:Status>', `<samlp:Status>${'<a>'.repeat(1_000)}${'</a>'.repeat(1_000)}`) },
    ],
    [
      'of ten thousand elements',
      { after: (xml) => xml.replace('<samlp:Status>', `<samlp:Status>${'<a/>'.repeat(10_000)}`) },
    ],
    [
      'of thirty namespaces, which each element within is digested with',
      {
        before: (xml) =>
          xml.replace(
            '<samlp:Status>',
            `<samlp:Status ${Array.from({ length: 30 }, (_, n) => `xmlns:n${n}="n:${n}"`).join(' ')}>`,
          ),
      },
    ],
    [
      'of nine thousand attributes',
      { after: (xml) => xml.replace('<samlp:Status', `<samlp:Status ${'a="b" '.repeat(9_000)}`) },
    ],
    ['of another version', saying(() => ({ version: '1.1' }))],
    ['that says no', saying(() => ({ status: 'Responder' }))],
    ['to another request', saying(() => ({ responseTo: '_other', confirmationTo: '_other' }))],
    ['to no request', saying(() => ({ responseTo: null, confirmationTo: null }))],
    ['whose confirmation is for another request', saying(() => ({ confirmationTo: '_other' }))],
    ['whose confirmation is for no request', saying(() => ({ confirmationTo: null }))],
    ['for another address', saying(() => ({ destination: 'https://others.example/acs' }))],
    ['for no address although it is signed', { sign: ['response'], answer: () => ({ destination: null }) }],
    ['for another recipient', saying(() => ({ recipient: 'https://others.example/acs' }))],
    ['for another audience', saying(() => ({ audience: 'https://others.example' }))],
    [
      'for a further audience',
      saying(() => ({
        conditions:
          '<saml:AudienceRestriction><saml:Audience>https://others.example</saml:Audience></saml:AudienceRestriction>',
      })),
    ],
    ['under a condition that is not known', saying(() => ({ conditions: '<saml:Condition/>' }))],
    [
      'whose assertion is of another issuer',
      {
        before: (xml) => xml.replace(/(<saml:Assertion[^>]*><saml:Issuer>)[^<]*/, '$1https://others.example'),
      },
    ],
    ['of another issuer', saying(() => ({ issuer: 'https://others.example' }))],
    ['that is over', saying(() => ({ notOnOrAfterMs: Date.now() - 1_000 }))],
    ['whose confirmation is over', saying(() => ({ confirmedUntilMs: Date.now() - 1_000 }))],
    ['that is not valid yet', saying(() => ({ notBeforeMs: Date.now() + 90_000 }))],
    ['that says of nobody that he signed in', saying(() => ({ statement: '<saml:AuthzDecisionStatement/>' }))],
    ['whose session is over', saying(() => ({ sessionEndsMs: Date.now() - 1_000 }))],
    ['with a name that is another one each time', saying(() => ({ nameFormat: '2.0:nameid-format:transient' }))],
    ['with a name that cannot be recorded', saying(() => ({ nameId: 'ada\u202e' }))],
    ['with a padded name', saying(() => ({ nameId: ' ada' }))],
    ['with no name', saying(() => ({ nameId: '' }))],
  ])('%s', async (_what, forge) => {
    const text = await refused(forge);
    expect(text).not.toMatch(/signature|assertion|audience/i);
  });

  it("by a key that is not the provider's, whatever certificate it shows", async () => {
    await refused({ by: stranger });
    await refused({ by: { key: stranger.key, cert: signing.cert } });
  });

  it.each<[string, Readonly<Record<string, readonly string[]>>]>([
    ['no tenant', { tenant: [] }],
    ['two tenants', { tenant: ['acme', 'globex'] }],
    ['one tenant twice', { tenant: ['acme', 'acme'] }],
    ['a padded tenant', { tenant: [' acme'] }],
    ['a tenant that is not here', { tenant: ['globex'] }],
    ['no group', { groups: [] }],
    ['groups that have no role', { groups: ['staff', 'Approvers'] }],
    ['no second factor', { factors: ['pwd'] }],
  ])('with %s', async (_what, over) => {
    provider.person = { nameId: 'ada', attributes: { ...ADA, ...over } };
    await refused({});
  });
});

describe('whoever was refused', () => {
  it('is told as whom, and comes in as somebody else, whom the provider is made to ask', async () => {
    provider.person = { nameId: 'ada', attributes: { ...ADA, groups: ['staff'] } };
    const page = await refused({});
    expect(page).toContain('says that you are <bdi class="foreign">ada</bdi>');
    const link = /href="([^"]*another=1[^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? 'no link';
    const browser = browserAt(console);
    const to = String((await browser.get(link)).location);
    const asked = inflateRawSync(Buffer.from(new URL(to).searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
    expect(asked).toContain('ForceAuthn="true"');
    provider.person = { nameId: 'bob', attributes: ADA };
    expect(await sent(browser, provider.answer(to))).toMatchObject({ status: 303, location: '/audit' });
    expect(await browser.me()).toMatchObject({ name: 'saml:bob' });
  });
});

describe('an answer', () => {
  it('is taken once', async () => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser));
    expect(await sent(browser, form)).toMatchObject({ status: 303 });
    expect(await sent(browser, form)).toMatchObject({ status: 401 });
  });

  it('of an assertion that was used is refused under another request, and after a restart', async () => {
    const again: Forge = { answer: () => ({ assertionId: '_once' }) };
    await signedIn(again);
    await refused(again);
    await console.close();
    await memory.close();
    memory = await openMemory();
    console = await openLoneConsole({ signIn: await mode(), decideToken: DECIDE, clock, logger: logger() });
    await refused(again);
    await signedIn();
  });

  it('to a request from before a restart is taken', async () => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser));
    await memory.close();
    memory = await openMemory();
    await console.close();
    console = await openLoneConsole({ signIn: await mode(), decideToken: DECIDE, clock });
    const later = browserAt(console);
    for (const [name, value] of browser.cookies) later.cookies.set(name, value);
    expect(await sent(later, form)).toMatchObject({ status: 303 });
  });

  it('that nobody asked for is refused', async () => {
    const browser = browserAt(console);
    const { SAMLResponse } = provider.answer(await begun(browser));
    expect(await sent(browser, { SAMLResponse, RelayState: '/audit' })).toMatchObject({ status: 401 });
  });

  it("under another request's relay state is refused", async () => {
    const browser = browserAt(console);
    const { SAMLResponse } = provider.answer(await begun(browser));
    const { RelayState } = provider.answer(await begun(browser));
    expect(await sent(browser, { SAMLResponse, RelayState })).toMatchObject({ status: 401 });
  });

  it('in another browser than the one that began is refused', async () => {
    const form = provider.answer(await begun(browserAt(console)));
    const elsewhere = await sent(browserAt(console), form);
    expect(elsewhere).toMatchObject({ status: 401 });
    expect(lineOf(elsewhere.text)['reason']).toContain('sent no cookie gate_console_saml');
    const other = browserAt(console);
    const to = await begun(browserAt(console));
    await begun(other);
    expect(await sent(other, provider.answer(to))).toMatchObject({ status: 401 });
  });

  it('that took more than five minutes is refused', async () => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser), {
      answer: () => ({ notOnOrAfterMs: Date.now() + 600_000, confirmedUntilMs: Date.now() + 600_000 }),
    });
    aheadMs = 300_000;
    expect(await sent(browser, form)).toMatchObject({ status: 401 });
  });

  it.each<[string, (form: Record<string, string>) => Record<string, string>]>([
    ['another field', (form) => ({ ...form, SigAlg: 'x' })],
    ['no relay state', ({ SAMLResponse = '' }) => ({ SAMLResponse })],
    ['no response', ({ RelayState = '' }) => ({ RelayState })],
    ['an empty response', (form) => ({ ...form, SAMLResponse: '' })],
    ['a response that is too long', (form) => ({ ...form, SAMLResponse: 'A'.repeat(262_145) })],
  ])('with %s is 400, and leaves the request as it was', async (_what, changed) => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser));
    expect(await sent(browser, changed({ ...form }))).toMatchObject({ status: 400 });
    expect(await sent(browser, form)).toMatchObject({ status: 303 });
  });

  it('of nothing but spaces costs no more than any other invalid response', async () => {
    const browser = browserAt(console);
    const { RelayState } = provider.answer(await begun(browser));
    expect(await sent(browser, { RelayState, SAMLResponse: `A${' '.repeat(262_000)}!` })).toMatchObject({
      status: 401,
    });
  });

  it('of more than half a megabyte is 413, and leaves the request as it was', async () => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser));
    expect(await sent(browser, { ...form, SAMLResponse: 'A'.repeat(524_288) })).toMatchObject({ status: 413 });
    expect(await sent(browser, form)).toMatchObject({ status: 303 });
  });

  it('with a field twice, or in JSON, is 400', async () => {
    const browser = browserAt(console);
    const form = provider.answer(await begun(browser));
    const post = (type: string, payload: string) =>
      console.service.app.inject({
        method: 'POST',
        url: '/auth/saml/acs',
        headers: { host: new URL(CONSOLE_ORIGIN).host, 'content-type': type },
        payload,
      });
    const twice = `${new URLSearchParams(form).toString()}&RelayState=x`;
    expect((await post('application/x-www-form-urlencoded', twice)).statusCode).toBe(400);
    expect((await post('application/json', JSON.stringify(form))).statusCode).toBe(400);
  });

  it('is not looked at after ten failures of one address, for a minute', async () => {
    const browser = browserAt(console);
    for (let tried = 0; tried < 10; tried += 1) await sent(browser, { SAMLResponse: 'A', RelayState: 'A' });
    expect(await sent(browser, { SAMLResponse: 'A', RelayState: 'A' })).toMatchObject({ status: 429 });
    expect(await browser.get('/auth/saml/login')).toMatchObject({ status: 429 });
    aheadMs = 61_000;
    expect(await browser.get('/auth/saml/login')).toMatchObject({ status: 303 });
  });
});

describe('forty answers at once of one address, with a signature of a stranger', () => {
  it('are looked at one after the other, ten of them', async () => {
    const take = memory.take.bind(memory);
    let looked = 0;
    const slow: SamlMemory = {
      ...memory,
      async take(...of) {
        looked += 1;
        // As with a store on another machine: all the others are asked for meanwhile.
        for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
        return take(...of);
      },
    };
    const over = await openLoneConsole({ signIn: await mode({ memory: slow }), decideToken: DECIDE, clock });
    const ready = [];
    for (let n = 0; n < 40; n += 1) {
      const begins = browserAt(over, `10.0.0.${n}`);
      const browser = browserAt(over, '10.0.1.1');
      const form = provider.answer(await begun(begins), { by: stranger });
      for (const [name, value] of begins.cookies) browser.cookies.set(name, value);
      ready.push(() => sent(browser, form));
    }
    const answers = await Promise.all(ready.map((send) => send()));
    await over.close();
    expect(answers.map(({ status }) => status).sort((one, other) => one - other)).toEqual([
      ...Array.from({ length: 10 }, () => 401),
      ...Array.from({ length: 30 }, () => 429),
    ]);
    expect(looked).toBe(10);
  });
});

describe('sign-ins that one address begins', () => {
  it('are twenty within a minute, and keep no other address out', async () => {
    const victim = browserAt(console, '10.0.0.2');
    const form = provider.answer(await begun(victim));
    const browser = browserAt(console, '10.0.0.1');
    for (let n = 0; n < 20; n += 1) await begun(browser);
    const over = await browser.get('/auth/saml/login');
    expect(over).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(over.text).toContain('rate_limited');
    expect(await sent(victim, form)).toMatchObject({ status: 303 });
    aheadMs = 60_000;
    await begun(browser);
  });

  it('are twenty of one /64 too, of which somebody has all addresses', async () => {
    for (let n = 1; n <= 20; n += 1) await begun(browserAt(console, `2001:db8:0:7::${n.toString(16)}`));
    expect(await browserAt(console, '2001:db8:0:7::ffff').get('/auth/saml/login')).toMatchObject({ status: 429 });
    await begun(browserAt(console, '2001:db8:0:8::1'));
  });

  it('and one over leaves nothing in the store', async () => {
    const kept: string[] = [];
    const counting: SamlMemory = {
      ...memory,
      begin: (relayState, of) => {
        kept.push(relayState);
        return memory.begin(relayState, of);
      },
    };
    const over = await openLoneConsole({ signIn: await mode({ memory: counting }), decideToken: DECIDE, clock });
    const browser = browserAt(over);
    await Promise.all(Array.from({ length: 40 }, () => browser.get('/auth/saml/login')));
    await over.close();
    expect(kept).toHaveLength(20);
  });
});

describe('an answer about somebody in many groups', () => {
  const inGroups = (count: number): Forge => ({
    answer: () => ({
      attributes: { ...ADA, groups: [...Array.from({ length: count }, (_, n) => `g${n}`), 'approvers'] },
    }),
    before: (xml) =>
      xml.replaceAll(
        '<saml:AttributeValue>',
        '<saml:AttributeValue xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">',
      ),
  });

  it('is taken with nearly five hundred of three attributes each, and not with more', async () => {
    await signedIn(inGroups(470));
    await refused(inGroups(500));
  });
});

describe('a session by SAML', () => {
  it('ends when the provider says, although it is used', async () => {
    const browser = await signedIn({ answer: () => ({ sessionEndsMs: Date.now() + 300_000 }) });
    aheadMs = 200_000;
    expect(await browser.me()).not.toBeNull();
    aheadMs = 301_000;
    expect(await browser.me()).toBeNull();
  });

  it('ends after the longest time where the provider names none, or a later one', async () => {
    const browser = await signedIn({ answer: () => ({ sessionEndsMs: Date.now() + 10 * SESSION_MS }) });
    aheadMs = SESSION_MS - 10_000;
    expect(await browser.me()).not.toBeNull();
    aheadMs = SESSION_MS + 10_000;
    expect(await browser.me()).toBeNull();
  });

  it('ends with the last group, and the review service is told', async () => {
    const browser = await signedIn();
    provider.person = { nameId: 'ada@acme.example', attributes: { ...ADA, groups: [] } };
    await refused({});
    expect(await browser.me()).toBeNull();
    expect(told()).toMatchObject({ subject: 'saml:ada@acme.example', role: 'none' });
  });

  it('ends when its person signs in for another tenant, in which alone he is then', async () => {
    const [browser, other] = [await signedIn(), await signedIn()];
    const token = await commandLineOf(console, browser);
    aheadMs += 1_000;
    provider.person = { nameId: 'ada@acme.example', attributes: { ...ADA, tenant: ['beta'] } };
    const moved = await signedIn();
    expect(await moved.me()).toMatchObject({ name: 'saml:ada@acme.example', tenant: 'beta', role: 'approver' });
    expect(await browser.me()).toBeNull();
    expect(await other.me()).toBeNull();
    expect(await console.sessions.ofToken(token)).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ subject: 'saml:ada@acme.example', role: 'none' });
    expect(lastToldIn('beta')).toMatchObject({ subject: 'saml:ada@acme.example', role: 'approver' });
    aheadMs += 1_000;
    provider.person = { nameId: 'ada@acme.example', attributes: { ...ADA, tenant: ['acme'] } };
    await signedIn();
    expect(await moved.me()).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ role: 'approver' });
    expect(lastToldIn('beta')).toMatchObject({ role: 'none' });
  });

  it.each<[string, Partial<typeof ADA>]>([
    ['no tenant', { tenant: [] }],
    ['a tenant that is not here', { tenant: ['globex'] }],
    ['another tenant and no group', { tenant: ['beta'], groups: [] }],
    ['another tenant and no second factor', { tenant: ['beta'], factors: ['pwd'] }],
  ])('ends with a refusal of its person: %s', async (_what, over) => {
    const browser = await signedIn();
    const token = await commandLineOf(console, browser);
    aheadMs += 1_000;
    provider.person = { nameId: 'ada@acme.example', attributes: { ...ADA, ...over } };
    await refused({});
    expect(await browser.me()).toBeNull();
    expect(await console.sessions.ofToken(token)).toBeNull();
    expect(lastToldIn('acme')).toMatchObject({ subject: 'saml:ada@acme.example', role: 'none' });
  });

  it("of one person goes on when another one's ends", async () => {
    const browser = await signedIn();
    provider.person = { nameId: 'bob', attributes: { ...ADA, tenant: ['beta'] } };
    await signedIn();
    expect(await browser.me()).toMatchObject({ tenant: 'acme' });
    expect(lastToldIn('acme')).toMatchObject({ role: 'approver' });
  });

  it('ends here when its person signs out', async () => {
    const browser = await signedIn();
    const csrf = fieldIn((await browser.get('/')).text, 'csrf');
    expect(await browser.post('/logout', { csrf })).toMatchObject({ status: 303, location: '/login' });
    expect(await browser.me()).toBeNull();
    expect((await browser.get('/login')).text).toContain(provider.entityId);
  });

  it.each<[string, Partial<typeof FEDERATED_RULES>]>([
    ['another group of a role', { approverGroups: ['others'] }],
    ['another tenant', { tenantMap: new Map([['acme', 'globex']]) }],
    ['another factor', { mfaValues: ['webauthn'] }],
  ])('is none under other settings: %s', async (_what, over) => {
    const browser = await signedIn();
    const opened = await console.sessions.of(browser.cookies.get('gate_console_session') ?? '');
    if (opened === null) throw new Error('nobody is signed in');
    expect((await mode()).personOf(opened)).toMatchObject({ person: { role: 'approver', mode: 'saml' } });
    expect((await mode({ rules: { ...FEDERATED_RULES, ...over } })).personOf(opened)).toBeNull();
  });
});

describe('the start', () => {
  const without =
    (text: string | RegExp, by = '') =>
    (xml: string) =>
      xml.replace(text, by);
  it.each<[string, (xml: string) => string, RegExp]>([
    ['is no XML', () => 'metadata', /not/],
    ['has a DTD', without('<md:EntityDescriptor', '<!DOCTYPE x><md:EntityDescriptor'), /DTD/],
    ['names nobody', without(/ entityID="[^"]*"/), /entityID/],
    ['is of several entities', (xml) => xml.replaceAll('md:EntityDescriptor', 'md:EntitiesDescriptor'), /one entity/],
    ['is over', without(' entityID', ' validUntil="2020-01-01T00:00:00Z" entityID'), /validUntil/],
    ['describes no identity provider', (xml) => xml.replaceAll('IDPSSO', 'SPSSO'), /IDPSSODescriptor/],
    ['names no address', without(/<md:SingleSignOnService[^>]*>/), /SingleSignOnService/],
    ['names an address over HTTP', without(/Location="[^"]*"/, 'Location="http://login.example/sso"'), /HTTPS/],
    ['has no certificate', without(/<md:KeyDescriptor.*<\/md:KeyDescriptor>/s), /certificate/],
    ['has a certificate to encrypt with alone', without('use="signing"', 'use="encryption"'), /certificate/],
    [
      'wants signed requests',
      without('<md:IDPSSODescriptor', '<md:IDPSSODescriptor WantAuthnRequestsSigned="true"'),
      /WantAuthnRequestsSigned/,
    ],
  ])('is refused where the metadata %s', async (_what, changed, words) => {
    provider.metadata = changed;
    await expect(mode()).rejects.toThrow(words);
  });

  it.each([
    ['too short', { bits: 1_024 }],
    ['of yesterday', { notAfter: new Date(Date.now() - 3_600_000) }],
  ])('is refused where the key is %s', async (_what, of) => {
    const other = await startSamlProvider(await newSigningKey(of));
    const before = provider;
    provider = other;
    await expect(mode()).rejects.toThrow(/certificate/);
    provider = before;
    await other.close();
  });

  it('is refused where the provider is away', async () => {
    const gone = await startSamlProvider(signing);
    await gone.close();
    const before = provider;
    provider = gone;
    await expect(mode()).rejects.toThrow();
    provider = before;
  });
});
