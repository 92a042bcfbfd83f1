import { GateMalformedCall } from '../errors.js';
import type { ToolCall } from '../types.js';
import { callOfFreeText, callOfText, callOfValue, fieldsOf, listOf, textOf, UNEXTRACTABLE } from './reading.js';
import type { Surface } from './surface.js';

/** Tools whose calls the caller runs; `shell` alone may be run by either. */
const RUN_BY_CALLER = new Set(['function', 'custom', 'local_shell', 'apply_patch', 'computer', 'computer_use_preview']);
/** Items that say something and run nothing. */
const SAYS = new Set(['message', 'reasoning', 'compaction']);

const isHosted = (tool: unknown): boolean => {
  const { type, environment } = fieldsOf(tool);
  if (type === 'shell') return fieldsOf(environment)['type'] !== 'local';
  return !RUN_BY_CALLER.has(String(type));
};

/** The call in an item of the output; `undefined` where it is none that the caller would run. */
function callOf(value: unknown, allowHosted: boolean): ToolCall | undefined {
  const item = fieldsOf(value);
  const { type, call_id: id } = item;
  // Tools of two namespaces may have one name.
  const space = textOf(item['namespace']);
  const name = space === undefined ? item['name'] : `${space}.${textOf(item['name']) ?? ''}`;
  switch (type) {
    case 'function_call':
      return callOfText(id, name, item['arguments']);
    case 'custom_tool_call':
      return callOfFreeText(id, name, item['input']);
    case 'computer_call':
      return callOfValue(id, 'computer', { action: item['action'] ?? null, actions: item['actions'] ?? null });
    case 'local_shell_call':
    case 'shell_call':
      return callOfValue(id, type === 'shell_call' ? 'shell' : 'local_shell', item['action']);
    case 'apply_patch_call':
      return callOfValue(id, 'apply_patch', item['operation']);
    default:
      // What a later version of the provider adds is not taken for harmless.
      if (allowHosted || SAYS.has(String(type)) || String(type).endsWith('_output')) return undefined;
      throw new GateMalformedCall(
        textOf(type) ?? UNEXTRACTABLE,
        `the provider ran ${String(type)} itself, and Gate never saw its call`,
      );
  }
}

/** The event that ends each kind of call before its item is done; whichever comes first is held. */
const CALL_ENDS = new Set(['response.function_call_arguments.done', 'response.custom_tool_call_input.done']);

/** OpenAI's Responses API. */
export const openaiResponses: Surface = {
  hostedToolIn(request) {
    const hosted = listOf(fieldsOf(request)['tools']).find(isHosted);
    return hosted === undefined ? undefined : String(fieldsOf(hosted)['type']);
  },

  callsIn(response, allowHosted) {
    const calls = listOf(fieldsOf(response)['output']).flatMap((item) => callOf(item, allowHosted) ?? []);
    return calls.length === 0 ? [] : [calls];
  },

  assembler(allowHosted) {
    /** Items that began, by their place in the output, as they were announced. */
    const open = new Map<unknown, unknown>();
    const judged = new Map<string, string>();
    /** A call is judged once; what comes later under its id must be the same call. */
    const once = (call: ToolCall | undefined): readonly ToolCall[] => {
      if (call === undefined) return [];
      const text = JSON.stringify([call.name, call.input]);
      const before = judged.get(call.id);
      if (before === text) return [];
      if (before !== undefined) throw new GateMalformedCall(call.name, 'the stream has two calls under one id');
      judged.set(call.id, text);
      return [call];
    };
    return {
      push(event) {
        const { type, output_index: index, item, response } = fieldsOf(event);
        if (type === 'response.output_item.added') {
          open.set(index, item);
          // Most begin empty; one that is whole already is not handed out before it is judged.
          const { arguments: text, input } = fieldsOf(item);
          return text || input ? once(callOf(item, allowHosted)) : [];
        }
        if (CALL_ENDS.has(String(type))) {
          const announced = fieldsOf(open.get(index));
          const { arguments: text, input } = fieldsOf(event);
          return once(
            callOf(
              {
                ...announced,
                ...(text === undefined ? {} : { arguments: text }),
                ...(input === undefined ? {} : { input }),
              },
              allowHosted,
            ),
          );
        }
        if (type === 'response.output_item.done') {
          open.delete(index);
          return once(callOf(item, allowHosted));
        }
        // However it ended; those that begin it have no output yet.
        return listOf(fieldsOf(response)['output']).flatMap((part) => once(callOf(part, allowHosted)));
      },
      end() {
        for (const item of open.values()) {
          if (!SAYS.has(String(fieldsOf(item)['type'])))
            throw new GateMalformedCall(
              textOf(fieldsOf(item)['name']) ?? UNEXTRACTABLE,
              'the stream ended inside a tool call',
            );
        }
      },
    };
  },
};
