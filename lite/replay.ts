import type { Behaviour, InspectionResponse } from '../contracts/inspection.js';
import type { JsonObject } from '../contracts/json.js';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { AgentHistory, PolicyInput } from '../contracts/policy.js';
import { argumentsOf, brainScores, secretsOf } from '../domain/call/rows.js';
import { canonicalDigest, canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import { GateError } from '../domain/errors.js';
import { BRAIN_VERSION, createInspector } from '../domain/inspection/inspector.js';
import { inRow, lanesForPolicy } from '../domain/inspection/lane-table.js';
import { openLedgerReadOnly, type ReadOnlyLedger } from '../adapters/ledger/read-only.js';
import { historiesOf, judgeSiblings, siblingsOf } from '../domain/mcp/batch.js';
import { worstInspection } from '../domain/inspection/worst-inspection.js';
import { foldVerdict, type Inspected } from '../domain/call/verdict.js';
import { intentScore } from '../domain/inspection/intent-score.js';
import {
  type Compared,
  comparedIn,
  type Comparison,
  decisionCompared,
  shown,
  verdictCompared,
} from '../domain/replay/comparisons.js';
import { isOfModels, partsOfWhole, type ReplayParts } from '../domain/replay/parts.js';
import { keysBeside } from './keys.js';
import { policyFolder } from './policy-folder.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { loadPersonas } from '../adapters/inspection/persona-files.js';

export interface ReplayResult extends Compared {
  readonly correlation_id: string;
  readonly parts: ReplayParts;
  readonly recorded: { readonly outcome: string; readonly tier: string; readonly policy_version: string };
}

/**
 * Judges a recorded call again from what the ledger committed to: the request and the policy input of its sidecars, the policy version
 * and the inspector version of its rows. What can be derived is derived again and compared, in the order in which it was made: the chain,
 * the request, the rules, the inspection, the policy input, the decision, the verdict. An inspection by models, in a file that was exported from a
 * stack, is taken as it was recorded. Reads the file only. Throws `not_found` without
 * rows, `payload_unavailable` without keys or after a purge.
 */
export async function replayCall(file: string, correlationId: string, policies?: string): Promise<ReplayResult> {
  const keys = keysBeside(file);
  const ledger = openLedgerReadOnly(file, { sidecarKeys: keys });
  try {
    const rows = await ledger.byCorrelation(correlationId);
    // A call that was too fast may have come again under its id: only the verdict rests on inputs.
    const of = (kind: string) =>
      rows.find((row) => row.event_kind === kind && row.policy_decision?.['outcome'] !== 'rate_limited');
    const [verdict, inspected, evaluated] = [of('proxy.verdict'), of('brain.inspection'), of('policy.evaluated')];
    if (!verdict || !inspected || !evaluated)
      throw new GateError('not_found', `the ledger has no verdict of ${correlationId}`);
    if (!keys)
      throw new GateError('payload_unavailable', `the recorded inputs are sealed: put ${file}.keys beside the file`);
    const said = verdict.policy_decision ?? {};
    const bundle = (said['policy_bundle'] ?? {}) as JsonObject;
    // Everything else depends on the rows. A chain that does not hold is the first difference, and nothing after it counts.
    const chain = await chainCompared(ledger);
    const judged = { verdict, inspected, evaluated };
    const evidence = await evidenceOf(ledger, inspected);
    const comparisons =
      shown(chain[1]) === shown(chain[2]) ? await comparisonsOf(ledger, judged, evidence, policies) : [];
    return {
      correlation_id: correlationId,
      recorded: {
        outcome: text(said['outcome']),
        tier: text(said['tier']),
        policy_version: text(bundle['version']),
      },
      ...comparedIn([chain, ...comparisons]),
      parts: partsOfWhole({ available: inspected.policy_decision?.['available'] === true, evidence }),
    };
  } finally {
    await ledger.close();
  }
}

async function chainCompared(ledger: ReadOnlyLedger): Promise<Comparison> {
  const {
    valid,
    unsupported_chain_version: version,
    first_invalid_seq: seq,
    first_invalid_reason,
  } = await ledger.verify();
  const found = valid
    ? 'holds'
    : version === undefined
      ? `broken at seq ${seq} (${String(first_invalid_reason)})`
      : `has rows of version ${version}`;
  return ['ledger.chain', 'holds', found];
}

interface CallRows {
  readonly verdict: LedgerEntry;
  readonly inspected: LedgerEntry;
  readonly evaluated: LedgerEntry;
}

/** What the inspection was based on; `null` where it was purged, or where there was none. */
async function evidenceOf(ledger: ReadOnlyLedger, inspected: LedgerEntry): Promise<JsonObject | null> {
  const sidecar = inspected.policy_decision?.['available'] === true ? await ledger.sidecar(inspected.id) : null;
  return sidecar?.text == null ? null : (JSON.parse(sidecar.text) as JsonObject);
}

async function comparisonsOf(
  ledger: ReadOnlyLedger,
  { verdict, inspected, evaluated }: CallRows,
  evidence: JsonObject | null,
  folder: string | undefined,
): Promise<Comparison[]> {
  const inputs = async (row: LedgerEntry): Promise<JsonObject> => {
    const sidecar = await ledger.sidecar(row.id);
    if (sidecar?.text == null) throw new GateError('payload_unavailable', 'the recorded inputs were purged');
    return JSON.parse(sidecar.text) as JsonObject;
  };
  const said = verdict.policy_decision ?? {};
  const brainSaid = inspected.policy_decision ?? {};
  const policySaid = evaluated.policy_decision ?? {};
  const bundle = (said['policy_bundle'] ?? {}) as JsonObject;
  const tool = verdict.tool_type ?? '';
  const method = text(said['rpc_method']);

  const request = await inputs(verdict);
  const input = (await inputs(evaluated)) as unknown as PolicyInput;
  const rules = await loadPolicySet({ directory: policyFolder(folder).directory });
  const siblings = siblingsOf(method, tool, request);
  const history = input.agent_history as AgentHistory;
  const histories = historiesOf(history, siblings, Date.parse(input.current_time ?? ''));
  const digest = canonicalDigest({ contract: text(said['contract']), route: '/mcp', method, tool, body: request });
  const comparisons: Comparison[] = [
    ['proxy.verdict.request_digest', said['request_digest'], digest],
    [
      'proxy.verdict.tool_params_sha256',
      verdict['tool_params_sha256'],
      sha256Hex(canonicalJson(request['params'] ?? {})),
    ],
    ['policy_bundle.version', bundle['version'], rules.bundle.version],
    ['policy_bundle.hash_sha256', bundle['hash_sha256'], rules.bundle.hash_sha256],
  ];

  let inspection: InspectionResponse | null = null;
  let folded: Inspected | null = null;
  if (brainSaid['available'] === true && isOfModels(evidence)) {
    // A model's word is taken as the row has it, with what policy was told of it.
    const suspected = input.intent_suspicions;
    folded = {
      authorized: inspected.authorized,
      reason: inspected.reasoning,
      intent_category: verdict.intent_category as Inspected['intent_category'],
      ...(suspected && { intent_suspicions: [...suspected] }),
    };
  } else if (brainSaid['available'] === true) {
    if (evidence === null) throw new GateError('payload_unavailable', 'the recorded inputs were purged');
    const inspector = createInspector({ personas: await loadPersonas() });
    inspection = worstInspection(
      await Promise.all(
        siblings.map((sibling, index) =>
          inspector.inspect({
            agent_id: verdict.agent_id,
            tenant: text(verdict['tenant']),
            jsonrpc: '2.0',
            method: sibling.method,
            params: sibling.params,
            correlation_id: verdict.correlation_id ?? '',
            prior_requests: (histories[index] ?? history).recent_sequence.map((prior) => ({
              method: prior.method,
              tool: prior.tool,
            })),
          }),
        ),
      ),
    );
    // What the agent did before is not looked up again: the row says what was read of it.
    const { behaviour } = brainSaid;
    if (behaviour !== undefined) inspection = { ...inspection, behaviour: behaviour as unknown as Behaviour };
    folded = inspection;
    comparisons.push(
      ['brain.inspection.brain_version', evidence['brain_version'], BRAIN_VERSION],
      ['brain.inspection.provider_models', evidence['provider_models'], inspection.evidence.provider_models],
      // A verdict from the inspector's cache did not read the text again and says nothing of it.
      [
        'brain.inspection.normalized_input_sha256',
        evidence['normalized_input_sha256'],
        inspection.evidence.normalized_input_sha256,
      ],
      ['brain.inspection.authorized', inspected.authorized, inspection.authorized],
      ['brain.inspection.reasoning', inspected.reasoning, inspection.reason],
      ...Object.entries(inRow('finding', inspection)).map(
        ([name, value]): Comparison => [`brain.inspection.${name}`, brainSaid[name], value],
      ),
      ['brain.inspection.brain_scores', inspected['brain_scores'], brainScores(inspection)],
    );
  }

  comparisons.push(
    ['policy_input.tool_type', input.tool_type, tool],
    ['policy_input.method', input.method, method],
    ['policy_input.agent_id', input.agent_id, `${text(verdict['tenant'])}/${verdict.agent_id}`],
    ['policy_input.agent_spiffe', input.agent_spiffe, verdict['agent_spiffe']],
    ['policy_input.arguments', input.arguments, argumentsOf(request)],
    ['policy_input.intent_score', input.intent_score, intentScore(folded)],
    ...(folded !== null && inspection === null
      ? []
      : Object.entries(lanesForPolicy(inspection)).map(
          ([name, value]): Comparison => [`policy_input.${name}`, input[name], value],
        )),
    ['policy_input.brain_degraded', input.brain_degraded, folded === null],
  );
  const decision = await judgeSiblings(
    (one) => rules.evaluate(one),
    input,
    siblings,
    Date.parse(input.current_time ?? ''),
  );
  const now = foldVerdict(folded, decision, said['mode'] === 'observe' ? 'observe' : 'enforce');
  const secrets = secretsOf(request);
  comparisons.push(...decisionCompared(policySaid, decision, secrets), ...verdictCompared(said, now, secrets), [
    'proxy.verdict.intent_category',
    verdict.intent_category,
    now.intent_category,
  ]);
  return comparisons;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
