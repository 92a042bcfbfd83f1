import { countedAddress } from '../../../../domain/limits/counted-address.js';
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { BEGUN_LIFE_MS, type SamlMemory } from '../../../../adapters/console/saml-memory.js';
import { SignInByProvider } from '../../../../console/ui/sign-in.js';
import { errorText, GateError } from '../../../../domain/errors.js';
import { slidingBudget } from '../../../../domain/limits/sliding-budget.js';
import { takesForm, takesOfBrowser } from '../../../plugins/openapi.js';
import { federation, type Named, NOT_BEGUN_HERE, notBegun, type Why } from '../federated.js';
import { inFairTurn } from '../in-turn.js';
import type { Door, SignInMode } from '../mode.js';
import { ownPath } from '../own-path.js';
import type { ProjectionRules } from '../projection.js';
import { notRead, providerFetch } from '../provider-fetch.js';
import { readAssertion, type Said } from './assertion.js';
import { type IdentityProvider, readMetadata, validAt } from './metadata.js';
import { checkShape, type Signed } from './shape.js';

export interface SamlOptions {
  /** What the provider knows the console as. */
  readonly entityId: string;
  /** Where the provider's answers are sent. */
  readonly acsUrl: string;
  readonly metadataUrl: string;
  readonly attributes: { readonly tenant: string; readonly groups: readonly string[]; readonly mfa: string };
  readonly rules: ProjectionRules;
  readonly decideToken: string;
  /** The longest session, where the provider names no end. */
  readonly sessionMs: number;
  readonly memory: SamlMemory;
  readonly logger: Logger;
  readonly clock: () => number;
}

const NAME = 'saml';
/** Where the provider says who signed in. */
const ACS_PATH = '/auth/saml/acs';
const COOKIE = 'gate_console_saml';
const COOKIE_FORM = /^[A-Za-z0-9_-]{43}$/;
/** The longest answer, in base64. */
const LONGEST_RESPONSE = 262_144;
/** The form that holds it: what is no letter takes three characters, and a few lines end in it. */
const LONGEST_FORM = 524_288;
/** White space stands in one place of it: in two beside each other each length would be tried in both. */
const BASE64 = /^[A-Za-z0-9+/\s]+(?:={1,2}\s*)?$/;
const LONGEST_METADATA = 1_048_576;
const SKEW_MS = 60_000;
/** Sign-ins that one address begins: the store keeps so many, and what is over pushes out the oldest of everybody. */
const BEGUN = { count: 20, windowMs: 60_000 };

/**
 * Sign-in by a SAML 2.0 identity provider that the console sends people to (docs/architecture/console.md#sign-in-by-saml). Throws when its
 * metadata cannot be read, or is not enough.
 */
