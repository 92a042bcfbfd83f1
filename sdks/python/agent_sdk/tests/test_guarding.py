from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest
from gate_agent_sdk import (
    Allow,
    CallbackOptions,
    DenialDetail,
    DetectorScore,
    GateConfigError,
    GateDenied,
    GatePending,
    GateRateLimited,
    GateTransportError,
    ToolCall,
    denial_panel,
    guard_tool_call,
    is_realtime_function_call_done,
    normalize_realtime_function_call,
)
from gate_agent_sdk.strict_json import Disputed, strict_json
from stub_gate import Answering, Asked, StubGate
from ways import WAYS, ask, resolve

CALL = ToolCall("send_mail", {"to": "a"}, "call-1")
PENDING = {"status": "pending", "decision": None}
APPROVED = {"status": "approved", "decision": "allow"}
both_ways = pytest.mark.parametrize("way", WAYS)


def options(gate: StubGate, **more: Any) -> dict[str, Any]:
    return {"endpoint": gate.url, "retry": {"base_delay_s": 0.001}, **more}


def allowing(gate: StubGate) -> None:
    gate.answer = lambda _, answering: answering.json(200, {"decision": "allow", "correlation_id": "c-1"})


def saying(gate: StubGate, status: int, body: object) -> None:
    gate.answer = lambda _, answering: answering.json(status, body)


def parking(gate: StubGate, *views: dict[str, Any] | int) -> None:
    """Parks every call, and answers polls one after the other; the last one again and again."""
    left = list(views)

    def answer(asked: Asked, answering: Answering) -> None:
        if not asked.path.startswith("/pending/"):
            parked = {"status": "pending", "correlation_id": "c/1", "ttl_secs": 60, "poll_after_ms": 5}
            answering.json(202, {**parked, "review_reasons": ["ask"]})
            return
        view = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(view, int):
            answering.json(view, {"error": "not_found"})
        else:
            answering.json(200, {"correlation_id": "c/1", **view})

    gate.answer = answer


def pending_of(way: str, gate: StubGate, **more: Any) -> GatePending:
    with pytest.raises(GatePending) as raised:
        ask(way, "guard_tool_call", CALL, **options(gate, **more))
    return raised.value


class TestOptionsThatCannotBeMeant:
    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"endpoint": ""}, "endpoint is missing"),
            ({"endpoint": "gate"}, "no address"),
            ({"endpoint": "https://"}, "no address"),
            ({"endpoint": "https://gate:x"}, "no address"),
            ({"endpoint": "https://ga\nte"}, "no address"),
            ({"endpoint": "ftp://gate"}, "http or https"),
            ({"endpoint": "https://u:p@gate"}, "user information"),
            ({"endpoint": "https://gate/?a=1"}, "no query"),
            ({"endpoint": "http://gate.example", "token": "t"}, "https alone"),
            ({"endpoint": "http://127.0.0.1.example", "token": "t"}, "https alone"),
            ({"token": "a\nb"}, "one line"),
            ({"token": " "}, "not empty"),
            ({"mode": "warn"}, "enforce or observe"),
            ({"timeout_s": 0}, "timeout_s must be"),
            ({"timeout_s": float("nan")}, "timeout_s must be"),
            ({"timeout_s": 301}, "timeout_s must be"),
            ({"retry": {"max_attempts": 0}}, "max_attempts"),
            ({"retry": {"attempts": 2}}, "no option retry.attempts"),
            ({"extra_headers": {"x-gate-idempotency-ID": "x"}}, "set by this package"),
            ({"extra_headers": {"X-A": "a\r\nX-B: b"}}, "no header"),
            ({"callback": CallbackOptions("ftp://me", lambda _id, _s: None)}, "http or https"),
            ({"idempotency_id": "A"}, "lower-case UUID"),
            ({"on_pending": "throw"}, "raise or wait"),
            ({"tokne": "t"}, "no option tokne"),
        ],
    )
    @both_ways
    def test_are_refused_before_anything_is_sent(self, way: str, given: dict[str, Any], reason: str) -> None:
        with pytest.raises(GateConfigError, match=reason):
            ask(way, "guard_tool_call", CALL, **{"endpoint": "https://gate", **given})

    def test_the_environment_says_what_is_not_given(self, gate: StubGate, monkeypatch: pytest.MonkeyPatch) -> None:
        allowing(gate)
        monkeypatch.setenv("GATE_ENDPOINT", f"{gate.url}/behind/")
        monkeypatch.setenv("GATE_TOKEN", "secret")
        ask("sync", "inspect_tool_use", CALL)
        assert [(asked.path, asked.headers["authorization"]) for asked in gate.asked] == [("/behind/mcp", "Bearer secret")]


