import { GateMalformedCall } from '../errors.js';
import type { ToolCall } from '../types.js';
import { callOfFreeText, callOfText, fieldsOf, listOf, Pieces, UNEXTRACTABLE } from './reading.js';
import type { Surface } from './surface.js';

/** The id of a call in the form from before tool calls had one. */
const LEGACY_ID = 'function_call';
const NO_CALL = 'the response says that tools are to be called, and has no call that can be read';

const isThere = (value: unknown): boolean => value !== undefined && value !== null;

function callOf(value: unknown): ToolCall {
  const { id, type, function: named, custom } = fieldsOf(value);
  if (type === 'custom' || isThere(custom))
    return callOfFreeText(id, fieldsOf(custom)['name'], fieldsOf(custom)['input']);
  return callOfText(id, fieldsOf(named)['name'], fieldsOf(named)['arguments']);
}

interface OpenChoice {
  readonly calls: Pieces<unknown>;
  readonly order: unknown[];
  readonly customs: Set<unknown>;
}

/** OpenAI's Chat Completions, and every endpoint that speaks it. */
export const openaiChat: Surface = {
  hostedToolIn(request) {
    const { tools, web_search_options: search } = fieldsOf(request);
    if (search !== undefined && search !== null) return 'web_search_options';
    const hosted = listOf(tools).find((tool) => !['function', 'custom'].includes(String(fieldsOf(tool)['type'])));
    return hosted === undefined ? undefined : String(fieldsOf(hosted)['type']);
  },

  callsIn(response) {
    return listOf(fieldsOf(response)['choices']).flatMap((choice) => {
      const { message, finish_reason: finished } = fieldsOf(choice);
      const { tool_calls: given, function_call: legacy } = fieldsOf(message);
      const calls = listOf(given).map(callOf);
      if (legacy !== undefined && legacy !== null)
        calls.push(callOfText(LEGACY_ID, fieldsOf(legacy)['name'], fieldsOf(legacy)['arguments']));
      if ((finished === 'tool_calls' || finished === 'function_call') && calls.length === 0)
        throw new GateMalformedCall(UNEXTRACTABLE, NO_CALL);
      return calls.length === 0 ? [] : [calls];
    });
  },

  assembler() {
    const choices = new Map<unknown, OpenChoice>();
    const choiceOf = (index: unknown): OpenChoice => {
      const known = choices.get(index);
      if (known !== undefined) return known;
      const made = { calls: new Pieces<unknown>(), order: [], customs: new Set<unknown>() };
      choices.set(index, made);
      return made;
    };
    const add = (open: OpenChoice, index: unknown, id: unknown, piece: unknown, isCustom: boolean): void => {
      const { name, arguments: text, input } = fieldsOf(piece);
      if (!open.calls.has(index)) {
        open.calls.begin(index, id, name);
        open.order.push(index);
        if (isCustom) open.customs.add(index);
      }
      open.calls.same(index, id, name);
      open.calls.add(index, isCustom ? input : text);
    };
    return {
      push(event) {
        return listOf(fieldsOf(event)['choices']).flatMap((choice) => {
          const { index, delta, finish_reason: finished } = fieldsOf(choice);
          const { tool_calls: pieces, function_call: legacy } = fieldsOf(delta);
          for (const piece of listOf(pieces)) {
            const { index: at, id, function: named, custom } = fieldsOf(piece);
            if (typeof at !== 'number')
              throw new GateMalformedCall(UNEXTRACTABLE, 'a piece of a tool call has no index');
            add(choiceOf(index), at, id, custom ?? named, isThere(custom));
          }
          if (legacy !== undefined && legacy !== null) add(choiceOf(index), LEGACY_ID, LEGACY_ID, legacy, false);
          if (finished === undefined || finished === null) return [];
          const open = choices.get(index);
          choices.delete(index);
          if (open === undefined) {
            if (finished === 'tool_calls' || finished === 'function_call')
              throw new GateMalformedCall(UNEXTRACTABLE, NO_CALL);
            return [];
          }
          return open.order.map((at) => {
            const { id, name, text } = open.calls.take(at) as { id: unknown; name: unknown; text: string };
            return open.customs.has(at) ? callOfFreeText(id, name, text) : callOfText(id, name, text);
          });
        });
      },
      end() {
        for (const { calls } of choices.values()) calls.end();
      },
    };
  },
};
