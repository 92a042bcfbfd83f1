import { attestationLost, type StillAttested } from '../../domain/identity/attestation.js';
import type { RulesNow } from '../../activities/rules-now.js';
import { DECISION_CONTRACT } from '../../contracts/call.js';
import type { JsonObject } from '../../contracts/json.js';
import { authorizationOf, authorizedFor } from '../../domain/call/authorization.js';
import type { CallStore } from '../../domain/call/ports.js';
import { type CallRecord, NotAsStaged } from '../../domain/call/record.js';
import { TAMPERED } from '../../domain/call/transitions.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { errorText, GateError } from '../../domain/errors.js';
import { timeFault } from '../../domain/identity/grant-terms.js';
import type { AgentStanding, GrantStanding } from '../../domain/identity/revocation-mirror.js';
import type { Signer } from '../../domain/identity/signer.js';
import { toolsOf } from '../../domain/mcp/batch.js';
import { approvalFault, type VerifyDecision } from '../../domain/review/approval.js';
import type { Reviews } from '../../domain/review/ports.js';
import { DECOY_SINCE } from '../../domain/call/verdict.js';
import { definitionFault } from '../../domain/tool-definitions/batch-guard.js';
import type { ReviewGuard } from '../../domain/tool-definitions/review-guard.js';
import { definedToolsOf, noQuarantine, type Quarantine } from '../../domain/tool-definitions/quarantine.js';
import type { AgentLimitsCheck, AskedAgain } from './agent-limits.js';

export interface AuthorizerOptions {
  readonly calls: CallStore;
  readonly signer: Signer;
  readonly verifyDecision: VerifyDecision;
  readonly limits: AgentLimitsCheck;
  /** Refuses tools whose definition waits for an operator. */
  readonly quarantine?: Quarantine | undefined;
  /** Why nobody of the tenant uses one of these tools now; `null` where nobody stopped one. */
  readonly toolFault?: AgentStanding['toolFault'] | undefined;
  /** What nobody of the tenant should call or use; nothing where nobody says. */
  readonly decoysOf?: AgentStanding['decoysOf'] | undefined;
  /** Whether a grant was taken back; absent where nobody judges grants. */
  readonly grantFault?: GrantStanding['grantFault'] | undefined;
  /** Says whether a tool is still what the operator was told of it. */
  readonly definitions?: Pick<ReviewGuard, 'fault'> | undefined;
  /** Says whether the tenant of an approved call was offboarded since. */
  readonly reviews: Pick<Reviews, 'assertOpen'>;
  /** Asks policy once more where its rules changed since an approved call was judged. */
  readonly rulesNow: RulesNow;
  /** Says whether what was verified of the platform of an approved call's agent still counts; absent where nobody attests. */
  readonly stillAttested?: StillAttested | undefined;
  readonly now?: () => number;
}

/** The upstream's whole list of tools. */
const LIST_LIMIT_MS = 5_000;
export const UNKNOWN_AUTHORIZATION = 'no authorization under this id';

/**
 * The signed statement that a host may execute its call: `gate.execution/v1`, stage `authorization`, with the same bytes each time. For a
 * call that a person approved, HIL's signature is verified again first, and then what Gate asks before it runs one itself: `policy_changed`,
 * `agent_standing_changed`, `tool_definition_changed`, and `pipeline_unavailable` where policy or HIL does not answer. `onFound` is called once it is the caller's.
 * Throws `not_found` for a call that is not the caller's own, or not allowed, `authorization_expired` once it is too late, and
 * `tool_quarantined` while a definition of its tools waits for an operator, `tool_suspended` while an operator stops one of them, and why its grant
 * counts no more.
 */
export interface Authorizer {
  (correlationId: string, asked: AskedAgain, onFound?: () => void): Promise<JsonObject>;
  /** Throws what keeps an allowed or approved call from being authorized now, before a repeat is told of it again. Of times only that of its grant is looked at. */
  assertStands(record: CallRecord): Promise<void>;
}

