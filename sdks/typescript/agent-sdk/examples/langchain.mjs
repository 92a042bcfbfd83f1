/** An agent of LangChain behind Gate. `npm install langchain @langchain/core @gate/agent-sdk`, and `npx gate lite` beside it. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, ToolMessage } from '@langchain/core/messages';
import { createAgent, createMiddleware, tool } from 'langchain';
import { gateToolCalls, refusalText } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

const tools = TOOLS.map(({ name, description, parameters, run }) =>
  tool(run, { name, description, schema: parameters }),
);

// A scripted model, so that the example needs no key. Yours goes here.
class Scripted extends BaseChatModel {
  #turns = 0;
  _llmType() {
    return 'scripted';
  }
  bindTools() {
    return this;
  }
  async _generate() {
    const call = CALLS[this.#turns++];
    const message = new AIMessage(
      call === undefined
        ? { content: 'done' }
        : { content: '', tool_calls: [{ id: call.id, name: call.name, args: call.input, type: 'tool_call' }] },
    );
    return { generations: [{ text: '', message }] };
  }
}

// What Gate needs: one middleware.
const gate = createMiddleware({
  name: 'gate',
  wrapToolCall: gateToolCalls({
    ...options,
    onRefused: (refusal, call) =>
      new ToolMessage({ content: refusalText(refusal), tool_call_id: call.id, status: 'error' }),
  }),
});
const agent = createAgent({ model: new Scripted({}), tools, middleware: [gate] });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Tidy up, and pay the vendor.' }] });
check(messages.map(({ content }) => content));
