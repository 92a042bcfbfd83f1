/** An agent of Google's ADK behind Gate. `npm install @google/adk @gate/agent-sdk`, and `npx gate lite` beside it. */
import { BaseLlm, FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { gateBeforeTool } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

const tools = TOOLS.map(
  ({ name, description, parameters, run }) =>
    new FunctionTool({
      name,
      description,
      parameters: { ...parameters, type: 'OBJECT' },
      execute: (input) => ({ said: run(input) }),
    }),
);

// A scripted model, so that the example needs no key. Yours goes here.
class Scripted extends BaseLlm {
  #turns = 0;
  constructor() {
    super({ model: 'scripted' });
  }
  async *generateContentAsync() {
    const call = CALLS[this.#turns++];
    const part =
      call === undefined ? { text: 'done' } : { functionCall: { id: call.id, name: call.name, args: call.input } };
    yield { content: { role: 'model', parts: [part] } };
  }
}

// What Gate needs: one callback.
const agent = new LlmAgent({
  name: 'clerk',
  model: new Scripted(),
  tools,
  beforeToolCallback: gateBeforeTool(options),
});
const runner = new InMemoryRunner({ agent, appName: 'example' });
const session = await runner.sessionService.createSession({ appName: 'example', userId: 'you' });
const said = [];
const newMessage = { role: 'user', parts: [{ text: 'Tidy up, and pay the vendor.' }] };
for await (const event of runner.runAsync({ userId: 'you', sessionId: session.id, newMessage }))
  said.push(event.content);
check(said);
