import type { FastifyRequest } from 'fastify';
import { GateError } from '../../domain/errors.js';
import { type AddressRules, isAllowedAddress } from '../pages/allowed-address.js';
import type { ServiceApp } from '../plugins/service.js';
import type { Entered } from './entered.js';

export interface OwnRequests {
  /** Throws `csrf_failed` for a form of another site. */
  readonly assertOrigin: (request: FastifyRequest) => void;
  /** Every form: from this console, of this session. Checked before anything of it is used. */
  readonly assertForm: (request: FastifyRequest, entered: Entered) => void;
  /** The path of this console's page that it came from, as the browser says it; `null` where it says none, or one of another site. */
  readonly cameFrom: (request: FastifyRequest) => string | null;
}

/** Requests by the names of this console, and from its own pages. */
export function ownRequests(
  app: ServiceApp,
  {
    name,
    isTls,
    address: given,
    answersAt,
  }: {
    /** Where people open it, where that is set. */
    readonly name: URL | null;
    readonly isTls: boolean;
    /** How a listener is known that is not the console's own. */
    readonly address: AddressRules | undefined;
    /** Where a provider's page sends its form, from whatever site it is on. */
    readonly answersAt: string | undefined;
  },
): OwnRequests {
  const address = given ?? { allowedHosts: name === null ? [] : [name.hostname], loopback: name === null };
  app.addHook('onRequest', (request, _reply, done) => {
    const { host } = request.headers;
    const isAnswer = request.method === 'POST' && request.url === answersAt;
    if (!isAllowedAddress({ headers: { host } }, address))
      return done(
        new GateError(
          'host_not_allowed',
          'The console is not known by this address: open it at the one that GATE_CONSOLE_URL names.',
        ),
      );
    if (!isAnswer && !isAllowedAddress(request, address))
      return done(
        new GateError('csrf_failed', 'This was sent from a page that is not of this console. Nothing was done.'),
      );
    done();
  });
  const isOwn = (origin: string, { headers: { host } }: FastifyRequest): boolean => {
    // The Host was checked: the console's own name, or this machine's. Before a listener that is not its own something may speak TLS.
    const schemes = given ? ['http', 'https'] : [isTls ? 'https' : 'http'];
    return origin === name?.origin || schemes.some((scheme) => origin === `${scheme}://${host}`);
  };
  const refererOf = ({ headers: { referer } }: FastifyRequest): URL | null =>
    referer !== undefined && URL.canParse(referer) ? new URL(referer) : null;
  const assertOrigin = (request: FastifyRequest): void => {
    const from = request.headers.origin ?? refererOf(request)?.origin;
    if (from === undefined || !isOwn(from, request)) throw new GateError('csrf_failed');
  };
  return {
    cameFrom(request) {
      const from = refererOf(request);
      return from !== null && isOwn(from.origin, request) ? from.pathname + from.search : null;
    },
    assertOrigin,
    assertForm(request, entered) {
      assertOrigin(request);
      const offered = (request.body as Record<string, unknown> | null)?.['csrf'] ?? request.headers['x-csrf-token'];
      if (offered !== entered.session.csrf) throw new GateError('csrf_failed');
    },
  };
}
