/** Tools of LlamaIndex behind Gate. `npm install @llamaindex/core @gate/agent-sdk`, and `npx gate lite` beside it. */
import { FunctionTool } from '@llamaindex/core/tools';
import { gateTool, refusalText } from '@gate/agent-sdk';
import { CALLS, check, options, TOOLS } from './acts.mjs';

// The line that Gate needs; an agent takes the tools as it would have taken the others.
const guarded = TOOLS.map(({ name, description, parameters, run }) =>
  gateTool(FunctionTool.from(run, { name, description, parameters }), { ...options, onRefused: refusalText }),
);
const said = [];
for (const { name, input } of CALLS)
  said.push(await guarded.find(({ metadata }) => metadata.name === name).call(input));
check(said);
