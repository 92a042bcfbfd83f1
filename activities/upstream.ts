import { attestationLost, type StillAttested } from '../domain/identity/attestation.js';
import { errorText, GateError } from '../domain/errors.js';
import { type CallInput, type CallSummary, SERVER_EXECUTION_CONTRACT, type UnknownCause } from '../contracts/call.js';
import { DECOY_SINCE } from '../domain/call/verdict.js';
import { receiptSha256 } from '../domain/call/receipt.js';
import { NotAsStaged, summarize, type RecordedOutcome } from '../domain/call/record.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { claimLimitOf, outOfTime } from '../domain/call/pipeline.js';
import type { CallTalks } from '../domain/upstream/call-talks.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import { withheldText } from '../domain/inspection/withheld.js';
import type { JudgedResponse, ResponseJudge } from '../domain/inspection/response-judge.js';
import { toldOfChange } from '../domain/review/told-change.js';
import { approvalFault, effectiveBody, type VerifyDecision } from '../domain/review/approval.js';
import { definedToolsOf, noQuarantine, type Quarantine } from '../domain/tool-definitions/quarantine.js';
import type { ReviewGuard } from '../domain/tool-definitions/review-guard.js';
import { isGrantRefusal, timeFault } from '../domain/identity/grant-terms.js';
import type { AgentStanding, GrantStanding } from '../domain/identity/revocation-mirror.js';
import { isStopped } from '../domain/identity/standing.js';
import { foreignText } from '../domain/text.js';
import type { Reviews } from '../domain/review/ports.js';
import type { CallStore } from '../domain/call/ports.js';
import { batchCalls, batchTools, siblingsOf } from '../domain/mcp/batch.js';
import type { Taint } from '../contracts/policy.js';
import { definitionFault } from '../domain/tool-definitions/batch-guard.js';
import { attemptBatch } from './batch-attempt.js';
import { withKeptAnswers } from './heard-answers.js';
import { insist, INSIST_MS } from './insisting.js';
import type { RulesNow } from './rules-now.js';

/** Whether this agent may call, by the list of agents as it stands now. */
export type MayCall = (of: Pick<CallInput, 'tenant' | 'agent'>) => boolean;

