import {
  type CallContract,
  type CallDecoy,
  type CallUpstream,
  type CallInput,
  type CallSummary,
  DECISION_CONTRACT,
  type HeardOfTools,
  type Mode,
  REVIEW_CONTRACT,
  SERVER_EXECUTION_CONTRACT,
} from '../../contracts/call.js';
import type { CallActor } from '../../contracts/call-grant.js';
import type { JsonObject } from '../../contracts/json.js';
import type { Ledger } from '../../contracts/ledger.js';
import type { ApprovalTier } from '../../contracts/policy.js';
import { closedIfOver } from '../../domain/call/expiry.js';
import { paramsSha256 } from '../../domain/call/params-digest.js';
import type { CallRecord } from '../../domain/call/record.js';
import { argumentsOf } from '../../domain/call/rows.js';
import { isFinal, TAMPERED } from '../../domain/call/transitions.js';
import { agentIdentity } from '../../domain/mcp/session.js';
import { canonicalDigest, keepCanonical, uuidFromDigest } from '../../domain/crypto/digest.js';
import { ASK_AGAIN, GateError } from '../../domain/errors.js';
import { batchTooLarge, toolsOf } from '../../domain/mcp/batch.js';
import type { McpRequest } from '../../domain/mcp/envelope.js';
import type { PendingHandle } from '../../domain/mcp/pending-handle.js';
import { answerOf, type Answer, withDetail } from './answers.js';
import type { RedeemActor } from './actor-tokens.js';
import type { AgentLimitsCheck, AskedAgain } from './agent-limits.js';
import type { AgentCaller } from './mcp-requests.js';
import { agentKey, rateLimited, type Refusals } from './refusals.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { AgentStanding } from '../../domain/identity/revocation-mirror.js';
import type { AttestationOf } from './attestations.js';
import { isGrantRefusal } from '../../domain/identity/grant-terms.js';
import { notGranted } from '../../domain/identity/scopes.js';
import { isStopped } from '../../domain/identity/standing.js';
import type { UpstreamCaller } from '../../domain/upstream/upstream.js';
import { type CallRunner, conflictCode } from '../../domain/call/call-runner.js';
import { type AskedSpend, type OverBudget, secondsToNextMonth } from '../../domain/spend/spend.js';
import { createJudgingTurns, type GiveBack, type JudgedAtOnce } from '../../domain/call/judging-turns.js';
import { definedToolsOf, noQuarantine, type Quarantine } from '../../domain/tool-definitions/quarantine.js';

/** What nobody of a tenant should call or use. */
export interface Decoys {
  readonly of: AgentStanding['decoysOf'];
  /** Counts one that was touched by what is refused before it is judged. */
  touched(caller: Pick<UpstreamCaller, 'tenant' | 'agent'>, correlationId: string, decoy: CallDecoy): Promise<void>;
}

