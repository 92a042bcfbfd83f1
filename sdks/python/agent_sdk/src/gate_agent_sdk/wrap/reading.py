"""Members of what a provider sent, as its client read it; nothing is rested on but what is looked at."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from ..calls import MOST_BATCH_BYTES, MOST_CALL_BYTES, MOST_CALLS
from ..errors import GateMalformedCall
from ..strict_json import Disputed, strict_json
from ..types import ToolCall

UNEXTRACTABLE = "<unextractable>"
"""The name of a call that nothing could be read of."""


def member(value: object, name: str) -> object:
    """`None` where there is none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return getattr(value, name, None)


def items_of(value: object) -> list[object]:
    return list(cast("list[object] | tuple[object, ...]", value)) if isinstance(value, (list, tuple)) else []


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) else None


def named(value: object) -> str:
    return value if isinstance(value, str) else UNEXTRACTABLE


def plain(value: object) -> object:
    """A member as the provider sent it, where its client made an object of it."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list):
        return [plain(part) for part in cast("list[object]", value)]
    return value


def list_in(response: object, name: str) -> list[object]:
    """Raises where a response has no such list: it is then none of this API, and what it holds is not known."""
    if not isinstance(member(response, name), (list, tuple)):
        raise GateMalformedCall(UNEXTRACTABLE, f"the response has no {name}")
    return items_of(member(response, name))


def call_of_value(call_id: object, name: object, value: object) -> ToolCall:
    """A call whose arguments the provider's client has read already."""
    if not isinstance(call_id, str) or not isinstance(name, str) or value is None:
        raise GateMalformedCall(named(name), "a tool call has no id, no name or no input")
    return ToolCall(name, plain(value), call_id)


def call_of_text(call_id: object, name: object, text: object) -> ToolCall:
    """A call whose arguments are a text of JSON. An empty text is a call without arguments."""
    if not isinstance(call_id, str) or not isinstance(name, str) or not isinstance(text, str):
        raise GateMalformedCall(named(name), "a tool call has no id, no name or no arguments")
    try:
        return ToolCall(name, strict_json(text or "{}"), call_id)
    except Disputed as fault:
        raise GateMalformedCall(name, f"arguments of {name} cannot be judged: {fault}") from None


def call_of_free_text(call_id: object, name: object, text: object) -> ToolCall:
    """A call of a tool that takes a text as it is. Gate judges objects: it is shown as the member `input`."""
    return call_of_value(call_id, name, {"input": text} if isinstance(text, str) else None)


@dataclass
class Piece:
    call_id: object
    name: object
    text: str = ""
    is_custom: bool = False


class Pieces:
    """Texts of calls that arrive in pieces, within what Gate takes."""

    def __init__(self) -> None:
        self._open: dict[Hashable, Piece] = {}
        self._total = 0

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._open

    def begin(self, key: Hashable, piece: Piece) -> None:
        if key in self._open:
            raise GateMalformedCall(named(piece.name), "a tool call began twice")
        if len(self._open) >= MOST_CALLS:
            raise GateMalformedCall(named(piece.name), f"more than {MOST_CALLS} tool calls are open")
        self._open[key] = piece

    def same(self, key: Hashable, call_id: object, name: object) -> None:
        """A later piece may leave id and name out, or say them again: one reader puts pieces together, another takes the last."""
        piece = self._open[key]
        if (call_id and call_id != piece.call_id) or (name and name != piece.name):
            raise GateMalformedCall(named(piece.name), "a tool call goes on under another id or name")

    def add(self, key: Hashable, text: object) -> None:
        piece = self._open.get(key)
        if piece is None:
            raise GateMalformedCall(UNEXTRACTABLE, "arguments of a tool call that did not begin")
        if not isinstance(text, str):
            return
        piece.text += text
        self._total += len(text)
        if len(piece.text) > MOST_CALL_BYTES or self._total > MOST_BATCH_BYTES:
            raise GateMalformedCall(named(piece.name), "the arguments have more than 1 MiB, or 4 MiB together")

    def take(self, key: Hashable) -> Piece | None:
        return self._open.pop(key, None)

    def take_all(self) -> list[Piece]:
        """In the order in which they began."""
        pieces = list(self._open.values())
        self._open.clear()
        return pieces

    def end(self) -> None:
        for piece in self._open.values():
            raise GateMalformedCall(named(piece.name), "the stream ended inside a tool call")


class Assembler(Protocol):
    """Reads one stream. An event that is about a call is held while `is_open`, and until the calls that are whole with it were judged."""

    @property
    def is_open(self) -> bool:
        """Whether a call was begun that is not whole."""
        ...

    def push(self, event: object) -> tuple[bool, list[ToolCall]]:
        """Whether the event is about a call, and the calls that are whole with it."""
        ...

    def end(self) -> None:
        """Raises where a call was begun and never ended."""
        ...


class Surface(Protocol):
    """How one API of a provider speaks of tool calls. All of it raises `GateMalformedCall` for what cannot be judged as it would run."""

    def hosted_tool_in(self, request: Mapping[str, object]) -> str | None:
        """The name of a tool in a request that the provider itself would run."""
        ...

    def calls_in(self, response: object, allow_hosted: bool) -> list[list[ToolCall]]:
        """The calls of a response, in groups that are judged together."""
        ...

    def assembler(self, allow_hosted: bool) -> Assembler: ...
