import { BATCH_METHOD } from '../../contracts/call-methods.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PolicyDecision, PolicyInput } from '../../contracts/policy.js';
import type { RecordedVerdict } from '../../contracts/policy-studies.js';
import { GateError } from '../errors.js';
import { batchFault, judgeSiblings, type SiblingCall, siblingsOf } from '../mcp/batch.js';
import { foldVerdict } from '../call/verdict.js';
import { type Comparison, decisionCompared, verdictCompared } from '../replay/comparisons.js';
import { eventKept, heldAgainst } from '../masking/kept-reasons.js';
import { namedSecrets } from '../masking/named-secrets.js';
import { boundedEvent } from './forensic-event.js';

/** A call as it was judged: the input of its row, and the request where that is a batch. */
export type RecordedCall = Pick<RecordedVerdict, 'input' | 'request'>;

/** The calls of a recorded request, as policy judged them. Throws `payload_unavailable` for a batch whose request is gone. */
export function recordedSiblings({ input, request }: RecordedCall): readonly SiblingCall[] {
  const { tool_type: tool, method, arguments: given = {} } = input;
  if (method !== BATCH_METHOD) return [{ method: method ?? '', tool, params: {}, arguments: given }];
  if (!request) throw new GateError('payload_unavailable', 'the request of this batch was purged');
  const fault = batchFault(request['params']);
  if (fault !== null) throw new GateError('policy_input_invalid', `the request is no batch: ${fault}`);
  return siblingsOf(method, tool, request);
}

/** The decision on a recorded call, judged as its pipeline judged it. */
export const decidedAgain = (
  recorded: RecordedCall,
  judge: (input: PolicyInput) => PolicyDecision,
): Promise<PolicyDecision> =>
  judgeSiblings(judge, recorded.input, recordedSiblings(recorded), Date.parse(recorded.input.current_time ?? ''));

/** What the rows of a call say of its verdict, beside what follows from its recorded input by these rules. */
export async function judgedAgain(
  recorded: RecordedVerdict,
  judge: (input: PolicyInput) => PolicyDecision,
): Promise<readonly Comparison[]> {
  const { decision: then, verdict, inspection } = recorded;
  const now = await decidedAgain(recorded, judge);
  const { input, request } = recorded;
  const secrets = namedSecrets(input.method === BATCH_METHOD ? (request?.['params'] ?? null) : (input.arguments ?? {}));
  const event = now.forensic_event && boundedEvent(now.forensic_event);
  const comparisons: Comparison[] = [
    ['policy_bundle.hash_sha256', objectOf(then['policy_bundle'])['hash_sha256'], now.policy_bundle.hash_sha256],
    ...decisionCompared(then, now, secrets),
    ['policy.evaluated.retention_class', then['retention_class'], now.retention_class],
    ['policy.evaluated.event', then['event'], event && heldAgainst(then['event'], event, eventKept, secrets)],
  ];
  // A tool in quarantine is refused whatever inspection and policy said, and its row says that alone.
  if (!verdict || verdict['layer'] === 'definitions') return comparisons;
  const folded = foldVerdict(inspected(input, inspection), now, verdict['mode'] === 'observe' ? 'observe' : 'enforce');
  return [...comparisons, ...verdictCompared(verdict, folded, secrets)];
}

/** As much of the inspection as a verdict is folded from, from its row and from what policy was told of it. */
function inspected(input: PolicyInput, row: JsonObject | null): InspectionResponse | null {
  if (row === null || row['available'] !== true) return null;
  const { intent_suspicions } = input;
  const said = { authorized: row['authorized'] === true, reason: row['reasoning'], intent_suspicions };
  return said as unknown as InspectionResponse;
}

const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
