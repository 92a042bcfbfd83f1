import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import { StartError } from '../../config/start-error.js';
import type { HeldKey } from '../../domain/identity/held-key.js';
import { readHeldKey, type OpenKeys } from '../plugins/start.js';
import type { EvidenceOptions } from '../../adapters/evidence/evidence.js';
import { serviceSpiffe } from '../../domain/identity/spiffe.js';
import { readTrust } from '../../domain/ledger/anchors/time-stamp.js';
import type { LedgerOptions } from '../../adapters/ledger/ledger-store.js';
import { keyFileSigner } from '../../domain/ledger/signatures/blob-signer.js';
import { keySetFile } from '../../adapters/ledger/signatures/key-set-file.js';
import type { CheckpointKeys } from '../../adapters/ledger/tlog/transparency-log.js';

/** The key that signs bundles, and the keys that verify signatures (docs/decisions/bundle-signer.md). */
export async function ledgerSignatures(
  config: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
  keyStores: OpenKeys,
): Promise<
  Pick<LedgerOptions, 'keySet' | 'requireCryptography' | 'timeStamps' | 'legalHold'> & Pick<EvidenceOptions, 'signer'>
> {
  const { exportKeyFile, exportKeyId, keySetFile: keySetPath, requireCrypto, anchorTsaCaFile, anchorTsaUrl } = config;
  const signer =
    exportKeyFile === undefined
      ? null
      : keyFileSigner({
          privateKey: await readHeldKey(exportKeyFile, keyStores),
          keyId: exportKeyId,
          issuer: serviceSpiffe(trustDomain, 'ledger'),
        });
  const keySet = keySetPath === undefined ? signer?.keySet : keySetFile(keySetPath);
  const trust = anchorTsaCaFile === undefined ? null : readTrust(await readFile(anchorTsaCaFile, 'utf8'));
  const timeStamps = { trust, required: requireCrypto && anchorTsaUrl !== undefined };
  return {
    requireCryptography: requireCrypto,
    legalHold: config.legalHold,
    timeStamps,
    ...(signer && { signer }),
    ...(keySet && { keySet }),
  };
}

/** The keys that sign checkpoints; empty when none is configured. */
export async function checkpointKeys(
  { checkpointKeyFile, checkpointOrigin, witnesses }: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
  keyStores: OpenKeys,
): Promise<{ checkpoints?: CheckpointKeys & { readonly privateKey: HeldKey } }> {
  if (checkpointKeyFile === undefined) return {};
  const privateKey = await readHeldKey(checkpointKeyFile, keyStores);
  if (privateKey.algorithm !== 'Ed25519')
    throw new StartError('GATE_LEDGER_CHECKPOINT_KEY_FILE: is not an Ed25519 key');
  return { checkpoints: { origin: checkpointOrigin ?? `${trustDomain}/ledger`, privateKey, witnesses } };
}
