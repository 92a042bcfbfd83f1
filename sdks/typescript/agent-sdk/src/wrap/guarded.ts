import { faultIn } from '../calls.js';
import { GateConfigError, GateMalformedCall, GatePending } from '../errors.js';
import { guard } from '../inspect.js';
import type { Settings } from '../options.js';
import type { ToolCall } from '../types.js';
import { UNEXTRACTABLE } from './reading.js';
import type { Surface } from './surface.js';

/** In observe mode what cannot be read is told and passes; otherwise it is thrown. */
async function malformed(error: unknown, settings: Settings): Promise<void> {
  if (!(error instanceof GateMalformedCall) || settings.mode === 'enforce') throw error;
  await settings.onPolicyError?.(error, { toolName: error.toolName, toolUseId: '', toolInput: null });
}

async function guardAll(
  groups: readonly (readonly ToolCall[])[],
  settings: Settings,
  response?: unknown,
): Promise<void> {
  for (const calls of groups) {
    const fault = faultIn(calls);
    if (fault !== undefined) {
      await malformed(new GateMalformedCall(calls[0]?.name ?? UNEXTRACTABLE, fault), settings);
      continue;
    }
    try {
      await guard(calls, settings);
    } catch (error) {
      // Of several choices the others are not judged by the decision on one.
      if (error instanceof GatePending && groups.length === 1) error.response = response;
      throw error;
    }
  }
}

/** A response with its calls allowed. */
async function guardResponse<T>(response: T, surface: Surface, settings: Settings): Promise<T> {
  let groups: readonly (readonly ToolCall[])[] = [];
  try {
    groups = surface.callsIn(response, settings.allowHostedTools);
  } catch (error) {
    await malformed(error, settings);
  }
  await guardAll(groups, settings, response);
  return response;
}

/** The events of a stream as they are; the one that makes a call whole is held until Gate allowed the call. */
async function* guardEvents(events: AsyncIterable<unknown>, surface: Surface, settings: Settings): AsyncGenerator {
  const assembler = surface.assembler(settings.allowHostedTools);
  for await (const event of events) {
    let calls: readonly ToolCall[] = [];
    try {
      calls = assembler.push(event);
    } catch (error) {
      await malformed(error, settings);
    }
    if (calls.length > 0) await guardAll([calls], settings);
    yield event;
  }
  try {
    assembler.end();
  } catch (error) {
    await malformed(error, settings);
  }
}

const isStream = (value: unknown): value is AsyncIterable<unknown> & object =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** A provider's stream object whose events are guarded. What would give the raw events to somebody else is refused. */
function guardStream<T extends AsyncIterable<unknown> & object>(stream: T, surface: Surface, settings: Settings): T {
  return new Proxy(stream, {
    get(target, name) {
      // `iterator` is what the providers' own `tee` reads.
      if (name === Symbol.asyncIterator || name === 'iterator') return () => guardEvents(target, surface, settings);
      if (name === 'tee' || name === 'toReadableStream')
        return () => {
          throw new GateConfigError(`${name}() gives events away that Gate has not seen: read the stream itself`);
        };
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const guardValue = async (value: unknown, surface: Surface, settings: Settings): Promise<unknown> =>
  isStream(value) ? guardStream(value, surface, settings) : guardResponse(value, surface, settings);

interface ProviderPromise extends Promise<unknown> {
  withResponse?(): Promise<{ data: unknown; response?: Response }>;
}

/** Status and headers of a stream's answer: its body would be the events. */
const withoutBody = ({ status, statusText, headers }: Response): Response =>
  new Response(null, { status, statusText, headers });

/** A method of a provider's client that makes a model speak, with what it gives back guarded. */
export function guardMethod(
  method: (...given: unknown[]) => unknown,
  path: string,
  surface: Surface,
  settings: Settings,
): (...given: unknown[]) => unknown {
  return (...given) => {
    const hosted = settings.allowHostedTools ? undefined : surface.hostedToolIn(given[0]);
    if (hosted !== undefined && settings.mode === 'enforce')
      return Promise.reject(
        new GateConfigError(
          `${path}: the provider runs ${hosted} itself, and Gate never sees its calls; leave it out, or set allowHostedTools`,
        ),
      );
    const sent = method(...given) as ProviderPromise;
    const guarded = Promise.resolve(sent).then((value) => guardValue(value, surface, settings));
    return Object.assign(guarded, {
      withResponse: async () => {
        const data = await guarded;
        const given = await sent.withResponse?.();
        const body = isStream(data) && given?.response ? { response: withoutBody(given.response) } : {};
        return { ...given, ...body, data };
      },
      asResponse: (): never => {
        throw new GateConfigError(
          `${path}: asResponse() gives a response away that Gate has not seen; use withResponse()`,
        );
      },
    });
  };
}

/** A method whose calls cannot be inspected, and why. */
export const refusedMethod =
  (path: string, why: string): (() => never) =>
  () => {
    throw new GateConfigError(`${path}: ${why}; set allowUninspectedStream to let it pass`);
  };
