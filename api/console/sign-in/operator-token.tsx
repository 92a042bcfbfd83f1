import { z } from 'zod';
import { ROLES, type Role } from '../../../console/roles.js';
import { GateError } from '../../../domain/errors.js';
import { SignInByLink, SignInByToken } from '../../../console/ui/sign-in.js';
import { createSignInLinks, LINK_LIFE_MS, type SignInLinks } from '../../pages/sign-in-links.js';
import { bearerOf, knownToken, lookUpToken } from '../../plugins/bearer.js';
import { takesForm, takesOfBrowser } from '../../plugins/openapi.js';
import type { SignInMode } from './mode.js';
import { ownPath } from './own-path.js';

const NAME = 'operator-token';

/** Somebody who has a token. */
export interface TokenHolder {
  readonly name: string;
  /** `null`: of all tenants. */
  readonly tenant: string | null;
  readonly token: string;
}

export interface OperatorTokenOptions {
  readonly operators: readonly TokenHolder[];
  readonly clock: () => number;
  /** Where others make links too. */
  readonly links?: SignInLinks<TokenHolder>;
  /** The command that prints a link, and in whose folder. */
  readonly command?: string;
  readonly where?: string;
}

/** Operators whose names and tokens the settings hold sign in with the token, or once by a link that was made with it. */
export function operatorTokenMode({
  operators,
  clock,
  links = createSignInLinks<TokenHolder>(clock),
  command = 'gate console',
  where = 'a running stack',
}: OperatorTokenOptions): SignInMode {
  const known = operators.map((operator) => knownToken(operator.token, operator));
  const signedIn = ({ name, tenant }: TokenHolder) => ({
    subject: `operator:${name}`,
    tenant: keptTenant(tenant),
    mode: NAME,
    role: 'admin',
  });
  const personFor = ({ name, tenant, token }: TokenHolder, role: Role = 'admin') => ({
    person: { subject: `operator:${name}`, tenant, mode: NAME, role },
    proof: { authorization: `Bearer ${token}` },
  });
  return {
    name: NAME,
    body: (refused, wanted) => <SignInByToken refused={refused} wanted={wanted} command={command} where={where} />,

    /** The operator as the settings know him now: whoever is taken out of them is signed out by that. */
    personOf({ subject, tenant, mode, role: opened }) {
      const operator = operators.find((of) => `operator:${of.name}` === subject && keptTenant(of.tenant) === tenant);
      const role = ROLES.find((one) => one === opened);
      if (operator === undefined || role === undefined || mode !== NAME) return null;
      return personFor(operator, role);
    },

    personByToken(token) {
      const operator = lookUpToken(known, token);
      return operator && personFor(operator);
    },

    routes(app, door) {
      app.get('/login', takesOfBrowser({ query: ['return_to', 'link'] }), async (request, reply) => {
        const { link, return_to: wanted } = request.query as Readonly<Record<string, unknown>>;
        if (link === undefined) return door.page(reply, 200, undefined, ownPath(wanted));
        door.assertOwnAttempt(request);
        // Else a page of anybody could sign its reader in as somebody else.
        if (door.isFromElsewhere(request) && typeof link === 'string')
          return door.show(reply, { title: 'Sign in', body: <SignInByLink link={link} /> });
        const operator = typeof link === 'string' ? links.redeem(link) : null;
        if (operator) await door.accept(reply, signedIn(operator));
        // Somebody who is signed in and opens the used link again wants the page.
        if (operator || (await door.isIn(request))) return reply.redirect('/', 303);
        door.throttle(request);
        door.failed(request);
        return door.page(
          reply,
          401,
          'This link was used already, or is too old: it signs in once. The command below prints a new one.',
        );
      });
      app.post('/login', takesOfBrowser({ form: takesForm(['token'], ['return_to']) }), async (request, reply) => {
        door.assertOwnAttempt(request);
        const { token, return_to: wanted } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
        const operator = typeof token === 'string' ? lookUpToken(known, token) : null;
        if (operator) {
          await door.accept(reply, signedIn(operator));
          return reply.redirect(ownPath(wanted), 303);
        }
        door.throttle(request);
        door.failed(request);
        return door.page(reply, 401, 'This is no operator token.', ownPath(wanted));
      });
      /** A link that signs the holder of a token in, once, so that the token itself is typed into no browser. */
      app.post('/auth/links', { config: { described: { response: { 200: signInLink } } } }, async (request) => {
        door.assertOwnAttempt(request);
        const token = bearerOf(request);
        const operator = token === null ? null : lookUpToken(known, token);
        if (!operator) {
          door.throttle(request);
          door.failed(request);
          throw new GateError('unauthenticated');
        }
        return { path: `/login?link=${links.issue(operator)}`, expires_in_secs: LINK_LIFE_MS / 1_000 };
      });
    },
  };
}

const signInLink = z.object({ path: z.string(), expires_in_secs: z.number().int() });

/** How a session keeps a tenant. No tenant has an empty name. */
const keptTenant = (tenant: string | null): string => tenant ?? '';
