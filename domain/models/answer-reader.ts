import { LRUCache } from 'lru-cache';
import type { ScanRequest, ScanResult } from '../../contracts/response-scan.js';
import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../crypto/digest.js';
import { type JsonString, stringsOf } from '../inspection/json-strings.js';
import type { ResponseScanner } from '../inspection/response-port.js';
import { suspectedToo } from '../inspection/scan-response.js';
import { askBound } from './bound-question.js';
import { hiddenTogether, maskByRules, maskedByItself, type MaskedText } from './mask.js';
import { injected, STEERS } from './model-lanes.js';
import { ModelFailure, type Models } from './port.js';
import { ANSWER_PROMPT_SHA256, answerPrompt } from './prompts.js';
import { speakingStrings } from './speaking.js';

/** The tool has run, and its agent waits. */
const DEADLINE_MS = 5_000;
/** What one question shows, how much of a long string stands in two of them, and how many questions there are about one answer. */
const WINDOW = 12_288;
const OVERLAP = 512;
const MOST_WINDOWS = 4;
/** How much more of a text that is longer than is read is masked, so that no secret goes on behind it. Of those that may, none is longer. */
const BEYOND = 8_192;
/** A longer name is no name of a member: it is shown as a text, where it speaks. */
const LONGEST_NAME = 64;
/** What a text takes in a question besides itself and its name. */
const SIGNS = 8;
/** A cut goes back to a blank, where there is one so near. */
const TO_BLANK = 256;
/** An answer is asked about once, also where whoever asked did not hear what was found. */
const REMEMBERED = { max: 1_000, ttl: 60_000 };

/** A part of the answer that one question is about. */
interface Window {
  readonly strings: Set<JsonString>;
  readonly shown: { readonly name: string; readonly text: string }[];
  /** The texts of which something is shown. */
  readonly masked: Set<MaskedText>;
}

/** What a model said of one window; `unread` where it said nothing. */
interface Said {
  readonly found: readonly string[];
  readonly unread: string | null;
  readonly costMicros: number;
  readonly model: string | null;
}

export interface AnswerReaderOptions {
  readonly deadlineMs?: number;
  /** Hears of what is no failure of a model. */
  readonly onError?: (error: unknown) => void;
}

/**
 * A scanner whose answers a model reads too (docs/architecture/responses.md#a-model-that-reads-answers). The rules come first; where they are sure nobody is
 * asked. A model can put what it reads under suspicion and takes nothing away, and what it was to read and did not is under suspicion too.
 */
export function readByModel(
  scanner: ResponseScanner,
  models: Models,
  { deadlineMs = DEADLINE_MS, onError = () => undefined }: AnswerReaderOptions = {},
): ResponseScanner {
  // What was said and nothing of the answer itself: thousands of answers of ten megabytes would be kept by a few of their strings.
  const sayings = new LRUCache<string, Promise<readonly Said[]>>(REMEMBERED);
  const once = (request: ScanRequest, windows: readonly Window[]): Promise<readonly Said[]> => {
    const asking = async (): Promise<readonly Said[]> =>
      Promise.all(windows.map((window) => ask(models, request, window, { deadlineMs, onError })));
    if (request.correlation_id === undefined) return asking();
    const key = sha256Hex(
      JSON.stringify([
        request.tenant ?? null,
        request.agent_id,
        request.correlation_id,
        request.method,
        request.tool ?? null,
        request.is_reply ?? false,
        sha256Hex(request.response_body),
      ]),
    );
    const known = sayings.get(key) ?? asking();
    sayings.set(key, known);
    return known;
  };
  return {
    async scanResponse(request) {
      const byRules = await scanner.scanResponse(request);
      const isSure = byRules.detected_entities.includes('PROMPT_INJECTION');
      if (!request.lanes.includes('injection') || request.ask_models === false || isSure) return byRules;
      const { response_body: text, is_reply: isReply } = request;
      const strings = speakingStrings(text, stringsOf(text, { isReply }));
      if (strings.length === 0) return byRules;
      const windows = windowsOf(strings);
      return together(request, byRules, windows, await once(request, windows.windows));
    },
  };
}

function together(
  request: ScanRequest,
  byRules: ScanResult,
  { windows, withheld, beyond }: Windows,
  ofWindows: readonly Said[],
): ScanResult {
  const isSuspected = ({ found, unread }: Said): boolean => found.length > 0 || unread !== null;
  const suspected = windows.flatMap(({ strings }, at) => (isSuspected(ofWindows[at] as Said) ? [...strings] : []));
  const said = [
    ...ofWindows,
    ...(withheld.length > 0 ? [unread('withheld')] : []),
    ...(beyond.length > 0 ? [unread('too_large')] : []),
  ];
  const why = said.find(({ unread }) => unread !== null)?.unread ?? null;
  const models = [...new Set(said.flatMap(({ model }) => (model === null ? [] : [model])))];
  return {
    ...suspectedToo(
      request.response_body,
      byRules,
      [...new Set([...suspected, ...withheld, ...beyond])],
      [...new Set(said.flatMap(({ found, unread }) => (unread === null ? found : [...found, UNREAD])))],
    ),
    cost_micros: said.reduce((sum, one) => sum + one.costMicros, 0),
    ...(models.length > 0 && { answered_by: models.join(', '), prompt_sha256: ANSWER_PROMPT_SHA256 }),
    ...(why !== null && { unread: why }),
  };
}