class Text(str):
    pass


def of_levels(levels: int) -> object:
    value: object = None
    for _ in range(levels):
        value = [value]
    return value


class TestCallsThatCannotBeSentAsTheyWouldRun:
    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ({"a": (1,)}, r"input\.a is a tuple"),
            ({"a": {1}}, "is a set"),
            ({"a": b"x"}, "is a bytes"),
            ({"a": Text("x")}, "is a Text"),
            ({"a": [2**60]}, r"input\.a\.0 is an integer beyond"),
            ({"a": 1e20}, "is an integer beyond"),
            ({"a": float("nan")}, "is nan"),
            ({"a": "\ud800"}, "half a character"),
            ({1: "a"}, "name that is no text"),
            (of_levels(65), "deeper than 64"),
            ({"a": "ä" * 2**19}, "more than 1 MiB"),
        ],
    )
    def test_arguments(self, gate: StubGate, value: object, reason: str) -> None:
        with pytest.raises(GateConfigError, match=reason):
            ask("sync", "inspect_tool_use", ToolCall("send_mail", value), **options(gate))
        assert gate.asked == []

    def test_arguments_that_contain_themselves(self, gate: StubGate) -> None:
        value: dict[str, object] = {}
        value["a"] = {"b": value}
        with pytest.raises(GateConfigError, match="contains itself"):
            ask("sync", "inspect_tool_use", ToolCall("send_mail", value), **options(gate))

    @pytest.mark.parametrize(
        ("calls", "reason"),
        [
            ([], "no call"),
            ([ToolCall("a", {}) for _ in range(129)], "more than 128"),
            ([CALL, CALL], "one id"),
            ([ToolCall(" ", {})], "name of a tool is missing"),
            ([ToolCall("a" * 1025, {})], "more than 1024 bytes"),
            ([ToolCall("a", "x" * (2**20 - 2)) for _ in range(5)], "4 MiB"),
        ],
        ids=["none", "129", "two under one id", "no name", "a long name", "4 MiB together"],
    )
    def test_calls(self, gate: StubGate, calls: list[ToolCall], reason: str) -> None:
        with pytest.raises(GateConfigError, match=reason):
            ask("sync", "inspect_tool_uses", calls, **options(gate))
        assert gate.asked == []


@pytest.mark.parametrize(
    "text",
    [
        '{"a":',
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        "[12345678901234567890]",
        "[1e999]",
        "[NaN]",
        "[-Infinity]",
        '"\ud800"',
        "[" * 100_000,
        "",
    ],
    ids=lambda text: text[:20].encode("unicode_escape").decode(),
)
def test_texts_that_parsers_may_read_differently_have_no_value(text: str) -> None:
    with pytest.raises(Disputed):
        strict_json(text)


