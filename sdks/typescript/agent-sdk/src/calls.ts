import { GateConfigError } from './errors.js';
import type { ToolCall } from './types.js';

const MIB = 2 ** 20;
/** What Gate takes at once (docs/architecture/requests-and-answers.md#atomic-batch of Gate). */
export const MOST_CALLS = 128;
export const MOST_CALL_BYTES = MIB;
export const MOST_BATCH_BYTES = 4 * MIB;
const MOST_NAME_BYTES = 1_024;
const MOST_LEVELS = 64;

const bytes = (text: string): number => new TextEncoder().encode(text).length;

/** Why a value is no plain JSON, as a path and a reason. A value that JSON would change in silence is not what would run. */
function notJson(value: unknown, path: string, within: Set<object>): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return `${path} is ${value}`;
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${path} is an integer beyond 2^53` : undefined;
  }
  if (typeof value !== 'object') return `${path} is a ${typeof value}`;
  if (within.has(value)) return `${path} contains itself`;
  if (within.size >= MOST_LEVELS) return `${path} is deeper than ${MOST_LEVELS} levels`;
  // That of a plain object, whichever realm it is of, has none itself.
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (!Array.isArray(value) && prototype !== null && Object.getPrototypeOf(prototype) !== null)
    return `${path} is no plain object`;
  if ('toJSON' in value) return `${path} has a toJSON of its own`;
  within.add(value);
  const parts: [string, unknown][] = Array.isArray(value)
    ? Array.from(value, (part: unknown, index) => [String(index), part])
    : Object.entries(value);
  for (const [name, part] of parts) {
    const fault = notJson(part, `${path}.${name}`, within);
    if (fault !== undefined) return fault;
  }
  within.delete(value);
  return undefined;
}

const checkName = (what: string, text: unknown): void => {
  if (typeof text !== 'string' || text.trim() === '') throw new GateConfigError(`${what} is missing`);
  if (bytes(text) > MOST_NAME_BYTES) throw new GateConfigError(`${what} has more than ${MOST_NAME_BYTES} bytes`);
};

/** Throws `GateConfigError` for what cannot be sent as it would run. */
function checkCalls(calls: readonly ToolCall[]): void {
  if (calls.length === 0) throw new GateConfigError('there is no call to inspect');
  if (calls.length > MOST_CALLS) throw new GateConfigError(`${calls.length} calls at once are more than ${MOST_CALLS}`);
  if (new Set(calls.map(({ id }) => id)).size < calls.length) throw new GateConfigError('two calls have one id');
  let total = 0;
  for (const { id, name, input } of calls) {
    checkName('the id of a call', id);
    checkName('the name of a tool', name);
    const fault = notJson(input, 'input', new Set());
    if (fault !== undefined) throw new GateConfigError(`arguments of ${name} are no plain JSON: ${fault}`);
    const size = bytes(JSON.stringify(input));
    total += size;
    if (size > MOST_CALL_BYTES) throw new GateConfigError(`arguments of ${name} have more than 1 MiB`);
    if (total > MOST_BATCH_BYTES) throw new GateConfigError('the arguments of all calls have more than 4 MiB');
  }
}

/** Why calls that a model wrote cannot be sent as they would run. */
export function faultIn(calls: readonly ToolCall[]): string | undefined {
  try {
    checkCalls(calls);
    return undefined;
  } catch (error) {
    return (error as GateConfigError).message;
  }
}

/** The text of the request for these calls: made once, and sent as it is at every attempt. Calls of one turn of a model are one batch. */
export function requestText(calls: readonly ToolCall[], idempotencyId: string): string {
  checkCalls(calls);
  const named = calls.map(({ id, name, input }) => ({ id, name, arguments: input }));
  const [first] = named;
  const request =
    named.length === 1
      ? { method: 'tools/call', params: { name: first?.name, arguments: first?.arguments } }
      : {
          method: 'gate/tools.batch',
          params: {
            name: 'gate.atomic-batch',
            arguments: { contract: 'gate.atomic-tool-call-batch/v1', calls: named },
          },
        };
  return JSON.stringify({ jsonrpc: '2.0', id: idempotencyId, ...request });
}
