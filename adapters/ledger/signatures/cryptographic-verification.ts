import type { Kysely } from 'kysely';
import type { CryptographicFailure, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { turn } from '../rows.js';
import type { EntryTable, LedgerTables } from '../../../domain/ledger/tables.js';
import {
  type KeyFault,
  type KeySet,
  KeySetError,
  type TrustedKeys,
} from '../../../domain/ledger/signatures/key-set.js';
import {
  SIGNED_FIELDS,
  signatureFault,
  type SignedFields,
  signedFields,
} from '../../../domain/ledger/signatures/row-signature.js';

/** Rows per query. Checking their signatures takes a few milliseconds; then other work runs. */
const PAGE = 100;
const COLUMNS = ['seq', 'signature', 'key_id', ...SIGNED_FIELDS] as const;
type SignedRow = Pick<EntryTable, (typeof COLUMNS)[number]>;

/** The result for the signatures of rows. */
export interface SignatureFindings {
  readonly key_set: CryptographicVerification['key_set'];
  readonly signed_rows: number;
  readonly verified_signed_rows: number;
  readonly first_failure: CryptographicFailure | null;
}

/** The walk whose rows are checked. */
export interface WalkedRows {
  /** Length of the chain if it is valid; `null` if it is not. */
  readonly length: number | null;
  readonly entriesChecked: number;
  /** Whether the walk itself continued from an earlier one. */
  readonly sinceCheckpoint: boolean;
}

/** Findings for the first `length` rows under one lineage of keys. */
interface Remembered {
  readonly lineage: string;
  readonly length: number;
  readonly entriesChecked: number;
  readonly found: Omit<SignatureFindings, 'key_set'>;
}

/**
 * Checks the signature of every signed row of a chain that was just walked (docs/architecture/ledger-rows.md#verification). The walk proved
 * that the columns are what was hashed; this check finds whose key signed them. After a walk that continued from an earlier one, only the
 * rows after those already checked under the same keys are checked. A missing key set is a finding, not an error. Rows without a signature
 * need no key set.
 */
export function createSignatureCheck(
  db: Kysely<LedgerTables>,
  keys: TrustedKeys,
): (walked: WalkedRows) => Promise<SignatureFindings> {
  let remembered: Remembered | null = null;

  const signedRows = (after: number, through: number) =>
    db
      .selectFrom('ledger_entries')
      .where((match) => match.or([match('signature', 'is not', null), match('key_id', 'is not', null)]))
      .where('seq', '>', after)
      .where('seq', '<=', through);

  /** The findings when no signature can be checked. */
  async function uncheckable(reason: KeyFault, through: number): Promise<SignatureFindings> {
    const { rows } = await signedRows(0, through)
      .select((make) => make.fn.countAll().as('rows'))
      .executeTakeFirstOrThrow();
    const signed = Number(rows);
    return {
      key_set: null,
      signed_rows: signed,
      verified_signed_rows: 0,
      first_failure: signed === 0 ? null : { seq: null, reason },
    };
  }

  return async ({ length, entriesChecked, sinceCheckpoint }) => {
    const through = length ?? Number.MAX_SAFE_INTEGER;
    let keySet: KeySet;
    try {
      keySet = await keys.current();
    } catch (error) {
      if (!(error instanceof KeySetError)) throw error;
      return uncheckable(error.fault, through);
    }
    const lineage = keySet.summary.lineage_sha256;
    const known =
      sinceCheckpoint &&
      length !== null &&
      remembered?.lineage === lineage &&
      remembered.length <= length &&
      // After a vacuum the remembered count includes rows that are gone, so start again.
      length - remembered.length === entriesChecked - remembered.entriesChecked
        ? remembered
        : null;
    let { signed_rows: signed, verified_signed_rows: verified, first_failure: failure } = known?.found ?? NOTHING;
    for (let after = known?.length ?? 0; ; ) {
      const rows: SignedRow[] = await signedRows(after, through)
        .select([...COLUMNS])
        .orderBy('seq')
        .limit(PAGE)
        .execute();
      for (const row of rows) {
        signed += 1;
        const fault = rowFault(row, keySet);
        if (fault === null) verified += 1;
        else failure ??= { seq: Number(row.seq), reason: fault };
      }
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) break;
      after = Number(last.seq);
      await turn();
    }
    const found = { signed_rows: signed, verified_signed_rows: verified, first_failure: failure };
    if (length === null) remembered = null;
    else if (remembered?.lineage !== lineage || !sinceCheckpoint || length >= remembered.length)
      remembered = { lineage, length, entriesChecked, found };
    return { key_set: keySet.summary, ...found };
  };
}

const NOTHING = { signed_rows: 0, verified_signed_rows: 0, first_failure: null } as const;

function rowFault(row: SignedRow, keySet: KeySet): CryptographicFailure['reason'] | null {
  if (row.signature === null || row.key_id === null) return 'partial_signature';
  const key = keySet.key(row.key_id, row.timestamp);
  if (typeof key === 'string') return key;
  let fields: SignedFields;
  try {
    fields = signedFields((field) => row[field]);
  } catch {
    // The walk reports the changed row; its signature cannot be for the present content.
    return 'signature_forged';
  }
  return signatureFault(fields, row.signature, key);
}
