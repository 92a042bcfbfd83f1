import { LEDGER_SETTINGS, vacuumFault } from '../../config/ledger.js';
import { declareService, type Remote } from '../plugins/declaration.js';
import type { LedgerPort } from './port.js';

/** The id of a call that does not exist. Reading it is allowed to the proxy's workload and shows that the service and its store answer. */
const NO_CALL = '00000000-0000-0000-0000-000000000000';

export const LEDGER = declareService({
  name: 'ledger',
  title: 'Ledger',
  prefix: 'GATE_LEDGER',
  calledBy: 'services',
  settings: { own: LEDGER_SETTINGS },
  faults: ({ own }) => [vacuumFault(own)],
  stores: ['ledger'],
  neighbours: [],
  async metrics(registry) {
    const unobserved = () => undefined;
    (await import('./metrics.js')).ledgerMetrics(registry, {
      writer: { observe: unobserved },
      verifier: { observeWalks: unobserved },
      vacuum: { observe: unobserved },
      evidence: { observeFlags: unobserved },
    });
  },
  async remote(): Promise<Remote<LedgerPort>> {
    const { createLedgerClient } = await import('../../activities/clients/ledger-client.js');
    return {
      connect(reach) {
        const client = createLedgerClient(reach);
        return { ledger: client, egress: client, replay: client, decisions: client };
      },
      answers: ({ ledger }) => ledger.byCorrelation(NO_CALL),
    };
  },
  open: () => import('./open.js'),
});
