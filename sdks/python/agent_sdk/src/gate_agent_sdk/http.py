"""One HTTP exchange with Gate, within a time that nobody who sends a byte a minute can stretch."""

from __future__ import annotations

import io
import socket
import ssl
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Literal, cast

from .errors import GateError, GateTransportError
from .flow import Cut, Flow, InThread
from .options import Settings

_MOST_ANSWER_BYTES = 2**20
_MOST_QUOTED = 4_096


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]
    """Their names in lower case."""
    text: str


@dataclass(frozen=True)
class HttpRequest:
    method: Literal["GET", "POST"]
    path: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None
    timeout_s: float | None = None


def quoted(text: str) -> str:
    """A text of somebody else as an error may quote it: one line, bounded, without what a terminal would obey."""
    plain = [" " if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") else char for char in text[:_MOST_QUOTED]]
    kept = [char for at, char in enumerate(plain) if char != " " or at == 0 or plain[at - 1] != " "]
    return "".join(kept).strip()


class _Clock:
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Read(io.RawIOBase):
    """What arrives at a socket, each time with what is left of the time."""

    def __init__(self, wire: socket.socket, clock: _Clock) -> None:
        self._wire = wire
        self._clock = clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        self._wire.settimeout(self._clock.left())
        return self._wire.recv_into(cast(bytearray, buffer))


class _Wire:
    """What `http.client` does with a socket, under the clock."""

    def __init__(self, wire: socket.socket, clock: _Clock) -> None:
        self._wire = wire
        self._clock = clock

    def sendall(self, data: bytes) -> None:
        self._wire.settimeout(self._clock.left())
        self._wire.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Read(self._wire, self._clock))

    def close(self) -> None:
        """Nothing: an answer that is the last of its connection is read after this. Whoever opened the socket closes it."""


def _shut(wire: socket.socket) -> None:
    try:
        wire.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _connected(settings: Settings, clock: _Clock, cut: Cut) -> socket.socket:
    host = settings.address.hostname or ""
    port = settings.address.port or (443 if settings.address.scheme == "https" else 80)
    failure: OSError = OSError("it has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        wire = socket.socket(family, kind, protocol)
        cut.hold(partial(_shut, wire))
        try:
            wire.settimeout(clock.left())
            wire.connect(address)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.address.scheme == "https":
                context = settings.ssl_context or ssl.create_default_context()
                wire = context.wrap_socket(wire, server_hostname=host, do_handshake_on_connect=False)
                wire.settimeout(clock.left())
                wire.do_handshake()
        except OSError as error:
            wire.close()
            if isinstance(error, (TimeoutError, ssl.SSLError)):
                raise
            failure = error
        else:
            return wire
    raise failure


def _answered(response: HTTPResponse) -> HttpAnswer:
    data = bytearray()
    while part := response.read(min(65_536, _MOST_ANSWER_BYTES + 1 - len(data))):
        data += part
        if len(data) > _MOST_ANSWER_BYTES:
            raise GateTransportError("the answer has more than 1 MiB", status=response.status)
    if response.length:
        raise HTTPException("the answer was cut")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise GateTransportError("the answer is no UTF-8", status=response.status) from error
    headers: dict[str, str] = {}
    for name, value in response.getheaders():
        known = headers.get(name.lower())
        headers[name.lower()] = value if known is None else f"{known}, {value}"
    return HttpAnswer(response.status, headers, text)


def _exchange(settings: Settings, request: HttpRequest, cut: Cut) -> HttpAnswer:
    seconds = settings.timeout_s if request.timeout_s is None else request.timeout_s
    clock = _Clock(seconds)
    # Nothing of the environment is asked for a proxy, and redirects are not followed: both would carry the token elsewhere.
    connection = HTTPConnection(settings.address.hostname or "", settings.address.port)
    if settings.address.port is None and settings.address.scheme == "https":
        connection.default_port = connection.port = 443
    try:
        wire = _connected(settings, clock, cut)
        try:
            cut.hold(partial(_shut, wire))
            connection.sock = _Wire(wire, clock)
            connection.request(
                request.method,
                f"{settings.address.path}{request.path}",
                body=request.body,
                headers={
                    **settings.extra_headers,
                    **({} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}),
                    **request.headers,
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                },
            )
            with connection.getresponse() as response:
                return _answered(response)
        finally:
            cut.drop()
            wire.close()
    except GateError:
        raise
    except TimeoutError as error:
        raise GateTransportError(f"gate did not answer within {round(seconds * 1_000)} ms") from error
    except (OSError, HTTPException, ValueError) as error:
        cause = quoted(str(error)) or type(error).__name__
        raise GateTransportError(f"gate was not reached at {settings.endpoint}: {cause}") from error


def send(settings: Settings, request: HttpRequest) -> Flow[HttpAnswer]:
    """One attempt. Raises `GateTransportError` where no whole answer came."""
    answer: HttpAnswer = yield InThread(lambda cut: _exchange(settings, request, cut))
    return answer
