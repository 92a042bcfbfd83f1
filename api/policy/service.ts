import { POLICY_SETTINGS } from '../../config/policy.js';
import { BRAIN } from '../brain/service.js';
import { declareService, type Remote } from '../plugins/declaration.js';
import { LEDGER } from '../ledger/service.js';
import type { PolicyPort } from './port.js';

export const POLICY_ENGINE = declareService({
  name: 'policy-engine',
  title: 'Policy engine',
  prefix: 'GATE_POLICY',
  key: 'policy',
  calledBy: 'services',
  settings: { own: POLICY_SETTINGS },
  stores: ['policies'],
  neighbours: [LEDGER, BRAIN],
  metrics: async (registry) => (await import('./metrics.js')).policyMetrics(registry),
  remote: async (): Promise<Remote<PolicyPort>> => ({
    connect: (await import('../../activities/clients/policy-client.js')).createPolicyClient,
  }),
  open: () => import('./open.js'),
});
