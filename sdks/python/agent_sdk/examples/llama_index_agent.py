"""An agent of LlamaIndex behind Gate. `pip install llama-index-core gate-agent-sdk`, and `npx gate lite` beside it."""

import asyncio
from typing import Any

from acts import CALLS, OPTIONS, TOOLS, check
from gate_agent_sdk.llama_index import gate_tool
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import FunctionTool, ToolSelection


class Scripted(FunctionCallingLLM):
    """So that the example needs no key. Your model goes here."""

    turns: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    async def astream_chat_with_tools(self, *_: Any, **__: Any) -> Any:
        async def said() -> Any:
            yield ChatResponse(message=ChatMessage(role="assistant", content="done"), delta="done")

        return said()

    async def achat_with_tools(self, *_: Any, **__: Any) -> ChatResponse:
        self.turns += 1
        return ChatResponse(message=ChatMessage(role="assistant", content="done"))

    def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[ToolSelection]:
        if self.turns > len(CALLS):
            return []
        name, given = CALLS[self.turns - 1]
        return [ToolSelection(tool_id=f"call-{self.turns}", tool_name=name, tool_kwargs=given)]

    def _prepare_chat_with_tools(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    chat = complete = stream_chat = stream_complete = _prepare_chat_with_tools
    achat = acomplete = astream_chat = astream_complete = _prepare_chat_with_tools


async def main() -> None:
    # What Gate needs: the tools behind it.
    tools: Any = [gate_tool(FunctionTool.from_defaults(tool), **OPTIONS) for tool in TOOLS]
    agent = FunctionAgent(llm=Scripted(), tools=tools, streaming=False)
    running = agent.run("Tidy up, and pay the vendor.")
    said = [str(event.tool_output) async for event in running.stream_events() if isinstance(event, ToolCallResult)]
    await running
    check(said)


asyncio.run(main())
