import { type Json, type JsonObject, jsonObject, jsonValue } from '../../../contracts/json.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { textsIn } from '../../../domain/texts-in.js';
import { Foreign } from '../../ui/parts.js';
import type { Form } from '../../visit.js';

/** How a parameter is typed. */
type Kind = 'lines' | 'number' | 'yes or no' | 'text' | 'json';

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly kind: Kind;
  readonly value: Json;
  readonly schema: JsonObject;
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;
const fieldOf = (name: string): string => `parameter.${name}`;
const typedIn = (form: Form | undefined, name: string): string | undefined =>
  form?.all(fieldOf(name))[0]?.replaceAll('\r\n', '\n');

/** The parameters of a template, each with what it is set to; by its JSON Schema, which has a default of each. */
export function parametersOf(schema: JsonObject | null, set: JsonObject): readonly Parameter[] {
  const properties = jsonObject.safeParse(schema?.['properties']).data ?? {};
  return Object.entries(properties).flatMap(([name, said]) => {
    const own = jsonObject.safeParse(said).data;
    if (own === undefined) return [];
    const description = typeof own['description'] === 'string' ? own['description'] : '';
    const value = Object.hasOwn(set, name) ? set[name] : own['default'];
    return [{ name, description, kind: kindOf(own), value: value ?? null, schema: own }];
  });
}

function kindOf(schema: JsonObject): Kind {
  const items = jsonObject.safeParse(schema['items']).data ?? {};
  switch (schema['type']) {
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'yes or no';
    case 'string':
      return 'text';
    case 'array':
      return items['type'] === 'string' || choicesOf(schema).length > 0 ? 'lines' : 'json';
    default:
      return 'json';
  }
}

/** The words that a list may have, where its schema names them. */
function choicesOf(schema: JsonObject): readonly string[] {
  return textsIn(jsonObject.safeParse(schema['items']).data?.['enum']);
}

/** What was typed, without what is as the template has it. Throws where a value is of another kind. */
export function parametersIn(parameters: readonly Parameter[], form: Form): JsonObject {
  const set: Record<string, Json> = {};
  for (const parameter of parameters) {
    const typed = typedIn(form, parameter.name);
    const value = typed === undefined ? parameter.value : valueOf(parameter, typed);
    if (canonicalJson(value) !== canonicalJson(parameter.schema['default'] ?? null)) set[parameter.name] = value;
  }
  return set;
}

function valueOf({ name, kind }: Parameter, typed: string): Json {
  const wrong = (what: string) => new GateError('invalid_request', `${name} is ${what}`);
  const text = typed.trim();
  switch (kind) {
    case 'number': {
      if (!NUMBER.test(text)) throw wrong('a number, like 10 or 2.5');
      if (!Number.isFinite(Number(text))) throw wrong('a number that is not so large');
      return Number(text);
    }
    case 'yes or no':
      if (text !== 'true' && text !== 'false') throw wrong('true or false');
      return text === 'true';
    case 'lines':
      return typed
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    case 'text':
      return typed;
    case 'json':
      try {
        return jsonValue.parse(JSON.parse(text));
      } catch {
        throw wrong('written as JSON');
      }
  }
}

const plainly = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
const textOf = ({ kind, value }: Parameter): string => {
  if (kind === 'lines' && Array.isArray(value)) return value.map(plainly).join('\n');
  return kind === 'json' ? JSON.stringify(value, null, 2) : plainly(value);
};

/** One field for each, with what is set, or what was typed. */
export const ParameterFields = ({
  of,
  form,
}: {
  readonly of: readonly Parameter[];
  readonly form: Form | undefined;
}) => (
  <>
    {of.map((parameter) => (
      <div key={parameter.name} class="field">
        <label for={fieldOf(parameter.name)}>
          <code>{parameter.name}</code>
          <span class="dim">
            {' '}
            <Foreign text={parameter.description} />
            {parameter.kind === 'lines' && ' One on a line.'}
            {choicesOf(parameter.schema).length > 0 && ` Of ${choicesOf(parameter.schema).join(', ')}.`}
            {parameter.kind === 'json' && ' As JSON.'}
          </span>
        </label>
        <Field of={parameter} text={typedIn(form, parameter.name) ?? textOf(parameter)} />
      </div>
    ))}
  </>
);

const Field = ({ of: { name, kind }, text }: { readonly of: Parameter; readonly text: string }) => {
  const field = { id: fieldOf(name), name: fieldOf(name) };
  if (kind === 'yes or no')
    return (
      <select {...field}>
        {['true', 'false'].map((value) => (
          <option key={value} value={value} selected={value === text}>
            {value}
          </option>
        ))}
      </select>
    );
  if (kind === 'lines' || kind === 'json')
    // The parser of pages takes the first line break away.
    return (
      <textarea {...field} rows={Math.min(8, text.split('\n').length + 1)} spellcheck={false} value={`\n${text}`} />
    );
  return <input {...field} value={text} {...(kind === 'number' && { inputMode: 'decimal' as const })} />;
};