const UNREAD = 'not_read_by_a_model';
const unread = (why: string, costMicros = 0): Said => ({ found: [], unread: why, costMicros, model: null });
/** Never throws: the tool has run, and what is not read is marked rather than withheld. */
async function ask(
  models: Models,
  request: ScanRequest,
  { shown, masked }: Window,
  { deadlineMs, onError }: Required<AnswerReaderOptions>,
): Promise<Said> {
  const { tenant = null, method, tool = '' } = request;
  let document: JsonObject;
  try {
    hiddenTogether(masked);
    const asked = maskByRules.show({ method: method.toWellFormed(), tool: tool.toWellFormed(), tenant, params: {} });
    const answer = shown.map(({ name, text }) => ({ [name]: text }));
    document = { method: asked.method, tool: asked.tool, answer };
  } catch {
    return unread('withheld');
  }
  try {
    const { value, costMicros, model } = await askBound(models, {
      workload: 'scanResponse',
      tenant,
      schema: injected,
      document,
      promptFor: answerPrompt,
      signal: AbortSignal.timeout(deadlineMs),
    });
    const named = value.kinds.length > 0 ? value.kinds.map((kind) => `model:${kind}`) : ['model:unnamed'];
    const found = [...(value.injected ? named : []), ...(value.instructs_judge ? [STEERS] : [])];
    return { found, unread: null, costMicros, model };
  } catch (error) {
    if (error instanceof ModelFailure) return unread(error.failure, error.costMicros);
    onError(error);
    return unread('failed');
  }
}

interface Windows {
  readonly windows: readonly Window[];
  /** Strings that no model may be shown. */
  readonly withheld: readonly JsonString[];
  /** Strings of which there was no room for all. */
  readonly beyond: readonly JsonString[];
}

/**
 * The strings in their order, put together and cut so that each question shows as much as a model is to read at once. Each is masked before it is
 * cut: of a secret on both sides of a cut no side looks like one. What is beyond the last question is not masked.
 */
function windowsOf(strings: readonly JsonString[]): Windows {
  const windows: Window[] = [];
  const withheld: JsonString[] = [];
  let room = MOST_WINDOWS * WINDOW;
  let left = 0;
  for (const [at, string] of strings.entries()) {
    if (room <= 0) return { windows, withheld, beyond: strings.slice(at) };
    const { masked, isWhole } = maskedAsFarAs(string, room);
    room -= string.value.length;
    if (masked === null) withheld.push(string);
    for (const text of masked === null ? [] : cut(masked.text)) {
      let window = windows.at(-1);
      const length = text.length + (masked as MaskedText).name.length + SIGNS;
      if (window === undefined || length > left) {
        if (windows.length === MOST_WINDOWS) return { windows, withheld, beyond: strings.slice(at) };
        window = { strings: new Set(), shown: [], masked: new Set() };
        windows.push(window);
        left = WINDOW;
      }
      window.strings.add(string);
      window.masked.add(masked as MaskedText);
      window.shown.push({ name: (masked as MaskedText).name, text });
      left -= length;
    }
    if (!isWhole) return { windows, withheld, beyond: strings.slice(at) };
  }
  return { windows, withheld, beyond: [] };
}

/** A string that is masked, of a longer one its beginning, of which more was masked than is given; `null` where it may not be shown. */
function maskedAsFarAs(string: JsonString, most: number): { masked: MaskedText | null; isWhole: boolean } {
  const { value } = string;
  const isWhole = value.length <= most + BEYOND;
  // JSON can say half a character (`"\ud83d"`); nothing that is sent can.
  const text = value.slice(0, isWhole ? value.length : beforeToken(value, most + BEYOND)).toWellFormed();
  try {
    const masked = shownUnderName(string, text);
    if (isWhole) return { masked, isWhole };
    return {
      masked: { ...masked, text: masked.text.slice(0, cutBefore(masked.text, masked.text.length - BEYOND)) },
      isWhole,
    };
  } catch {
    return { masked: null, isWhole };
  }
}

/** The name says whether it is that of a secret. A member's own name is a text of its own. */
function shownUnderName({ role, key }: JsonString, text: string): MaskedText {
  if (role === 'key') return maskedByItself('name', text);
  const masked = maskedByItself(key === '' ? 'text' : key.slice(-4 * LONGEST_NAME).toWellFormed(), text);
  return key.length > LONGEST_NAME ? { ...masked, name: 'text' } : masked;
}

/** Where the token begins that goes on at a place. A web token has no bound, and its beginning alone does not look like one. */
function beforeToken(text: string, at: number): number {
  let start = at;
  while (start > 0 && OF_TOKEN.test(text[start - 1] as string)) start -= 1;
  return start;
}
const OF_TOKEN = /[\w.~+/=-]/;

/** A text in pieces that a model is to read at once, each with the end of the one before. */
function* cut(text: string): Generator<string> {
  for (let from = 0, to = 0; to < text.length; from = cutBefore(text, to - OVERLAP)) {
    to = cutBefore(text, from + WINDOW);
    yield text.slice(from, to);
  }
}

/** A place behind a blank, or one between two characters that is not within what stands for a secret. */
function cutBefore(text: string, at: number): number {
  if (at >= text.length) return text.length;
  if (at <= 0) return 0;
  const farthest = Math.max(0, at - TO_BLANK);
  for (let end = at; end > farthest; end -= 1) if (BLANK.test(text[end - 1] as string)) return end;
  const near = text.slice(farthest, at);
  const bracket = near.lastIndexOf('[');
  if (bracket > 0 && !near.includes(']', bracket)) return farthest + bracket;
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
const BLANK = /\s/;
