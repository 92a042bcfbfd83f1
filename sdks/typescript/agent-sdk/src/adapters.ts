import { GateConfigError, GateDenied, GatePending, GateRateLimited } from './errors.js';
import { type GuardOptions, guardToolCall } from './inspect.js';
import { strictJson } from './strict-json.js';
import type { ToolCall } from './types.js';

/** What a person or a rule did not let run. */
export type Refusal = GateDenied | GatePending | GateRateLimited;

export interface AdapterOptions extends Omit<GuardOptions, 'idempotencyId' | 'signal'> {
  /**
   * What the framework is given in place of the tool's result where a call may not run, so that the model reads why. Without it the error is
   * thrown, as the framework treats errors of tools. A Gate that was not reached is always thrown.
   */
  readonly onRefused?: (refusal: Refusal, call: ToolCall) => unknown;
}

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof GateDenied || error instanceof GatePending || error instanceof GateRateLimited;

/** A refusal in words for a model: what was refused, under which code, why, and what would be allowed. */
export function refusalText(refusal: Refusal): string {
  if (refusal instanceof GatePending)
    return `${refusal.toolName} was not run: it waits for a person (${refusal.correlationId}). ${refusal.reviewReasons.join(' ')}`.trim();
  const instead = refusal instanceof GateDenied ? (refusal.advice?.allowed ?? '') : '';
  return [`${refusal.toolName} was not run: ${refusal.code}.`, ...refusal.reasons, instead].join(' ').trim();
}

