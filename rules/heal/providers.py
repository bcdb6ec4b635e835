"""What each provider is known to take in a second request: how thinking is ended, a prefill, warmer sampling.

A provider is known by the host of its address, by its configured name, by the way it continues a broken answer
(`resume`), by the `Server` header of its answers, or by its own wire. What is not known is not tried, unless somebody
wrote `heal: auto` or more. Sources: docs/heal.md. Models of one provider differ; `for_model` says where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final


@dataclass(frozen=True, slots=True)
class Takes:
    """What one provider takes."""

    name: str = ""
    hosts: tuple[str, ...] = ()
    """Globs over hosts."""
    names: tuple[str, ...] = ()
    """Globs over configured names."""
    thinking: str = ""
    """How thinking is ended: template (`chat_template_kwargs`), disabled (`thinking: {type: disabled}`), flag
    (`enable_thinking: false`), effort (`reasoning_effort`, `reasoning.effort`), openrouter (`reasoning: {effort}`);
    "" = not known."""
    prefill: str = ""
    """How a text is continued, in the words of `providers.NAME.resume`; "" = it is not."""
    hottest: float | None = None
    """The highest temperature to ask for; None = the sampling may not be changed."""
    safe: bool = False
    """Thinking is ended without anybody having asked for it in the config: the change is known to be taken, and what
    the client sends back later is taken, too."""


LOCAL: Final = 1.0
"""Temperature asked for at most: 1.0 is the most that every provider takes, and 0.9 healed less (docs/heal.md)."""

TABLE: Final[tuple[Takes, ...]] = (
    Takes("llama.cpp", (), ("llama*cpp*", "llama-server*"), "template", "llamacpp", LOCAL, True),
    Takes("vLLM", (), ("vllm*",), "template", "continue_final_message", LOCAL, True),
    Takes("SGLang", (), ("sglang*",), "template", "continue_final_message", LOCAL, True),
    Takes("Ollama", ("ollama.com",), ("ollama*",), "effort", "", LOCAL, True),
    Takes("DeepSeek", ("api.deepseek.com",), ("deepseek*",), "disabled", "", LOCAL, True),
    Takes("Zhipu", ("open.bigmodel.cn", "api.z.ai"), ("zhipu*", "glm*", "zai*"), "disabled", "", LOCAL, True),
    Takes("Moonshot", ("api.moonshot.*",), ("moonshot*", "kimi*"), "disabled", "", LOCAL, True),
    Takes("DashScope", ("dashscope*.aliyuncs.com",), ("dashscope*", "qwen*"), "flag", "", LOCAL, True),
    Takes("OpenRouter", ("openrouter.ai",), ("openrouter*",), "openrouter", "", LOCAL, True),
    Takes(
        "Google",
        ("generativelanguage.googleapis.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com"),
        ("gemini*", "google*", "vertex*"),
        "effort",
        "",
        LOCAL,
        True,
    ),
    Takes("Mistral", ("api.mistral.ai",), ("mistral*",), "", "prefix", LOCAL),
    Takes("OpenAI", ("api.openai.com", "*.openai.azure.com"), ("openai*", "azure*"), "effort", "", LOCAL),
    Takes("Anthropic", ("api.anthropic.com",), ("anthropic*", "claude*"), "disabled", "prefill", LOCAL),
)
STYLES: Final[Mapping[str, str]] = {"continue_final_message": "vLLM", "llamacpp": "llama.cpp"}
"""Engines that a `resume` style stands for."""
SERVERS: Final[Mapping[str, str]] = {"llama.cpp": "llama.cpp"}
"""Engines by the `Server` header of their answers."""
UNKNOWN: Final = Takes()

_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:[.-](\d{1,2})(?!\d))?")


def takes(name: str, host: str, resume: str = "none", server: str = "", speaker: str = "") -> Takes:
    """What is known of a provider. `resume`: its setting, which says more than its name. `speaker`: whose wire it was
    asked on (`Wire.speaker`). Never raises."""
    low, host = name.lower(), host.lower()
    engine = STYLES.get(resume) or SERVERS.get(server.strip().lower())
    found = next((row for row in TABLE if any(fnmatchcase(host, glob) for glob in row.hosts)), None)
    if found is None and engine is not None:
        found = next(row for row in TABLE if row.name == engine)
    if found is None:
        found = next((row for row in TABLE if any(fnmatchcase(low, glob) for glob in row.names)), None)
    if found is None:
        found = next((row for row in TABLE if row.name == speaker), UNKNOWN)
    return found if resume == "none" else replace(found, prefill=resume)


def for_model(known: Takes, model: str) -> Takes:
    """What is left for this model: newer models of OpenAI and Anthropic refuse a prefill and other sampling, whoever
    serves them."""
    name = model.lower().rpartition("/")[2]
    if (claude := _CLAUDE.search(name)) is not None:
        version = (int(claude[1]), int(claude[2] or 0))
        prefill = known.prefill if version < (4, 6) else ""
        return replace(known, prefill=prefill, hottest=known.hottest if version < (4, 7) else None)
    if re.match(r"(gpt-5|o[134]\b)", name):
        return replace(known, hottest=None)
    return known
