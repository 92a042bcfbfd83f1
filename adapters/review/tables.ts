import type { TenantReviewsKind } from '../../contracts/tenant-reviews.js';
import type { Deletion } from '../../domain/review/retention.js';
import type { StoredReview } from '../../domain/review/sealed-review.js';

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
  /** The approvers' passkeys. The MAC covers all but the counter, and the digest, which is of the key. */
  passkeys: {
    credential_id: string;
    tenant: string;
    subject: string;
    public_key: string;
    key_sha256: string;
    counter: number | string;
    created_ms: number | string;
    mac: string;
  };
  /** Which passkeys and which token of recovery of a person count; `counts` is JSON. The MAC covers all of it. */
  passkey_standings: { tenant: string; subject: string; generation: number | string; counts: string; mac: string };
  /** Ceremonies under way. The MAC covers all but the attempts. */
  passkey_ceremonies: {
    id_sha256: string;
    challenge_sha256: string;
    tenant: string;
    subject: string;
    created_ms: number | string;
    purpose: string;
    expires_ms: number | string;
    attempts: number | string;
    mac: string;
  };
  /** Tokens of people who lost their passkeys, one each. The MAC covers all but the attempts. */
  passkey_recoveries: {
    tenant: string;
    subject: string;
    token_sha256: string;
    expires_ms: number | string;
    attempts: number | string;
    mac: string;
  };
  review_seal: { id: number; mac: string };
  review_tenants: StoredTenant;
  review_tenant_operations: StoredOperation;
}

export interface StoredTenant {
  tenant: string;
  /** `offboarded` or `active`; a tenant without a row is active. */
  state: string;
  generation: number | string;
  operation_id: string;
  mac: string;
}
export interface StoredOperation {
  operation_id: string;
  tenant: string;
  kind: TenantReviewsKind;
  generation: number | string;
  asked_by: string;
  begun_ms: number | string;
  /** What it denied, once that is counted. */
  pending_denied: number | string | null;
  receipt: string | null;
  mac: string;
}
