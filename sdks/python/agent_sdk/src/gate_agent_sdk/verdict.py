"""What an answer of Gate says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from .errors import GateConfigError, GateTransportError
from .http import HttpAnswer, quoted
from .types import (
    Advice,
    Allow,
    Denial,
    DenialDetail,
    Deny,
    DetectorScore,
    Limited,
    Pending,
    RateLimited,
    Verdict,
    WouldDeny,
)

DECISION_CONTRACT = "gate.decision/v1"

Fields = Mapping[str, object]
_NONE: Fields = {}


def object_in(text: str) -> Fields | None:
    """The body as an object; `None` where it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Fields, value) if isinstance(value, dict) else None


def text_of(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    parts = cast("list[object]", value)
    return cast("list[str]", parts) if all(isinstance(part, str) for part in parts) else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
        return None
    return int(value) if value == int(value) else None


def _unreadable(answer: HttpAnswer, why: str) -> GateTransportError:
    """An answer that is none of Gate's: it decides nothing."""
    code = text_of((object_in(answer.text) or _NONE).get("error"))
    return GateTransportError(
        f"HTTP {answer.status}: {why}: {quoted(answer.text) or '(empty)'}", status=answer.status, code=code
    )


def _correlation_id_of(answer: HttpAnswer, body: Fields) -> str | None:
    """The correlation id of header and body, which must be one."""
    header = answer.headers.get("x-gate-correlation-id")
    in_body = text_of(body.get("correlation_id"))
    if header is not None and in_body is not None and header != in_body:
        raise _unreadable(answer, "header and body name two calls")
    return header if in_body is None else in_body


def _reasons_of(body: Fields) -> list[str]:
    given = _texts(body.get("reasons"))
    if given is not None:
        return given
    reasoning = text_of(body.get("reasoning"))
    return [] if reasoning is None else [reasoning]


def _advice_of(value: object) -> Advice | None:
    fields = cast(Fields, value) if isinstance(value, dict) else _NONE
    retry, helps = fields.get("retry"), fields.get("person_can_help")
    if not isinstance(retry, str) or not isinstance(helps, bool):
        return None
    return Advice(retry, helps, text_of(fields.get("allowed")))


def _detail_of(value: object) -> DenialDetail | None:
    """Only a detail with detectors that are shaped as such; a program rests on nothing else of it."""
    fields = cast(Fields, value) if isinstance(value, dict) else _NONE
    given = fields.get("detectors")
    if not isinstance(given, list):
        return None
    detectors: list[DetectorScore] = []
    for part in cast("list[object]", given):
        said = cast(Fields, part) if isinstance(part, dict) else _NONE
        name, score, flagged = said.get("detector"), said.get("score"), said.get("flagged")
        if isinstance(name, str) and isinstance(score, (int, float)) and not isinstance(score, bool):
            detectors.append(DetectorScore(name, score, flagged if isinstance(flagged, bool) else None))
    return DenialDetail(detectors, _texts(fields.get("degraded")) or ())


def _allowed(answer: HttpAnswer, body: Fields, correlation_id: str | None) -> Verdict:
    if answer.text != "" and body.get("decision") != "allow" and body.get("verdict") != "allow":
        raise _unreadable(answer, "it does not say allow")
    # An empty 200 is what anything in between would send for a page that is not there.
    if answer.text == "" and "x-gate-decision-contract" not in answer.headers:
        raise _unreadable(answer, "it does not say allow")
    if answer.headers.get("x-gate-would-deny") == "true":
        return WouldDeny(correlation_id)
    if answer.headers.get("x-gate-would-pend") == "true" and correlation_id is not None:
        return Pending(correlation_id, would_only=True)
    return Allow(correlation_id)


def read_verdict(answer: HttpAnswer) -> Verdict:
    """
    What an answer of `POST /mcp` under `gate.decision/v1` says (docs/architecture/requests-and-answers.md#answers of Gate). Anything that is
    not plainly an allow is none. Raises `GateTransportError` for what says nothing, `GateConfigError` for a Gate that speaks another contract.
    """
    contract = answer.headers.get("x-gate-decision-contract", DECISION_CONTRACT)
    if contract != DECISION_CONTRACT:
        raise _unreadable(answer, f"the answer is of contract {quoted(contract)}")
    body = object_in(answer.text) or _NONE
    correlation_id = _correlation_id_of(answer, body)
    error = text_of(body.get("error"))
    if answer.status == 200:
        return _allowed(answer, body, correlation_id)
    if answer.status == 202:
        if body.get("status") != "pending" or correlation_id is None:
            raise _unreadable(answer, "no call that waits")
        ttl_secs = _count(body.get("ttl_secs"))
        return Pending(
            correlation_id,
            review_reasons=_texts(body.get("review_reasons")) or [],
            ttl_secs=_count(body.get("ttl_seconds")) if ttl_secs is None else ttl_secs,
            tier=text_of(body.get("tier")),
            poll_after_ms=_count(body.get("poll_after_ms")),
        )
    if answer.status == 403:
        if error is None:
            raise _unreadable(answer, "no refusal of Gate")
        denial = Denial(
            error=error,
            reasons=_reasons_of(body),
            review_reasons=_texts(body.get("review_reasons")) or [],
            intent_category=text_of(body.get("intent_category")) or "",
            verdict=text_of(body.get("verdict")),
            layer=text_of(body.get("layer")),
            correlation_id=text_of(body.get("correlation_id")),
            call_id=text_of(body.get("call_id")),
            advice=_advice_of(body.get("advice")),
            detail=_detail_of(body.get("detail")),
        )
        return Deny(denial, correlation_id)
    if answer.status == 426:
        raise GateConfigError(f"this Gate asks for another contract: {quoted(answer.text)}; update gate-agent-sdk")
    if answer.status == 429:
        if error is None:
            raise _unreadable(answer, "no limit of Gate")
        limited = Limited(
            error=error,
            verdict="quota_exceeded" if "quota_exceeded" in (error, body.get("verdict")) else "rate_limited",
            reasons=_reasons_of(body),
            retry_after_secs=_count(body.get("retry_after_secs")),
            scope=text_of(body.get("scope")),
        )
        return RateLimited(limited, correlation_id)
    raise _unreadable(answer, error or "no verdict")
