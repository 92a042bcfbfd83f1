import type { JsonObject } from '../../contracts/json.js';
import { READ_METHODS } from './read-methods.js';

export interface ControlMethod {
  /** Members that `params` may have. */
  readonly params: ReadonlySet<string>;
  /** Those of them that are forwarded to the upstream. */
  readonly sent: readonly string[];
  /** Whether a model reads the answer: then Gate looks at it first, for words that instruct one (domain/tool-definitions/watch.ts). */
  readonly readByModel: boolean;
}

const method = (
  readByModel: ControlMethod['readByModel'],
  sent: readonly string[],
  own: readonly string[] = [],
): ControlMethod => ({ params: new Set([...sent, ...own, '_meta']), sent, readByModel });

const METHODS = {
  // Gate introduces itself to the upstream; what an agent says about itself is not forwarded.
  initialize: method(true, [], ['protocolVersion', 'capabilities', 'clientInfo']),
  ping: method(false, []),
  'tools/list': method(true, ['cursor']),
  'resources/list': method(true, ['cursor']),
  'resources/templates/list': method(true, ['cursor']),
  'resources/subscribe': method(false, ['uri']),
  'resources/unsubscribe': method(false, ['uri']),
  'prompts/list': method(true, ['cursor']),
  'completion/complete': method(true, ['ref', 'argument', 'context']),
  // The level is of the agent's session with Gate: none of it is sent.
  'logging/setLevel': method(false, [], ['level']),
};
export type ControlMethodName = keyof typeof METHODS;

/** The control methods that Gate supports. Notifications are not among them, because they end at Gate. */
export const CONTROL_METHODS: ReadonlyMap<string, ControlMethod> = new Map(Object.entries(METHODS));

/** The methods that each capability promises. An agent is told of a capability only if Gate supports all of them. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools/list', 'tools/call'],
  resources: ['resources/list', 'resources/templates/list', 'resources/read'],
  prompts: ['prompts/list', 'prompts/get'],
  completions: ['completion/complete'],
  logging: ['logging/setLevel'],
};

/** What capabilities say of notifications, and the methods that go with them. */
const NOTIFIED: Readonly<Record<string, readonly string[]>> = {
  tools: ['listChanged'],
  resources: ['listChanged', 'subscribe'],
  prompts: ['listChanged'],
};

/**
 * The capabilities an agent is told of: those of its upstream that Gate supports completely. What they say of notifications is kept where
 * these are handed on; tasks and whatever else some servers declare is left out.
 */
export function servedCapabilities(ofUpstream: JsonObject, notifies = false): JsonObject {
  const served = (name: string) =>
    CAPABILITIES[name]?.every(
      (asked) => asked === 'tools/call' || READ_METHODS.has(asked) || CONTROL_METHODS.has(asked),
    ) ?? false;
  const notified = (name: string) => {
    const said = ofUpstream[name] as JsonObject | null;
    return Object.fromEntries(
      (NOTIFIED[name] ?? []).filter((member) => said?.[member] === true).map((one) => [one, true]),
    );
  };
  return Object.fromEntries(
    Object.keys(CAPABILITIES)
      .filter((name) => Object.hasOwn(ofUpstream, name) && served(name))
      .map((name) => [name, notifies ? notified(name) : {}]),
  );
}
