/** Tools of Mastra behind Gate. `npm install @mastra/core @gate/agent-sdk`, and `npx gate lite` beside it. */
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { gateTools, refusalText } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

const SHAPES = { string: z.string(), number: z.number() };
const tools = Object.fromEntries(
  TOOLS.map(({ name, description, parameters, run }) => [
    name,
    createTool({
      id: name,
      description,
      inputSchema: z.object(
        Object.fromEntries(Object.entries(parameters.properties).map(([key, { type }]) => [key, SHAPES[type]])),
      ),
      execute: async ({ context }) => ({ said: run(context) }),
    }),
  ]),
);

// The line that Gate needs; an agent takes the tools as it would have taken the others.
const guarded = gateTools(tools, { ...options, onRefused: refusalText });
const said = [];
for (const { name, input, id } of CALLS) said.push(await guarded[name].execute({ context: input }, { toolCallId: id }));
check(said);
