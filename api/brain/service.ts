import { BRAIN_SETTINGS } from '../../config/brain.js';
import { inspectionTimeoutFault, qualificationFault } from '../../config/brain-models.js';
import { declareService } from '../plugins/declaration.js';

export const BRAIN = declareService({
  name: 'brain',
  title: 'Brain',
  prefix: 'GATE_BRAIN',
  calledBy: 'services',
  settings: { own: BRAIN_SETTINGS },
  faults: ({ own }) => [inspectionTimeoutFault(own), qualificationFault(own)],
  stores: [],
  neighbours: [],
  async metrics(registry) {
    const { modelMetrics, observedInspector, observedScanner } = await import('./metrics.js');
    const unused = () => Promise.reject(new Error('unused'));
    observedInspector({ inspect: unused }, registry);
    observedScanner(
      { scanResponse: unused, scanRequest: unused, scanDefinitions: unused, scanToolName: unused },
      registry,
    );
    modelMetrics(registry);
  },
  remote: async () => ({
    limitsItself: true,
    connect: (await import('../../activities/clients/brain-client.js')).createBrainClient,
  }),
  open: () => import('./open.js'),
});
