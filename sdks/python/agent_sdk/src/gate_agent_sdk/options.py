"""What a user of this package says, checked, with what stands in the environment."""

from __future__ import annotations

import ipaddress
import math
import os
import ssl
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict, cast
from urllib.parse import SplitResult, urlsplit

from .errors import GateConfigError
from .types import CallContext, Verdict

Mode = Literal["enforce", "observe"]


@dataclass(frozen=True)
class CallbackOptions:
    """How a decision that waits is heard of sooner than by asking: the address that Gate posts to, and what waits for that post."""

    url: str
    wait: Callable[[str, float], object]
    """
    `wait(correlation_id, seconds)` returns when the post for this call arrived, or when the seconds are over; for async code it may be async.
    The post is a hint alone: what was decided is then asked of Gate.
    """


class RetryOptions(TypedDict, total=False):
    max_attempts: int
    """1 to 10. Default 3. Only what got no answer, or a 5xx, is sent again."""
    base_delay_s: float
    """The first pause, 0 to 60. Default 0.1."""


class GateOptions(TypedDict, total=False):
    endpoint: str
    """Address of Gate, without `/mcp`. Default: `GATE_ENDPOINT`, then `GATE_LITE_URL`."""
    token: str
    """Bearer token. Default: `GATE_TOKEN`, then `GATE_LITE_TOKEN`."""
    mode: Mode
    """`observe` reports and lets everything pass. Default `enforce`."""
    timeout_s: float
    """For one HTTP attempt, its body included: up to 300. Default 10."""
    retry: RetryOptions
    on_verdict: Callable[[Verdict, CallContext], object]
    """Called once for each call, in their order, before anything is raised. What it raises is raised on. For async code it may be async."""
    on_policy_error: Callable[[Exception, CallContext], object]
    """In observe mode: the call had no verdict and passes."""
    ssl_context: ssl.SSLContext
    """For https: the CA that Gate is proved by, and the certificate that the agent proves itself with."""
    dev_mode: bool
    """On a denial a panel is printed to stderr."""
    extra_headers: Mapping[str, str]
    """Sent with each request, such as `X-Gate-Grant`. Gate's own headers cannot be set by it."""
    callback: CallbackOptions


@dataclass(frozen=True)
class Settings:
    """The options, checked, with what stood in the environment."""

    endpoint: str
    address: SplitResult
    token: str | None
    mode: Mode
    timeout_s: float
    max_attempts: int
    base_delay_s: float
    on_verdict: Callable[[Verdict, CallContext], object] | None
    on_policy_error: Callable[[Exception, CallContext], object] | None
    ssl_context: ssl.SSLContext | None
    dev_mode: bool
    extra_headers: Mapping[str, str]
    callback: CallbackOptions | None


# Headers that this package sets; an extra one of the same name could contradict what is judged.
_OWN_HEADERS = frozenset(
    (
        "accept-encoding",
        "authorization",
        "connection",
        "content-type",
        "content-length",
        "host",
        "transfer-encoding",
        "x-gate-decision-contract",
        "x-gate-server-execution-contract",
        "x-gate-execution-contract",
        "x-gate-idempotency-id",
        "x-gate-callback-url",
    )
)
_HEADER_NAME = frozenset(string.ascii_letters + string.digits + "!#$%&'*+.^_`|~-")


def _is_line(text: object) -> bool:
    """Printable ASCII on one line, and not empty: what a header can carry."""
    return isinstance(text, str) and text.strip() != "" and all(char == "\t" or " " <= char <= "~" for char in text)


def _within(name: str, value: object, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value) or not least <= value <= most:
        raise GateConfigError(f"{name} must be a number from {least:g} to {most:g}, and is {value!r}")
    return value


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(text: str, token: str | None, name: str = "endpoint") -> SplitResult:
    """Address and token, checked together: a token is never sent in clear over a network."""
    # urlsplit drops line ends in silence.
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise GateConfigError(f"{name} is no address")
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError:
        raise GateConfigError(f"{name} is no address") from None
    if url.scheme not in ("http", "https"):
        raise GateConfigError(
            f"{name} must be http or https, and is {url.scheme}" if "://" in text else f"{name} is no address"
        )
    if not url.hostname:
        raise GateConfigError(f"{name} is no address")
    if "@" in url.netloc:
        raise GateConfigError(f"{name} must have no user information")
    if "?" in text or "#" in text:
        raise GateConfigError(f"{name} must have no query and no fragment")
    if token is not None and url.scheme == "http" and not _is_this_machine(url.hostname):
        raise GateConfigError(
            f"a token goes over https alone, except to this machine; endpoint is {url.scheme}://{url.netloc}"
        )
    if name == "endpoint" and url.path.removesuffix("/").endswith("/mcp"):
        raise GateConfigError("endpoint is the address of Gate without /mcp")
    # Joined as text: resolving an address would drop the prefix of its path.
    return url._replace(path=url.path.removesuffix("/"))


def _environment(*names: str) -> str | None:
    return next((os.environ[name] for name in names if name in os.environ), None)


def settings_of(options: GateOptions) -> Settings:
    """Raises `GateConfigError` for anything that cannot be meant, an option that there is not among them."""
    unknown = next((name for name in options if name not in GateOptions.__annotations__), None)
    if unknown is not None:
        raise GateConfigError(f"there is no option {unknown}")
    endpoint = options.get("endpoint", _environment("GATE_ENDPOINT", "GATE_LITE_URL"))
    if not endpoint:
        raise GateConfigError("endpoint is missing: give the address of Gate, or set GATE_ENDPOINT")
    token = options.get("token", _environment("GATE_TOKEN", "GATE_LITE_TOKEN"))
    if token is not None and not _is_line(token):
        raise GateConfigError("token must be one line of text, and not empty")
    mode = options.get("mode", "enforce")
    if mode not in ("enforce", "observe"):
        raise GateConfigError(f"mode is enforce or observe, and not {mode}")
    extra_headers = dict(options.get("extra_headers", {}))
    for name, value in cast("dict[object, object]", extra_headers).items():
        if not isinstance(name, str) or name == "" or not _HEADER_NAME.issuperset(name) or not _is_line(value):
            raise GateConfigError(f"extra_headers: {name} is no header that can be sent")
        if name.lower() in _OWN_HEADERS:
            raise GateConfigError(f"extra_headers: {name} is set by this package")
    callback = options.get("callback")
    if callback is not None:
        check_address(callback.url.split("?")[0].split("#")[0], None, "callback.url")
        if not _is_line(callback.url):
            raise GateConfigError("callback: url is no header that can be sent")
    retry = options.get("retry", {})
    unknown = next((name for name in retry if name not in RetryOptions.__annotations__), None)
    if unknown is not None:
        raise GateConfigError(f"there is no option retry.{unknown}")
    address = check_address(endpoint, token)
    return Settings(
        endpoint=address.geturl(),
        address=address,
        token=token,
        mode=mode,
        timeout_s=_within("timeout_s", options.get("timeout_s", 10.0), 0.001, 300),
        max_attempts=int(_within("retry.max_attempts", retry.get("max_attempts", 3), 1, 10)),
        base_delay_s=_within("retry.base_delay_s", retry.get("base_delay_s", 0.1), 0, 60),
        on_verdict=options.get("on_verdict"),
        on_policy_error=options.get("on_policy_error"),
        ssl_context=options.get("ssl_context"),
        dev_mode=options.get("dev_mode", False),
        extra_headers=extra_headers,
        callback=callback,
    )
