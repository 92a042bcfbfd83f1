import type { ReadCall } from '../../contracts/call-methods.js';
import type { JsonObject } from '../../contracts/json.js';

const MEMBERS: Readonly<Record<ReadCall, readonly string[]>> = {
  'resources/read': ['uri'],
  'prompts/get': ['name', 'arguments'],
};

/**
 * The methods that read something for a model and are calls: judged, recorded, limited and sent at most once, like a tool of the method's
 * name whose arguments are these members of `params`. Only they are sent to the upstream.
 */
export const READ_METHODS: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(MEMBERS));
export const isRead = (method: string): method is ReadCall => READ_METHODS.has(method);

/** RFC 3986 sets no limit; no address that a person can judge is longer. */
export const MAX_URI = 8_192;
export const MAX_NAME = 256;

/** What is judged, shown and sent of such a request; `null` for any other method. */
export function argumentsOfRead(method: unknown, params: unknown): JsonObject | null {
  const members = typeof method === 'string' ? READ_METHODS.get(method) : undefined;
  if (!members) return null;
  const given = params !== null && typeof params === 'object' && !Array.isArray(params) ? (params as JsonObject) : {};
  return Object.fromEntries(
    members.flatMap((name) => {
      const value = given[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** What is wrong with the members of each that are judged; `null` when nothing is. */
const FAULTS: Readonly<Record<ReadCall, (given: JsonObject) => string | null>> = {
  'resources/read': ({ uri }) =>
    isText(uri, MAX_URI) ? null : `\`params.uri\` must be a string of 1 to ${MAX_URI} characters`,
  'prompts/get': ({ name, arguments: given }) => {
    if (!isText(name, MAX_NAME)) return `\`params.name\` must be a string of 1 to ${MAX_NAME} characters`;
    const texts =
      given === undefined ||
      (given !== null &&
        typeof given === 'object' &&
        !Array.isArray(given) &&
        Object.values(given).every((value) => typeof value === 'string'));
    return texts ? null : '`params.arguments` must be an object of strings';
  },
};

/** What is wrong with the `params` of a read; `null` when nothing is. */
export const readFault = (method: ReadCall, params: unknown): string | null =>
  FAULTS[method](argumentsOfRead(method, params) ?? {});

const isText = (value: unknown, longest: number): boolean =>
  typeof value === 'string' && value.length >= 1 && value.length <= longest;
