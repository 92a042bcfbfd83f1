"""The hooks in the real frameworks. The examples run in them against a running lite; here is what an example does not show."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stub_gate import Answering, Asked, StubGate
from ways import WAYS

from gate_agent_sdk import GateConfigError, GateDenied, GateTransportError

both_ways = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(autouse=True)
def judging(gate: StubGate) -> Iterator[None]:
    """Denies `refuse`, parks `wait`, is away for `lost`, and allows everything else."""

    def answer(asked: Asked, answering: Answering) -> None:
        name = json.loads(asked.body)["params"]["name"]
        if name == "refuse":
            advice = {"retry": "no", "person_can_help": False, "allowed": "read it"}
            answering.json(403, {"error": "policy_denied", "reasons": ["no."], "advice": advice})
        elif name == "wait":
            answering.json(202, {"status": "pending", "correlation_id": "c-1", "review_reasons": ["money"]})
        elif name == "lost":
            answering.json(503, {"error": "provider_unavailable"})
        else:
            answering.json(200, {"decision": "allow", "correlation_id": "c-1"})

    gate.answer = answer
    yield


def options(gate: StubGate, **more: Any) -> dict[str, Any]:
    return {"endpoint": gate.url, "retry": {"max_attempts": 1}, **more}


def asked_for(gate: StubGate) -> list[tuple[str, Any]]:
    params = [json.loads(asked.body)["params"] for asked in gate.asked]
    return [(one["name"], one["arguments"]) for one in params]


Ran = list[tuple[str, Any]]
REFUSED = "refuse was not run: policy_denied. no. read it"
WAITS = "wait was not run: it waits for a person (c-1). money"


def named(name: str, ran: Ran) -> Callable[[str], str]:
    def tool(path: str) -> str:
        """A tool."""
        ran.append((name, path))
        return f"{name}: done"

    tool.__name__ = name
    return tool


class TestLangChain:
    @staticmethod
    def result(way: str, gate: StubGate, name: str, ran: Ran, in_graph: bool = False, **more: Any) -> Any:
        from langchain.agents import create_agent
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage
        from langgraph.graph import END, START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode

        from gate_agent_sdk.langchain import GateMiddleware

        class Scripted(GenericFakeChatModel):
            def bind_tools(self, tools: Any, **_: Any) -> Any:
                return self

        call: Any = AIMessage("", tool_calls=[{"id": "call-1", "name": name, "args": {"path": "a"}}])
        hook = GateMiddleware(**options(gate, **more))
        agent: Any
        if in_graph:
            node = ToolNode([named(name, ran)], wrap_tool_call=hook.wrap_tool_call, awrap_tool_call=hook.awrap_tool_call)
            graph = StateGraph(MessagesState).add_node("tools", node)
            agent = graph.add_edge(START, "tools").add_edge("tools", END).compile()
        else:
            model = Scripted(messages=iter([call, AIMessage("done")]))
            agent = create_agent(model, [named(name, ran)], middleware=[hook])
        said = {"messages": [("user", "hi"), *([call] if in_graph else [])]}
        messages = (agent.invoke(said) if way == "sync" else asyncio.run(agent.ainvoke(said)))["messages"]
        return next(message for message in messages if message.type == "tool")

    @both_ways
    @pytest.mark.parametrize("in_graph", [False, True])
    def test_runs_what_gate_allows(self, gate: StubGate, way: str, in_graph: bool) -> None:
        ran: Ran = []
        result = self.result(way, gate, "read", ran, in_graph)
        assert (result.content, ran) == ("read: done", [("read", "a")])
        assert asked_for(gate) == [("read", {"path": "a"})]

    @both_ways
    @pytest.mark.parametrize("in_graph", [False, True])
    @pytest.mark.parametrize(("name", "words"), [("refuse", REFUSED), ("wait", WAITS)])
    def test_tells_the_model_of_a_refusal(self, gate: StubGate, way: str, in_graph: bool, name: str, words: str) -> None:
        ran: Ran = []
        result = self.result(way, gate, name, ran, in_graph)
        assert (result.content, result.status, result.tool_call_id, ran) == (words, "error", "call-1", [])

    @both_ways
    def test_raises_a_refusal_where_that_is_asked(self, gate: StubGate, way: str) -> None:
        ran: Ran = []
        with pytest.raises(GateDenied):
            self.result(way, gate, "refuse", ran, on_refused="raise")
        assert ran == []

    @both_ways
    def test_runs_nothing_without_a_verdict(self, gate: StubGate, way: str) -> None:
        ran: Ran = []
        with pytest.raises(GateTransportError):
            self.result(way, gate, "lost", ran)
        assert ran == []


class TestOpenAiAgents:
    """With the provider's own model class, at a provider whose answers are written here."""

    @staticmethod
    def run(gate: StubGate, ran: Ran, name: str, arguments: str = '{"path":"a"}', **more: Any) -> list[Any]:
        from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
        from openai import AsyncOpenAI

        from gate_agent_sdk.openai_agents import gate_input_guardrail

        set_tracing_disabled(True)

        def answer(_: Asked, answering: Answering) -> None:
            call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}}
            is_first = len(provider.asked) == 1
            message = {"role": "assistant", "content": None if is_first else "done"}
            choice = {
                "index": 0,
                "finish_reason": "tool_calls" if is_first else "stop",
                "message": {**message, "tool_calls": [call]} if is_first else message,
            }
            answering.json(
                200, {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            )

        with StubGate(answer) as provider:
            client = AsyncOpenAI(api_key="k", base_url=provider.url, max_retries=0)
            tool = function_tool(
                named(name, ran), tool_input_guardrails=[gate_input_guardrail(**options(gate, **more))]
            )
            agent = Agent(name="a", model=OpenAIChatCompletionsModel("m", client), tools=[tool])
            result = asyncio.run(Runner.run(agent, "hi"))
        return [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]

    def test_runs_what_gate_allows(self, gate: StubGate) -> None:
        ran: Ran = []
        assert self.run(gate, ran, "read") == ["read: done"]
        assert (asked_for(gate), ran) == ([("read", {"path": "a"})], [("read", "a")])

    @pytest.mark.parametrize(("name", "words"), [("refuse", REFUSED), ("wait", WAITS)])
    def test_tells_the_model_of_a_refusal(self, gate: StubGate, name: str, words: str) -> None:
        ran: Ran = []
        assert (self.run(gate, ran, name), ran) == ([words], [])

    def test_refuses_arguments_that_parsers_read_differently(self, gate: StubGate) -> None:
        ran: Ran = []
        said = self.run(gate, ran, "read", '{"path":"a","path":"b"}')
        assert "cannot be judged" in said[0] and ran == [] and gate.asked == []

    def test_runs_nothing_without_a_verdict(self, gate: StubGate) -> None:
        from agents.exceptions import UserError

        ran: Ran = []
        with pytest.raises(UserError) as raised:
            self.run(gate, ran, "lost")
        assert isinstance(raised.value.__cause__, GateTransportError)
        assert ran == []


class TestLlamaIndex:
    @staticmethod
    def called(way: str, gate: StubGate, name: str, ran: Ran, *given: Any, **more: Any) -> Any:
        from llama_index.core.tools import FunctionTool

        from gate_agent_sdk.llama_index import gate_tool

        tool = gate_tool(FunctionTool.from_defaults(named(name, ran)), **options(gate, **more))
        return tool(*given) if way == "sync" else asyncio.run(tool.acall(*given))

    @both_ways
    def test_judges_by_its_name_what_is_called_by_its_place(self, gate: StubGate, way: str) -> None:
        ran: Ran = []
        assert self.called(way, gate, "read", ran, "a").content == "read: done"
        assert (asked_for(gate), ran) == ([("read", {"path": "a"})], [("read", "a")])

    @both_ways
    @pytest.mark.parametrize(("name", "words"), [("refuse", REFUSED), ("wait", WAITS)])
    def test_tells_the_model_of_a_refusal(self, gate: StubGate, way: str, name: str, words: str) -> None:
        ran: Ran = []
        output = self.called(way, gate, name, ran, "a")
        assert (output.content, output.is_error, ran) == (words, True, [])

    @both_ways
    def test_runs_nothing_without_a_verdict(self, gate: StubGate, way: str) -> None:
        ran: Ran = []
        with pytest.raises(GateTransportError):
            self.called(way, gate, "lost", ran, "a")
        assert ran == []

    def test_refuses_a_tool_that_takes_a_context(self, gate: StubGate) -> None:
        from llama_index.core.tools import FunctionTool
        from llama_index.core.workflow import Context

        from gate_agent_sdk.llama_index import gate_tool

        async def with_context(ctx: Context, path: str) -> str:
            return path

        # LlamaIndex reads annotations that are no text.
        with_context.__annotations__["ctx"] = Context
        with pytest.raises(GateConfigError, match="takes a context"):
            gate_tool(FunctionTool.from_defaults(async_fn=with_context), **options(gate))

    def test_refuses_a_place_that_has_no_name(self, gate: StubGate) -> None:
        with pytest.raises(GateConfigError, match="no names for 2 arguments"):
            self.called("sync", gate, "read", [], "a", "b")


class TestGoogleAdk:
    @staticmethod
    def run(gate: StubGate, ran: Ran, name: str, **more: Any) -> list[Any]:
        from google.adk.agents import LlmAgent
        from google.adk.models import BaseLlm, LlmResponse
        from google.adk.runners import InMemoryRunner
        from google.genai import types

        from gate_agent_sdk.google_adk import gate_before_tool

        class Scripted(BaseLlm):
            turns: int = 0

            async def generate_content_async(self, *_: Any, **__: Any) -> Any:
                call = types.Part(function_call=types.FunctionCall(name=name, args={"path": "a"}))
                self.turns += 1
                part = call if self.turns == 1 else types.Part(text="done")
                yield LlmResponse(content=types.Content(role="model", parts=[part]))

        async def later() -> list[Any]:
            hook: Any = gate_before_tool(**options(gate, **more))
            agent = LlmAgent(
                name="a", model=Scripted(model="m"), tools=[named(name, ran)], before_tool_callback=hook
            )
            runner = InMemoryRunner(agent=agent, app_name="a")
            session = await runner.session_service.create_session(app_name="a", user_id="u")
            said = types.Content(role="user", parts=[types.Part(text="hi")])
            given = runner.run_async(user_id="u", session_id=session.id, new_message=said)
            return [answer.response async for event in given for answer in event.get_function_responses()]

        return asyncio.run(later())

    def test_runs_what_gate_allows(self, gate: StubGate) -> None:
        ran: Ran = []
        assert self.run(gate, ran, "read") == [{"result": "read: done"}]
        assert (asked_for(gate), ran) == ([("read", {"path": "a"})], [("read", "a")])

    @pytest.mark.parametrize(("name", "words"), [("refuse", REFUSED), ("wait", WAITS)])
    def test_tells_the_model_of_a_refusal(self, gate: StubGate, name: str, words: str) -> None:
        ran: Ran = []
        assert (self.run(gate, ran, name), ran) == ([{"error": words}], [])

    def test_runs_nothing_without_a_verdict(self, gate: StubGate) -> None:
        ran: Ran = []
        with pytest.raises(GateTransportError):
            self.run(gate, ran, "lost")
        assert ran == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [({"on_refused": "x"}, "message or raise"), ({"idempotency_id": "x"}, "names one call")],
)
def test_options_of_a_hook_that_cannot_be_meant(given: dict[str, Any], reason: str) -> None:
    from gate_agent_sdk.google_adk import gate_before_tool

    with pytest.raises(GateConfigError, match=reason):
        gate_before_tool(**given)
