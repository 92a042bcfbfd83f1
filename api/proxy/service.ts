import { accessTokenFaults } from '../../config/access-tokens.js';
import { proxyOperators } from '../../config/hil.js';
import { PROXY_SETTINGS } from '../../config/proxy.js';
import { CALL_STORE_SETTINGS } from '../../config/shared.js';
import { upstreamsFault } from '../../config/upstreams.js';
import { UPSTREAM_SETTINGS } from '../../config/worker.js';
import { BRAIN } from '../brain/service.js';
import { HIL } from '../hil/service.js';
import { IDENTITY } from '../identity/service.js';
import { LEDGER } from '../ledger/service.js';
import { declareService } from '../plugins/declaration.js';
import { POLICY_ENGINE } from '../policy/service.js';
import { WORKER } from '../worker/service.js';

export const PROXY = declareService({
  name: 'proxy',
  title: 'Proxy',
  prefix: 'GATE_PROXY',
  calledBy: 'agents',
  settings: {
    callStore: CALL_STORE_SETTINGS,
    upstream: UPSTREAM_SETTINGS,
    operators: { operators: proxyOperators },
    own: PROXY_SETTINGS,
  },
  faults: ({ own, upstream }) => [
    ...accessTokenFaults('GATE_PROXY', own),
    upstreamsFault(upstream),
    own.grants === 'required' && own.revocations === 'none'
      ? 'GATE_PROXY_GRANTS: grants are judged only where identity says which were taken back (GATE_PROXY_REVOCATIONS)'
      : null,
    own.attestation === 'required' && own.revocations === 'none'
      ? 'GATE_PROXY_ATTESTATION: what was attested is asked only where identity says which certificates count (GATE_PROXY_REVOCATIONS)'
      : null,
  ],
  engine: true,
  stores: ['calls'],
  neighbours: [LEDGER, HIL, IDENTITY, BRAIN, POLICY_ENGINE, WORKER],
  dispensable: true,
  async metrics(registry) {
    const metrics = (await import('./metrics.js')).proxyMetrics(registry);
    metrics.watchInFlight(() => 0);
    metrics.watchWaiting(() => 0);
    metrics.watchStreams(() => 0);
    metrics.watchDropped(() => 0);
    metrics.watchUpstreams(() => []);
    metrics.watchRevocations(() => null);
    metrics.watchRows(() => Promise.resolve(0));
    metrics.watchStuck(() => Promise.resolve(0));
  },
  // Only asked whether it answers.
  remote: () => Promise.resolve({ connect: () => null }),
  open: () => import('./open.js'),
});
