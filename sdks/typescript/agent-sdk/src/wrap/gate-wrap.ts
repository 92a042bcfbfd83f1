import { GateConfigError } from '../errors.js';
import { type GateOptions, type Settings, settingsOf } from '../options.js';
import { anthropicMessages } from './anthropic.js';
import { guardMethod, refusedMethod } from './guarded.js';
import { openaiChat } from './openai-chat.js';
import { openaiResponses } from './openai-responses.js';
import type { Surface } from './surface.js';

type Rule = { readonly guard: Surface } | { readonly refuse: string };
type Rules = Readonly<Record<string, Rule>>;

const HANDS_OUT = { refuse: 'it hands out arguments before they are whole; use create with stream: true' };
const RUNS = { refuse: 'it runs tools before Gate has seen their calls; use create, and run the tools yourself' };
const LATER = { refuse: 'it gives back tool calls of earlier requests, which nobody has inspected' };
const AGENT = { refuse: 'the provider runs the agent' };

/** Requests that the user writes: whatever they ask for comes out as it is. */
const BY_HAND: Rules = Object.fromEntries(
  ['get', 'post', 'put', 'patch', 'request', 'getAPIList', 'requestAPIList', 'methodRequest', 'makeRequest'].map(
    (name) => [name, { refuse: 'what a request of your own gives back is not inspected; use the method of its name' }],
  ),
);

/** Everything of a client by which tool calls come out. A rule for a name holds for all below it that have none of their own. */
const ANTHROPIC: Rules = {
  ...BY_HAND,
  'messages.create': { guard: anthropicMessages },
  'messages.parse': { guard: anthropicMessages },
  'messages.stream': HANDS_OUT,
  'messages.batches.results': LATER,
  'beta.messages.create': { guard: anthropicMessages },
  'beta.messages.parse': { guard: anthropicMessages },
  'beta.messages.stream': HANDS_OUT,
  'beta.messages.toolRunner': RUNS,
  'beta.messages.batches.results': LATER,
  'beta.messages.thread': { refuse: 'it sends by itself; use create' },
  'beta.sessions': AGENT,
  'beta.deployments.run': AGENT,
  'beta.environments.work.worker': RUNS,
};

const OPENAI: Rules = {
  ...BY_HAND,
  'chat.completions.create': { guard: openaiChat },
  'chat.completions.parse': { guard: openaiChat },
  'chat.completions.stream': HANDS_OUT,
  'chat.completions.runTools': RUNS,
  'chat.completions.retrieve': { guard: openaiChat },
  'chat.completions.update': { guard: openaiChat },
  'chat.completions.list': LATER,
  'chat.completions.messages': LATER,
  'responses.create': { guard: openaiResponses },
  'responses.parse': { guard: openaiResponses },
  'responses.retrieve': { guard: openaiResponses },
  'responses.cancel': { guard: openaiResponses },
  'responses.compact': { guard: openaiResponses },
  'responses.stream': HANDS_OUT,
  'responses.inputItems': LATER,
  'beta.responses.create': { guard: openaiResponses },
  'beta.responses.retrieve': { guard: openaiResponses },
  'beta.responses.cancel': { guard: openaiResponses },
  'beta.responses.compact': { guard: openaiResponses },
  'beta.responses.inputItems': LATER,
  'conversations.items.list': LATER,
  'conversations.items.retrieve': LATER,
  'evals.runs.outputItems': LATER,
  'beta.chatkit.threads': LATER,
  'beta.threads': { refuse: 'calls of assistants are not inspected' },
  'beta.realtime': { refuse: 'use inspectRealtimeFunctionCall on its events' },
};

const at = (client: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], client);

/** By its shape, once; the package of no provider is imported. */
function rulesFor(client: unknown): Rules {
  if (typeof at(client, 'messages.create') === 'function') return ANTHROPIC;
  if (
    typeof at(client, 'chat.completions.create') === 'function' ||
    typeof at(client, 'responses.create') === 'function'
  )
    return OPENAI;
  throw new GateConfigError('gateWrap knows no such client: it takes one of OpenAI or of Anthropic');
}

function guarded<T extends object>(target: T, path: string, rules: Rules, settings: Settings): T {
  const known = new Map<PropertyKey, unknown>();
  const valueOf = (name: PropertyKey): unknown => {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof name === 'symbol') return value;
    const here = path === '' ? String(name) : `${path}.${String(name)}`;
    const rule = rules[here];
    if (typeof value === 'function') {
      const method = value.bind(target) as (...given: unknown[]) => unknown;
      if (rule === undefined) {
        // A copy of the client with other options is guarded as the client is.
        if (path === '' && name === 'withOptions')
          return (...given: unknown[]) => guarded(method(...given) as object, '', rules, settings);
        return isClass(value) ? value : method;
      }
      if ('guard' in rule) return guardMethod(method, here, rule.guard, settings);
      return settings.allowUninspectedStream || settings.mode === 'observe' ? method : refusedMethod(here, rule.refuse);
    }
    if (typeof value !== 'object' || value === null) return value;
    // Each part of a client knows the client.
    if (name === '_client') return guarded(value, '', rules, settings);
    if (rule !== undefined && 'refuse' in rule) return refusedAll(value, here, rule.refuse, settings);
    const isPart = '_client' in value || Object.keys(rules).some((path) => path.startsWith(`${here}.`));
    return isPart ? guarded(value, here, rules, settings) : value;
  };
  return new Proxy(target, {
    get(_, name) {
      if (known.has(name)) return known.get(name);
      const value = valueOf(name);
      // What is neither a part nor a method may change below, as a renewed key does.
      if (typeof value === 'function' || typeof value === 'object') known.set(name, value);
      return value;
    },
    set(_, name, value) {
      known.delete(name);
      return Reflect.set(target, name, value, target);
    },
  });
}

const isClass = (value: unknown): boolean =>
  typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));

/** All methods below a name that nothing can be inspected of. */
function refusedAll(value: object, path: string, why: string, settings: Settings): object {
  if (settings.allowUninspectedStream || settings.mode === 'observe') return value;
  return new Proxy(value, {
    get(target, name) {
      const part: unknown = Reflect.get(target, name, target);
      if (typeof name === 'symbol' || name === 'constructor') return part;
      const here = `${path}.${name}`;
      // By the client that each part knows, everything else would come out.
      if (name === '_client') return undefined;
      if (typeof part === 'function') return refusedMethod(here, why);
      return typeof part === 'object' && part !== null ? refusedAll(part, here, why, settings) : part;
    },
  });
}

/**
 * The same client, whose tool calls Gate has allowed: of `messages.create` (Anthropic), `chat.completions.create` and `responses.create`
 * (OpenAI), streams too. What it gives back is what the provider sent; a call that may not run is thrown instead (`GateDenied`, `GatePending`,
 * `GateRateLimited`). What hands calls out uninspected throws `GateConfigError` when it is used. The client that is given is left as it is.
 */
export function gateWrap<Client extends object>(client: Client, options: GateOptions = {}): Client {
  return guarded(client, '', rulesFor(client), settingsOf(options));
}
