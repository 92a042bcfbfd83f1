"""What the hooks of frameworks have in common: a call is judged, and a refusal becomes words for the model where the hook can give some."""

from __future__ import annotations

import copy
from typing import Literal, cast
from uuid import uuid4

from .errors import GateConfigError, GateDenied, GatePending, GateRateLimited
from .flow import Flow
from .inspecting import GuardOptions, guard_flow
from .options import GateOptions
from .types import ResolveOptions, ToolCall

Refusal = GateDenied | GatePending | GateRateLimited
"""What a person or a rule did not let run."""


class AdapterOptions(GateOptions, total=False):
    on_pending: Literal["raise", "wait"]
    """`wait` stays with a call that waits for a person until it is decided; with `raise` (the default) it is refused."""
    wait: ResolveOptions
    on_refused: Literal["message", "raise"]
    """`message` (the default) tells the model what was refused and why, in place of the tool's result. A Gate that was not reached always raises."""


def refusal_text(refusal: Refusal) -> str:
    """A refusal in words for a model: what was refused, under which code, why, and what would be allowed."""
    if isinstance(refusal, GatePending):
        reasons = " ".join(refusal.review_reasons)
        return f"{refusal.tool_name} was not run: it waits for a person ({refusal.correlation_id}). {reasons}".strip()
    instead = refusal.advice.allowed if isinstance(refusal, GateDenied) and refusal.advice is not None else None
    return " ".join([f"{refusal.tool_name} was not run: {refusal.code}.", *refusal.reasons, instead or ""]).strip()


def copy_of(name: str, value: object) -> object:
    """What runs is what was judged: a copy that nobody else holds."""
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise GateConfigError(f"arguments of {name} are no plain JSON: {error}") from None


class Adapter:
    def __init__(self, options: AdapterOptions) -> None:
        rest = dict(options)
        on_refused = rest.pop("on_refused", "message")
        if on_refused not in ("message", "raise"):
            raise GateConfigError(f"on_refused is message or raise, and not {on_refused}")
        if "idempotency_id" in rest:
            raise GateConfigError("idempotency_id names one call, and these options are of many")
        self._raises = on_refused == "raise"
        self._options = cast(GuardOptions, rest)

    def refusal(self, name: str, value: object, call_id: str | None, is_async: bool) -> Flow[str | None]:
        """The words of a refusal; `None` where the call may run."""
        try:
            yield from guard_flow(ToolCall(name, value, call_id or str(uuid4())), self._options, is_async)
        except (GateDenied, GatePending, GateRateLimited) as refusal:
            if self._raises:
                raise
            return refusal_text(refusal)
        return None
