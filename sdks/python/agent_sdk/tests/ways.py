"""Each test asks in both ways: by the functions that are async, and by those that are not."""

from __future__ import annotations

import asyncio
from typing import Any

import gate_agent_sdk

WAYS = ["sync", "async"]


def ask(way: str, function: str, *given: object, **options: Any) -> Any:
    if way == "sync":
        return getattr(gate_agent_sdk, f"{function}_sync")(*given, **options)
    return asyncio.run(getattr(gate_agent_sdk, function)(*given, **options))


def resolve(way: str, pending: gate_agent_sdk.GatePending, **options: Any) -> None:
    if way == "sync":
        pending.resolve_sync(**options)
    else:
        asyncio.run(pending.resolve(**options))
