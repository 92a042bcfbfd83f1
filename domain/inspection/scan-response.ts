import {
  type ArgumentScanRequest,
  type ArgumentScanResult,
  type EntitySpan,
  RESPONSE_ENTITIES,
  type ResponseEntity,
  type ScanRequest,
  type ScanResult,
} from '../../contracts/response-scan.js';
import type { HeuristicLevel } from './texts.js';
import { injectedTexts } from './injected-texts.js';
import { type JsonString, numbersOf, placesOf, type ReadAs, stringsOf } from './json-strings.js';
import { sensitiveDataIn } from '../masking/sensitive-data.js';
import { secretsByString } from './secrets-by-string.js';

/** In every result. Any change to what is found needs a new one. */
export const SCANNER_VERSION = 'gate-responses/10';

/** What may be a card as a number of JSON; a fraction is none. */
const MAY_BE_CARD = /^-?\d{13,19}(?:\.0{1,19})?$/;

/** From this confidence on a text is taken for an instruction; below it may be one that somebody writes about. */
const CONFIDENT = 0.85;
/** As sure as one piece of evidence makes the rules. */
const SUSPECTED = 0.6;

const RISK: Readonly<Record<ResponseEntity, readonly [ScanResult['exfiltration_risk'], confidence: number]>> = {
  PROMPT_INJECTION: ['high', 0],
  SUSPECTED_INJECTION: ['suspicious', 0],
  AWS_ACCESS_KEY: ['critical', 0.99],
  PRIVATE_KEY: ['critical', 0.99],
  API_TOKEN: ['critical', 0.99],
  DB_URI: ['critical', 0.95],
  SSN: ['high', 0.9],
  CREDIT_CARD: ['high', 0.95],
  EMAIL: ['suspicious', 0.9],
};
const RISKS = ['clean', 'suspicious', 'high', 'critical'] as const;

/**
 * What an answer holds that it should not, by rules alone: the same answer always gives the same result. Instructions have the whole string
 * as their span, because half of one still instructs.
 */
export function scanResponse(
  {
    response_body: text,
    is_reply: isReply,
    lanes,
    span_unit,
  }: Pick<ScanRequest, 'response_body' | 'is_reply' | 'lanes' | 'span_unit'>,
  level: HeuristicLevel = 'standard',
): ScanResult {
  const strings = stringsOf(text, { isReply });
  const spans: EntitySpan[] = [];
  const unlocated = new Set<ResponseEntity>();
  let found: readonly string[] = [];
  let confidence = 0;
  if (lanes.includes('injection')) {
    const injected = injectedTexts(strings, level);
    for (const { string, confidence: sure } of injected.texts)
      spans.push({ entity_type: injectionOf(sure), start: string.start, end: string.end });
    if (injected.elsewhere) unlocated.add(injectionOf(injected.confidence));
    ({ found, confidence } = injected);
  }
  if (lanes.includes('data')) {
    spans.push(...numbersWithData(text, strings, { isReply }));
    for (const [string, occurrences] of secretsByString(strings)) {
      const places = placesOf(text, string);
      for (const { type, ...found } of occurrences) {
        const { start, end } = wholeCharacters(string.value, found);
        spans.push({ entity_type: type, start: places(start), end: places(end) });
      }
    }
  }
  return concluded({
    confidence,
    spans: span_unit === 'utf8_bytes' ? inBytes(text, spans) : spans,
    span_unit,
    unlocated: [...unlocated],
    found: [...found],
  });
}

/** The numbers of a JSON text that are sensitive data; of a number nothing is left but the whole. */
export function* numbersWithData(text: string, strings: readonly JsonString[], as?: ReadAs): Generator<EntitySpan> {
  for (const { start, end, value } of numbersOf(text, strings, as))
    if (MAY_BE_CARD.test(value)) for (const { type } of sensitiveDataIn(value)) yield { entity_type: type, start, end };
}

/** A result from what was found, with what follows from it. */
function concluded({
  spans,
  unlocated,
  found,
  confidence,
  span_unit,
}: Pick<ScanResult, 'spans' | 'unlocated' | 'found' | 'confidence' | 'span_unit'>): ScanResult {
  const types = new Set([...spans.map(({ entity_type }) => entity_type), ...unlocated]);
  const detected = RESPONSE_ENTITIES.filter((type) => types.has(type));
  const risk = Math.max(0, ...detected.map((type) => RISKS.indexOf(RISK[type][0])));
  return {
    exfiltration_risk: RISKS[risk] ?? 'clean',
    confidence: Math.max(confidence, ...detected.map((type) => RISK[type][1])),
    detected_entities: detected,
    spans: spans.toSorted((one, other) => one.start - other.start || other.end - one.end),
    span_unit,
    unlocated,
    found,
    reasoning: detected.length === 0 ? 'nothing found' : `found: ${[...detected, ...found].join(', ')}`,
    scanner_version: SCANNER_VERSION,
  };
}

/** Somebody else than the rules suspects these strings of the text. What the rules said stands; a string that they suspect too has one span. */
export function suspectedToo(
  text: string,
  byRules: ScanResult,
  strings: readonly JsonString[],
  found: readonly string[],
): ScanResult {
  if (strings.length === 0) return byRules;
  const suspected = strings.map(({ start, end }): EntitySpan => ({ entity_type: 'SUSPECTED_INJECTION', start, end }));
  const spans = byRules.span_unit === 'utf8_bytes' ? inBytes(text, suspected) : suspected;
  const known = new Map(
    byRules.spans.flatMap(({ entity_type, start, end }) =>
      entity_type === 'SUSPECTED_INJECTION' ? [[start, end] as const] : [],
    ),
  );
  const isNew = ({ start, end }: EntitySpan): boolean => known.get(start) !== end;
  return concluded({
    ...byRules,
    confidence: Math.max(byRules.confidence, SUSPECTED),
    spans: [...byRules.spans, ...spans.filter(isNew)],
    found: [...new Set([...byRules.found, ...found])],
  });
}

/** The secrets and personal data of arguments, and where they stand. Never a verdict. */
export function scanArguments({ request_body, span_unit }: ArgumentScanRequest): ArgumentScanResult {
  const { detected_entities, spans } = scanResponse({ response_body: request_body, lanes: ['data'], span_unit });
  return { detected_entities, spans, span_unit };
}

export const injectionOf = (confidence: number): ResponseEntity =>
  confidence >= CONFIDENT ? 'PROMPT_INJECTION' : 'SUSPECTED_INJECTION';

const isHigh = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number): boolean => (text.charCodeAt(at) & 0xfc00) === 0xdc00;
/** A place that begins and ends with a character, not in the middle of one that has two units. */
const wholeCharacters = (text: string, { start, end }: { readonly start: number; readonly end: number }) => ({
  start: isLow(text, start) && isHigh(text, start - 1) ? start - 1 : start,
  end: isLow(text, end) && isHigh(text, end - 1) ? end + 1 : end,
});

/** The same spans, counted in bytes of UTF-8. One pass over the text. */
function inBytes(text: string, spans: readonly EntitySpan[]): EntitySpan[] {
  const places = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].toSorted((one, other) => one - other);
  const bytes = new Map<number, number>();
  let at = 0;
  let count = 0;
  for (const place of places) {
    count += Buffer.byteLength(text.slice(at, place));
    at = place;
    bytes.set(place, count);
  }
  const byteAt = (place: number) => bytes.get(place) as number;
  return spans.map(({ entity_type, start, end }) => ({ entity_type, start: byteAt(start), end: byteAt(end) }));
}
