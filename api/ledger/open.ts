import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import { egressSource } from '../../domain/evidence/egress/source.js';
import { openLedgerWithEvidenceThread } from '../../adapters/evidence/evidence.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { needed, openKeyStores } from '../plugins/start.js';
import { createLedgerService } from './app.js';
import { coldPlace } from './cold-place.js';
import type { LedgerPort } from './port.js';
import { checkpointKeys, ledgerSignatures } from './signing.js';
import { startLedgerSweeps } from './sweeps.js';

interface Settings {
  readonly own: Config<typeof LEDGER_SETTINGS>;
}

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<LedgerPort>> {
  const { logger, trustDomain } = parts;
  const { keyStores, assertSigns } = openKeyStores(parts);
  const checkpoints = await needed('GATE_LEDGER_CHECKPOINT_KEY_FILE', checkpointKeys(own, trustDomain, keyStores));
  const signatures = await needed(
    'the keys of the ledger (GATE_LEDGER_EXPORT_KEY_FILE, GATE_LEDGER_ANCHOR_TSA_CA_FILE)',
    ledgerSignatures(own, trustDomain, keyStores),
  );
  const { ledger, evidence } = await needed(
    'the ledger store',
    openLedgerWithEvidenceThread({
      target: parts.storeTarget('ledger'),
      sidecarKeys: own.sidecarKeys,
      verifyThreads: { threads: own.verifyThreads },
      coldPlace: coldPlace(own),
      logger,
      ...checkpoints,
      ...signatures,
    }),
  );
  parts.onStop('stores', 'the ledger', () => ledger.close());
  const sweeps = startLedgerSweeps({ ledger, evidence }, own, logger, signatures.timeStamps?.trust ?? null);
  parts.onStop('sweeps', 'the sweeps of the ledger', () => sweeps.stop());
  const { writer, reader } = ledger;
  return {
    port: {
      ledger: { append: writer.append, held: reader.held, byCorrelation: reader.byCorrelation },
      egress: egressSource(ledger),
      replay: { replayPage: (query) => evidence.reports.replayPage(query) },
      decisions: {
        decidedPage: (query) => evidence.reports.decidedPage(query),
        verify: (options) => ledger.verifier.verify(options),
      },
    },
    ready: () => writer.ready(),
    listener: () =>
      listenerOf(createLedgerService({ ...parts, ledger, evidence, readiness: { signer: assertSigns } }), own),
  };
}
