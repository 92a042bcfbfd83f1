import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { LocalFile } from '../adapters/store/local-file.js';
import { operatorRoutes } from '../api/hil/app.js';
import { rowRoutes } from '../api/hil/routes/pending.js';
import { createService, type Service } from '../api/plugins/service.js';
import type { PendingRequest } from '../contracts/review.js';
import type { Decision } from '../domain/review/decisions.js';
import type { ReviewsWithNotices } from '../domain/notification/ports.js';
import type { Access } from './access.js';
import { ownConsole } from './console-caller.js';
import { reviewScopeOf } from './review-scope.js';

export interface ReviewServiceOptions {
  readonly access: Access;
  readonly reviews: Pick<ReviewsWithNotices, 'reads' | 'lists' | 'notes' | 'feed' | 'retention' | 'notices'>;
  /** Resolves when the row it returns is on disk. */
  readonly decide: (decision: Decision) => Promise<PendingRequest>;
  readonly file: Pick<LocalFile, 'durable' | 'durableFromHere'>;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** HIL's routes for the console of this process, without a listener. An operator proves himself to them with his token, as to lite's own. */
export function createReviewService({ access, file, logger, registry, ...options }: ReviewServiceOptions): Service {
  const service = createService({
    name: 'hil',
    governed: 'hil',
    logger,
    registry,
    trustDomain: 'gate.local',
    resolveCaller: () => ownConsole,
  });
  service.app.addHook('onSend', async (request, reply, payload) => {
    // The row that `decide` returned is on disk already; that something else was undone does not concern it.
    if (request.routeOptions.url !== '/decide/:id' || reply.statusCode !== 200) await file.durable();
    return payload;
  });
  const scopeOf = reviewScopeOf(access, 'console');
  rowRoutes(service.app, { reviews: options.reviews, scopeOf });
  const standsFromHere = () => file.durableFromHere();
  operatorRoutes(service.app, { ...options, scopeOf, waiting: 'oldest', standsFromHere });
  return service;
}
