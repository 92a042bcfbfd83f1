import Fastify, { type FastifySchema } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { errorEnvelope } from '../../contracts/error-envelope.js';
import { type JsonObject, jsonValue } from '../../contracts/json.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY } from '../../contracts/route-authority.js';
import type { ServiceApp } from './app.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Stands in the OpenAPI document for what the schemas of the route do not say: it reads its request itself, or answers with no JSON. */
    described?: FastifySchema;
  }
}

/** For the `config` of a route whose answers are no JSON. */
export const answersAs = (...types: readonly string[]): { readonly described: FastifySchema } => ({
  described: {
    response: { 200: { content: Object.fromEntries(types.map((type) => [type, { schema: z.string() }])) } },
  },
});

/** For the `config` of a route for browsers: a page, and a page for refusals too where one is wanted. */
export const ANSWERS_PAGES: { readonly described: FastifySchema } = {
  described: {
    response: {
      '2XX': { description: 'The answer.', content: { '*/*': { schema: z.unknown() } } },
      '3XX': z
        .null()
        .describe('What a form asked for is done, or somebody has to sign in: `Location` is the page to go to.'),
      default: {
        description: 'A refusal.',
        content: { 'application/json': { schema: errorEnvelope }, 'text/html': { schema: z.string() } },
      },
    },
  },
};

/** What a route takes that reads a form as browsers send it: these fields, each once, and, where a page has written the form, what that put there. */
export const takesForm = (needed: readonly string[], typed?: readonly string[]): FastifySchema => {
  const fields = [
    ...needed.map((name) => [name, z.string()] as const),
    ...(typed ?? []).map((name) => [name, z.string().optional()] as const),
  ];
  const body = z.object(Object.fromEntries(fields));
  const ofPage = z.union([z.string(), z.array(z.string())]);
  return { consumes: ['application/x-www-form-urlencoded'], body: typed === undefined ? body : body.catchall(ofPage) };
};

/** For a route for browsers that takes a form (`takesForm`), or is asked with these names behind its address. */
export const takesOfBrowser = (given: { readonly form?: FastifySchema; readonly query?: readonly string[] }) => ({
  config: {
    described: {
      ...ANSWERS_PAGES.described,
      ...given.form,
      ...(given.query && askedBy(given.query)),
    },
  },
});

/** What may stand behind an address, each name once. */
export const askedBy = (names: readonly string[], needed: readonly string[] = []): FastifySchema => ({
  querystring: z.object(
    Object.fromEntries(names.map((name) => [name, needed.includes(name) ? z.string() : z.string().optional()])),
  ),
});

/** For a route that passes on what another service reads and answers: the schemas that are checked there. */
export const passesOn = (body: z.ZodType, answer: z.ZodType) => ({
  config: { described: { body, response: { 200: answer } } },
});

/** For the `config` of a route that answers with an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export const ANSWERS_EVENTS = {
  described: {
    response: {
      200: {
        content: {
          'text/event-stream': {
            schema: z.object({ id: z.string().optional(), event: z.string().optional(), data: z.string().optional() }),
          },
        },
      },
    },
  },
};

/** A route as it was registered, with the schemas that check its requests and shape its answers. */
export interface NotedRoute {
  readonly method: string;
  readonly url: string;
  readonly schema: FastifySchema;
}

/** Every route that is registered on `app` from now on; complete once it is ready. */
export function noteRoutes(app: ServiceApp): readonly NotedRoute[] {
  const noted: NotedRoute[] = [];
  app.addHook('onRoute', ({ method: methods, url, schema, config, constraints }) => {
    // What only some readers get at an address is no part of what a program may ask there.
    if (constraints !== undefined && Object.keys(constraints).length > 0) return;
    // The names of files say what is in them, and change with it.
    if (url.startsWith('/static/')) return;
    for (const method of [methods].flat()) noted.push({ method, url, schema: { ...schema, ...config?.described } });
  });
  return noted;
}

/** The OpenAPI 3.1 document of a service (https://spec.openapis.org/oas/v3.1.1.html), from the schemas of its routes. */
export async function openApiOf(
  service: string,
  routes: readonly NotedRoute[],
  { certificates }: { readonly certificates: boolean },
): Promise<JsonObject> {
  // Loaded by the few who ask.
  const { default: swagger } = await import('@fastify/swagger');
  // The library describes the routes of a server that it was registered with first; this one is never asked anything.
  const described = Fastify();
  await described.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: `Gate: ${service}`, version: '1', description: DESCRIPTION },
      ...(certificates && {
        components: { securitySchemes: { certificate: CERTIFICATE } },
        security: [{ certificate: [] }],
      }),
    },
    transform: createJsonSchemaTransform({ schemaRegistry: NAMED }),
    transformObject: createJsonSchemaTransformObject({ schemaRegistry: NAMED }),
  });
  described.setValidatorCompiler(() => () => true);
  described.setSerializerCompiler(() => String);
  for (const { method, url, schema } of routes)
    described.route({ method, url, schema: told(service, method, url, schema), handler: unasked });
  try {
    await described.ready();
    return described.swagger() as unknown as JsonObject;
  } finally {
    await described.close();
  }
}

/** What a document says once and refers to. A schema within itself could not be written otherwise. */
const NAMED = z.registry<{ id: string }>();
NAMED.add(jsonValue, { id: 'Json' });
NAMED.add(errorEnvelope, { id: 'Refusal' });

/** Of a route that says no more of its answers. */
const ANSWER = { '2XX': { description: 'The answer.', content: { '*/*': { schema: z.unknown() } } } };
const REFUSAL = { description: 'A refusal.', content: { 'application/json': { schema: errorEnvelope } } };

/** The library's types know the schemes of OpenAPI 3.0 only. */
const CERTIFICATE = { type: 'mutualTLS', description: 'The X.509 SVID of the caller.' } as unknown as {
  readonly type: 'http';
  readonly scheme: string;
};

const DESCRIPTION =
  'Every refusal is JSON with a stable code in `error` (docs/reference/errors.md). Who may call a route is in docs/reference/routes.md.';

const unasked = (): never => {
  throw new Error('a description is never asked');
};

/** With the form of refusals, which every route has, and the capability that it asks for. */
function told(service: string, method: string, url: string, schema: FastifySchema): FastifySchema {
  const path = url.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
  const row = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].find(
    (one) => one.service === service && one.method === method && one.path === path,
  );
  return {
    ...schema,
    ...(row && { description: `Capability \`${row.capability}\`.` }),
    response: { default: REFUSAL, ...(schema.response ?? ANSWER) },
  } as FastifySchema;
}
