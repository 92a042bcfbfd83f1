"""What Gate says of a call, in the words of the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict
from uuid import uuid4


def _new_id() -> str:
    return str(uuid4())


@dataclass(frozen=True)
class ToolCall:
    """A tool call as a model wrote it. `id` is the provider's own, `input` plain JSON: what is judged is what runs."""

    name: str
    input: object
    id: str = field(default_factory=_new_id)


@dataclass(frozen=True)
class DetectorScore:
    """What one detector of Gate's inspection said."""

    detector: str
    score: float
    flagged: bool | None = None


@dataclass(frozen=True)
class DenialDetail:
    """What each detector said; sent by a Gate with verbose verdicts alone."""

    detectors: Sequence[DetectorScore]
    degraded: Sequence[str] = ()


@dataclass(frozen=True)
class Advice:
    """What an agent can do about a refusal."""

    retry: str
    """Whether the same request may be sent again: `yes`, `no` or `after_wait`."""
    person_can_help: bool
    """Whether a person can bring it about that this action is done."""
    allowed: str | None = None
    """What would be allowed, or what to do instead."""


@dataclass(frozen=True)
class Denial:
    """The body of a refusal."""

    error: str
    reasons: Sequence[str] = ()
    review_reasons: Sequence[str] = ()
    intent_category: str = ""
    verdict: str | None = None
    layer: str | None = None
    correlation_id: str | None = None
    call_id: str | None = None
    """The sibling of a batch that the refusal names."""
    advice: Advice | None = None
    detail: DenialDetail | None = None


@dataclass(frozen=True)
class Limited:
    """The body of a limit that was reached."""

    error: str
    verdict: Literal["rate_limited", "quota_exceeded"]
    reasons: Sequence[str] = ()
    retry_after_secs: int | None = None
    scope: str | None = None


@dataclass(frozen=True)
class Allow:
    correlation_id: str | None = None
    kind: Literal["allow"] = "allow"


@dataclass(frozen=True)
class Deny:
    payload: Denial
    correlation_id: str | None = None
    kind: Literal["deny"] = "deny"


@dataclass(frozen=True)
class WouldDeny:
    """Of a Gate, or of an SDK, that only observes."""

    correlation_id: str | None = None
    payload: Denial | None = None
    kind: Literal["would_deny"] = "would_deny"


@dataclass(frozen=True)
class Pending:
    """It waits for a person; with `would_only` it would have, at a Gate that only observes."""

    correlation_id: str
    review_reasons: Sequence[str] = ()
    ttl_secs: int | None = None
    tier: str | None = None
    poll_after_ms: int | None = None
    would_only: bool = False
    kind: Literal["pending"] = "pending"


@dataclass(frozen=True)
class RateLimited:
    payload: Limited
    correlation_id: str | None = None
    kind: Literal["rate_limited"] = "rate_limited"


@dataclass(frozen=True)
class Uninspected:
    """An SDK that observes had no verdict at all."""

    error: Exception
    kind: Literal["uninspected"] = "uninspected"


Verdict = Allow | Deny | WouldDeny | Pending | RateLimited | Uninspected
"""What Gate said of one call, or of one batch as a whole."""


@dataclass(frozen=True)
class CallContext:
    """Which call a callback is about."""

    tool_name: str
    tool_use_id: str
    tool_input: object


class ResolveOptions(TypedDict, total=False):
    poll_interval_s: float
    """Between two questions, ±20 %. Default: what Gate said, else 2; 30 where a callback is waited for."""
    timeout_s: float
    """Default: what the person has, at most 600."""
