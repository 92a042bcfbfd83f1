import { agentOwnersFault, decideTokenFault, dispositionsFault, HIL_SETTINGS, passkeyFault } from '../../config/hil.js';
import { NOTIFICATION_SETTINGS, notificationFault } from '../../config/notifications.js';
import { declareService } from '../plugins/declaration.js';

export const HIL = declareService({
  name: 'hil',
  title: 'Human review',
  prefix: 'GATE_HIL',
  calledBy: 'services',
  settings: { own: HIL_SETTINGS, notifications: NOTIFICATION_SETTINGS },
  faults: ({ own, notifications }) => [
    agentOwnersFault(own),
    decideTokenFault(own),
    dispositionsFault(own),
    passkeyFault(own),
    notificationFault(notifications),
  ],
  engine: true,
  stores: ['hil'],
  neighbours: [],
  async metrics(registry) {
    const { notificationMetrics, retentionMetrics, reviewMetrics } = await import('./metrics.js');
    notificationMetrics(registry);
    retentionMetrics(registry);
    reviewMetrics(
      registry,
      {
        lists: { backlog: () => Promise.reject(new Error('unused')) },
        settling: { onEscalated: () => undefined },
      },
      Date.now,
    );
  },
  remote: async () => ({ connect: (await import('../../activities/clients/hil-client.js')).createHilClient }),
  open: () => import('./open.js'),
});
