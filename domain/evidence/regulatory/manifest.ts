import { createHash } from 'node:crypto';
import type { Json } from '../../../contracts/json.js';
import type { VerifyResult } from '../../../contracts/ledger.js';

/** A file whose digest is in the manifest. */
export interface Committed {
  readonly filename: string;
  readonly sha256: string;
  readonly byte_size: number;
}

/**
 * Manifest version 8 (docs/architecture/ledger-reads.md#regulatory-bundle). The order of the keys matters, because the signature covers the
 * text.
 */
export interface Manifest {
  readonly schema_version: '8';
  readonly tenant: string;
  readonly generated_at: string;
  readonly window: { readonly from: string; readonly to: string };
  readonly row_count: number;
  readonly seq_lo: number | null;
  readonly seq_hi: number | null;
  readonly chain_state: {
    readonly prev_hash_at_window_start: string | null;
    readonly entry_hash_at_window_end: string | null;
  };
  readonly verified_chain: {
    readonly contract: 'gate.regulatory-bundle-signing/v1';
    readonly commitment: NonNullable<VerifyResult['commitment']>;
    readonly cryptographic_contract: 'gate.cryptographic-verification/v2';
    readonly cryptographic_status: 'verified' | 'unavailable' | 'invalid';
    readonly historical_key_lineage_sha256: string | null;
    readonly signed_rows: number;
    readonly nothing_signed: boolean;
    readonly verified_signed_rows: number;
    readonly legacy_unverifiable_rows: number;
    readonly tsa_required: boolean;
    readonly tsa_verified: number;
    readonly tsa_trust_bundle_sha256: string | null;
  };
  readonly ndjson_sha256: string;
  readonly article_scope: readonly string[];
  readonly signature: ManifestSignature | null;
  readonly technical_documentation?: Committed;
  readonly parquet_pointers?: readonly Json[];
  readonly compliance_register?: Committed;
  readonly anchors?: Committed & { readonly count: number };
  readonly annex_iv?: Committed;
  readonly post_market_monitoring_plan?: Committed;
  /** Rows of the window that are missing from the bundle because they were vacuumed. Only in final exports. */
  readonly vacuumed?: {
    readonly row_count: number;
    readonly seq_lo: number;
    readonly seq_hi: number;
    readonly kept_from_seq: number;
  };
  readonly chain_links: Committed & { readonly count: number };
  readonly readme: Committed;
}

export interface ManifestSignature {
  readonly sidecar: 'manifest.sig';
  readonly algorithm: 'ed25519';
  readonly digest_alg: 'sha256';
  readonly key_id: string;
  readonly signed_at: string;
}

/** The only spelling of a manifest: indented by two spaces, no newline at the end. */
export const manifestText = (manifest: Manifest): string => JSON.stringify(manifest, null, 2);

/** The digest that is signed: SHA-256 of the manifest with `signature` set to null, so key id and time of signing are not covered. */
export const manifestDigest = (manifest: Manifest): string =>
  createHash('sha256')
    .update(manifestText({ ...manifest, signature: null }))
    .digest('hex');
