/** An agent of the AI SDK behind Gate. `npm install ai @gate/agent-sdk`, and `npx gate lite` beside it. */
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { gateTools, refusalText } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

const tools = Object.fromEntries(
  TOOLS.map(({ name, description, parameters, run }) => [
    name,
    tool({ description, inputSchema: jsonSchema(parameters), execute: run }),
  ]),
);

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const steps = CALLS.map(({ id, name, input }) => ({
  content: [{ type: 'tool-call', toolCallId: id, toolName: name, input: JSON.stringify(input) }],
  finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
  usage,
  warnings: [],
}));
const last = {
  content: [{ type: 'text', text: 'done' }],
  finishReason: { unified: 'stop', raw: 'stop' },
  usage,
  warnings: [],
};
// A scripted model, so that the example needs no key. Yours goes here.
const model = new MockLanguageModelV3({ doGenerate: [...steps, last] });

const { steps: made } = await generateText({
  model,
  prompt: 'Tidy up, and pay the vendor.',
  // The line that Gate needs.
  tools: gateTools(tools, { ...options, onRefused: refusalText }),
  stopWhen: stepCountIs(5),
});
check(made.map(({ toolResults }) => toolResults));
