"""Calls of OpenAI's Realtime API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, cast

from .errors import GateConfigError
from .inspecting import CallOptions, inspect_tool_use, inspect_tool_use_sync
from .strict_json import Disputed, strict_json
from .types import ToolCall, Verdict


def _fields(event: object) -> tuple[object, object, object, object]:
    names = ("type", "call_id", "name", "arguments")
    if isinstance(event, Mapping):
        given = cast("Mapping[str, object]", event)
        kind, call_id, name, arguments = (given.get(part) for part in names)
    else:
        kind, call_id, name, arguments = (getattr(event, part, None) for part in names)
    return kind, call_id, name, arguments


def is_realtime_function_call_done(event: object) -> bool:
    """Whether it is the event by which the API says that the arguments of a call are whole; of a mapping or of the provider's class."""
    kind, *parts = _fields(event)
    return kind == "response.function_call_arguments.done" and all(isinstance(part, str) for part in parts)


def normalize_realtime_function_call(event: object) -> ToolCall:
    """
    The call of an event. Arguments that are no JSON, or that parsers may read differently, are judged as the text that they are, under `input`.
    """
    if not is_realtime_function_call_done(event):
        raise GateConfigError("the event is no response.function_call_arguments.done")
    _, call_id, name, text = cast("tuple[str, str, str, str]", _fields(event))
    value: object
    try:
        value = strict_json(text or "{}")
    except Disputed:
        value = {"input": text}
    return ToolCall(name, value, call_id)


async def inspect_realtime_function_call(event: object, **options: Unpack[CallOptions]) -> Verdict:
    """Gate's verdict on the call of a realtime event. What it may not run is for the caller to answer in the conversation."""
    return await inspect_tool_use(normalize_realtime_function_call(event), **options)


def inspect_realtime_function_call_sync(event: object, **options: Unpack[CallOptions]) -> Verdict:
    """As `inspect_realtime_function_call`, for code that is not async."""
    return inspect_tool_use_sync(normalize_realtime_function_call(event), **options)
