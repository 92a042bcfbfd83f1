import type { Json, JsonObject } from '../../../contracts/json.js';

/** What stands under a member: a value, an object with members of its own, a list of those, or objects under names that are the tool's own. */
interface Shape {
  readonly [name: string]: 'value' | Shape | readonly [Shape] | { readonly each: Shape };
}

const OPTION: Shape = { const: 'value', title: 'value' };
const FIELD: Shape = {
  type: 'value',
  title: 'value',
  description: 'value',
  default: 'value',
  minLength: 'value',
  maxLength: 'value',
  pattern: 'value',
  format: 'value',
  minimum: 'value',
  maximum: 'value',
  enum: 'value',
  enumNames: 'value',
  oneOf: [OPTION],
  minItems: 'value',
  maxItems: 'value',
  items: { type: 'value', enum: 'value', anyOf: [OPTION] },
};
/** The restricted schema of a form (MCP 2025-11-25, `client/elicitation`). */
const FORM: Shape = { $schema: 'value', type: 'value', properties: { each: FIELD }, required: 'value' };

/** One name for all spellings that a decoder may take for the same member: some look at no case. */
const capitals = (name: string): string => name.toLowerCase().toUpperCase();

/** Of names that mean something, by `capitals`: whether this is another spelling of one of them. */
export const passesFor = (known: Iterable<string>): ((name: string) => boolean) => {
  const names = new Map([...known].map((name) => [capitals(name), name]));
  return (name) => (names.get(capitals(name)) ?? name) !== name;
};

/**
 * The schema of a form with the members that MCP gives it, and no others; `null` where one is written in other letters, or is not what MCP has there. The
 * names of its fields are the tool's own.
 */
export const askedForm = (schema: Json): JsonObject | null => shaped(schema, FORM);

function shaped(given: Json | undefined, shape: Shape): JsonObject | null {
  if (!isObject(given)) return null;
  const spells = passesFor(Object.keys(shape));
  const kept: [string, Json][] = [];
  for (const [name, value] of Object.entries(given)) {
    if (spells(name)) return null;
    const of = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (of === undefined) continue;
    const written = under(value as Json, of);
    if (written === null) return null;
    kept.push([name, written.value]);
  }
  return Object.fromEntries(kept);
}

function under(value: Json, of: Shape[string]): { readonly value: Json } | null {
  if (of === 'value') return isPlain(value) || (Array.isArray(value) && value.every(isPlain)) ? { value } : null;
  if (isList(of)) {
    const items = Array.isArray(value) ? value.map((item) => shaped(item, of[0])) : null;
    return items && items.every((item) => item !== null) ? { value: items } : null;
  }
  if (isEach(of)) {
    if (!isObject(value)) return null;
    const fields = Object.entries(value).map(([name, field]) => [name, shaped(field as Json, of.each)] as const);
    return fields.every(([, field]) => field !== null) ? { value: Object.fromEntries(fields) as JsonObject } : null;
  }
  const object = shaped(value, of);
  return object && { value: object };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
const isPlain = (value: Json): boolean => value === null || typeof value !== 'object';
const isList = (of: Exclude<Shape[string], 'value'>): of is readonly [Shape] => Array.isArray(of);
const isEach = (of: Shape | { readonly each: Shape }): of is { readonly each: Shape } => 'each' in of;
