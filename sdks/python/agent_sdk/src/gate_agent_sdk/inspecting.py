"""The two ways to ask Gate about calls: for its verdict, or for leave to run them."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Literal, Unpack, cast
from uuid import UUID, uuid4

from .calls import request_bytes
from .denial_panel import denial_panel
from .errors import GateConfigError, GateDenied, GateError, GatePending, GateRateLimited, GateTransportError
from .flow import Flow, Sleep, Tell, run, run_async
from .http import HttpAnswer, HttpRequest, send
from .options import GateOptions, Settings, settings_of
from .pending import PendingCall
from .types import CallContext, Deny, Pending, RateLimited, ResolveOptions, ToolCall, Uninspected, Verdict, WouldDeny
from .verdict import DECISION_CONTRACT, read_verdict

_LONGEST_PAUSE_S = 60.0


class CallOptions(GateOptions, total=False):
    idempotency_id: str
    """A lower-case UUID that names the request; the same one again gets the same verdict. Default: a new one."""


class GuardOptions(CallOptions, total=False):
    on_pending: Literal["raise", "wait"]
    """`wait` stays with a call that waits for a person until it is decided; `raise` (the default) raises `GatePending`."""
    wait: ResolveOptions


def is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _settings_and_id(options: CallOptions) -> tuple[Settings, str]:
    rest = dict(options)
    idempotency_id = rest.pop("idempotency_id", None)
    settings = settings_of(cast(GateOptions, rest))
    if idempotency_id is None:
        return settings, str(uuid4())
    if not isinstance(idempotency_id, str) or not is_uuid(idempotency_id):
        raise GateConfigError("idempotency_id must be a lower-case UUID")
    return settings, idempotency_id


def _sent_again(settings: Settings, idempotency_id: str, body: bytes) -> Flow[HttpAnswer]:
    """The same bytes under the same id, until an answer comes that is not a failure of Gate."""
    request = HttpRequest(
        "POST",
        "/mcp",
        headers={
            "Content-Type": "application/json",
            "X-Gate-Decision-Contract": DECISION_CONTRACT,
            "X-Gate-Idempotency-Id": idempotency_id,
            **({} if settings.callback is None else {"X-Gate-Callback-URL": settings.callback.url}),
        },
        body=body,
    )
    attempt = 1
    while True:
        is_last = attempt >= settings.max_attempts
        try:
            answer = yield from send(settings, request)
            if answer.status < 500 or is_last:
                return answer
        except GateTransportError as error:
            if is_last or error.status is not None:
                raise
        pause = min(settings.base_delay_s * 2 ** (attempt - 1), _LONGEST_PAUSE_S)
        yield Sleep(pause * random.uniform(0.5, 1))
        attempt += 1


def _verdict_of(calls: Sequence[ToolCall], settings: Settings, idempotency_id: str) -> Flow[Verdict]:
    body = request_bytes(calls, idempotency_id)
    try:
        verdict = read_verdict((yield from _sent_again(settings, idempotency_id, body)))
    except GateTransportError as error:
        if settings.mode != "observe":
            raise
        return Uninspected(error)
    if settings.mode == "observe" and isinstance(verdict, Deny):
        return WouldDeny(verdict.correlation_id, verdict.payload)
    return verdict


def denied_of(verdict: Deny, calls: Sequence[ToolCall]) -> GateDenied:
    payload = verdict.payload
    return GateDenied(
        next((call for call in calls if call.id == payload.call_id), calls[0]),
        code=payload.error,
        reasons=payload.reasons,
        review_reasons=payload.review_reasons,
        intent_category=payload.intent_category,
        layer=payload.layer,
        correlation_id=verdict.correlation_id,
        advice=payload.advice,
        detail=payload.detail,
    )


def inspected(calls: Sequence[ToolCall], settings: Settings, idempotency_id: str | None = None) -> Flow[Verdict]:
    """Asks, tells `on_verdict` of each call, and gives the verdict back."""
    verdict = yield from _verdict_of(calls, settings, idempotency_id or str(uuid4()))
    if settings.dev_mode and isinstance(verdict, Deny):
        print(denial_panel(denied_of(verdict, calls)), file=sys.stderr)
    for call in calls:
        context = CallContext(call.name, call.id, call.input)
        if isinstance(verdict, Uninspected):
            if settings.on_policy_error is not None:
                yield Tell("on_policy_error", settings.on_policy_error, verdict.error, context)
        elif settings.on_verdict is not None:
            yield Tell("on_verdict", settings.on_verdict, verdict, context)
    return verdict


def error_of(verdict: Verdict, calls: Sequence[ToolCall], settings: Settings, is_async: bool) -> GateError | None:
    """What a verdict is raised as; `None` where the calls may run."""
    if isinstance(verdict, Deny):
        return denied_of(verdict, calls)
    if isinstance(verdict, Pending) and not verdict.would_only:
        waiting = PendingCall(
            settings,
            verdict.correlation_id,
            calls[0],
            is_async,
            review_reasons=verdict.review_reasons,
            ttl_secs=verdict.ttl_secs,
            poll_after_ms=verdict.poll_after_ms,
        )
        return GatePending(waiting, calls, verdict.tier)
    if isinstance(verdict, RateLimited):
        return GateRateLimited(
            calls[0],
            code=verdict.payload.verdict,
            reasons=verdict.payload.reasons,
            retry_after_secs=verdict.payload.retry_after_secs,
            scope=verdict.payload.scope,
            correlation_id=verdict.correlation_id,
        )
    return None


def guarded(
    calls: Sequence[ToolCall], settings: Settings, is_async: bool, idempotency_id: str | None = None
) -> Flow[Verdict]:
    """Returns where the calls may run; otherwise raises what Gate said. In observe mode everything may run."""
    verdict = yield from inspected(calls, settings, idempotency_id)
    error = error_of(verdict, calls, settings, is_async) if settings.mode == "enforce" else None
    if error is not None:
        raise error
    return verdict


def guard_flow(call: ToolCall, options: GuardOptions, is_async: bool) -> Flow[str | None]:
    """The correlation id of a call that may run."""
    rest = dict(options)
    on_pending, wait = rest.pop("on_pending", "raise"), cast(ResolveOptions, rest.pop("wait", {}))
    if on_pending not in ("raise", "wait"):
        raise GateConfigError(f"on_pending is raise or wait, and not {on_pending}")
    settings, idempotency_id = _settings_and_id(cast(CallOptions, rest))
    verdict = yield from inspected([call], settings, idempotency_id)
    error = error_of(verdict, [call], settings, is_async) if settings.mode == "enforce" else None
    if isinstance(error, GatePending) and on_pending == "wait":
        yield from cast(PendingCall, error.waiting).decided(wait)
        return error.correlation_id
    if error is not None:
        raise error
    return None if isinstance(verdict, Uninspected) else verdict.correlation_id


def _inspect_flow(calls: Sequence[ToolCall], options: CallOptions) -> Flow[Verdict]:
    settings, idempotency_id = _settings_and_id(options)
    return inspected(calls, settings, idempotency_id)


async def inspect_tool_use(call: ToolCall, **options: Unpack[CallOptions]) -> Verdict:
    """
    Gate's verdict on one call. Raises only where there is none: `GateConfigError`, and in enforce mode `GateTransportError`.
    """
    return await run_async(_inspect_flow([call], options))


def inspect_tool_use_sync(call: ToolCall, **options: Unpack[CallOptions]) -> Verdict:
    """As `inspect_tool_use`, for code that is not async."""
    return run(_inspect_flow([call], options))


async def inspect_tool_uses(calls: Sequence[ToolCall], **options: Unpack[CallOptions]) -> Verdict:
    """One verdict on all calls of one turn of a model: where one may not run, none may."""
    return await run_async(_inspect_flow(calls, options))


def inspect_tool_uses_sync(calls: Sequence[ToolCall], **options: Unpack[CallOptions]) -> Verdict:
    """As `inspect_tool_uses`, for code that is not async."""
    return run(_inspect_flow(calls, options))


async def guard_tool_call(call: ToolCall, **options: Unpack[GuardOptions]) -> str | None:
    """Returns the correlation id where the call may run, and raises what Gate said where it may not."""
    return await run_async(guard_flow(call, options, is_async=True))


def guard_tool_call_sync(call: ToolCall, **options: Unpack[GuardOptions]) -> str | None:
    """As `guard_tool_call`, for code that is not async."""
    return run(guard_flow(call, options, is_async=False))


class ResumeOptions(GateOptions, total=False):
    wait: ResolveOptions


def _resume_flow(correlation_id: str, options: ResumeOptions, is_async: bool) -> Flow[None]:
    rest = dict(options)
    wait = cast(ResolveOptions, rest.pop("wait", {}))
    call = ToolCall(correlation_id, None, correlation_id)
    return PendingCall(settings_of(cast(GateOptions, rest)), correlation_id, call, is_async).decided(wait)


async def resolve_pending(correlation_id: str, **options: Unpack[ResumeOptions]) -> None:
    """Waits for the decision on a call that another process, or this one before it was started again, had parked."""
    await run_async(_resume_flow(correlation_id, options, is_async=True))


def resolve_pending_sync(correlation_id: str, **options: Unpack[ResumeOptions]) -> None:
    """As `resolve_pending`, for code that is not async."""
    run(_resume_flow(correlation_id, options, is_async=False))
