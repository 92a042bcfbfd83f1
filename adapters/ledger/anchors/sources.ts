import { answerTo } from '../../outbound/webhook.js';
import type { AnchorSource } from './anchors.js';
import {
  readTimeStamp,
  timeStampRequest,
  type TimeStampTrust,
  verifyTimeStamp,
} from '../../../domain/ledger/anchors/time-stamp.js';

/** A time stamp with its certificates has some KiB. */
const MAX_PROOF_BYTES = 1_048_576;

/** A webhook that keeps what is posted to it. The bytes of its answer are the proof: they prove an answer, not a time. */
export const webhookAnchor = (url: string): AnchorSource => ({
  source: 'webhook',
  async anchor({ seq, entryHash, requestedAt }) {
    const body = { anchored_seq: seq, anchored_entry_hash: entryHash, requested_at: requestedAt };
    return { bytes: await answerTo({ url }, 'application/json', JSON.stringify(body), MAX_PROOF_BYTES), genTime: null };
  },
});

/**
 * A time-stamping authority (RFC 3161 over HTTP). The proof is its whole response. Throws when the response was not granted, is over
 * another digest or answers another request, and, when `trust` is given, when no trusted authority signed it.
 */
export const timeStampAnchor = (url: string, trust: TimeStampTrust | null): AnchorSource => ({
  source: 'rfc3161',
  async anchor({ entryHash }) {
    const { bytes: request, nonce } = timeStampRequest(entryHash);
    const bytes = await answerTo({ url }, 'application/timestamp-query', new Uint8Array(request), MAX_PROOF_BYTES);
    const stamp = readTimeStamp(bytes, entryHash);
    if (!stamp.nonce?.equals(nonce)) throw new Error('the time stamp answers another request');
    if (trust !== null) verifyTimeStamp(stamp, trust);
    return { bytes, genTime: stamp.genTime };
  },
});