export interface CallHandlerOptions {
  readonly calls: CallStore;
  readonly runner: CallRunner;
  readonly ledger: Ledger;
  readonly mode: Mode;
  readonly velocity: { readonly limit: number; readonly windowMs: number };
  /** From when the call came in until it may begin at its tool, with `inspectionTimeoutMs`. */
  readonly callDeadlineMs: number;
  readonly upstreamTimeoutMs: number;
  /** How long Brain may take where models judge; they do not without it. */
  readonly inspectionTimeoutMs?: number | undefined;
  readonly ttlSecs: Readonly<Record<ApprovalTier, number>>;
  readonly maxInFlight: number;
  /** How many calls are judged at once; without it as many as are under way. */
  readonly judgedAtOnce?: JudgedAtOnce | undefined;
  readonly limits: AgentLimitsCheck;
  readonly refusals: Refusals;
  /** Refuses tools whose definition waits for an operator. */
  readonly quarantine?: Quarantine | undefined;
  /** Throws what keeps an approved decision from being authorized now. Asked before a repeat is told of it again. */
  readonly assertStands?: ((record: CallRecord) => Promise<void>) | undefined;
  /** Why nobody of the tenant uses one of these tools now; `null` where nobody stopped one. */
  readonly toolFault?: AgentStanding['toolFault'] | undefined;
  /** Whether a person decides about every call of this agent that may run. */
  readonly forcesReview?: ((caller: Pick<UpstreamCaller, 'tenant' | 'agent'>) => boolean) | undefined;
  /** Absent where nobody says what they are. */
  readonly decoys?: Decoys | undefined;
  /** What its row says of the upstream of these tools; `null` where it says nothing. */
  readonly upstreamOf?: ((tools: readonly string[]) => CallUpstream | null) | undefined;
  /** What a call of these tools may cost, and the budgets of its agent; `null` where nothing is kept of that. */
  readonly spendOf?:
    | ((caller: Pick<UpstreamCaller, 'tenant' | 'agent'>, tools: readonly string[]) => AskedSpend | null)
    | undefined;
  readonly now?: () => number;
  /** Called with each record when its first answer leaves, for counters. */
  readonly onAnswered?: (record: CallRecord) => void;
  readonly onLimited?: () => void;
  readonly onOverBudget?: (of: OverBudget['of']) => void;
  /** Denials and parked answers include what each detector found. */
  readonly verboseVerdicts?: boolean;
  /** Uses up the token of another Gate with which a call came; absent where none may come with one. */
  readonly redeemActor?: RedeemActor | undefined;
  /** No tool is called without a grant. */
  readonly grantsRequired?: boolean;
  /** What was verified of the platform of an agent, `null` where nothing counts; absent where nobody asks. Throws where nobody knows. */
  readonly attestationOf?: AttestationOf;
  /** Why nothing behind Gate can be what a call names; `null` where something may be. */
  readonly nameFault?: ((request: JsonObject) => string | null) | undefined;
  /** Called with each call that no record answers, before anything of it is stored. Throws to refuse it. */
  readonly admitNew?: (request: ToolCallRequest, correlationId: string) => Promise<void> | void;
}

export interface ToolCallRequest {
  readonly caller: AgentCaller;
  readonly mcp: McpRequest & { readonly kind: 'tool' };
  readonly contract: CallContract;
  readonly idempotencyId: string;
  readonly callbackUrl: string | null;
  /** What its client hears while the tool runs, where another process tells it. */
  readonly hears?: readonly HeardOfTools[];
  /** Asks what came of a call that waited, and begins none. */
  readonly resumes?: PendingHandle | null;
  /** Called once the call is within its agent's limits and its request is kept, before it begins or is answered again. */
  readonly onAdmitted?: () => Promise<void>;
}

/** A call that came to its end, and the method it was asked with. */
export interface Settled {
  readonly method: string;
  readonly answer: Answer;
}

/** What is about to be done with tools, and by whom. */
export interface InUse extends Pick<ToolCallRequest, 'caller' | 'contract'> {
  readonly tools: readonly string[];
  readonly name: string;
}

/** How a call that ended is looked up. */
export interface SettledOptions {
  readonly again?: AskedAgain | null;
  readonly isOver?: (record: CallRecord) => boolean;
}

/** The part of its deadline, without what models have of it, that a call may wait for its turn; the rest is for being judged. */
const WAITS_AT_MOST = 0.8;
/** By then some of the agent's calls are judged. */
const FULL_RETRY_AFTER_SECS = 2;

/** By then a call that holds a reservation may have ended. */
const RESERVED_RETRY_SECS = 30;

/** Extra time for the engine to deliver an answer after the last moment at which a call may begin. */
const ANSWER_SLACK_MS = 500;

