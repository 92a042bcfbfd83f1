import type { SetbackTables } from './setbacks.js';
import type { StoredRecord } from '../../domain/call-record/sealed-record.js';

export interface CallTables extends SetbackTables {
  call_requests: {
    correlation_id: string;
    tenant: string;
    agent: string;
    digest: string;
    sealed: Uint8Array;
    /** `KeptInspection`, where one was worth keeping. */
    inspection_sealed: Uint8Array | null;
    created_ms: number;
  };
  call_records: StoredRecord;
  call_seal: { id: number; mac: string };
  call_tombstones: { correlation_id: string; digest: string; purged_ms: number };
  rate_hits: { key: string; at_ms: number; correlation_id: string };
  sensitive_steps: { tenant: string; agent: string; tool: string; at_ms: number };
}
