"""A provider's client whose tool calls Gate has allowed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar, Unpack, cast

from ..errors import GateConfigError
from ..options import GateOptions, settings_of
from .anthropic import AnthropicMessages
from .guarded import Refused, Wrapping, guard_method
from .openai_chat import OpenAiChat
from .openai_responses import OpenAiResponses
from .reading import Surface

Client = TypeVar("Client")


class WrapOptions(GateOptions, total=False):
    allow_uninspected_stream: bool
    """Lets pass what hands calls out that Gate cannot see first: `stream()` helpers, raw responses, requests by hand, and the like."""
    allow_hosted_tools: bool
    """Lets the provider run tools of its own (web search, code interpreter, MCP servers), whose calls Gate never sees."""


# A rule for a name holds for all below it that have none of their own: what guards it, or why it is refused.
_Rules = Mapping[str, Surface | str]

_HANDS_OUT = "it hands out arguments before Gate has seen them; use create with stream=True"
_RUNS = "it runs tools before Gate has seen their calls; use create, and run the tools yourself"
_LATER = "it gives back tool calls of earlier requests, which nobody has inspected"
_AGENT = "the provider runs the agent"
_BY_HAND = "what a request of your own gives back is not inspected; use the method of its name"
_EVENTS = "its events are not inspected; open it by a client that is not wrapped, and ask inspect_realtime_function_call"
_SOCKET = "what comes over its connection is not inspected; use create"
_RAW = "it gives a response away that Gate has not seen"
_RAW_PARTS = ("with_raw_response", "with_streaming_response")
_BY_HAND_RULES: _Rules = {name: _BY_HAND for name in ("get", "post", "put", "patch", "request", "get_api_list")}

_MESSAGES = AnthropicMessages()
_CHAT = OpenAiChat()
_RESPONSES = OpenAiResponses()

_ANTHROPIC: _Rules = MappingProxyType(
    {
        **_BY_HAND_RULES,
        "messages.create": _MESSAGES,
        "messages.parse": _MESSAGES,
        "messages.stream": _HANDS_OUT,
        "messages.batches.results": _LATER,
        "beta.messages.create": _MESSAGES,
        "beta.messages.parse": _MESSAGES,
        "beta.messages.stream": _HANDS_OUT,
        "beta.messages.tool_runner": _RUNS,
        "beta.messages.batches.results": _LATER,
        "beta.messages.thread": "it sends by itself; use create",
        "beta.sessions": _AGENT,
        "beta.deployments.run": _AGENT,
    }
)

_CHAT_RULES: _Rules = {
    "chat.completions.create": _CHAT,
    "chat.completions.parse": _CHAT,
    "chat.completions.stream": _HANDS_OUT,
    "chat.completions.retrieve": _CHAT,
    "chat.completions.update": _CHAT,
    "chat.completions.list": _LATER,
    "chat.completions.messages": _LATER,
}
_RESPONSES_RULES: _Rules = {
    "responses.create": _RESPONSES,
    "responses.parse": _RESPONSES,
    "responses.retrieve": _RESPONSES,
    "responses.cancel": _RESPONSES,
    "responses.compact": _RESPONSES,
    "responses.stream": _HANDS_OUT,
    "responses.connect": _SOCKET,
    "responses.input_items": _LATER,
}

_OPENAI: _Rules = MappingProxyType(
    {
        **_BY_HAND_RULES,
        **_CHAT_RULES,
        **_RESPONSES_RULES,
        **{f"beta.{path}": rule for path, rule in (*_CHAT_RULES.items(), *_RESPONSES_RULES.items())},
        "conversations.items.list": _LATER,
        "conversations.items.retrieve": _LATER,
        "evals.runs.output_items": _LATER,
        "beta.chatkit.threads": _LATER,
        "beta.agents": _AGENT,
        "beta.threads": "calls of assistants are not inspected",
        "realtime.connect": _EVENTS,
        "beta.realtime.connect": _EVENTS,
    }
)


def _at(client: object, path: str) -> object:
    for name in path.split("."):
        client = getattr(client, name, None)
    return client


def _rules_for(client: object) -> _Rules:
    """By its shape, once; the package of no provider is imported."""
    if callable(_at(client, "messages.create")):
        return _ANTHROPIC
    if callable(_at(client, "chat.completions.create")) or callable(_at(client, "responses.create")):
        return _OPENAI
    raise GateConfigError("gate_wrap knows no such client: it takes one of OpenAI or of Anthropic")


class _Part:
    """A part of a client, or the client itself, by which nothing comes out that Gate has not seen. It passes for one of the provider's class."""

    _gate_target: Any
    _gate_path: str
    _gate_rules: _Rules
    _gate_wrapping: Wrapping

    def __init__(self, target: object, path: str, rules: _Rules, wrapping: Wrapping) -> None:
        object.__setattr__(self, "_gate_target", target)
        object.__setattr__(self, "_gate_path", path)
        object.__setattr__(self, "_gate_rules", rules)
        object.__setattr__(self, "_gate_wrapping", wrapping)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(cast(object, self._gate_target))

    def __getattr__(self, name: str) -> Any:
        path, rules, wrapping = self._gate_path, self._gate_rules, self._gate_wrapping
        value = getattr(self._gate_target, name)
        here = name if path == "" else f"{path}.{name}"
        # Each part of a client knows the client; what the client itself knows under this name is its connection.
        if name == "_client" and path != "":
            return _Part(value, "", rules, wrapping)
        if name.startswith("_"):
            return value
        rule = _RAW if name in _RAW_PARTS else rules.get(here)
        if isinstance(rule, str):
            return Refused(here, rule) if wrapping.refuses else value
        if rule is not None:
            return guard_method(value, here, rule, wrapping)
        if path == "" and name in ("with_options", "copy", "with_middleware"):
            # A copy of the client with other options is guarded as the client is.
            def copied(*given: object, **named: object) -> _Part:
                return _Part(value(*given, **named), "", rules, wrapping)

            return copied
        is_part = hasattr(value, "_client") or any(known.startswith(f"{here}.") for known in rules)
        return _Part(value, here, rules, wrapping) if is_part else value

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._gate_target, name, value)

    def __enter__(self) -> _Part:
        self._gate_target.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._gate_target.__exit__(*given)

    async def __aenter__(self) -> _Part:
        await self._gate_target.__aenter__()
        return self

    async def __aexit__(self, *given: object) -> None:
        await self._gate_target.__aexit__(*given)


def gate_wrap(client: Client, **options: Unpack[WrapOptions]) -> Client:
    """
    The same client, sync or async, whose tool calls Gate has allowed: of `messages.create` (Anthropic), `chat.completions.create` and
    `responses.create` (OpenAI), streams too. What it gives back is what the provider sent; a call that may not run is raised instead
    (`GateDenied`, `GatePending`, `GateRateLimited`). What hands calls out uninspected raises `GateConfigError` when it is used. The client
    that is given is left as it is.
    """
    rest = dict(options)
    allow_stream, allow_hosted = (bool(rest.pop(f"allow_{what}", False)) for what in ("uninspected_stream", "hosted_tools"))
    wrapping = Wrapping(settings_of(cast(GateOptions, rest)), allow_stream, allow_hosted)
    return cast(Client, _Part(client, "", _rules_for(client), wrapping))
