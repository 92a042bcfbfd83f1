import {
  POLICY_ENGINE_AGENT,
  type PolicyEventKind,
  policyEventKind,
  type PolicyReason,
  type PolicyVersion,
} from '../../contracts/policy-library.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { fittingRow } from '../ledger/fitting-row.js';
import { EVERYBODY, type StoredPolicy } from './library-ports.js';

/**
 * The row of one change: which policy, from which text to which, and who; why, in words, is in the sidecar. Its id is that of the version with
 * its text and time, so that another change under that number, after a store was put back, is another row. The outbox keeps the whole row, so
 * that it is sent again under the same id. The texts themselves are in the versions.
 */
export function changeRow(
  policy: StoredPolicy,
  before: StoredPolicy | null,
  { reason, actor_sub, actor_idp, event_kind: kind }: PolicyReason & { readonly event_kind: PolicyEventKind },
): NewLedgerRow & { readonly id: string } {
  const { tenant, name, content_type, body_sha256, current_version: version, active, updated_at } = policy;
  const event = { name, content_type, prev_sha256: before?.body_sha256 ?? null, new_sha256: body_sha256 };
  const payload = canonicalJson({ ...event, reason });
  return fittingRow({
    id: uuidFromDigest('gate.policy-change', tenant, name, String(version), body_sha256, updated_at),
    agent_id: POLICY_ENGINE_AGENT,
    method: kind,
    event_kind: kind,
    intent_category: 'Privileged Action',
    authorized: true,
    reasoning: `${name} version ${version} of policy`,
    policy_decision: { ...event, version, active },
    state_namespace: 'operator',
    correlation_id: uuidFromDigest('gate.policy', tenant, name),
    source: 'policy-engine',
    tenant: tenant === EVERYBODY ? null : tenant,
    actor_sub,
    actor_idp,
    payload_sha256: sha256Hex(payload),
    payload_canonical_json: payload,
  });
}

/** A row about a policy that somebody changed, and about no call: what the policy engine may append. */
export function isOfPolicyChange(row: unknown): boolean {
  const { method, event_kind: kind, agent_id: agent } = (row ?? {}) as Partial<NewLedgerRow>;
  return method === kind && policyEventKind.safeParse(kind).success && agent === POLICY_ENGINE_AGENT;
}

/**
 * Whether a row tells of this version: what was changed, by whom, and how. Its id may be made in another way than now. The reason in the sidecar is not
 * compared.
 */
export function isRowOf(
  row: unknown,
  version: Pick<PolicyVersion, 'version' | 'body_sha256' | 'actor_sub' | 'actor_idp'> & {
    readonly tenant: string;
    readonly event_kind: string;
  },
): boolean {
  const { tenant, actor_sub, actor_idp, event_kind, policy_decision } = (row ?? {}) as Partial<NewLedgerRow>;
  return (
    isOfPolicyChange(row) &&
    (tenant ?? EVERYBODY) === version.tenant &&
    actor_sub === version.actor_sub &&
    actor_idp === version.actor_idp &&
    event_kind === version.event_kind &&
    policy_decision?.['version'] === version.version &&
    policy_decision['new_sha256'] === version.body_sha256
  );
}
