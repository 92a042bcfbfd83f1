import type { Mode } from '../../contracts/call.js';
import type {
  ResponseAction,
  ResponseDecision,
  ResponseEntity,
  ResponseLane,
  ScanResult,
} from '../../contracts/response-scan.js';
import { sha256Hex } from '../crypto/digest.js';
import { errorText } from '../errors.js';
import type { Log } from '../log.js';
import { foreignText } from '../text.js';
import type { Listener } from '../upstream/call-talks.js';
import { type JudgedTalk, judgedTalk, type RecordedTalk } from './judged-talk.js';
import type { ResponsePolicy, ResponseScanner } from './response-port.js';
import { actionOn, type Release, released, worstAction } from './response-release.js';
import { SCANNER_VERSION } from './scan-response.js';

/** What was found in an answer and done with it, for the record and the row of its call. Classes only, never what was found. */
export interface RecordedInspection {
  readonly released: Release['kind'];
  /** In observe mode: what would have been done. */
  readonly would?: Release['kind'];
  readonly entities: readonly ResponseEntity[];
  readonly found: readonly string[];
  readonly actions: Readonly<Record<string, ResponseAction>>;
  /** SHA-256 of the answer as the upstream gave it, 64 hex digits. */
  readonly raw_sha256: string;
  readonly scanner_version: string;
  readonly policy_bundle: ResponseDecision['policy_bundle'] | null;
  /** Where a model read the answer: which one, with which prompt (SHA-256), what that cost, and why not all of it was read. */
  readonly answered_by?: string;
  readonly prompt_sha256?: string;
  readonly cost_micros?: number;
  readonly unread?: string;
  /** What was said before the answer and not handed on. */
  readonly talk?: RecordedTalk;
  readonly reason: string;
}

/** The answer as its agent may have it; `null` where it is withheld. `inspected` is absent where nothing was found. */
export interface JudgedResponse {
  readonly text: string | null;
  readonly inspected?: RecordedInspection;
}

export interface RespondedCall {
  readonly correlation_id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly tool: string;
  /** The method of MCP that was asked. */
  readonly method: string;
  readonly mode: Mode;
}

/** Judges what an upstream answered, before anything of it is kept or given out. Never throws: what cannot be judged is withheld. */
export interface ResponseJudge {
  /** `talk` is what the call's listener heard meanwhile. */
  judge(call: RespondedCall, text: string, talk?: RecordedTalk | null): Promise<JudgedResponse>;
  listening(call: RespondedCall, listener: Listener): JudgedTalk;
}

export interface ResponseJudgeOptions {
  readonly scanner: ResponseScanner;
  readonly policy: ResponsePolicy;
  readonly mode: Mode;
  /** Tools whose answers are searched for secrets and personal data too; `*` for all. */
  readonly dataTools: readonly string[];
  readonly onUnjudged?: (error: unknown, correlationId: string) => void;
}

/** Logs what could not be judged, with the same message in every edition. */
export const unjudgedLog =
  (logger: Log): NonNullable<ResponseJudgeOptions['onUnjudged']> =>
  (error, correlationId) =>
    logger.error(
      { correlation_id: correlationId, reason: errorText(error) },
      'what a tool answered could not be inspected',
    );

