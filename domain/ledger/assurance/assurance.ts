import type { Kysely } from 'kysely';
import type { VerifyResult } from '../../../contracts/ledger.js';
import type { AssuredVerifyResult, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { reading } from '../chain-store.js';
import type { PreparedRow } from '../entry.js';
import { admitSigned, isSigned } from '../signatures/admission.js';
import { checkSignatures, type SignatureFindings } from '../signatures/cryptographic-verification.js';
import { type KeySet, type KeySetSource, trustedKeys } from '../signatures/key-set.js';
import type { LedgerTables } from '../tables.js';
import type { Verifier } from '../verifier.js';

/** The chain's own walk, and beside it what others put their names to. */
export interface Assurance {
  /**
   * Walks the chain like `verify`, then checks every row's signature (ledger sheet 2.4). None of it makes a valid chain invalid; where
   * cryptography is required, a chain whose signatures could not all be verified is not committed to. Throws
   * `ledger_store_unavailable` only.
   */
  verifyAssured(options?: { readonly sinceCheckpoint?: boolean }): Promise<AssuredVerifyResult>;
  /** Throws for a signed row that must not be appended; nothing is asked of rows without a signature, nor where no keys are known. */
  admit(rows: readonly PreparedRow[]): Promise<void>;
  /** The keys that may have signed rows and bundles, of this moment. Throws KeySetError. */
  trustedKeySet(): Promise<KeySet>;
}

export interface AssuranceOptions {
  readonly db: Kysely<LedgerTables>;
  readonly verifier: Verifier;
  readonly keySet: KeySetSource | null;
  readonly requireCryptography: boolean;
  readonly clock: () => number;
}

export function createAssurance({ db, verifier, keySet, requireCryptography, clock }: AssuranceOptions): Assurance {
  const keys = trustedKeys(
    keySet ??
      (() => {
        throw new Error('no key set is configured');
      }),
    clock,
  );
  /** One look at the signatures per walk, however many asked for it. */
  const looks = new WeakMap<VerifyResult, Promise<AssuredVerifyResult>>();

  async function look(result: VerifyResult): Promise<AssuredVerifyResult> {
    const length = result.commitment?.length ?? 0;
    const signatures = await reading(() =>
      checkSignatures(db, keys, result.commitment ? length : Number.MAX_SAFE_INTEGER),
    );
    const verification = verificationOf(signatures, result.entries_checked);
    const { commitment, ...found } = result;
    const committed = commitment && !(requireCryptography && verification.status !== 'verified');
    return {
      ...found,
      ...(committed && { commitment }),
      anchor_mismatch: null,
      cryptographic_verification: verification,
    };
  }

  return {
    async verifyAssured(options) {
      const result = await verifier.verify(options);
      let looking = looks.get(result);
      if (!looking) {
        looking = look(result);
        looks.set(result, looking);
      }
      return looking;
    },
    async admit(rows) {
      const signed = rows.filter(isSigned);
      if (keySet !== null && signed.length > 0) await admitSigned(signed, keys, clock());
    },
    trustedKeySet: () => keys.current(),
  };
}

const NEEDS_A_KEY: readonly string[] = ['key_set_unavailable', 'key_set_stale', 'key_set_rollback', 'key_missing'];

function verificationOf(signatures: SignatureFindings, entriesChecked: number): CryptographicVerification {
  const { key_set, signed_rows, verified_signed_rows, first_failure } = signatures;
  const missing = first_failure === null ? key_set === null : NEEDS_A_KEY.includes(first_failure.reason);
  return {
    contract: 'gate.cryptographic-verification/v2',
    status: missing ? 'unavailable' : first_failure === null ? 'verified' : 'invalid',
    key_set,
    signed_rows,
    verified_signed_rows,
    unsigned_rows: Math.max(entriesChecked - signed_rows, 0),
    legacy_unverifiable: null,
    first_failure,
    tsa: {
      required: false,
      anchors_observed: 0,
      rfc3161_observed: 0,
      verified: 0,
      failed: 0,
      trust_bundle_sha256: null,
      first_failure: null,
    },
  };
}
