import type { SetbackTables } from './setbacks.js';
import type { StoredRecord } from '../../domain/call/sealed-record.js';

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
  /** What an answer brought in, for as long as that counts. `digests` says how many values there are. */
  agent_flows: {
    correlation_id: string;
    tenant: string;
    agent: string;
    at_ms: number;
    digests: number;
    sealed: Uint8Array;
  };
  /** By tenant and agent, and under an empty name of the tenant whole. */
  spend_totals: { tenant: string; agent: string; month: string; spent: number; reserved: number };
  /** What a call reserved, until it has ended, and what it cost so far. */
  spend_calls: {
    correlation_id: string;
    tenant: string;
    agent: string;
    month: string;
    reserved: number;
    spent: number;
    /** What models were paid for it, each time. */
    paid: number;
    not_after_ms: number;
    updated_ms: number;
  };
  rate_hits: { key: string; at_ms: number; correlation_id: string };
  /** What is remembered of an agent's calls of a tool; of all its calls where `tool` is empty. */
  agent_profiles: {
    tenant: string;
    agent: string;
    tool: string;
    sealed: Uint8Array;
    version: number;
    updated_ms: number;
  };
  /** How often a grant was used. `told`: as identity heard it. */
  grant_uses: { jti: string; expires_ms: number; uses: number; told: number; mac: string };
  /** The calls that used one, each once. */
  grant_used_calls: { jti: string; correlation_id: string; expires_ms: number; mac: string };
  /** How often the calls of an agent touched a decoy. `told`: as identity heard it; `contain`: 0 in observe mode. */
  decoy_hits: {
    decoy_id: string;
    tenant: string;
    agent: string;
    hits: number;
    told: number;
    correlation_id: string;
    last_ms: number;
    contain: number;
  };
  sensitive_steps: { tenant: string; agent: string; tool: string; at_ms: number };
}
