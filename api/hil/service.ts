import { HIL_SETTINGS } from '../../config/hil.js';
import { declareService } from '../plugins/declaration.js';

export const HIL = declareService({
  name: 'hil',
  title: 'Human review',
  prefix: 'GATE_HIL',
  calledBy: 'services',
  settings: { own: HIL_SETTINGS },
  engine: true,
  stores: ['hil'],
  neighbours: [],
  async metrics(registry) {
    const { reviewMetrics } = await import('./metrics.js');
    reviewMetrics(
      registry,
      { backlog: () => Promise.reject(new Error('unused')), onEscalated: () => undefined },
      Date.now,
    );
  },
  remote: async () => ({ connect: (await import('../../activities/clients/hil-client.js')).createHilClient }),
  open: () => import('./open.js'),
});
