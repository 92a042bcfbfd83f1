"""What each example does: the calls that its scripted model makes, tools that note what they did, and what has to come of it."""

from __future__ import annotations

from typing import Any

from gate_agent_sdk import CallContext, Pending, Verdict

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {"path": "notes"}),
    ("delete_file", {"path": "notes/todo.txt"}),
    ("wire_transfer", {"to": "vendor", "amount": 25}),
]
ran: list[tuple[str, dict[str, Any]]] = []
"""What ran, in its order."""


def list_files(path: str) -> str:
    """Lists the files of a folder."""
    ran.append(("list_files", {"path": path}))
    return "list_files: done"


def delete_file(path: str) -> str:
    """Deletes a file."""
    ran.append(("delete_file", {"path": path}))
    return "delete_file: done"


def wire_transfer(to: str, amount: int) -> str:
    """Moves money."""
    ran.append(("wire_transfer", {"to": to, "amount": amount}))
    return "wire_transfer: done"


TOOLS = [list_files, delete_file, wire_transfer]


def tell(verdict: Verdict, call: CallContext) -> None:
    words = [f"{call.tool_name}: {verdict.kind}"]
    if isinstance(verdict, Pending):
        words.append(f"; decide {verdict.correlation_id}")
    elif verdict.kind == "deny":
        words.append(f" {verdict.payload.error}")
    print("".join(words), flush=True)


OPTIONS: dict[str, Any] = {"on_pending": "wait", "wait": {"poll_interval_s": 0.2}, "on_verdict": tell}
"""`wait` stays with a call until its person decided: `npx gate decide <id> approve`, or the console."""


def check(said: object) -> None:
    """The reads and what a person approved have run, in their order, and nothing else has."""
    assert ran == [CALLS[0], CALLS[2]], ran
    assert "policy_denied" in str(said), said
    print("as it should be")
