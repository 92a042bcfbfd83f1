import { randomUUID } from 'node:crypto';
import type { CallInput, CallState } from '../contracts/call.js';
import type { JsonObject } from '../contracts/json.js';
import type { CallStore } from '../domain/call/ports.js';
import { MAX_STEPS } from '../domain/call/reconciliation.js';
import { type CallRecord, NotAsStaged, type ProbeStep } from '../domain/call/record.js';
import { secretsOf } from '../domain/call/rows.js';
import { clocksNow } from '../domain/clocks.js';
import { canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import { keptReasons } from '../domain/masking/kept-reasons.js';
import { foldVerdict } from '../domain/call/verdict.js';
import type { Upstream } from '../domain/upstream/upstream.js';
import type { PolicyEvaluator } from '../domain/policy/evaluator.js';
import { answerOfTool, answerOfUrl, asked, readAnswer } from '../domain/probes/answer.js';
import type { AskUrl, ProbeAnswer } from '../domain/probes/ports.js';
import {
  isToolProbe,
  nameOf,
  pauseMs,
  type Probe,
  type Probes,
  type ToolProbe,
  type UrlProbe,
} from '../domain/probes/probes.js';
import { settledBy } from '../domain/probes/settle.js';
import { effectiveBody } from '../domain/review/approval.js';
import { foreignText } from '../domain/text.js';
import type { ToolClasses } from '../domain/tool-classes/port.js';
import { noQuarantine, type Quarantine } from '../domain/tool-definitions/quarantine.js';
import { evaluateChanged } from './policy.js';
import type { MayCall } from './upstream.js';

/** What one look came to: the state of the call's record, and when the next look is due; `null` where none is. */
export interface Probed {
  readonly state: CallState | 'missing';
  readonly wait_ms: number | null;
}

export interface ProbeActivityOptions {
  readonly calls: CallStore;
  readonly upstream: Upstream;
  readonly policies: PolicyEvaluator;
  readonly tools: ToolClasses;
  readonly probes: Probes;
  readonly askUrl: AskUrl;
  /** Refuses tools whose definition waits for an operator. */
  readonly quarantine?: Quarantine | undefined;
  /** Says whether the agent of a call may still call. */
  readonly mayCall?: MayCall | undefined;
  readonly now?: () => number;
}

export function createProbeActivities({
  calls,
  upstream,
  policies,
  tools,
  probes,
  askUrl,
  quarantine = noQuarantine,
  mayCall = () => true,
  now = Date.now,
}: ProbeActivityOptions) {
  /**
   * Why the probe may not run now for this agent, although it was a reading tool at the start; `null` when it may: the agent may not call any
   * more, the definition is in quarantine, an operator classed the tool as anything but reading, or the rules of now do not let it run.
   */
  const refused = async ({ tool }: ToolProbe, call: CallInput, body: JsonObject): Promise<string | null> => {
    const { tenant, agent } = call;
    // It is asked in the agent's name, over the agent's session with the upstream.
    if (!mayCall(call)) return `agent ${agent} of tenant ${tenant} is not among those that may call any more`;
    const held = await quarantine.held(call, [tool]);
    if (held !== null) return held;
    const fact = (await tools.of(tenant, agent, [tool]))[tool];
    if (fact?.class !== undefined && fact.class !== 'read') return `an operator classed ${tool} as ${fact.class}`;
    const nobodyDid = { last_tool: null, recent_sequence: [] };
    const asking = { ...call, tool, method: 'tools/call', received_ms: now() };
    const { tier, reasons, review_reasons } = foldVerdict(
      null,
      (await evaluateChanged({ calls, policies, tools }, asking, body, nobodyDid, null)).decision,
      'enforce',
    );
    // The ledger has it as it is, with what the probe said.
    return tier === 'green' ? null : keptReasons([...reasons, ...review_reasons], secretsOf(body)).join(' | ');
  };

  async function askTool(one: ToolProbe, call: CallInput, values: JsonObject): Promise<ProbeAnswer | Unheard> {
    const params = { name: one.tool, arguments: values };
    const body = { jsonrpc: '2.0', id: randomUUID(), method: 'tools/call', params };
    const why = await refused(one, call, body);
    if (why !== null) return { said: 'refused', detail: why };
    const reply = await upstream.callTool(call, body, { timeoutMs: one.timeout_secs * 1_000 });
    if (reply.kind !== 'reply') return { said: 'unreachable', detail: reply.reason };
    if (reply.failed) return { said: 'invalid', detail: 'the probe answered with an error' };
    return { text: reply.text, value: answerOfTool(reply.text) };
  }

  async function askAddress(one: UrlProbe, values: JsonObject): Promise<ProbeAnswer | Unheard> {
    const url = new URL(one.url);
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === 'object' && value !== null)
        return { said: 'refused', detail: `${name} is no single value of the call` };
      url.searchParams.set(name, String(value));
    }
    const { status, text } = await askUrl(url.href, one.timeout_secs * 1_000);
    return { text: `${status} ${text}`, value: answerOfUrl(status, text) };
  }

  /** What the probe is asked with; `null` where the call does not hold it: a question without it would be about other calls. */
  async function questionOf(one: Probe, record: CallRecord): Promise<JsonObject | null> {
    const { call } = record.evidence;
    const request = await calls.request(record.correlation_id, record.digest);
    if (request === null || request instanceof NotAsStaged) return null;
    const params = effectiveBody(record, request.body)?.['params'] as JsonObject | undefined;
    return asked(isToolProbe(one) ? one.arguments : one.query, {
      correlation_id: call.correlation_id,
      idempotency_id: call.idempotency_id,
      arguments: params?.['arguments'] ?? {},
    });
  }

  /** Whether the tool may still be at it. What is ended by a clock that is ahead comes back by none that is put right: so the earlier one counts. */
  async function isTooEarly(one: Probe, { outcome }: CallRecord): Promise<boolean> {
    const { fault, nowMs, storeMs } = await clocksNow('this worker', now, () => calls.clockMs());
    const untilMs = Date.parse(outcome?.at ?? '') + one.not_run_after_secs * 1_000;
    return fault !== null || Math.min(nowMs, storeMs ?? nowMs) < untilMs;
  }

  /** One question and what its answer says. Never throws: an outage is a look too. */
  async function look(one: Probe, record: CallRecord, question: JsonObject): Promise<Omit<ProbeStep, 'last' | 'at'>> {
    const seen = { probe: nameOf(one), asked_sha256: sha256Hex(canonicalJson(question)), answer_sha256: null };
    const unheard = ({ said, detail }: Unheard) => ({ ...seen, said, detail: foreignText(detail, 300) });
    try {
      const { call } = record.evidence;
      const answer = isToolProbe(one) ? await askTool(one, call, question) : await askAddress(one, question);
      if ('said' in answer) return unheard(answer);
      const heard = { ...seen, answer_sha256: sha256Hex(answer.text) };
      if (answer.value === null)
        return { ...heard, said: 'invalid', detail: 'the answer is not of the form of its protocol' };
      const said = readAnswer(one, answer.value);
      const isEarly = said === 'not_run' && (await isTooEarly(one, record));
      return { ...heard, said: isEarly ? 'not_run_too_early' : said, detail: DETAIL[said] };
    } catch (error) {
      return unheard({ said: 'unreachable', detail: errorText(error) });
    }
  }

  return {
    /**
     * Looks once whether an uncertain call had its effect, and stores what was seen before it returns. Nothing is executed: a probe reads.
     * Run a second time after a crash, it may ask again, which changes nothing; a look that was stored is not repeated before its time.
     */
    async probeCall(correlationId: string): Promise<Probed> {
      const record = await calls.find(correlationId);
      const over = async (state: Probed['state']): Promise<Probed> => {
        if (record) await calls.followedUp(correlationId, 'probe');
        return { state, wait_ms: null };
      };
      if (!record || record.state !== 'uncertain' || !record.outcome) return over(record?.state ?? 'missing');
      const one = probes.get(record.evidence.call.tool);
      const { probes: steps = [], at: lostAt } = record.outcome;
      if (!one || steps.at(-1)?.last || steps.length >= MAX_STEPS) return over('uncertain');
      const waitMs = Date.parse(steps.at(-1)?.at ?? lostAt) + pauseMs(one, steps.length) - now();
      // A clock that was set back would otherwise hold a look up for as long.
      if (waitMs > 0 && waitMs <= pauseMs(one, steps.length)) return { state: 'uncertain', wait_ms: waitMs };

      const question = await questionOf(one, record);
      if (question === null) return over('uncertain');
      const seen = await look(one, record, question);
      // Whoever says both will not be understood by asking again.
      const last = steps.length + 1 >= one.attempts || seen.said === 'both';
      const at = new Date(now()).toISOString();
      if (seen.said === 'completed' || seen.said === 'not_run') {
        const request = await calls.request(correlationId, record.digest);
        const end = settledBy(record, request instanceof NotAsStaged ? null : request, {
          stage: seen.said,
          by: 'probe',
          decided_by: seen.probe,
          reason:
            seen.said === 'completed'
              ? `the probe ${seen.probe} found the effect`
              : `the probe ${seen.probe} found no effect`,
          at,
        });
        const step: ProbeStep = { ...seen, at, last: true };
        const { record: now_ } = await calls.move(correlationId, end.move, end.patch(step));
        return over(now_.state);
      }
      const { record: after } = await calls.move(correlationId, 'probe', {
        reconciliation: { step: { ...seen, at, last } },
      });
      if (last || after.state !== 'uncertain') return over(after.state);
      return { state: 'uncertain', wait_ms: pauseMs(one, steps.length + 1) };
    },
  };
}
export type ProbeActivities = ReturnType<typeof createProbeActivities>;

/** A look that heard nothing which could be read. */
interface Unheard {
  readonly said: 'unreachable' | 'invalid' | 'refused';
  readonly detail: string;
}

const DETAIL = {
  completed: null,
  not_run: null,
  nothing: 'neither sign is in the answer',
  both: 'the answer has the signs of both ends',
} as const;
