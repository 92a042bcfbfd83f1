import { TOOL_CALL } from '../workflows/tool-call/messages.js';
import replyFrom from '@fastify/reply-from';
import type { Payload } from '@temporalio/common';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { request as httpRequest } from 'undici';
import { z } from 'zod';
import { isAllowedAddress } from '../api/pages/allowed-address.js';
import { createBrowserSessions } from '../api/pages/browser-sessions.js';
import { document, notice, sendDocument, text } from '../api/pages/html.js';
import { createSignInLinks, LINK_LIFE_MS } from '../api/pages/sign-in-links.js';
import { bearerOf, knownToken, lookUpToken } from '../api/plugins/bearer.js';
import { answerUnroutable, plainErrorBody } from '../api/plugins/errors.js';
import { readJsonBodies } from '../api/plugins/json-bodies.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { GateError } from '../domain/errors.js';
import { parseServiceJson } from '../domain/mcp/strict-json.js';
import { isUuid } from '../domain/uuid.js';
import { openPayload } from '../workers/codec.js';

export interface WorkflowPagesOptions {
  /** The engine's own pages, which show payloads as they are stored: sealed. */
  readonly uiUrl: string;
  readonly namespace: string;
  readonly keys: KeyRing;
  /** Opens the pages. Its holder sees the histories of all tenants of this stack. */
  readonly operatorToken: string;
  readonly logger: Logger;
}

const COOKIE = 'gate_workflows_session';
/** The list that opens first: calls, not the passes that look after them. */
const CALLS_ALONE = `WorkflowType="${TOOL_CALL}"`;
/** How long the answer to a wrong token is delayed; other requests do not wait. */
const WRONG_TOKEN_MS = 500;
/** A page of events with their payloads. */
const DECODE_LIMIT_BYTES = 8 * 1024 * 1024;
/** More than a page of a history has; a million empty ones would hold this process for seconds. */
const MOST_PAYLOADS = 2_000;
const SIGNED_IN = {} as const;
/**
 * The only thing besides reading that the pages ask for: a running workflow's current details, which a query answers. Matched to the last
 * character, because others read again what is passed on: a workflow's id contains no `..`, and nothing is encoded but `/`.
 */
const QUERY = /^\/api\/v1\/namespaces\/[\w-]{1,100}\/workflows\/(?:[\w:-]|%2F){1,300}\/query\/\w{1,100}$/;

const bytes = z.string().transform((base64) => Buffer.from(base64, 'base64'));
/** Payloads as the engine's pages send them: the JSON form of protocol buffers, with bytes as base64. */
const Payloads = z.object({
  payloads: z.array(
    z
      .object({ metadata: z.record(z.string(), bytes).nullish(), data: bytes.nullish() })
      .transform(({ metadata, data }): Payload => ({ metadata: metadata ?? null, data: data ?? null })),
  ),
});

const written = ({ metadata, data }: Payload) => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  ...(data && { data: Buffer.from(data).toString('base64') }),
});

/**
 * The engine's pages with their payloads in clear text, for the holder of the operator's token (docs/how-to/read-a-history.md). The pages
 * themselves are passed through, and their codec server is here too, so that it answers only these pages. Read-only: requests that would
 * change a workflow are refused. For a listener on loopback.
 */