export function createAuthorizer({
  calls,
  signer,
  verifyDecision,
  limits,
  quarantine = noQuarantine,
  toolFault,
  decoysOf,
  grantFault,
  definitions,
  reviews,
  rulesNow,
  stillAttested,
  now = Date.now,
}: AuthorizerOptions): Authorizer {
  const tampered = async (correlationId: string, why: string): Promise<GateError> => {
    await calls.condemn(correlationId, why);
    return new GateError('call_tampered');
  };
  /** Unlike a claim, which is made once, this can be asked for again: where HIL does not answer, nothing is signed. */
  async function assertStanding(tenant: string): Promise<void> {
    try {
      await reviews.assertOpen(tenant);
    } catch (error) {
      if (error instanceof GateError && error.code === 'tenant_offboarded')
        throw new GateError(
          'agent_standing_changed',
          `tenant ${tenant} was offboarded after the call was approved; nothing is authorized`,
        );
      throw away('hil', error);
    }
  }
  async function assertRules(record: CallRecord, body: JsonObject): Promise<void> {
    const denied = await rulesNow(record, body).catch((error: unknown) => {
      throw away('policy', error);
    });
    if (denied !== null) throw new GateError('policy_changed', denied);
  }
  /** Of a host's own tools, which Gate never listed, nothing is bound. */
  async function assertDefinitions({ evidence }: CallRecord): Promise<void> {
    const { call, reviewed, sibling_tools: siblings = null } = evidence;
    if (!definitions || !reviewed) return;
    const tools = 'unbound' in reviewed ? siblings : reviewed.tools ? Object.keys(reviewed.tools) : null;
    const changed = await definitionFault(definitions, call, tools, reviewed, () => LIST_LIMIT_MS);
    if (changed !== null) throw new GateError('tool_definition_changed', changed);
  }
  /** In the words of any other rule that is new. */
  function assertNoDecoy({ evidence: { call } }: CallRecord, body: JsonObject): void {
    const touched = decoysOf?.(call.tenant).touched(toolsOf(call.method, call.tool, body), body['params']) ?? null;
    if (touched !== null) throw new GateError('policy_changed', DECOY_SINCE);
  }
  /** On whose behalf the agent asked still counts. */
  function assertGrant({ evidence: { call } }: CallRecord): void {
    const { grant } = call;
    if (!grant) return;
    const fault =
      timeFault(grant, now()) ?? (grantFault ? grantFault(grant.jti) : new GateError('control_state_unavailable'));
    if (fault !== null) throw fault;
  }
  /** The grant counts, the tools are not stopped, and there is time left. */
  function assertNotEnded(record: CallRecord, tools: readonly string[]): void {
    assertGrant(record);
    const stopped = toolFault?.(record.evidence.call.tenant, tools) ?? null;
    if (stopped !== null) throw stopped;
    if (now() >= authorizedFor(record).expMs) throw new GateError('authorization_expired');
  }
  async function assertAttested({ evidence: { call } }: CallRecord): Promise<void> {
    const lost = await attestationLost(call, stillAttested).catch((error: unknown) => {
      throw away('identity', error);
    });
    if (lost !== null) throw new GateError('agent_standing_changed', lost);
  }
  /** What the record was approved on, as it stands now. */
  async function assertApproval(record: CallRecord, body: JsonObject): Promise<void> {
    await assertStanding(record.evidence.call.tenant);
    await assertAttested(record);
    await assertDefinitions(record);
    assertNoDecoy(record, body);
    await assertRules(record, body);
  }
  /** The request as it was staged; `null` past its retention. Throws `call_tampered` for another, and for an approval that HIL did not sign. */
  async function verified(record: CallRecord) {
    const staged = await calls.request(record.correlation_id, record.digest);
    if (staged instanceof NotAsStaged) throw await tampered(record.correlation_id, staged.message);
    const fault =
      staged && record.state === 'approved' ? await approvalFault(record, staged.body, verifyDecision) : null;
    if (fault) throw await tampered(record.correlation_id, `approved, but ${fault}`);
    return staged;
  }
  const authorize = async (correlationId: string, asked: AskedAgain, onFound = (): void => undefined) => {
    const { caller } = asked;
    const record = await calls.find(correlationId);
    const call = record?.evidence.call;
    const mine = call !== undefined && call.tenant === caller.tenant && call.agent === caller.agent;
    if (mine && record?.state === TAMPERED) throw new GateError('call_tampered');
    if (!mine || call.contract !== DECISION_CONTRACT || (record?.state !== 'allowed' && record?.state !== 'approved')) {
      throw new GateError('not_found', UNKNOWN_AUTHORIZATION);
    }
    onFound();
    // Before the time is checked: a forged approval is reported even when it would be too late.
    const staged = await verified(record);
    if (now() >= authorizedFor(record).expMs) throw new GateError('authorization_expired');
    const held = await quarantine.held(call, definedToolsOf(record.evidence));
    if (held !== null) throw new GateError('tool_quarantined', held);
    if (!staged) throw new GateError('not_found', 'the request of this authorization is past its retention');
    if (record.state === 'approved') await assertApproval(record, staged.body);
    const tools = toolsOf(call.method, call.tool, staged.body);
    // Last: it may have ended while HIL and policy were asked.
    assertNotEnded(record, tools);
    const authorization = authorizationOf(record, staged);
    const text = await limits.retained(asked, () => Promise.resolve(Buffer.from(canonicalJson(authorization))));
    const signature = await signer.sign(text.toString('utf8'));
    // A key that lies elsewhere takes its time: what is stopped meanwhile is signed, and leaves no more.
    assertNotEnded(record, tools);
    return { authorization, identity_signature: { ...signature } };
  };
  return Object.assign(authorize, {
    async assertStands(record: CallRecord): Promise<void> {
      assertGrant(record);
      if (record.state !== 'approved') return;
      const staged = await verified(record);
      if (staged) await assertApproval(record, staged.body);
    },
  });
}

const away = (layer: 'hil' | 'identity' | 'policy', error: unknown): GateError =>
  new GateError('pipeline_unavailable', `nothing is authorized: ${errorText(error)}`, {
    fields: { layer },
    cause: error,
  });
