import { randomUUID } from 'node:crypto';
import type { CallInput } from '../../contracts/call.js';

/** A tool call of `acme/bot` that came at this moment, to be executed by Gate. */
export const callInput = (receivedMs: number, change: Partial<CallInput> = {}): CallInput => ({
  correlation_id: randomUUID(),
  tenant: 'acme',
  agent: 'bot',
  agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/0190b8d0-0000-7000-8000-000000000000',
  credential_fingerprint: 'f'.repeat(64),
  contract: 'gate.server-execution/v1',
  idempotency_id: randomUUID(),
  method: 'tools/call',
  tool: 'read_file',
  digest: 'sha256:0',
  mode: 'enforce',
  received_ms: receivedMs,
  not_after_ms: receivedMs + 10_000,
  ttl_secs: { auto: 120, standard: 600, strict: 1_800 },
  upstream_timeout_ms: 30_000,
  has_callback: false,
  recent_request_count: 1,
  velocity_limit: 100,
  ...change,
});
