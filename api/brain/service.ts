import { BRAIN_SETTINGS } from '../../config/brain.js';
import { declareService } from '../plugins/declaration.js';

export const BRAIN = declareService({
  name: 'brain',
  title: 'Brain',
  prefix: 'GATE_BRAIN',
  calledBy: 'services',
  settings: { own: BRAIN_SETTINGS },
  stores: [],
  neighbours: [],
  async metrics(registry) {
    const { observedInspector } = await import('./metrics.js');
    observedInspector({ inspect: () => Promise.reject(new Error('unused')) }, registry);
  },
  remote: async () => ({ connect: (await import('../../activities/clients/brain-client.js')).createBrainClient }),
  open: () => import('./open.js'),
});
