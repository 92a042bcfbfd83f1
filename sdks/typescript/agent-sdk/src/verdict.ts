import { GateConfigError, GateTransportError } from './errors.js';
import { type HttpAnswer, quoted } from './http.js';
import type { Advice, Denial, DenialDetail, Verdict } from './types.js';

export const DECISION_CONTRACT = 'gate.decision/v1';

type Fields = Readonly<Record<string, unknown>>;

/** The body as an object; `undefined` where it is none. */
export function objectIn(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((part) => typeof part === 'string') ? (value as string[]) : undefined;
const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** An answer that is none of Gate's: it decides nothing. */
const unreadable = (answer: HttpAnswer, why: string): GateTransportError =>
  new GateTransportError(`HTTP ${answer.status}: ${why}: ${quoted(answer.text) || '(empty)'}`, {
    status: answer.status,
    ...(textOf(objectIn(answer.text)?.['error']) === undefined
      ? {}
      : { code: textOf(objectIn(answer.text)?.['error']) as string }),
  });

/** The correlation id of header and body, which must be one. */
function correlationIdOf(answer: HttpAnswer, body: Fields | undefined): string | undefined {
  const header = answer.headers.get('x-gate-correlation-id') ?? undefined;
  const inBody = textOf(body?.['correlation_id']);
  if (header !== undefined && inBody !== undefined && header !== inBody)
    throw unreadable(answer, 'header and body name two calls');
  return inBody ?? header;
}

/**
 * What an answer of `POST /mcp` under `gate.decision/v1` says (docs/architecture/requests-and-answers.md#answers of Gate). Anything that is
 * not plainly an allow is none. Throws `GateTransportError` for what says nothing, `GateConfigError` for a Gate that speaks another contract.
 */
export function readVerdict(answer: HttpAnswer): Verdict {
  const contract = answer.headers.get('x-gate-decision-contract');
  if (contract !== null && contract !== DECISION_CONTRACT)
    throw unreadable(answer, `the answer is of contract ${quoted(contract)}`);
  const body = objectIn(answer.text);
  const correlationId = correlationIdOf(answer, body);
  switch (answer.status) {
    case 200:
      return readAllow(answer, body, correlationId);
    case 202: {
      if (body?.['status'] !== 'pending' || correlationId === undefined) throw unreadable(answer, 'no call that waits');
      return {
        kind: 'pending',
        correlationId,
        reviewReasons: texts(body['review_reasons']) ?? [],
        ttlSecs: count(body['ttl_secs']) ?? count(body['ttl_seconds']),
        tier: textOf(body['tier']),
        pollAfterMs: count(body['poll_after_ms']),
      };
    }
    case 403: {
      const error = textOf(body?.['error']);
      if (body === undefined || error === undefined) throw unreadable(answer, 'no refusal of Gate');
      return { kind: 'deny', correlationId, payload: readDenial(error, body) };
    }
    case 426:
      throw new GateConfigError(`this Gate asks for another contract: ${quoted(answer.text)}; update @gate/agent-sdk`);
    case 429: {
      const error = textOf(body?.['error']);
      if (body === undefined || error === undefined) throw unreadable(answer, 'no limit of Gate');
      const verdict =
        error === 'quota_exceeded' || body['verdict'] === 'quota_exceeded' ? 'quota_exceeded' : 'rate_limited';
      return {
        kind: 'rate_limited',
        correlationId,
        payload: {
          error,
          verdict,
          reasons: reasonsOf(body),
          retry_after_secs: count(body['retry_after_secs']),
          scope: textOf(body['scope']),
        },
      };
    }
    default:
      throw unreadable(answer, textOf(body?.['error']) ?? 'no verdict');
  }
}

function readAllow(answer: HttpAnswer, body: Fields | undefined, correlationId: string | undefined): Verdict {
  if (answer.text !== '' && body?.['decision'] !== 'allow' && body?.['verdict'] !== 'allow')
    throw unreadable(answer, 'it does not say allow');
  // An empty 200 is what anything in between would send for a page that is not there.
  if (answer.text === '' && answer.headers.get('x-gate-decision-contract') === null)
    throw unreadable(answer, 'it does not say allow');
  if (answer.headers.get('x-gate-would-deny') === 'true') return { kind: 'would_deny', correlationId };
  if (answer.headers.get('x-gate-would-pend') === 'true' && correlationId !== undefined)
    return { kind: 'pending', correlationId, reviewReasons: [], wouldOnly: true };
  return { kind: 'allow', correlationId };
}

const reasonsOf = (body: Fields): readonly string[] =>
  texts(body['reasons']) ?? (textOf(body['reasoning']) === undefined ? [] : [textOf(body['reasoning']) as string]);

const readDenial = (error: string, body: Fields): Denial => ({
  error,
  verdict: textOf(body['verdict']),
  layer: textOf(body['layer']),
  reasons: reasonsOf(body),
  review_reasons: texts(body['review_reasons']) ?? [],
  intent_category: textOf(body['intent_category']) ?? '',
  correlation_id: textOf(body['correlation_id']),
  call_id: textOf(body['call_id']),
  advice: adviceOf(body['advice']),
  detail: detailOf(body['detail']),
});

function adviceOf(value: unknown): Advice | undefined {
  const {
    retry,
    person_can_help: helps,
    allowed,
  } = (typeof value === 'object' && value !== null ? value : {}) as Fields;
  if (typeof retry !== 'string' || typeof helps !== 'boolean') return undefined;
  return { retry, person_can_help: helps, allowed: textOf(allowed) };
}

/** Only a detail with detectors that are shaped as such; a program rests on nothing else of it. */
function detailOf(value: unknown): DenialDetail | undefined {
  const { detectors, degraded } = (typeof value === 'object' && value !== null ? value : {}) as Fields;
  if (!Array.isArray(detectors)) return undefined;
  const read = detectors.flatMap((part: unknown) => {
    const { detector, score, flagged } = (typeof part === 'object' && part !== null ? part : {}) as Fields;
    return typeof detector === 'string' && typeof score === 'number'
      ? [{ detector, score, ...(typeof flagged === 'boolean' ? { flagged } : {}) }]
      : [];
  });
  const lanes = texts(degraded);
  return { detectors: read, ...(lanes === undefined ? {} : { degraded: lanes }) };
}
