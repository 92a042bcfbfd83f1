"""OpenAI's Chat Completions, and every endpoint that speaks it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from ..errors import GateMalformedCall
from ..types import ToolCall
from .reading import (
    UNEXTRACTABLE,
    Assembler,
    Piece,
    Pieces,
    call_of_free_text,
    call_of_text,
    items_of,
    list_in,
    member,
)

# The id of a call in the form from before tool calls had one.
_LEGACY_ID = "function_call"
_CALLS = ("tool_calls", "function_call")
_NO_CALL = "the response says that tools are to be called, and has no call that can be read"


def _call_of(value: object) -> ToolCall:
    call_id, custom, function = member(value, "id"), member(value, "custom"), member(value, "function")
    if member(value, "type") == "custom" or custom is not None:
        return call_of_free_text(call_id, member(custom, "name"), member(custom, "input"))
    return call_of_text(call_id, member(function, "name"), member(function, "arguments"))


class _ChatAssembler:
    def __init__(self) -> None:
        self._choices: dict[Hashable, Pieces] = {}

    @property
    def is_open(self) -> bool:
        return len(self._choices) > 0

    def push(self, event: object) -> tuple[bool, list[ToolCall]]:
        is_about_calls, whole = False, list[ToolCall]()
        for choice in items_of(member(event, "choices")):
            index, delta = member(choice, "index"), member(choice, "delta")
            for piece in items_of(member(delta, "tool_calls")):
                is_about_calls = True
                at = member(piece, "index")
                if not isinstance(at, int):
                    raise GateMalformedCall(UNEXTRACTABLE, "a piece of a tool call has no index")
                custom = member(piece, "custom")
                self._add(index, at, member(piece, "id"), custom or member(piece, "function"), custom is not None)
            legacy = member(delta, "function_call")
            if legacy is not None:
                is_about_calls = True
                self._add(index, _LEGACY_ID, _LEGACY_ID, legacy, False)
            finished = member(choice, "finish_reason")
            if finished is None:
                continue
            pieces = self._choices.pop(index, None)
            if pieces is not None:
                is_about_calls = True
                whole.extend(_whole(piece) for piece in pieces.take_all())
            elif finished in _CALLS:
                raise GateMalformedCall(UNEXTRACTABLE, _NO_CALL)
        return is_about_calls, whole

    def _add(self, index: Hashable, at: Hashable, call_id: object, said: object, is_custom: bool) -> None:
        pieces = self._choices.setdefault(index, Pieces())
        name = member(said, "name")
        if at not in pieces:
            pieces.begin(at, Piece(call_id, name, is_custom=is_custom))
        pieces.same(at, call_id, name)
        pieces.add(at, member(said, "input" if is_custom else "arguments"))

    def end(self) -> None:
        for pieces in self._choices.values():
            pieces.end()


def _whole(piece: Piece) -> ToolCall:
    of = call_of_free_text if piece.is_custom else call_of_text
    return of(piece.call_id, piece.name, piece.text)


class OpenAiChat:
    def hosted_tool_in(self, request: Mapping[str, object]) -> str | None:
        # A value that says nothing, such as `openai.omit`, is no mapping.
        if isinstance(request.get("web_search_options"), Mapping):
            return "web_search_options"
        kinds = [member(tool, "type") for tool in items_of(request.get("tools"))]
        return next((str(kind) for kind in kinds if kind not in ("function", "custom")), None)

    def calls_in(self, response: object, allow_hosted: bool) -> list[list[ToolCall]]:
        groups: list[list[ToolCall]] = []
        for choice in list_in(response, "choices"):
            message = member(choice, "message")
            calls = [_call_of(call) for call in items_of(member(message, "tool_calls"))]
            legacy = member(message, "function_call")
            if legacy is not None:
                calls.append(call_of_text(_LEGACY_ID, member(legacy, "name"), member(legacy, "arguments")))
            if member(choice, "finish_reason") in _CALLS and not calls:
                raise GateMalformedCall(UNEXTRACTABLE, _NO_CALL)
            if calls:
                groups.append(calls)
        return groups

    def assembler(self, allow_hosted: bool) -> Assembler:
        return _ChatAssembler()
