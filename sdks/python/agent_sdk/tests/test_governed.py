"""
Governed execution at a Gate of this test, which signs by a key of its own; `test/e2e/python-governed.test.ts` of Gate runs the same child at a
whole one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from stub_gate import Answering, Asked, StubGate
from ways import WAYS

from gate_agent_sdk import GateConfigError
from gate_agent_sdk.canonical_json import canonical_digest, canonical_json
from gate_agent_sdk.governed import GovernedTools
from gate_agent_sdk.journal import SqliteJournal

both_ways = pytest.mark.parametrize("way", WAYS)
CHILD = Path(__file__).with_name("governed_child.py")
Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "ä\n"]}, '{"a":[true,null,"ä\\n"],"b":1}'),
        ({"\u20ac": 1, "\r": 2, "\U0001f600": 3, "1": 4, "\ufb33": 5}, '{"\\r":2,"1":4,"\u20ac":1,"\U0001f600":3,"\ufb33":5}'),
        ([1e21, 1e-7, 0.1, -0.0, 333333333.3333333, 5e-324, 1e20, 123e-7, -25.0], '[1e+21,1e-7,0.1,0,333333333.3333333,5e-324,100000000000000000000,0.0000123,-25]'),
    ],
)  # fmt: skip
def test_the_canonical_form(value: object, text: str) -> None:
    assert canonical_json(value) == text


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Host:
    """An agent's host: its certificate, its journal, and a Gate that authorizes everything but `refuse`."""

    gate: StubGate
    folder: Path
    key: Any
    fingerprint: str
    gate_key: Any = field(default_factory=Ed25519PrivateKey.generate)
    change: Change = lambda _: None
    """Of an authorization before it is signed."""
    forge: Change = lambda _: None
    """Of what was signed."""
    away: bool = False
    """Whether receipts are not taken."""
    receipts: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: str(uuid4()))

    def signed(self) -> dict[str, Any]:
        authorization = {
            "contract": "gate.execution/v1",
            "stage": "authorization",
            "authorization_id": str(uuid4()),
            "idempotency_id": self.asked["id"],
            "correlation_id": "c-1",
            "credential_fingerprint": self.fingerprint,
            "iat": int(time.time()),
            "exp": int(time.time()) + 60,
            "execution_payload": self.asked,
            "payload_sha256": canonical_digest(self.asked),
        }
        self.change(authorization)
        value = base64.b64encode(self.gate_key.sign(canonical_json(authorization).encode())).decode()
        by = {"algorithm": "Ed25519", "key_id": "k", "value": value}
        signed = {"authorization": authorization, "identity_signature": by}
        self.forge(signed)
        return signed

    def answer(self, asked: Asked, answering: Answering) -> None:
        if asked.path == "/mcp":
            self.asked = json.loads(asked.body)
            if self.asked["params"]["name"] == "refuse":
                return answering.json(403, {"error": "policy_denied", "reasons": ["no"]})
            return answering.json(200, {"decision": "allow", "correlation_id": "c-1"})
        if asked.path == "/authorizations/c-1":
            return answering.json(200, self.signed())
        if asked.path == "/.well-known/jwks.json":
            key = {"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": b64url(self.gate_key.public_key().public_bytes_raw())}
            return answering.json(200, {"keys": [key]})
        if self.away:
            return answering.json(503, {"error": "provider_unavailable"})
        receipt = json.loads(asked.body)
        self.receipts.append(receipt)
        answering.json(200, {"status": "recorded", "receipt_sha256": canonical_digest(receipt)})

    @property
    def environment(self) -> dict[str, str]:
        names = {"CERT": "crt", "KEY": "key", "JOURNAL": "journal", "EFFECTS": "effects"}
        paths = {name: str(self.folder / file) for name, file in names.items()}
        return {**os.environ, **paths, "ENDPOINT": self.gate.url, "ID": self.id}

    def start(self, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(CHILD)], env={**self.environment, **more}, stdout=subprocess.PIPE, text=True
        )

    def run(self, **more: str) -> dict[str, Any] | int:
        """What the child said, or the signal that ended it."""
        child = self.start(**more)
        said, _ = child.communicate(timeout=60)
        answer: dict[str, Any] | int = json.loads(said) if said else child.returncode
        return answer

    @property
    def effects(self) -> int:
        path = self.folder / "effects"
        return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def host(gate: StubGate, tmp_path: Path) -> Iterator[Host]:
    key = generate_private_key(SECP256R1())
    name, now = x509.Name([]), datetime.now(UTC)
    draft = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    leaf = draft.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(1)).sign(key, SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "crt").write_bytes(leaf.public_bytes(Encoding.PEM))
    (tmp_path / "key").write_bytes(pem)
    host = Host(gate, tmp_path, key, f"sha256:{hashlib.sha256(leaf.public_bytes(Encoding.DER)).hexdigest()}")
    gate.answer = host.answer
    yield host


DONE = {"done": "list_files", "cost": 0.1, "é": 1e21}