export function createWorkflowPages({
  uiUrl,
  namespace,
  keys,
  operatorToken,
  logger,
}: WorkflowPagesOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger.child({ service: 'workflow-pages' }) as never,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    frameworkErrors: answerUnroutable(plainErrorBody),
  }) as unknown as FastifyInstance;
  const sessions = createBrowserSessions<typeof SIGNED_IN>(COOKIE);
  const links = createSignInLinks<typeof SIGNED_IN>();
  const operators = [knownToken(operatorToken, true)];
  const isOperator = (offered: string): boolean => lookUpToken(operators, offered) ?? false;
  const home = `/namespaces/${encodeURIComponent(namespace)}/workflows`;
  const wrong = () => new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));

  void app.register(replyFrom, { base: uiUrl, disableRequestLogging: true });
  readJsonBodies(app, parseServiceJson);
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16_384 },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
  );
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, request, reply) => {
    const status = error instanceof GateError ? error.status : (error.statusCode ?? 500);
    const code = error instanceof GateError ? error.code : status < 500 ? 'invalid_request' : 'internal_error';
    if (status >= 500) request.log.error({ err: error }, 'a page of the engine cannot be shown');
    return reply.code(status).send({ error: code, reason: status < 500 ? error.message : AWAY });
  });
  app.addHook('onRequest', (request, _reply, done) => {
    done(isAllowedAddress(request, LOOPBACK) ? undefined : new GateError('host_not_allowed'));
  });

  /** The pages of a call, or the list; nothing in the request can name another address. */
  const pageOf = (call: unknown): string =>
    typeof call === 'string' && isUuid(call) ? `${home}/${call}` : `${home}?query=${encodeURIComponent(CALLS_ALONE)}`;
  app.get('/sign-in', async (request, reply) => {
    const { link, call } = request.query as { link?: unknown; call?: unknown };
    if (typeof link === 'string' && links.redeem(link)) sessions.open(reply, SIGNED_IN);
    else if (!sessions.of(request)) {
      if (link === undefined) return signIn(reply, 200, call);
      await wrong();
      return signIn(reply, 401, call, 'This link was used already, or is too old: it opens the pages once.');
    }
    return reply.redirect(pageOf(call), 303);
  });
  app.post('/sign-in', async (request, reply) => {
    const { token, call } = (request.body ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof token !== 'string' || !isOperator(token)) {
      await wrong();
      return signIn(reply, 401, call, "This is not the operator's token.");
    }
    sessions.open(reply, SIGNED_IN);
    return reply.redirect(pageOf(call), 303);
  });
  app.post('/sign-in/link', async (request) => {
    const token = bearerOf(request);
    if (token === null || !isOperator(token)) {
      await wrong();
      throw new GateError('unauthenticated');
    }
    return { path: `/sign-in?link=${links.issue(SIGNED_IN)}`, expires_in_secs: LINK_LIFE_MS / 1_000 };
  });

  void app.register((scope, _options, done) => {
    scope.addHook('onRequest', async (request, reply) => {
      if (sessions.of(request)) return;
      // A person is led to the form; a background request of a page is refused.
      if (request.method === 'GET' && request.headers.accept?.includes('text/html'))
        return reply.redirect(`/sign-in${callIn(request.url)}`, 303);
      throw new GateError('unauthenticated', 'sign in at /sign-in');
    });
    scope.post('/codec/decode', { bodyLimit: DECODE_LIMIT_BYTES }, (request) => {
      const asked = (request.body as { payloads?: unknown } | null)?.payloads;
      if (Array.isArray(asked) && asked.length > MOST_PAYLOADS)
        throw new GateError('invalid_request', `payloads: at most ${MOST_PAYLOADS} at a time`);
      const read = Payloads.safeParse(request.body);
      if (!read.success)
        throw new GateError('invalid_request', `payloads: ${read.error.issues[0]?.message ?? 'unreadable'}`);
      // What no key here opens stays sealed, and looks sealed.
      return { payloads: read.data.payloads.map((payload) => written(openPayload(keys, payload) ?? payload)) };
    });
    // The pages ask here where their codec server is, and which actions are allowed.
    scope.get('/api/v1/settings', async (request) => {
      const answer = await httpRequest(new URL('/api/v1/settings', uiUrl));
      const settings = (await answer.body.json()) as Record<string, unknown>;
      return {
        ...settings,
        Codec: {
          ...(settings['Codec'] as object),
          Endpoint: `http://${request.headers.host}/codec`,
          IncludeCredentials: true,
        },
        DefaultNamespace: namespace,
        DisableWriteActions: true,
      };
    });
    scope.get('/*', (request, reply) => passedOn(targetOf(request), reply));
    scope.post('/*', (request, reply) => {
      const target = targetOf(request);
      if (!QUERY.test(target.pathname))
        throw new GateError('not_found', "these pages show and do not act; workflows are Gate's to change");
      return passedOn(target, reply);
    });
    done();
  });
  return app;

  /** The request to the engine's pages, parsed as they will parse it: the same result is checked and passed on. */
  function targetOf({ url }: FastifyRequest): URL {
    const engine = new URL(uiUrl);
    const target = url.startsWith('/') && !/[\\#]/.test(url) ? new URL(`${engine.origin}${url}`) : null;
    if (target?.origin !== engine.origin || !isDecodable(url))
      throw new GateError('invalid_request', 'this is no path of these pages');
    return target;
  }

  function passedOn(target: URL, reply: FastifyReply): FastifyReply {
    return reply.from(`${target.pathname}${target.search}`, {
      rewriteRequestHeaders: (_request, { cookie, authorization: _authorization, origin: _origin, ...headers }) => ({
        ...headers,
        ...(cookie && { cookie: withoutSession(cookie) }),
      }),
    });
  }
}

/** Whether the encoded parts of an address can be decoded, as the receiver will do. */
const isDecodable = (address: string): boolean => {
  try {
    decodeURIComponent(address);
    return true;
  } catch {
    return false;
  }
};

const AWAY = "the engine's pages do not answer; `npx gate doctor` says what runs";
const LOOPBACK = { allowedHosts: [], loopback: true } as const;

const withoutSession = (cookie: string): string =>
  cookie
    .split('; ')
    .filter((each) => !each.startsWith(`${COOKIE}=`))
    .join('; ');

/** The call whose pages were requested without a session; shown again after the form. */
const callIn = (url: string): string => {
  const call = url.split(/[/?]/).find((part) => isUuid(part));
  return call === undefined ? '' : `?call=${call}`;
};

const signIn = (reply: FastifyReply, status: number, call: unknown, words?: string): FastifyReply =>
  sendDocument(
    reply,
    status,
    document(
      'Gate: workflows',
      `<header><h1>Gate <small>workflows</small></h1></header>${words === undefined ? '' : notice(text(words))}
<form method="post" action="/sign-in" class="login">
  <input type="text" name="username" autocomplete="username" value="operator" hidden>
${typeof call === 'string' && isUuid(call) ? `  <input type="hidden" name="call" value="${call}">\n` : ''}  <label for="token">Operator's token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <button class="go">Sign in</button>
  <p class="dim"><code>npx gate history --link</code>, typed where Gate was started, prints an address that signs you in.</p>
</form>`,
    ),
  );
