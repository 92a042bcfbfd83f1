"""
Tools that this process runs itself, each after Gate signed that it may, with a receipt for Gate afterwards. Needs the full edition, and
`cryptography`.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Unpack, cast
from urllib.parse import quote
from uuid import uuid4

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from .calls import request_bytes
from .canonical_json import canonical_digest, canonical_json
from .errors import GateConfigError, GateDenied, GateError, GatePending, GateTransportError
from .flow import Flow, InThread, Tell, run_async
from .flow import run as run_flow
from .http import HttpRequest, quoted, send
from .inspecting import guarded, is_uuid
from .journal import ExecutionCompletion, ExecutionIntent, ExecutionJournal, PreparedCall
from .options import GateOptions, settings_of
from .pending import PendingCall
from .types import Allow, ResolveOptions, ToolCall
from .verdict import object_in, text_of

# What a receipt repeats of its authorization.
_REPEATED = (
    "authorization_id",
    "idempotency_id",
    "correlation_id",
    "agent_id",
    "agent_spiffe",
    "tenant",
    "credential_fingerprint",
    "method",
    "tool_name",
    "payload_sha256",
)
_LONGEST_NAME = 256
_MOST_AT_ONCE = 128
# How much two clocks may differ.
_SKEW_SECS = 5
# Refusals of an authorization: the call was allowed once, and may not run now.
_REFUSED = (403, 409, 410)


class GateRecoveryRequired(GateError):
    """
    An attempt was begun, and nobody knows what came of it: it is never made again. `intent` says what it was; whoever finds out what happened
    says so by `recover`.
    """

    def __init__(self, intent: ExecutionIntent, why: str) -> None:
        super().__init__(f"what came of {intent.name} is not known (idempotency_id={intent.idempotency_id}): {why}")
        self.idempotency_id = intent.idempotency_id
        self.intent = intent


@dataclass(frozen=True)
class Effect:
    """What an executor did: its result, plain JSON, and its own name of the effect, by which it can be found again."""

    result: object
    effect_id: str


@dataclass(frozen=True)
class Authorized:
    """What may be executed, once, as Gate signed it."""

    authorization_id: str
    idempotency_id: str
    name: str
    input: Any


@dataclass(frozen=True)
class Executed:
    idempotency_id: str
    result: Any
    effect_id: str
    replayed: bool
    """Whether it is the result of an earlier attempt."""
    receipt_delivered: bool
    """Whether Gate has the receipt. Where it has not, `deliver_receipts` sends it later."""


@dataclass(frozen=True)
class Delivered:
    delivered: int
    failed: int


Run = Callable[[Authorized], Effect | Awaitable[Effect]]
"""Runs a tool. For async code it may be async."""
Recover = Callable[[ExecutionIntent], Effect | None | Awaitable[Effect | None]]
"""Looks for what an attempt did; `None` where nothing is known of it."""


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(str(text).translate(str.maketrans("-_", "+/")) + "==")
    except ValueError:
        return b""


class GovernedTools:
    """
    `certificate` and `private_key` are PEM texts of the agent's certificate (P-256) and key, the same as those of `ssl_context`: receipts are
    signed with it.
    """

    def __init__(
        self,
        *,
        executor_id: str,
        journal: ExecutionJournal,
        certificate: str,
        private_key: str,
        on_pending: Literal["raise", "wait"] = "raise",
        wait: ResolveOptions | None = None,
        **options: Unpack[GateOptions],
    ) -> None:
        if "mode" in options:
            raise GateConfigError("what Gate governs is not observed: leave mode out")
        if on_pending not in ("raise", "wait"):
            raise GateConfigError(f"on_pending is raise or wait, and not {on_pending}")
        if executor_id.strip() == "" or len(executor_id) > _LONGEST_NAME:
            raise GateConfigError(f"executor_id must have 1 to {_LONGEST_NAME} characters")
        self._settings = settings_of(options)
        self._executor_id = executor_id
        self._journal = journal
        self._waits = on_pending == "wait"
        self._wait = wait or ResolveOptions()
        self._keys: dict[str, Ed25519PublicKey] = {}
        try:
            leaf = load_pem_x509_certificate(certificate.encode())
            key = load_pem_private_key(private_key.encode(), None)
        except (TypeError, ValueError):
            raise GateConfigError("certificate and private_key must be PEM") from None
        if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
            raise GateConfigError("receipts are signed by ES256: the key must be on the curve P-256")
        if leaf.public_key() != key.public_key():
            raise GateConfigError("the key is of another certificate")
        self._key = key
        self._fingerprint = f"sha256:{hashlib.sha256(leaf.public_bytes(Encoding.DER)).hexdigest()}"

    async def execute(
        self, name: str, input: object, run: Run, *, idempotency_id: str | None = None, recover: Recover | None = None
    ) -> Executed:
        """
        Runs a call that Gate authorized, once: whatever ends the process, and however often it is called under the same id. Raises what Gate
        said where it may not run, and `GateRecoveryRequired` where an attempt was begun whose end nobody knows and `recover` does not tell.
        """
        return await run_async(self._execute(name, input, run, idempotency_id, recover, is_async=True))

    def execute_sync(
        self, name: str, input: object, run: Run, *, idempotency_id: str | None = None, recover: Recover | None = None
    ) -> Executed:
        """As `execute`, for code that is not async."""
        return run_flow(self._execute(name, input, run, idempotency_id, recover, is_async=False))

    async def deliver_receipts(self, limit: int = _MOST_AT_ONCE) -> Delivered:
        """Sends the receipts that Gate has not; runs nothing."""
        return await run_async(self._deliver_all(limit))

    def deliver_receipts_sync(self, limit: int = _MOST_AT_ONCE) -> Delivered:
        """As `deliver_receipts`, for code that is not async."""
        return run_flow(self._deliver_all(limit))

    def _execute(
        self, name: str, value: object, run: Run, given: str | None, recover: Recover | None, is_async: bool
    ) -> Flow[Executed]:
        journal = self._journal
        idempotency_id = given or str(uuid4())
        if not is_uuid(idempotency_id):
            raise GateConfigError("idempotency_id must be a lower-case UUID")
        text = request_bytes([ToolCall(name, value, idempotency_id)], idempotency_id)
        asked = PreparedCall(idempotency_id, name, copy.deepcopy(value))
        yield InThread(lambda _: journal.prepare(asked))
        kept = yield InThread(lambda _: journal.load(idempotency_id))
        prepared: PreparedCall = kept.prepared or asked
        if canonical_json([prepared.name, prepared.input]) != canonical_json([asked.name, asked.input]):
            raise GateConfigError(f"another call was prepared under the id {idempotency_id}")
        if kept.completion is not None:
            return (yield from self._executed(kept.completion, True))
        if kept.intent is not None:
            return (yield from self._recovered(kept.intent, recover))
        signed = yield from self._authorized(asked, text, is_async)
        intent = ExecutionIntent(idempotency_id, name, asked.input, self._executor_id, signed)
        if not (yield InThread(lambda _: journal.commit_intent(intent))):
            other = yield InThread(lambda _: journal.load(idempotency_id))
            if other.completion is not None:
                return (yield from self._executed(other.completion, True))
            return (yield from self._recovered(other.intent or intent, recover))
        may = Authorized(
            signed["authorization"]["authorization_id"], idempotency_id, name, copy.deepcopy(asked.input)
        )
        try:
            effect = yield Tell("run", run, may)
        except Exception as error:
            raise GateRecoveryRequired(intent, "the executor failed, and may have done it") from error
        return (yield from self._executed((yield from self._finished(intent, effect)), False))

    def _authorized(self, call: PreparedCall, text: bytes, is_async: bool) -> Flow[Mapping[str, Any]]:
        asked = ToolCall(call.name, call.input, call.idempotency_id)
        try:
            verdict = yield from guarded([asked], self._settings, is_async, call.idempotency_id)
            # A Gate that only observes lets pass what nobody authorized.
            if not isinstance(verdict, Allow):
                raise GateTransportError("this Gate only observes, and authorizes nothing")
            correlation_id = verdict.correlation_id
        except GatePending as pending:
            if not self._waits:
                raise
            yield from cast(PendingCall, pending.waiting).decided(self._wait)
            correlation_id = pending.correlation_id
        if correlation_id is None:
            raise GateTransportError("the answer names no call")
        signed = yield from self._authorization(correlation_id, asked)
        fault = yield from self._fault(signed, json.loads(text), call.idempotency_id, correlation_id)
        if fault is not None:
            raise GateTransportError(f"the authorization does not count: {fault}")
        if signed["authorization"].get("credential_fingerprint") != self._fingerprint:
            raise GateConfigError("the connection shows another certificate than the one that receipts are signed with")
        return signed

    def _authorization(self, correlation_id: str, call: ToolCall) -> Flow[Mapping[str, Any]]:
        path = f"/authorizations/{quote(correlation_id, safe='')}"
        answer = yield from send(self._settings, HttpRequest("GET", path))
        body = object_in(answer.text) or {}
        code = text_of(body.get("error"))
        if answer.status in _REFUSED and code is not None:
            raise GateDenied(
                call,
                code=code,
                reasons=[text_of(body.get("reasoning")) or code],
                layer="proxy",
                correlation_id=correlation_id,
            )
        is_signed = all(isinstance(body.get(part), dict) for part in ("authorization", "identity_signature"))
        if answer.status != 200 or not is_signed:
            raise GateTransportError(
                f"HTTP {answer.status}: no authorization: {quoted(answer.text)}", status=answer.status, code=code
            )
        return cast("Mapping[str, Any]", body)

    def _key_of_gate(self, key_id: str) -> Flow[Ed25519PublicKey | None]:
        """Asked for when it is not known, over the connection by which Gate is known."""
        if key_id not in self._keys:
            answer = yield from send(self._settings, HttpRequest("GET", "/.well-known/jwks.json"))
            keys = (object_in(answer.text) or {}).get("keys")
            if answer.status != 200 or not isinstance(keys, list):
                raise GateTransportError(f"HTTP {answer.status}: no keys of Gate: {quoted(answer.text)}", status=answer.status)
            found = [key for key in cast("list[dict[str, Any]]", keys) if key.get("crv") == "Ed25519"]
            self._keys = {str(key.get("kid")): Ed25519PublicKey.from_public_bytes(_decoded(key.get("x"))) for key in found}
        return self._keys.get(key_id)

    def _fault(
        self, signed: Mapping[str, Any], payload: object, idempotency_id: str, correlation_id: str
    ) -> Flow[str | None]:
        """
        Why an authorization does not let this request run; `None` where Gate's key signed exactly it, it is valid now, and the request is the
        one that was judged.
        """
        said, signature = signed["authorization"], signed["identity_signature"]
        key = yield from self._key_of_gate(str(signature.get("key_id")))
        if key is None:
            return "its key is none of Gate"
        try:
            key.verify(_decoded(signature.get("value")), canonical_json(said).encode())
        except InvalidSignature:
            return "its signature does not hold"
        if signature.get("algorithm") != "Ed25519":
            return "its signature does not hold"
        if (said.get("contract"), said.get("stage")) != ("gate.execution/v1", "authorization"):
            return "it is another statement"
        begins, ends = said.get("iat"), said.get("exp")
        if not isinstance(begins, int) or not isinstance(ends, int):
            return "it has no time"
        ids = (said.get("idempotency_id"), said.get("correlation_id"))
        if not is_uuid(str(said.get("authorization_id"))) or ids != (idempotency_id, correlation_id):
            return "it is of another call"
        now = time.time()
        if now < begins - _SKEW_SECS:
            return "it is not valid yet"
        if now >= ends:
            return "it is not valid any more"
        if said.get("payload_sha256") != canonical_digest(payload):
            return "it is of another request"
        shown = canonical_json(said.get("execution_payload"))
        return None if shown == canonical_json(payload) else "it shows another request"

    def _recovered(self, intent: ExecutionIntent, recover: Recover | None) -> Flow[Executed]:
        if recover is None:
            raise GateRecoveryRequired(intent, "an attempt was begun before, and no recover was given")
        try:
            effect = yield Tell("recover", recover, intent)
        except Exception as error:
            why = "an attempt was begun before, and what came of it could not be looked up"
            raise GateRecoveryRequired(intent, why) from error
        if effect is None:
            raise GateRecoveryRequired(intent, "an attempt was begun before, and its effect was not found")
        return (yield from self._executed((yield from self._finished(intent, effect)), True))

    def _finished(self, intent: ExecutionIntent, effect: object) -> Flow[ExecutionCompletion]:
        if not isinstance(effect, Effect) or not 1 <= len(effect.effect_id) <= _LONGEST_NAME:
            why = f"it ran, and gave no Effect whose effect_id has 1 to {_LONGEST_NAME} characters"
            raise GateRecoveryRequired(intent, why)
        try:
            result = json.loads(json.dumps(effect.result, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise GateRecoveryRequired(intent, "it ran, and its result is no plain JSON") from error
        receipt = self._receipt(intent.authorization, canonical_digest(result), effect.effect_id)
        completion = ExecutionCompletion(intent.idempotency_id, result, effect.effect_id, receipt)
        try:
            yield InThread(lambda _: self._journal.complete(completion))
        except Exception as error:
            raise GateRecoveryRequired(intent, "it ran, and its end could not be kept") from error
        return completion

    def _receipt(self, signed: Mapping[str, Any], result_sha256: str, effect_id: str) -> dict[str, Any]:
        """ES256 (RFC 7518, section 3.4) over the RFC 8785 form of the receipt without its signature."""
        unsigned: dict[str, Any] = {
            "contract": "gate.execution/v1",
            "stage": "execution.completed",
            **{name: signed["authorization"].get(name) for name in _REPEATED},
            "authorization": {name: signed[name] for name in ("authorization", "identity_signature")},
            "result_sha256": result_sha256,
            "effect_id": effect_id,
        }
        signature = self._key.sign(canonical_json(unsigned).encode(), ECDSA(SHA256()))
        value = b"".join(part.to_bytes(32, "big") for part in decode_dss_signature(signature))
        by = {"algorithm": "ES256", "credential_fingerprint": self._fingerprint}
        text = base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        return {**unsigned, "workload_signature": {**by, "value": text}}

    def _executed(self, completion: ExecutionCompletion, replayed: bool) -> Flow[Executed]:
        if completion.receipt.get("result_sha256") != canonical_digest(completion.result):
            raise GateError(f"the kept result of {completion.idempotency_id} is not the one that was signed")
        is_delivered = yield from self._deliver(completion)
        return Executed(
            completion.idempotency_id, completion.result, completion.effect_id, replayed, is_delivered
        )

    def _deliver(self, completion: ExecutionCompletion) -> Flow[bool]:
        receipt = dict(completion.receipt)
        request = HttpRequest(
            "POST",
            "/execution-receipts",
            headers={"Content-Type": "application/json"},
            body=json.dumps(receipt, ensure_ascii=False).encode(),
        )
        try:
            answer = yield from send(self._settings, request)
        except GateTransportError:
            return False
        body = object_in(answer.text) or {}
        taken = ("recorded", canonical_digest(receipt))
        if answer.status != 200 or (body.get("status"), body.get("receipt_sha256")) != taken:
            return False
        yield InThread(lambda _: self._journal.delivered(completion.idempotency_id))
        return True

    def _deliver_all(self, limit: int) -> Flow[Delivered]:
        if not 1 <= limit <= _MOST_AT_ONCE:
            raise GateConfigError(f"limit must be 1 to {_MOST_AT_ONCE}")
        owed = yield InThread(lambda _: self._journal.owed(limit))
        delivered = 0
        for completion in owed:
            delivered += 1 if (yield from self._deliver(completion)) else 0
        return Delivered(delivered, len(owed) - delivered)

