import type { InspectionResponse } from '../contracts/inspection.js';
import type { JsonObject } from '../contracts/json.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { AgentHistory, PolicyInput } from '../contracts/policy.js';
import { canonicalJson } from '../domain/crypto/digest.js';
import { GateError } from '../domain/errors.js';
import { BRAIN_VERSION, createInspector } from '../domain/inspection/inspector.js';
import { loadPersonas } from '../domain/inspection/personas.js';
import { openLedgerReadOnly } from '../domain/ledger/read-only.js';
import { siblingsOf, worstDecision, worstInspection } from '../domain/mcp/batch.js';
import { foldVerdict } from '../domain/pipeline/verdict.js';
import { loadPolicySet } from '../domain/policy/policy-set.js';
import { shippedPolicyDirectory } from '../domain/policy/policy-sources.js';
import { keysBeside } from './keys.js';

export interface ReplayResult {
  readonly correlation_id: string;
  readonly recorded: { readonly outcome: string; readonly tier: string; readonly policy_version: string };
  /** The first thing that came out otherwise, or `null`. */
  readonly difference: { readonly at: string; readonly recorded: string; readonly now: string } | null;
}

/**
 * Judges a recorded call again from what the ledger committed to: the request and the policy input of its sidecars, the policy version
 * and the inspector version of its rows. Reads the file only. Throws `not_found` without rows, `payload_unavailable` without keys.
 */
export async function replayCall(file: string, correlationId: string, policyFolder?: string): Promise<ReplayResult> {
  const keys = keysBeside(file);
  const ledger = openLedgerReadOnly(file, { sidecarKeys: keys });
  try {
    const rows = await ledger.byCorrelation(correlationId);
    const of = (kind: string) => rows.find((row) => row.event_kind === kind);
    const verdict = of('proxy.verdict');
    const evaluated = of('policy.evaluated');
    const inspected = of('brain.inspection');
    if (!verdict || !evaluated || !inspected)
      throw new GateError('not_found', `the ledger has no verdict of ${correlationId}`);
    if (!keys)
      throw new GateError('payload_unavailable', `the recorded inputs are sealed: put ${file}.keys beside the file`);
    const body = async (row: LedgerEntry): Promise<JsonObject> => {
      const sidecar = await ledger.sidecar(row.id);
      if (sidecar?.text == null) throw new GateError('payload_unavailable', 'the recorded inputs were purged');
      return JSON.parse(sidecar.text) as JsonObject;
    };
    const request = await body(verdict);
    const input = (await body(evaluated)) as unknown as PolicyInput;
    const policies = await loadPolicySet({ directory: policyFolder ?? shippedPolicyDirectory() });
    const said = verdict.policy_decision ?? {};
    const siblings = siblingsOf(text(said['rpc_method']), text(verdict.tool_type), request);
    const bundle = (said['policy_bundle'] ?? {}) as JsonObject;
    const recorded = {
      outcome: text(said['outcome']),
      tier: text(said['tier']),
      policy_version: text(bundle['version']),
    };
    const differences: [at: string, recorded: unknown, now: unknown][] = [
      ['policy_bundle.hash_sha256', bundle['hash_sha256'], policies.bundle.hash_sha256],
    ];

    const available = inspected.policy_decision?.['available'] === true;
    let inspection: InspectionResponse | null = null;
    if (available) {
      const evidence = await body(inspected);
      differences.push(['brain_version', evidence['brain_version'], BRAIN_VERSION]);
      const history = input.agent_history as AgentHistory;
      const inspector = createInspector({ personas: await loadPersonas() });
      inspection = worstInspection(
        await Promise.all(
          siblings.map(({ method, params }) =>
            inspector.inspect({
              agent_id: verdict.agent_id,
              tenant: text(verdict['tenant']),
              jsonrpc: '2.0',
              method,
              params,
              correlation_id: correlationId,
              prior_requests: history.recent_sequence.map((prior) => ({ method: prior.method, tool: prior.tool })),
            }),
          ),
        ),
      );
      differences.push(
        ['brain.inspection.authorized', inspected.authorized, inspection.authorized],
        ['brain.inspection.reasoning', inspected.reasoning, inspection.reason],
      );
    }
    const decision = worstDecision(
      siblings.map((sibling) => policies.evaluate({ ...input, tool_type: sibling.tool, arguments: sibling.arguments })),
    );
    const folded = foldVerdict(inspection, decision, said['mode'] === 'observe' ? 'observe' : 'enforce');
    const policySaid = evaluated.policy_decision ?? {};
    differences.push(
      ['policy.evaluated.allow', policySaid['allow'], decision.allow],
      ['policy.evaluated.reasons', policySaid['reasons'], decision.reasons],
      ['policy.evaluated.review_reasons', policySaid['review_reasons'], decision.review_reasons],
      ['proxy.verdict.tier', said['tier'], folded.tier],
      ['proxy.verdict.outcome', said['outcome'], folded.outcome],
      ['proxy.verdict.reasons', said['reasons'], folded.reasons],
    );
    const found = differences.find(([, then, now]) => shown(then) !== shown(now));
    return {
      correlation_id: correlationId,
      recorded,
      difference: found ? { at: found[0], recorded: shown(found[1]), now: shown(found[2]) } : null,
    };
  } finally {
    await ledger.close();
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const shown = (value: unknown): string => (value === undefined ? 'nothing' : canonicalJson(value as JsonObject));
