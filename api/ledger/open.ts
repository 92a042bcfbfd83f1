import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import { egressSource } from '../../domain/evidence/egress/source.js';
import { openLedgerWithEvidenceThread } from '../../adapters/evidence/evidence.js';
import { listenerOf, type Opened, type Opening } from '../plugins/declaration.js';
import { openWatchedKeys } from '../plugins/listed-keys.js';
import { needed, openKeyStores } from '../plugins/start.js';
import { createLedgerService } from './app.js';
import { coldPlace } from './cold-place.js';
import type { LedgerPort } from './port.js';
import { checkpointKeys, ledgerSignatures, type WatchKeys } from './signing.js';
import { startLedgerSweeps } from './sweeps.js';

interface Settings {
  readonly own: Config<typeof LEDGER_SETTINGS>;
}

export async function open({ config: { own }, ...parts }: Opening<Settings>): Promise<Opened<LedgerPort>> {
  const { logger, trustDomain } = parts;
  const { keyStores, assertSigns } = openKeyStores(parts);
  const watched: Awaited<ReturnType<typeof openWatchedKeys>>[] = [];
  const watch: WatchKeys = async (keys) => {
    const opened = await openWatchedKeys(parts, { ...keys, agent: 'gate-ledger', keyStores });
    watched.push(opened);
    return opened.keys;
  };
  const checkpoints = await needed('GATE_LEDGER_CHECKPOINT_KEY_FILE', checkpointKeys(own, trustDomain, watch));
  const signatures = await needed(
    'the keys of the ledger (GATE_LEDGER_EXPORT_KEY_FILE, GATE_LEDGER_ANCHOR_TSA_CA_FILE)',
    ledgerSignatures(own, trustDomain, watch),
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
  for (const { tell } of watched) tell(writer);
  const signer = () => {
    for (const { assertKnown } of watched) assertKnown();
    assertSigns();
  };
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
    listener: () => listenerOf(createLedgerService({ ...parts, ledger, evidence, readiness: { signer } }), own),
  };
}
