import type {
  DefinitionScanRequest,
  DefinitionScanResult,
  EntryScan,
  Flagged,
} from '../../contracts/definition-scan.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { EntitySpan, ResponseEntity } from '../../contracts/response-scan.js';
import { detectInjection } from '../inspection/injection.js';
import { type HeuristicLevel, inspectTexts } from '../inspection/texts.js';
import { LOOKED_AT_IN_PLACE, sizeOf } from '../large.js';
import { type JsonString, stringsOf } from '../inspection/json-strings.js';
import { injectionOf } from '../inspection/scan-response.js';
import { poisonIn } from './poisoning.js';
import { LOOKALIKE, nameRulesOn, readAs } from './tool-names.js';

/** How certain a sign of a poisoned definition is, and what is wrong with a name. */
const CERTAIN = 0.9;

/**
 * What instructs a model in what an upstream tells of its tools, or beside them, by rules alone: the same question always gives the same
 * answer. Of a name it is told what misleads, too.
 */
export function scanDefinitions(
  { tools, texts, entries }: Pick<DefinitionScanRequest, 'tools' | 'texts' | 'entries'>,
  level: HeuristicLevel = 'standard',
): DefinitionScanResult {
  const alike = new Map<string, string>();
  const flagged = tools.flatMap((tool, index): Flagged[] => {
    const told = typeof tool === 'string' ? toldIn(valueIn(tool)) : (tool as JsonObject);
    const name = nameIn(told);
    const found = instructionsIn(name, told, level);
    if (typeof told['name'] !== 'string') return flaggedAs({ index, name }, found);
    const read = readAs(name);
    const first = alike.get(read) ?? name;
    alike.set(read, first);
    const ofName = [...nameRulesOn(name), ...(first === name ? [] : [LOOKALIKE])];
    return flaggedAs(
      { index, name, ...(first !== name && { like: first }) },
      {
        signals: [...found.signals, ...ofName],
        confidence: Math.max(found.confidence, ofName.length > 0 ? CERTAIN : 0),
      },
    );
  });
  return {
    flagged,
    flagged_texts: texts.flatMap(({ name, text }, index) =>
      flaggedAs({ index, name }, instructionsIn(name, toldIn(valueIn(text)), level)),
    ),
    located: entries.flatMap(({ text, name_identifies }, index) => {
      const found = placesIn(text, name_identifies, level);
      return found === null ? [] : [{ index, ...found }];
    }),
    degraded: false,
  };
}

/** Whether a question is too large to be answered in place. */
export const isLargeScan = ({
  tools,
  texts,
  entries,
}: Pick<DefinitionScanRequest, 'tools' | 'texts' | 'entries'>): boolean =>
  sizeOf([tools, texts, entries]) > LOOKED_AT_IN_PLACE;

interface Found {
  readonly signals: readonly string[];
  readonly confidence: number;
}
const flaggedAs = (which: Omit<Flagged, 'signals' | 'confidence'>, { signals, confidence }: Found): Flagged[] =>
  signals.length === 0 ? [] : [{ ...which, confidence, signals: [...new Set(signals)] }];

function instructionsIn(name: string, told: JsonObject, level: HeuristicLevel): Found {
  const texts = inspectTexts(told, level);
  const { detected, found, confidence } = detectInjection(name, texts);
  const poison = poisonIn(name, texts);
  return {
    signals: [...(detected ? found : []), ...poison],
    confidence: Math.max(detected ? confidence : 0, poison.length > 0 ? CERTAIN : 0),
  };
}

/** Members whose text a program compares or follows. Another text in its place would be another tool, address or schema. */
const IDENTIFIES: ReadonlySet<string> = new Set([
  'uri',
  'uriTemplate',
  'mimeType',
  'src',
  'type',
  'required',
  'enum',
  'const',
  'pattern',
  'format',
  '$ref',
  '$id',
  '$schema',
  'protocolVersion',
]);
/** Members that are there for a model to read. */
const PROSE: ReadonlySet<string> = new Set(['description', 'title', 'instructions']);

/**
 * The strings of an entry that instruct a model by themselves; where others do so together, everything of it that is prose. What is found
 * even then has no place that could be taken out. Reads the entry four times, whatever it holds.
 */
function placesIn(entry: string, nameIdentifies: boolean, level: HeuristicLevel): EntryScan | null {
  if (entityIn(entryIn(entry), level) === null) return null;
  const strings = stringsOf(entry);
  const keys = strings.filter(({ role }) => role === 'key').map(({ value }) => value);
  const names = new Set([...keys, nameIn(entryIn(entry))]);
  const mayGo = ({ role, key }: JsonString): boolean =>
    role === 'value' && !IDENTIFIES.has(key) && !(key === 'name' && nameIdentifies);
  const spanOf = ({ start, end }: JsonString, entity_type: ResponseEntity): EntitySpan => ({ entity_type, start, end });

  const spans = strings.filter(mayGo).flatMap((string) => {
    const found = entityIn({ texts: [string.value] }, level, names);
    return found === null ? [] : spanOf(string, found);
  });
  let left = entityIn(entryIn(without(entry, spans)), level);
  if (left !== null) {
    const alone = new Set(spans.map(({ start }) => start));
    for (const string of strings)
      if (mayGo(string) && PROSE.has(string.key) && !alone.has(string.start)) spans.push(spanOf(string, left));
    left = entityIn(entryIn(without(entry, spans)), level);
  }
  spans.sort((one, other) => one.start - other.start);
  const unlocated = left === null ? [] : [left];
  const found = new Set([...spans.map(({ entity_type }) => entity_type), ...unlocated]);
  return {
    detected_entities: [...found],
    spans,
    unlocated,
  };
}

/** The text without these parts of it, and without a mark in their place, which could be read as a name. */
function without(text: string, spans: readonly EntitySpan[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    parts.push(text.slice(at, start));
    at = end;
  }
  return parts.join('') + text.slice(at);
}

/** `names` are the members of an entry: a text of it that tells of them tells of no other tool. */
function entityIn(told: JsonObject, level: HeuristicLevel, names?: ReadonlySet<string>): ResponseEntity | null {
  const own = nameIn(told);
  const texts = inspectTexts(told, level);
  const { detected, confidence } = detectInjection(own, texts);
  if (poisonIn(own, texts, names).length > 0) return 'PROMPT_INJECTION';
  return detected ? injectionOf(confidence) : null;
}

/** What is no JSON is a text like any other. */
function valueIn(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const nameIn = ({ name }: JsonObject): string => (typeof name === 'string' ? name : '');
const toldIn = (value: Json): JsonObject => (isObject(value) ? value : { texts: [value] });
/** An entry that is no object is a text like any other. */
const entryIn = (text: string): JsonObject => toldIn(valueIn(text));