class TestACallThatIsGuarded:
    @both_ways
    def test_may_run_where_gate_allows_it(self, way: str, gate: StubGate) -> None:
        allowing(gate)
        assert ask(way, "guard_tool_call", ToolCall("send_mail", {"a": [1.5, None, "ä"]}), **options(gate)) == "c-1"
        request = json.loads(gate.asked[0].body)
        assert request["params"] == {"name": "send_mail", "arguments": {"a": [1.5, None, "ä"]}}
        assert request["id"] == gate.asked[0].headers["x-gate-idempotency-id"]

    @both_ways
    def test_is_denied_with_code_and_rule(self, way: str, gate: StubGate) -> None:
        denied = {"error": "policy_denied", "reasons": ["a", "b"], "layer": "policy", "correlation_id": "c-1"}
        saying(gate, 403, {**denied, "call_id": "call-2"})
        with pytest.raises(GateDenied) as raised:
            ask(way, "guard_tool_call", CALL, **options(gate))
        assert str(raised.value) == 'gate denied tool "send_mail": a | b'
        assert (raised.value.code, raised.value.layer, raised.value.correlation_id) == ("policy_denied", "policy", "c-1")
        assert raised.value.tool_use_id == "call-1"

    @both_ways
    def test_is_limited_with_the_time_to_wait(self, way: str, gate: StubGate) -> None:
        saying(gate, 429, {"error": "rate_limited", "reasoning": "slow", "retry_after_secs": 3})
        with pytest.raises(GateRateLimited) as raised:
            ask(way, "guard_tool_call", CALL, **options(gate))
        assert (raised.value.code, raised.value.retry_after_secs) == ("rate_limited", 3)

    @both_ways
    def test_waits_for_its_person_where_its_caller_does(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING, PENDING, APPROVED)
        assert ask(way, "guard_tool_call", CALL, on_pending="wait", **options(gate)) == "c/1"
        assert [asked.path for asked in gate.asked[1:]] == ["/pending/c%2F1"] * 3

    @both_ways
    def test_is_not_run_where_gate_is_away_and_passes_in_observe_mode(self, way: str, gate: StubGate) -> None:
        gate.answer = lambda _, answering: answering.cut()
        with pytest.raises(GateTransportError):
            ask(way, "guard_tool_call", CALL, **options(gate))
        assert len(gate.asked) == 3
        told: list[tuple[Any, Any]] = []
        more = {"mode": "observe", "on_policy_error": lambda error, context: told.append((error, context))}
        assert ask(way, "guard_tool_call", CALL, **options(gate, **more)) is None
        [(error, context)] = told
        assert isinstance(error, GateTransportError)
        assert (context.tool_name, context.tool_use_id, context.tool_input) == ("send_mail", "call-1", {"to": "a"})

    def test_is_not_run_where_nobody_listens(self, gate: StubGate) -> None:
        gate.__exit__()
        with pytest.raises(GateTransportError, match="was not reached"):
            ask("sync", "guard_tool_call", CALL, **options(gate))
        gate.__enter__()

    @both_ways
    def test_has_its_time_whatever_arrives(self, way: str, gate: StubGate) -> None:
        stop = threading.Event()

        def drip(_: Asked, answering: Answering) -> None:
            answering.write(b"HTTP/1.1 200 OK\r\n")
            while not stop.wait(0.02):
                answering.write(b"X-A: b\r\n")

        gate.answer = drip
        begun = time.monotonic()
        with pytest.raises(GateTransportError, match="did not answer within 300 ms"):
            ask(way, "guard_tool_call", CALL, **options(gate, timeout_s=0.3, retry={"max_attempts": 1}))
        stop.set()
        assert time.monotonic() - begun < 5

    @both_ways
    def test_is_told_once_before_it_is_raised_and_what_that_raises_is_raised_on(self, way: str, gate: StubGate) -> None:
        saying(gate, 403, {"error": "policy_denied", "reasons": []})
        told: list[str] = []
        with pytest.raises(GateDenied):
            ask(
                way,
                "guard_tool_call",
                CALL,
                **options(gate, on_verdict=lambda verdict, context: told.append(f"{verdict.kind} {context.tool_name}")),
            )
        assert told == ["deny send_mail"]

        def own(_verdict: object, _context: object) -> None:
            raise KeyError("mine")

        with pytest.raises(KeyError):
            ask(way, "guard_tool_call", CALL, **options(gate, on_verdict=own))

    def test_is_told_to_async_callbacks_by_async_code_alone(self, gate: StubGate) -> None:
        allowing(gate)
        told: list[str] = []

        async def tell(_verdict: object, context: Any) -> None:
            told.append(context.tool_name)

        assert ask("async", "guard_tool_call", CALL, **options(gate, on_verdict=tell)) == "c-1"
        assert told == ["send_mail"]
        with pytest.raises(GateConfigError, match="on_verdict is async"):
            ask("sync", "guard_tool_call", CALL, **options(gate, on_verdict=tell))

    def test_ends_where_its_caller_gives_up(self, gate: StubGate) -> None:
        gate.answer = lambda _, answering: answering.hang()

        async def give_up() -> None:
            task = asyncio.create_task(guard_tool_call(CALL, **options(gate)))  # type: ignore[misc]
            while not gate.asked:
                await asyncio.sleep(0.005)
            task.cancel()
            await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(give_up())
        assert len(gate.asked) == 1

    def test_holds_no_other_call_up(self, gate: StubGate) -> None:
        every = threading.Barrier(40)

        def answer(_: Asked, answering: Answering) -> None:
            every.wait(20)
            answering.json(200, {"decision": "allow", "correlation_id": "c-1"})

        gate.answer = answer

        async def all_at_once() -> list[str | None]:
            calls = (guard_tool_call(ToolCall("a", {}), **options(gate)) for _ in range(40))  # type: ignore[misc]
            return await asyncio.gather(*calls)

        assert asyncio.run(all_at_once()) == ["c-1"] * 40

    @both_ways
    def test_sends_the_token_nowhere_but_to_gate(self, way: str, gate: StubGate, monkeypatch: pytest.MonkeyPatch) -> None:
        with StubGate() as other:
            monkeypatch.setenv("http_proxy", other.url)
            gate.answer = lambda _, answering: answering.send(307, b"", {"Location": f"{other.url}/mcp"})
            with pytest.raises(GateTransportError):
                ask(way, "guard_tool_call", CALL, **options(gate, token="secret"))
            assert other.asked == []
        assert [asked.headers["authorization"] for asked in gate.asked] == ["Bearer secret"]