export function createResponseJudge({
  scanner,
  policy,
  mode,
  dataTools,
  onUnjudged,
}: ResponseJudgeOptions): ResponseJudge {
  const tools = new Set(dataTools);
  const isSearched = ({ tool, method }: RespondedCall): boolean =>
    tools.has('*') || tools.has(tool) || tools.has(method);
  const scan = (call: RespondedCall, text: string, askModels = true): Promise<ScanResult> => {
    const lanes: ResponseLane[] = ['injection'];
    if (isSearched(call)) lanes.push('data');
    return scanner.scanResponse({
      correlation_id: call.correlation_id,
      agent_id: call.agent,
      tenant: call.tenant,
      method: call.method,
      tool: call.tool,
      response_body: text,
      is_reply: true,
      lanes,
      span_unit: 'utf16_units',
      ask_models: askModels,
    });
  };

  async function judged(call: RespondedCall, text: string): Promise<JudgedResponse> {
    const found = await scan(call, text);
    const entities = found.detected_entities;
    if (entities.length === 0)
      return found.cost_micros === undefined ? { text } : { text, inspected: readInVain(text, found) };
    const asked = await policy.judgeResponse({
      entities: [...entities],
      tool_type: call.tool,
      method: call.method,
      agent_id: call.agent,
      tenant: call.tenant,
    });
    const release = await checked(call, released(text, found, asked), asked);
    const observed = isObserved(call);
    const inspected: RecordedInspection = {
      released: observed ? 'as_is' : release.kind,
      ...(observed && release.kind !== 'as_is' && { would: release.kind }),
      entities,
      found: found.found,
      actions: Object.fromEntries(entities.map((type) => [type, actionOn(type, asked)])),
      raw_sha256: sha256Hex(text),
      scanner_version: found.scanner_version,
      policy_bundle: asked.policy_bundle,
      ...byModelOf(found),
      reason: release.kind === 'withheld' ? release.why : found.reasoning,
    };
    if (observed || release.kind === 'as_is') return { text, inspected };
    return { text: release.kind === 'withheld' ? null : release.text, inspected };
  }

  /** What was taken out may have hidden something else: the rest is looked at once more, and is let out only if nothing else has to go. */
  async function checked(call: RespondedCall, release: Release, asked: ResponseDecision): Promise<Release> {
    if (release.kind !== 'sanitized') return release;
    // A model has read the whole; the rest is not paid for once more.
    const { detected_entities: left } = await scan(call, release.text, false);
    const worst = worstAction(left, asked);
    return worst === 'sanitize' || worst === 'deny'
      ? { kind: 'withheld', why: `it still holds ${left.join(', ')} after what was found had been taken out` }
      : release;
  }

  const isObserved = (call: RespondedCall): boolean => mode === 'observe' || call.mode === 'observe';

  return {
    listening: (call, listener) => judgedTalk(listener, isObserved(call), { data: isSearched(call) }),
    async judge(call, text, talk = null) {
      try {
        return withTalk(await judged(call, text), text, talk);
      } catch (error) {
        onUnjudged?.(error, call.correlation_id);
        const observed = isObserved(call);
        const inspected: RecordedInspection = {
          released: observed ? 'as_is' : 'withheld',
          ...(observed && { would: 'withheld' }),
          entities: [],
          found: [],
          actions: {},
          raw_sha256: sha256Hex(text),
          scanner_version: SCANNER_VERSION,
          policy_bundle: null,
          ...(talk && { talk }),
          reason: `it could not be inspected: ${foreignText(errorText(error), 200)}`,
        };
        return { text: observed ? text : null, inspected };
      }
    },
  };
}

const BY_MODEL = ['answered_by', 'prompt_sha256', 'cost_micros', 'unread'] as const;
const byModelOf = (
  found: Pick<ScanResult, (typeof BY_MODEL)[number]>,
): Pick<RecordedInspection, (typeof BY_MODEL)[number]> =>
  Object.fromEntries(BY_MODEL.flatMap((name) => (found[name] === undefined ? [] : [[name, found[name]]])));

/** Nothing was found, and that cost something: it has a row, so that the ledger knows what was spent. */
const readInVain = (text: string, found: ScanResult): RecordedInspection => ({
  released: 'as_is',
  entities: [],
  found: [],
  actions: {},
  raw_sha256: sha256Hex(text),
  scanner_version: found.scanner_version,
  policy_bundle: null,
  ...byModelOf(found),
  reason: found.reasoning,
});

/** The judgement with what was said before the answer, which is worth a row though the answer itself is clean. */
function withTalk(judged: JudgedResponse, text: string, talk: RecordedTalk | null): JudgedResponse {
  if (!talk) return judged;
  const clean: RecordedInspection = {
    released: 'as_is',
    entities: [],
    found: [],
    actions: {},
    raw_sha256: sha256Hex(text),
    scanner_version: SCANNER_VERSION,
    policy_bundle: null,
    reason: `${talk.withheld} messages before the answer held ${talk.found.join(', ')}`,
  };
  const { inspected } = judged;
  const found =
    inspected && inspected.entities.length > 0 ? inspected : { ...clean, ...(inspected && byModelOf(inspected)) };
  return { ...judged, inspected: { ...found, talk } };
}
