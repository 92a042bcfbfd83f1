import { z } from 'zod';
import { type ProxyStanding, proxyStanding } from '../../../contracts/proxy-standing.js';
import { errorText } from '../../../domain/errors.js';
import { foreignText } from '../../../domain/text.js';
import { within } from '../../../domain/within.js';
import { NoWorker } from '../../../workers/readiness.js';
import type { ServiceApp } from '../../plugins/app.js';
import type { ReadinessChecks } from '../../plugins/health.js';

/** Less than the console's page of health waits for this answer, which says more than that none came. */
const LIMIT_MS = 1_000;

/** Whether calls that are let in run: the console has a connection neither to the engine nor to tools. */
export function standingRoutes(
  app: ServiceApp,
  {
    worker,
    upstreams,
  }: { readonly worker: ReadinessChecks[string]; readonly upstreams: () => ProxyStanding['upstreams'] },
): void {
  app.get('/standing', { schema: { querystring: z.object({}), response: { 200: proxyStanding } } }, async (request) => {
    const late = new Error(`not known: no answer within ${LIMIT_MS} ms`);
    try {
      await within(LIMIT_MS, Promise.resolve().then(worker), () => late);
      return { worker: { ok: true, words: 'answers' }, upstreams: upstreams() };
    } catch (error) {
      // Words of the engine name addresses and queues, which are the operator's and not every reader's.
      request.log.info({ reason: foreignText(errorText(error), 300) }, 'no worker is known to run');
      return { worker: { ok: false, words: error === late ? late.message : faultTold(error) }, upstreams: upstreams() };
    }
  });
}

const faultTold = (error: unknown): string =>
  error instanceof NoWorker
    ? 'no worker takes calls: none of them runs'
    : 'not known: the workflow engine does not answer the proxy';
