"""OpenAI Agents SDK: a guardrail for the input of tools. Needs `openai-agents`."""

from __future__ import annotations

from typing import Any, Unpack

from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolInputGuardrailData

from .adapters import Adapter, AdapterOptions
from .flow import run_async
from .strict_json import Disputed, strict_json


def gate_input_guardrail(**options: Unpack[AdapterOptions]) -> ToolInputGuardrail[Any]:
    """For `tool_input_guardrails` of a function tool. Where a call may not run, the model reads why."""
    adapter = Adapter(options)

    async def judge(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        call = data.context
        try:
            value = strict_json(call.tool_arguments or "{}")
        except Disputed as fault:
            words = f"{call.tool_name} was not run: its arguments cannot be judged: {fault}"
            return ToolGuardrailFunctionOutput.reject_content(words)
        refusal = await run_async(adapter.refusal(call.tool_name, value, call.tool_call_id, is_async=True))
        if refusal is not None:
            return ToolGuardrailFunctionOutput.reject_content(refusal)
        return ToolGuardrailFunctionOutput.allow()

    return ToolInputGuardrail(guardrail_function=judge, name="gate")
