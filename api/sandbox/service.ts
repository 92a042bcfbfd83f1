import { SANDBOX_SETTINGS } from '../../config/sandbox.js';
import { declareService } from '../plugins/declaration.js';

/** Predicts what a call that waits for review would do. It annotates, and never authorises. */
export const SANDBOX = declareService({
  name: 'sandbox',
  title: 'Sandbox',
  prefix: 'GATE_SANDBOX',
  calledBy: 'services',
  settings: { own: SANDBOX_SETTINGS },
  stores: [],
  neighbours: [],
  dispensable: true,
  async metrics(registry) {
    const { observedSandbox } = await import('./metrics.js');
    observedSandbox({ analyze: () => Promise.reject(new Error('unused')) }, registry);
  },
  remote: async () => ({ connect: (await import('../../activities/clients/sandbox-client.js')).createSandboxClient }),
  open: () => import('./open.js'),
});
