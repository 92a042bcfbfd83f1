"""A call that waits, and what is needed to hear what became of it."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack
from urllib.parse import quote

from .errors import GateConfigError, GateDenied, GateTransportError
from .flow import Flow, Sleep, Within, run, run_async
from .http import HttpRequest, quoted, send
from .options import CallbackOptions, Settings
from .types import ResolveOptions, ToolCall
from .verdict import object_in, text_of

_MOST_WAIT_S = 600
_POLL_S = 2.0
# Whatever an answer says: an agent that waits does not ask without a pause.
_LEAST_POLL_S = 0.05
_POLL_BESIDE_CALLBACK_S = 30.0


@dataclass(frozen=True)
class PendingCall:
    settings: Settings
    correlation_id: str
    call: ToolCall
    """For the error of a refusal."""
    is_async: bool
    """Whether the call was made by async code, as what it gave for `callback` is then."""
    review_reasons: Sequence[str] = ()
    ttl_secs: int | None = None
    poll_after_ms: int | None = None

    async def resolve(self, **options: Unpack[ResolveOptions]) -> None:
        if not self.is_async:
            raise GateTransportError("the call was made by code that is not async: use resolve_sync()")
        await run_async(self.decided(options))

    def resolve_sync(self, **options: Unpack[ResolveOptions]) -> None:
        if self.is_async:
            raise GateTransportError("the call was made by async code: use resolve()")
        run(self.decided(options))

    def decided(self, options: ResolveOptions) -> Flow[None]:
        """
        Asks at once, and then until it is decided. A Gate that is away is asked again; a time that is over is no decision, and raises a
        `GateTransportError` that says so.
        """
        callback = self.settings.callback
        usual = _POLL_S if self.poll_after_ms is None else max(self.poll_after_ms / 1_000, _LEAST_POLL_S)
        interval = options.get("poll_interval_s", usual if callback is None else _POLL_BESIDE_CALLBACK_S)
        most = min(_MOST_WAIT_S, _MOST_WAIT_S if self.ttl_secs is None else self.ttl_secs)
        timeout = options.get("timeout_s", most)
        if not interval >= 0 or not timeout >= 0:
            raise GateConfigError("poll_interval_s and timeout_s must not be negative")
        end = time.monotonic() + timeout
        while True:
            if (yield from self._is_approved(max(0.001, min(self.settings.timeout_s, end - time.monotonic())))):
                return
            left = end - time.monotonic()
            if left <= 0:
                raise GateTransportError(f"not decided within {timeout:g} s")
            pause = min(interval * random.uniform(0.8, 1.2), left)
            if callback is None:
                yield Sleep(pause)
            elif (yield from self._was_posted(callback, pause)):
                callback = None

    def _was_posted(self, callback: CallbackOptions, seconds: float) -> Flow[bool]:
        """Pauses until somebody posts. Whoever posts is not known by the post, so it only ends the pause before the next question."""
        end = time.monotonic() + seconds
        try:
            yield Within("callback.wait", callback.wait, self.correlation_id, seconds)
        except GateConfigError:
            raise
        except Exception:
            yield Sleep(max(0.0, end - time.monotonic()))
            return False
        return time.monotonic() < end

    def _is_approved(self, timeout_s: float) -> Flow[bool]:
        """One question. `False` while nobody decided, and while Gate is away."""
        path = f"/pending/{quote(self.correlation_id, safe='')}"
        try:
            answer = yield from send(self.settings, HttpRequest("GET", path, timeout_s=timeout_s))
        except GateTransportError as error:
            if error.status is None:
                return False
            raise
        if answer.status >= 500 or answer.status == 429:
            return False
        view = object_in(answer.text)
        if answer.status != 200 or view is None:
            raise GateTransportError(
                f"HTTP {answer.status} for a call that waits: {quoted(answer.text)}",
                status=answer.status,
                code=text_of((view or {}).get("error")),
            )
        if view.get("correlation_id") != self.correlation_id:
            raise GateTransportError("the answer is about another call", status=answer.status)
        status, decision = view.get("status"), view.get("decision")
        refused = text_of(view.get("authorization_refused"))
        if refused is not None:
            raise self._denied(refused, "approved, and the approval counts no more", "PendingDenied")
        # What was approved is then another call than the one that would run here.
        if "modified_payload_digest" in view:
            raise self._denied(
                "call_changed", "approved with other arguments, which this package does not run", "PendingDenied"
            )
        if decision == "allow" or ("decision" not in view and status == "approved"):
            return True
        if decision == "deny" or status == "denied":
            note = view.get("decider_note")
            note = view.get("reason") if note is None else note
            raise self._denied("review_denied", text_of(note) or "operator denied", "PendingDenied")
        if status == "expired":
            raise self._denied("review_expired", "review expired", "PendingExpired")
        if status == "withdrawn":
            raise self._denied("call_withdrawn", "the agent withdrew the call", "PendingWithdrawn")
        if status == "aborted":
            raise self._denied("call_aborted", "gate closed the call", "PendingAborted")
        if status == "pending":
            return False
        raise GateTransportError(f"a call that waits has no state {quoted(str(status))}", status=answer.status)

    def _denied(self, code: str, reason: str, intent_category: str) -> GateDenied:
        return GateDenied(
            self.call,
            code=code,
            reasons=[reason],
            review_reasons=self.review_reasons,
            intent_category=intent_category,
            layer="hil",
            correlation_id=self.correlation_id,
        )
