import { EGRESS_SETTINGS, egressFault } from '../../config/egress.js';
import { PROBE_SETTINGS } from '../../config/probes.js';
import { RESPONSE_SETTINGS } from '../../config/responses.js';
import { CALL_STORE_SETTINGS } from '../../config/shared.js';
import {
  CALL_LIMIT_SETTINGS,
  UPSTREAM_SETTINGS,
  WORKER_HEALTH_SETTINGS,
  WORKER_SETTINGS,
} from '../../config/worker.js';
import { upstreamsFault } from '../../config/upstreams.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { IDENTITY } from '../identity/service.js';
import { LEDGER } from '../ledger/service.js';
import { declareService, type Remote } from '../plugins/declaration.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { SANDBOX } from '../sandbox/service.js';

/** The worker of every workflow and activity. It runs the proxy's pipeline over the proxy's store and carries its certificate. */
export const WORKER = declareService({
  name: 'worker',
  title: 'Worker',
  workload: 'proxy',
  prefix: 'GATE_WORKER',
  calledBy: 'probes',
  metricsBeside: 'ledger',
  settings: {
    callStore: CALL_STORE_SETTINGS,
    upstream: UPSTREAM_SETTINGS,
    limits: CALL_LIMIT_SETTINGS,
    responses: RESPONSE_SETTINGS,
    own: WORKER_SETTINGS,
    egress: EGRESS_SETTINGS,
    probes: PROBE_SETTINGS,
  },
  apart: { health: WORKER_HEALTH_SETTINGS },
  faults: ({ egress, upstream }) => [egressFault(egress), upstreamsFault(upstream)],
  engine: true,
  stores: ['calls'],
  neighbours: [BRAIN, POLICY_ENGINE, LEDGER, HIL, IDENTITY, SANDBOX],
  // Nothing calls it: its work comes from the engine, and that is where it is visible.
  async metrics(registry) {
    (await import('../../workers/egress-metrics.js')).egressMetrics(registry);
    (await import('../../workers/alarms.js')).alarmsTold({ warn: () => undefined }, registry);
    (await import('../../workers/talk-metrics.js')).talkMetrics(registry);
  },
  async remote(): Promise<Remote<null>> {
    const { someWorkerPolls } = await import('../../workers/readiness.js');
    return {
      connect: () => null,
      async answers(_port, { shared }) {
        const engine = await shared.engine();
        await someWorkerPolls(engine, engine.settings);
      },
    };
  },
  open: () => import('./open.js'),
});
