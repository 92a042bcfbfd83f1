"""LangChain and LangGraph: a middleware that asks Gate before each tool call. Needs `langchain`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Unpack, cast

from langchain.agents.middleware import AgentMiddleware
from langchain.messages import ToolMessage
from langchain.tools.tool_node import ToolCallRequest
from langgraph.types import Command

from .adapters import Adapter, AdapterOptions, copy_of
from .flow import Flow, run, run_async

_Result = ToolMessage | Command[Any]


class GateMiddleware(AgentMiddleware[Any, Any, Any]):
    """
    For `create_agent(…, middleware=[…, GateMiddleware()])`, as the last one, so that none below it changes a call that was judged. Its
    `wrap_tool_call` and `awrap_tool_call` are also what `ToolNode` of LangGraph takes under these names.
    """

    def __init__(self, **options: Unpack[AdapterOptions]) -> None:
        super().__init__()
        self._adapter = Adapter(options)

    def _judged(self, request: ToolCallRequest, is_async: bool) -> Flow[ToolCallRequest | ToolMessage]:
        call = request.tool_call
        judged = copy_of(call["name"], call["args"])
        words = yield from self._adapter.refusal(call["name"], judged, call["id"], is_async)
        if words is not None:
            return ToolMessage(content=words, name=call["name"], tool_call_id=call["id"], status="error")
        return request.override(tool_call={**call, "args": cast("dict[str, Any]", judged)})

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Result]) -> _Result:
        judged = run(self._judged(request, is_async=False))
        return judged if isinstance(judged, ToolMessage) else handler(judged)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Result]]
    ) -> _Result:
        judged = await run_async(self._judged(request, is_async=True))
        return judged if isinstance(judged, ToolMessage) else await handler(judged)
