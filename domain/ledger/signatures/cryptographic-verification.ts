import type { Kysely } from 'kysely';
import type { CryptographicFailure, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { turn } from '../reads/rows.js';
import type { EntryTable, LedgerTables } from '../tables.js';
import { type KeyFault, type KeySet, KeySetError, type TrustedKeys } from './key-set.js';
import { SIGNED_FIELDS, signatureFault, type SignedFields, signedFields } from './row-signature.js';

const PAGE = 500;
const COLUMNS = ['seq', 'signature', 'key_id', ...SIGNED_FIELDS] as const;
type SignedRow = Pick<EntryTable, (typeof COLUMNS)[number]>;

/** What the rows' signatures came to. */
export interface SignatureFindings {
  readonly key_set: CryptographicVerification['key_set'];
  readonly signed_rows: number;
  readonly verified_signed_rows: number;
  readonly first_failure: CryptographicFailure | null;
}

/**
 * Checks the signature of every signed row up to `length` (ledger sheet 2.4). Meant for a chain that was just walked: that the columns are
 * what was hashed is the walk's finding, whose key signed them is this one's. A key set that cannot be had is a finding, not an
 * error; rows without a signature ask for none.
 */
export async function checkSignatures(
  db: Kysely<LedgerTables>,
  keys: TrustedKeys | null,
  length: number,
): Promise<SignatureFindings> {
  let keySet: KeySet | null = null;
  let noKeys: KeyFault = 'key_set_unavailable';
  try {
    keySet = (await keys?.current()) ?? null;
  } catch (error) {
    if (!(error instanceof KeySetError)) throw error;
    noKeys = error.fault;
  }
  let signed = 0;
  let verified = 0;
  let failure: CryptographicFailure | null = null;
  for (let after = 0; ; ) {
    const rows: SignedRow[] = await db
      .selectFrom('ledger_entries')
      .select([...COLUMNS])
      .where((match) => match.or([match('signature', 'is not', null), match('key_id', 'is not', null)]))
      .where('seq', '>', after)
      .where('seq', '<=', length)
      .orderBy('seq')
      .limit(PAGE)
      .execute();
    for (const row of rows) {
      signed += 1;
      const fault = keySet ? rowFault(row, keySet) : noKeys;
      if (fault === null) verified += 1;
      else failure ??= { seq: keySet ? Number(row.seq) : null, reason: fault };
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) break;
    after = Number(last.seq);
    await turn();
  }
  return {
    key_set: keySet?.summary ?? null,
    signed_rows: signed,
    verified_signed_rows: verified,
    first_failure: failure,
  };
}

function rowFault(row: SignedRow, keySet: KeySet): CryptographicFailure['reason'] | null {
  if (row.signature === null || row.key_id === null) return 'partial_signature';
  const key = keySet.key(row.key_id, row.timestamp);
  if (typeof key === 'string') return key;
  let fields: SignedFields;
  try {
    fields = signedFields((field) => row[field]);
  } catch {
    // The walk says that the row was changed; nobody signed what it is now.
    return 'signature_forged';
  }
  return signatureFault(fields, row.signature, key);
}
