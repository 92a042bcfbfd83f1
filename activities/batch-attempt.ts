import type { CallInput } from '../contracts/call.js';
import type { Json } from '../contracts/json.js';
import type { CallStore } from '../domain/call/ports.js';
import { paramsSha256 } from '../domain/call/params-digest.js';
import type { RecordedStep } from '../domain/call/record.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { BATCH_CONTRACT, type BatchCall } from '../domain/mcp/batch.js';
import { membersOf, objectText } from '../domain/mcp/reply.js';
import type { Listener } from '../domain/upstream/call-talks.js';
import type { Upstream, UpstreamOutcome } from '../domain/upstream/upstream.js';
import type { ResponseJudge } from '../domain/inspection/response-judge.js';
import { withheldText } from '../domain/inspection/withheld.js';
import { foreignText } from '../domain/text.js';
import { insist } from './insisting.js';

export interface BatchAttempt {
  readonly calls: CallStore;
  readonly upstream: Upstream;
  readonly responses?: ResponseJudge | undefined;
  readonly now: () => number;
  readonly untilMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly heard: Listener | null;
  /** Why no call may be sent any more, in words; `null` while they may. Asked before each. */
  readonly fault: () => string | null;
}

/** Longer together than one answer may be: what came after that ran, and its answer is left out. */
const MAX_ANSWER = 10_000_000;

/**
 * Runs the calls of a claimed batch in their order, each at most once. What became of one is stored before the next is sent, so that a crash
 * leaves one call of unknown outcome, and no call after it was sent. A failure is an answer and stops nothing; an unknown outcome ends the
 * batch, and so does the time of the batch, which is that of one call.
 */
export async function attemptBatch(
  { calls, upstream, responses, now, untilMs, signal, heard, fault }: BatchAttempt,
  call: CallInput,
  batch: readonly BatchCall[],
  requestId: Json | undefined,
): Promise<UpstreamOutcome> {
  const told: string[] = [];
  const unsent: string[] = [];
  let length = 0;
  let failed = false;
  let over = OUT_OF_TIME;
  for (const { id, name, arguments: given } of batch) {
    if (signal?.aborted || now() >= untilMs) break;
    const stopped = fault();
    if (stopped !== null) {
      over = stopped;
      break;
    }
    const params = { name, arguments: given };
    const body = { jsonrpc: '2.0', id: requestId ?? null, method: 'tools/call', params };
    const one = { ...call, tool: name, method: 'tools/call' };
    const talk = heard && responses ? responses.listening(one, heard) : null;
    const beganMs = now();
    const reply = await upstream.callTool(call, body, {
      timeoutMs: Math.max(1, untilMs - beganMs),
      ...(signal && { signal }),
      listener: talk?.listener ?? heard,
    });
    if (reply.kind === 'unknown')
      return { ...reply, reason: `call ${told.length + 1} of ${batch.length}: ${reply.reason}` };
    const step = {
      id,
      tool: name,
      params_sha256: paramsSha256(body),
      duration_ms: now() - beganMs,
      at: new Date(now()).toISOString(),
    };
    const members: [string, string][] = [
      ['id', JSON.stringify(id)],
      ['name', JSON.stringify(name)],
    ];
    let ended: RecordedStep;
    if (reply.kind === 'not_sent') {
      const error = foreignText(reply.reason, 500);
      unsent.push(error);
      ended = { ...step, stage: 'not_run', status_code: null, result_sha256: null, error };
      members.push(['outcome', '"not_run"'], ['reason', JSON.stringify(error)]);
    } else {
      const judged = (await responses?.judge(one, reply.text, talk?.heard())) ?? { text: reply.text };
      const released = judged.text ?? withheldText(requestId, call.correlation_id);
      const stage = reply.failed ? 'failed' : 'completed';
      ended = {
        ...step,
        stage,
        status_code: reply.statusCode,
        result_sha256: sha256Hex(released),
        ...(judged.inspected && { inspected: judged.inspected }),
        error: null,
      };
      members.push(['outcome', JSON.stringify(stage)], ...answerIn(released, (length += released.length)));
    }
    failed ||= ended.stage !== 'completed';
    told.push(objectText(members));
    // The next call is not sent before this one has its end in the store: see `stepsOfBatch`.
    const { applied } = await insist(() => calls.move(call.correlation_id, 'step', { step: ended }), { signal });
    if (!applied) throw new Error('the record of the batch takes no more steps');
  }
  if (unsent.length === told.length) return { kind: 'not_sent', reason: unsent[0] ?? `${over} before its first call` };
  const result = objectText([
    ['contract', JSON.stringify(BATCH_CONTRACT)],
    ['calls', `[${[...told, ...batch.slice(told.length).map(unbegun(over))].join(',')}]`],
  ]);
  const text = objectText([
    ['jsonrpc', '"2.0"'],
    ['id', JSON.stringify(requestId ?? null)],
    ['result', result],
  ]);
  return { kind: 'reply', statusCode: 200, text, failed: failed || told.length < batch.length };
}

/** The result or the error of one answer, in the tool's own text. */
function answerIn(text: string, lengthSoFar: number): readonly [string, string][] {
  if (lengthSoFar > MAX_ANSWER) return [['omitted', '"too_large"']];
  const members = membersOf(text);
  return (['result', 'error'] as const).flatMap((name): [string, string][] => {
    const value = members?.get(name);
    return value === undefined ? [] : [[name, value]];
  });
}

const OUT_OF_TIME = 'the time of the batch was over';
const unbegun =
  (reason: string) =>
  ({ id, name }: BatchCall): string =>
    JSON.stringify({ id, name, outcome: 'not_run', reason });
