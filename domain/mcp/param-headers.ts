import type { Json, JsonObject } from '../../contracts/json.js';

/** A parameter of a tool whose value its calls repeat in a header (MCP 2026-07-28, `x-mcp-header`). */
export interface MirroredParam {
  /** Of the header, as the tool's definition writes it; without the prefix. */
  readonly name: string;
  /** The names of properties that lead to it. */
  readonly path: readonly string[];
}

export const PARAM_PREFIX = 'mcp-param-';
const MARK = 'x-mcp-header';
/** `1*tchar` (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const PRIMITIVE: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** What these hold is data and no schema. */
const DATA: ReadonlySet<string> = new Set(['default', 'const', 'enum', 'examples']);
/** More than any tool has; a definition with more has none that counts. */
const MAX_PARAMS = 32;
const MAX_LEVELS = 32;

/** The parameters that a schema wants repeated; `null` where it marks one that may not be, so that none of it counts. */
export function mirroredParams(schema: Json | undefined): readonly MirroredParam[] | null {
  const found: MirroredParam[] = [];
  const walk = (node: Json | undefined, path: readonly string[], reachable: boolean): boolean => {
    if (Array.isArray(node)) return node.every((item) => walk(item, path, false));
    if (!isObject(node)) return true;
    if (path.length > MAX_LEVELS) return false;
    if (Object.hasOwn(node, MARK)) {
      const { [MARK]: name, type } = node;
      if (!reachable || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name) || !PRIMITIVE.has(type))
        return false;
      found.push({ name, path });
    }
    return Object.entries(node).every(([member, value]) => {
      if (DATA.has(member)) return true;
      if (member !== 'properties' || !isObject(value)) return walk(value, [...path, member], false);
      return Object.entries(value).every(([property, of]) => walk(of, [...path, property], reachable));
    });
  };
  if (!walk(schema, [], true) || found.length > MAX_PARAMS) return null;
  return new Set(found.map(({ name }) => name.toLowerCase())).size === found.length ? found : null;
}

/** The headers that go with a call: name and coded value. */
export function paramHeaders(params: readonly MirroredParam[], given: JsonObject): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const { name, path } of params) {
    const text = textOf(valueAt(given, path));
    if (text !== null) headers[`${PARAM_PREFIX}${name.toLowerCase()}`] = coded(text);
  }
  return headers;
}

/** Why the headers of a call do not say what its arguments do; `null` where they do. `headerOf` is asked with names in small letters. */
export function paramHeaderFault(
  params: readonly MirroredParam[],
  given: JsonObject,
  headerOf: (name: string) => string | undefined,
): string | null {
  for (const { name, path } of params) {
    const value = valueAt(given, path);
    const sent = headerOf(`${PARAM_PREFIX}${name.toLowerCase()}`);
    const where = `Mcp-Param-${name}`;
    const what = `params.arguments.${path.join('.')}`;
    const isAbsent = value === undefined || value === null;
    if (sent === undefined && isAbsent) continue;
    if (sent === undefined) return `${where} is missing, and ${what} is given`;
    if (isAbsent) return `${where} is sent, and ${what} is not given`;
    const text = decoded(sent.trim());
    if (text === null || !says(text, value)) return `${where} is not what ${what} is`;
  }
  return null;
}

/** Values that are no plain ASCII, or would be read as coded, come as `=?base64?…?=`. `null` where that is not base64. */
export function decoded(value: string): string | null {
  if (!isCoded(value)) return isPlain(value) ? value : null;
  const text = value.slice(BEGIN.length, -END.length);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return null;
  const said = bytes.toString('utf8');
  return Buffer.from(said, 'utf8').equals(bytes) ? said : null;
}

const BEGIN = '=?base64?';
const END = '?=';
const isCoded = (value: string): boolean =>
  value.startsWith(BEGIN) && value.endsWith(END) && value.length >= BEGIN.length + END.length;
/** What a header holds as it is: visible ASCII, blanks and tabs (RFC 9110, section 5.5). */
const isPlain = (text: string): boolean =>
  Array.prototype.every.call(text, (character: string) => character === '\t' || (character >= ' ' && character <= '~'));

export const coded = (text: string): string =>
  isPlain(text) && text.trim() === text && !(text.startsWith(BEGIN) && text.endsWith(END))
    ? text
    : `${BEGIN}${Buffer.from(text, 'utf8').toString('base64')}${END}`;

function valueAt(given: JsonObject, path: readonly string[]): Json | undefined {
  let at: Json | undefined = given;
  for (const name of path) at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at;
}

/** The value in a header; `null` where it has none. */
function textOf(value: Json | undefined): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : null;
}

const NUMBER = /^-?[0-9]{1,32}(?:\.[0-9]{1,32})?$/;
/** Numbers are compared as numbers: `42.0` is 42. What a header cannot say is never said. */
const says = (text: string, value: Json): boolean =>
  typeof value === 'number' ? NUMBER.test(text) && Number(text) === value : textOf(value) === text;

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
