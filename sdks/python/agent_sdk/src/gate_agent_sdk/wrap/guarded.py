"""What a method of a provider's client gives back, behind Gate."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

from ..calls import checked
from ..errors import GateConfigError, GateMalformedCall, GatePending
from ..flow import Flow, Tell, run, run_async
from ..inspecting import guarded
from ..options import Settings
from ..types import CallContext, ToolCall
from .reading import Assembler, Surface


@dataclass(frozen=True)
class Wrapping:
    settings: Settings
    allow_uninspected_stream: bool
    allow_hosted_tools: bool

    @property
    def refuses(self) -> bool:
        return self.settings.mode == "enforce" and not self.allow_uninspected_stream


def _malformed(error: GateMalformedCall, settings: Settings) -> Flow[None]:
    """In observe mode what cannot be read is told and passes; otherwise it is raised."""
    if settings.mode == "enforce":
        raise error
    if settings.on_policy_error is not None:
        yield Tell("on_policy_error", settings.on_policy_error, error, CallContext(error.tool_name, "", None))


def _guard_all(groups: Sequence[Sequence[ToolCall]], wrapping: Wrapping, is_async: bool, response: object) -> Flow[None]:
    for calls in groups:
        try:
            checked(calls)
        except GateConfigError as fault:
            yield from _malformed(GateMalformedCall(calls[0].name, str(fault)), wrapping.settings)
            continue
        try:
            yield from guarded(calls, wrapping.settings, is_async)
        except GatePending as pending:
            # Of several choices the others are not judged by the decision on one.
            if len(groups) == 1:
                pending.response = response
            raise


def _guard_response(response: object, surface: Surface, wrapping: Wrapping, is_async: bool) -> Flow[None]:
    groups: list[list[ToolCall]] = []
    try:
        groups = surface.calls_in(response, wrapping.allow_hosted_tools)
    except GateMalformedCall as error:
        yield from _malformed(error, wrapping.settings)
    yield from _guard_all(groups, wrapping, is_async, response)


class _Holding:
    """
    The events of a stream, in the order in which they may be given on: those about a call wait until it is whole and Gate allowed it, the
    others pass at once.
    """

    def __init__(self, assembler: Assembler, wrapping: Wrapping, is_async: bool) -> None:
        self._assembler = assembler
        self._wrapping = wrapping
        self._is_async = is_async
        self._held: list[object] = []

    def take(self, event: object) -> Flow[list[object]]:
        """The events that may be given on with this one."""
        is_about_calls, calls = True, list[ToolCall]()
        try:
            is_about_calls, calls = self._assembler.push(event)
        except GateMalformedCall as error:
            yield from _malformed(error, self._wrapping.settings)
        if calls:
            yield from _guard_all([calls], self._wrapping, self._is_async, None)
        if not is_about_calls:
            return [event]
        self._held.append(event)
        return [] if self._assembler.is_open else self._released()

    def end(self) -> Flow[list[object]]:
        try:
            self._assembler.end()
        except GateMalformedCall as error:
            yield from _malformed(error, self._wrapping.settings)
        return self._released()

    def _released(self) -> list[object]:
        held, self._held = self._held, []
        return held


def _refuse_response(name: str) -> None:
    if name == "response":
        raise GateConfigError("the response of a stream gives events away that Gate has not seen: read the stream itself")
    if name.startswith("_"):
        raise AttributeError(name)


class _AnyStream:
    """A provider's stream whose events are guarded; it passes for one of the provider's class."""

    def __init__(self, stream: Any, surface: Surface, wrapping: Wrapping) -> None:
        self._stream = stream
        self._surface = surface
        self._wrapping = wrapping

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(cast(object, self._stream))

    def __getattr__(self, name: str) -> Any:
        _refuse_response(name)
        return getattr(self._stream, name)


class GuardedStream(_AnyStream):
    def __init__(self, stream: Any, surface: Surface, wrapping: Wrapping) -> None:
        super().__init__(stream, surface, wrapping)
        self._events = self._guarded()

    def _guarded(self) -> Iterator[object]:
        wrapping = self._wrapping
        holding = _Holding(self._surface.assembler(wrapping.allow_hosted_tools), wrapping, is_async=False)
        try:
            for event in cast("Iterator[object]", self._stream):
                yield from run(holding.take(event))
            yield from run(holding.end())
        finally:
            self._stream.close()

    def __iter__(self) -> Iterator[object]:
        return self._events

    def __next__(self) -> object:
        return next(self._events)

    def __enter__(self) -> GuardedStream:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stream.close()


class GuardedAsyncStream(_AnyStream):
    def __init__(self, stream: Any, surface: Surface, wrapping: Wrapping) -> None:
        super().__init__(stream, surface, wrapping)
        self._events = self._guarded()

    async def _guarded(self) -> AsyncIterator[object]:
        wrapping = self._wrapping
        holding = _Holding(self._surface.assembler(wrapping.allow_hosted_tools), wrapping, is_async=True)
        try:
            async for event in cast("AsyncIterator[object]", self._stream):
                for given in await run_async(holding.take(event)):
                    yield given
            for given in await run_async(holding.end()):
                yield given
        finally:
            await self._stream.close()

    def __aiter__(self) -> AsyncIterator[object]:
        return self._events

    async def __anext__(self) -> object:
        return await anext(self._events)

    async def __aenter__(self) -> GuardedAsyncStream:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self._stream.close()


def guard_method(method: Callable[..., object], path: str, surface: Surface, wrapping: Wrapping) -> Callable[..., object]:
    """A method that makes a model speak, with what it gives back guarded. Whether it is async shows in what it gives back."""

    async def later(sent: Awaitable[object]) -> object:
        value = await sent
        if hasattr(value, "__anext__"):
            return GuardedAsyncStream(value, surface, wrapping)
        await run_async(_guard_response(value, surface, wrapping, is_async=True))
        return value

    def call(*given: object, **named: object) -> object:
        _check_request(named, path, surface, wrapping)
        sent = method(*given, **named)
        if inspect.isawaitable(sent):
            return later(cast("Awaitable[object]", sent))
        if hasattr(sent, "__next__"):
            return GuardedStream(sent, surface, wrapping)
        run(_guard_response(sent, surface, wrapping, is_async=False))
        return sent

    return call


def _check_request(named: Mapping[str, object], path: str, surface: Surface, wrapping: Wrapping) -> None:
    if wrapping.settings.mode != "enforce":
        return
    extra = named.get("extra_body")
    added: Mapping[str, object] = cast("Mapping[str, object]", extra) if isinstance(extra, Mapping) else {}
    for request in (named, added):
        hosted = None if wrapping.allow_hosted_tools else surface.hosted_tool_in(request)
        if hosted is not None:
            raise GateConfigError(
                f"{path}: the provider runs {hosted} itself, and Gate never sees its calls; leave it out, or set"
                " allow_hosted_tools"
            )


class Refused:
    """What nothing can be inspected of: each method below it says why."""

    def __init__(self, path: str, why: str) -> None:
        self._path = path
        self._why = why

    def __getattr__(self, name: str) -> Refused:
        if name.startswith("_"):
            raise AttributeError(name)
        return Refused(f"{self._path}.{name}", self._why)

    def __call__(self, *_: object, **__: object) -> object:
        raise GateConfigError(f"{self._path}: {self._why}; set allow_uninspected_stream to let it pass")