/** Runs what is given once Gate allowed the call, and only then. What is run is what was judged: a copy that nobody else holds. */
async function guarded<Result>(
  call: Omit<ToolCall, 'id'> & { readonly id: string | undefined },
  { onRefused, ...options }: AdapterOptions,
  signal: AbortSignal | undefined,
  run: (input: unknown) => Result,
): Promise<Awaited<Result>> {
  const judged: ToolCall = {
    id: call.id ?? crypto.randomUUID(),
    name: call.name,
    input: copyOf(call.name, call.input),
  };
  try {
    await guardToolCall(judged, { ...options, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (onRefused === undefined || !isRefusal(error)) throw error;
    return (await onRefused(error, judged)) as Awaited<Result>;
  }
  return await run(judged.input);
}

function copyOf(name: string, input: unknown): unknown {
  try {
    return structuredClone(input);
  } catch (cause) {
    throw new GateConfigError(`arguments of ${name} are no plain JSON: ${(cause as Error).message}`);
  }
}

interface ExecutableTool {
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
}

/**
 * The tools of the AI SDK or of Mastra with every `execute` behind Gate, under the same names. A tool without one is run by somebody else, the
 * provider or the page, so Gate would not see its calls: that is a `GateConfigError`.
 */
export function gateTools<Tools extends Readonly<Record<string, ExecutableTool>>>(
  tools: Tools,
  options: AdapterOptions = {},
): Tools {
  const guardedTools = Object.entries(tools).map(([name, tool]) => {
    const execute = tool.execute as ((input: unknown, context?: CallContext) => unknown) | undefined;
    if (execute === undefined)
      throw new GateConfigError(
        `the tool ${name} has no execute: guard its calls where they are run, by guardToolCall`,
      );
    const behindGate = (input: unknown, context?: CallContext): Promise<unknown> => {
      const call = { id: context?.toolCallId, name, input };
      return guarded(call, options, context?.abortSignal, async (judged) => {
        const result = await execute.call(tool, judged, context);
        return isStream(result) ? lastOf(result) : result;
      });
    };
    return [name, withMembers(tool, { execute: behindGate })] as const;
  });
  return Object.fromEntries(guardedTools) as Tools;
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** A tool may give results on the way; the last one counts. */
async function lastOf(results: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const result of results) last = result;
  return last;
}

interface CallContext {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
}

/** The object as it is, of its class too, but for the members that are given. */
const withMembers = <T extends object>(of: T, members: Partial<T>): T =>
  new Proxy(of, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

interface LangChainRequest {
  readonly toolCall: { readonly id?: string | undefined; readonly name: string; readonly args: unknown };
}

/** For `createMiddleware({ name: 'gate', wrapToolCall: gateToolCalls(…) })` of LangChain. `onRefused` gives a `ToolMessage`. */
export const gateToolCalls =
  (options: AdapterOptions = {}) =>
  <Request extends LangChainRequest, Result>(
    request: Request,
    handler: (request: Request) => Result | Promise<Result>,
  ): Promise<Result> => {
    const { id, name, args } = request.toolCall;
    return guarded({ id, name, input: args }, options, undefined, (judged) =>
      handler({ ...request, toolCall: { ...request.toolCall, args: judged } }),
    ) as Promise<Result>;
  };

interface ToolInputGuardrail {
  readonly type: 'tool_input';
  readonly name: string;
  run(data: { toolCall: { callId: string; name: string; arguments: string } }): Promise<{
    behavior: { type: 'allow' } | { type: 'rejectContent'; message: string };
  }>;
}

/** A guardrail for `inputGuardrails` of a tool of the OpenAI Agents SDK. Where a call may not run, the model reads why. */
export const gateInputGuardrail = (options: GuardOptions = {}): ToolInputGuardrail => ({
  type: 'tool_input',
  name: 'gate',
  async run({ toolCall }) {
    const read = strictJson(toolCall.arguments === '' ? '{}' : toolCall.arguments);
    if ('fault' in read)
      return {
        behavior: {
          type: 'rejectContent',
          message: `${toolCall.name} was not run: its arguments cannot be judged: ${read.fault}`,
        },
      };
    try {
      await guardToolCall({ id: toolCall.callId, name: toolCall.name, input: read.value }, options);
      return { behavior: { type: 'allow' } };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { behavior: { type: 'rejectContent', message: refusalText(error) } };
    }
  },
});

/** For `beforeToolCallback` of an agent of Google's ADK. Where a call may not run, its answer is an error in words. */
export const gateBeforeTool =
  (options: GuardOptions = {}) =>
  async (params: {
    tool: { name: string };
    args: Record<string, unknown>;
    context: { functionCallId?: string | undefined };
  }): Promise<Record<string, unknown> | undefined> => {
    const { tool, args, context } = params;
    const call = {
      name: tool.name,
      input: args,
      ...(context.functionCallId === undefined ? {} : { id: context.functionCallId }),
    };
    try {
      await guardToolCall(call, options);
      return undefined;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { error: refusalText(error) };
    }
  };

interface CallableTool {
  readonly metadata: { readonly name: string };
  readonly call?: ((input: never) => unknown) | undefined;
  readonly bind?: ((more: never) => CallableTool) | undefined;
}

/** A tool of LlamaIndex whose `call` is behind Gate, and so is each tool that its `bind` makes. */
export function gateTool<Tool extends CallableTool>(tool: Tool, options: AdapterOptions = {}): Tool {
  const { name } = tool.metadata;
  const call = tool.call as ((input: unknown) => unknown) | undefined;
  if (call === undefined) throw new GateConfigError(`the tool ${name} has no call`);
  const bind = tool.bind as ((more: unknown) => CallableTool) | undefined;
  const members: Partial<CallableTool> = {
    call: (input: unknown) =>
      guarded({ id: undefined, name, input }, options, undefined, (judged) => call.call(tool, judged)),
    ...(bind && { bind: (more: unknown) => gateTool(bind.call(tool, more), options) }),
  };
  return withMembers(tool, members as Partial<Tool>);
}

/** What carries out the actions of a model that uses a computer, behind Gate: each action is a call of `computer`. */
export const gateComputerUse =
  <Action, Result>(run: (action: Action) => Result, options: AdapterOptions = {}) =>
  (action: Action): Promise<Awaited<Result>> =>
    guarded({ id: undefined, name: 'computer', input: { action, actions: null } }, options, undefined, (judged) =>
      run((judged as { readonly action: Action }).action),
    );
