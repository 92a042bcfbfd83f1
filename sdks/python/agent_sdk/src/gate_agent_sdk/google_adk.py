"""Google's ADK: a callback before each tool. It takes what ADK gives by its shape, and imports nothing of it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, Unpack

from .adapters import Adapter, AdapterOptions
from .flow import run_async


class _Tool(Protocol):
    name: str


class _ToolContext(Protocol):
    @property
    def function_call_id(self) -> str | None: ...


class BeforeTool(Protocol):
    def __call__(
        self, tool: _Tool, args: dict[str, Any], tool_context: _ToolContext
    ) -> Awaitable[dict[str, Any] | None]: ...


def gate_before_tool(**options: Unpack[AdapterOptions]) -> BeforeTool:
    """For `before_tool_callback` of an agent, as the last one. Where a call may not run, its answer is an error in words."""
    adapter = Adapter(options)

    async def before_tool(tool: _Tool, args: dict[str, Any], tool_context: _ToolContext) -> dict[str, Any] | None:
        refusal = await run_async(adapter.refusal(tool.name, args, tool_context.function_call_id, is_async=True))
        return None if refusal is None else {"error": refusal}

    return before_tool
