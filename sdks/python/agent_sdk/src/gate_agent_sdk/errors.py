"""What this package raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Unpack

from .types import Advice, DenialDetail, ResolveOptions, ToolCall


class GateError(Exception):
    """What every error of this package is."""


class GateConfigError(GateError):
    """The call of this package cannot be carried out as it was written; nothing was sent to Gate. Raised in both modes."""


class GateMalformedCall(GateError):
    """
    What a model wrote cannot be shown to Gate as it would be run: arguments that are no JSON, or a response that announces tool calls and has
    none. Nothing may run of it.
    """

    def __init__(self, tool_name: str, message: str) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class GateTransportError(GateError):
    """Gate gave no verdict: it was not reached, or what answered is not Gate's. Never an allow, never a deny."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the answer; `None` where none came."""
        self.code = code
        """Gate's stable error code, where the answer has one."""


class GateDenied(GateError):
    """Gate, or a person, said no. `code` is stable (docs/reference/errors.md of Gate); `reasons` are for the reader."""

    def __init__(
        self,
        call: ToolCall,
        *,
        code: str,
        reasons: Sequence[str],
        review_reasons: Sequence[str] = (),
        intent_category: str = "",
        layer: str | None = None,
        correlation_id: str | None = None,
        advice: Advice | None = None,
        detail: DenialDetail | None = None,
    ) -> None:
        super().__init__(f'gate denied tool "{call.name}": {" | ".join(reasons)}')
        self.tool_name = call.name
        self.tool_use_id = call.id
        self.code = code
        self.reasons = reasons
        self.review_reasons = review_reasons
        self.intent_category = intent_category
        self.layer = layer
        """The part of Gate that refused: `brain`, `policy`, `hil`, `proxy`, …"""
        self.correlation_id = correlation_id
        self.advice = advice
        """Whether to ask again, whether a person can help, and what would be allowed; of a rule's denial, not of a person's."""
        self.detail = detail


class Waiting(Protocol):
    """What is known of a call that waits, and how it is waited for."""

    @property
    def correlation_id(self) -> str: ...
    @property
    def review_reasons(self) -> Sequence[str]: ...
    @property
    def ttl_secs(self) -> int | None: ...
    async def resolve(self, **options: Unpack[ResolveOptions]) -> None: ...
    def resolve_sync(self, **options: Unpack[ResolveOptions]) -> None: ...


class GatePending(GateError):
    """
    The call waits for a person. `resolve()` waits with it, `resolve_sync()` where the call was made by a function or a client that is not
    async; `correlation_id` is all that another process needs to go on waiting (`resolve_pending`). After an approval run the calls of
    `tool_calls`: asking the model again makes another call, which waits again.
    """

    def __init__(self, waiting: Waiting, calls: Sequence[ToolCall], tier: str | None = None) -> None:
        name = calls[0].name
        super().__init__(f'gate parked tool "{name}" for review (correlation_id={waiting.correlation_id})')
        self.tool_name = name
        self.tool_calls = calls
        self.correlation_id = waiting.correlation_id
        self.review_reasons = waiting.review_reasons
        self.ttl_secs = waiting.ttl_secs
        """Seconds that a person has, as Gate said when the call began to wait."""
        self.tier = tier
        self.waiting = waiting
        self.response: object = None
        """The response of a wrapped client that is held back; of a stream there is none."""

    async def resolve(self, **options: Unpack[ResolveOptions]) -> None:
        """
        Returns when somebody approved the call. Raises `GateDenied` where it was refused or expired, `GateTransportError` where nothing is
        known in time.
        """
        await self.waiting.resolve(**options)

    def resolve_sync(self, **options: Unpack[ResolveOptions]) -> None:
        """As `resolve`, for a call that was not made by async code."""
        self.waiting.resolve_sync(**options)


class GateRateLimited(GateError):
    """Too many calls, or a budget that is spent (`code` `quota_exceeded`). Nothing was judged."""

    def __init__(
        self,
        call: ToolCall,
        *,
        code: str,
        reasons: Sequence[str],
        retry_after_secs: int | None = None,
        scope: str | None = None,
        correlation_id: str | None = None,
    ) -> None:
        super().__init__(f'gate limited tool "{call.name}": {" | ".join(reasons) or code}')
        self.tool_name = call.name
        self.code = code
        self.reasons = reasons
        self.retry_after_secs = retry_after_secs
        self.scope = scope
        self.correlation_id = correlation_id
