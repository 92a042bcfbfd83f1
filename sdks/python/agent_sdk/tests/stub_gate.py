"""HTTP on this machine whose answers a test writes byte by byte."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answering:
    """One answer under way."""

    def __init__(self, handler: BaseHTTPRequestHandler, ended: threading.Event) -> None:
        self._handler = handler
        self._ended = ended

    def send(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        given = {"Content-Length": str(len(body)), **(headers or {})}
        self._handler.send_response_only(status)
        for name, value in given.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self._handler.wfile.write(body)

    def json(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        self.send(status, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def cut(self) -> None:
        self._handler.connection.shutdown(socket.SHUT_RDWR)

    def hang(self) -> None:
        """Until the stub is closed."""
        self._ended.wait(60)


Answer = Callable[[Asked, Answering], None]


@dataclass
class StubGate:
    answer: Answer = lambda _, answering: answering.send(500)
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> StubGate:
        stub, ended = self, threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                size = int(self.headers.get("Content-Length", "0"))
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, self.rfile.read(size))
                stub.asked.append(asked)
                self.close_connection = True
                try:
                    stub.answer(asked, Answering(self, ended))
                except (BrokenPipeError, ConnectionResetError):
                    pass

            do_GET = do_POST = _answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._ended = ended
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
