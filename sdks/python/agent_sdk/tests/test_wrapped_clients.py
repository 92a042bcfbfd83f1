"""The wrapped clients of the real packages, at a provider whose answers are written here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from stub_gate import Answering, Asked, StubGate
from ways import WAYS

from gate_agent_sdk import GateConfigError, GateDenied, GateMalformedCall, GatePending, Verdict, gate_wrap

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

ARGUMENTS = '{"a": 1, "é\\n": ["\\u00e9", "x"]}'
INPUT = {"a": 1, "é\n": ["é", "x"]}


def calls_in(asked: Asked) -> list[tuple[str, Any]]:
    params = json.loads(asked.body)["params"]
    calls = params["arguments"]["calls"] if params["name"] == "gate.atomic-batch" else [params]
    return [(call["name"], call["arguments"]) for call in calls]


@dataclass
class World:
    """Gate, which judges by the names of tools, and a provider."""

    gate: StubGate
    provider: StubGate
    options: dict[str, Any] = field(default_factory=dict)

    def says(self, body: object) -> None:
        self.provider.answer = lambda _, answering: answering.json(200, body)

    def streams(self, body: bytes, *cuts: int) -> None:
        def answer(_: Asked, answering: Answering) -> None:
            answering.send(200, b"", {"Content-Type": "text/event-stream", "Content-Length": str(len(body))})
            start = 0
            for end in (*cuts, len(body)):
                answering.write(body[start:end])
                start = end

        self.provider.answer = answer

    @property
    def judged(self) -> list[list[tuple[str, Any]]]:
        return [calls_in(asked) for asked in self.gate.asked if asked.path == "/mcp"]

    def client(self, way: str, of: str, **more: Any) -> Any:
        kind = {
            "sync openai": openai.OpenAI,
            "async openai": openai.AsyncOpenAI,
            "sync anthropic": anthropic.Anthropic,
            "async anthropic": anthropic.AsyncAnthropic,
        }[f"{way} {of}"]
        client = kind(api_key="k", base_url=self.provider.url, max_retries=0)
        return gate_wrap(client, endpoint=self.gate.url, retry={"base_delay_s": 0.001}, **more)

    def ask(self, way: str, api: Api, **more: Any) -> Any:
        async def later() -> Any:
            async with self.client(way, api.of, **more) as client:
                return await api.method(client)(**api.request)

        if way == "async":
            return asyncio.run(later())
        with self.client(way, api.of, **more) as client:
            return api.method(client)(**api.request)

    def events(self, way: str, api: Api, given: list[Any], **more: Any) -> list[Any]:
        """Fills `given`, so that what came out before an error is known."""

        async def later() -> None:
            async with self.client(way, api.of, **more) as client:
                async with await api.method(client)(**api.request, stream=True) as stream:
                    async for event in stream:
                        given.append(event)

        if way == "async":
            asyncio.run(later())
            return given
        with self.client(way, api.of, **more) as client:
            with api.method(client)(**api.request, stream=True) as stream:
                for event in stream:
                    given.append(event)
        return given


@pytest.fixture
def world(gate: StubGate) -> Iterator[World]:
    def answer(asked: Asked, answering: Answering) -> None:
        if asked.path.startswith("/pending/"):
            return answering.json(200, {"correlation_id": "c-1", "status": "approved", "decision": "allow"})
        names = [name for name, _ in calls_in(asked)]
        if "refuse" in names:
            return answering.json(403, {"error": "policy_denied", "reasons": ["no"], "correlation_id": "c-1"})
        if "wait" in names:
            return answering.json(202, {"status": "pending", "correlation_id": "c-1", "ttl_secs": 60})
        return answering.json(200, {"decision": "allow", "correlation_id": "c-1"})

    gate.answer = answer
    with StubGate() as provider:
        yield World(gate, provider)


def sse(*events: dict[str, Any]) -> bytes:
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"
        if "type" in event
        else f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in events
    ).encode()


@dataclass(frozen=True)
class Api:
    """One API of a provider: a response with calls of the named tools, and the same as a stream with the arguments in the given pieces."""

    path: str
    of: str
    request: dict[str, Any]

    def method(self, client: Any) -> Any:
        for name in self.path.split("."):
            client = getattr(client, name)
        return client

    def response(self, *names: str, arguments: str = ARGUMENTS) -> dict[str, Any]:
        raise NotImplementedError

    def stream(self, *names: str, pieces: tuple[str, ...] = (ARGUMENTS,)) -> list[dict[str, Any]]:
        raise NotImplementedError


class Chat(Api):
    def response(self, *names: str, arguments: str = ARGUMENTS) -> dict[str, Any]:
        calls = [
            {"id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for at, name in enumerate(names)
        ]
        message = {"role": "assistant", "content": "so", **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
        return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def chunk(self, delta: dict[str, Any], finished: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finished}
        return {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    def stream(self, *names: str, pieces: tuple[str, ...] = (ARGUMENTS,)) -> list[dict[str, Any]]:
        chunks = [self.chunk({"role": "assistant", "content": "so"})]
        for at, name in enumerate(names):
            begin = {"index": at, "id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": ""}}
            more = [{"index": at, "function": {"arguments": piece}} for piece in pieces]
            chunks.extend(self.chunk({"tool_calls": [piece]}) for piece in (begin, *more))
        return [*chunks, self.chunk({}, "tool_calls" if names else "stop")]


class Responses(Api):
    def item(self, at: int, name: str, arguments: str) -> dict[str, Any]:
        ids = {"type": "function_call", "id": f"item-{at}", "call_id": f"call-{at}"}
        return {**ids, "name": name, "arguments": arguments, "status": "completed"}

    def response(self, *names: str, arguments: str = ARGUMENTS) -> dict[str, Any]:
        text = {"type": "output_text", "text": "so", "annotations": []}
        said = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        output = [said, *(self.item(at, name, arguments) for at, name in enumerate(names))]
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": output, **rest}

    def stream(self, *names: str, pieces: tuple[str, ...] = (ARGUMENTS,)) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**self.response(), "output": []}},
            {"type": "response.output_text.delta", "output_index": 9, "content_index": 0, "item_id": "m", "delta": "so"},
        ]
        arguments = "".join(pieces)
        for at, name in enumerate(names):
            of = {"output_index": at, "item_id": f"item-{at}"}
            kind = "response.function_call_arguments"
            events.append({"type": "response.output_item.added", "output_index": at, "item": self.item(at, name, "")})
            events.extend({"type": f"{kind}.delta", **of, "delta": piece} for piece in pieces)
            events.append({"type": f"{kind}.done", **of, "name": name, "arguments": arguments})
            item = self.item(at, name, arguments)
            events.append({"type": "response.output_item.done", "output_index": at, "item": item})
        return [*events, {"type": "response.completed", "response": self.response(*names, arguments=arguments)}]


class Messages(Api):
    def response(self, *names: str, arguments: str = ARGUMENTS) -> dict[str, Any]:
        blocks = [
            {"type": "tool_use", "id": f"call-{at}", "name": name, "input": json.loads(arguments)}
            for at, name in enumerate(names)
        ]
        content = [{"type": "text", "text": "so"}, *blocks]
        stopped = "tool_use" if names else "end_turn"
        rest = {"stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        return {
            "id": "r",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": content,
            "stop_reason": stopped,
            **rest,
        }

    def stream(self, *names: str, pieces: tuple[str, ...] = (ARGUMENTS,)) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**self.response(), "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}},
            {"type": "content_block_stop", "index": 0},
        ]
        for at, name in enumerate(names, 1):
            block = {"type": "tool_use", "id": f"call-{at}", "name": name, "input": {}}
            events.append({"type": "content_block_start", "index": at, "content_block": block})
            for piece in pieces:
                delta = {"type": "input_json_delta", "partial_json": piece}
                events.append({"type": "content_block_delta", "index": at, "delta": delta})
            events.append({"type": "content_block_stop", "index": at})
        stop = {"stop_reason": "tool_use" if names else "end_turn", "stop_sequence": None}
        return [*events, {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}, {"type": "message_stop"}]


SAID = [{"role": "user", "content": "hi"}]
CLAUDE = {"model": "m", "max_tokens": 9, "messages": SAID}
APIS = [
    Chat("chat.completions.create", "openai", {"model": "m", "messages": SAID}),
    Responses("responses.create", "openai", {"model": "m", "input": "hi"}),
    Messages("messages.create", "anthropic", CLAUDE),
    Messages("beta.messages.create", "anthropic", CLAUDE),
]
each_api = pytest.mark.parametrize("api", APIS, ids=[api.path for api in APIS])
both_ways = pytest.mark.parametrize("way", WAYS)


@both_ways
@each_api
class TestAResponse:
    def test_comes_back_as_the_provider_sent_it_once_its_calls_are_allowed(self, world: World, api: Api, way: str) -> None:
        world.says(api.response("read", "list"))
        given = world.ask(way, api)
        assert given.to_dict() == api.response("read", "list")
        assert world.judged == [[("read", INPUT), ("list", INPUT)]]

    def test_without_a_call_is_asked_nothing_of(self, world: World, api: Api, way: str) -> None:
        world.says(api.response())
        world.ask(way, api)
        assert world.judged == []

    def test_does_not_come_out_where_a_call_is_denied(self, world: World, api: Api, way: str) -> None:
        world.says(api.response("read", "refuse"))
        with pytest.raises(GateDenied) as raised:
            world.ask(way, api)
        assert (raised.value.code, raised.value.reasons) == ("policy_denied", ["no"])

    def test_that_waits_is_held_by_the_error(self, world: World, api: Api, way: str) -> None:
        world.says(api.response("wait"))
        with pytest.raises(GatePending) as raised:
            world.ask(way, api)
        pending: Any = raised.value
        assert pending.response.to_dict() == api.response("wait")
        assert [(call.name, call.input) for call in pending.tool_calls] == [("wait", INPUT)]
        if way == "sync":
            pending.resolve_sync()
        else:
            asyncio.run(pending.resolve())

    def test_passes_where_it_is_only_observed(self, world: World, api: Api, way: str) -> None:
        told: list[Verdict] = []
        world.says(api.response("refuse"))
        given = world.ask(way, api, mode="observe", on_verdict=lambda verdict, _: told.append(verdict))
        assert given.to_dict() == api.response("refuse")
        assert [verdict.kind for verdict in told] == ["would_deny"]

    def test_of_another_shape_is_not_passed_on(self, world: World, api: Api, way: str) -> None:
        world.says({"id": "r"})
        with pytest.raises(GateMalformedCall):
            world.ask(way, api)


@both_ways
@each_api
class TestAStream:
    def test_comes_as_the_provider_sent_it_once_each_call_is_allowed(self, world: World, api: Api, way: str) -> None:
        events = api.stream("read", "list")
        world.streams(sse(*events))
        given = world.events(way, api, [])
        assert [event.to_dict() for event in given] == events
        assert [call for calls in world.judged for call in calls] == [("read", INPUT), ("list", INPUT)]

    def test_gives_nothing_of_a_call_out_that_is_denied(self, world: World, api: Api, way: str) -> None:
        events = api.stream("refuse")
        world.streams(sse(*events))
        given: list[Any] = []
        with pytest.raises(GateDenied):
            world.events(way, api, given)
        # Everything before the call, and nothing else.
        first = next(at for at, event in enumerate(events) if "refuse" in json.dumps(event))
        assert [event.to_dict() for event in given] == events[:first]

    def test_gives_a_call_that_waits_to_the_error(self, world: World, api: Api, way: str) -> None:
        world.streams(sse(*api.stream("wait")))
        with pytest.raises(GatePending) as raised:
            world.events(way, api, [])
        assert [(call.name, call.input) for call in raised.value.tool_calls] == [("wait", INPUT)]

    def test_has_the_same_call_wherever_its_arguments_are_cut(self, world: World, api: Api, way: str) -> None:
        cuts = [(ARGUMENTS[:at], ARGUMENTS[at:]) for at in range(len(ARGUMENTS) + 1)]
        for pieces in [*cuts, tuple(ARGUMENTS)]:
            world.gate.asked.clear()
            events = api.stream("read", pieces=pieces)
            world.streams(sse(*events))
            assert [event.to_dict() for event in world.events(way, api, [])] == events, pieces
            assert world.judged == [[("read", INPUT)]], pieces

    def test_has_the_same_call_wherever_its_bytes_are_cut(self, world: World, api: Api, way: str) -> None:
        events = api.stream("read", pieces=(ARGUMENTS[:9], ARGUMENTS[9:]))
        body = sse(*events)
        # A cut in each place, each stream with every thirteenth of them.
        for start in range(13):
            world.gate.asked.clear()
            world.streams(body, *range(start, len(body), 13))
            assert [event.to_dict() for event in world.events(way, api, [])] == events, start
            assert world.judged == [[("read", INPUT)]], start

    def test_that_ends_inside_a_call_is_an_error(self, world: World, api: Api, way: str) -> None:
        events = api.stream("read")
        whole = next(at for at, event in enumerate(events) if ARGUMENTS[:3] in str(event) or "é" in str(event))
        world.streams(sse(*events[: whole + 1]))
        given: list[Any] = []
        with pytest.raises(GateMalformedCall, match="ended inside"):
            world.events(way, api, given)
        assert "é" not in "".join(event.to_json() for event in given)

    @pytest.mark.parametrize("text", ["{", '{"a":1,"a":2}', '{"a":9007199254740993}'])
    def test_whose_arguments_cannot_be_judged_is_an_error(self, world: World, api: Api, way: str, text: str) -> None:
        world.streams(sse(*api.stream("read", pieces=(text,))))
        with pytest.raises(GateMalformedCall, match="cannot be judged"):
            world.events(way, api, [])
        assert world.judged == []

    def test_of_which_nothing_can_be_read_passes_where_it_is_only_observed(self, world: World, api: Api, way: str) -> None:
        told: list[Exception] = []
        world.streams(sse(*api.stream("read", pieces=('{"a":1,"a":2}',))))
        given = world.events(way, api, [], mode="observe", on_policy_error=lambda error, _: told.append(error))
        assert len(given) == len(api.stream("read"))
        assert told and all(isinstance(error, GateMalformedCall) for error in told)

    def test_does_not_give_its_bytes_away(self, world: World, api: Api, way: str) -> None:
        world.streams(sse(*api.stream("read")))

        async def later() -> Any:
            return (await api.method(world.client("async", api.of))(**api.request, stream=True)).response

        with pytest.raises(GateConfigError, match="read the stream itself"):
            asyncio.run(later()) if way == "async" else world.ask(
                way, type(api)(api.path, api.of, {**api.request, "stream": True})
            ).response


class TestWhatCannotBeInspected:
    @pytest.mark.parametrize(
        ("of", "path"),
        [
            ("openai", "chat.completions.stream"),
            ("openai", "chat.completions.list"),
            ("openai", "chat.completions.messages.list"),
            ("openai", "chat.completions.with_raw_response.create"),
            ("openai", "with_streaming_response.responses.create"),
            ("openai", "responses.stream"),
            ("openai", "responses.connect"),
            ("openai", "responses.input_items.list"),
            ("openai", "beta.responses.connect"),
            ("openai", "beta.chat.completions.stream"),
            ("openai", "beta.threads.runs.create"),
            ("openai", "beta.agents.sessions.stream"),
            ("openai", "conversations.items.list"),
            ("openai", "realtime.connect"),
            ("openai", "post"),
            ("openai", "chat._client.post"),
            ("anthropic", "messages.stream"),
            ("anthropic", "messages.batches.results"),
            ("anthropic", "messages.with_raw_response.create"),
            ("anthropic", "beta.messages.tool_runner"),
            ("anthropic", "beta.sessions.create"),
            ("anthropic", "request"),
        ],
    )
    @both_ways
    def test_is_refused_with_its_reason_before_anything_is_sent(self, world: World, way: str, of: str, path: str) -> None:
        part = world.client(way, of)
        for name in path.split("."):
            part = getattr(part, name)
        with pytest.raises(GateConfigError, match="set allow_uninspected_stream"):
            part()
        assert world.provider.asked == []

    @both_ways
    @pytest.mark.parametrize(
        ("api", "more", "name"),
        [
            (APIS[0], {"web_search_options": {}}, "web_search_options"),
            (APIS[0], {"extra_body": {"web_search_options": {}}}, "web_search_options"),
            (APIS[1], {"tools": [{"type": "web_search"}]}, "web_search"),
            (APIS[1], {"tools": [{"type": "shell"}]}, "shell"),
            (APIS[2], {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
            (APIS[3], {"mcp_servers": [{"type": "url", "url": "https://a", "name": "a"}]}, "mcp_servers"),
        ],
    )
    def test_a_tool_that_the_provider_runs(self, world: World, way: str, api: Api, more: dict[str, Any], name: str) -> None:
        world.says(api.response())
        asking = type(api)(api.path, api.of, {**api.request, **more})
        with pytest.raises(GateConfigError, match=f"the provider runs {name} itself"):
            world.ask(way, asking)
        assert world.provider.asked == []
        world.ask(way, asking, allow_hosted_tools=True)
        assert len(world.provider.asked) == 1

    def test_a_call_that_the_provider_ran_unasked(self, world: World) -> None:
        call = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "a"}}
        world.says({**APIS[1].response(), "output": [call]})
        with pytest.raises(GateMalformedCall, match="ran web_search_call itself"):
            world.ask("sync", APIS[1])

    def test_another_client(self) -> None:
        with pytest.raises(GateConfigError, match="no such client"):
            gate_wrap(object(), endpoint="https://gate")

    def test_passes_where_its_user_says_so(self, world: World) -> None:
        world.says(APIS[0].response("refuse"))
        client = world.client("sync", "openai", allow_uninspected_stream=True)
        assert client.chat.completions.with_raw_response.create(**APIS[0].request).status_code == 200


class TestTheClient:
    def test_that_is_given_is_left_as_it_is(self, world: World) -> None:
        world.says(APIS[0].response("refuse"))
        client = openai.OpenAI(api_key="k", base_url=world.provider.url)
        wrapped = gate_wrap(client, endpoint=world.gate.url)
        assert isinstance(wrapped, openai.OpenAI)
        assert client.chat.completions.create(**APIS[0].request).choices[0].finish_reason == "tool_calls"
        assert world.judged == []

    @pytest.mark.parametrize("copied", [lambda client: client.with_options(timeout=3), lambda client: client.copy()])
    def test_is_guarded_in_a_copy_too(self, world: World, copied: Any) -> None:
        world.says(APIS[0].response("refuse"))
        with pytest.raises(GateDenied):
            copied(world.client("sync", "openai")).chat.completions.create(**APIS[0].request)

    def test_takes_a_renewed_key(self, world: World) -> None:
        world.says(APIS[0].response())
        client = world.client("sync", "openai")
        client.api_key = "renewed"
        client.chat.completions.create(**APIS[0].request)
        assert world.provider.asked[0].headers["authorization"] == "Bearer renewed"

    def test_judges_a_tool_that_takes_a_text_by_that_text(self, world: World) -> None:
        custom = {"type": "custom_tool_call", "id": "i", "call_id": "c", "name": "shell", "input": "rm -rf /"}
        world.says({**APIS[1].response(), "output": [custom]})
        world.ask("sync", APIS[1])
        assert world.judged == [[("shell", {"input": "rm -rf /"})]]
