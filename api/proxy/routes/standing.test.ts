import { expect, it } from '@jest/globals';
import { NoWorker, someWorkerPolls } from '../../../workers/readiness.js';
import { bareService } from '../../../test/support/bare-service.js';
import { standingRoutes } from './standing.js';

/** The engine's word about a queue that nobody polls. */
const nobodyPolls = () =>
  someWorkerPolls(
    { client: { workflowService: { describeTaskQueue: () => Promise.resolve({ pollers: [] }) } } } as never,
    {
      namespace: 'default',
      taskQueue: 'gate',
    },
  );

it.each<[string, () => unknown, string]>([
  ['a queue that nobody polls', nobodyPolls, 'no worker takes calls: none of them runs'],
  [
    'a worker of this process that ended',
    () => Promise.reject(new NoWorker('the worker is STOPPED')),
    'no worker takes calls: none of them runs',
  ],
  [
    'an engine that is away',
    () => Promise.reject(new Error('14 UNAVAILABLE: connect ECONNREFUSED 10.0.0.7:7233')),
    'not known: the workflow engine does not answer the proxy',
  ],
])('of %s the proxy says what it knows, and no address', async (_of, worker, words) => {
  const service = bareService({ name: 'proxy', resolveCaller: () => null });
  standingRoutes(service.app, { worker: worker as never, upstreams: () => null });
  const reply = await service.app.inject('/standing');
  expect([reply.statusCode, reply.json()]).toEqual([200, { worker: { ok: false, words }, upstreams: null }]);
  await service.close();
});
