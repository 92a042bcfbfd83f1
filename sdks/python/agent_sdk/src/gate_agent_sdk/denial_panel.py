"""A denial as a developer reads it in a terminal."""

from __future__ import annotations

from .errors import GateDenied
from .http import quoted


def denial_panel(denied: GateDenied) -> str:
    """Every text of it came over the network and is printed on one line."""
    rows: list[tuple[str, str | None]] = [
        ("tool", denied.tool_name),
        ("code", denied.code),
        ("layer", denied.layer),
        ("intent", denied.intent_category),
        ("call", denied.correlation_id),
        *(("reason", reason) for reason in denied.reasons),
    ]
    rows.append(("allowed", denied.advice.allowed if denied.advice else None))
    if denied.detail is not None:
        for said in denied.detail.detectors:
            rows.append(("detector", f"{said.detector} {said.score:g}{' flagged' if said.flagged else ''}"))
        rows.extend(("not asked", lane) for lane in denied.detail.degraded)
    lines = [f"  {name:<10} {quoted(text)}" for name, text in rows if text]
    if denied.detail is None:
        lines.append("  what each detector said is told by a Gate with GATE_PROXY_VERBOSE_VERDICTS")
    return "\n".join(["gate denied a call", *lines])