/** Gives the call its id before anything else happens, so that every answer, refusals included, carries the id of its call. */
export function correlationIdOf({
  caller,
  idempotencyId,
  demoPrefix,
}: Pick<ToolCallRequest, 'caller' | 'idempotencyId'> & {
  /** The first group of the call's id, by which the calls of a demonstration session are found. */
  readonly demoPrefix?: string | undefined;
}): string {
  const id = uuidFromDigest('gate.call', caller.tenant, agentIdentity(caller.spiffe), idempotencyId);
  return demoPrefix === undefined ? id : `${demoPrefix}${id.slice(8)}`;
}

/**
 * What the proxy does with a tool call: if the record has an answer, it is returned; otherwise the velocity window is counted, the request
 * staged, and the pipeline started under the correlation id. Throws GateError for anything that is not a verdict.
 */
export function createCallHandler(options: CallHandlerOptions) {
  const { calls, runner, limits, refusals, quarantine = noQuarantine, now = Date.now } = options;
  let inFlight = 0;
  const running = new Map<string, Promise<Answer>>();
  const turns = options.judgedAtOnce && createJudgingTurns(options.judgedAtOnce);

  const settledEnough = (record: CallRecord) => answerOf(record, null, true) !== null;

  const retainedOf = ({ correlation_id: id }: CallRecord, again: AskedAgain | null) => {
    const load = () => calls.result(id);
    return again ? limits.retained(again, load) : load();
  };

  /**
   * The answer that the record gives; while the call is in progress it waits, up to a limit. `again` is true when the answer was given
   * before.
   */
  const fromRecord = async (found: CallRecord, again: AskedAgain | null): Promise<Answer> => {
    const replayed = again !== null;
    const standing = await closedIfOver(calls, found, now());
    const record = settledEnough(standing)
      ? standing
      : await calls.waitFor(found.correlation_id, settledEnough, now() + options.upstreamTimeoutMs + 5_000);
    const retained = record?.state === 'completed' ? await retainedOf(record, again) : null;
    const answer = record && answerOf(record, retained, replayed);
    if (!answer || !record)
      throw new GateError('pipeline_unavailable', `the call is still under way; ${ASK_AGAIN}`, {
        fields: { layer: 'proxy' },
      });
    // A decision that its host comes back for lets the host execute now.
    if (replayed && answer.status === 200 && record.evidence.call.contract === DECISION_CONTRACT) {
      const held = await quarantine.held(record.evidence.call, definedToolsOf(record.evidence));
      if (held !== null) throw new GateError('tool_quarantined', held);
      await options.assertStands?.(record);
    }
    if (!replayed) options.onAnswered?.(record);
    return options.verboseVerdicts ? withDetail(answer, record) : answer;
  };

  /** This agent's own call, closed if its time is over. Throws `not_found` for another agent's. */
  const own = (found: CallRecord, caller: ToolCallRequest['caller']): Promise<CallRecord> => {
    const { call } = found.evidence;
    if (call.tenant !== caller.tenant || call.agent !== caller.agent || call.contract === REVIEW_CONTRACT)
      throw new GateError('not_found', 'no call of this agent under this id');
    return closedIfOver(calls, found, now());
  };

  return {
    inFlight: () => inFlight,
    /** Calls that wait for their turn to be judged. */
    waiting: () => turns?.waiting() ?? 0,

    /** Throws where nobody uses one of these tools now; a row tells of it. */
    assertInUse,

    /** This agent's own call as it stands; `null` while nothing is recorded of it. Throws `not_found` for another agent's call. */
    async standing(correlationId: string, caller: ToolCallRequest['caller']): Promise<CallRecord | null> {
      const found = await calls.find(correlationId);
      return found && own(found, caller);
    },

    /** Resolves once something is recorded of the call; at that time at the latest. */
    async recorded(correlationId: string, untilMs: number): Promise<void> {
      await calls.waitFor(correlationId, () => true, untilMs);
    },

    /** This agent's own call once its record is another one than that version; at that time at the latest as it stands. */
    async changed(
      correlationId: string,
      caller: ToolCallRequest['caller'],
      version: number | null,
      untilMs: number,
    ): Promise<CallRecord | null> {
      const found = await calls.waitFor(correlationId, (record) => record.version !== version, untilMs);
      return found && own(found, caller);
    },

    /**
     * The answer of this agent's own call, once it needs no person any more; at that time at the latest `null` while it waits, `undefined`
     * where nothing is recorded of it. Only looks: nothing runs because of it. Throws `not_found` for another agent's call. `again` counts the
     * answer as one that was given before; `isOver` says what else is waited for.
     */
    async settled(
      correlationId: string,
      caller: ToolCallRequest['caller'],
      untilMs: number,
      { again = null, isOver = () => true }: SettledOptions = {},
    ): Promise<Settled | null | undefined> {
      const isSettled = (record: CallRecord) => record.state !== 'parked' && settledEnough(record) && isOver(record);
      const found = await calls.waitFor(correlationId, isSettled, untilMs);
      if (!found) return undefined;
      const record = await own(found, caller);
      if (!isSettled(record)) return null;
      const retained = record.state === 'completed' ? await retainedOf(record, again) : null;
      const answer = answerOf(record, retained, false);
      if (!answer) return null;
      return {
        method: record.evidence.call.method,
        answer: options.verboseVerdicts ? withDetail(answer, record) : answer,
      };
    },

    async handle(request: ToolCallRequest, correlationId: string): Promise<Answer> {
      const { mcp, contract } = request;
      // Digest, commitments, cache key and ledger sidecars all contain the body or a part of it, so its text is made once.
      const { params } = mcp.body;
      for (const part of [argumentsOf(mcp.body), params, mcp.body])
        if (part !== null && typeof part === 'object' && !Array.isArray(part)) keepCanonical(part);
      const digest = canonicalDigest({ contract, route: '/mcp', method: mcp.method, tool: mcp.tool, body: mcp.body });
      // The same call twice at once: one runs, and the other waits for the answer from the record.
      const key = `${correlationId}/${digest}`;
      await running.get(key)?.catch(() => undefined);
      const answer = answered(request, correlationId, digest);
      running.set(key, answer);
      try {
        return await answer;
      } finally {
        running.delete(key);
      }
    },
  };

  async function answered(request: ToolCallRequest, correlationId: string, digest: string): Promise<Answer> {
    const { caller, mcp, contract } = request;
    const conflict = () =>
      new GateError(conflictCode(contract), undefined, { fields: { contract, executable: false } });

    const known = await calls.find(correlationId);
    const again = { caller, correlationId, name: mcp.tool };
    if (known) await limits.replay(again);
    // The digest of a tampered record proves nothing, so every request under its id gets the same answer.
    if (known && known.state !== TAMPERED && known.digest !== digest) throw conflict();
    if (request.resumes && !isHandleOf(request.resumes, known))
      throw new GateError('decision_handle_unknown', undefined, { fields: { contract, executable: false } });
    if (known && known.state !== 'decided') {
      await request.onAdmitted?.();
      return fromRecord(known, again);
    }

    const { limit, windowMs } = options.velocity;
    const tools = toolsOf(mcp.method, mcp.tool, mcp.body);
    if (limit > 0 && tools.length > limit) throw batchTooLarge(tools.length, `${limit} calls in ${windowMs / 1000} s`);
    assertInUse({ caller, tools, name: mcp.tool, contract }, correlationId);
    const decoy = options.decoys?.of(caller.tenant).touched(tools, mcp.body['params']) ?? null;
    try {
      assertGranted({ caller, tools, name: mcp.tool, contract }, correlationId);
    } catch (error) {
      // No grant covers a decoy, and the refusal does not say that it is one: so it is counted here.
      if (decoy) await options.decoys?.touched(caller, correlationId, decoy);
      throw error;
    }
    // It would be judged, wait for a person, and then be sent to nobody.
    const fault = contract === SERVER_EXECUTION_CONTRACT && decoy === null ? options.nameFault?.(mcp.body) : null;
    if (fault) throw new GateError('tool_unknown', fault, { fields: { contract, executable: false } });
    runner.assertUp?.();
    await options.admitNew?.(request, correlationId);
    const attestation = await options.attestationOf?.(caller);
    if (inFlight >= options.maxInFlight)
      throw new GateError(
        'pipeline_unavailable',
        `too many calls are under way; nothing was kept of this one; ${ASK_AGAIN}`,
        {
          fields: { layer: 'proxy' },
        },
      );
    inFlight += 1;
    let giveBack: GiveBack = () => undefined;
    try {
      const receivedMs = now();
      const upstream = decoy ? null : (options.upstreamOf?.(tools) ?? null);
      giveBack = await turnOf(request, correlationId);
      // Last before anything is kept: whatever else is refused does not use it up.
      const actor = await actingFor(request, tools, correlationId, decoy);
      const call: CallInput = {
        correlation_id: correlationId,
        tenant: caller.tenant,
        agent: caller.agent,
        agent_spiffe: caller.spiffe,
        credential_fingerprint: caller.fingerprint,
        contract,
        idempotency_id: request.idempotencyId,
        method: mcp.method,
        tool: mcp.tool,
        digest,
        mode: options.mode,
        received_ms: receivedMs,
        not_after_ms: receivedMs + options.callDeadlineMs,
        ttl_secs: options.ttlSecs,
        upstream_timeout_ms: options.upstreamTimeoutMs,
        ...(options.inspectionTimeoutMs !== undefined && { inspection_timeout_ms: options.inspectionTimeoutMs }),
        has_callback: request.callbackUrl !== null,
        ...(caller.namespace && { state_namespace: caller.namespace }),
        ...(caller.client_can && { client_can: caller.client_can }),
        ...(request.hears && { client_hears: request.hears }),
        ...(options.forcesReview?.(caller) && { force_hil: true }),
        ...(caller.grant && { grant: caller.grant }),
        ...(actor && { actor }),
        ...(upstream && { upstream }),
        ...(attestation !== undefined && { attestation }),
        ...(decoy && { decoy: { id: decoy.id, kind: decoy.kind, action: decoy.action } }),
        recent_request_count: 0,
        velocity_limit: options.velocity.limit,
      };
      const admission = await calls.admit(
        call,
        { body: mcp.body, callback_url: request.callbackUrl },
        options.velocity,
        // It is judged without being inspected, and never runs.
        decoy ? null : (options.spendOf?.(caller, tools) ?? null),
      );
      if (!admission.admitted && 'purged' in admission)
        throw admission.digest === digest ? new GateError('call_purged') : conflict();
      if (!admission.admitted && 'over' in admission) throw await overBudget(request, correlationId, admission.over);
      if (!admission.admitted && 'exhausted' in admission)
        throw refusedGrant(
          new GateError('grant_usage_exhausted', undefined, { fields: { contract, executable: false } }),
          { caller, name: mcp.tool },
          correlationId,
        );
      if (!admission.admitted) throw await limited(call, admission, paramsSha256(mcp.body));
      if (admission.digest !== digest) throw conflict();
      await request.onAdmitted?.();

      if (turns) void calls.waitFor(correlationId, isPastEngine, call.not_after_ms).then(giveBack, giveBack);
      const summary = await runner
        .start(
          { ...call, recent_request_count: admission.recent, ...(admission.spend && { spend: admission.spend }) },
          call.not_after_ms + ANSWER_SLACK_MS,
        )
        .catch(async (error: unknown) => {
          // The engine went away behind it: the call was judged, and whoever asks again would hear that.
          const known = await calls.find(correlationId);
          if (known && settledEnough(known)) return null;
          return backlogTold(error, request, correlationId);
        });
      return await fromRecord(await recordAfter(call, summary), null);
    } finally {
      giveBack();
      inFlight -= 1;
    }
  }

  function assertInUse({ caller, tools, name, contract }: InUse, correlationId: string): void {
    const stopped = options.toolFault?.(caller.tenant, tools) ?? null;
    if (stopped === null) return;
    const { code, message: reason } = stopped;
    if (isStopped(code)) void options.refusals({ caller, correlationId, name, limit: code, reason, limits: {} });
    throw new GateError(code, reason, { fields: { contract, executable: false } });
  }

  /** What somebody delegated counts, and covers every tool that is called. A row tells of what it does not. */
  function assertGranted({ caller, tools, name, contract }: InUse, correlationId: string): void {
    const { grant, grantFault } = caller;
    const fields = { contract, executable: false };
    if (grantFault) {
      const { code, message, fields: more } = grantFault;
      throw refusedGrant(
        new GateError(code, message, { fields: { ...more, ...fields }, cause: grantFault.cause }),
        { caller, name },
        correlationId,
      );
    }
    if (grant === undefined) {
      if (!options.grantsRequired) return;
      throw refusedGrant(new GateError('grant_required', undefined, { fields }), { caller, name }, correlationId);
    }
    const offenders = notGranted(grant, tools);
    if (offenders.length === 0) return;
    const words = `the grant does not cover ${offenders.join(', ')}; nothing was executed`;
    throw refusedGrant(
      new GateError('scope_outside_envelope', words, { fields: { ...fields, offenders: [...offenders] } }),
      { caller, name },
      correlationId,
    );
  }
  function refusedGrant(
    fault: GateError,
    { caller, name }: Pick<InUse, 'caller' | 'name'>,
    correlationId: string,
  ): GateError {
    const { code, message: reason } = fault;
    if (isGrantRefusal(code))
      void options.refusals({
        caller,
        correlationId,
        name,
        limit: code,
        reason,
        limits: caller.grant ? { grant: caller.grant.jti } : {},
      });
    return fault;
  }

  /** As which agent of another Gate the call is asked for; `null` where it shows no token of one. A row tells of one that does not count. */
  async function actingFor(
    { caller, mcp, contract }: ToolCallRequest,
    tools: readonly string[],
    correlationId: string,
    decoy: CallDecoy | null,
  ): Promise<CallActor | null> {
    const { actorToken } = caller;
    if (actorToken === undefined) return null;
    try {
      if (!options.redeemActor) throw new GateError('a2a_unavailable');
      return await options.redeemActor(actorToken, { caller, tools });
    } catch (error) {
      // As with a grant: the refusal does not say that it is one.
      if (decoy) await options.decoys?.touched(caller, correlationId, decoy);
      if (!(error instanceof GateError)) throw error;
      const { code, message: reason, fields, cause } = error;
      if (code === 'a2a_redeem_failed')
        void options.refusals({ caller, correlationId, name: mcp.tool, limit: code, reason, limits: { ...fields } });
      throw new GateError(code, reason, { fields: { ...fields, contract, executable: false }, cause });
    }
  }

  /** The call's turn to be judged. Nothing of it is stored before; throws where it has none in time. */
  async function turnOf({ caller, mcp }: ToolCallRequest, correlationId: string): Promise<GiveBack> {
    if (!turns) return () => undefined;
    const forItsTurnMs = (options.callDeadlineMs - (options.inspectionTimeoutMs ?? 0)) * WAITS_AT_MOST;
    const turn = await turns.take(agentKey(caller), forItsTurnMs);
    if (turn === 'late')
      throw new GateError(
        'pipeline_unavailable',
        `its turn to be judged did not come in time; nothing was kept of this one; ${ASK_AGAIN}`,
        { fields: { layer: 'proxy' } },
      );
    if (turn !== 'full') return turn;
    const { waiting } = options.judgedAtOnce ?? {};
    throw await rateLimited(options, FULL_RETRY_AFTER_SECS, {
      caller,
      correlationId,
      name: mcp.tool,
      limit: 'turns',
      reason: `${waiting} calls of this agent wait to be judged`,
      limits: { waiting: waiting ?? 0 },
    });
  }

  /** An agent whose backlog is full leaves a row; every other failure is passed on unchanged. */
  async function backlogTold(error: unknown, { caller, mcp }: ToolCallRequest, correlationId: string): Promise<never> {
    if (error instanceof GateError && error.code === 'review_backlog_full') {
      options.onLimited?.();
      const { message: reason } = error;
      await refusals({ caller, correlationId, name: mcp.tool, limit: 'backlog', reason, limits: { what: 'backlog' } });
    }
    throw error;
  }

  async function recordAfter(call: CallInput, summary: CallSummary | null): Promise<CallRecord> {
    const record = await calls.find(call.correlation_id, summary ?? undefined);
    if (record) return record;
    throw new GateError(
      'pipeline_unavailable',
      summary
        ? `the store did not keep the record of the call; ${ASK_AGAIN}`
        : 'no worker took the call in time; nothing was executed, and what is judged of it yet is found under its id',
      {
        fields: { layer: summary ? 'proxy' : 'engine' },
      },
    );
  }

  /** Says whose budget it is, and no sums: those are for operators, in the row. */
  async function overBudget(
    { caller, mcp }: ToolCallRequest,
    correlationId: string,
    over: OverBudget,
  ): Promise<GateError> {
    const { of, budgetMicros, spentMicros, reservedMicros, askedMicros } = over;
    options.onOverBudget?.(of);
    const isSpent = spentMicros >= budgetMicros;
    const reason = `the budget of this ${of} ${isSpent ? 'is spent for this month' : 'does not bear what the call may cost'}; nothing was kept of it`;
    await refusals({
      caller,
      correlationId,
      name: mcp.tool,
      limit: of === 'tenant' ? 'quota_exceeded_tenant' : 'quota_exceeded_agent',
      reason,
      limits: {
        scope: of,
        budget_micros: budgetMicros,
        spent_micros: spentMicros,
        reserved_micros: reservedMicros,
        asked_micros: askedMicros,
      },
    });
    const key = of === 'tenant' ? caller.tenant : agentKey(caller);
    return new GateError('quota_exceeded', reason, {
      fields: {
        scope: of,
        key,
        // What is reserved may be given back at any time.
        retry_after_secs: isSpent ? secondsToNextMonth(now()) : RESERVED_RETRY_SECS,
      },
    });
  }

  function limited(
    call: CallInput,
    refused: { retryAfterSecs: number; first: boolean },
    params_sha256: string,
  ): Promise<GateError> {
    return rateLimited(options, refused.retryAfterSecs, {
      caller: {
        tenant: call.tenant,
        agent: call.agent,
        spiffe: call.agent_spiffe,
        ...(call.state_namespace && { namespace: call.state_namespace }),
      },
      correlationId: call.correlation_id,
      name: call.tool,
      limit: 'velocity',
      reason: `more than ${options.velocity.limit} calls in ${options.velocity.windowMs / 1000} s`,
      limits: { limit: options.velocity.limit, window_ms: options.velocity.windowMs },
      // One row per agent and window; all replicas count the same window.
      first: refused.first,
      paramsSha256: params_sha256,
    });
  }
}
/** Judged, and not about to be parked or sent: what it still waits for is a person, its tools or nothing. */
const isPastEngine = ({ state, evidence }: CallRecord): boolean =>
  (state !== 'decided' && state !== 'allowed') || isFinal(state, evidence.call.contract);

/** A tampered record has an answer of its own, whatever is shown. */
const isHandleOf = ({ pendingId, payloadSha256 }: PendingHandle, record: CallRecord | null): boolean =>
  record !== null &&
  (record.state === TAMPERED || (record.pending_id === pendingId && record.digest === payloadSha256));

export type CallHandler = ReturnType<typeof createCallHandler>;
