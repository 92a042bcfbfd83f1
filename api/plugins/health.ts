import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Registry } from 'prom-client';
import { errorText } from '../../domain/errors.js';
import { z } from 'zod';
import { answerUnroutable, plainErrorBody } from './errors.js';
import { answersAs } from './openapi.js';
import { ownCompilersOnly } from './own-compilers.js';
import { foreignText } from '../../domain/text.js';
import { within } from '../../domain/within.js';

/** What a check throws of several things of which some answer. */
export class Partly extends Error {}

/** How something stands, in words. `partly`: several things, of which some answer. */
export interface Standing {
  readonly ok: boolean;
  readonly words: string;
  readonly partly?: boolean | undefined;
}

/** The same, as a check says it. */
export function asCheck({ ok, words, partly = false }: Standing): string {
  if (!ok) throw partly ? new Partly(words) : new Error(words);
  return words;
}

/** A check must be quick and have no side effects. It throws what is wrong, and may return a value to show. */
export type ReadinessChecks = Readonly<
  Record<string, () => Promise<void> | void | Promise<string | number | null> | string | number | null>
>;

/** Constant details to show, such as the mode of the process. */
export type ReadinessDetails = Readonly<Record<string, string>>;

const PROBE_LIMIT_MS = 2_000;

/**
 * The plain listener of a service (docs/architecture/identity-and-routes.md#connections): /health is always 200, /readyz is 200 or 503 with
 * what is down, and /metrics.
 */
export function healthApp(
  service: string,
  registry: Registry,
  checks: ReadinessChecks,
  details: ReadinessDetails = {},
): FastifyInstance {
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    schemaController: ownCompilersOnly,
    frameworkErrors: answerUnroutable(plainErrorBody),
  });
  app.get('/health', () => ({ status: 'ok', service }));
  registerProbes(app, registry, checks, { details });
  return app;
}

/**
 * Registers /readyz and /metrics on a listener. Details of a check, beyond `ok` and `failed`, are shown only if `showsDetails` allows it, and
 * metrics unless `mayReadMetrics` throws.
 */
export function registerProbes(
  app: Pick<FastifyInstance, 'get'>,
  registry: Registry,
  checks: ReadinessChecks,
  {
    details = {},
    showsDetails = () => true,
    mayReadMetrics = () => undefined,
  }: {
    readonly details?: ReadinessDetails;
    readonly showsDetails?: (request: FastifyRequest) => boolean;
    readonly mayReadMetrics?: (request: FastifyRequest) => void;
  } = {},
): void {
  const state = {
    description: 'Whether it is ready, and what is not.',
    content: { 'application/json': { schema: z.looseObject({}) } },
  };
  app.get('/readyz', { config: { described: { response: { 200: state, 503: state } } } }, async (request, reply) => {
    const outcomes = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await probe(check)] as const),
    );
    const ready = outcomes.every(([, outcome]) => outcome.status === 'ok');
    return reply.code(ready ? 200 : 503).send({
      status: ready ? 'ready' : 'not_ready',
      ...details,
      checks: Object.fromEntries(outcomes.map(([name, outcome]) => [name, outcome.status])),
      ...(showsDetails(request) && {
        details: Object.fromEntries(
          outcomes.filter(([, outcome]) => outcome.detail !== null).map(([name, outcome]) => [name, outcome.detail]),
        ),
      }),
    });
  });
  app.get('/metrics', { config: answersAs('text/plain') }, async (request, reply) => {
    mayReadMetrics(request);
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

async function probe(
  check: ReadinessChecks[string],
): Promise<{ status: 'ok' | 'failed'; detail: string | number | null }> {
  const late = () => new Error(`no answer within ${PROBE_LIMIT_MS} ms`);
  try {
    const detail = await within(PROBE_LIMIT_MS, Promise.resolve().then(check), late);
    return { status: 'ok', detail: detail ?? null };
  } catch (error) {
    return { status: 'failed', detail: foreignText(errorText(error), 300) };
  }
}
