"""OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping

from ..errors import GateMalformedCall
from ..types import ToolCall
from .reading import (
    UNEXTRACTABLE,
    Assembler,
    call_of_free_text,
    call_of_text,
    call_of_value,
    items_of,
    list_in,
    member,
    named,
    plain,
    text_of,
)

# Tools whose calls the caller runs; `shell` alone may be run by either.
_RUN_BY_CALLER = frozenset(("function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview"))
# Items that say something and run nothing.
_SAYS = frozenset(("message", "reasoning", "compaction"))
# The event that ends each kind of call before its item is done; whichever comes first is judged.
_CALL_ENDS = frozenset(("response.function_call_arguments.done", "response.custom_tool_call_input.done"))


def _is_hosted(tool: object) -> bool:
    if member(tool, "type") == "shell":
        return member(member(tool, "environment"), "type") != "local"
    return member(tool, "type") not in _RUN_BY_CALLER


def _call_of(item: object, allow_hosted: bool, said: object = None) -> ToolCall | None:
    """The call in an item of the output, with what an event says of it; `None` where it is none that the caller would run."""
    kind, call_id = member(item, "type"), member(item, "call_id")
    name, space = member(item, "name"), text_of(member(item, "namespace"))
    if space:
        # Tools of two namespaces may have one name.
        name = f"{space}.{name}"

    def given(of: str) -> object:
        return member(item, of) if text_of(member(said, of)) is None else member(said, of)

    if kind == "function_call":
        return call_of_text(call_id, name, given("arguments"))
    if kind == "custom_tool_call":
        return call_of_free_text(call_id, name, given("input"))
    if kind == "computer_call":
        actions = {"action": plain(member(item, "action")), "actions": plain(member(item, "actions"))}
        return call_of_value(call_id, "computer", actions)
    if kind in ("local_shell_call", "shell_call"):
        return call_of_value(call_id, "shell" if kind == "shell_call" else "local_shell", member(item, "action"))
    if kind == "apply_patch_call":
        return call_of_value(call_id, "apply_patch", member(item, "operation"))
    # What a later version of the provider adds is not taken for harmless.
    if allow_hosted or kind in _SAYS or str(kind).endswith("_output"):
        return None
    raise GateMalformedCall(named(kind), f"the provider ran {kind} itself, and Gate never saw its call")


class _ResponsesAssembler:
    def __init__(self, allow_hosted: bool) -> None:
        self._allow_hosted = allow_hosted
        # Items that began, by their place in the output, as they were announced.
        self._begun: dict[Hashable, object] = {}
        # Places of calls that are not whole.
        self._open: set[Hashable] = set()
        self._judged: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        return len(self._open) > 0

    def push(self, event: object) -> tuple[bool, list[ToolCall]]:
        kind, item = member(event, "type"), member(event, "item")
        place = member(event, "output_index")
        if kind == "response.output_item.added":
            self._begun[place] = item
            if not str(member(item, "type")).endswith("_call"):
                return False, []
            self._open.add(place)
            # Most begin empty; one that is whole already is judged as it stands.
            has_text = member(item, "arguments") or member(item, "input")
            return True, self._once(_call_of(item, self._allow_hosted)) if has_text else []
        if kind in _CALL_ENDS:
            self._open.discard(place)
            if place not in self._begun:
                raise GateMalformedCall(UNEXTRACTABLE, "arguments of a tool call that did not begin")
            return True, self._once(_call_of(self._begun.get(place), self._allow_hosted, event))
        if kind == "response.output_item.done":
            self._begun.pop(place, None)
            was_open = place in self._open
            self._open.discard(place)
            whole = self._once(_call_of(item, self._allow_hosted))
            return was_open or len(whole) > 0, whole
        # However it ended; those that begin it have no output yet.
        output = items_of(member(member(event, "response"), "output"))
        whole = [call for part in output for call in self._once(_call_of(part, self._allow_hosted))]
        return place in self._open or len(whole) > 0, whole

    def _once(self, call: ToolCall | None) -> list[ToolCall]:
        """A call is judged once; what comes later under its id must be the same call."""
        if call is None:
            return []
        text = json.dumps([call.name, call.input])
        before = self._judged.get(call.id)
        if before == text:
            return []
        if before is not None:
            raise GateMalformedCall(call.name, "the stream has two calls under one id")
        self._judged[call.id] = text
        return [call]

    def end(self) -> None:
        for item in self._begun.values():
            if member(item, "type") not in _SAYS:
                raise GateMalformedCall(named(member(item, "name")), "the stream ended inside a tool call")


class OpenAiResponses:
    def hosted_tool_in(self, request: Mapping[str, object]) -> str | None:
        return next((str(member(tool, "type")) for tool in items_of(request.get("tools")) if _is_hosted(tool)), None)

    def calls_in(self, response: object, allow_hosted: bool) -> list[list[ToolCall]]:
        found = [_call_of(item, allow_hosted) for item in list_in(response, "output")]
        calls = [call for call in found if call is not None]
        return [calls] if calls else []

    def assembler(self, allow_hosted: bool) -> Assembler:
        return _ResponsesAssembler(allow_hosted)
