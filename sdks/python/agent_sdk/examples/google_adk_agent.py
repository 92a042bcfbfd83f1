"""An agent of Google's ADK behind Gate. `pip install google-adk gate-agent-sdk`, and `npx gate lite` beside it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from acts import CALLS, OPTIONS, TOOLS, check
from gate_agent_sdk.google_adk import gate_before_tool
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class Scripted(BaseLlm):
    """So that the example needs no key. Your model goes here."""

    turns: int = 0

    async def generate_content_async(self, *_: Any, **__: Any) -> AsyncGenerator[LlmResponse, None]:
        part = types.Part(text="done")
        if self.turns < len(CALLS):
            name, given = CALLS[self.turns]
            part = types.Part(function_call=types.FunctionCall(name=name, args=given))
        self.turns += 1
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    # What Gate needs: one callback.
    gate: Any = gate_before_tool(**OPTIONS)
    agent = LlmAgent(name="clerk", model=Scripted(model="scripted"), tools=list(TOOLS), before_tool_callback=gate)
    runner = InMemoryRunner(agent=agent, app_name="clerk")
    session = await runner.session_service.create_session(app_name="clerk", user_id="u")
    asked = types.Content(role="user", parts=[types.Part(text="Tidy up, and pay the vendor.")])
    events = [event async for event in runner.run_async(user_id="u", session_id=session.id, new_message=asked)]
    check([event.content for event in events])


asyncio.run(main())
