import type { Deletion } from '../../domain/review/retention.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';
import type { StoredOperation, StoredTenant } from './tenant-states.js';

export interface ReviewTables {
  reviews: StoredReview;
  /** The key that a row's request, report and changes are sealed with, itself sealed with the payload keys. */
  review_keys: { review_id: string; wrapped: Uint8Array };
  /** One row per deletion, for good. */
  hil_deletion_audit: Deletion;
  /** One row per operation on a legal hold, for good, with the answer it got. */
  review_holds: {
    operation_id: string;
    tenant: string;
    pending_id: string;
    request: string;
    receipt: string;
    mac: string;
  };
  review_seal: { id: number; mac: string };
  review_tenants: StoredTenant;
  review_tenant_operations: StoredOperation;
}
