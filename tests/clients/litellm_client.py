"""Asks once with LiteLLM, and prints as JSON what a program that uses it gets to see.

python litellm_client.py BASE_URL      (BASE_URL without /v1; run by LiteLLM's own environment)
"""

from __future__ import annotations

import json
import sys
from typing import Any

import litellm

litellm.suppress_debug_info = True  # else it prints advice on stdout
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def main() -> None:
    """One streamed question."""
    seen: dict[str, Any] = {"text": "", "thoughts": "", "finish": None, "calls": [], "executed": [], "error": None}
    try:
        for chunk in litellm.completion(
            model="openai/scripted",
            api_base=f"{sys.argv[1]}/v1",
            api_key="none",
            messages=[{"role": "user", "content": "Do it."}],
            tools=[{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}],
            stream=True,
            max_retries=0,
        ):
            for choice in chunk.choices:
                seen["text"] += choice.delta.content or ""
                seen["thoughts"] += getattr(choice.delta, "reasoning_content", None) or ""
                seen["finish"] = choice.finish_reason or seen["finish"]
                for call in choice.delta.tool_calls or []:
                    while len(seen["calls"]) <= call.index:
                        seen["calls"].append("")
                    seen["calls"][call.index] += call.function.arguments or ""
    except Exception as error:
        seen["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(seen))


main()
