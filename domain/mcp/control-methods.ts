import { z } from 'zod';
import type { Json, JsonObject } from '../../contracts/json.js';
import { foreignText } from '../text.js';
import { MAX_SEALED_CURSOR } from './list-cursors.js';
import { MAX_NAME, MAX_URI, READ_METHODS } from './read-methods.js';

export interface ControlMethod {
  /** Members that `params` may have. */
  readonly params: ReadonlySet<string>;
  /** Those of them that are forwarded to the upstream: as the schema of MCP has them and no larger. */
  readonly sent: z.ZodObject;
  /** Whether a model reads the answer: then Gate looks at it first, for words that instruct one (domain/tool-definitions/watch.ts). */
  readonly readByModel: boolean;
}

/** `own`: what is read here and not sent. */
const method = (
  readByModel: ControlMethod['readByModel'],
  sent: z.ZodObject,
  own: readonly string[] = [],
): ControlMethod => ({ params: new Set([...Object.keys(sent.shape), ...own, '_meta']), sent, readByModel });

/** What somebody types, and what he chose before. */
const MAX_VALUE = 4_096;
const MAX_CHOSEN = 64;
/** All of it together is read before it is sent, in the process that serves. */
const MAX_CHOSEN_CHARACTERS = 16_384;

const name = z.string().min(1).max(MAX_NAME);
const uri = z.string().min(1).max(MAX_URI);
const value = z.string().max(MAX_VALUE);
const nothing = z.strictObject({});
const listed = z.strictObject({ cursor: z.string().max(MAX_SEALED_CURSOR).optional() });
const ofResource = z.strictObject({ uri });
const toComplete = z.strictObject({
  ref: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('ref/prompt'), name, title: z.string().max(MAX_NAME).optional() }),
    z.strictObject({ type: z.literal('ref/resource'), uri }),
  ]),
  argument: z.strictObject({ name, value }),
  context: z
    .strictObject({
      arguments: z
        .record(name, value)
        .refine((chosen) => Object.keys(chosen).length <= MAX_CHOSEN, `more than ${MAX_CHOSEN} members`)
        .refine(
          (chosen) => Object.entries(chosen).flat().join('').length <= MAX_CHOSEN_CHARACTERS,
          `more than ${MAX_CHOSEN_CHARACTERS} characters`,
        )
        .optional(),
    })
    .optional(),
});

const METHODS = {
  // Gate introduces itself to the upstream; what an agent says about itself is not forwarded.
  initialize: method(true, nothing, ['protocolVersion', 'capabilities', 'clientInfo']),
  ping: method(false, nothing),
  'tools/list': method(true, listed),
  'resources/list': method(true, listed),
  'resources/templates/list': method(true, listed),
  'resources/subscribe': method(false, ofResource),
  'resources/unsubscribe': method(false, ofResource),
  'prompts/list': method(true, listed),
  'completion/complete': method(true, toComplete),
  // The level is of the agent's session with Gate: none of it is sent.
  'logging/setLevel': method(false, nothing, ['level']),
};
export type ControlMethodName = keyof typeof METHODS;

/** What is wrong with what a control method would send, and in which member; `null` when nothing is. */
export function controlFault(
  method: string,
  params: Json | undefined,
): { readonly detail: string; readonly field: string } | null {
  const sent = CONTROL_METHODS.get(method)?.sent.safeParse(sentBy(method, params));
  const issue = sent?.error?.issues[0];
  if (!issue) return null;
  const field = ['params', ...issue.path].join('.');
  return { detail: `\`${foreignText(field, 64)}\`: ${foreignText(issue.message, 200)}`, field: foreignText(field, 64) };
}

/** Whether it gives a list, page by page. */
export const isList = (method: string): boolean => CONTROL_METHODS.get(method)?.sent === listed;

/** The members of `params` that are forwarded. */
export function sentBy(method: string, params: Json | undefined): JsonObject {
  const given = params !== null && typeof params === 'object' && !Array.isArray(params) ? (params as JsonObject) : {};
  const members = Object.keys(CONTROL_METHODS.get(method)?.sent.shape ?? {});
  return Object.fromEntries(
    members.flatMap((member) => (given[member] === undefined ? [] : [[member, given[member] as Json]])),
  );
}

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