export function createUpstreamActivities({
  calls,
  upstream,
  verify,
  definitions,
  quarantine = noQuarantine,
  mayCall,
  standing,
  reviews,
  rulesNow,
  stillAttested,
  talks,
  responses,
  now = Date.now,
}: {
  calls: CallStore;
  upstream: Upstream;
  /** Checks HIL's signature: an approved call runs on the signed decision, not on what its record says. */
  verify: VerifyDecision;
  /** Refuses an approved call whose tool has another definition than the reviewed one. */
  definitions?: ReviewGuard | undefined;
  /** Refuses tools whose definition waits for an operator. */
  quarantine?: Quarantine | undefined;
  /** Says whether the agent of a call may still call; absent where agents are not named in a list. */
  mayCall?: MayCall | undefined;
  /** Says whether the agent of a call was stopped; absent where nobody keeps that. */
  standing?: (Pick<AgentStanding, 'agentFault' | 'toolFault' | 'budgetsOf' | 'decoysOf'> & GrantStanding) | undefined;
  /** Says whether the tenant of an approved call was offboarded since. */
  reviews: Pick<Reviews, 'assertOpen'>;
  /** Asks policy once more where its rules changed since an approved call was judged. */
  rulesNow: RulesNow;
  /** Says whether what was verified of the platform of an approved call's agent still counts; absent where nobody attests. */
  stillAttested?: StillAttested | undefined;
  /** Whoever holds the agent's request. */
  talks?: CallTalks | undefined;
  /** Judges what the tool answers; absent where a test asks nothing of it. */
  responses?: ResponseJudge | undefined;
  now?: () => number;
}) {
  const outcomeWithoutResult = (
    stage: 'uncertain' | 'not_run' | 'abandoned',
    error: string,
    durationMs: number | null,
    code?: RecordedOutcome['code'],
  ): RecordedOutcome => ({
    stage,
    ...(code && { code }),
    status_code: null,
    duration_ms: durationMs,
    result_sha256: null,
    error: foreignText(error, 500),
    at: new Date(now()).toISOString(),
  });
  const lose = async (
    correlationId: string,
    reason: string,
    {
      durationMs = null,
      cause,
      answers,
    }: {
      durationMs?: number | null;
      cause?: UnknownCause;
      answers?: Pick<RecordedOutcome, 'answers' | 'answers_more'> | undefined;
    } = {},
  ) => {
    const outcome = { ...outcomeWithoutResult('uncertain', reason, durationMs), ...(cause && { cause }), ...answers };
    return summarize((await calls.move(correlationId, 'lose', { outcome })).record);
  };
  const notRun = async (
    correlationId: string,
    reason: string,
    durationMs: number | null = null,
    code?: RecordedOutcome['code'],
  ) =>
    summarize(
      (
        await calls.move(correlationId, 'not_run', {
          outcome: outcomeWithoutResult('not_run', reason, durationMs, code),
        })
      ).record,
    );
  /** An allowed call that nobody waits for any more is abandoned; an approved one was simply not run. */
  const tooLate = async (correlationId: string) => {
    const abandoned = await calls.move(correlationId, 'abandon', {
      outcome: outcomeWithoutResult('abandoned', 'the attempt could not begin before the caller had given up', null),
    });
    if (abandoned.applied) return summarize(abandoned.record);
    const { record } = abandoned;
    return record.state === 'approved'
      ? notRun(correlationId, 'the attempt could not begin in time after the approval')
      : summarize(record);
  };

  /**
   * HIL signs no approval in a tenant that was offboarded, and a claim is limited to a minute after its decision was taken. So where HIL does not answer
   * now, what it said then counts: its restart costs no approval.
   */
  const offboardedSince = async (tenant: string): Promise<boolean> => {
    try {
      await reviews.assertOpen(tenant);
      return false;
    } catch (error) {
      return error instanceof GateError && error.code === 'tenant_offboarded';
    }
  };

  /** Whether what somebody delegated to the agent still counts. */
  const grantFaultNow = ({ grant }: CallInput): GateError | null => {
    if (!grant) return null;
    if (!standing) return new GateError('control_state_unavailable', 'nobody here says which grants were taken back');
    return timeFault(grant, now()) ?? standing.grantFault(grant.jti);
  };
  /** The agent, its tenant, what it calls, or on whose behalf. */
  const stoppedNow = (call: CallInput, tools: readonly string[]): GateError | null =>
    standing?.agentFault(call) ?? standing?.toolFault(call.tenant, tools) ?? grantFaultNow(call);

  /** The same of a call that is at its tool, in words that say nothing of what was executed. */
  const stoppedMeanwhile = (call: CallInput, tools: readonly string[]): string | null => {
    const fault = stoppedNow(call, tools);
    return (
      fault &&
      `${fault.code}: what it calls, its agent or its tenant was stopped, its grant counts no more, or nobody knows`
    );
  };

  /** Of a proxy or worker that has just begun it may not be known for a moment. */
  const stoppedSoon = async (
    call: CallInput,
    tools: readonly string[],
    within: Parameters<typeof insist>[1],
  ): Promise<GateError | null> => {
    try {
      await insist(async () => {
        const fault = stoppedNow(call, tools);
        if (fault !== null) throw fault;
      }, within);
      return null;
    } catch (error) {
      if (error instanceof GateError) return error;
      throw error;
    }
  };

  /** Of what was stopped, or of which nobody knows whether it was. */
  const notRunSince = (correlationId: string, { code, message }: GateError): Promise<CallSummary> =>
    isStopped(code) || isGrantRefusal(code)
      ? notRun(correlationId, message, null, code)
      : notRun(correlationId, `nothing was sent: ${message}`, null, 'attempt_not_begun');

  /** While a call waited its budget may have been lowered: what it reserved still counts. */
  const overNow = async (call: CallInput): Promise<string | null> => {
    const budgets = call.spend && standing?.budgetsOf(call);
    const over = budgets ? await insist(() => calls.spend.over(call, budgets)) : null;
    if (over === null) return null;
    return `the budget of its ${over.of} does not bear this call any more, which was approved`;
  };

  const tampered = async (correlationId: string, why: string): Promise<CallSummary> => {
    const record = await calls.condemn(correlationId, why);
    if (!record) throw new GateError('not_found', `no call record ${correlationId}`);
    return summarize(record);
  };

  return {
    /**
     * The single attempt: claims the record before a byte is sent, and stores the outcome before it returns. Without the claim nothing is
     * sent, and the record's state is returned, so a second run is never a second effect. A batch is one attempt (`attemptBatch`). `version` is what the run knows the record to
     * have reached: an older record is closed as tampered, and so is an approval that HIL did not sign for this very action. The record
     * says what may run and until when; the run may only shorten that time.
     */
    async callUpstream(
      { correlation_id: correlationId }: Pick<CallInput, 'correlation_id'>,
      notAfterMs: number,
      signal?: AbortSignal,
      version?: number,
    ): Promise<CallSummary> {
      // Nothing has been sent, and a person may have approved the call: a store that is away for a moment does not spend it.
      const insistUntilMs = now() + INSIST_MS;
      const inTime = (notAfter: number) => ({ forMs: Math.min(notAfter, insistUntilMs) - now(), signal });
      const record = await insist(() => calls.find(correlationId), inTime(notAfterMs));
      if (!record) throw new GateError('not_found', `no call record ${correlationId}`);
      const { call } = record.evidence;
      if (call.contract !== SERVER_EXECUTION_CONTRACT)
        throw new Error(`the call ${correlationId} was only to be judged: its caller executes it`);
      const request = await insist(() => calls.request(correlationId, record.digest), inTime(notAfterMs));
      if (request instanceof NotAsStaged) return tampered(correlationId, request.message);
      if (!request) return notRun(correlationId, 'the staged request is not in the store');
      const claimNotAfterMs = Math.min(notAfterMs, claimLimitOf(record));
      if (record.state === 'approved' && now() <= notAfterMs) {
        const fault = await approvalFault(record, request.body, verify);
        if (fault) return tampered(correlationId, `approved, but ${fault}`);
        if (await offboardedSince(call.tenant)) {
          const words = `tenant ${call.tenant} was offboarded after the call was approved`;
          return notRun(correlationId, words, null, 'agent_standing_changed');
        }
      }
      if (record.state === 'allowed' && outOfTime(call, now())) return tooLate(correlationId);
      const tools = batchTools(call.method, request.body);
      const called = tools ?? [call.tool];
      const stopped = await stoppedSoon(call, called, inTime(claimNotAfterMs));
      if (stopped) return notRunSince(correlationId, stopped);
      // A claim whose answer was lost may have been stored: the next one finds it, is not applied, and nothing is sent.
      const claimed = await insist(
        () =>
          calls.move(correlationId, 'claim', {
            before_ms: claimNotAfterMs,
            version: Math.max(version ?? 0, record.version),
          }),
        inTime(claimNotAfterMs),
      );
      if (!claimed.applied) return now() > claimNotAfterMs ? tooLate(correlationId) : summarize(claimed.record);

      const startedMs = now();
      // Gate may have begun anew, with another list of agents, since the call was asked for.
      if (mayCall && !mayCall(call)) {
        const words = `agent ${call.agent} of tenant ${call.tenant} is not among those that may call any more`;
        return notRun(correlationId, words, null, 'agent_standing_changed');
      }
      const held = await quarantine.held(call, definedToolsOf(record.evidence));
      const leftMs = () => Math.max(1, call.upstream_timeout_ms - (now() - startedMs));
      if (held !== null) return notRun(correlationId, held, null, 'tool_quarantined');
      // Right before the attempt: the tool must still be what the operator read. This check uses the call's own time.
      const { decision, evidence } = claimed.record;
      const changed =
        decision && definitions ? await definitionFault(definitions, call, tools, evidence.reviewed, leftMs) : null;
      if (changed !== null) return notRun(call.correlation_id, changed, null, 'tool_definition_changed');

      // What HIL signed, checked before the claim: the request as it was asked for, or as its approver changed it.
      const body = effectiveBody(claimed.record, request.body);
      if (body === null) return notRun(correlationId, 'the signed change does not fit the staged request');
      if (decision) {
        const decoy = standing?.decoysOf(call.tenant).touched(called, body['params']) ?? null;
        // In the words of any other rule that is new.
        if (decoy !== null) return notRun(correlationId, DECOY_SINCE, null, 'policy_changed');
        try {
          const lost = await attestationLost(call, stillAttested);
          if (lost !== null) return notRun(correlationId, lost, null, 'agent_standing_changed');
        } catch (error) {
          const words = `identity did not say right before the attempt what the platform attested, and nothing was sent: ${errorText(error)}`;
          return notRun(correlationId, words, null, 'attempt_not_begun');
        }
        try {
          const denied = await rulesNow(claimed.record, body);
          if (denied !== null) return notRun(correlationId, denied, null, 'policy_changed');
        } catch (error) {
          const words = `policy did not answer right before the attempt, and nothing was sent: ${errorText(error)}`;
          return notRun(correlationId, words, null, 'attempt_not_begun');
        }
        try {
          const over = await overNow(claimed.record.evidence.call);
          if (over !== null) return notRun(correlationId, over, null, 'budget_changed');
        } catch (error) {
          const words = `what is spent could not be read right before the attempt, and nothing was sent: ${errorText(error)}`;
          return notRun(correlationId, words, null, 'attempt_not_begun');
        }
      }
      // What was looked at meanwhile took its time: from here to the first byte nothing is waited for.
      const stoppedSince = stoppedNow(call, called);
      if (stoppedSince) return notRunSince(correlationId, stoppedSince);
      const fault = () => stoppedMeanwhile(call, called);
      const listening = talks?.listenerOf(call) ?? null;
      const hearing = listening && withKeptAnswers(listening, fault);
      const heard = hearing?.listener ?? null;
      const talk = heard && responses && !tools ? responses.listening(call, heard) : null;
      const steps = batchCalls(call.method, body);
      const attempt = steps
        ? attemptBatch(
            {
              calls,
              upstream,
              responses,
              now,
              untilMs: now() + leftMs(),
              signal,
              heard,
              fault: () => stoppedNow(call, called)?.message ?? null,
            },
            call,
            steps,
            request.body['id'],
          )
        : upstream.callTool(call, body, {
            timeoutMs: leftMs(),
            ...(signal && { signal }),
            listener: talk?.listener ?? heard,
            fault,
          });
      let reply: Awaited<typeof attempt>;
      let endedMs: number;
      try {
        reply = await attempt;
        endedMs = now();
      } finally {
        await talks?.over(correlationId);
      }
      const timing = { duration_ms: endedMs - startedMs, at: new Date(endedMs).toISOString() };
      if (reply.kind === 'not_sent') return notRun(call.correlation_id, reply.reason, timing.duration_ms);
      if (reply.kind === 'unknown')
        return lose(correlationId, reply.reason, {
          durationMs: timing.duration_ms,
          cause: reply.cause,
          answers: hearing?.outcome(),
        });
      // Nothing of the answer is kept before it is judged: after a crash here its outcome is unknown, and nobody is given what nobody looked at.
      // The answers of a batch were judged one by one.
      const judged: JudgedResponse = (!steps && (await responses?.judge(call, reply.text, talk?.heard()))) || {
        text: reply.text,
      };
      const released = judged.text ?? withheldText(request.body['id'], correlationId);
      const flow = calls.flow.kept(call, {
        id: correlationId,
        asked: siblingsOf(call.method, call.tool, request.body),
        ran: siblingsOf(call.method, call.tool, body),
        taint: (evidence.facts?.taint ?? []) as readonly Taint[],
        released: judged.text,
      });
      const result = Buffer.from(toldOfChange(released, claimed.record), 'utf8');
      const outcome: RecordedOutcome = {
        ...timing,
        stage: reply.failed ? 'failed' : 'completed',
        status_code: reply.statusCode,
        result_sha256: sha256Hex(result),
        receipt_sha256: receiptSha256(call, { submitted: request.body, effective: body }, result, reply.statusCode),
        ...(judged.inspected && { inspected: judged.inspected }),
        ...hearing?.outcome(),
        error: null,
      };
      // The tool has run: what it answered is worth a few more tries. The same result is stored once.
      const completed = await insist(() =>
        calls.move(call.correlation_id, 'complete', {
          outcome,
          result,
          // In one transaction with the answer: who has the answer has what it brought in.
          ...(flow && { flow }),
          // Of a batch each call counts that ran.
          ...(!steps && reply.statusCode >= 200 && reply.statusCode < 300 && !reply.failed && { counted_ms: now() }),
        }),
      );
      return summarize(completed.record);
    },

    /**
     * Reads the outcome after the attempt's activity failed: a stored outcome stands; a claim without a result is uncertain; without a
     * claim the call certainly did not run, and no later claim can succeed. Safe to repeat.
     */
    async settleExecution(correlationId: string, reason: string): Promise<CallSummary> {
      const record = await calls.find(correlationId);
      if (!record) throw new GateError('not_found', `no call record ${correlationId}`);
      await talks?.kept?.withdraw(correlationId).catch(() => undefined);
      if (record.state === 'intended') return lose(correlationId, reason);
      if (record.state === 'allowed' || record.state === 'approved') {
        const words = `the engine lost the attempt before it began, and nothing was sent: ${reason}`;
        return notRun(correlationId, words, null, 'attempt_not_begun');
      }
      return summarize(record);
    },
  };
}
export type UpstreamActivities = ReturnType<typeof createUpstreamActivities>;
