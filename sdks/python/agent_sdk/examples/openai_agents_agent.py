"""An agent of the OpenAI Agents SDK behind Gate. `pip install openai-agents gate-agent-sdk`, and `npx gate lite` beside it."""

import asyncio
import json
from typing import Any

from acts import CALLS, OPTIONS, TOOLS, check
from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from gate_agent_sdk.openai_agents import gate_input_guardrail
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Scripted(Model):
    """So that the example needs no key. Your model goes here."""

    turns = 0

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        turn, self.turns = self.turns, self.turns + 1
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        said: Any = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[text]
        )
        if turn < len(CALLS):
            name, given = CALLS[turn]
            said = ResponseFunctionToolCall(
                type="function_call", call_id=f"call-{turn}", name=name, arguments=json.dumps(given)
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


# What Gate needs: one guardrail of each tool.
gate = gate_input_guardrail(**OPTIONS)
tools = [function_tool(tool, tool_input_guardrails=[gate]) for tool in TOOLS]
agent = Agent(name="clerk", model=Scripted(), tools=tools)
result = asyncio.run(Runner.run(agent, "Tidy up, and pay the vendor."))
check(result.to_input_list())
