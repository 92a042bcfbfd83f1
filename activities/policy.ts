import type { CallActor } from '../contracts/call-grant.js';
import type { CallInput } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import type { JsonObject } from '../contracts/json.js';
import type { AgentHistory, PolicyDecision, PolicyInput } from '../contracts/policy.js';
import { keepCanonical } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { lanesForPolicy } from '../domain/inspection/lane-table.js';
import { judgeSiblings, siblingsOf } from '../domain/mcp/batch.js';
import { READ_METHODS } from '../domain/mcp/read-methods.js';
import type { Evaluated, Inspected } from '../domain/call/pipeline.js';
import { intentScore } from '../domain/inspection/intent-score.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import type { CallStore } from '../domain/call/ports.js';
import type { ToolClasses } from '../domain/tool-classes/port.js';
import { trustDomainIn } from '../domain/identity/actor-tokens.js';
import { parseSpiffe } from '../domain/identity/spiffe.js';
import { foreignText } from '../domain/text.js';
import type { OpenedCalls } from './opened-call.js';

export const createPolicyActivities = ({
  calls,
  opened,
  policies,
  tools,
}: {
  calls: Pick<CallStore, 'flow'>;
  opened: OpenedCalls;
  policies: PolicyEvaluator;
  tools: ToolClasses;
}) => ({
  /** Asks policy. Read-only, so a second run asks again. An outage is an answer, not an error: in observe mode the call continues. */
  async evaluate(call: CallInput, inspected: Inspected): Promise<Evaluated> {
    const { request, history } = await opened.next(call);
    const inspection = inspected.available ? inspected.inspection : null;
    const { facts, siblings } = await factsOf({ calls, tools }, call, request.body, history, inspection);
    // Written into the record and, with the arguments, into the ledger.
    keepCanonical(facts.agent_history);
    try {
      return { facts, decision: await evaluateWith(policies, facts, siblings, call) };
    } catch (error) {
      return { facts, decision: null, reason: foreignText(errorText(error), 300) };
    }
  },
});
interface FactSources {
  readonly calls: Pick<CallStore, 'flow'>;
  readonly tools: ToolClasses;
}
/** What policy is told about a request besides its arguments, and the calls in it. */
async function factsOf(
  { calls, tools }: FactSources,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
  inspection: InspectionResponse | null,
) {
  const siblings = siblingsOf(call.method, call.tool, body);
  const [classes, taint] = await Promise.all([
    tools.of(
      call.tenant,
      call.agent,
      siblings.map(({ tool }) => tool),
    ),
    calls.flow.taint(call, siblings),
  ]);
  const facts = {
    ...lanesForPolicy(inspection),
    tool_type: call.tool,
    agent_history: history,
    intent_score: intentScore(inspection),
    agent_id: `${call.tenant}/${call.agent}`,
    agent_kind: 'mcp',
    agent_spiffe: call.agent_spiffe,
    tenant: call.tenant,
    correlation_id: call.correlation_id,
    method: call.method,
    current_time: new Date(call.received_ms).toISOString(),
    recent_request_count: call.recent_request_count,
    velocity_limit: call.velocity_limit,
    force_hil: call.force_hil ?? false,
    ...(call.decoy && { decoy: { kind: call.decoy.kind } }),
    ...spendFacts(call),
    brain_degraded: inspection === null,
    ...(call.grant && {
      grant: {
        act_sub: call.grant.act_sub,
        idp: call.grant.idp,
        scope: [...call.grant.scope],
        yellow_scope: [...call.grant.yellow_scope],
      },
    }),
    ...(call.actor && { actor: actorFact(call.actor) }),
    ...(call.attestation !== undefined && { attestation: call.attestation }),
    upstream: tools.upstream,
    tool_classes: listable(call.method, classes),
    ...(taint.length > 0 && { taint: [...taint] }),
  };
  return { facts, siblings };
}

/** Tenant and agent are of the other Gate, whose names say nothing here without its trust domain. */
function actorFact({ iss, sub }: CallActor) {
  const trustDomain = trustDomainIn(iss) ?? '';
  const of = parseSpiffe(sub, trustDomain);
  return { sub, trust_domain: trustDomain, ...(of?.kind === 'agent' && { tenant: of.tenant, agent: of.agent }) };
}

/** What stood against the budget when the call came, as the store had it then: the same call is always judged by the same sums. */
const spendFacts = ({ spend }: CallInput) =>
  spend && {
    request_cost_micros: spend.reserved_micros,
    ...(spend.budget && {
      budget_micros: spend.budget.budget_micros,
      cumulative_spend_micros: spend.budget.spent_micros,
    }),
  };

/** No list of tools shows the methods that read resources and prompts, so that says nothing against them. */
const listable = <Fact extends { readonly suspended?: string | undefined }>(
  method: string,
  facts: Readonly<Record<string, Fact>>,
): Readonly<Record<string, Fact>> =>
  READ_METHODS.has(method)
    ? Object.fromEntries(Object.entries(facts).filter(([, { suspended }]) => suspended !== 'not_listed'))
    : facts;

const evaluateWith = (
  policies: PolicyEvaluator,
  facts: Awaited<ReturnType<typeof factsOf>>['facts'],
  siblings: ReturnType<typeof siblingsOf>,
  call: CallInput,
): Promise<PolicyDecision> =>
  judgeSiblings((input: PolicyInput) => policies.evaluate(input), facts, siblings, call.received_ms);

/**
 * Asks policy about a body for a call once more: one that an approver changed, or the same one under the rules of now. Throws when policy
 * does not answer.
 */
export async function evaluateChanged(
  { policies, ...sources }: { readonly policies: PolicyEvaluator } & FactSources,
  call: CallInput,
  body: JsonObject,
  history: AgentHistory,
  inspection: InspectionResponse | null,
): Promise<{ readonly facts: Awaited<ReturnType<typeof factsOf>>['facts']; readonly decision: PolicyDecision }> {
  const { facts, siblings } = await factsOf(sources, call, body, history, inspection);
  return { facts, decision: await evaluateWith(policies, facts, siblings, call) };
}

export type PolicyActivities = ReturnType<typeof createPolicyActivities>;
