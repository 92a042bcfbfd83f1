import { GateMalformedCall } from '../errors.js';
import type { ToolCall } from '../types.js';
import { callOfText, callOfValue, fieldsOf, listOf, Pieces, textOf, UNEXTRACTABLE } from './reading.js';
import type { Surface } from './surface.js';

/** Tools that Anthropic defines and the caller runs; their calls arrive as any other `tool_use`. */
const RUN_BY_CALLER = /^(?:custom|(?:bash|text_editor|computer|memory)_\d+)$/;
/** Blocks that say something and run nothing; results are of a tool whose call has a block of its own. */
const SAYS = new Set([
  'text',
  'thinking',
  'redacted_thinking',
  'container_upload',
  'compaction',
  'fallback',
  'mcp_tool_listing',
]);
/** A tool that Anthropic ran, or what a later version adds: that is not taken for harmless. */
const isHosted = (type: unknown): boolean => !SAYS.has(String(type)) && !String(type).endsWith('_tool_result');

const hostedBlock = (name: unknown): GateMalformedCall =>
  new GateMalformedCall(
    textOf(name) ?? UNEXTRACTABLE,
    'the provider ran this tool itself, and Gate never saw its call',
  );

const NO_CALL = 'the response says that a tool is to be used, and has no call that can be read';

/** Anthropic's Messages API. */
export const anthropicMessages: Surface = {
  hostedToolIn(request) {
    const { tools, mcp_servers: servers } = fieldsOf(request);
    if (listOf(servers).length > 0) return 'mcp_servers';
    const hosted = listOf(tools).find((tool) => {
      const { type } = fieldsOf(tool);
      return type !== undefined && type !== null && !RUN_BY_CALLER.test(textOf(type) ?? '');
    });
    return hosted === undefined ? undefined : (textOf(fieldsOf(hosted)['type']) ?? UNEXTRACTABLE);
  },

  callsIn(response, allowHosted) {
    const { content, stop_reason: stopped } = fieldsOf(response);
    const calls: ToolCall[] = [];
    for (const block of listOf(content).map(fieldsOf)) {
      if (block['type'] === 'tool_use') calls.push(callOfValue(block['id'], block['name'], block['input']));
      else if (!allowHosted && isHosted(block['type'])) throw hostedBlock(block['name'] ?? block['type']);
    }
    if (stopped === 'tool_use' && calls.length === 0) throw new GateMalformedCall(UNEXTRACTABLE, NO_CALL);
    return calls.length === 0 ? [] : [calls];
  },

  assembler(allowHosted) {
    const open = new Pieces<unknown>();
    const given = new Map<unknown, unknown>();
    let seen = 0;
    return {
      push(event) {
        const { type, index, content_block: block, delta } = fieldsOf(event);
        if (type === 'content_block_start') {
          const { type: kind, id, name, input } = fieldsOf(block);
          if (kind === 'tool_use') {
            open.begin(index, id, name);
            given.set(index, input);
          } else if (!allowHosted && isHosted(kind)) throw hostedBlock(name ?? kind);
        } else if (type === 'content_block_delta' && fieldsOf(delta)['type'] === 'input_json_delta') {
          // A tool that the provider ran sends its arguments the same way.
          if (open.has(index)) open.add(index, fieldsOf(delta)['partial_json']);
          else if (!allowHosted)
            throw new GateMalformedCall(UNEXTRACTABLE, 'arguments of a tool call that did not begin');
        } else if (type === 'content_block_stop') {
          const call = open.take(index);
          if (call === undefined) return [];
          seen += 1;
          const input = given.get(index);
          given.delete(index);
          return [
            call.text === '' && input !== undefined
              ? callOfValue(call.id, call.name, input)
              : callOfText(call.id, call.name, call.text),
          ];
        } else if (type === 'message_delta' && fieldsOf(delta)['stop_reason'] === 'tool_use' && seen === 0) {
          throw new GateMalformedCall(UNEXTRACTABLE, NO_CALL);
        }
        return [];
      },
      end: () => open.end(),
    };
  },
};
