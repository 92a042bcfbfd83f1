/** An agent of the OpenAI Agents SDK behind Gate. `npm install @openai/agents-core @gate/agent-sdk`, and `npx gate lite` beside it. */
import { Agent, Runner, tool, Usage } from '@openai/agents-core';
import { gateInputGuardrail } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

// What Gate needs: one guardrail for each tool.
const gate = gateInputGuardrail(options);
const tools = TOOLS.map(({ name, description, parameters, run }) =>
  tool({ name, description, parameters, strict: true, execute: run, inputGuardrails: [gate] }),
);

// A scripted model, so that the example needs no key. Yours goes here.
let turns = 0;
const model = {
  async getResponse() {
    const call = CALLS[turns++];
    const output =
      call === undefined
        ? { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }
        : {
            type: 'function_call',
            callId: call.id,
            name: call.name,
            status: 'completed',
            arguments: JSON.stringify(call.input),
          };
    return { usage: new Usage(), output: [output] };
  },
  getStreamedResponse() {
    throw new Error('the example streams nothing');
  },
};

const runner = new Runner({ tracingDisabled: true, modelProvider: { getModel: () => model } });
const { history } = await runner.run(new Agent({ name: 'clerk', tools, model }), 'Tidy up, and pay the vendor.');
check(history);