@both_ways
class TestWaitingForADecision:
    @pytest.mark.parametrize(
        ("view", "code", "reason"),
        [
            ({"status": "denied", "decision": "deny", "decider_note": "not today"}, "review_denied", "not today"),
            ({"status": "denied", "decision": "deny", "decider_note": None}, "review_denied", "operator denied"),
            ({"status": "expired", "decision": None}, "review_expired", "review expired"),
            ({"status": "withdrawn", "decision": None}, "call_withdrawn", "withdrew"),
            ({"status": "aborted", "decision": None}, "call_aborted", "closed"),
            ({"status": "approved", "decision": None, "authorization_refused": "policy_changed"}, "policy_changed", "no more"),
            ({**APPROVED, "modified_payload_digest": "x"}, "call_changed", "other arguments"),
        ],
    )
    def test_a_refusal_says_why(self, way: str, gate: StubGate, view: dict[str, Any], code: str, reason: str) -> None:
        parking(gate, PENDING, view)
        pending = pending_of(way, gate)
        with pytest.raises(GateDenied, match=reason) as raised:
            resolve(way, pending)
        denied = raised.value
        assert (denied.code, denied.review_reasons, denied.correlation_id, denied.layer) == (code, ["ask"], "c/1", "hil")

    def test_outlives_a_gate_that_is_away(self, way: str, gate: StubGate) -> None:
        parking(gate, 503, 429, PENDING, APPROVED)
        resolve(way, pending_of(way, gate))
        assert len(gate.asked) == 5

    @pytest.mark.parametrize("status", [401, 404, 409])
    def test_ends_at_once_with_other_answers(self, way: str, gate: StubGate, status: int) -> None:
        parking(gate, status)
        pending = pending_of(way, gate)
        with pytest.raises(GateTransportError) as raised:
            resolve(way, pending)
        assert (raised.value.status, raised.value.code, len(gate.asked)) == (status, "not_found", 2)

    @pytest.mark.parametrize("view", [{**APPROVED, "correlation_id": "c/2"}, {"status": "fine"}])
    def test_takes_no_other_answer_for_a_decision(self, way: str, gate: StubGate, view: dict[str, Any]) -> None:
        parking(gate, view)
        pending = pending_of(way, gate)
        with pytest.raises(GateTransportError):
            resolve(way, pending)

    def test_ends_without_a_decision_when_its_time_is_over(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING)
        pending = pending_of(way, gate)
        with pytest.raises(GateTransportError, match="not decided within 0.05 s"):
            resolve(way, pending, timeout_s=0.05)

    def test_goes_on_in_another_process_by_the_id_alone(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING, APPROVED)
        ask(way, "resolve_pending", "c/1", wait={"poll_interval_s": 0.001}, **options(gate))
        assert len(gate.asked) == 2

    def test_names_the_other_way_where_it_is_the_wrong_one(self, way: str, gate: StubGate) -> None:
        parking(gate, APPROVED)
        other, name = ("async", "resolve_sync") if way == "sync" else ("sync", r"resolve\(\)")
        pending = pending_of(way, gate)
        with pytest.raises(GateTransportError, match=name):
            resolve(other, pending)

    def test_takes_a_post_for_a_hint_and_asks(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING, APPROVED)
        waited: list[tuple[str, int]] = []

        def wait(correlation_id: str, _seconds: float) -> None:
            waited.append((correlation_id, len(gate.asked)))

        async def wait_async(correlation_id: str, seconds: float) -> None:
            wait(correlation_id, seconds)

        callback = CallbackOptions("http://127.0.0.1:1/decided", wait if way == "sync" else wait_async)
        pending = pending_of(way, gate, callback=callback)
        assert gate.asked[0].headers["x-gate-callback-url"] == callback.url
        resolve(way, pending, poll_interval_s=60)
        assert waited == [("c/1", 2)]
        assert len(gate.asked) == 3

    def test_does_not_take_a_post_for_the_decision(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING)
        pending = pending_of(way, gate, callback=CallbackOptions("http://127.0.0.1:1/", lambda _id, _seconds: None))
        with pytest.raises(GateTransportError, match="not decided"):
            resolve(way, pending, timeout_s=0.05, poll_interval_s=0.01)

    def test_goes_on_asking_where_what_waits_for_the_post_fails(self, way: str, gate: StubGate) -> None:
        parking(gate, PENDING, APPROVED)

        def wait(_correlation_id: str, _seconds: float) -> None:
            raise OSError("the server of callbacks is away")

        pending = pending_of(way, gate, callback=CallbackOptions("http://127.0.0.1:1/", wait))
        resolve(way, pending, poll_interval_s=0.01)
        assert len(gate.asked) == 3


