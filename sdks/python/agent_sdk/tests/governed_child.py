"""
One execution in a process of its own, for tests that end it in the middle: `KILL_AT` names the step of the journal, or of the effect, at which it
kills itself. Prints what came of it as a line of JSON. An effect is a line in `EFFECTS`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import ssl
from pathlib import Path
from typing import Any

from gate_agent_sdk import GateError
from gate_agent_sdk.governed import Authorized, Effect, GovernedTools
from gate_agent_sdk.journal import ExecutionCompletion, ExecutionIntent, SqliteJournal

ENV = os.environ


def dies(step: str) -> None:
    if step == ENV.get("KILL_AT"):
        os.kill(os.getpid(), signal.SIGKILL)


class DyingJournal(SqliteJournal):
    def commit_intent(self, intent: ExecutionIntent) -> bool:
        dies("before-intent")
        first = super().commit_intent(intent)
        dies("after-intent")
        return first

    def complete(self, completion: ExecutionCompletion) -> None:
        dies("before-completion")
        super().complete(completion)
        dies("after-completion")

    def delivered(self, idempotency_id: str) -> None:
        dies("before-delivered")
        super().delivered(idempotency_id)


def effect_of(idempotency_id: str, name: str) -> Effect:
    return Effect({"done": name, "cost": 0.1, "é": 1e21}, f"effect-{idempotency_id}")


def run(call: Authorized) -> Effect:
    dies("before-effect")
    with open(ENV["EFFECTS"], "a") as effects:
        effects.write(f"{call.idempotency_id} {call.name} {json.dumps(call.input)}\n")
    dies("after-effect")
    if "FAIL" in ENV:
        raise ValueError("in the middle")
    return effect_of(call.idempotency_id, call.name)


def recover(intent: ExecutionIntent) -> Effect | None:
    """Looks whether the effect is there."""
    effects = Path(ENV["EFFECTS"])
    found = effects.exists() and intent.idempotency_id in effects.read_text()
    return effect_of(intent.idempotency_id, intent.name) if found else None


def tools() -> GovernedTools:
    options: dict[str, Any] = {}
    if ENV.get("CA"):
        options["ssl_context"] = ssl.create_default_context(cafile=ENV["CA"])
        options["ssl_context"].load_cert_chain(ENV["CERT"], ENV["KEY"])
    if "WAIT" in ENV:
        options |= {"on_pending": "wait", "wait": {"poll_interval_s": 0.05}}
    return GovernedTools(
        endpoint=ENV["ENDPOINT"],
        executor_id="a-host",
        journal=DyingJournal(ENV["JOURNAL"]),
        certificate=Path(ENV["CERT"]).read_text(),
        private_key=Path(ENV["KEY"]).read_text(),
        **options,
    )


async def carried_out() -> Any:
    governed, is_async = tools(), ENV.get("WAY") == "async"
    if "DELIVER" in ENV:
        return await governed.deliver_receipts() if is_async else governed.deliver_receipts_sync()
    call = (ENV.get("TOOL", "list_files"), {"path": "notes"}, run)
    named: dict[str, Any] = {"idempotency_id": ENV["ID"], "recover": recover if "RECOVER" in ENV else None}
    return await governed.execute(*call, **named) if is_async else governed.execute_sync(*call, **named)


try:
    print(json.dumps(dataclasses.asdict(asyncio.run(carried_out()))))
except GateError as error:
    print(json.dumps({"error": type(error).__name__, "code": getattr(error, "code", None), "message": str(error)}))
