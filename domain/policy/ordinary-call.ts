/**
 * The call that every case of rules starts from, in the repository and in `gate policy test`: in the middle of a working day, of a tool that its
 * operator has classed as harmless (policies/README.md). A case states the differences.
 */
export const ORDINARY_CALL = {
  tool_type: 'list_files',
  agent_history: { last_tool: null, recent_sequence: [] },
  intent_score: 0.1,
  agent_id: 'acme/files-bot',
  agent_kind: 'mcp',
  method: 'call_tool',
  current_time: '2026-11-18T10:00:00.000Z',
  recent_request_count: 1,
  arguments: {},
};
