"""
One text for sync and async callers. What asks Gate is a generator of effects, each of which can be carried out in both ways; `run` and
`run_async` carry them out and give back what the generator returns.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Protocol, TypeVar, cast

from .errors import GateConfigError

T = TypeVar("T")


class Effect(Protocol):
    def now(self) -> Any: ...
    async def later(self) -> Any: ...


Flow = Generator[Effect, Any, T]


def run(flow: Flow[T]) -> T:
    try:
        effect = next(flow)
        while True:
            try:
                value = effect.now()
            except BaseException as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


async def run_async(flow: Flow[T]) -> T:
    try:
        effect = next(flow)
        while True:
            try:
                value = await effect.later()
            except BaseException as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


class Sleep:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> None:
        time.sleep(self.seconds)

    async def later(self) -> None:
        await asyncio.sleep(self.seconds)


class Tell:
    """Calls what the user of this package gave. Async code may give what has to be awaited."""

    def __init__(self, what: str, callback: Callable[..., object], *given: object) -> None:
        self.what = what
        self.callback = callback
        self.given = given

    def now(self) -> object:
        value = self.callback(*self.given)
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise GateConfigError(f"{self.what} is async, and its caller is not")
        return value

    async def later(self) -> object:
        value = self.callback(*self.given)
        return await cast("Awaitable[object]", value) if inspect.isawaitable(value) else value


class Within(Tell):
    """As `Tell`, and gives up on what is awaited when the time is over; what is not async is told the time."""

    def __init__(self, what: str, callback: Callable[..., object], given: object, seconds: float) -> None:
        super().__init__(what, callback, given, seconds)
        self.seconds = seconds

    async def later(self) -> object:
        return await asyncio.wait_for(super().later(), self.seconds)


class Cut:
    """Ends what a thread is doing. It is cut once, before or while the thread holds something that can be cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cut = False
        self._end: Callable[[], object] | None = None

    def hold(self, end: Callable[[], object]) -> None:
        with self._lock:
            self._end = end
            is_cut = self._is_cut
        if is_cut:
            end()

    def drop(self) -> None:
        with self._lock:
            self._end = None

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            end = self._end
        if end is not None:
            end()


class InThread(Generic[T]):
    """Work that blocks: on a thread of its own for async code, so that a slow Gate holds nothing else up. Who gives up cuts it."""

    def __init__(self, work: Callable[[Cut], T]) -> None:
        self.work = work

    def now(self) -> T:
        return self.work(Cut())

    async def later(self) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        cut = Cut()

        def settle(value: T | None, error: BaseException | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(cast(T, value))
            else:
                done.set_exception(error)

        def work() -> None:
            value, failure = None, None
            try:
                value = self.work(cut)
            except BaseException as error:
                failure = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, value, failure)

        threading.Thread(target=work, name="gate-agent-sdk", daemon=True).start()
        try:
            return await done
        finally:
            cut.cut()
