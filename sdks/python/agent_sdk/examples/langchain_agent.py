"""An agent of LangChain behind Gate. `pip install langchain gate-agent-sdk`, and `npx gate lite` beside it."""

from typing import Any

from acts import CALLS, OPTIONS, TOOLS, check
from gate_agent_sdk.langchain import GateMiddleware
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Scripted(BaseChatModel):
    """So that the example needs no key. Your model goes here."""

    turns: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        message = AIMessage("done")
        if self.turns < len(CALLS):
            name, given = CALLS[self.turns]
            message = AIMessage("", tool_calls=[{"id": f"call-{self.turns}", "name": name, "args": given}])
        self.turns += 1
        return ChatResult(generations=[ChatGeneration(message=message)])


# What Gate needs: one middleware.
agent = create_agent(Scripted(), TOOLS, middleware=[GateMiddleware(**OPTIONS)])
result = agent.invoke({"messages": [{"role": "user", "content": "Tidy up, and pay the vendor."}]})
check([message.content for message in result["messages"]])
