import type { JsonObject } from '../../contracts/json.js';

export interface ControlMethod {
  /** Members of `params` that it may have. */
  readonly params: ReadonlySet<string>;
  /** Those of them that go on to the upstream. */
  readonly sent: readonly string[];
}

const method = (sent: readonly string[], own: readonly string[] = []): ControlMethod => ({
  params: new Set([...sent, ...own, '_meta']),
  sent,
});

/** The control methods that Gate takes. Notifications are not among them: they end at Gate. */
export const CONTROL_METHODS: ReadonlyMap<string, ControlMethod> = new Map([
  // Gate introduces itself to the upstream; what an agent says about itself stays here.
  ['initialize', method([], ['protocolVersion', 'capabilities', 'clientInfo'])],
  ['ping', method([])],
  ['tools/list', method(['cursor'])],
  ['resources/list', method(['cursor'])],
  ['prompts/list', method(['cursor'])],
]);

/** What a server with a capability answers. An agent is told of one only where Gate takes all of it. */
const CAPABILITIES: Readonly<Record<string, readonly string[]>> = {
  tools: ['tools/list', 'tools/call'],
  resources: ['resources/list', 'resources/read'],
  prompts: ['prompts/list', 'prompts/get'],
  completions: ['completion/complete'],
  logging: ['logging/setLevel'],
};

/**
 * The capabilities an agent is told of: those of its upstream that Gate serves whole, without the notifications and tasks that some
 * servers declare inside them, which do not pass Gate.
 */
export function servedCapabilities(ofUpstream: JsonObject): JsonObject {
  const served = (name: string) =>
    CAPABILITIES[name]?.every((asked) => asked === 'tools/call' || CONTROL_METHODS.has(asked)) ?? false;
  return Object.fromEntries(
    Object.keys(CAPABILITIES)
      .filter((name) => Object.hasOwn(ofUpstream, name) && served(name))
      .map((name) => [name, {}]),
  );
}