export async function openSamlMode(options: SamlOptions): Promise<SignInMode> {
  const { entityId, acsUrl, attributes, memory, clock } = options;
  const provider = await metadataAt(options.metadataUrl, clock());
  const issuer = provider.entityId;
  const page = (refused: string | undefined, as: Named | null) => (
    <SignInByProvider refused={refused} issuer={issuer} start="/auth/saml/login" as={as} />
  );
  const people = federation({ ...options, method: NAME, issuer, reads: attributes, page });
  // The answer is a form on the provider's page: only a cookie for every site comes with it.
  const cookie = { path: '/auth/saml', httpOnly: true, sameSite: 'none', secure: true } as const;
  const newId = (): string => randomBytes(32).toString('base64url');

  const saml = (requestId: string, signed: Signed, forceAuthn = false): SAML =>
    new SAML({
      forceAuthn,
      issuer: entityId,
      callbackUrl: acsUrl,
      entryPoint: provider.signOnUrl,
      idpCert: validAt(provider.certificates, clock()).map(String),
      generateUniqueId: () => requestId,
      identifierFormat: null,
      // Which factors somebody used is read from an attribute.
      disableRequestedAuthnContext: true,
      wantAuthnResponseSigned: signed.response,
      wantAssertionsSigned: signed.assertion,
      acceptedClockSkewMs: SKEW_MS,
      validateInResponseTo: ValidateInResponseTo.always,
      // The request was found, and forgotten, by the relay state before.
      cacheProvider: {
        saveAsync: () => Promise.resolve(null),
        getAsync: (id) => Promise.resolve(id === requestId ? new Date(clock()).toISOString() : null),
        removeAsync: () => Promise.resolve(null),
      },
    });

  /** What the provider says in an answer to one request. Throws for whatever it did not sign, or did not say to this console now. */
  async function said(response: string, requestId: string): Promise<Said> {
    const bytes = Buffer.from(response, 'base64');
    if (!BASE64.test(response) || !isUtf8(bytes)) throw new Error('it is no text');
    const awaited = { requestId, acsUrl, issuer };
    const signed = checkShape(bytes.toString('utf8'), awaited);
    const { profile } = await saml(requestId, signed).validatePostResponseAsync({ SAMLResponse: response });
    const verified = profile?.getAssertionXml?.();
    if (verified === undefined) throw new Error('it has no assertion');
    // Only what the signature was verified over is read.
    return readAssertion(verified, { ...awaited, entityId, nowMs: clock() });
  }

  const begins = slidingBudget(BEGUN.count, BEGUN.windowMs);
  // One answer after the other: to verify takes the process, and many at once would pass before the first failure is counted.
  const inTurn = inFairTurn();

  /** What an answer proves. Whoever proves nothing is refused before the next answer is looked at. */
  async function prove(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<Came> {
    door.throttle(request);
    const form = formOf(request);
    if (form === null) {
      door.failed(request);
      throw new GateError('invalid_request', 'The form of a SAML answer is SAMLResponse and RelayState, each once.');
    }
    const refuse = (words: string, why: Why): Came => ({
      refusal: people.refuse(request, reply, door, words, why),
    });
    const kept = request.cookies[COOKIE];
    const begun = await memory.take(form.relayState, kept ?? '');
    if (begun === null) return refuse(NOT_BEGUN_HERE, notBegun(COOKIE, kept !== undefined));
    let proved: Said;
    try {
      proved = await said(form.response, begun.requestId);
    } catch (error) {
      return refuse(UNPROVED, { reason: errorText(error) });
    }
    if (!(await memory.isFirst({ issuer, id: proved.id, untilMs: proved.untilMs })))
      return refuse(UNPROVED, { reason: 'the assertion came a second time' });
    return { proved, returnTo: begun.returnTo };
  }

  async function enter(request: FastifyRequest, reply: FastifyReply, door: Door): Promise<FastifyReply> {
    // Whoever has failed too often already does not stand in the way of the others.
    door.throttle(request);
    const came = await inTurn(countedAddress(request.ip), () => prove(request, reply, door));
    if ('refusal' in came) return came.refusal;
    const { proved, returnTo } = came;
    const values = (name: string): readonly string[] => proved.attributes.get(name) ?? [];
    const longest = clock() + options.sessionMs;
    return people.enter(request, reply, door, {
      name: proved.nameId,
      words: {
        tenant: values(attributes.tenant),
        groups: attributes.groups.flatMap(values),
        mfa: values(attributes.mfa),
      },
      came: Object.fromEntries(
        [attributes.tenant, ...attributes.groups, attributes.mfa].map((name) => [name, values(name).length]),
      ),
      endsMs: Math.min(proved.endsMs ?? longest, longest),
      returnTo,
    });
  }

  return {
    name: NAME,
    beginsAt: ['/login', '/auth/saml/login'],
    body: (refused) => page(refused, null),
    personOf: people.personOf,
    left: people.left,
    answersAt: ACS_PATH,
    routes(app, door) {
      app.get('/login', takesOfBrowser({ query: ['return_to'] }), async (request, reply) => {
        const { return_to: wanted } = request.query as { readonly return_to?: unknown };
        if (wanted === undefined) return door.page(reply, 200);
        return reply.redirect(
          `/auth/saml/login?${new URLSearchParams({ return_to: ownPath(wanted) }).toString()}`,
          303,
        );
      });
      app.get('/auth/saml/login', takesOfBrowser({ query: ['return_to', 'another'] }), async (request, reply) => {
        door.throttle(request);
        const wait = begins.take(countedAddress(request.ip), 1, clock());
        if (wait > 0)
          throw new GateError('rate_limited', 'Too many sign-ins were begun from this address: wait a little.', {
            fields: { retry_after_secs: wait },
          });
        const kept = request.cookies[COOKIE] ?? '';
        // Two pages of one browser may both be on the way.
        const browser = COOKIE_FORM.test(kept) ? kept : newId();
        const [relayState, requestId] = [newId(), `_${newId()}`];
        const { return_to: wanted, another } = request.query as { readonly return_to?: unknown; another?: unknown };
        const returnTo = ownPath(wanted);
        const unsigned = { response: false, assertion: false };
        const to = await saml(requestId, unsigned, another !== undefined).getAuthorizeUrlAsync(
          relayState,
          undefined,
          {},
        );
        await memory.begin(relayState, { requestId, browser, returnTo });
        return reply.setCookie(COOKIE, browser, { ...cookie, maxAge: BEGUN_LIFE_MS / 1_000 }).redirect(to, 303);
      });
      app.post(
        ACS_PATH,
        {
          ...takesOfBrowser({ form: takesForm(['SAMLResponse', 'RelayState']) }),
          bodyLimit: LONGEST_FORM,
          onRequest: (request, _reply, done) => {
            door.throttle(request);
            done();
          },
        },
        (request, reply) => enter(request, reply, door),
      );
    },
  };
}

/** What came of an answer. A reply alone would be waited for until it is sent. */
type Came = { readonly refusal: FastifyReply } | { readonly proved: Said; readonly returnTo: string };

const UNPROVED = 'The provider did not prove who you are. Begin again.';

async function metadataAt(address: string, nowMs: number): Promise<IdentityProvider> {
  const { guarded } = providerFetch(new URL(address), { bodyBytes: LONGEST_METADATA });
  try {
    const { body } = await guarded(address, {
      method: 'GET',
      headers: { accept: 'application/samlmetadata+xml, */*' },
    }).catch((error: unknown) => {
      throw notRead(address, error);
    });
    return readMetadata(body.toString('utf8'), nowMs);
  } finally {
    await guarded.close();
  }
}

/** The two fields of an answer; `null` for a form of any other fields, or with one of them twice, empty or too long. */
function formOf({ body, headers }: FastifyRequest): { readonly response: string; readonly relayState: string } | null {
  if (headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded') return null;
  const {
    SAMLResponse: response,
    RelayState: relayState,
    ...others
  } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0 || typeof response !== 'string' || typeof relayState !== 'string') return null;
  if (response === '' || response.length > LONGEST_RESPONSE || relayState === '' || relayState.length > 256)
    return null;
  return { response, relayState };
}
