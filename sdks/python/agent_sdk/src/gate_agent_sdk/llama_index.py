"""LlamaIndex: tools that ask Gate before they run. Needs `llama-index-core`."""

from __future__ import annotations

from typing import Any, Unpack, cast

from llama_index.core.tools import AsyncBaseTool, BaseTool, ToolMetadata, ToolOutput, adapt_to_async_tool

from .adapters import Adapter, AdapterOptions, copy_of
from .errors import GateConfigError
from .flow import Flow, run, run_async


class GatedTool(AsyncBaseTool):
    """A tool behind Gate, under the same name."""

    def __init__(self, tool: BaseTool, adapter: Adapter) -> None:
        self._tool = adapt_to_async_tool(tool)
        self._adapter = adapter

    @property
    def metadata(self) -> ToolMetadata:
        return self._tool.metadata

    def _judged(self, given: tuple[Any, ...], named: dict[str, Any], is_async: bool) -> Flow[dict[str, Any] | ToolOutput]:
        name = self.metadata.get_name()
        schema: dict[str, Any] = cast(Any, self.metadata).get_parameters_dict()
        parameters = list(cast("dict[str, Any]", schema.get("properties", {})))
        if len(given) > len(parameters):
            raise GateConfigError(f"{name} has no names for {len(given)} arguments, and Gate judges them by their names")
        # What is called by position is judged, and run, by name.
        asked = {**dict(zip(parameters, given, strict=False)), **named}
        judged = cast("dict[str, Any]", copy_of(name, asked))
        words = yield from self._adapter.refusal(name, judged, None, is_async)
        if words is None:
            return judged
        return ToolOutput(tool_name=name, content=words, raw_input=judged, raw_output=words, is_error=True)

    def call(self, *given: Any, **named: Any) -> ToolOutput:
        judged = run(self._judged(given, named, is_async=False))
        return judged if isinstance(judged, ToolOutput) else self._tool.call(**judged)

    async def acall(self, *given: Any, **named: Any) -> ToolOutput:
        judged = await run_async(self._judged(given, named, is_async=True))
        return judged if isinstance(judged, ToolOutput) else await self._tool.acall(**judged)


def gate_tool(tool: BaseTool, **options: Unpack[AdapterOptions]) -> GatedTool:
    """
    The tool, asked about at each call. One that takes the workflow's context is refused: LlamaIndex gives that to tools of its own class alone.
    """
    if getattr(tool, "requires_context", False):
        raise GateConfigError(f"the tool {tool.metadata.name} takes a context: ask guard_tool_call inside it")
    return GatedTool(tool, Adapter(options))
