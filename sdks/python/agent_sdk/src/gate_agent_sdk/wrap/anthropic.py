"""Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping

from ..errors import GateMalformedCall
from ..types import ToolCall
from .reading import (
    UNEXTRACTABLE,
    Assembler,
    Piece,
    Pieces,
    call_of_text,
    call_of_value,
    items_of,
    list_in,
    member,
    named,
    text_of,
)

# Tools that Anthropic defines and the caller runs; their calls arrive as any other `tool_use`.
_RUN_BY_CALLER = re.compile(r"(?:custom|(?:bash|text_editor|computer|memory)_\d+)")
# Blocks that say something and run nothing; results are of a tool whose call has a block of its own.
_SAYS = frozenset(
    (
        "text",
        "thinking",
        "redacted_thinking",
        "container_upload",
        "compaction",
        "fallback",
        "mcp_tool_listing",
    )
)
_NO_CALL = "the response says that a tool is to be used, and has no call that can be read"


def _check_block(kind: object, name: object, allow_hosted: bool) -> None:
    """A tool that Anthropic ran, or what a later version adds: that is not taken for harmless."""
    if not allow_hosted and kind not in _SAYS and not str(kind).endswith("_tool_result"):
        raise GateMalformedCall(
            text_of(name) or named(kind), "the provider ran this tool itself, and Gate never saw its call"
        )


class _MessagesAssembler:
    def __init__(self, allow_hosted: bool) -> None:
        self._allow_hosted = allow_hosted
        self._open = Pieces()
        self._given: dict[Hashable, object] = {}
        self._seen = 0

    @property
    def is_open(self) -> bool:
        return len(self._open) > 0

    def push(self, event: object) -> tuple[bool, list[ToolCall]]:
        kind, index, delta = member(event, "type"), member(event, "index"), member(event, "delta")
        if kind == "content_block_start":
            block = member(event, "content_block")
            name = member(block, "name")
            if member(block, "type") != "tool_use":
                _check_block(member(block, "type"), name, self._allow_hosted)
                return False, []
            self._open.begin(index, Piece(member(block, "id"), name))
            self._given[index] = member(block, "input")
            return True, []
        if kind == "content_block_delta" and member(delta, "type") == "input_json_delta":
            # A tool that the provider ran sends its arguments the same way.
            if index not in self._open and self._allow_hosted:
                return False, []
            self._open.add(index, member(delta, "partial_json"))
            return True, []
        if kind == "content_block_stop":
            piece = self._open.take(index)
            if piece is None:
                return False, []
            self._seen += 1
            given = self._given.pop(index)
            if piece.text == "" and given is not None:
                return True, [call_of_value(piece.call_id, piece.name, given)]
            return True, [call_of_text(piece.call_id, piece.name, piece.text)]
        if kind == "message_delta" and member(delta, "stop_reason") == "tool_use" and self._seen == 0:
            raise GateMalformedCall(UNEXTRACTABLE, _NO_CALL)
        return False, []

    def end(self) -> None:
        self._open.end()


class AnthropicMessages:
    def hosted_tool_in(self, request: Mapping[str, object]) -> str | None:
        if items_of(request.get("mcp_servers")):
            return "mcp_servers"
        kinds = [member(tool, "type") for tool in items_of(request.get("tools"))]
        return next((str(kind) for kind in kinds if kind is not None and not _RUN_BY_CALLER.fullmatch(str(kind))), None)

    def calls_in(self, response: object, allow_hosted: bool) -> list[list[ToolCall]]:
        calls: list[ToolCall] = []
        for block in list_in(response, "content"):
            kind, name = member(block, "type"), member(block, "name")
            if kind == "tool_use":
                calls.append(call_of_value(member(block, "id"), name, member(block, "input")))
            else:
                _check_block(kind, name, allow_hosted)
        if member(response, "stop_reason") == "tool_use" and not calls:
            raise GateMalformedCall(UNEXTRACTABLE, _NO_CALL)
        return [calls] if calls else []

    def assembler(self, allow_hosted: bool) -> Assembler:
        return _MessagesAssembler(allow_hosted)
