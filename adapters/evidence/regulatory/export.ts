import type { Ledger } from '../../../contracts/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { ownRow } from '../../../domain/ledger/own-rows.js';
import type { Bundle, BundleRequest, MakeBundle } from './bundle.js';

/** Makes a bundle and appends a row about the export before any byte is handed out. Throws what `MakeBundle` and an append throw. */
export const createRegulatoryExport =
  (makeBundle: MakeBundle, append: Ledger['append'], { legalHold }: { readonly legalHold: boolean }): MakeBundle =>
  async (request: BundleRequest): Promise<Bundle> => {
    const bundle = await makeBundle(request);
    const { tenant, window, row_count, seq_lo, seq_hi, signature } = bundle.manifest;
    try {
      // Gate's own row, not the tenant's: an export must not change what the window holds.
      await append([
        ownRow('regulatory.exported', uuidFromDigest('regulatory.exported', bundle.manifestSha256), {
          tenant,
          window: { ...window },
          row_count,
          seq_lo,
          seq_hi,
          manifest_sha256: bundle.manifestSha256,
          key_id: signature?.key_id ?? null,
          legal_hold: legalHold,
        }),
      ]);
    } catch (error) {
      await bundle.discard();
      throw error;
    }
    return bundle;
  };
