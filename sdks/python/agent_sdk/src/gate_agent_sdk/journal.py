"""Where a host keeps what it may not forget of the calls that it executes itself."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class PreparedCall:
    """What is about to be asked: kept before the network, so that a restart asks about the same call."""

    idempotency_id: str
    name: str
    input: object


@dataclass(frozen=True)
class ExecutionIntent:
    """The one attempt at a call. From here on nobody may make another one."""

    idempotency_id: str
    name: str
    input: object
    executor_id: str
    authorization: Mapping[str, Any]
    """As Gate signed it: `authorization` and `identity_signature`."""


@dataclass(frozen=True)
class ExecutionCompletion:
    """What came of the attempt, with the receipt that Gate is owed."""

    idempotency_id: str
    result: object
    effect_id: str
    receipt: Mapping[str, Any]


@dataclass(frozen=True)
class KeptExecution:
    prepared: PreparedCall | None
    intent: ExecutionIntent | None
    completion: ExecutionCompletion | None


class ExecutionJournal(Protocol):
    """What returns has to outlive the end of the process and of the machine."""

    def load(self, idempotency_id: str) -> KeptExecution: ...
    def prepare(self, call: PreparedCall) -> None:
        """Keeps what was prepared first under this id."""
        ...

    def commit_intent(self, intent: ExecutionIntent) -> bool:
        """`False` where there is an attempt already, of another process too."""
        ...

    def complete(self, completion: ExecutionCompletion) -> None:
        """The completion and what is owed, in one step; the first one stays."""
        ...

    def owed(self, limit: int) -> Sequence[ExecutionCompletion]:
        """Completions whose receipt was not delivered, oldest first."""
        ...

    def delivered(self, idempotency_id: str) -> None: ...


_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS intents (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS completions (
  place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL, is_delivered INTEGER NOT NULL DEFAULT 0
) STRICT;
"""


class SqliteJournal:
    """A journal in one file of SQLite, readable by its owner alone. Several processes may share it; which of them makes the attempt is decided by a row."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(self._open()) as database:
            database.executescript(_SCHEMA)

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        # A row that was written is on the disk, and so is the folder's entry of the rollback journal.
        database.execute("PRAGMA synchronous = EXTRA")
        return database

    def _row(self, statement: str, *given: object) -> Any:
        with closing(self._open()) as database:
            row = database.execute(statement, given).fetchone()
        return None if row is None else json.loads(row[0])

    def _wrote(self, statement: str, *given: object) -> bool:
        with closing(self._open()) as database:
            return database.execute(statement, given).rowcount == 1

    def load(self, idempotency_id: str) -> KeptExecution:
        prepared = self._row("SELECT body FROM calls WHERE id = ?", idempotency_id)
        intent = self._row("SELECT body FROM intents WHERE id = ?", idempotency_id)
        completion = self._row("SELECT body FROM completions WHERE id = ?", idempotency_id)
        return KeptExecution(
            None if prepared is None else PreparedCall(**prepared),
            None if intent is None else ExecutionIntent(**intent),
            None if completion is None else ExecutionCompletion(**completion),
        )

    def prepare(self, call: PreparedCall) -> None:
        self._wrote("INSERT OR IGNORE INTO calls (id, body) VALUES (?, ?)", call.idempotency_id, json.dumps(asdict(call)))

    def commit_intent(self, intent: ExecutionIntent) -> bool:
        body = json.dumps(asdict(intent))
        return self._wrote("INSERT OR IGNORE INTO intents (id, body) VALUES (?, ?)", intent.idempotency_id, body)

    def complete(self, completion: ExecutionCompletion) -> None:
        body = json.dumps(asdict(completion))
        self._wrote("INSERT OR IGNORE INTO completions (id, body) VALUES (?, ?)", completion.idempotency_id, body)

    def owed(self, limit: int) -> Sequence[ExecutionCompletion]:
        with closing(self._open()) as database:
            rows = database.execute(
                "SELECT body FROM completions WHERE is_delivered = 0 ORDER BY place LIMIT ?", (limit,)
            ).fetchall()
        return [ExecutionCompletion(**json.loads(body)) for (body,) in rows]

    def delivered(self, idempotency_id: str) -> None:
        self._wrote("UPDATE completions SET is_delivered = 1 WHERE id = ?", idempotency_id)
