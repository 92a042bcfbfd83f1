import {
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  type McpServer,
  type ServerContext,
  type ServerNotifier,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** Signs what the server gives its clients to bring back. */
export const STATES = createRequestStateCodec<{ step: number }>({ key: 'the key of a server of the tests, 32 bytes' });

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });
const form = (message: string, name: string, type = 'string') =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type } }, required: [name] },
  } as never);
const sample = (words: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens });
const said = ({ mcpReq }: ServerContext, key: string): Record<string, unknown> | undefined => {
  const all = mcpReq.inputResponses as Record<string, Record<string, unknown>> | undefined;
  return all?.[key];
};
const contentOf = (context: ServerContext, key: string, name: string): unknown =>
  (said(context, key)?.['content'] as Record<string, unknown> | undefined)?.[name];
const can = ({ mcpReq }: ServerContext): Record<string, unknown> =>
  ((mcpReq.envelope as Record<string, unknown> | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ??
    {}) as Record<string, unknown>;

/** Tools and a prompt that ask their client something before they answer, as the conformance suite of MCP 2026-07-28 wants them. */
export function addAskingTools(server: McpServer): void {
  const tool = (name: string, answer: (context: ServerContext) => unknown): void =>
    void server.registerTool(
      name,
      { description: `Conformance: ${name}.`, inputSchema: z.object({}) },
      (_given, context) => answer(context) as never,
    );
  tool('test_input_required_result_elicitation', (context) => {
    const name = contentOf(context, 'user_name', 'name');
    if (typeof name === 'string') return text(`Hello, ${name}!`);
    return inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } });
  });
  tool('test_input_required_result_sampling', (context) => {
    const answer = said(context, 'capital_question');
    if (answer) return text(`Said: ${JSON.stringify(answer['content'])}`);
    return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?', 100) } });
  });
  tool('test_input_required_result_list_roots', (context) => {
    const answer = said(context, 'client_roots');
    if (answer) return text(`Roots: ${JSON.stringify(answer['roots'])}`);
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  for (const name of ['test_input_required_result_request_state', 'test_input_required_result_tampered_state'])
    tool(name, async (context) => {
      if (said(context, 'confirm') && context.mcpReq.requestState<{ step: number }>()) return text('state-ok');
      return inputRequired({
        inputRequests: { confirm: form('Please confirm', 'ok', 'boolean') },
        requestState: await STATES.mint({ step: 1 }),
      });
    });
  tool('test_input_required_result_multiple_inputs', async (context) => {
    if (said(context, 'user_name') && said(context, 'greeting') && said(context, 'client_roots'))
      return text('all said');
    return inputRequired({
      inputRequests: {
        user_name: form('What is your name?', 'name'),
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await STATES.mint({ step: 1 }),
    });
  });
  tool('test_input_required_result_multi_round', async (context) => {
    const step = context.mcpReq.requestState<{ step: number }>()?.step ?? 0;
    if (step === 2 && said(context, 'step2')) return text(`Color: ${String(contentOf(context, 'step2', 'color'))}`);
    if (step >= 1 && (step === 2 || said(context, 'step1')))
      return inputRequired({
        inputRequests: { step2: form('Step 2: What is your favorite color?', 'color') },
        requestState: await STATES.mint({ step: 2 }),
      });
    return inputRequired({
      inputRequests: { step1: form('Step 1: What is your name?', 'name') },
      requestState: await STATES.mint({ step: 1 }),
    });
  });
  tool('test_input_required_result_capabilities', (context) => {
    if (said(context, 'sampled') || said(context, 'told')) return text('answered');
    const inputRequests = {
      ...(can(context)['sampling'] !== undefined && { sampled: sample('Say something', 10) }),
      ...(can(context)['elicitation'] !== undefined && { told: form('Say something', 'words') }),
    };
    return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text('nobody to ask');
  });
  // A server may ask only what its client declared.
  tool('test_missing_capability', () => inputRequired({ inputRequests: { sampled: sample('Say something', 10) } }));
  tool('test_streaming_elicitation', () => inputRequired({ inputRequests: { told: form('Say something', 'words') } }));
  tool('test_logging_tool', async ({ mcpReq }) => {
    await mcpReq.log('info', 'said only to who asks for it');
    return text('logged');
  });
  server.registerTool(
    'test_mirrored_region',
    {
      description: 'Conformance: a parameter that is repeated in a header.',
      inputSchema: fromJsonSchema({
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
      } as never),
    },
    (given) => text(JSON.stringify(given)),
  );
  server.registerPrompt('test_input_required_result_prompt', { description: 'Conformance: asks for its context.' }, ((
    context: ServerContext,
  ) => {
    const given = contentOf(context, 'user_context', 'context');
    if (typeof given !== 'string')
      return inputRequired({ inputRequests: { user_context: form('What context should the prompt use?', 'context') } });
    return { messages: [{ role: 'user', content: { type: 'text', text: `With ${given}.` } }] };
  }) as never);
}

/** What is asked for to see whether whoever listens is told of it. */
export function addChangingTools(
  server: McpServer,
  notify: () => Pick<ServerNotifier, 'toolsChanged' | 'promptsChanged'>,
): void {
  const changes = { test_trigger_tool_change: 'toolsChanged', test_trigger_prompt_change: 'promptsChanged' } as const;
  for (const [name, change] of Object.entries(changes))
    server.registerTool(name, { description: `Conformance: ${name}.`, inputSchema: z.object({}) }, () => {
      notify()[change]();
      return text('changed');
    });
}
