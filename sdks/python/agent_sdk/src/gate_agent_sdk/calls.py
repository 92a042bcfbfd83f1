"""The text of a request, made of calls that were checked."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import cast

from .errors import GateConfigError
from .strict_json import MOST_INTEGER
from .types import ToolCall

MIB = 2**20
# What Gate takes at once (docs/architecture/requests-and-answers.md#atomic-batch of Gate).
MOST_CALLS = 128
MOST_CALL_BYTES = MIB
MOST_BATCH_BYTES = 4 * MIB
_MOST_NAME_BYTES = 1_024
_MOST_LEVELS = 64


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_json(value: object, path: str, within: list[int]) -> str | None:
    """Why a value is no plain JSON, as a path and a reason. A value that JSON would change in silence is not what would run."""
    # Exact types: what is of a class of its own may be something else for the tool.
    kind = type(value)
    if value is None or kind is bool:
        return None
    if kind is str:
        return None if _is_text(cast(str, value)) else f"{path} has half a character"
    if kind is int:
        return f"{path} is an integer beyond 2^53" if abs(cast(int, value)) > MOST_INTEGER else None
    if kind is float:
        number = cast(float, value)
        if not math.isfinite(number):
            return f"{path} is {number}"
        return f"{path} is an integer beyond 2^53" if number.is_integer() and abs(number) > MOST_INTEGER else None
    if kind is not dict and kind is not list:
        return f"{path} is a {kind.__name__}"
    if id(value) in within:
        return f"{path} contains itself"
    if len(within) >= _MOST_LEVELS:
        return f"{path} is deeper than {_MOST_LEVELS} levels"
    within.append(id(value))
    parts: Sequence[tuple[object, object]] = (
        list(cast("dict[object, object]", value).items()) if kind is dict else list(enumerate(cast("list[object]", value)))
    )
    for name, part in parts:
        if kind is dict and (type(name) is not str or not _is_text(name)):
            return f"{path} has a name that is no text"
        fault = _not_json(part, f"{path}.{name}", within)
        if fault is not None:
            return fault
    within.pop()
    return None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _check_name(what: str, text: object) -> None:
    if type(text) is not str or text.strip() == "" or not _is_text(text):
        raise GateConfigError(f"{what} is missing")
    if len(text.encode()) > _MOST_NAME_BYTES:
        raise GateConfigError(f"{what} has more than {_MOST_NAME_BYTES} bytes")


def checked(calls: Sequence[ToolCall]) -> list[str]:
    """The arguments of each call as text. Raises `GateConfigError` for what cannot be sent as it would run."""
    if len(calls) == 0:
        raise GateConfigError("there is no call to inspect")
    if len(calls) > MOST_CALLS:
        raise GateConfigError(f"{len(calls)} calls at once are more than {MOST_CALLS}")
    texts: list[str] = []
    total = 0
    for call in calls:
        _check_name("the id of a call", call.id)
        _check_name("the name of a tool", call.name)
        fault = _not_json(call.input, "input", [])
        if fault is not None:
            raise GateConfigError(f"arguments of {call.name} are no plain JSON: {fault}")
        text = _json(call.input)
        size = len(text.encode())
        total += size
        if size > MOST_CALL_BYTES:
            raise GateConfigError(f"arguments of {call.name} have more than 1 MiB")
        if total > MOST_BATCH_BYTES:
            raise GateConfigError("the arguments of all calls have more than 4 MiB")
        texts.append(text)
    if len({call.id for call in calls}) < len(calls):
        raise GateConfigError("two calls have one id")
    return texts


def request_bytes(calls: Sequence[ToolCall], idempotency_id: str) -> bytes:
    """The request for these calls: made once, and sent as it is at every attempt. Calls of one turn of a model are one batch."""
    texts = checked(calls)
    if len(calls) == 1:
        method = "tools/call"
        params = f'{{"name":{_json(calls[0].name)},"arguments":{texts[0]}}}'
    else:
        method = "gate/tools.batch"
        named = ",".join(
            f'{{"id":{_json(call.id)},"name":{_json(call.name)},"arguments":{text}}}'
            for call, text in zip(calls, texts, strict=True)
        )
        params = (
            '{"name":"gate.atomic-batch","arguments":'
            f'{{"contract":"gate.atomic-tool-call-batch/v1","calls":[{named}]}}}}'
        )
    return f'{{"jsonrpc":"2.0","id":{_json(idempotency_id)},"method":"{method}","params":{params}}}'.encode()
