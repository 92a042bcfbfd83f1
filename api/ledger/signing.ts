import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/env.js';
import type { LEDGER_SETTINGS } from '../../config/ledger.js';
import type { ListedKeys, ListedKeysOptions } from '../../adapters/signing/listed-keys.js';
import { publicJwkOf } from '../../domain/identity/signer.js';
import { needed } from '../plugins/start.js';
import type { EvidenceOptions } from '../../adapters/evidence/evidence.js';
import { serviceSpiffe } from '../../domain/identity/spiffe.js';
import { readTrust } from '../../domain/ledger/anchors/time-stamp.js';
import type { LedgerOptions } from '../../adapters/ledger/ledger-store.js';
import { type KeyFileSigner, keysSigner } from '../../domain/ledger/signatures/blob-signer.js';
import { keySetFile } from '../../adapters/ledger/signatures/key-set-file.js';
import type { CheckpointKeys } from '../../adapters/ledger/tlog/transparency-log.js';

/** Opens the keys of a setting, and looks at them for as long as the ledger runs. */
export type WatchKeys = (
  keys: Pick<ListedKeysOptions, 'setting' | 'use' | 'idOf'> & { readonly variable: string },
) => Promise<ListedKeys>;

/** The key that signs bundles, and the keys that verify signatures (docs/decisions/bundle-signer.md). */
export async function ledgerSignatures(
  config: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
  watch: WatchKeys,
): Promise<
  Pick<LedgerOptions, 'keySet' | 'requireCryptography' | 'timeStamps' | 'legalHold'> & Pick<EvidenceOptions, 'signer'>
> {
  const { exportKeyFile, exportKeyId, keySetFile: keySetPath, requireCrypto, anchorTsaCaFile, anchorTsaUrl } = config;
  const signer =
    exportKeyFile === undefined
      ? null
      : await exportSigner(
          await watch({
            variable: 'GATE_LEDGER_EXPORT_KEY_FILE',
            setting: exportKeyFile,
            use: 'exports',
            idOf: () => exportKeyId,
          }),
          serviceSpiffe(trustDomain, 'ledger'),
        );
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

const exportSigner = (keys: ListedKeys, issuer: string): Promise<KeyFileSigner> =>
  needed('GATE_LEDGER_EXPORT_KEY_FILE', (async () => keysSigner({ now: () => keys.now, issuer }))());

/** The keys that sign checkpoints; empty when none is configured. */
export async function checkpointKeys(
  { checkpointKeyFile, checkpointOrigin, witnesses }: Config<typeof LEDGER_SETTINGS>,
  trustDomain: string,
  watch: WatchKeys,
): Promise<{ checkpoints?: CheckpointKeys }> {
  if (checkpointKeyFile === undefined) return {};
  const keys = await watch({
    variable: 'GATE_LEDGER_CHECKPOINT_KEY_FILE',
    setting: checkpointKeyFile,
    use: 'checkpoints',
    idOf: (key) => publicJwkOf(key).kid,
  });
  const privateKey = () => keys.now.signing.key;
  return { checkpoints: { origin: checkpointOrigin ?? `${trustDomain}/ledger`, privateKey, witnesses } };
}
