import type { Selectable } from 'kysely';
import {
  LISTED_COLUMNS,
  type ReviewHead,
  type StoredReview,
  type WithDataKey,
} from '../../domain/review/sealed-review.js';
import { statement } from '../store/statement.js';
import type { Ready } from '../store/write-together.js';

/** A row with the key of its request. */
export type Row = Selectable<StoredReview> & WithDataKey;
/** A row without its request. */
export type Listed = ReviewHead & Pick<Row, 'sandbox_report' | 'data_key'>;

/** What opens the line of a report, and what says whether it is shown. */
export const REPORT_COLUMNS = [
  'id',
  'status',
  'annotations',
  'sandbox_report',
  'approval_tier',
  'deadline_ms',
  'settled',
  'payload_expires_ms',
  'metadata_expires_ms',
  'purged',
] as const satisfies (keyof Listed)[];
/** A row without its request, with what opens the line of its report. */
export type WithReport = Pick<Listed, (typeof REPORT_COLUMNS)[number] | 'data_key'>;

export const STORED_COLUMNS = [...LISTED_COLUMNS, 'payload', 'attempt_ms'] as const satisfies (keyof StoredReview)[];

const selecting = (column: 'id' | 'correlation_id') =>
  statement<Row>(`select ${STORED_COLUMNS.join(', ')}, wrapped as data_key
    from reviews left join review_keys on review_id = id where ${column} = ?`);
export const selectBy = { id: selecting('id'), correlation_id: selecting('correlation_id') };

const insertKey = statement('insert into review_keys (review_id, wrapped) values (?, ?)');
/** Stores the key of a row's request. */
export const keepKey = (id: string, wrapped: Uint8Array): Ready => ({ of: insertKey, values: [id, wrapped] });
