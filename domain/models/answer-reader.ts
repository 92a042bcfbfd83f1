import { LRUCache } from 'lru-cache';
import type { ScanRequest, ScanResult } from '../../contracts/response-scan.js';
import type { JsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../crypto/digest.js';
import { type JsonString, stringsOf } from '../responses/json-strings.js';
import type { ResponseScanner } from '../responses/port.js';
import { suspectedToo } from '../responses/scan-response.js';
import { askBound } from './bound-question.js';
import { maskByRules } from './mask.js';
import { injected, STEERS } from './model-lanes.js';
import { ModelFailure, type Models } from './port.js';
import { answerPrompt } from './prompts.js';

/** The tool has run, and its agent waits. */
const DEADLINE_MS = 5_000;
/** What one question shows, how much of a long string stands in two of them, and how many questions there are about one answer. */
const WINDOW = 12_288;
const OVERLAP = 512;
const MOST_WINDOWS = 4;
/** An answer is asked about once, also where whoever asked did not hear what was found. */
const REMEMBERED = { max: 1_000, ttl: 60_000 };

/** A part of the answer that one question is about. */
interface Window {
  readonly strings: Set<JsonString>;
  readonly shown: { readonly key: string; readonly text: string }[];
}

/** What a model said of one window; `unread` where it said nothing. */
interface Said {
  readonly found: readonly string[];
  readonly unread: string | null;
  readonly costMicros: number;
  readonly model: string | null;
}

interface Read {
  readonly strings: readonly JsonString[];
  readonly found: readonly string[];
  readonly unread: string | null;
  readonly costMicros: number;
  readonly models: readonly string[];
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
  const readings = new LRUCache<string, Promise<Read | null>>(REMEMBERED);
  const once = (request: ScanRequest): Promise<Read | null> => {
    const reading = (): Promise<Read | null> => read(models, request, { deadlineMs, onError });
    if (request.correlation_id === undefined) return reading();
    const key = sha256Hex(
      JSON.stringify([
        request.tenant ?? null,
        request.agent_id,
        request.correlation_id,
        request.method,
        request.tool ?? null,
        sha256Hex(request.response_body),
      ]),
    );
    const known = readings.get(key) ?? reading();
    readings.set(key, known);
    return known;
  };
  return {
    async scanResponse(request) {
      const byRules = await scanner.scanResponse(request);
      const isSure = byRules.detected_entities.includes('PROMPT_INJECTION');
      if (!request.lanes.includes('injection') || request.ask_models === false || isSure) return byRules;
      const said = await once(request);
      return said === null ? byRules : together(request, byRules, said);
    },
  };
}

function together(request: ScanRequest, byRules: ScanResult, said: Read): ScanResult {
  const { strings, found, unread, costMicros, models } = said;
  return {
    ...suspectedToo(request.response_body, byRules, strings, found),
    cost_micros: costMicros,
    ...(models.length > 0 && { answered_by: models.join(', ') }),
    ...(unread !== null && { unread }),
  };
}

/** `null` where nothing in the answer can say anything. */
async function read(
  models: Models,
  request: ScanRequest,
  options: Required<AnswerReaderOptions>,
): Promise<Read | null> {
  const windows = windowsOf(stringsOf(request.response_body).filter(speaks));
  if (windows.length === 0) return null;
  const said = await Promise.all(
    windows.map(async (window, at) => (at < MOST_WINDOWS ? ask(models, request, window, options) : TOO_LARGE)),
  );
  const isSuspected = ({ found, unread }: Said): boolean => found.length > 0 || unread !== null;
  return {
    strings: [...new Set(windows.flatMap(({ strings }, at) => (isSuspected(said[at] as Said) ? [...strings] : [])))],
    found: [...new Set(said.flatMap(({ found, unread }) => (unread === null ? found : [...found, UNREAD])))],
    unread: said.find(({ unread }) => unread !== null)?.unread ?? null,
    costMicros: said.reduce((sum, one) => sum + one.costMicros, 0),
    models: [...new Set(said.flatMap(({ model }) => (model === null ? [] : [model])))],
  };
}

const UNREAD = 'not_read_by_a_model';
const unread = (why: string, costMicros = 0): Said => ({ found: [], unread: why, costMicros, model: null });
const TOO_LARGE = unread('too_large');

/** Never throws: the tool has run, and what is not read is marked rather than withheld. */
async function ask(
  models: Models,
  request: ScanRequest,
  { shown }: Window,
  { deadlineMs, onError }: Required<AnswerReaderOptions>,
): Promise<Said> {
  const { tenant = null, method, tool = '' } = request;
  let document: JsonObject;
  try {
    const masked = maskByRules.show({
      method: method.toWellFormed(),
      tool: tool.toWellFormed(),
      tenant,
      // JSON can say half a character (`"\ud83d"`); nothing that is sent can.
      params: {
        answer: shown.map(({ key, text }) => ({ [key === '' ? 'text' : key.toWellFormed()]: text.toWellFormed() })),
      },
    });
    document = { method: masked.method, tool: masked.tool, ...masked.params };
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

/** Long enough to be an order, and not in one word of signs, as ids, days and names of states are; nor bytes of a picture or a file. */
const SHORTEST = 16;
const LONGEST_ID = 64;
const speaks = ({ role, key, value }: JsonString): boolean =>
  role === 'value' &&
  value.length >= SHORTEST &&
  (/\s|[^\0-\x7f]/.test(value) || (value.length > LONGEST_ID && key !== 'data' && key !== 'blob'));

/** The strings in their order, put together and cut so that each question shows as much as a model is to read at once. */
function windowsOf(strings: readonly JsonString[]): readonly Window[] {
  const windows: Window[] = [];
  let left = 0;
  for (const string of strings) {
    const { key, value } = string;
    for (let from = 0, to = 0; to < value.length; from = wholeBefore(value, to - OVERLAP)) {
      to = wholeBefore(value, from + WINDOW);
      const text = value.slice(from, to);
      let window = windows.at(-1);
      if (window === undefined || text.length > left) {
        window = { strings: new Set(), shown: [] };
        windows.push(window);
        left = WINDOW;
      }
      window.strings.add(string);
      // What is not asked about need not be shown.
      if (windows.length <= MOST_WINDOWS) window.shown.push({ key, text });
      left -= text.length;
    }
  }
  return windows;
}

/** The place, or the one before it where it would cut a character in two. */
function wholeBefore(text: string, at: number): number {
  if (at >= text.length) return text.length;
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
