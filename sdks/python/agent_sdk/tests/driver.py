"""
Carries out what a test says, a line of JSON each, and answers each with a line: what came of it in the words of the wire. With `sync` as its
argument by the functions that are not async.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from typing import Any

import gate_agent_sdk as gate

SYNC = sys.argv[1:] == ["sync"]


def plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(part) for name, part in vars(value).items() if part is not None}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def verdict(given: gate.Verdict) -> Any:
    if isinstance(given, gate.Uninspected):
        return {"kind": given.kind, "error": type(given.error).__name__}
    told = plain(given)
    return {**told.pop("payload", {}), **told}


async def carried_out(asked: dict[str, Any]) -> Any:
    options = asked.get("options", {})
    if asked["do"] == "inspect":
        calls = [gate.ToolCall(call["name"], call["input"], call["id"]) for call in asked["calls"]]
        if SYNC:
            return verdict(gate.inspect_tool_uses_sync(calls, **options))
        return verdict(await gate.inspect_tool_uses(calls, **options))
    if asked["do"] == "guard":
        told: list[str] = []
        options["on_verdict"] = lambda said, call: told.append(f"{said.kind} {call.tool_name}")
        call = gate.ToolCall(asked["name"], asked["input"])
        came = gate.guard_tool_call_sync(call, **options) if SYNC else await gate.guard_tool_call(call, **options)
        return {"correlation_id": came, "told": told}
    if asked["do"] == "realtime":
        call = gate.normalize_realtime_function_call(asked["event"])
        return {"name": call.name, "input": call.input, "id": call.id}
    if SYNC:
        return gate.resolve_pending_sync(asked["correlation_id"], **options)
    return await gate.resolve_pending(asked["correlation_id"], **options)


async def main() -> None:
    for line in sys.stdin:
        try:
            said: Any = {"value": await carried_out(json.loads(line))}
        except gate.GateError as error:
            said = {
                "error": type(error).__name__,
                "code": getattr(error, "code", None),
                "message": str(error),
                "correlation_id": getattr(error, "correlation_id", None),
            }
        print(json.dumps(said), flush=True)


asyncio.run(main())
