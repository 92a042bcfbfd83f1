/** What each example does: the calls that its scripted model makes, tools that count what they did, and what has to come of it. */
import assert from 'node:assert/strict';

export const CALLS = [
  { id: 'call-1', name: 'list_files', input: { path: 'notes' } },
  { id: 'call-2', name: 'delete_file', input: { path: 'notes/todo.txt' } },
  { id: 'call-3', name: 'wire_transfer', input: { to: 'vendor', amount: 25 } },
];

/** What ran, in its order. */
export const ran = [];
const tool = (name, description, properties) => ({
  name,
  description,
  parameters: {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).map(([key, type]) => [key, { type }])),
    required: Object.keys(properties),
    additionalProperties: false,
  },
  run(input) {
    ran.push([name, input]);
    return `${name}: done`;
  },
});
export const TOOLS = [
  tool('list_files', 'Lists the files of a folder.', { path: 'string' }),
  tool('delete_file', 'Deletes a file.', { path: 'string' }),
  tool('wire_transfer', 'Moves money.', { to: 'string', amount: 'number' }),
];

/** `onPending: 'wait'` stays with a call until its person decided: `npx gate decide <id> approve`, or the console. */
export const options = {
  onPending: 'wait',
  wait: { pollIntervalMs: 200 },
  onVerdict: (verdict, { toolName }) =>
    console.log(
      `${toolName}: ${verdict.kind}${verdict.kind === 'pending' ? `; decide ${verdict.correlationId}` : ''}${verdict.payload ? ` ${verdict.payload.error}` : ''}`,
    ),
};

/** The reads and what a person approved have run, in their order, and nothing else has. */
export function check(said) {
  assert.deepEqual(ran, [
    ['list_files', { path: 'notes' }],
    ['wire_transfer', { to: 'vendor', amount: 25 }],
  ]);
  assert.match(JSON.stringify(said), /policy_denied/);
  console.log('as it should be');
}