def test_what_waits_for_a_post_for_ever_is_given_up() -> None:
    with StubGate() as gate:
        parking(gate, PENDING, APPROVED)

        async def wait(_correlation_id: str, _seconds: float) -> None:
            await asyncio.Event().wait()

        pending = pending_of("async", gate, callback=CallbackOptions("http://127.0.0.1:1/", wait))
        resolve("async", pending, poll_interval_s=0.01)
        assert len(gate.asked) == 3


class TestADenialAsADeveloperReadsIt:
    def test_has_each_text_on_one_line_whatever_it_is_made_of(self) -> None:
        denied = GateDenied(
            ToolCall("send\u001b[2J", {}),
            code="policy_denied",
            reasons=["no\nreason\u2028gate allowed it", "\u202edetrever"],
            intent_category="Exfiltration",
            layer="brain",
            correlation_id="c-1",
            detail=DenialDetail([DetectorScore("intent", 0.9, True)], ["drift"]),
        )
        assert denial_panel(denied).split("\n") == [
            "gate denied a call",
            "  tool       send [2J",
            "  code       policy_denied",
            "  layer      brain",
            "  intent     Exfiltration",
            "  call       c-1",
            "  reason     no reason gate allowed it",
            "  reason     detrever",
            "  detector   intent 0.9 flagged",
            "  not asked  drift",
        ]

    def test_is_printed_where_its_user_asked_for_it(self, gate: StubGate, capsys: pytest.CaptureFixture[str]) -> None:
        saying(gate, 403, {"error": "policy_denied", "reasons": ["no"]})
        with pytest.raises(GateDenied):
            ask("sync", "guard_tool_call", CALL, **options(gate, dev_mode=True))
        assert "gate denied a call\n  tool       send_mail" in capsys.readouterr().err


class TestACallOfTheRealtimeApi:
    EVENT = {
        "type": "response.function_call_arguments.done",
        "call_id": "call-1",
        "name": "send_mail",
        "arguments": '{"to":"a"}',
    }

    @both_ways
    def test_has_one_verdict_which_is_given_back(self, way: str, gate: StubGate) -> None:
        allowing(gate)
        assert is_realtime_function_call_done(self.EVENT)
        assert ask(way, "inspect_realtime_function_call", self.EVENT, **options(gate)) == Allow("c-1")
        assert json.loads(gate.asked[0].body)["params"] == {"name": "send_mail", "arguments": {"to": "a"}}

    def test_keeps_arguments_that_are_no_json_as_the_text_that_they_are(self) -> None:
        assert normalize_realtime_function_call({**self.EVENT, "arguments": '{"to"'}).input == {"input": '{"to"'}

    @both_ways
    def test_is_none_where_the_event_is_another(self, way: str, gate: StubGate) -> None:
        assert not is_realtime_function_call_done({**self.EVENT, "name": None})
        with pytest.raises(GateConfigError):
            ask(way, "inspect_realtime_function_call", {"type": "x"}, **options(gate))
