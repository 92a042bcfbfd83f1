import type { KeyObject } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { VerifyResult } from '../../../contracts/ledger.js';
import type { AssuredVerifyResult, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import type { PreparedRow } from '../../../domain/ledger/entry.js';
import { admitSigned, isSigned, refuseFuture } from '../../../domain/ledger/signatures/admission.js';
import type { Anchors } from '../anchors/anchors.js';
import { createSignatureCheck, type SignatureFindings } from '../signatures/cryptographic-verification.js';
import { type KeyFault, type KeySetSource, trustedKeys } from '../../../domain/ledger/signatures/key-set.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import type { Verifier } from '../../../domain/ledger/verifier.js';

/** The walk of the chain, together with row signatures and external anchors. */
export interface Assurance {
  /**
   * Walks the chain like `verify`, then checks all row signatures and anchors (docs/architecture/ledger-rows.md#anchors). Their failures
   * never make a valid chain invalid. But when cryptography is required, there is no commitment to a chain unless all its signatures were
   * verified. Throws `ledger_store_unavailable` only.
   */
  verifyAssured(options?: { readonly sinceCheckpoint?: boolean }): Promise<AssuredVerifyResult>;
  /**
   * Throws for a signed row that must not be appended. Without a key set, that is only a row dated in the future. Rows without a signature
   * always pass.
   */
  admit(rows: readonly PreparedRow[]): Promise<void>;
  /** The key, if it is trusted now for something signed at `signedAt`; otherwise the reason why not. Throws KeySetError. */
  trustedKey(keyId: string, signedAt: string): Promise<KeyObject | KeyFault>;
}

export interface AssuranceOptions {
  readonly db: Kysely<LedgerTables>;
  readonly verifier: Verifier;
  readonly keySet: KeySetSource | null;
  readonly requireCryptography: boolean;
  readonly anchors: Pick<Anchors, 'found' | 'timeStamps'>;
  readonly clock: () => number;
}

export function createAssurance({
  db,
  verifier,
  keySet,
  requireCryptography,
  anchors,
  clock,
}: AssuranceOptions): Assurance {
  const keys = trustedKeys(
    keySet ??
      (() => {
        throw new Error('no key set is configured');
      }),
    clock,
  );
  const checkSignatures = createSignatureCheck(db, keys);
  /** Signatures are checked once per walk, however many callers share it. */
  const looks = new WeakMap<VerifyResult, Promise<AssuredVerifyResult>>();

  async function look(result: VerifyResult, sinceCheckpoint: boolean): Promise<AssuredVerifyResult> {
    const { commitment: chain, entries_checked: entriesChecked } = result;
    const signatures = await reading(() =>
      checkSignatures({ length: chain?.length ?? null, entriesChecked, sinceCheckpoint }),
    );
    const verification = verificationOf(signatures, await anchors.timeStamps(), result.entries_checked);
    const { anchors: found, mismatch } = await anchors.found();
    const { commitment, ...walked } = result;
    const committed = commitment && !(requireCryptography && verification.status !== 'verified');
    return {
      ...walked,
      ...(committed && { commitment }),
      ...(found.length > 0 && { anchors: found }),
      anchor_mismatch: mismatch,
      cryptographic_verification: verification,
    };
  }

  return {
    async verifyAssured(options) {
      const result = await verifier.verify(options);
      let looking = looks.get(result);
      if (!looking) {
        looking = look(result, options?.sinceCheckpoint ?? false);
        looks.set(result, looking);
      }
      return looking;
    },
    async admit(rows) {
      const signed = rows.filter(isSigned);
      refuseFuture(signed, clock());
      if (keySet !== null && signed.length > 0) await admitSigned(signed, keys);
    },
    trustedKey: async (keyId, signedAt) => (await keys.current()).key(keyId, signedAt),
  };
}

/** Faults that mean missing keys or trust; nothing was found to be wrong. */
const MISSING: readonly string[] = [
  'key_set_unavailable',
  'key_set_stale',
  'key_set_rollback',
  'key_missing',
  'tsa_trust_unavailable',
  'tsa_missing',
];

function verificationOf(
  { key_set, signed_rows, verified_signed_rows, first_failure }: SignatureFindings,
  tsa: CryptographicVerification['tsa'],
  entriesChecked: number,
): CryptographicVerification {
  const faults = [first_failure?.reason, tsa.first_failure?.reason].filter((reason) => reason !== undefined);
  const wrong = faults.some((reason) => !MISSING.includes(reason));
  const missing = key_set === null || faults.length > 0;
  return {
    contract: 'gate.cryptographic-verification/v2',
    status: wrong ? 'invalid' : missing ? 'unavailable' : 'verified',
    key_set,
    signed_rows,
    nothing_signed: signed_rows === 0,
    verified_signed_rows,
    unsigned_rows: Math.max(entriesChecked - signed_rows, 0),
    legacy_unverifiable: null,
    first_failure: first_failure ?? tsa.first_failure,
    tsa,
  };
}
