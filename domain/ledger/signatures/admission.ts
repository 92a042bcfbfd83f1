import { GateError } from '../../errors.js';
import { contentIndex, type ContentField } from '../canonical-bytes.js';
import type { PreparedRow } from '../entry.js';
import { KeySetError, type TrustedKeys } from './key-set.js';
import { signatureFault, signedFields } from './row-signature.js';

/** How far a signer's clock may be ahead. */
const AHEAD_MS = 60_000;

export const isSigned = (row: PreparedRow): boolean => row.values[contentIndex('signature')] !== null;

/**
 * Throws `signed_position_invalid` for a signed row dated in the future. Checked with or without a key set, because the row's timestamp
 * goes into the chain unchanged.
 */
export function refuseFuture(rows: readonly PreparedRow[], nowMs: number): void {
  for (const { timestamp } of rows)
    if (timestamp !== null && Date.parse(timestamp) > nowMs + AHEAD_MS)
      throw new GateError('signed_position_invalid', 'the timestamp of a signed row lies in the future');
}

/**
 * Accepts signed rows whose signature verifies under a trusted key (docs/architecture/ledger-rows.md#signatures). Throws
 * `signed_position_invalid` for a row without its signer's timestamp, `signature_invalid` with a `reason`, and
 * `verification_keys_unavailable` while no key set is available; then nothing may be appended.
 */
export async function admitSigned(rows: readonly PreparedRow[], keys: TrustedKeys): Promise<void> {
  const keySet = await keys.current().catch((error: unknown) => {
    if (!(error instanceof KeySetError)) throw error;
    throw new GateError('verification_keys_unavailable', error.message, {
      fields: { reason: error.fault },
      cause: error,
    });
  });
  for (const row of rows) {
    if (row.timestamp === null)
      throw new GateError('signed_position_invalid', 'a signed row brings its id and its timestamp');
    const { id, timestamp } = row;
    const at = (field: ContentField) => row.values[contentIndex(field)] ?? null;
    const key = keySet.key(String(at('key_id')), timestamp);
    const fields = signedFields((field) => (field === 'id' ? id : field === 'timestamp' ? timestamp : at(field)));
    const fault = typeof key === 'string' ? key : signatureFault(fields, String(at('signature')), key);
    if (fault !== null)
      throw new GateError('signature_invalid', `the signature of row ${row.id} does not hold: ${fault}`, {
        fields: { id: row.id, reason: fault },
      });
  }
}