@both_ways
class TestACallThatGateGoverns:
    def test_runs_once_with_a_signed_receipt_and_gives_its_result_again(self, host: Host, way: str) -> None:
        first, again = host.run(WAY=way), host.run(WAY=way)
        said = {"idempotency_id": host.id, "result": DONE, "effect_id": f"effect-{host.id}", "receipt_delivered": True}
        assert (first, again) == ({**said, "replayed": False}, {**said, "replayed": True})
        assert host.effects == 1
        receipt = dict(host.receipts[0])
        signature = receipt.pop("workload_signature")
        value = base64.urlsafe_b64decode(signature["value"] + "==")
        der = encode_dss_signature(int.from_bytes(value[:32], "big"), int.from_bytes(value[32:], "big"))
        host.key.public_key().verify(der, canonical_json(receipt).encode(), ECDSA(SHA256()))
        assert receipt["result_sha256"] == canonical_digest(DONE)
        assert signature["credential_fingerprint"] == host.fingerprint

    def test_does_not_run_where_it_is_denied(self, host: Host, way: str) -> None:
        assert host.run(WAY=way, TOOL="refuse")["error"] == "GateDenied"  # type: ignore[index]
        assert host.effects == 0

    # What is known after each end, and what recovery finds. Nowhere is the effect made twice.
    @pytest.mark.parametrize(
        ("step", "effects", "after"),
        [
            ("before-intent", 0, "runs"),
            ("after-intent", 0, "uncertain"),
            ("before-effect", 0, "uncertain"),
            ("after-effect", 1, "recovered"),
            ("before-completion", 1, "recovered"),
            ("after-completion", 1, "replayed"),
            ("before-delivered", 1, "replayed"),
        ],
    )
    def test_is_never_run_twice_however_the_process_ends(
        self, host: Host, way: str, step: str, effects: int, after: str
    ) -> None:
        assert host.run(WAY=way, KILL_AT=step) == -9
        assert host.effects == effects
        said: Any = host.run(WAY=way)
        if after in ("runs", "replayed"):
            assert (said["result"], said["replayed"]) == (DONE, after == "replayed")
        else:
            assert said["error"] == "GateRecoveryRequired"
            recovered: Any = host.run(WAY=way, RECOVER="yes")
            if after == "recovered":
                assert (recovered["result"], recovered["replayed"], recovered["receipt_delivered"]) == (DONE, True, True)
            else:
                assert recovered["error"] == "GateRecoveryRequired"
        assert host.effects == (1 if after == "runs" else effects)

    def test_that_failed_in_the_middle_is_not_run_again(self, host: Host, way: str) -> None:
        for more in ({"FAIL": "yes"}, {}):
            assert host.run(WAY=way, **more)["error"] == "GateRecoveryRequired"  # type: ignore[index]
        assert host.effects == 1

    def test_has_its_receipt_sent_later_where_gate_could_not_take_it(self, host: Host, way: str) -> None:
        host.away = True
        said: Any = host.run(WAY=way)
        assert (said["result"], said["receipt_delivered"]) == (DONE, False)
        assert host.run(WAY=way, DELIVER="yes") == {"delivered": 0, "failed": 1}
        host.away = False
        assert host.run(WAY=way, DELIVER="yes") == {"delivered": 1, "failed": 0}
        assert host.run(WAY=way, DELIVER="yes") == {"delivered": 0, "failed": 0}
        assert host.effects == 1

    def test_is_another_fault_under_the_same_id(self, host: Host, way: str) -> None:
        host.run(WAY=way)
        said: Any = host.run(WAY=way, TOOL="read_file")
        assert said["error"] == "GateConfigError" and "another call was prepared" in said["message"]


def test_of_processes_that_begin_one_call_at_once_one_runs_it(host: Host) -> None:
    children = [host.start() for _ in range(4)]
    said = [json.loads(child.communicate(timeout=60)[0]) for child in children]
    assert host.effects == 1
    assert [one.get("replayed") for one in said].count(False) == 1
    assert all("replayed" in one or one["error"] == "GateRecoveryRequired" for one in said)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda said: said.update(stage="x"), "another statement"),
        (lambda said: said.update(exp="never"), "no time"),
        (lambda said: said.update(exp=1), "not valid any more"),
        (lambda said: said.update(iat=2**40), "not valid yet"),
        (lambda said: said.update(correlation_id="c-2"), "of another call"),
        (lambda said: said.update(authorization_id="x"), "of another call"),
        (lambda said: said.update(payload_sha256="sha256:x"), "of another request"),
        (lambda said: said.update(execution_payload={}), "shows another request"),
        (lambda said: said.update(credential_fingerprint="x"), "another certificate"),
    ],
)
def test_nothing_runs_by_an_authorization_of_something_else(host: Host, change: Change, reason: str) -> None:
    host.change = change
    said: Any = host.run()
    assert reason in said["message"] and host.effects == 0


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda said: said["authorization"].update(exp=2**40), "signature does not hold"),
        (lambda said: said["identity_signature"].update(value="!"), "signature does not hold"),
        (lambda said: said["identity_signature"].update(algorithm="none"), "signature does not hold"),
        (lambda said: said["identity_signature"].update(key_id="another"), "none of Gate"),
    ],
)
def test_nothing_runs_by_an_authorization_that_was_forged(host: Host, forge: Change, reason: str) -> None:
    host.forge = forge
    said: Any = host.run()
    assert (said["error"], host.effects) == ("GateTransportError", 0) and reason in said["message"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"executor_id": " "}, "executor_id must have"),
        ({"certificate": "x"}, "must be PEM"),
        ({"mode": "observe"}, "leave mode out"),
        ({"on_pending": "x"}, "raise or wait"),
    ],
)
def test_options_that_cannot_be_meant(host: Host, given: dict[str, Any], reason: str) -> None:
    files = {"certificate": (host.folder / "crt").read_text(), "private_key": (host.folder / "key").read_text()}
    journal = SqliteJournal(host.folder / "journal")
    options: dict[str, Any] = {"endpoint": "https://gate", "executor_id": "a", "journal": journal, **files, **given}
    with pytest.raises(GateConfigError, match=reason):
        GovernedTools(**options)
