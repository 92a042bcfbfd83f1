import { adminFault, IDENTITY_PEOPLE_SETTINGS, IDENTITY_SETTINGS, verifierFault } from '../../config/identity.js';
import { LEDGER } from '../ledger/service.js';
import { declareService } from '../plugins/declaration.js';

/** Issues the certificates of agents, and says what they are verified with and which count no more. */
export const IDENTITY = declareService({
  name: 'identity',
  title: 'Identity',
  prefix: 'GATE_IDENTITY',
  calledBy: 'services',
  settings: { own: IDENTITY_SETTINGS, people: IDENTITY_PEOPLE_SETTINGS },
  faults: ({ own }) => [adminFault(own), verifierFault(own)],
  stores: ['identity'],
  neighbours: [LEDGER],
  certifies: true,
  stopsIn: 'identity',
  // Agents that have no certificate yet, and whoever verifies one.
  published: true,
  metrics: async (registry) => (await import('./metrics.js')).identityMetrics(registry),
  remote: async () => ({
    connect: (await import('../../activities/clients/identity-client.js')).createIdentityClient,
  }),
  open: () => import('./open.js'),
});
